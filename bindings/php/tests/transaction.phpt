--TEST--
Steps are done as a whole, and only while their guards are held
--EXTENSIONS--
fencehold
--FILE--
<?php
require __DIR__ . '/helper.inc';
$client = new Fencehold\Client('memory:');
$lock = $client->acquire('n', '30s');
$put = fn (string $key, $value) => ['op' => 'put', 'ns' => 'reports', 'key' => $key, 'value' => $value, 'forever' => true];

$step = $client->transaction();
var_dump($step->guard($lock) === $step, $step->kv([$put('last', ['rows' => 3, 'text' => "\u{e4}/"])]) === $step);
$result = $step->commit();
var_dump($result->success, $result->reason, count($result->results), $result->orThrow() === $result);

echo "a precondition\n";
$result = $client->transaction()->kv([['op' => 'putIfAbsent', 'required' => true] + $put('last', 1)])->commit();
var_dump($result->success, $result->reason, thrown($result->orThrow(...)));

echo "a guard that somebody else has\n";
$step = $client->transaction()->guard($lock)->kv([$put('last', 4)]);
$client->forceRelease('n', token: $lock->token());
$thief = $client->acquire('n', '30s');
$result = $step->commit();
var_dump($result->success, $result->reason, $lock->lostReason());
for ($count = 0; $count < 2; ++$count) {
    try {
        $result->orThrow();
    } catch (Fencehold\Exception\LostException $error) {
        var_dump($error->lock, $error->getMessage() !== '');
    }
}
echo "guards that are not held, not ours, not real\n";
echo thrown(fn () => $client->transaction()->guard($lock)), "\n";
echo thrown(fn () => (new Fencehold\Client('memory:'))->transaction()->guard($thief)), "\n";
echo thrown(fn () => $client->transaction()->kv(['op' => 'put'])), "\n";
echo thrown(fn () => $client->transaction()->kv([NAN])), "\n";
echo thrown(fn () => $client->transaction()->kv([1])->commit()), "\n";
echo "queues need a store that has them\n";
echo thrown(fn () => $client->transaction()->queue('mail')->push([['data' => 1]])->commit()), "\n";
echo thrown(fn () => $client->transaction()->ack([['transactionId' => 't', 'partitionId' => 'p', 'leaseId' => 'l', 'status' => 'completed']])->commit()), "\n";
echo thrown(fn () => $client->transaction()->timers([['op' => 'cancel', 'name' => 't']])->commit()), "\n";
?>
--EXPECTF--
bool(true)
bool(true)
bool(true)
NULL
int(1)
bool(true)
a precondition
bool(false)
string(15) "kv_precondition"
string(40) "InvalidException invalid/kv_precondition"
a guard that somebody else has
bool(false)
string(%d) "%s"
string(5) "guard"
string(1) "n"
bool(true)
string(1) "n"
bool(true)
guards that are not held, not ours, not real
NotHeldException not_held/%s
InvalidException invalid/%s
ValueError: Fencehold\Transaction::kv(): Argument #1 ($operations) must be a list
ValueError: Fencehold\Transaction::kv(): Argument #1 ($operations) cannot be written as JSON: Inf and NaN cannot be JSON encoded
InvalidException invalid/%s
queues need a store that has them
UnsupportedException unsupported/%s
UnsupportedException unsupported/%s
UnsupportedException unsupported/%s
