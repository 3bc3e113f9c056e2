<?php

/**
 * The signatures of the extension. fencehold_arginfo.h is made from this file: see test.sh.
 *
 * @generate-class-entries
 */

namespace Fencehold {
    /**
     * A store, and what talks to it. Opening does no I/O.
     *
     * Its connections outlive the request, its holds never do: they are given back at the end of the request.
     * @strict-properties
     * @not-serializable
     */
    final class Client
    {
        /**
         * @param string|null $url such as file:/var/lib/fencehold; without it the ini setting fencehold.url, then
         *                         FENCEHOLD_URL, then the one line of /etc/fencehold/url
         * @param bool $persistent keep the connections for the next request of this process
         * @throws Exception\InvalidException
         */
        public function __construct(?string $url = null, #[\SensitiveParameter] ?string $authToken = null, ?string $authTokenFile = null, ?string $user = null, #[\SensitiveParameter] ?string $password = null, ?string $passwordFile = null, ?string $caFile = null, ?string $certFile = null, ?string $keyFile = null, int|float|string|\DateInterval $requestTimeout = 5, ?string $label = null, bool $persistent = true) {}

        /**
         * Makes a handle; nothing is sent.
         *
         * @param int|float|string|\DateInterval $ttl how long the lease outlives its last renewal; numbers are seconds
         * @param int|float|string|\DateInterval $wait what acquire() waits without an argument: 0 is one try; 'forever'
         * @param string|null $owner whom the store shall know; minted if left out
         * @param bool $resume take up the hold of $owner, which another process handed on
         * @param string $crash 'takeover', or 'expire': after a crash the lease runs to its end on every store
         * @throws Exception\InvalidException
         */
        public function lock(string $name, int|float|string|\DateInterval $ttl, int|float|string|\DateInterval $wait = 0, ?string $owner = null, bool $resume = false, ?string $label = null, bool $fair = false, bool $reentrant = false, string $crash = 'takeover'): Lock {}

        /** Makes a handle on one of $permits permits; nothing is sent. */
        public function semaphore(string $name, int $permits, int|float|string|\DateInterval $ttl, int|float|string|\DateInterval $wait = 0, ?string $owner = null, bool $resume = false, ?string $label = null, bool $fair = false, bool $reentrant = false, string $crash = 'takeover'): Lock {}

        /**
         * Takes the lock, or throws.
         *
         * @throws Exception\HeldException somebody else holds it
         * @throws Exception\TimedOutException and still did when the wait was over
         */
        public function acquire(string $name, int|float|string|\DateInterval $ttl, int|float|string|\DateInterval $wait = 0, ?string $owner = null, bool $resume = false, ?string $label = null, bool $fair = false, bool $reentrant = false, string $crash = 'takeover'): Lock {}

        /** @return Holder[] */
        public function holders(string $name): array {}

        /** The lock as the store sees it; without holders if nobody holds it. */
        public function show(string $name): LockInfo {}

        /** The store's URL without credentials. */
        public function store(): string {}

        /**
         * The locks whose names begin with $prefix, by name; only names after $after, at most $limit.
         *
         * @return LockInfo[]
         */
        public function list(string $prefix = '', int $limit = 1000, string $after = ''): array {}

        /** Asks the store whether it is there. */
        public function ping(): void {}

        /** Gives all holds back and closes the connections; later calls answer client_closed. */
        public function close(): void {}

        /** Ends the hold with this token or of this owner. False: there is no such hold. */
        public function forceRelease(string $name, ?int $token = null, ?string $owner = null, int $slot = 0): bool {}

        /** Begins a step; nothing is sent before its commit(). */
        public function transaction(): Transaction {}

        /** The rows of a namespace: 1 to 64 of a-z, 0-9, '.', '_' and '-', checked when something is asked. */
        public function kv(string $namespace): Kv {}

        /** For tests, on memory:?clock=manual only: moves the store's clock on. */
        public function advance(int|float|string|\DateInterval $by): void {}
    }

