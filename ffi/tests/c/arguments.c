/* Every function with NULL for what must not be NULL; and with NULL for everything. */
#include "check.h"

static fh_client *client;
static fh_lock *lock;

static void ignore_loss(const fh_lock *of, int32_t reason, void *user_data) {
    (void)of;
    (void)reason;
    (void)user_data;
}

static int32_t go_on(void *user_data) {
    (void)user_data;
    return 0;
}

static void count_free(void *user_data) { ++*(int *)user_data; }

static void client_functions_refuse_null(void) {
    fh_client *opened = NULL;
    fh_info *info = NULL;
    INVALID("null", fh_client_open(FH_S("memory:"), NULL, NULL, &error));
    INVALID("locks_bad_url", fh_client_open(NULL, 3, NULL, &opened, &error));
    INVALID("null", fh_client_close(NULL, &error));
    INVALID("null", fh_client_ping(NULL, &error));
    INVALID("null", fh_client_holders(NULL, FH_S("n"), &info, &error));
    INVALID("null", fh_client_holders(client, FH_S("n"), NULL, &error));
    INVALID("null", fh_client_list(NULL, NULL, 0, NULL, 0, 10, &info, &error));
    INVALID("null", fh_client_list(client, NULL, 0, NULL, 0, 10, NULL, &error));
    INVALID("locks_bad_name", fh_client_list(client, NULL, 1, NULL, 0, 10, &info, &error));
    INVALID("locks_bad_name", fh_client_list(client, NULL, 0, NULL, 1, 10, &info, &error));
    INVALID("null", fh_client_force_release(NULL, FH_S("n"), 0, 1, NULL, 0, &error));
    INVALID("locks_bad_owner", fh_client_force_release(client, FH_S("n"), 0, 0, NULL, 1, &error));
    INVALID("locks_token_required", fh_client_force_release(client, FH_S("n"), 0, 0, NULL, 0, &error));
    INVALID("locks_token_required", fh_client_force_release(client, FH_S("n"), 0, 7, FH_S("somebody"), &error));
    INVALID("null", fh_client_advance(NULL, 1, &error));
    INVALID("null", fh_client_kv(NULL, FH_S("[]"), &info, &error));
    INVALID("null", fh_client_kv(client, FH_S("[]"), NULL, &error));
    INVALID("bad_request", fh_client_kv(client, NULL, 2, &info, &error));
    CHECK_TEXT(fh_client_store(NULL), "");
    fh_client_free(NULL);
    CHECK(opened == NULL && info == NULL);
}

static void lock_functions_refuse_null(void) {
    fh_lock *made = NULL;
    uint64_t epoch = 7;
    int freed = 0;
    INVALID("null", fh_lock_new(NULL, FH_S("n"), 1000, NULL, &made, &error));
    INVALID("null", fh_lock_new(client, FH_S("n"), 1000, NULL, NULL, &error));
    INVALID("null", fh_semaphore_new(NULL, FH_S("n"), 2, 1000, NULL, &made, &error));
    INVALID("null", fh_semaphore_new(client, FH_S("n"), 2, 1000, NULL, NULL, &error));
    INVALID("null", fh_lock_acquire(NULL, 0, NULL, &error));
    INVALID("null", fh_lock_take(NULL, 0, NULL, &epoch, &error));
    INVALID("null", fh_lock_step_aside(NULL, 0, NULL, &error));
    INVALID("null", fh_lock_release(NULL, &error));
    INVALID("null", fh_lock_release_epoch(NULL, 1, &error));
    INVALID("null", fh_lock_leave(NULL, 1, &error));
    INVALID("null", fh_lock_lose(NULL, FH_LOST_RENEW, &error));
    INVALID("null", fh_lock_on_lost(NULL, ignore_loss, &freed, count_free, &error));
    INVALID("null", fh_lock_on_lost(lock, NULL, &freed, count_free, &error));
    CHECK(freed == 2);
    INVALID("null", fh_lock_on_lost(NULL, NULL, NULL, NULL, &error));
    IS(FH_ERR_INVALID, fh_lock_keep_alive(NULL));
    CHECK(fh_lock_epoch(NULL) == 0 && fh_lock_held(NULL) == 0 && fh_lock_at_risk(NULL) == 0);
    CHECK(fh_lock_lost_reason(NULL) == 0 && fh_lock_token(NULL) == 0 && fh_lock_fence(NULL) == 0);
    CHECK(fh_lock_slot(NULL) == 0 && fh_lock_position(NULL) == 0 && fh_lock_ttl_ms(NULL) == 0);
    CHECK(fh_lock_remaining_ms(NULL) == 0 && fh_lock_wait_ms(NULL) == FH_DEFAULT_WAIT);
    CHECK_TEXT(fh_lock_name(NULL), "");
    CHECK_TEXT(fh_lock_owner(NULL), "");
    CHECK(fh_lock_last_error(NULL) == NULL);
    fh_lock_free(NULL);
    CHECK(made == NULL && epoch == 7);
}

