--TEST--
Settings: fencehold.url and fencehold.max_wait; FENCEHOLD_URL; labels
--EXTENSIONS--
fencehold
--INI--
fencehold.url=memory:of-the-ini
--FILE--
<?php
require __DIR__ . '/helper.inc';
var_dump((new Fencehold\Client())->store(), (new Fencehold\Client('memory:given'))->store());
ini_set('fencehold.url', '');
putenv('FENCEHOLD_URL=memory:of-the-environment');
var_dump((new Fencehold\Client())->store());
putenv('FENCEHOLD_URL');
echo is_readable('/etc/fencehold/url') ? '' : thrown(fn () => new Fencehold\Client()), "\n";

$client = new Fencehold\Client('memory:');
$holder = $client->acquire('n', '30s');
var_dump(ini_set('fencehold.max_wait', '200ms'));
$taken = seconds(fn () => var_dump($client->lock('n', 30)->acquire(wait: 'forever')));
var_dump($taken < 20, ini_get('fencehold.max_wait'));
var_dump(ini_set('fencehold.max_wait', 'soon'), ini_get('fencehold.max_wait'));
var_dump(ini_set('fencehold.max_wait', ''));

var_dump($client->holders('n')[0]->label === basename(__FILE__));
$labelled = new Fencehold\Client('memory:', label: 'of the client');
$one = $labelled->acquire('one', 30);
$two = $labelled->acquire('two', 30, label: 'of the lock');
var_dump($labelled->holders('one')[0]->label, $labelled->holders('two')[0]->label);
echo thrown(fn () => new Fencehold\Client('memory:', label: "\n")), "\n";
ob_start();
phpinfo(INFO_MODULES);
echo preg_match('/fencehold support => enabled\nextension version => [0-9.]+\nlibrary version => [0-9.]+/', ob_get_clean()), "\n";
?>
--EXPECTF--
string(17) "memory:of-the-ini"
string(12) "memory:given"
string(25) "memory:of-the-environment"
InvalidException invalid/locks_no_store
string(0) ""
bool(false)
bool(true)
string(5) "200ms"

Warning: fencehold.max_wait: %s in %s on line %d
bool(false)
string(5) "200ms"
string(5) "200ms"
bool(true)
string(13) "of the client"
string(11) "of the lock"
InvalidException invalid/locks_bad_label
1