    /**
     * A handle: one owner, at most one permit. Dropping it gives its hold back.
     *
     * @strict-properties
     * @not-serializable
     */
    final class Lock
    {
        private function __construct() {}

        /**
         * True: held. False: refusal() tells who has it.
         *
         * @throws Exception\UnreachableException the store stayed out of reach; nothing was done
         * @throws Exception\InDoubtException it may be held; acquire again through this handle
         */
        #[\NoDiscard]
        public function acquire(int|float|string|\DateInterval $wait = UNKNOWN): bool {}

        /** Lets the next in line have it and takes it again. False: not held any more. */
        #[\NoDiscard]
        public function stepAside(int|float|string|\DateInterval $wait = UNKNOWN): bool {}

        /** Calls $fn with the lock held, and only then. What $fn throws comes first, ours is its last previous. */
        public function run(callable $fn, int|float|string|\DateInterval $wait = UNKNOWN): RunResult {}

        /** True while held; renews once a third of the lifetime has passed. False: lost, stop now. Never throws. */
        public function keepAlive(): bool {}

        /**
         * True: given back. False: there was nothing to give back.
         *
         * @throws Exception\InDoubtException no answer; it ends by itself, at the latest at until
         * @throws Exception\UnreachableException
         */
        public function release(): bool {}

        /** Whether the lease lasts, as far as this handle knows without asking. */
        public function held(): bool {}

        /** True from the first renewal that could not be asked until one succeeds. */
        public function atRisk(): bool {}

        /** 'renew', 'guard', 'expired', 'forked', or null. */
        public function lostReason(): ?string {}

        /** Why the last acquire answered false; null if it did not. */
        public function refusal(): ?Refusal {}

        /**
         * The store's last answer; moves with each renewal.
         *
         * @throws Exception\NotHeldException nothing was acquired through this handle
         */
        public function token(): int {}

        /**
         * The same for the whole hold and above that of every earlier holder: for rows, headers and children.
         *
         * @throws Exception\NotHeldException nothing was acquired through this handle
         */
        public function fence(): int {}

        /** Which permit of a semaphore; 0 for a lock. */
        public function slot(): int {}

        /** The place in line while it waits, 1 is next; else 0. */
        public function position(): int {}

        public function name(): string {}

        /** Who this handle is to the store: host, process and 12 random digits. */
        public function owner(): string {}

        /** The lifetime that the store grants: what was asked for, rounded up to its step. */
        public function ttlMs(): int {}

        /** How long the lease lasts unless it is renewed. */
        public function remainingMs(): int {}

        /** Why it is at risk, was lost or could not be given back. */
        public function lastError(): ?Exception\Exception {}

        /** For tests, on memory: only: loses the lease for this reason. */
        public function lose(string $reason): void {}
    }

    /**
     * Who holds a permit. What the store does not know is null.
     *
     * @strict-properties
     * @not-serializable
     */
    final class Holder implements \JsonSerializable
    {
        public readonly int $slot;
        public readonly int $token;
        public readonly ?string $owner;
        public readonly ?string $label;
        public readonly ?\DateTimeImmutable $since;
        public readonly ?\DateTimeImmutable $renewedAt;
        public readonly ?\DateTimeImmutable $expiresAt;

        private function __construct() {}

        public function jsonSerialize(): array {}
    }

    /**
     * Who waits in line.
     *
     * @strict-properties
     * @not-serializable
     */
    final class Waiter implements \JsonSerializable
    {
        public readonly int $position;
        public readonly string $owner;
        public readonly ?string $label;
        public readonly ?\DateTimeImmutable $since;

        private function __construct() {}

        public function jsonSerialize(): array {}
    }

    /**
     * A lock as the store sees it.
     *
     * @strict-properties
     * @not-serializable
     */
    final class LockInfo implements \JsonSerializable
    {
        public readonly string $name;
        public readonly bool $held;
        /** @var Holder[] */
        public readonly array $holders;
        /** @var Waiter[] */
        public readonly array $waiters;

        private function __construct() {}

