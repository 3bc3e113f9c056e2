--TEST--
run() calls its function with the lock held, and only then
--EXTENSIONS--
fencehold
--FILE--
<?php
require __DIR__ . '/helper.inc';
$client = new Fencehold\Client('memory:?clock=manual');
$lock = $client->lock('n', ttl: '30s');
$result = $lock->run(fn () => $lock->held() ? 'held' : 'not held');
var_dump($result->acquired, $result->value, $result->refusal, $lock->held());

$other = $client->acquire('n', ttl: '30s');
$result = $lock->run(fn () => print("never\n"));
var_dump($result->acquired, $result->value, $result->refusal->reason);
var_dump($lock->run(fn () => 1, wait: '50ms')->refusal->reason);
class Magic { function __call($name, $arguments) { return $name; } }
var_dump($lock->run([new Magic(), 'never'])->acquired, thrown(fn () => $lock->run([new Magic(), 'never'], wait: 'x')));
$other->release();
var_dump($lock->run([new Magic(), 'called'])->value);

echo "what the function throws comes first, ours is a previous one at the end\n";
try {
    $lock->run(function () use ($lock) {
        $lock->lose('renew');
        throw new LogicException('mine', 7, new DomainException('its cause'));
    });
} catch (LogicException $error) {
    for (; $error !== null; $error = $error->getPrevious()) {
        echo $error::class, ' ', $error instanceof Fencehold\Exception\Exception ? $error->kind : $error->getMessage(), "\n";
    }
}
echo "lost before the end\n";
try {
    $lock->run(function () use ($client) {
        $client->advance('31s');
        return ['done'];
    });
} catch (Fencehold\Exception\LostException $error) {
    var_dump($error->value, $error->lateByMs >= 1000, $error->getCode(), $error->lock, $error->retry);
}
echo "only its own hold\n";
$lock->run(function () use ($lock) {
    $lock->release();
    var_dump($lock->acquire());
});
var_dump($lock->held(), $lock->release());

echo "by reference, generators, exit\n";
function &reference() { static $value = 5; return $value; }
var_dump($lock->run('reference')->value);
echo thrown(fn () => $lock->run('no_such_function')), "\n";
$lock->run(function () { exit("the end\n"); });
?>
--EXPECT--
bool(true)
string(4) "held"
NULL
bool(false)
bool(false)
NULL
string(4) "held"
string(9) "timed_out"
bool(false)
string(39) "InvalidException invalid/locks_bad_wait"
string(6) "called"
what the function throws comes first, ours is a previous one at the end
LogicException mine
DomainException its cause
Fencehold\Exception\LostException lost
Fencehold\Exception\LostException lost
lost before the end
array(1) {
  [0]=>
  string(4) "done"
}
bool(true)
int(3)
string(1) "n"
string(11) "check_first"
only its own hold
bool(true)
bool(true)
bool(true)
by reference, generators, exit
int(5)
TypeError: Fencehold\Lock::run(): Argument #1 ($fn) must be a valid callback, function "no_such_function" not found or invalid function name
the end
