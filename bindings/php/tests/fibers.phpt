--TEST--
In one process: a second handle is refused at once, and a wait that can only block ends at its limit
--EXTENSIONS--
fencehold
--FILE--
<?php
require __DIR__ . '/helper.inc';
$client = new Fencehold\Client('memory:');
$a = new Fiber(function () use ($client): void {
    $lock = $client->acquire('n', '30s');
    Fiber::suspend();
    var_dump($lock->keepAlive(), $lock->release());
});
$b = new Fiber(function () use ($client): void {
    $lock = $client->lock('n', '30s');
    var_dump($lock->acquire(), $lock->refusal()->reason);
    Fiber::suspend();
    $taken = seconds(function () use ($lock) {
        var_dump($lock->acquire(wait: '300ms'), $lock->refusal()->reason);
    });
    var_dump($taken >= 0.3 && $taken < 20);
    Fiber::suspend();
    var_dump($lock->acquire(wait: '1s'), $lock->release());
});
$a->start();
$b->start();
$b->resume();
$a->resume();
$b->resume();
var_dump($a->isTerminated(), $b->isTerminated());
echo "run() in a fiber that is left and entered again\n";
$fiber = new Fiber(function () use ($client) {
    return $client->lock('n', '30s')->run(fn () => Fiber::suspend('inside'))->value;
});
var_dump($fiber->start(), $client->lock('n', 30)->acquire());
$fiber->resume('out');
var_dump($fiber->getReturn(), $client->lock('n', 30)->acquire());
echo "a fiber that is dropped in run()\n";
$fiber = new Fiber(fn () => $client->lock('n', '30s')->run(fn () => Fiber::suspend()));
$fiber->start();
unset($fiber);
gc_collect_cycles();
var_dump($client->lock('n', 30)->acquire());
?>
--EXPECT--
bool(false)
string(4) "held"
bool(false)
string(9) "timed_out"
bool(true)
bool(true)
bool(true)
bool(true)
bool(true)
bool(true)
bool(true)
run() in a fiber that is left and entered again
string(6) "inside"
bool(false)
string(3) "out"
bool(true)
a fiber that is dropped in run()
bool(true)
