--TEST--
What still runs when the holds have been given back: a session handler that writes at the very end
--EXTENSIONS--
fencehold
session
--INI--
session.use_cookies=0
session.cache_limiter=
--FILE--
<?php
require __DIR__ . '/helper.inc';
final class Late implements SessionHandlerInterface
{
    public function __construct(private Fencehold\Client $client, private Fencehold\Lock $lock)
    {
    }
    public function write(string $id, string $data): bool
    {
        $lock = $this->lock;
        var_dump($lock->keepAlive(), $lock->held(), $lock->release(), $lock->lostReason(), $lock->refusal(), $lock->lastError());
        echo thrown(fn () => $lock->acquire()), "\n", thrown(fn () => $lock->run(fn () => 1)), "\n";
        echo thrown($lock->fence(...)), "\n", thrown(fn () => $this->client->transaction()->guard($lock)), "\n";
        echo thrown(fn () => $lock->lose('renew')), "\n";
        var_dump($lock->name(), $lock->ttlMs());
        // A handle that is made now is given back when its object goes.
        var_dump($this->client->lock('n', '30s')->acquire());
        $GLOBALS['newest'] = $this->client->acquire('n', '30s');
        return true;
    }
    public function open(string $path, string $name): bool { return true; }
    public function close(): bool { return true; }
    public function read(string $id): string { return ''; }
    public function destroy(string $id): bool { return true; }
    public function gc(int $lifetime): int { return 0; }
}
$client = new Fencehold\Client('memory:late');
$lock = $client->acquire('n', '30s');
session_set_save_handler(new Late($client, $lock), false);
session_start();
$_SESSION['x'] = 1;
echo "the last line\n";
?>
--EXPECTF--
the last line
bool(false)
bool(false)
bool(false)
NULL
NULL
NULL
Error: The request that this Fencehold\Lock belonged to is over
Error: The request that this Fencehold\Lock belonged to is over
Error: The request that this Fencehold\Lock belonged to is over
InvalidException invalid/%s
nothing
string(0) ""
int(0)
bool(true)
