/* The log function: what it is told, and when it is freed. */
#include "check.h"

typedef struct {
    int messages, freed;
    int32_t level;
    char last[512];
} journal;

static void write_down(int32_t level, const char *message, void *user_data) {
    journal *log = (journal *)user_data;
    ++log->messages;
    log->level = level;
    snprintf(log->last, sizeof log->last, "%s", message);
}

static void free_log(void *user_data) { ++((journal *)user_data)->freed; }

/* A hold cannot be given back when something else is where its store was. */
static void lose_the_folder_of_a_hold(void) {
    char folder[64];
    FILE *file;
    fh_client *client = open_folder(folder);
    fh_lock *lock = new_lock(client, "nightly");
    OK(fh_lock_acquire(lock, 0, NULL, NULL));
    remove_folder(folder);
    file = fopen(folder, "wb");
    if (file != NULL) fclose(file);
    sleep_ms(1100); /* the folder is looked at once a second */
    fh_lock_free(lock);
    fh_client_free(client);
    remove_folder(folder);
}

static void the_log_gets_what_a_free_cannot_tell(void) {
    journal log;
    memset(&log, 0, sizeof log);
    fh_set_log(write_down, &log, free_log);
    lose_the_folder_of_a_hold();
    CHECK(log.messages == 1 && log.level == FH_LOG_WARN && strstr(log.last, "nightly") != NULL);
    CHECK(log.freed == 0);
    fh_set_log(NULL, NULL, NULL);
    CHECK(log.freed == 1);
    lose_the_folder_of_a_hold();
    CHECK(log.messages == 1);
}

static void a_log_function_is_freed_when_it_is_replaced(void) {
    journal first, second;
    memset(&first, 0, sizeof first);
    memset(&second, 0, sizeof second);
    fh_set_log(write_down, &first, free_log);
    fh_set_log(write_down, &second, free_log);
    CHECK(first.freed == 1 && second.freed == 0);
    fh_set_log(NULL, &first, free_log); /* nothing to call, and still freed */
    CHECK(first.freed == 2 && second.freed == 1);
    fh_set_log(write_down, &first, NULL);
    fh_set_log(NULL, NULL, NULL);
    CHECK(first.freed == 2);
}

void log_tests(void) {
    RUN(the_log_gets_what_a_free_cannot_tell);
    RUN(a_log_function_is_freed_when_it_is_replaced);
}
