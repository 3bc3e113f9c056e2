--TEST--
composer.json describes this extension for PIE
--FILE--
<?php
$root = dirname(__DIR__, 3);
$package = json_decode(file_get_contents("$root/composer.json"), true, flags: JSON_THROW_ON_ERROR);
$ext = $package['php-ext'];
$known = [
    'extension-name' => 'is_string', 'priority' => 'is_int', 'support-zts' => 'is_bool', 'support-nts' => 'is_bool',
    'build-path' => 'is_string', 'os-families' => 'array_is_list', 'configure-options' => 'array_is_list',
];
foreach ($ext as $key => $value) {
    if (!isset($known[$key]) || !$known[$key]($value)) {
        echo "php-ext.$key\n";
    }
}
var_dump(preg_match('~^[a-z0-9]([_.-]?[a-z0-9]+)*/[a-z0-9](([_.]|-{1,2})?[a-z0-9]+)*$~', $package['name']));
var_dump($package['type'], isset($package['version']), array_diff($ext['os-families'], ['linux']));
var_dump(str_contains(file_get_contents("$root/Cargo.toml"), "license = \"{$package['license']}\""));
$config = file_get_contents("$root/{$ext['build-path']}/config.m4");
var_dump(str_contains($config, "PHP_NEW_EXTENSION([{$ext['extension-name']}],"));
preg_match_all('/PHP_ARG_(WITH|ENABLE)\(\[([a-z-]+)\]/', $config, $found);
$options = array_map(fn ($kind, $name) => strtolower("$kind-$name"), $found[1], $found[2]);
var_dump($options === array_column($ext['configure-options'], 'name'));
foreach ($ext['configure-options'] as $option) {
    var_dump($option['needs-value'], array_diff(array_keys($option), ['name', 'needs-value', 'description']));
}
[, $minimum] = explode('>=', $package['require']['php']);
var_dump(version_compare(PHP_VERSION, $minimum, '>='), ini_get('fencehold.url'));
?>
--EXPECT--
int(1)
string(7) "php-ext"
bool(false)
array(0) {
}
bool(true)
bool(true)
bool(true)
bool(true)
array(0) {
}
bool(true)
string(0) ""