        public function jsonSerialize(): array {}
    }

    /**
     * The answer of a store that did not grant a lock.
     *
     * @strict-properties
     * @not-serializable
     */
    final class Refusal implements \JsonSerializable
    {
        /** 'held', 'contended', 'timed_out', 'held_here' or 'owner_in_use' */
        public readonly string $reason;
        /** @var Holder[] */
        public readonly array $holders;
        public readonly int $waiting;

        private function __construct() {}

        public function jsonSerialize(): array {}
    }

    /**
     * What run() answers.
     *
     * @strict-properties
     * @not-serializable
     */
    final class RunResult
    {
        public readonly bool $acquired;
        public readonly mixed $value;
        public readonly ?Refusal $refusal;

        private function __construct() {}
    }

    /**
     * What commit() answers.
     *
     * @strict-properties
     * @not-serializable
     */
    final class CommitResult
    {
        public readonly bool $success;
        /** Why nothing was done. */
        public readonly ?string $reason;
        /** One array for each part of the step, as the store answered it. */
        public readonly array $results;

        private function __construct() {}

        /**
         * Itself if it succeeded.
         *
         * @throws Exception\LostException a guarded lock was lost
         * @throws Exception\UnreachableException the store asks to try again
         * @throws Exception\InvalidException it was refused for $reason, such as 'kv_precondition'
         */
        public function orThrow(): CommitResult {}
    }

    /**
     * A step that commits as one, and only if the locks that it guards are still held.
     *
     * @strict-properties
     * @not-serializable
     */
    final class Transaction
    {
        private function __construct() {}

        /** @throws Exception\NotHeldException it is not held now, and nothing was sent */
        public function guard(Lock $lock): Transaction {}

        /** Names a queue to push to. */
        public function queue(string $name): Queue {}

        /** @param array $acks acknowledgements of queue items, as the store's protocol has them */
        public function ack(array $acks): Transaction {}

        /** @param array $operations changes of rows: ['op' => 'put', 'ns' => …, 'key' => …, 'value' => …], … */
        public function kv(array $operations): Transaction {}

        /** @param array $operations timers, as the store's protocol has them */
        public function timers(array $operations): Transaction {}

        /**
         * Does all of it or nothing. A lost guard or a precondition is an answer: see CommitResult::orThrow().
         *
         * @throws Exception\NotHeldException a guarded lock is not held, and nothing was sent
         * @throws Exception\InDoubtException no answer came; it is never sent again by itself
         * @throws Exception\UnsupportedException this store commits no steps
         */
        #[\NoDiscard]
        public function commit(): CommitResult {}
    }

    /**
     * A queue that a transaction pushes to.
     *
     * @strict-properties
     * @not-serializable
     */
    final class Queue
    {
        private function __construct() {}

        /** @param array $items each ['data' => …, 'partition' => …, 'transactionId' => …, 'traceId' => …] */
        public function push(array $items): Transaction {}
    }

    /**
     * The rows of one namespace: values up to 64 KiB of JSON with versions, expiry and conditions.
     *
     * A value is what json_encode() can write. It comes back with arrays for its objects, whose members may have another
     * order. A lost precondition is an answer. All calls throw UnsupportedException if the store keeps locks only, InvalidException with a reason kv_…,
     * UnreachableException, and InDoubtException for a write that was sent and not answered: it is never sent again.
     *
     * @strict-properties
     * @not-serializable
     */
    final class Kv
    {
        private function __construct() {}

        /** The row at $key; null if there is none. */
        public function get(string $key): ?ValueRow {}

        /**
         * Those of the rows at $keys, at most 1024, that are there, by key.
         *
         * @param string[] $keys
         * @return ValueRow[]
         */
        public function getMany(array $keys): array {}

        /** Up to $limit rows, 1 to 1000, whose keys begin with $prefix and come after $after, by key. */
        public function getPrefix(string $prefix, int $limit = 1000, ?string $after = null): ValuePage {}

