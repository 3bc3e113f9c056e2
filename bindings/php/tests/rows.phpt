--TEST--
Rows have versions, an end and conditions, on every kind of store
--EXTENSIONS--
fencehold
--FILE--
<?php
require __DIR__ . '/helper.inc';
on_each_store(function (Fencehold\Client $client): void {
    $rows = $client->kv('reports');
    $versions = [];
    $show = function (Fencehold\Written $written) use (&$versions): void {
        // A version is shown as its place among those seen.
        $at = array_search($written->version, $versions, true);
        if ($at === false) {
            $at = array_push($versions, $written->version) - 1;
        }
        echo $written->applied ? 'done' : $written->reason, ' ', json_encode($written->value), " #$at\n";
    };
    $versions[] = 0;
    var_dump($rows->get('k'));
    $show($first = $rows->put('k', ['list' => [1, 2.0, null], 'state' => 'new', 'text' => "\u{e4}/\0"], ttl: '1h'));
    var_dump($rows->get('k')->value === ['list' => [1, 2.0, null], 'state' => 'new', 'text' => "\u{e4}/\0"]);
    var_dump($rows->get('k')->key, $rows->get('k')->version === $first->version, $client->kv('other')->get('k'));
    $show($second = $rows->put('k', 2, ttl: 'forever', expect: $first->version));
    $show($rows->put('k', 3, ttl: 3600, expect: $first->version));
    $show($rows->put('k', 3, ttl: 3600, expect: 0));
    $show($rows->put('none', 3, ttl: 3600, expect: 7));
    $show($rows->putIfAbsent('k', 3, ttl: new DateInterval('PT1H')));
    $show($rows->putIfAbsent('new', null, ttl: '1h'));
    $show($rows->check('k', $second->version));
    $show($rows->check('k', $first->version));
    $show($rows->check('none', 0));
    echo "numbers\n";
    $show($rows->incr('k', 40, ttl: '1h'));
    $show($rows->incr('count', -5, ttl: '1h'));
    $show($rows->incr('least', PHP_INT_MIN, ttl: '1h'));
    $show($rows->incr('least', -1, ttl: '1h'));
    $show($rows->put('text', 't', ttl: '1h'));
    $show($rows->incr('text', 1, ttl: '1h'));
    echo "away\n";
    $show($rows->delete('k', expect: $second->version));
    $show($rows->delete('k'));
    $show($rows->delete('k'));
    echo "many\n";
    foreach (['p/b', 'p/c', 'p/a', 'q'] as $key) {
        $rows->put($key, [$key], ttl: '1h');
    }
    $keys = fn (array $found) => implode(' ', array_map(fn (Fencehold\ValueRow $row) => "$row->key {$row->value[0]}", $found));
    var_dump($keys($rows->getMany(['p/c', 'none', 'p/a'])), $rows->getMany([]));
    $page = $rows->getPrefix('p/', limit: 2);
    var_dump($keys($page->rows), $page->nextAfter);
    $page = $rows->getPrefix('p/', limit: 2, after: $page->nextAfter);
    var_dump($keys($page->rows), $page->nextAfter);
    echo "an end\n";
    $rows->put('short', 1, ttl: 0.001); // rounded up to a second
    var_dump($rows->get('short')->value);
    for ($until = hrtime(true) + 20e9; $rows->get('short') !== null && hrtime(true) < $until;) {
        usleep(20000);
    }
    var_dump($rows->get('short'));
    echo "a step with a guard\n";
    $lock = $client->acquire('nightly', ttl: '30s');
    $put = fn (int $value) => [['op' => 'put', 'ns' => 'reports', 'key' => 'last', 'value' => $value, 'forever' => true]];
    var_dump($client->transaction()->guard($lock)->kv($put(1))->commit()->success, $rows->get('last')->value);
    $step = $client->transaction()->guard($lock)->kv($put(2));
    $client->forceRelease('nightly', token: $lock->token());
    $next = $client->acquire('nightly', ttl: '30s');
    var_dump($step->commit()->success, $lock->lostReason(), $rows->get('last')->value);
    var_dump($client->transaction()->guard($next)->kv($put(3))->commit()->success, $rows->get('last')->value);
});
?>
--EXPECT--
memory: file: http:
NULL
done {"list":[1,2,null],"state":"new","text":"\u00e4\/\u0000"} #1
bool(true)
string(1) "k"
bool(true)
NULL
done 2 #2
version 2 #2
exists 2 #2
absent null #0
exists 2 #2
done null #3
done null #2
version 2 #2
done null #0
numbers
done 42 #4
done -5 #5
done -9223372036854775808 #6
limit -9223372036854775808 #6
done "t" #7
type "t" #7
away
version 42 #4
done 42 #4
absent null #0
many
string(15) "p/a p/a p/c p/c"
array(0) {
}
string(15) "p/a p/a p/b p/b"
string(3) "p/b"
string(7) "p/c p/c"
NULL
an end
int(1)
NULL
a step with a guard
bool(true)
int(1)
bool(false)
string(5) "guard"
int(1)
bool(true)
int(3)
