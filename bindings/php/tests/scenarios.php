<?php

/**
 * Plays every file of tests/scenarios through the extension. The README there describes the steps; no rule of leases
 * is here. Each is played on a server of its own, too. Prints one line a play and, last, `N passed, N failed`.
 */

declare(strict_types=1);

use Fencehold\Client;
use Fencehold\Exception\Exception as FenceholdError;
use Fencehold\Exception\HeldException;
use Fencehold\Exception\LostException;
use Fencehold\Exception\NotHeldException;
use Fencehold\Holder;
use Fencehold\Lock;
use Fencehold\Refusal;

/** A step did not do what the scenario says, or the scenario cannot be understood. */
final class Failure extends \RuntimeException
{
}

/** What a body throws that shall fail. */
final class BodyFailed extends \RuntimeException
{
}

function compare(string $what, mixed $actual, mixed $expected): void
{
    if ($actual !== $expected) {
        throw new Failure("$what is " . json_encode($actual) . ', not ' . json_encode($expected));
    }
}

function require_known(array $object, array $known): void
{
    foreach (array_keys($object) as $key) {
        if (!in_array($key, $known, true)) {
            throw new Failure("unknown key $key");
        }
    }
}

final class Play
{
    private const KEYS = [
        'do', 'lock', 'client', 'client_options', 'name', 'ttl', 'permits', 'handle_wait', 'owner', 'resume', 'label',
        'fair', 'reentrant', 'crash', 'wait', 'url', 'body', 'body_fails', 'reason', 'by', 'slot', 'token', 'token_of',
        'owner_of', 'prefix', 'limit', 'after', 'expect', 'expect_error', 'held', 'lost', 'lost_calls', 'refusal',
        'last_error', 'readable', 'fence_above', 'fence_is', 'token_above', 'token_is', 'ttl_ms', 'remaining_ms',
        'name_is', 'position',
    ];

    /** @var array<string, Client> */
    private array $clients = [];
    /** @var array<string, Lock> */
    private array $locks = [];
    /** @var array<string, string> the id of the client that each handle is of */
    private array $clientOf = [];
    /** @var array<string, int> */
    private array $fences = [];
    /** @var array<string, int> */
    private array $tokens = [];

    public function __construct(private readonly string $url)
    {
    }

    public function steps(array $steps): void
    {
        foreach ($steps as $step) {
            try {
                $this->step($step);
            } catch (Failure $failure) {
                if (str_contains($failure->getMessage(), "\n  in ")) {
                    throw $failure;
                }
                unset($step['body']);
                throw new Failure($failure->getMessage() . "\n  in " . json_encode($step));
            }
        }
    }

    public function end(): void
    {
        foreach ($this->clients as $client) {
            $client->close();
        }
    }

    private function step(array $step): void
    {
        require_known($step, self::KEYS);
        $fences = $this->fences;
        $tokens = $this->tokens;
        $expected = $step['expect_error'] ?? null;
        if ($expected !== null) {
            require_known($expected, ['kind', 'reason', 'retry', 'late', 'refusal', 'mentions']);
        }
        $thrown = null;
        $answer = null;
        try {
            $answer = $this->call($step);
        } catch (FenceholdError | BodyFailed $error) {
            $thrown = $error;
        }
        if ($thrown !== null) {
            if ($expected === null) {
                throw new Failure('it raised ' . $thrown->getMessage());
            }
            self::checkError($thrown, $expected);
        } elseif ($expected !== null) {
            throw new Failure('it raised nothing');
        } elseif (array_key_exists('expect', $step)) {
            compare('the answer', $answer, $step['expect']);
        }
        $lock = $this->locks[$step['lock'] ?? ''] ?? null;
        if ($lock === null) {
            return;
        }
        $this->lookAt($lock, $step, $fences, $tokens);
        if (self::isReadable($lock->fence(...))) {
            $this->fences[$step['lock']] = $lock->fence();
            $this->tokens[$step['lock']] = $lock->token();
        }
    }

