--TEST--
Signal handlers run during a wait; what they throw ends it, and nothing is held then
--EXTENSIONS--
fencehold
pcntl
--FILE--
<?php
require __DIR__ . '/helper.inc';
pcntl_async_signals(true);
$client = new Fencehold\Client('memory:');
$holder = $client->acquire('n', '60s');
$lock = $client->lock('n', '60s');

/** Runs $handler about half a second after now. */
function soon(callable $handler): void
{
    pcntl_signal(SIGALRM, $handler);
    pcntl_alarm(1);
}

soon(function () { echo "handled\n"; });
var_dump($lock->acquire(wait: '4s'), $lock->refusal()->reason);

soon(function () { throw new LogicException('enough'); });
$taken = seconds(function () use ($lock) { echo thrown(fn () => $lock->acquire(wait: 'forever')), "\n"; });
var_dump($taken < 20, $lock->held(), $lock->position(), count($client->show('n')->waiters));

soon(fn () => $holder->release());
var_dump($lock->acquire(wait: 'forever'), $lock->release());

echo "the handle that waits, in its handler\n";
$holder->acquire() || exit;
soon(function () use ($lock) { echo thrown(fn () => $lock->acquire()), json_encode([$lock->held(), $lock->release()]), "\n"; });
var_dump($lock->acquire(wait: '4s'));

echo "the last reference goes in the handler\n";
soon(function () { $GLOBALS['gone'] = null; });
$gone = $client->lock('n', '60s');
var_dump($GLOBALS['gone']->acquire(wait: '4s'));

echo "a fiber cannot be left from the handler\n";
$fiber = new Fiber(function () use ($lock) {
    soon(fn () => Fiber::suspend());
    echo thrown(fn () => $lock->acquire(wait: '5s')), "\n";
});
$fiber->start();
var_dump($fiber->isTerminated(), $lock->held());

echo "the limit of execution time\n";
$store = fresh_store();
$taken = (new Fencehold\Client($store))->acquire('n', '60s');
[$process, $output, $line] = start('
    set_time_limit(1000);
    ini_set("log_errors", "0");
    ini_set("display_errors", "1");
    register_shutdown_function(fn () => print("shut down\n"));
    echo getmypid(), "\n";
    (new Fencehold\Client($argv[1]))->acquire("n", "60s", wait: "forever");
    echo "never\n";
', $store);
usleep(500000);
exec("kill -PROF $line");
echo preg_replace('/ in .*/', '', trim(stream_get_contents($output))), "\n";
var_dump(proc_close($process), count((new Fencehold\Client($store))->show('n')->waiters));

echo "exit in the handler\n";
soon(function () { exit("the end\n"); });
$lock->acquire(wait: 'forever');
echo "never\n";
?>
--EXPECT--
handled
bool(false)
string(9) "timed_out"
LogicException: enough
bool(true)
bool(false)
int(0)
int(0)
bool(true)
bool(true)
the handle that waits, in its handler
InvalidException invalid/waiting[false,false]
bool(false)
the last reference goes in the handler
bool(false)
a fiber cannot be left from the handler
FiberError: Cannot switch fibers in current execution context
bool(true)
bool(false)
the limit of execution time
Fatal error: Maximum execution time of 1000 seconds exceeded
shut down
int(255)
int(0)
exit in the handler
the end
