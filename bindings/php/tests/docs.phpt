--TEST--
The programs of docs/php.md run
--EXTENSIONS--
fencehold
pdo
pdo_sqlite
--FILE--
<?php
require __DIR__ . '/helper.inc';
$page = file_get_contents(dirname(__DIR__, 3) . '/docs/php.md');
preg_match_all('/^```php\n(.*?)^```$/ms', $page, $blocks);
foreach ($blocks[1] as $index => $block) {
    $file = tempnam(sys_get_temp_dir(), 'fencehold-doc-');
    file_put_contents($file, $block);
    $checks = ['-d', 'zend.assertions=1', '-d', 'assert.exception=1', '-d', 'error_reporting=-1', '-d', 'display_errors=1'];
    exec(php(...$checks, ...[$file]) . ' 2>&1', $output, $code);
    unlink($file);
    if ($code !== 0 || preg_match('/Warning|Notice|Deprecated|Error/', implode("\n", $output))) {
        echo "program $index: exit code $code\n", implode("\n", $output), "\n";
    }
    $output = [];
}
var_dump(count($blocks[1]) === substr_count($page, '```php'), count($blocks[1]) >= 7);
// Every exception and setting is on the page.
foreach (get_declared_classes() as $class) {
    if (str_starts_with($class, 'Fencehold\\Exception\\') && !str_contains($page, '`' . substr($class, 20) . '`')) {
        echo "$class is not on the page\n";
    }
}
foreach (array_keys(ini_get_all('fencehold')) as $setting) {
    var_dump(str_contains($page, "`$setting`"));
}
?>
--EXPECT--
bool(true)
bool(true)
bool(true)
bool(true)