    private function call(array $step): mixed
    {
        $do = $step['do'];
        if (isset($step['ttl']) && $do !== 'take') {
            $this->make($step);
        }
        return match ($do) {
            'new', 'check' => null,
            'open' => $this->open($step),
            'acquire' => $this->lock($step)->acquire(...self::wait($step)),
            'step_aside' => $this->lock($step)->stepAside(...self::wait($step)),
            'take' => $this->take($step),
            'keep_alive' => $this->lock($step)->keepAlive(),
            'release' => $this->lock($step)->release(),
            'run' => $this->run($step),
            'lose' => $this->lock($step)->lose($step['reason']),
            'let_expire' => $this->letExpire($step),
            'advance' => $this->client($step)->advance($step['by']),
            'force_release' => $this->forceRelease($step),
            'holders' => $this->ids($this->client($step)->holders($step['name']), $step['expect'] ?? []),
            'list' => array_map(
                fn ($info) => $info->name,
                $this->client($step)->list(
                    $step['prefix'] ?? '',
                    limit: $step['limit'] ?? 1000,
                    after: $step['after'] ?? ''
                )
            ),
            'ping' => $this->client($step)->ping(),
            'close' => $this->client($step)->close(),
            default => throw new Failure("unknown do $do"),
        };
    }

    /** The argument wait, if the step has one. */
    private static function wait(array $step): array
    {
        return array_key_exists('wait', $step) ? ['wait' => $step['wait']] : [];
    }

    // --- clients and handles

    private function client(array $step): Client
    {
        $id = $step['client'] ?? 'a';
        if (!isset($this->clients[$id])) {
            require_known($step['client_options'] ?? [], ['label']);
            $this->clients[$id] = new Client($this->url, label: $step['client_options']['label'] ?? null);
        }
        return $this->clients[$id];
    }

    private function lock(array $step): Lock
    {
        return $this->locks[$step['lock']] ?? throw new Failure("there is no handle {$step['lock']}");
    }

    private static function options(array $step): array
    {
        $options = [];
        foreach (['owner', 'resume', 'label', 'fair', 'reentrant', 'crash'] as $name) {
            // 'owner' of a step is an option where a handle is made and an expectation everywhere else.
            if (array_key_exists($name, $step)) {
                $options[$name] = $step[$name];
            }
        }
        if (array_key_exists('handle_wait', $step)) {
            $options['wait'] = $step['handle_wait'];
        }
        return $options;
    }

    private function keep(array $step, Lock $lock): void
    {
        $this->clientOf[$step['lock']] = $step['client'] ?? 'a';
        $this->locks[$step['lock']] = $lock;
    }

    private function make(array $step): void
    {
        $client = $this->client($step);
        $options = self::options($step);
        $this->keep($step, isset($step['permits'])
            ? $client->semaphore($step['name'], $step['permits'], $step['ttl'], ...$options)
            : $client->lock($step['name'], $step['ttl'], ...$options));
    }

    // --- the calls that are more than one line

    private function open(array $step): mixed
    {
        $this->clients[$step['client'] ?? 'a'] = new Client($step['url']);
        return null;
    }

    private function take(array $step): mixed
    {
        $options = [...self::options($step), ...self::wait($step)];
        $this->keep($step, $this->client($step)->acquire($step['name'], $step['ttl'], ...$options));
        return null;
    }

    private function run(array $step): bool
    {
        $body = function () use ($step): string {
            $this->steps($step['body']);
            if ($step['body_fails'] ?? false) {
                throw new BodyFailed('the body failed');
            }
            return 'done';
        };
        try {
            $result = $this->lock($step)->run($body, ...self::wait($step));
        } catch (LostException $lost) {
            compare('the value of the error', $lost->value, 'done');
            throw $lost;
        }
        if ($result->acquired) {
            compare('the value of run', $result->value, 'done');
        }
        compare('run has a refusal', $result->refusal !== null, !$result->acquired);
        return $result->acquired;
    }

    private function letExpire(array $step): mixed
    {
        $ttl = $this->lock($step)->ttlMs();
        if (str_contains($this->url, 'clock=manual')) {
            $this->clients[$this->clientOf[$step['lock']]]->advance("{$ttl}ms");
        } else {
            usleep(($ttl + 100) * 1000);
        }
        return null;
    }

    private function forceRelease(array $step): bool
    {
        $id = match (true) {
            isset($step['owner_of']) => ['owner' => $this->locks[$step['owner_of']]->owner()],
            isset($step['token_of']) => ['token' => $this->locks[$step['token_of']]->token()],
            default => ['token' => $step['token']],
        };
        return $this->client($step)->forceRelease($step['name'], ...$id, slot: $step['slot'] ?? 0);
    }

    // --- comparisons