static void refusals_of_null_are_none(void) {
    fh_info *info = (fh_info *)(void *)&info;
    CHECK(fh_lock_refusal(NULL, &info) == NULL && info == NULL);
    info = (fh_info *)(void *)&info;
    CHECK(fh_lock_refusal(lock, &info) == NULL && info == NULL);
    CHECK(fh_lock_refusal(lock, NULL) == NULL);
    info = (fh_info *)(void *)&info;
    CHECK(fh_error_refusal(NULL, &info) == NULL && info == NULL);
    CHECK(fh_error_refusal(NULL, NULL) == NULL);
}

static void cancel_functions_refuse_null(void) {
    fh_cancel *cancel = NULL;
    int freed = 0;
    IS(FH_ERR_INVALID, fh_cancel_new(NULL));
    IS(FH_ERR_INVALID, fh_cancel_new_polling(10, NULL, &freed, count_free, &cancel));
    IS(FH_ERR_INVALID, fh_cancel_new_polling(0, go_on, &freed, count_free, &cancel));
    IS(FH_ERR_INVALID, fh_cancel_new_polling(10, go_on, &freed, count_free, NULL));
    CHECK(freed == 3 && cancel == NULL);
    fh_cancel_trigger(NULL);
    fh_cancel_free(NULL);
}

static void info_functions_refuse_null(void) {
    fh_holder holder = FH_HOLDER_INIT;
    fh_waiter waiter = FH_WAITER_INIT;
    fh_info *info = NULL;
    CHECK(fh_info_count(NULL) == 0 && fh_info_name(NULL, 0) == NULL);
    CHECK(fh_info_waiting(NULL, 0) == 0 && fh_info_holder_count(NULL, 0) == 0);
    IS(FH_ERR_INVALID, fh_info_holder(NULL, 0, 0, &holder));
    IS(FH_ERR_INVALID, fh_info_waiter(NULL, 0, 0, &waiter));
    CHECK_TEXT(fh_info_json(NULL), "null");
    fh_info_free(NULL);
    IS(FH_OK, fh_client_holders(client, FH_S("n"), &info, NULL));
    IS(FH_ERR_INVALID, fh_info_holder(info, 0, 0, &holder));
    IS(FH_ERR_INVALID, fh_info_holder(info, 0, 0, NULL));
    IS(FH_ERR_INVALID, fh_info_holder(info, 1, 0, &holder));
    IS(FH_ERR_INVALID, fh_info_holder(info, SIZE_MAX, SIZE_MAX, &holder));
    IS(FH_ERR_INVALID, fh_info_waiter(info, 0, 0, &waiter));
    IS(FH_ERR_INVALID, fh_info_waiter(info, 0, 0, NULL));
    CHECK(fh_info_name(info, 1) == NULL && fh_info_waiting(info, 1) == 0 && fh_info_holder_count(info, 1) == 0);
    fh_info_free(info);
}

static void error_functions_take_null(void) {
    fh_error *copy = NULL;
    CHECK(fh_error_kind(NULL) == FH_OK && fh_error_retry(NULL) == 0 && fh_error_until_ms(NULL) == 0);
    CHECK(fh_error_late_by_ms(NULL) == -1);
    CHECK_TEXT(fh_error_message(NULL), "");
    CHECK_TEXT(fh_error_reason(NULL), "");
    CHECK(fh_error_lock(NULL) == NULL && fh_error_store(NULL) == NULL && fh_error_cause(NULL) == NULL);
    IS(FH_ERR_INVALID, fh_error_clone(NULL, &copy));
    CHECK(copy == NULL);
    fh_error_free(NULL);
}

