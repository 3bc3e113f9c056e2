--TEST--
What can never be a row is refused with a reason, and rows are values
--EXTENSIONS--
fencehold
--FILE--
<?php
require __DIR__ . '/helper.inc';
$client = new Fencehold\Client('memory:?clock=manual');
$rows = $client->kv('reports');
$deep = null;
for ($level = 0; $level < 600; ++$level) {
    $deep = [$deep];
}
$cases = [
    fn () => $client->kv('No Namespace')->get('k'),
    fn () => $client->kv("\xff"),
    fn () => $rows->get(''),
    fn () => $rows->get("a\0b"),
    fn () => $rows->get(str_repeat('k', 600)),
    fn () => $rows->getMany(['a', 7]),
    fn () => $rows->getPrefix(''),
    fn () => $rows->getPrefix('p', 0),
    fn () => $rows->put('k', NAN, ttl: '1h'),
    fn () => $rows->put('k', $deep, ttl: '1h'),
    fn () => $rows->put('k', str_repeat('v', 66000), ttl: '1h'),
    fn () => $rows->put('k', 1, ttl: 0),
    fn () => $rows->put('k', 1, ttl: -1),
    fn () => $rows->put('k', 1, ttl: 'soon'),
    fn () => $rows->put('k', 1, ttl: new DateInterval('P1M')),
    fn () => $rows->put('k', 1, ttl: [1]),
    fn () => $rows->put('k', 1, ttl: '1h', expect: -1),
    fn () => $rows->delete('k', -1),
    fn () => $rows->check('k', -1),
    fn () => clone $rows,
    fn () => serialize($rows),
    fn () => new Fencehold\Kv(),
    fn () => $rows->put('k', 1, ttl: '1h')->version = 7,
];
foreach ($cases as $case) {
    echo thrown($case), "\n";
}
$rows->put('row', ['a' => 1], ttl: '2s');
$row = $rows->get('row');
echo preg_replace('/\d{5,}/', 'N', json_encode([$row, $rows->getPrefix('row')])), "\n";
var_dump($row == $rows->get('row'));
$client->advance('3s');
var_dump($rows->get('row'));

echo "a client that is gone leaves its rows usable\n";
$kept = (new Fencehold\Client('memory:rows-refused'))->kv('reports');
(new Fencehold\Client('memory:rows-refused'))->close();
var_dump($kept->put('k', 1, ttl: '1h')->applied);
$client->close();
echo thrown(fn () => $rows->get('k')), "\n";
?>
--EXPECT--
InvalidException invalid/kv_bad_namespace
InvalidException invalid/kv_bad_namespace
InvalidException invalid/kv_bad_key
InvalidException invalid/kv_bad_key
InvalidException invalid/kv_key_too_large
TypeError: Fencehold\Kv::getMany(): Argument #1 ($keys) must be a list of strings, int given in it
InvalidException invalid/kv_prefix_required
ValueError: Fencehold\Kv::getPrefix(): Argument #2 ($limit) must be between 1 and 4294967295
ValueError: Fencehold\Kv::put(): Argument #2 ($value) cannot be written as JSON: Inf and NaN cannot be JSON encoded
ValueError: Fencehold\Kv::put(): Argument #2 ($value) cannot be written as JSON: Maximum stack depth exceeded
InvalidException invalid/kv_value_too_large
InvalidException invalid/kv_bad_ttl
InvalidException invalid/kv_bad_ttl
InvalidException invalid/kv_bad_ttl
InvalidException invalid/kv_bad_ttl
TypeError: Fencehold\Kv::put(): Argument #3 ($ttl) must be of type DateInterval|string|int|float, array given
ValueError: Fencehold\Kv::put(): Argument #4 ($expect) must be greater than or equal to 0
ValueError: Fencehold\Kv::delete(): Argument #2 ($expect) must be greater than or equal to 0
ValueError: Fencehold\Kv::check(): Argument #2 ($expect) must be greater than or equal to 0
Error: Trying to clone an uncloneable object of class Fencehold\Kv
Exception: Serialization of 'Fencehold\Kv' is not allowed
Error: Call to private Fencehold\Kv::__construct() from global scope
Error: Cannot modify readonly property Fencehold\Written::$version
[{"key":"row","value":{"a":1},"version":N},{"rows":[{"key":"row","value":{"a":1},"version":N}],"nextAfter":null}]
bool(true)
NULL
a client that is gone leaves its rows usable
bool(true)
InvalidException invalid/client_closed
