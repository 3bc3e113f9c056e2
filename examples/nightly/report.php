<?php

// The nightly report in PHP. usage: report.php DATABASE [SECONDS] [LIFETIME_MS]

declare(strict_types=1);

use Fencehold\Client;
use Fencehold\Lock;

const WHO = 'php';
const PAGES = 6;

function tell(PDO $db, int $fence, string $event): void
{
    $db->prepare('INSERT INTO account (who, fence, event) VALUES (?, ?, ?)')->execute([WHO, $fence, $event]);
}

function writeReport(PDO $db, Lock $lock): void
{
    $fence = $lock->fence();
    tell($db, $fence, 'acquired');
    $write = $db->prepare("UPDATE report SET body = ?, fence = ? WHERE id = 'nightly' AND fence <= ?");
    for ($page = 0; $page < PAGES; $page++) {
        if (!$lock->keepAlive()) {
            tell($db, $fence, 'lost');
            return;
        }
        usleep(20_000); // the work; the lease may end meanwhile, and then only the fence helps
        $write->bindValue(1, WHO . " page $page");
        $write->bindValue(2, $fence, PDO::PARAM_INT);
        $write->bindValue(3, $fence, PDO::PARAM_INT);
        $write->execute();
        if ($write->rowCount() !== 1) {
            tell($db, $fence, 'refused');
            return;
        }
    }
    tell($db, $fence, 'releasing');
}

$db = new PDO('sqlite:' . $argv[1], options: [PDO::ATTR_TIMEOUT => 10]);
$client = new Client();
$lock = $client->lock('reports/nightly', ttl: ($argv[3] ?? '30000') . 'ms', wait: '1s', label: WHO, fair: true);
$end = hrtime(true) + (int) ((float) ($argv[2] ?? 0) * 1e9);
do {
    if ($lock->acquire()) {
        writeReport($db, $lock);
        $lock->release();
    }
} while (hrtime(true) < $end);
