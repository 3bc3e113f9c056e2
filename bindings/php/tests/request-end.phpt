--TEST--
Holds are given back at the end of the request, however it ends, and never make an exception there
--EXTENSIONS--
fencehold
--FILE--
<?php
require __DIR__ . '/helper.inc';
$store = fresh_store();
$begin = '$lock = (new Fencehold\Client($argv[1]))->acquire("n", "30s", crash: "expire"); ';
$ends = [
    'the last line' => '',
    'exit' => 'exit(3);',
    'an uncaught exception' => 'throw new LogicException("x");',
    'a fatal error' => 'no_such_function();',
    'no memory' => 'ini_set("memory_limit", "8M"); $text = ""; while (true) { $text .= str_repeat("x", 100000); }',
    'no time' => 'set_time_limit(1); while (true) { $lock->keepAlive(); }',
    'a cycle' => '$a = new stdClass(); $a->a = $a; $a->lock = $lock;',
    'exit in run()' => '$lock->release(); $lock->run(function () { exit; });',
    'a destructor that uses it' => 'class Late { public $lock; function __destruct() { echo $this->lock->keepAlive() ? "held" : "lost"; } }
        $GLOBALS["late"] = new Late(); $GLOBALS["late"]->lock = $lock;',
];
foreach ($ends as $name => $end) {
    $output = elsewhere("ini_set('display_errors', '0'); ini_set('log_errors', '0'); $begin $end", $store);
    echo "$name: $output", $output === '' ? '' : ', ', from_elsewhere($store, 'n'), "\n";
}
$killed = 'exec("kill -9 " . getmypid()); sleep(30);';
elsewhere(strtr($begin, ['"n"' => '"killed"']) . $killed, $store);
elsewhere(strtr($begin, ['"n"' => '"freed"', 'expire' => 'takeover']) . $killed, $store);
echo 'after SIGKILL: ', from_elsewhere($store, 'killed'), ', ', from_elsewhere($store, 'freed'), "\n";

echo "a store that does not answer\n";
$code = 'ini_set("error_log", $argv[2]); ' . $begin . 'echo "held\n"; fgets(STDIN); ';
foreach (['' => 'the end', '$lock = null; echo "gone on\n";' => 'a handle that is dropped'] as $end => $name) {
    $log = tempnam(sys_get_temp_dir(), 'fencehold-log-');
    $process = proc_open(php('-r', $code . $end, '--', $store, $log), [['pipe', 'r'], ['pipe', 'w'], STDERR], $pipes);
    fgets($pipes[1]);
    $blocked = block_store($store);
    fclose($pipes[0]);
    $output = trim(stream_get_contents($pipes[1]));
    $code_of_exit = proc_close($process);
    unblock($blocked);
    echo "$name: exit code $code_of_exit $output\n", preg_replace('/^\[.*?\] /m', '', file_get_contents($log));
    unlink($log);
    (new Fencehold\Client($store))->forceRelease('n', owner: (new Fencehold\Client($store))->holders('n')[0]->owner);
}
?>
--EXPECTF--
the last line: taken
exit: taken
an uncaught exception: taken
a fatal error: taken
no memory: taken
no time: taken
a cycle: taken
exit in run(): taken
a destructor that uses it: held, taken
after SIGKILL: held, taken
a store that does not answer
the end: exit code 0 
fencehold: lock "n" on file:%s: the work is done, but no answer to release within %s s; the lock may stay held until %s
a handle that is dropped: exit code 0 gone on
fencehold: lock "n" on file:%s: the work is done, but no answer to release within %s s; the lock may stay held until %s
