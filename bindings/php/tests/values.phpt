--TEST--
Looking: holders, show, list, as objects and as JSON; ending a hold by hand
--EXTENSIONS--
fencehold
--FILE--
<?php
require __DIR__ . '/helper.inc';
$client = new Fencehold\Client('memory:');
$begin = time();
$lock = $client->acquire('b', '300s', label: 'mine');
$permit = $client->semaphore('a', 2, '300s');
var_dump($permit->acquire());
$holder = $client->holders('b')[0];
var_dump($holder->owner === $lock->owner(), $holder->token === $lock->token(), $holder->label, $holder->slot);
$since = $holder->since->getTimestamp();
var_dump($since >= $begin - 1 && $since <= time() + 1, $holder->expiresAt > $holder->renewedAt);
var_dump($client->holders('nobody'), $client->show('nobody')->held, $client->show('b')->held);
echo json_encode($client->show('b')), "\n";
echo json_encode($client->show('nobody')), "\n";
foreach ($client->list() as $info) {
    echo $info->name, ' ', count($info->holders), ' ', count($info->waiters), "\n";
}
var_dump(count($client->list(limit: 1)), $client->list(after: 'a')[0]->name, $client->list('x'));
$refused = $client->lock('b', 30);
var_dump($refused->acquire());
echo json_encode($refused->refusal()), "\n";
echo "by hand\n";
var_dump($client->forceRelease('b', token: $lock->token() - 1), $client->forceRelease('b', token: $lock->token()));
var_dump($client->forceRelease('a', owner: $permit->owner(), slot: $permit->slot()), $lock->keepAlive());
echo thrown(fn () => $client->forceRelease('b')), "\n";
echo thrown(fn () => $client->forceRelease('b', token: 1, owner: 'x')), "\n";
echo thrown(fn () => $client->forceRelease('b', token: 0)), "\n";
echo thrown(fn () => $client->forceRelease('b', token: 1, slot: -1)), "\n";
echo thrown(fn () => $client->list(limit: -1)), "\n";
echo thrown(function () use ($holder) { $holder->token = 1; }), "\n";
echo thrown(function () use ($holder) { $holder->more = 1; }), "\n";
?>
--EXPECTF--
bool(true)
bool(true)
bool(true)
string(4) "mine"
int(0)
bool(true)
bool(true)
array(0) {
}
bool(false)
bool(true)
{"name":"b","held":true,"waiting":0,"holders":[{"slot":0,"token":"%d","owner":"%s:%d:%x","label":"mine","since":"20%d-%d-%dT%d:%d:%d.%dZ","renewedAt":"%sZ","expiresAt":"%sZ","expiresInMs":%d}],"waiters":[]}
{"name":"nobody","held":false,"waiting":0,"holders":[],"waiters":[]}
a 1 0
b 1 0
int(1)
string(1) "b"
array(0) {
}
bool(false)
{"reason":"held","holders":[{"slot":0,%s}],"waiting":0}
by hand
bool(false)
bool(true)
bool(true)
bool(true)
InvalidException invalid/locks_bad_id
InvalidException invalid/locks_bad_id
ValueError: Fencehold\Client::forceRelease(): Argument #2 ($token) must be greater than 0
ValueError: Fencehold\Client::forceRelease(): Argument #4 ($slot) must be between 0 and 4294967295
ValueError: Fencehold\Client::list(): Argument #2 ($limit) must be between 0 and 4294967295
Error: Cannot modify readonly property Fencehold\Holder::$token
Error: Cannot create dynamic property Fencehold\Holder::$more
