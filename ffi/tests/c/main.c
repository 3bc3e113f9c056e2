/* Runs the C tests; with arguments only the groups named. The last line is `N passed, N failed`. */
#include "check.h"

#include <time.h>
#include <unistd.h>

static int passed;
static int failed;
static int faults; /* of the test that runs */

void check_that(int holds, const char *what, const char *file, int line) {
    if (!holds) {
        ++faults;
        fprintf(stderr, "%s:%d: %s does not hold\n", file, line, what);
    }
}

void check_text(const char *text, const char *expected, const char *what, const char *file, int line) {
    const int same = text == NULL || expected == NULL ? text == expected : strcmp(text, expected) == 0;
    if (!same) {
        ++faults;
        fprintf(stderr, "%s:%d: %s is %s, not %s\n", file, line, what, text == NULL ? "NULL" : text,
                expected == NULL ? "NULL" : expected);
    }
}

fh_status check_status(fh_status status, fh_status expected, const char *what, const char *file, int line) {
    if (status != expected) {
        ++faults;
        fprintf(stderr, "%s:%d: %s answered %d, not %d\n", file, line, what, (int)status, (int)expected);
    }
    return status;
}

fh_error *check_not_written(void) {
    static char nothing;
    return (fh_error *)(void *)&nothing;
}

void check_error(fh_status status, fh_status expected, fh_error *error, const char *reason, const char *what,
                 const char *file, int line) {
    check_status(status, expected, what, file, line);
    if (error == NULL || error == check_not_written()) {
        ++faults;
        fprintf(stderr, "%s:%d: %s gave no error\n", file, line, what);
        return;
    }
    if (fh_error_kind(error) != expected) {
        ++faults;
        fprintf(stderr, "%s:%d: the error of %s has the kind %d\n", file, line, what, (int)fh_error_kind(error));
    }
    check_text(fh_error_reason(error), reason, what, file, line);
    if (strlen(fh_error_message(error)) <= 12) {
        ++faults;
        fprintf(stderr, "%s:%d: %s only says %s\n", file, line, what, fh_error_message(error));
    }
    fh_error_free(error);
}

void check_run(void (*test)(void), const char *name) {
    faults = 0;
    test();
    printf("%s %s\n", faults == 0 ? "ok  " : "FAIL", name);
    fflush(stdout);
    if (faults == 0) {
        ++passed;
    } else {
        ++failed;
    }
}

fh_client *open_memory(void) {
    fh_client *client = NULL;
    OK(fh_client_open(FH_S("memory:"), NULL, &client, NULL));
    return client;
}

fh_client *open_manual(const char *name) {
    char url[96];
    fh_client *client = NULL;
    const int length = snprintf(url, sizeof url, "memory:%s?clock=manual", name);
    OK(fh_client_open(url, (size_t)length, NULL, &client, NULL));
    return client;
}

fh_client *open_folder(char folder[64]) {
    char url[80];
    fh_client *client = NULL;
    strcpy(folder, "/tmp/fencehold-c-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    OK(fh_client_open(url, (size_t)snprintf(url, sizeof url, "file:%s", folder), NULL, &client, NULL));
    return client;
}

void remove_folder(const char *folder) {
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    CHECK(system(command) == 0);
}

fh_lock *new_lock(const fh_client *client, const char *name) {
    fh_lock *lock = NULL;
    OK(fh_lock_new(client, name, strlen(name), 30000, NULL, &lock, NULL));
    return lock;
}

void sleep_ms(long ms) {
    struct timespec time;
    time.tv_sec = ms / 1000;
    time.tv_nsec = ms % 1000 * 1000000;
    while (nanosleep(&time, &time) != 0) {
    }
}

uint64_t now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

static const struct {
    const char *name;
    void (*run)(void);
} groups[] = {
    {"arguments", arguments_tests}, {"names", names_tests}, {"options", options_tests}, {"error", error_tests},
    {"lock", lock_tests},           {"scope", scope_tests}, {"cancel", cancel_tests},   {"callback", callback_tests},
    {"info", info_tests},           {"step", step_tests},   {"fork", fork_tests},       {"log", log_tests},
    {"random", random_tests},       {"kv", kv_tests}};

int main(int argc, char **argv) {
    size_t group;
    int argument;
    CHECK(fh_require_version(FH_VERSION_NUMBER, NULL) == FH_OK);
    if (faults != 0) return 2;
    for (group = 0; group < sizeof groups / sizeof groups[0]; ++group) {
        int wanted = argc == 1;
        for (argument = 1; argument < argc; ++argument) {
            wanted |= strcmp(argv[argument], groups[group].name) == 0;
        }
        if (wanted) groups[group].run();
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0 || passed == 0;
}
