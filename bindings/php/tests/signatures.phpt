--TEST--
The signatures are those that programs are written against
--EXTENSIONS--
fencehold
--FILE--
<?php
foreach (['Client', 'Lock', 'Transaction', 'Queue', 'CommitResult', 'RunResult', 'Refusal', 'Holder', 'Waiter', 'LockInfo', 'Kv', 'ValueRow', 'ValuePage', 'Written'] as $name) {
    $class = new ReflectionClass("Fencehold\\$name");
    echo "$name\n";
    foreach ($class->getProperties() as $property) {
        echo '  ', $property->isReadOnly() ? 'readonly ' : '', $property->getType(), ' $', $property->name, "\n";
    }
    foreach ($class->getMethods() as $method) {
        $parameters = [];
        foreach ($method->getParameters() as $parameter) {
            $text = $parameter->getType() . ' $' . $parameter->name;
            if ($parameter->isDefaultValueAvailable()) {
                $text .= ' = ' . var_export($parameter->getDefaultValue(), true);
            } elseif ($parameter->isOptional()) {
                $text .= ' = ?';
            }
            $parameters[] = ($parameter->getAttributes() ? '#[' . $parameter->getAttributes()[0]->getName() . '] ' : '') . $text;
        }
        echo $method->isPrivate() ? '  private ' : '  ', $method->name, '(', implode(', ', $parameters), ')';
        echo $method->hasReturnType() ? ': ' . $method->getReturnType() : '', "\n";
    }
}
?>
--EXPECT--
Client
  __construct(?string $url = NULL, #[SensitiveParameter] ?string $authToken = NULL, ?string $authTokenFile = NULL, ?string $user = NULL, #[SensitiveParameter] ?string $password = NULL, ?string $passwordFile = NULL, ?string $caFile = NULL, ?string $certFile = NULL, ?string $keyFile = NULL, DateInterval|string|int|float $requestTimeout = 5, ?string $label = NULL, bool $persistent = true)
  lock(string $name, DateInterval|string|int|float $ttl, DateInterval|string|int|float $wait = 0, ?string $owner = NULL, bool $resume = false, ?string $label = NULL, bool $fair = false, bool $reentrant = false, string $crash = 'takeover'): Fencehold\Lock
  semaphore(string $name, int $permits, DateInterval|string|int|float $ttl, DateInterval|string|int|float $wait = 0, ?string $owner = NULL, bool $resume = false, ?string $label = NULL, bool $fair = false, bool $reentrant = false, string $crash = 'takeover'): Fencehold\Lock
  acquire(string $name, DateInterval|string|int|float $ttl, DateInterval|string|int|float $wait = 0, ?string $owner = NULL, bool $resume = false, ?string $label = NULL, bool $fair = false, bool $reentrant = false, string $crash = 'takeover'): Fencehold\Lock
  holders(string $name): array
  show(string $name): Fencehold\LockInfo
  store(): string
  list(string $prefix = '', int $limit = 1000, string $after = ''): array
  ping(): void
  close(): void
  forceRelease(string $name, ?int $token = NULL, ?string $owner = NULL, int $slot = 0): bool
  transaction(): Fencehold\Transaction
  kv(string $namespace): Fencehold\Kv
  advance(DateInterval|string|int|float $by): void
Lock
  private __construct()
  acquire(DateInterval|string|int|float $wait = ?): bool
  stepAside(DateInterval|string|int|float $wait = ?): bool
  run(callable $fn, DateInterval|string|int|float $wait = ?): Fencehold\RunResult
  keepAlive(): bool
  release(): bool
  held(): bool
  atRisk(): bool
  lostReason(): ?string
  refusal(): ?Fencehold\Refusal
  token(): int
  fence(): int
  slot(): int
  position(): int
  name(): string
  owner(): string
  ttlMs(): int
  remainingMs(): int
  lastError(): ?Fencehold\Exception\Exception
  lose(string $reason): void
Transaction
  private __construct()
  guard(Fencehold\Lock $lock): Fencehold\Transaction
  queue(string $name): Fencehold\Queue
  ack(array $acks): Fencehold\Transaction
  kv(array $operations): Fencehold\Transaction
  timers(array $operations): Fencehold\Transaction
  commit(): Fencehold\CommitResult
Queue
  private __construct()
  push(array $items): Fencehold\Transaction
CommitResult
  readonly bool $success
  readonly ?string $reason
  readonly array $results
  private __construct()
  orThrow(): Fencehold\CommitResult
RunResult
  readonly bool $acquired
  readonly mixed $value
  readonly ?Fencehold\Refusal $refusal
  private __construct()
Refusal
  readonly string $reason
  readonly array $holders
  readonly int $waiting
  private __construct()
  jsonSerialize(): array
Holder
  readonly int $slot
  readonly int $token
  readonly ?string $owner
  readonly ?string $label
  readonly ?DateTimeImmutable $since
  readonly ?DateTimeImmutable $renewedAt
  readonly ?DateTimeImmutable $expiresAt
  private __construct()
  jsonSerialize(): array
Waiter
  readonly int $position
  readonly string $owner
  readonly ?string $label
  readonly ?DateTimeImmutable $since
  private __construct()
  jsonSerialize(): array
LockInfo
  readonly string $name
  readonly bool $held
  readonly array $holders
  readonly array $waiters
  private __construct()
  jsonSerialize(): array
Kv
  private __construct()
  get(string $key): ?Fencehold\ValueRow
  getMany(array $keys): array
  getPrefix(string $prefix, int $limit = 1000, ?string $after = NULL): Fencehold\ValuePage
  put(string $key, mixed $value, DateInterval|string|int|float $ttl, ?int $expect = NULL): Fencehold\Written
  putIfAbsent(string $key, mixed $value, DateInterval|string|int|float $ttl): Fencehold\Written
  delete(string $key, ?int $expect = NULL): Fencehold\Written
  incr(string $key, int $delta, DateInterval|string|int|float $ttl): Fencehold\Written
  check(string $key, int $expect): Fencehold\Written
ValueRow
  readonly string $key
  readonly mixed $value
  readonly int $version
  private __construct()
ValuePage
  readonly array $rows
  readonly ?string $nextAfter
  private __construct()
Written
  readonly bool $applied
  readonly int $version
  readonly mixed $value
  readonly ?string $reason
  private __construct()
