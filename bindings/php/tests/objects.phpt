--TEST--
No clones, no serialisation, no construction by hand, no subclasses; secrets stay out of traces
--EXTENSIONS--
fencehold
--INI--
zend.exception_ignore_args=0
--FILE--
<?php
require __DIR__ . '/helper.inc';
$client = new Fencehold\Client('memory:');
$lock = $client->acquire('n', 30);
$objects = [
    $client, $lock, $client->transaction(), $client->transaction()->queue('q'), $client->show('n'), $client->holders('n')[0],
    $lock->run(fn () => 1), $lock->refusal(), $client->transaction()->kv([['op' => 'get', 'ns' => 'x', 'key' => 'y']])->commit(),
];
try {
    $client->acquire('n', 30);
} catch (Fencehold\Exception\Exception $error) {
    $objects[] = $error;
}
foreach ($objects as $object) {
    echo thrown(fn () => clone $object), ' | ', thrown(fn () => serialize($object)), "\n";
}
foreach (get_declared_classes() as $class) {
    if (!str_starts_with($class, 'Fencehold\\')) {
        continue;
    }
    $reflection = new ReflectionClass($class);
    $open = !$reflection->isFinal() && $class !== Fencehold\Exception\HeldException::class;
    $constructor = $reflection->getConstructor();
    $made = str_contains($class, '\\Exception\\') || $class === Fencehold\Client::class || $constructor->isPrivate();
    if ($open || !$made || $reflection->isCloneable()) {
        echo "$class\n";
    }
}
echo thrown(fn () => unserialize('O:14:"Fencehold\Lock":0:{}')), "\n";
echo thrown(fn () => $client->__construct('memory:')), "\n";
echo thrown(fn () => (new ReflectionClass(Fencehold\Client::class))->newInstanceWithoutConstructor()), "\n";
echo thrown(fn () => (new ReflectionClass(Fencehold\Lock::class))->newInstanceWithoutConstructor()), "\n";
echo thrown(function () use ($lock) { $lock->more = 1; }), "\n";
var_dump($lock == $client->lock('n', 30), $lock == $lock);
try {
    new Fencehold\Client('nonsense:', authToken: 'hunter2', user: 'me', password: 'hunter2');
} catch (Fencehold\Exception\Exception $error) {
    var_dump(str_contains((string) $error, 'hunter2'), str_contains(print_r($error->getTrace(), true), 'hunter2'));
}
var_dump(str_contains((new Fencehold\Client('memory:x', password: 'hunter2'))->store(), 'hunter2'));
?>
--EXPECT--
Error: Trying to clone an uncloneable object of class Fencehold\Client | Exception: Serialization of 'Fencehold\Client' is not allowed
Error: Trying to clone an uncloneable object of class Fencehold\Lock | Exception: Serialization of 'Fencehold\Lock' is not allowed
Error: Trying to clone an uncloneable object of class Fencehold\Transaction | Exception: Serialization of 'Fencehold\Transaction' is not allowed
Error: Trying to clone an uncloneable object of class Fencehold\Queue | Exception: Serialization of 'Fencehold\Queue' is not allowed
Error: Trying to clone an uncloneable object of class Fencehold\LockInfo | Exception: Serialization of 'Fencehold\LockInfo' is not allowed
Error: Trying to clone an uncloneable object of class Fencehold\Holder | Exception: Serialization of 'Fencehold\Holder' is not allowed
Error: Trying to clone an uncloneable object of class Fencehold\RunResult | Exception: Serialization of 'Fencehold\RunResult' is not allowed
Error: Trying to clone an uncloneable object of class Fencehold\Refusal | Exception: Serialization of 'Fencehold\Refusal' is not allowed
Error: Trying to clone an uncloneable object of class Fencehold\CommitResult | Exception: Serialization of 'Fencehold\CommitResult' is not allowed
Error: Trying to clone an uncloneable object of class Fencehold\Exception\HeldException | Exception: Serialization of 'Fencehold\Exception\HeldException' is not allowed
Exception: Unserialization of 'Fencehold\Lock' is not allowed
Error: The Fencehold\Client object is already constructed
ReflectionException: Class Fencehold\Client is an internal class marked as final that cannot be instantiated without invoking its constructor
ReflectionException: Class Fencehold\Lock is an internal class marked as final that cannot be instantiated without invoking its constructor
Error: Cannot create dynamic property Fencehold\Lock::$more
bool(false)
bool(true)
bool(false)
bool(false)
bool(false)
