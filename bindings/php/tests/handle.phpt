--TEST--
A handle takes, keeps, tells and gives back
--EXTENSIONS--
fencehold
--FILE--
<?php
$client = new Fencehold\Client('memory:');
var_dump($client->store());
$client->ping();
$lock = $client->lock('nightly', ttl: '30s');
var_dump($lock->name(), $lock->ttlMs(), $lock->held(), $lock->remainingMs(), $lock->position());
var_dump(preg_match('/^[^:]+:' . getmypid() . ':[0-9a-f]{12}$/', $lock->owner()));
var_dump($lock->acquire());
var_dump($lock->held(), $lock->atRisk(), $lock->lostReason(), $lock->refusal(), $lock->lastError(), $lock->slot());
var_dump($lock->token() > 0, $lock->fence() === $lock->token(), $lock->remainingMs() > 25000);
var_dump($lock->keepAlive());

$other = $client->lock('nightly', ttl: 30);
var_dump($other->acquire(), $other->refusal()->reason, $other->refusal()->holders[0]->owner === $lock->owner());
var_dump($lock->acquire(), $lock->refusal()->reason);
var_dump($lock->release(), $lock->release(), $lock->held(), $lock->keepAlive());
var_dump($other->acquire(), $other->fence() > 0, $other->refusal());
var_dump($other->stepAside(), $other->held());

$lock = $client->acquire('dropped', ttl: 30);
$next = $client->lock('dropped', ttl: 30);
var_dump($next->acquire());
$fence = $lock->fence();
unset($lock);
var_dump($next->acquire(), $next->fence() > $fence);
?>
--EXPECTF--
string(7) "memory:"
string(7) "nightly"
int(30000)
bool(false)
int(0)
int(0)
int(1)
bool(true)
bool(true)
bool(false)
NULL
NULL
NULL
int(0)
bool(true)
bool(true)
bool(true)
bool(true)
bool(false)
string(4) "held"
bool(true)
bool(false)
string(9) "held_here"
bool(true)
bool(false)
bool(false)
bool(false)
bool(true)
bool(true)
NULL
bool(true)
bool(true)
bool(false)
bool(true)
bool(true)
