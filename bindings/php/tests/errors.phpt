--TEST--
Exceptions: the table of kinds, their fields and their messages
--EXTENSIONS--
fencehold
--FILE--
<?php
require __DIR__ . '/helper.inc';
$root = dirname(__DIR__, 3);
// Every row of the table is in the extension's own, and the class is there with what every exception has.
preg_match_all('/(FH_\w+) = (-?\d+)/', file_get_contents("$root/include/fencehold.h"), $found);
$numbers = array_combine($found[1], array_map(intval(...), $found[2]));
preg_match_all('/\{(FH_\w+), "(\w+)", "(\w+)", NULL\}/', file_get_contents(dirname(__DIR__) . '/errors.c'), $rows, PREG_SET_ORDER);
preg_match_all('/\*const classes.*?\};/s', file_get_contents(dirname(__DIR__) . '/fencehold.c'), $list);
preg_match_all('/held,|Exception_(\w+)\(/', $list[0][0], $classes);
$errors = json_decode(file_get_contents("$root/tests/scenarios/errors.json"), true)['errors'];
var_dump(count($errors) === count($rows), count($rows) === count($classes[1]));
foreach ($errors as $index => $error) {
    [, $symbol, $kind, $retry] = $rows[$index];
    if ([$numbers[$symbol], $kind, $retry] !== [$error['code'], $error['kind'], $error['retry']]) {
        echo "$kind is not {$error['kind']}\n";
    }
    if (($classes[1][$index] ?: 'HeldException') !== $error['php']) {
        echo "class of $kind is not {$error['php']}\n";
    }
    $class = new ReflectionClass("Fencehold\\Exception\\{$error['php']}");
    if (!$class->implementsInterface(Fencehold\Exception\Exception::class)) {
        echo "{$error['php']} has no marker\n";
    }
    foreach (['kind' => 'string', 'reason' => 'string', 'lock' => '?string', 'store' => '?string', 'retry' => 'string'] as $field => $type) {
        $property = $class->getProperty($field);
        if ((string) $property->getType() !== $type || !$property->isReadOnly()) {
            echo "{$error['php']}::\$$field\n";
        }
    }
}
var_dump(is_subclass_of(Fencehold\Exception\TimedOutException::class, Fencehold\Exception\HeldException::class));
var_dump(is_subclass_of(Fencehold\Exception\InvalidException::class, InvalidArgumentException::class));

$client = new Fencehold\Client('memory:');
$holder = $client->acquire('n', '30s', label: 'a label');
try {
    $client->acquire('n', '30s');
} catch (Fencehold\Exception\HeldException $error) {
    echo $error->getMessage(), "\n";
    var_dump($error->kind, $error->reason, $error->lock, $error->store, $error->retry, $error->getCode());
    var_dump($error->refusal->reason, $error->refusal->holders[0]->label, $error->getLine() === __LINE__ - 4);
    echo thrown(function () use ($error) { $error->kind = 'other'; }), "\n";
}
echo thrown(fn () => $client->acquire('n', '30s', wait: '20ms')), "\n";
echo thrown(fn () => $client->lock('', '30s')), "\n";
echo thrown(fn () => $client->lock("a\0b", '30s')), "\n";
echo thrown(fn () => $client->lock("\xff", '30s')), "\n";
echo thrown(fn () => $client->lock('n', '30s', crash: 'never')), "\n";
echo thrown(fn () => $client->semaphore('n', 0, '30s')), "\n";
echo thrown(fn () => $client->semaphore('n', -5, '30s')), "\n";
echo thrown(fn () => new Fencehold\Client('nonsense:')), "\n";
$idle = $client->lock('idle', '30s');
echo thrown($idle->token(...)), ', ', thrown($idle->fence(...)), ', ', thrown($idle->slot(...)), "\n";
$holder->lose('guard');
var_dump($holder->lostReason(), $holder->lastError()->kind, $holder->fence() > 0, $holder->release());
echo thrown(fn () => $holder->lose('other')), "\n";
$client->close();
$client->close();
echo thrown(fn () => $idle->acquire()), "\n";
?>
--EXPECTF--
bool(true)
bool(true)
bool(true)
bool(true)
lock "n" on memory:: held by %s:%d:%x (label "a label") since %sZ, until %sZ unless renewed%s
string(4) "held"
string(4) "held"
string(1) "n"
string(7) "memory:"
string(5) "later"
int(1)
string(4) "held"
string(7) "a label"
bool(true)
Error: Cannot modify readonly property Fencehold\Exception\HeldException::$kind
TimedOutException timed_out/timed_out
InvalidException invalid/locks_bad_name
InvalidException invalid/locks_bad_name
InvalidException invalid/locks_bad_name
InvalidException invalid/locks_bad_crash
InvalidException invalid/locks_bad_limit
InvalidException invalid/locks_bad_limit
InvalidException invalid/locks_bad_url
NotHeldException not_held/not_held, NotHeldException not_held/not_held, NotHeldException not_held/not_held
string(5) "guard"
string(4) "lost"
bool(true)
bool(false)
ValueError: Fencehold\Lock::lose(): Argument #1 ($reason) must be one of 'renew', 'guard', 'expired' or 'forked'
InvalidException invalid/client_closed