    /**
     * The ids of the handles that these holders are, of those that are expected; else what the store says.
     *
     * @param Holder[] $holders
     */
    private function ids(array $holders, array $expected): array
    {
        $ids = [];
        foreach ($holders as $index => $holder) {
            $id = '?' . $holder->owner;
            $lock = $this->locks[$expected[$index] ?? ''] ?? null;
            if ($lock !== null && $holder->owner === $lock->owner()) {
                if (!self::isReadable($lock->token(...)) || $holder->token === $lock->token()) {
                    $id = $expected[$index];
                }
            }
            $ids[] = $id;
        }
        return $ids;
    }

    private static function checkError(\Throwable $error, array $expected): void
    {
        if ($error instanceof BodyFailed) {
            compare('the kind of error', 'body', $expected['kind']);
            return;
        }
        compare("the kind of \"{$error->getMessage()}\"", $error->kind, $expected['kind']);
        foreach (['reason', 'retry'] as $name) {
            if (isset($expected[$name])) {
                compare($name, $error->$name, $expected[$name]);
            }
        }
        if (isset($expected['late'])) {
            compare('late', $error instanceof LostException && $error->lateByMs > 0, $expected['late']);
        }
        if (isset($expected['refusal'])) {
            $refusal = $error instanceof HeldException ? $error->refusal : null;
            compare('the refusal', $refusal?->reason, $expected['refusal']);
        }
        foreach ($expected['mentions'] ?? [] as $word) {
            if (!str_contains($error->getMessage(), $word)) {
                throw new Failure("\"{$error->getMessage()}\" does not mention $word");
            }
        }
    }

    private function lookAt(Lock $lock, array $step, array $fences, array $tokens): void
    {
        $checks = [
            'held' => fn ($is) => compare('held', $lock->held(), $is),
            'lost' => fn ($is) => compare('lost', $lock->lostReason(), $is),
            // PHP has no loss handlers: work is a loop that asks keepAlive().
            'lost_calls' => fn ($is) => null,
            'refusal' => fn ($is) => $this->checkRefusal($lock->refusal(), $is),
            'last_error' => fn ($is) => compare('last_error', $lock->lastError()?->kind, $is),
            'readable' => function ($is) use ($lock) {
                compare('token is readable', self::isReadable($lock->token(...)), $is);
                compare('fence is readable', self::isReadable($lock->fence(...)), $is);
                compare('slot is readable', self::isReadable($lock->slot(...)), $is);
            },
            'fence_above' => fn ($of) => self::above('fence', $lock->fence(), $fences[$of]),
            'fence_is' => fn ($of) => compare('fence', $lock->fence(), $fences[$of]),
            'token_above' => fn ($of) => self::above('token', $lock->token(), $tokens[$of]),
            'token_is' => fn ($of) => compare('token', $lock->token(), $tokens[$of]),
            'slot' => fn ($is) => $step['do'] === 'force_release' ? null : compare('slot', $lock->slot(), $is),
            'ttl_ms' => fn ($is) => compare('ttl', $lock->ttlMs(), granted_ms($this->url, $is)),
            'remaining_ms' => function ($range) use ($lock) {
                $remaining = $lock->remainingMs();
                if ($remaining < $range[0] || $remaining > $range[1]) {
                    throw new Failure("remaining is $remaining ms");
                }
            },
            'owner' => fn ($is) => compare('owner', $lock->owner(), $is),
            'name_is' => fn ($is) => compare('name', $lock->name(), $is),
            'position' => fn ($is) => compare('position', $lock->position(), $is),
        ];
        foreach (array_intersect_key($checks, $step) as $key => $check) {
            $check($step[$key]);
        }
    }

    private static function isReadable(callable $read): bool
    {
        try {
            $read();
            return true;
        } catch (NotHeldException) {
            return false;
        }
    }

    private static function above(string $what, int $number, int $other): void
    {
        if ($number <= $other) {
            throw new Failure("$what is $number, not above $other");
        }
    }

    private function checkRefusal(?Refusal $refusal, ?array $expected): void
    {
        compare('there is a refusal', $refusal !== null, $expected !== null);
        if ($refusal === null || $expected === null) {
            return;
        }
        require_known($expected, ['reason', 'holders']);
        compare('the refusal', $refusal->reason, $expected['reason']);
        if (isset($expected['holders'])) {
            compare('the holders', $this->ids($refusal->holders, $expected['holders']), $expected['holders']);
        }
    }
}

