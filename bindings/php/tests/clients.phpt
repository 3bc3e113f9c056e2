--TEST--
Persistent clients: connections are used again, holds and private stores are not
--EXTENSIONS--
fencehold
--FILE--
<?php
require __DIR__ . '/helper.inc';
use Fencehold\Client;
$store = fresh_store();
$client = new Client($store);
$lock = $client->acquire('n', '30s');
$owner = $lock->owner();
unset($client);
var_dump($lock->keepAlive());
unset($lock);
$client = new Client($store);
$again = $client->acquire('n', '30s');
var_dump($again->owner() !== $owner);
echo "two at once do not close each other\n";
$other = new Client($store);
$other->close();
var_dump($again->keepAlive(), thrown(fn () => $other->ping()), thrown(fn () => $client->ping()));
unset($other);
var_dump(thrown(fn () => (new Client($store))->ping()));
echo "close gives back\n";
$client->close();
var_dump($again->held(), from_elsewhere($store, 'n'));
echo "memory: is private, memory:NAME is not\n";
$private = new Client('memory:');
$held = $private->acquire('n', '30s');
$shared = new Client('memory:shared');
$kept = $shared->acquire('n', '30s');
var_dump((new Client('memory:'))->lock('n', 30)->acquire(), (new Client('memory:shared'))->lock('n', 30)->acquire());
$row = [['op' => 'putIfAbsent', 'required' => true, 'ns' => 'n', 'key' => 'k', 'value' => 1, 'forever' => true]];
var_dump($private->transaction()->kv($row)->commit()->success, $private->transaction()->kv($row)->commit()->success);
unset($private, $held);
$private = new Client('memory:');
var_dump($private->list(), $private->transaction()->kv($row)->commit()->success);
echo "many different ones\n";
for ($count = 0; $count < 200; ++$count) {
    (new Client("memory:number-$count"))->ping();
}
$clients = array_map(fn () => new Client($store), range(1, 20));
unset($clients);
var_dump(thrown(fn () => (new Client($store, persistent: false))->ping()));
?>
--EXPECT--
bool(true)
bool(true)
two at once do not close each other
bool(true)
string(38) "InvalidException invalid/client_closed"
string(7) "nothing"
string(7) "nothing"
close gives back
bool(false)
string(5) "taken"
memory: is private, memory:NAME is not
bool(true)
bool(false)
bool(true)
bool(false)
array(0) {
}
bool(true)
many different ones
string(7) "nothing"