        /**
         * Writes a row.
         *
         * @param int|float|string|\DateInterval $ttl how long it lasts, rounded up to whole seconds; 'forever'
         * @param int|null $expect the version that the row must have; 0: it must not be there; null: whatever is there
         */
        public function put(string $key, mixed $value, int|float|string|\DateInterval $ttl, ?int $expect = null): Written {}

        /** Writes a row if there is none. */
        #[\NoDiscard]
        public function putIfAbsent(string $key, mixed $value, int|float|string|\DateInterval $ttl): Written {}

        /** Removes a row, with $expect only one of that version; lost ('absent') if there is none. */
        public function delete(string $key, ?int $expect = null): Written {}

        /** Adds to the number in a row, which is made if there is none; $ttl is for that one. */
        public function incr(string $key, int $delta, int|float|string|\DateInterval $ttl): Written {}

        /** Whether a row has the version $expect; 0: is not there. */
        #[\NoDiscard]
        public function check(string $key, int $expect): Written {}
    }

    /**
     * A row as it is stored.
     *
     * @strict-properties
     * @not-serializable
     */
    final class ValueRow
    {
        public readonly string $key;
        public readonly mixed $value;
        /** Rises with every write on the whole store. */
        public readonly int $version;

        private function __construct() {}
    }

    /**
     * Some rows by key.
     *
     * @strict-properties
     * @not-serializable
     */
    final class ValuePage
    {
        /** @var ValueRow[] */
        public readonly array $rows;
        /** The key to go on after; null: there are no more. */
        public readonly ?string $nextAfter;

        private function __construct() {}
    }

    /**
     * What became of a write or a check.
     *
     * @strict-properties
     * @not-serializable
     */
    final class Written
    {
        /** Whether it was done; else nothing was changed. */
        public readonly bool $applied;
        /** The row's; of delete() the removed one's; lost: that of the row in the way, 0: there is none. */
        public readonly int $version;
        /** The row's value, likewise; of check(): null. */
        public readonly mixed $value;
        /** Why it was lost: 'exists', 'absent', 'version', 'limit' or 'type'. */
        public readonly ?string $reason;

        private function __construct() {}
    }
}

namespace Fencehold\Exception {
    /**
     * Everything that fencehold throws.
     *
     * @property-read string $kind 'held', 'timed_out', …: the same words in every language
     * @property-read string $reason the stable id of the reason, such as 'locks_bad_ttl'
     * @property-read string|null $lock
     * @property-read string|null $store without credentials
     * @property-read string $retry 'now', 'later', 'check_first' or 'never'
     */
    interface Exception extends \Throwable
    {
    }

    /**
     * Somebody else holds the lock.
     *
     * @strict-properties
     * @not-serializable
     */
    class HeldException extends \RuntimeException implements Exception
    {
        public readonly string $kind;
        public readonly string $reason;
        public readonly ?string $lock;
        public readonly ?string $store;
        public readonly string $retry;
        public readonly ?\Fencehold\Refusal $refusal;
    }

    /**
     * The wait was over, and somebody else still holds the lock.
     *
     * @strict-properties
     * @not-serializable
     */
    final class TimedOutException extends HeldException
    {
    }

    /**
     * The lease ended before the work did. What was guarded or fenced is safe, check the rest.
     *
     * @strict-properties
     * @not-serializable
     */
    final class LostException extends \RuntimeException implements Exception
    {
        public readonly string $kind;
        public readonly string $reason;
        public readonly ?string $lock;
        public readonly ?string $store;
        public readonly string $retry;
        /** By how much the work outlived the lease; null where that is not known. */
        public readonly ?int $lateByMs;
        /** What the function given to run() returned, if it was called. */
        public readonly mixed $value;
    }

    /**
     * The handle holds nothing.
     *
     * @strict-properties
     * @not-serializable
     */
    final class NotHeldException extends \RuntimeException implements Exception
    {
        public readonly string $kind;
        public readonly string $reason;
        public readonly ?string $lock;
        public readonly ?string $store;
        public readonly string $retry;
    }

