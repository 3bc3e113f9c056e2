--TEST--
A child's copy of a handle is lost: it neither gives back nor keeps the parent's hold
--EXTENSIONS--
fencehold
pcntl
--FILE--
<?php
require __DIR__ . '/helper.inc';
$store = fresh_store();
$client = new Fencehold\Client($store);
$lock = $client->acquire('n', '30s');
$fence = $lock->fence();
$children = [
    'reaches its end' => fn () => null,
    'exits' => fn () => exit(0),
    'throws' => fn () => throw new LogicException('uncaught'),
    'drops it' => function () { unset($GLOBALS['lock']); },
    'closes the client' => function () { $GLOBALS['client']->close(); },
    'asks' => function () {
        $lock = $GLOBALS['lock'];
        echo json_encode([$lock->keepAlive(), $lock->held(), $lock->lostReason(), $lock->release()]), ' ';
        echo thrown(fn () => $lock->acquire()), ' ', $lock->lastError()->kind, ' ', $lock->fence() === $GLOBALS['fence'] ? 'the fence stays' : 'another fence', "\n";
    },
    'makes its own' => function () {
        $mine = $GLOBALS['client']->lock('n', '30s');
        echo json_encode([$mine->acquire(), $mine->refusal()->holders[0]->owner === $GLOBALS['lock']->owner()]), "\n";
        $other = $GLOBALS['client']->lock('other', '30s');
        echo json_encode([$other->acquire(), $other->keepAlive(), $other->release()]), "\n";
    },
    'forks again' => function () {
        $pid = pcntl_fork();
        if ($pid > 0) {
            pcntl_waitpid($pid, $status);
        } else {
            echo json_encode([$GLOBALS['lock']->keepAlive(), $GLOBALS['lock']->release()]), "\n";
        }
    },
];
ini_set('display_errors', '0');
ini_set('log_errors', '0');
foreach ($children as $name => $child) {
    $pid = pcntl_fork();
    if ($pid === 0) {
        $child();
        exit(0);
    }
    pcntl_waitpid($pid, $status);
    echo "$name: ", from_elsewhere($store, 'n'), json_encode([$lock->held(), $lock->keepAlive()]), "\n";
}
var_dump($lock->release(), from_elsewhere($store, 'n'));

echo "ten at once\n";
$lock = $client->acquire('n', '30s');
$pids = [];
for ($count = 0; $count < 10; ++$count) {
    $pids[] = $pid = pcntl_fork();
    if ($pid === 0) {
        exit($lock->release() ? 1 : 0);
    }
}
$codes = 0;
foreach ($pids as $pid) {
    pcntl_waitpid($pid, $status);
    $codes += pcntl_wexitstatus($status);
}
var_dump($codes, from_elsewhere($store, 'n'), $lock->release());
?>
--EXPECT--
reaches its end: held[true,true]
exits: held[true,true]
throws: held[true,true]
drops it: held[true,true]
closes the client: held[true,true]
[false,false,"forked",false] ForkedException forked/forked forked the fence stays
asks: held[true,true]
[false,true]
[true,true,true]
makes its own: held[true,true]
[false,false]
forks again: held[true,true]
bool(true)
string(5) "taken"
ten at once
int(0)
string(4) "held"
bool(true)
