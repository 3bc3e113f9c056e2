/* Errors: what they say, whose they are, and how long their texts live. */
#include "check.h"

static void an_error_says_what_happened_to_which_lock_on_which_store(void) {
    fh_client *client = open_memory();
    fh_lock *first = new_lock(client, "reports"), *second = new_lock(client, "reports");
    fh_error *error = NULL;
    OK(fh_lock_acquire(first, 0, NULL, NULL));
    IS(FH_HELD, fh_lock_take(second, 0, NULL, NULL, &error));
    CHECK(fh_error_kind(error) == FH_HELD && fh_error_retry(error) == FH_RETRY_LATER);
    CHECK_TEXT(fh_error_reason(error), "held");
    CHECK_TEXT(fh_error_lock(error), "reports");
    CHECK_TEXT(fh_error_store(error), "memory:");
    CHECK(strstr(fh_error_message(error), "lock \"reports\" on memory:") == fh_error_message(error));
    CHECK(fh_error_until_ms(error) == 0 && fh_error_late_by_ms(error) == -1 && fh_error_cause(error) == NULL);
    fh_error_free(error);
    fh_lock_free(second);
    fh_lock_free(first);
    fh_client_free(client);
}

static void an_error_outlives_its_handles(void) {
    fh_client *client = open_memory();
    fh_lock *first = new_lock(client, "n"), *second = new_lock(client, "n");
    fh_error *error = NULL, *copy = NULL;
    fh_info *info = NULL;
    OK(fh_lock_acquire(first, 0, NULL, NULL));
    IS(FH_TIMED_OUT, fh_lock_take(second, 20, NULL, NULL, &error));
    OK(fh_error_clone(error, &copy));
    CHECK(fh_error_message(copy) != fh_error_message(error));
    fh_lock_free(second);
    fh_lock_free(first);
    fh_client_free(client);
    CHECK_TEXT(fh_error_message(copy), fh_error_message(error));
    fh_error_free(error);
    CHECK(fh_error_kind(copy) == FH_TIMED_OUT);
    CHECK_TEXT(fh_error_lock(copy), "n");
    CHECK_TEXT(fh_error_refusal(copy, &info), "timed_out");
    CHECK(fh_info_count(info) == 1 && fh_info_holder_count(info, 0) == 1);
    CHECK_TEXT(fh_info_name(info, 0), "n");
    fh_error_free(copy);
    CHECK(strstr(fh_info_json(info), "\"reason\":\"timed_out\"") != NULL);
    fh_info_free(info);
}

static void a_loss_has_its_cause_and_how_late_it_is(void) {
    fh_client *client = open_manual("errors");
    fh_lock *lock = new_lock(client, "n");
    fh_error *error = NULL;
    uint64_t epoch = 0;
    OK(fh_lock_take(lock, 0, NULL, &epoch, NULL));
    OK(fh_client_advance(client, 40000, NULL));
    IS(FH_LOST, fh_lock_leave(lock, epoch, &error));
    CHECK(fh_error_kind(error) == FH_LOST && fh_error_retry(error) == FH_RETRY_CHECK_FIRST);
    CHECK_TEXT(fh_error_reason(error), "expired");
    CHECK(fh_error_late_by_ms(error) >= 10000 && fh_error_late_by_ms(error) < 12000);
    CHECK(fh_error_cause(error) != NULL && fh_error_kind(fh_error_cause(error)) == FH_LOST);
    CHECK(strlen(fh_error_message(fh_error_cause(error))) > 10);
    fh_error_free(error);
    fh_lock_free(lock);
    fh_client_free(client);
}

static void a_store_out_of_reach_is_told_and_nothing_leaks(void) {
    fh_client *client = NULL;
    fh_lock *lock = NULL;
    fh_info *info = NULL;
    fh_error *last = NULL;
    OK(fh_client_open(FH_S("file:/dev/null/fencehold"), NULL, &client, NULL));
    OK(fh_lock_new(client, FH_S("n"), 400, NULL, &lock, NULL));
    FAILS(FH_ERR_STORE, "store_bad_path", fh_client_ping(client, &error));
    FAILS(FH_ERR_STORE, "store_bad_path", fh_lock_acquire(lock, 0, NULL, &error));
    FAILS(FH_ERR_STORE, "store_bad_path", fh_lock_take(lock, 100, NULL, NULL, &error));
    FAILS(FH_ERR_STORE, "store_bad_path", fh_client_holders(client, FH_S("n"), &info, &error));
    FAILS(FH_ERR_STORE, "store_bad_path", fh_client_list(client, NULL, 0, NULL, 0, 0, &info, &error));
    FAILS(FH_ERR_STORE, "store_bad_path", fh_client_force_release(client, FH_S("n"), 0, 1, NULL, 0, &error));
    last = fh_lock_last_error(lock);
    CHECK(fh_error_kind(last) == FH_ERR_STORE);
    fh_error_free(last);
    IS(FH_NOT_HELD, fh_lock_keep_alive(lock));
    CHECK(info == NULL);
    fh_lock_free(lock);
    OK(fh_client_close(client, NULL));
    fh_client_free(client);
}

static void a_damaged_store_is_told(void) {
    char folder[64], path[80];
    FILE *file;
    fh_client *client = open_folder(folder);
    fh_lock *lock = new_lock(client, "n");
    fh_error *error = NULL;
    snprintf(path, sizeof path, "%s/format", folder);
    file = fopen(path, "wb");
    CHECK(file != NULL);
    if (file != NULL) {
        fputs("not ours\n", file);
        fclose(file);
    }
    IS(FH_ERR_STORE, fh_lock_acquire(lock, 0, NULL, &error));
    CHECK(fh_error_kind(error) == FH_ERR_STORE && fh_error_retry(error) == FH_RETRY_NEVER);
    CHECK(strstr(fh_error_store(error), folder) != NULL);
    fh_error_free(error);
    fh_lock_free(lock);
    fh_client_free(client);
    remove_folder(folder);
}

static void a_password_is_never_shown(void) {
    fh_client *client = NULL;
    fh_error *error = NULL;
    CHECK(fh_client_open(FH_S("nowhere://me:secret@host"), NULL, &client, &error) < FH_OK);
    CHECK(strstr(fh_error_message(error), "secret") == NULL);
    fh_error_free(error);
}

void error_tests(void) {
    RUN(an_error_says_what_happened_to_which_lock_on_which_store);
    RUN(an_error_outlives_its_handles);
    RUN(a_loss_has_its_cause_and_how_late_it_is);
    RUN(a_store_out_of_reach_is_told_and_nothing_leaks);
    RUN(a_damaged_store_is_told);
    RUN(a_password_is_never_shown);
}
