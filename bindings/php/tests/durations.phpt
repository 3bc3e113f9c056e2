--TEST--
Durations: numbers are seconds, text has a unit, and DateInterval
--EXTENSIONS--
fencehold
--FILE--
<?php
require __DIR__ . '/helper.inc';
$client = new Fencehold\Client('memory:');
foreach ([1, 0.25, '1h30m', '500ms', new DateInterval('PT1M30S'), DateInterval::createFromDateString('2 seconds')] as $ttl) {
    echo $client->lock('n', $ttl)->ttlMs(), "\n";
}
$day = (new DateTimeImmutable('2026-01-31'))->diff(new DateTimeImmutable('2026-02-01'));
echo $client->lock('n', $day)->ttlMs(), "\n";
echo "refused\n";
$backwards = new DateInterval('PT5S');
$backwards->invert = 1;
foreach ([0, -1, 0.05, NAN, INF, 1e300, '30', '', 'forever', '25h', new DateInterval('P1M'), $backwards] as $ttl) {
    echo thrown(fn () => $client->lock('n', $ttl)), "\n";
}
foreach ([null, true, [], new stdClass()] as $ttl) {
    echo thrown(fn () => $client->lock('n', $ttl)), "\n";
}
echo "waits\n";
$holder = $client->acquire('n', 30);
$lock = $client->lock('n', 30, wait: 0.05);
foreach ([[], [0], ['0s'], ['20ms'], [new DateInterval('PT0S')]] as $wait) {
    var_dump($lock->acquire(...$wait));
    echo $lock->refusal()->reason, "\n";
}
foreach ([null, true, 'soon', -1, NAN] as $wait) {
    echo thrown(fn () => $lock->acquire($wait)), "\n";
}
echo thrown(fn () => new Fencehold\Client('memory:', requestTimeout: 0)), "\n";
echo thrown(fn () => new Fencehold\Client('memory:', requestTimeout: 'forever')), "\n";
echo thrown(fn () => $client->advance('5s')), "\n";
?>
--EXPECT--
1000
250
5400000
500
90000
2000
86400000
refused
InvalidException invalid/locks_bad_ttl
InvalidException invalid/locks_bad_ttl
InvalidException invalid/locks_bad_ttl
InvalidException invalid/locks_bad_ttl
InvalidException invalid/locks_bad_ttl
InvalidException invalid/locks_bad_ttl
InvalidException invalid/locks_bad_ttl
InvalidException invalid/locks_bad_ttl
InvalidException invalid/locks_bad_ttl
InvalidException invalid/locks_bad_ttl
InvalidException invalid/locks_bad_ttl
InvalidException invalid/locks_bad_ttl
TypeError: Fencehold\Client::lock(): Argument #2 ($ttl) must be of type DateInterval|string|int|float, null given
TypeError: Fencehold\Client::lock(): Argument #2 ($ttl) must be of type DateInterval|string|int|float, bool given
TypeError: Fencehold\Client::lock(): Argument #2 ($ttl) must be of type DateInterval|string|int|float, array given
TypeError: Fencehold\Client::lock(): Argument #2 ($ttl) must be of type DateInterval|string|int|float, stdClass given
waits
bool(false)
timed_out
bool(false)
held
bool(false)
held
bool(false)
timed_out
bool(false)
held
TypeError: Fencehold\Lock::acquire(): Argument #1 ($wait) must be of type DateInterval|string|int|float, null given
TypeError: Fencehold\Lock::acquire(): Argument #1 ($wait) must be of type DateInterval|string|int|float, bool given
InvalidException invalid/locks_bad_wait
InvalidException invalid/locks_bad_wait
InvalidException invalid/locks_bad_wait
InvalidException invalid/locks_bad_wait
InvalidException invalid/locks_bad_wait
UnsupportedException unsupported/unsupported
