/* The nightly report in C. usage: report DATABASE [SECONDS] [LIFETIME_MS] */
#define _POSIX_C_SOURCE 200809L
#include <fencehold.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WHO "c"
enum { PAGES = 6 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Runs one statement with the fence and a text as its parameters; answers how many rows it changed. */
static int change(sqlite3 *db, const char *sql, uint64_t fence, const char *text) {
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK ||
        sqlite3_bind_int64(statement, 1, (sqlite3_int64)fence) != SQLITE_OK ||
        sqlite3_bind_text(statement, 2, text, -1, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_DONE) {
        fprintf(stderr, "sqlite: %s\n", sqlite3_errmsg(db));
        exit(1);
    }
    sqlite3_finalize(statement);
    return sqlite3_changes(db);
}

static void tell(sqlite3 *db, uint64_t fence, const char *event) {
    change(db, "INSERT INTO account (who, fence, event) VALUES ('" WHO "', ?1, ?2)", fence, event);
}

static void write_report(sqlite3 *db, const fh_lock *lock) {
    const uint64_t fence = fh_lock_fence(lock);
    tell(db, fence, "acquired");
    for (int page = 0; page < PAGES; page++) {
        if (fh_lock_keep_alive(lock) != FH_OK) {
            tell(db, fence, "lost");
            return;
        }
        nanosleep(&(struct timespec){0, 20000000}, NULL); /* the work; the lease may end meanwhile */
        char body[32];
        snprintf(body, sizeof body, WHO " page %d", page);
        if (change(db, "UPDATE report SET body = ?2, fence = ?1 WHERE id = 'nightly' AND fence <= ?1", fence, body) !=
            1) {
            tell(db, fence, "refused");
            return;
        }
    }
    tell(db, fence, "releasing");
}

static void check(fh_status status, fh_error *error) {
    if (status >= 0) return;
    fprintf(stderr, "%s\n", fh_error_message(error));
    exit(1);
}

int main(int argc, char **argv) {
    if (argc < 2) return 64;
    sqlite3 *db = NULL;
    if (sqlite3_open(argv[1], &db) != SQLITE_OK) return 1;
    sqlite3_busy_timeout(db, 10000);

    fh_client *client = NULL;
    fh_lock *lock = NULL;
    fh_error *error = NULL;
    fh_lock_options options = FH_LOCK_OPTIONS_INIT;
    options.wait_ms = 1000;
    options.flags = FH_FAIR;
    options.label = (fh_str){FH_S(WHO)};
    check(fh_client_open(NULL, 0, NULL, &client, &error), error);
    check(fh_lock_new(client, FH_S("reports/nightly"), argc > 3 ? strtoull(argv[3], NULL, 10) : 30000, &options, &lock,
                      &error),
          error);
    const double end = now() + (argc > 2 ? atof(argv[2]) : 0);
    do {
        const fh_status status = fh_lock_acquire(lock, FH_DEFAULT_WAIT, NULL, &error);
        check(status, error);
        if (status == FH_OK) { /* only FH_OK means yes */
            write_report(db, lock);
            check(fh_lock_release(lock, &error), error);
        }
    } while (now() < end);
    fh_lock_free(lock);
    fh_client_free(client);
    sqlite3_close(db);
    return 0;
}
