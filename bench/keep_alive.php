<?php

/**
 * What keepAlive() costs when no renewal is due, beside hrtime(true) and an empty method.
 *
 *     php -d extension=fencehold bench/keep_alive.php [--json]
 *
 * The three are measured in turns, so that a change of the machine's speed meets all of them, and the empty loop is
 * taken off. The target is the ratio: at most 1.2 times hrtime(true).
 */

declare(strict_types=1);

const CALLS = 4_000; // in one round
const ROUNDS = 1001;

/** What every method call costs. */
final class Nothing
{
    public function nothing(): bool
    {
        return true;
    }
}

/** @return array<string, float> nanoseconds for a call, of one round */
function round_of(Fencehold\Lock $lock, Nothing $empty): array
{
    $begin = hrtime(true);
    for ($count = 0; $count < CALLS; ++$count) {
    }
    $loop = hrtime(true);
    for ($count = 0; $count < CALLS; ++$count) {
        $empty->nothing();
    }
    $nothing = hrtime(true);
    for ($count = 0; $count < CALLS; ++$count) {
        hrtime(true);
    }
    $clock = hrtime(true);
    for ($count = 0; $count < CALLS; ++$count) {
        $lock->keepAlive();
    }
    $end = hrtime(true);
    $none = $loop - $begin;
    return [
        'an empty method' => ($nothing - $loop - $none) / CALLS,
        'hrtime(true)' => ($clock - $nothing - $none) / CALLS,
        'keepAlive()' => ($end - $clock - $none) / CALLS,
    ];
}

$lock = (new Fencehold\Client('memory:'))->acquire('bench', ttl: '24h');
$nothing = new Nothing();
round_of($lock, $nothing);
$rounds = [];
for ($round = 0; $round < ROUNDS; ++$round) {
    foreach (round_of($lock, $nothing) as $name => $nanoseconds) {
        $rounds[$name][] = $nanoseconds;
    }
}
if (!$lock->keepAlive()) {
    exit(1);
}
$rows = [];
foreach ($rounds as $name => $all) {
    sort($all);
    $at = fn (float $part) => round($all[(int) ($part * (ROUNDS - 1))], 1);
    $rows[] = ['name' => $name, 'p50_ns' => $at(0.5), 'p10_ns' => $at(0.1), 'p90_ns' => $at(0.9)];
}
$ratio = round($rows[2]['p50_ns'] / $rows[1]['p50_ns'], 3);
if (in_array('--json', $argv, true)) {
    echo json_encode([
        'language' => 'PHP', 'clock' => $rows[1]['name'], 'rounds' => ROUNDS, 'empty_ns' => $rows[0]['p50_ns'],
        'clock_ns' => $rows[1]['p50_ns'], 'keep_alive_ns' => $rows[2]['p50_ns'], 'ratio' => $ratio,
    ]), "\n";
    exit;
}
printf("%-20s %8s %8s %8s\n", 'ns a call, of ' . ROUNDS, 'p50', 'p10', 'p90');
foreach ($rows as $row) {
    printf("%-20s %8.1f %8.1f %8.1f\n", ...array_values($row));
}
printf("keepAlive() is %.2f times hrtime(true)\n", $ratio);
