/* What a lock made of one SQLite row costs: take it in one transaction, give it back in another, over and over.
 *
 *   cc -std=c11 -O2 bench/sqlite.c -lsqlite3 -o sqlite && ./sqlite FILE off|normal PROCESSES SECONDS
 *
 * Prints one line of JSON. `off` writes as fencehold's leases are written, which need not survive a reboot. */
#define _GNU_SOURCE
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { most_processes = 64, most_samples = 1 << 20 };

typedef struct {
    uint64_t pairs, p50, p99;
} result;

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void check(sqlite3 *db, int code, const char *what) {
    if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return;
    fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(db));
    _exit(1);
}

static sqlite3 *open_database(const char *file, const char *synchronous) {
    sqlite3 *db = NULL;
    char pragma[64];
    check(db, sqlite3_open(file, &db), "open");
    sqlite3_busy_timeout(db, 10000);
    snprintf(pragma, sizeof pragma, "PRAGMA synchronous=%s", synchronous);
    check(db, sqlite3_exec(db, "PRAGMA journal_mode=WAL", NULL, NULL, NULL), "journal");
    check(db, sqlite3_exec(db, pragma, NULL, NULL, NULL), "synchronous");
    check(db,
          sqlite3_exec(
              db, "CREATE TABLE IF NOT EXISTS locks (name TEXT PRIMARY KEY, owner TEXT, expires INTEGER) WITHOUT ROWID",
              NULL, NULL, NULL),
          "table");
    return db;
}

static void step(sqlite3 *db, sqlite3_stmt *statement) {
    check(db, sqlite3_step(statement), sqlite3_sql(statement));
    sqlite3_reset(statement);
}

static int by_size(const void *left, const void *right) {
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void work(const char *file, const char *synchronous, int number, uint64_t seconds, result *out) {
    static const char *const texts[4] = {"BEGIN IMMEDIATE", "COMMIT",
                                         "INSERT INTO locks VALUES (?1, ?2, ?3) ON CONFLICT (name) DO UPDATE SET owner "
                                         "= ?2, expires = ?3 WHERE expires < ?4",
                                         "DELETE FROM locks WHERE name = ?1 AND owner = ?2"};
    sqlite3 *db = open_database(file, synchronous);
    sqlite3_stmt *statements[4];
    uint64_t *samples = malloc(sizeof *samples * most_samples);
    char name[32];
    size_t count = 0;
    if (samples == NULL) _exit(1);
    snprintf(name, sizeof name, "pairs-%d", number);
    for (int at = 0; at < 4; ++at) check(db, sqlite3_prepare_v2(db, texts[at], -1, &statements[at], NULL), "prepare");
    for (int at = 2; at < 4; ++at) {
        sqlite3_bind_text(statements[at], 1, name, -1, SQLITE_STATIC);
        sqlite3_bind_text(statements[at], 2, "host:1234:0123456789ab", -1, SQLITE_STATIC);
    }
    const uint64_t end = now() + seconds * 1000000000u;
    for (uint64_t before = now(); before < end;) {
        sqlite3_bind_int64(statements[2], 3, (sqlite3_int64)(before + 60000000000u));
        sqlite3_bind_int64(statements[2], 4, (sqlite3_int64)before);
        for (int half = 2; half < 4; ++half) {
            step(db, statements[0]);
            step(db, statements[half]);
            step(db, statements[1]);
        }
        const uint64_t after = now();
        if (count < most_samples) samples[count++] = after - before;
        ++out->pairs;
        before = after;
    }
    if (count > 0) {
        qsort(samples, count, sizeof *samples, by_size);
        out->p50 = samples[count / 2];
        out->p99 = samples[count * 99 / 100];
    }
    for (int at = 0; at < 4; ++at) sqlite3_finalize(statements[at]);
    sqlite3_close(db);
    free(samples);
}

int main(int argc, char **argv) {
    const int processes = argc == 5 ? atoi(argv[3]) : 0;
    if (processes < 1 || processes > most_processes) {
        fprintf(stderr, "usage: sqlite FILE off|normal PROCESSES SECONDS\n");
        return 64;
    }
    result *results =
        mmap(NULL, sizeof *results * most_processes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t pairs = 0, fewest = UINT64_MAX, most = 0, p50 = 0, p99 = 0;
    if (results == MAP_FAILED) return 1;
    sqlite3_close(open_database(argv[1], argv[2]));
    for (int number = 0; number < processes; ++number) {
        const pid_t child = fork();
        if (child < 0) return 1;
        if (child == 0) {
            work(argv[1], argv[2], number, strtoull(argv[4], NULL, 10), &results[number]);
            _exit(0);
        }
    }
    for (int number = 0; number < processes; ++number) {
        int status = 0;
        if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return 1;
    }
    for (int number = 0; number < processes; ++number) {
        pairs += results[number].pairs;
        if (results[number].pairs < fewest) fewest = results[number].pairs;
        if (results[number].pairs > most) most = results[number].pairs;
        if (results[number].p50 > p50) p50 = results[number].p50;
        if (results[number].p99 > p99) p99 = results[number].p99;
    }
    printf("{\"pairs_per_second\": %.0f, \"slowest_to_fastest\": %.3f, \"p50_ns\": %llu, \"p99_ns\": %llu}\n",
           (double)pairs / (double)strtoull(argv[4], NULL, 10), most > 0 ? (double)fewest / (double)most : 0.0,
           (unsigned long long)p50, (unsigned long long)p99);
    return 0;
}