static void step_functions_refuse_null(void) {
    fh_txn *txn = NULL;
    const char *json = "not written";
    INVALID("null", fh_txn_new(NULL, &txn, &error));
    INVALID("null", fh_txn_new(client, NULL, &error));
    CHECK(txn == NULL);
    INVALID("null", fh_txn_guard(NULL, lock, &error));
    INVALID("null", fh_txn_push(NULL, FH_S("q"), FH_S("[]"), &error));
    INVALID("null", fh_txn_ack(NULL, FH_S("[]"), &error));
    INVALID("null", fh_txn_kv(NULL, FH_S("[]"), &error));
    INVALID("null", fh_txn_timers(NULL, FH_S("[]"), &error));
    INVALID("null", fh_txn_commit(NULL, &json, &error));
    CHECK(json == NULL);
    fh_txn_free(NULL);
    OK(fh_txn_new(client, &txn, NULL));
    INVALID("null", fh_txn_guard(txn, NULL, &error));
    INVALID("bad_request", fh_txn_push(txn, NULL, 1, FH_S("[]"), &error));
    INVALID("bad_request", fh_txn_push(txn, FH_S("q"), NULL, 2, &error));
    INVALID("bad_request", fh_txn_ack(txn, NULL, 2, &error));
    INVALID("bad_request", fh_txn_kv(txn, NULL, 2, &error));
    INVALID("bad_request", fh_txn_timers(txn, NULL, 0, &error));
    fh_txn_free(txn);
}

static void text_functions_refuse_null(void) {
    uint64_t ms = 7;
    INVALID("null", fh_ttl_parse(FH_S("30s"), NULL, &error));
    INVALID("null", fh_wait_parse(FH_S("30s"), NULL, &error));
    INVALID("locks_bad_ttl", fh_ttl_parse(NULL, 3, &ms, &error));
    INVALID("locks_bad_ttl", fh_ttl_parse(NULL, 0, &ms, &error));
    INVALID("locks_bad_wait", fh_wait_parse(NULL, 3, &ms, &error));
    INVALID("locks_bad_wait", fh_wait_parse(NULL, 0, &ms, &error));
    CHECK(ms == 7);
}

/* Nobody has to ask for the error. */
static void an_error_that_nobody_wants_is_not_made(void) {
    fh_lock *made = NULL;
    IS(FH_ERR_INVALID, fh_client_ping(NULL, NULL));
    IS(FH_ERR_INVALID, fh_lock_new(client, FH_S("a#b"), 1000, NULL, &made, NULL));
    IS(FH_ERR_INVALID, fh_lock_acquire(NULL, 0, NULL, NULL));
    IS(FH_ERR_INVALID, fh_txn_commit(NULL, NULL, NULL));
    CHECK(made == NULL);
}

static void success_writes_that_there_is_no_error(void) {
    fh_error *error = check_not_written();
    OK(fh_client_ping(client, &error));
    CHECK(error == NULL);
    error = check_not_written();
    OK(fh_lock_acquire(lock, 0, NULL, &error));
    CHECK(error == NULL);
    error = check_not_written();
    IS(FH_HELD, fh_lock_acquire(lock, 0, NULL, &error));
    CHECK(error == NULL);
    error = check_not_written();
    OK(fh_lock_release(lock, &error));
    CHECK(error == NULL);
    error = check_not_written();
    IS(FH_NOT_HELD, fh_lock_release(lock, &error));
    CHECK(error == NULL);
}

static void the_version_is_checked(void) {
    CHECK(fh_version_number() == FH_VERSION_NUMBER);
    CHECK(FH_VERSION_NUMBER == FH_VERSION_MAJOR * 1000000u + FH_VERSION_MINOR * 1000u + FH_VERSION_PATCH);
    OK(fh_require_version(FH_VERSION_NUMBER, NULL));
    OK(fh_require_version(FH_VERSION_NUMBER - FH_VERSION_PATCH, NULL));
    FAILS(FH_ERR_UNSUPPORTED, "unsupported", fh_require_version(FH_VERSION_NUMBER + 1, &error));
    FAILS(FH_ERR_UNSUPPORTED, "unsupported", fh_require_version(FH_VERSION_NUMBER + 1000000, &error));
    FAILS(FH_ERR_UNSUPPORTED, "unsupported", fh_require_version(UINT32_MAX, &error));
}

void arguments_tests(void) {
    client = open_memory();
    lock = new_lock(client, "n");
    RUN(client_functions_refuse_null);
    RUN(lock_functions_refuse_null);
    RUN(refusals_of_null_are_none);
    RUN(cancel_functions_refuse_null);
    RUN(info_functions_refuse_null);
    RUN(error_functions_take_null);
    RUN(step_functions_refuse_null);
    RUN(text_functions_refuse_null);
    RUN(an_error_that_nobody_wants_is_not_made);
    RUN(success_writes_that_there_is_no_error);
    RUN(the_version_is_checked);
    fh_lock_free(lock);
    fh_client_free(client);
}
