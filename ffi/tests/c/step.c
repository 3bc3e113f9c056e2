/* Steps and rows. */
#include "check.h"

static void a_guarded_step_is_done_or_nothing_of_it(void) {
    fh_client *client = open_manual("steps");
    fh_lock *lock = new_lock(client, "n"), *next = new_lock(client, "n");
    fh_txn *txn = NULL;
    fh_info *info = NULL;
    fh_error *error = NULL;
    const char *json = NULL;
    OK(fh_lock_acquire(lock, 0, NULL, NULL));
    OK(fh_txn_new(client, &txn, NULL));
    OK(fh_txn_guard(txn, lock, NULL));
    OK(fh_txn_kv(txn, FH_S("[{\"op\":\"put\",\"ns\":\"work\",\"key\":\"k\",\"value\":1,\"forever\":true}]"), NULL));
    OK(fh_txn_commit(txn, &json, NULL));
    CHECK(json != NULL && strstr(json, "\"success\":true") != NULL);
    fh_txn_free(txn);
    OK(fh_client_kv(client, FH_S("[{\"op\":\"get\",\"ns\":\"work\",\"key\":\"k\"}]"), &info, NULL));
    CHECK(strstr(fh_info_json(info), "\"value\":1") != NULL && fh_info_count(info) == 0);
    fh_info_free(info);

    OK(fh_txn_new(client, &txn, NULL));
    OK(fh_txn_guard(txn, lock, NULL));
    OK(fh_client_force_release(client, FH_S("n"), 0, fh_lock_token(lock), NULL, 0, NULL));
    OK(fh_lock_acquire(next, 0, NULL, NULL));
    OK(fh_txn_kv(txn, FH_S("[{\"op\":\"put\",\"ns\":\"work\",\"key\":\"k\",\"value\":2,\"forever\":true}]"), NULL));
    IS(FH_LOST, fh_txn_commit(txn, &json, &error));
    CHECK(fh_error_kind(error) == FH_LOST);
    CHECK_TEXT(fh_error_reason(error), "guard");
    fh_error_free(error);
    CHECK(json != NULL && strstr(json, "\"success\":false") != NULL);
    CHECK(fh_lock_lost_reason(lock) == FH_LOST_GUARD);
    fh_txn_free(txn);
    OK(fh_client_kv(client, FH_S("[{\"op\":\"get\",\"ns\":\"work\",\"key\":\"k\"}]"), &info, NULL));
    CHECK(strstr(fh_info_json(info), "\"value\":1") != NULL);
    fh_info_free(info);
    fh_lock_free(next);
    fh_lock_free(lock);
    fh_client_free(client);
}

static void a_lost_precondition_is_an_answer(void) {
    fh_client *client = open_memory();
    fh_txn *txn = NULL;
    fh_info *info = NULL;
    const char *json = NULL;
    OK(fh_txn_new(client, &txn, NULL));
    OK(fh_txn_kv(txn, FH_S("[{\"op\":\"check\",\"ns\":\"work\",\"key\":\"k\",\"expect\":7,\"required\":true}]"), NULL));
    IS(FH_REFUSED, fh_txn_commit(txn, &json, NULL));
    CHECK(json != NULL && strstr(json, "\"reason\":\"kv_precondition\"") != NULL);
    fh_txn_free(txn);
    IS(FH_REFUSED,
       fh_client_kv(client, FH_S("[{\"op\":\"check\",\"ns\":\"work\",\"key\":\"k\",\"expect\":7,\"required\":true}]"),
                    &info, NULL));
    CHECK(strstr(fh_info_json(info), "kv_precondition") != NULL);
    fh_info_free(info);
    fh_client_free(client);
}

static void guards_are_held_locks_of_the_same_client(void) {
    fh_client *client = open_memory(), *other = open_memory();
    fh_lock *idle = new_lock(client, "n"), *foreign = new_lock(other, "n");
    fh_txn *txn = NULL;
    OK(fh_lock_acquire(foreign, 0, NULL, NULL));
    OK(fh_txn_new(client, &txn, NULL));
    FAILS(FH_ERR_NOT_HELD, "not_held", fh_txn_guard(txn, idle, &error));
    INVALID("bad_guard", fh_txn_guard(txn, foreign, &error));
    fh_txn_free(txn);
    fh_lock_free(foreign);
    fh_lock_free(idle);
    fh_client_free(other);
    fh_client_free(client);
}

static void parts_that_are_no_json_are_refused(void) {
    fh_client *client = open_memory();
    fh_txn *txn = NULL;
    fh_info *info = NULL;
    static const char *const bad[] = {"", "{}", "[", "[1]", "null", "\"text\"", "[{\"op\":\"explode\"}]"};
    size_t at;
    OK(fh_txn_new(client, &txn, NULL));
    for (at = 0; at < sizeof bad / sizeof bad[0]; ++at) {
        CHECK(fh_client_kv(client, bad[at], strlen(bad[at]), &info, NULL) == FH_ERR_INVALID);
    }
    for (at = 0; at < 3; ++at) {
        INVALID("bad_request", fh_txn_ack(txn, bad[at], strlen(bad[at]), &error));
        INVALID("bad_request", fh_txn_kv(txn, bad[at], strlen(bad[at]), &error));
        INVALID("bad_request", fh_txn_timers(txn, bad[at], strlen(bad[at]), &error));
        INVALID("bad_request", fh_txn_push(txn, FH_S("q"), bad[at], strlen(bad[at]), &error));
    }
    INVALID("bad_request", fh_txn_kv(txn, "[\"\xff\"]", 5, &error));
    INVALID("bad_request", fh_txn_push(txn, FH_S("\xff"), FH_S("[]"), &error));
    INVALID("bad_request", fh_txn_push(txn, FH_S(""), FH_S("[]"), &error));
    CHECK(info == NULL);
    fh_txn_free(txn);
    fh_client_free(client);
}

static void a_store_without_queues_says_so(void) {
    char folder[64];
    fh_client *clients[2];
    int at;
    clients[0] = open_memory();
    clients[1] = open_folder(folder);
    for (at = 0; at < 2; ++at) {
        fh_txn *txn = NULL;
        const char *json = "not written";
        OK(fh_txn_new(clients[at], &txn, NULL));
        OK(fh_txn_push(txn, FH_S("q"), FH_S("[{\"data\":1}]"), NULL));
        FAILS(FH_ERR_UNSUPPORTED, "unsupported", fh_txn_commit(txn, &json, &error));
        CHECK(json == NULL);
        fh_txn_free(txn);
        fh_client_free(clients[at]);
    }
    remove_folder(folder);
}

void step_tests(void) {
    RUN(a_guarded_step_is_done_or_nothing_of_it);
    RUN(a_lost_precondition_is_an_answer);
    RUN(guards_are_held_locks_of_the_same_client);
    RUN(parts_that_are_no_json_are_refused);
    RUN(a_store_without_queues_says_so);
}
