<?php

/**
 * A fence in a file, and the check of a request that carries `Fence: NUMBER`.
 *
 * Copy it. It needs PHP 8.1, 64 bits and a local disk, and shares its files with fence.py and fenced-write.
 */

declare(strict_types=1);

namespace Fences;

/** Somebody with a higher fence was here. */
final class Stale extends \RuntimeException
{
    public function __construct(public readonly int $fence, public readonly int $highest)
    {
        parent::__construct("fence $fence is stale: $highest was accepted");
    }
}

/**
 * Runs the body if no higher fence was accepted, and keeps every other writer out until it ends.
 *
 * The number is on the disk before the body runs, so that a crash in between refuses too much and never too little.
 *
 * @template T
 * @param string $path the file with the number; `$path.lock` is made beside it
 * @param callable(): T $body
 * @return T
 * @throws Stale
 */
function fenced(string $path, int $fence, callable $body): mixed
{
    $lock = fopen("$path.lock", 'a');
    if ($lock === false || !flock($lock, LOCK_EX)) {
        throw new \RuntimeException("$path.lock cannot be locked");
    }
    try {
        $highest = is_file($path) ? (int) file_get_contents($path) : 0;
        if ($fence < $highest) {
            throw new Stale($fence, $highest);
        }
        if ($fence > $highest) {
            $file = fopen("$path.new", 'w');
            $isWritten = $file !== false && fwrite($file, "$fence\n") !== false && fsync($file) && fclose($file);
            if (!$isWritten || !rename("$path.new", $path)) {
                throw new \RuntimeException("$path cannot be written");
            }
        }
        return $body();
    } finally {
        fclose($lock);
    }
}

/**
 * Handles a request that writes: the handler runs only with a fence that is not stale, and while every other writer of
 * the resource is kept out. Otherwise it answers 400, 412 or 428 itself.
 *
 * @param string $folder where the numbers are kept
 * @param string $resource what is written
 */
function guardRequest(string $folder, string $resource, callable $handler): void
{
    $header = $_SERVER['HTTP_FENCE'] ?? null;
    $fence = filter_var($header, FILTER_VALIDATE_INT, ['options' => ['min_range' => 1]]);
    if ($header === null) {
        refuse(428, ['error' => 'fence_required']);
    } elseif ($fence === false || (string) $fence !== $header) {
        refuse(400, ['error' => 'bad_fence']);
    } else {
        try {
            fenced($folder . '/' . hash('sha256', $resource), $fence, $handler);
        } catch (Stale $stale) {
            refuse(412, ['error' => 'stale_fence', 'highest' => (string) $stale->highest]);
        }
    }
}

/** @param array<string, string> $body */
function refuse(int $status, array $body): void
{
    http_response_code($status);
    header('Content-Type: application/json');
    echo json_encode($body);
}