    /**
     * The wait was given up: nothing is held, no place is kept.
     *
     * @strict-properties
     * @not-serializable
     */
    final class CancelledException extends \RuntimeException implements Exception
    {
        public readonly string $kind;
        public readonly string $reason;
        public readonly ?string $lock;
        public readonly ?string $store;
        public readonly string $retry;
    }

    /**
     * The store could not be asked. Nothing was done.
     *
     * @strict-properties
     * @not-serializable
     */
    final class UnreachableException extends \RuntimeException implements Exception
    {
        public readonly string $kind;
        public readonly string $reason;
        public readonly ?string $lock;
        public readonly ?string $store;
        public readonly string $retry;
        /** What the function given to run() returned, if it was called. */
        public readonly mixed $value;
    }

    /**
     * Sent, and no answer came. Call again through the same handle, or wait until $until.
     *
     * @strict-properties
     * @not-serializable
     */
    final class InDoubtException extends \RuntimeException implements Exception
    {
        public readonly string $kind;
        public readonly string $reason;
        public readonly ?string $lock;
        public readonly ?string $store;
        public readonly string $retry;
        /** Until when the lock may still be held, at the latest. */
        public readonly ?\DateTimeImmutable $until;
        /** What the function given to run() returned, if it was called. */
        public readonly mixed $value;
    }

    /**
     * What was passed can never work; $reason says what.
     *
     * @strict-properties
     * @not-serializable
     */
    final class InvalidException extends \InvalidArgumentException implements Exception
    {
        public readonly string $kind;
        public readonly string $reason;
        public readonly ?string $lock;
        public readonly ?string $store;
        public readonly string $retry;
    }

    /**
     * The store wants credentials, or refuses these.
     *
     * @strict-properties
     * @not-serializable
     */
    final class UnauthorizedException extends \RuntimeException implements Exception
    {
        public readonly string $kind;
        public readonly string $reason;
        public readonly ?string $lock;
        public readonly ?string $store;
        public readonly string $retry;
    }

    /**
     * The credentials, or this user's rights, do not allow it.
     *
     * @strict-properties
     * @not-serializable
     */
    final class ForbiddenException extends \RuntimeException implements Exception
    {
        public readonly string $kind;
        public readonly string $reason;
        public readonly ?string $lock;
        public readonly ?string $store;
        public readonly string $retry;
    }

    /**
     * The store asks for fewer calls.
     *
     * @strict-properties
     * @not-serializable
     */
    final class RateLimitedException extends \RuntimeException implements Exception
    {
        public readonly string $kind;
        public readonly string $reason;
        public readonly ?string $lock;
        public readonly ?string $store;
        public readonly string $retry;
    }

    /**
     * This store or this version cannot do it.
     *
     * @strict-properties
     * @not-serializable
     */
    final class UnsupportedException extends \RuntimeException implements Exception
    {
        public readonly string $kind;
        public readonly string $reason;
        public readonly ?string $lock;
        public readonly ?string $store;
        public readonly string $retry;
    }

    /**
     * The store is full, damaged, read-only or of a newer format.
     *
     * @strict-properties
     * @not-serializable
     */
    final class StoreException extends \RuntimeException implements Exception
    {
        public readonly string $kind;
        public readonly string $reason;
        public readonly ?string $lock;
        public readonly ?string $store;
        public readonly string $retry;
    }

    /**
     * The handle belongs to the parent of this process.
     *
     * @strict-properties
     * @not-serializable
     */
    final class ForkedException extends \RuntimeException implements Exception
    {
        public readonly string $kind;
        public readonly string $reason;
        public readonly ?string $lock;
        public readonly ?string $store;
        public readonly string $retry;
    }

    /**
     * A fault of the library.
     *
     * @strict-properties
     * @not-serializable
     */
    final class InternalException extends \RuntimeException implements Exception
    {
        public readonly string $kind;
        public readonly string $reason;
        public readonly ?string $lock;
        public readonly ?string $store;
        public readonly string $retry;
    }
}