/** The lifetime that a store grants: a server's are whole seconds. */
function granted_ms(string $url, int $ttl): int
{
    return str_starts_with($url, 'http:') ? intdiv($ttl + 999, 1000) * 1000 : $ttl;
}

/** What the steps do, those in bodies too. */
function acts(array $steps): array
{
    $acts = array_column($steps, 'do');
    return array_merge($acts, ...array_map(acts(...), array_column($steps, 'body')));
}

/** What a scenario that was written for memory: alone needs and no server has; null: nothing. */
function why_not_on_a_server(array $scenario): ?string
{
    $acts = acts($scenario['steps']);
    return match (true) {
        in_array('file:', (array) $scenario['store'], true) => null,
        in_array('advance', $acts, true) => 'moves the clock, which memory:?clock=manual alone can do',
        in_array('lose', $acts, true) => 'rehearses a loss, which memory: alone can do',
        default => null,
    };
}

/** Calls $play with the URL of a server on a free port with a fresh folder; $FENCEHOLD names the command. */
function with_server(string $folder, callable $play): void
{
    $command = [getenv('FENCEHOLD'), 'serve', '--data', $folder, '--listen', '127.0.0.1:0'];
    $server = proc_open($command, [2 => ['pipe', 'w']], $pipes);
    try {
        while (($line = fgets($pipes[2])) !== false) {
            if (preg_match('~http://\S+~', $line, $found)) {
                $play($found[0]);
                return;
            }
        }
        throw new Failure('the server does not serve');
    } finally {
        proc_terminate($server);
        proc_close($server);
    }
}

/** Calls $play with the store's URL, its name or folder never used before. */
function with_fresh_url(string $store, callable $play): void
{
    static $count = 0;
    [$scheme, $parameters] = [...explode('?', $store, 2), null];
    $parameters = $parameters === null ? '' : "?$parameters";
    $name = 'scenario-' . getmypid() . '-' . ++$count;
    if ($scheme === 'memory:') {
        $play("memory:$name$parameters");
        return;
    }
    if ($scheme !== 'file:' && $scheme !== 'http:') {
        throw new Failure("unknown store $store");
    }
    $folder = sys_get_temp_dir() . "/fencehold-php-$name";
    mkdir($folder, 0700);
    try {
        $scheme === 'http:' ? with_server($folder, $play) : $play("file:$folder$parameters");
    } finally {
        exec('rm -rf ' . escapeshellarg($folder));
    }
}

function play(array $scenario, string $store): void
{
    require_known($scenario, ['schema', 'scenario', 'store', 'steps']);
    compare('schema', $scenario['schema'], 1);
    with_fresh_url($store, function (string $url) use ($scenario): void {
        $play = new Play($url);
        $play->steps($scenario['steps']);
        $play->end();
    });
}

foreach (array_keys(getenv()) as $name) {
    if (str_starts_with($name, 'FENCEHOLD_')) {
        putenv($name);
    }
}
$passed = 0;
$failed = 0;
$skipped = [];
foreach (glob(dirname(__DIR__, 3) . '/tests/scenarios/*.json') as $path) {
    if (basename($path) === 'errors.json') {
        continue;
    }
    $scenario = json_decode(file_get_contents($path), true, flags: JSON_THROW_ON_ERROR);
    if ((array) $scenario['store'] === []) {
        ++$failed;
        echo 'FAILED ', basename($path), " is played on no store\n";
    }
    $stores = (array) $scenario['store'];
    $reason = why_not_on_a_server($scenario);
    if ($reason === null) {
        $stores[] = 'http:';
    } else {
        $skipped[] = $reason;
        echo 'skipped ', basename($path), " on http: it $reason\n";
    }
    foreach ($stores as $store) {
        try {
            play($scenario, $store);
            ++$passed;
            echo 'ok ', basename($path), " on $store\n";
        } catch (\Throwable $error) {
            ++$failed;
            echo 'FAILED ', basename($path), " on $store: {$error->getMessage()}\n";
        }
    }
}
if ($passed === 0) {
    ++$failed;
}
foreach (array_count_values($skipped) as $reason => $count) {
    echo "$count skipped on http:, each $reason\n";
}
echo "$passed passed, $failed failed\n";
exit($failed === 0 ? 0 : 1);
