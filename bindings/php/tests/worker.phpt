--TEST--
A worker that lives on: what one request held is free for the next one, however it ended
--EXTENSIONS--
fencehold
--FILE--
<?php
require __DIR__ . '/helper.inc';
$store = fresh_store();
$folder = substr($store, 5);
file_put_contents("$folder/index.php", <<<'PHP'
<?php
$query = $_GET + ['end' => ''];
$client = new Fencehold\Client($query['store']);
$lock = $client->lock($query['name'], ttl: '20s', crash: 'expire');
if (!$lock->acquire()) {
    exit(getmypid() . ' refused: ' . $lock->refusal()->reason);
}
header('X-Label: ' . $client->holders($query['name'])[0]->label);
echo getmypid(), ' taken';
flush();
match ($query['end']) {
    'fatal' => no_such_function(),
    'memory' => (function () { ini_set('memory_limit', '4M'); $text = str_repeat('x', 5000000); })(),
    'time' => (function () use ($lock) { set_time_limit(1); while (true) { $lock->keepAlive(); } })(),
    'exit' => exit,
    'sleep' => sleep(6),
    'global' => $GLOBALS['kept'] = $lock,
    default => null,
};
PHP);

/** Serves until the answer's process is ended. */
function serve(string $folder, int $workers): array
{
    $environment = $workers > 1 ? ['PHP_CLI_SERVER_WORKERS' => (string) $workers] + getenv() : getenv();
    foreach (range(1, 20) as $try) {
        $port = random_int(20000, 60000);
        $command = php('-d', 'display_errors=0', '-d', 'log_errors=0', '-S', "127.0.0.1:$port", '-t', $folder);
        $process = proc_open("exec $command", [2 => ['file', '/dev/null', 'a']], $pipes, null, $environment);
        for ($count = 0; $count < 100 && proc_get_status($process)['running']; ++$count) {
            if ($socket = @fsockopen('127.0.0.1', $port)) {
                fclose($socket);
                return [$process, $port];
            }
            usleep(100000);
        }
        proc_terminate($process);
    }
    exit("no port\n");
}

function ask(int $port, string $store, string $end): string
{
    $query = http_build_query(['store' => $store, 'name' => 'n', 'end' => $end]);
    return (string) @file_get_contents("http://127.0.0.1:$port/index.php?$query", false, stream_context_create(
        ['http' => ['ignore_errors' => true, 'timeout' => 30]]
    ));
}

[$process, $port] = serve($folder, 1);
$pids = [];
foreach (['', 'exit', 'fatal', 'memory', 'time', 'global', ''] as $end) {
    [$pid, $answer] = explode(' ', ask($port, $store, $end), 2);
    $pids[$pid] = true;
    echo "$end: $answer, ", from_elsewhere($store, 'n'), "\n";
}
var_dump(count($pids));
proc_terminate($process);
proc_close($process);

echo "another worker, while the first request lasts\n";
[$process, $port] = serve($folder, 2);
$query = http_build_query(['store' => $store, 'name' => 'n', 'end' => 'sleep']);
$first = stream_socket_client("tcp://127.0.0.1:$port");
fwrite($first, "GET /index.php?$query HTTP/1.0\r\n\r\n");
while (($line = fgets($first)) !== false && trim($line) !== '') {
    if (str_starts_with($line, 'X-Label')) {
        echo trim($line), "\n";
    }
}
// The system chooses the worker: until it is the other one, a request waits for the first to end.
echo preg_replace('/^\d+ /', '', ask($port, $store, '')), ', from here: ', from_elsewhere($store, 'n'), "\n";
fclose($first);
exec('kill -TERM $(ps -o pid= --ppid ' . proc_get_status($process)['pid'] . ')');
proc_terminate($process);
proc_close($process);
?>
--EXPECT--
: taken, taken
exit: taken, taken
fatal: taken, taken
memory: taken, taken
time: taken, taken
global: taken, taken
: taken, taken
int(1)
another worker, while the first request lasts
X-Label: index.php
refused: held, from here: held
