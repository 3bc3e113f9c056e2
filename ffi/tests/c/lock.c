/* Handles: holding, renewing, losing, giving back. */
#include "check.h"

#include <pthread.h>

static void a_hold_has_a_token_a_fence_and_an_end(void) {
    fh_client *client = open_memory();
    fh_lock *lock = new_lock(client, "n");
    uint64_t fence;
    CHECK(fh_lock_held(lock) == 0 && fh_lock_token(lock) == 0 && fh_lock_fence(lock) == 0);
    CHECK(fh_lock_epoch(lock) == 0 && fh_lock_remaining_ms(lock) == 0 && fh_lock_lost_reason(lock) == 0);
    IS(FH_NOT_HELD, fh_lock_keep_alive(lock));
    IS(FH_NOT_HELD, fh_lock_release(lock, NULL));
    OK(fh_lock_acquire(lock, 0, NULL, NULL));
    fence = fh_lock_fence(lock);
    CHECK(fh_lock_held(lock) == 1 && fence >= 1 && fence <= INT64_MAX && fh_lock_token(lock) == fence);
    CHECK(fh_lock_epoch(lock) == 1 && fh_lock_slot(lock) == 0 && fh_lock_position(lock) == 0);
    CHECK(fh_lock_remaining_ms(lock) > 20000 && fh_lock_remaining_ms(lock) <= 30000);
    OK(fh_lock_keep_alive(lock));
    OK(fh_lock_release(lock, NULL));
    CHECK(fh_lock_held(lock) == 0 && fh_lock_fence(lock) == 0 && fh_lock_last_error(lock) == NULL);
    OK(fh_lock_acquire(lock, 0, NULL, NULL));
    CHECK(fh_lock_fence(lock) > fence && fh_lock_epoch(lock) == 2);
    fh_lock_free(lock);
    lock = new_lock(client, "n");
    OK(fh_lock_acquire(lock, 0, NULL, NULL)); /* the free gave it back */
    fh_lock_free(lock);
    fh_client_free(client);
}

static void keep_alive_renews_when_a_third_has_passed(void) {
    fh_client *client = open_manual("renewal");
    fh_lock *lock = new_lock(client, "n");
    uint64_t fence, token;
    int turn;
    OK(fh_lock_acquire(lock, 0, NULL, NULL));
    fence = token = fh_lock_fence(lock);
    for (turn = 0; turn < 5; ++turn) {
        OK(fh_lock_keep_alive(lock));
        CHECK(fh_lock_token(lock) == token);
        OK(fh_client_advance(client, 11000, NULL));
        OK(fh_lock_keep_alive(lock));
        CHECK(fh_lock_token(lock) > token && fh_lock_fence(lock) == fence);
        token = fh_lock_token(lock);
    }
    OK(fh_client_advance(client, 30000, NULL));
    CHECK(fh_lock_held(lock) == 0);
    IS(FH_LOST, fh_lock_keep_alive(lock));
    IS(FH_LOST, fh_lock_release(lock, NULL));
    CHECK(fh_lock_lost_reason(lock) == FH_LOST_EXPIRED && fh_lock_fence(lock) == fence);
    OK(fh_lock_acquire(lock, 0, NULL, NULL));
    CHECK(fh_lock_lost_reason(lock) == 0);
    fh_lock_free(lock);
    fh_client_free(client);
}

static void the_library_renews_in_the_background(void) {
    fh_client *client = open_memory();
    fh_lock_options options = FH_LOCK_OPTIONS_INIT;
    fh_lock *lock = NULL;
    uint64_t fence, limit = now_ms() + 20000;
    options.flags = FH_BACKGROUND;
    OK(fh_lock_new(client, FH_S("n"), 1500, &options, &lock, NULL));
    OK(fh_lock_acquire(lock, 0, NULL, NULL));
    fence = fh_lock_fence(lock);
    while (fh_lock_token(lock) == fence && now_ms() < limit) {
        sleep_ms(20);
    }
    CHECK(fh_lock_token(lock) > fence && fh_lock_held(lock) == 1);
    OK(fh_lock_keep_alive(lock));
    OK(fh_lock_release(lock, NULL));
    fh_lock_free(lock);
    fh_client_free(client);
}

static void refusals_say_why_and_who(void) {
    fh_client *client = open_memory();
    fh_lock *first = new_lock(client, "n"), *second = new_lock(client, "n");
    fh_info *info = NULL;
    fh_holder holder = FH_HOLDER_INIT;
    OK(fh_lock_acquire(first, 0, NULL, NULL));
    IS(FH_HELD, fh_lock_acquire(second, 0, NULL, NULL));
    CHECK_TEXT(fh_lock_refusal(second, &info), "held");
    CHECK(fh_info_count(info) == 1 && fh_info_holder_count(info, 0) == 1 && fh_info_waiting(info, 0) == 0);
    CHECK_TEXT(fh_info_name(info, 0), "n");
    OK(fh_info_holder(info, 0, 0, &holder));
    CHECK_TEXT(holder.owner, fh_lock_owner(first));
    fh_info_free(info);
    IS(FH_TIMED_OUT, fh_lock_acquire(second, 20, NULL, NULL));
    CHECK_TEXT(fh_lock_refusal(second, NULL), "timed_out");
    IS(FH_HELD, fh_lock_acquire(first, 0, NULL, NULL));
    CHECK_TEXT(fh_lock_refusal(first, NULL), "held_here");
    OK(fh_lock_release(first, NULL));
    OK(fh_lock_acquire(second, 0, NULL, NULL));
    CHECK(fh_lock_refusal(second, NULL) == NULL);
    fh_lock_free(second);
    fh_lock_free(first);
    fh_client_free(client);
}

static void an_owner_is_taken_up_only_on_purpose(void) {
    fh_client *client = open_memory();
    fh_lock_options options = FH_LOCK_OPTIONS_INIT;
    fh_lock *first = NULL, *second = NULL, *third = NULL;
    options.owner.ptr = "job-7";
    options.owner.len = 5;
    OK(fh_lock_new(client, FH_S("n"), 30000, &options, &first, NULL));
    OK(fh_lock_new(client, FH_S("n"), 30000, &options, &second, NULL));
    options.flags = FH_RESUME;
    OK(fh_lock_new(client, FH_S("n"), 30000, &options, &third, NULL));
    OK(fh_lock_acquire(first, 0, NULL, NULL));
    IS(FH_HELD, fh_lock_acquire(second, 0, NULL, NULL));
    CHECK_TEXT(fh_lock_refusal(second, NULL), "owner_in_use");
    OK(fh_lock_acquire(third, 0, NULL, NULL));
    CHECK(fh_lock_held(third) == 1);
    fh_lock_free(third);
    fh_lock_free(second);
    fh_lock_free(first);
    fh_client_free(client);
}

static void a_semaphore_has_as_many_holders_as_permits(void) {
    fh_client *client = open_memory();
    fh_lock *locks[3] = {NULL, NULL, NULL};
    int at;
    for (at = 0; at < 3; ++at) {
        OK(fh_semaphore_new(client, FH_S("s"), 2, 30000, NULL, &locks[at], NULL));
    }
    OK(fh_lock_acquire(locks[0], 0, NULL, NULL));
    OK(fh_lock_acquire(locks[1], 0, NULL, NULL));
    IS(FH_HELD, fh_lock_acquire(locks[2], 0, NULL, NULL));
    CHECK(fh_lock_slot(locks[0]) + fh_lock_slot(locks[1]) == 1);
    OK(fh_lock_release(locks[0], NULL));
    OK(fh_lock_acquire(locks[2], 0, NULL, NULL));
    for (at = 0; at < 3; ++at) {
        fh_lock_free(locks[at]);
    }
    fh_client_free(client);
}

static void losing_on_purpose_is_for_memory_only(void) {
    char folder[64];
    fh_client *memory = open_memory(), *file = open_folder(folder);
    fh_lock *lock = new_lock(memory, "n"), *real = new_lock(file, "n");
    fh_error *error = NULL;
    FAILS(FH_ERR_NOT_HELD, "not_held", fh_lock_lose(lock, FH_LOST_GUARD, &error));
    OK(fh_lock_acquire(lock, 0, NULL, NULL));
    INVALID("locks_bad_reason", fh_lock_lose(lock, 0, &error));
    INVALID("locks_bad_reason", fh_lock_lose(lock, 5, &error));
    INVALID("locks_bad_reason", fh_lock_lose(lock, INT32_MIN, &error));
    OK(fh_lock_lose(lock, FH_LOST_GUARD, NULL));
    CHECK(fh_lock_lost_reason(lock) == FH_LOST_GUARD);
    error = fh_lock_last_error(lock);
    CHECK(fh_error_kind(error) == FH_LOST);
    fh_error_free(error);
    FAILS(FH_ERR_UNSUPPORTED, "unsupported", fh_client_advance(memory, 1, &error));
    OK(fh_lock_acquire(real, 0, NULL, NULL));
    FAILS(FH_ERR_UNSUPPORTED, "unsupported", fh_lock_lose(real, FH_LOST_RENEW, &error));
    FAILS(FH_ERR_UNSUPPORTED, "unsupported", fh_client_advance(file, 1, &error));
    CHECK(fh_lock_held(real) == 1);
    fh_lock_free(real);
    fh_lock_free(lock);
    fh_client_free(file);
    fh_client_free(memory);
    remove_folder(folder);
}

static void a_lock_outlives_its_client_and_not_its_closing(void) {
    fh_client *client = open_memory();
    fh_lock *lock = new_lock(client, "n"), *made = NULL;
    fh_txn *txn = NULL;
    OK(fh_lock_acquire(lock, 0, NULL, NULL));
    fh_client_free(client);
    OK(fh_lock_keep_alive(lock));
    OK(fh_lock_release(lock, NULL));
    fh_lock_free(lock);

    client = open_memory();
    lock = new_lock(client, "n");
    OK(fh_lock_acquire(lock, 0, NULL, NULL));
    OK(fh_client_close(client, NULL));
    OK(fh_client_close(client, NULL));
    CHECK(fh_lock_held(lock) == 0);
    INVALID("client_closed", fh_lock_acquire(lock, 0, NULL, &error));
    INVALID("client_closed", fh_lock_take(lock, 0, NULL, NULL, &error));
    INVALID("client_closed", fh_client_ping(client, &error));
    INVALID("client_closed", fh_lock_new(client, FH_S("n"), 1000, NULL, &made, &error));
    INVALID("client_closed", fh_txn_new(client, &txn, &error));
    CHECK(made == NULL && txn == NULL);
    fh_client_free(client);
    fh_lock_free(lock);
}

static fh_lock *shared;
static int inside, most_inside, entered;

static void *contend(void *unused) {
    int turn;
    (void)unused;
    for (turn = 0; turn < 50; ++turn) {
        uint64_t epoch = 0;
        if (fh_lock_take(shared, FH_FOREVER, NULL, &epoch, NULL) != FH_OK) continue;
        {
            const int now = __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
            if (now > __atomic_load_n(&most_inside, __ATOMIC_SEQ_CST)) {
                __atomic_store_n(&most_inside, now, __ATOMIC_SEQ_CST);
            }
            __atomic_add_fetch(&entered, 1, __ATOMIC_SEQ_CST);
            __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
        }
        fh_lock_leave(shared, epoch, NULL);
    }
    return NULL;
}

static void threads_share_one_handle(void) {
    fh_client *client = open_memory();
    pthread_t threads[4];
    int at;
    inside = most_inside = entered = 0;
    shared = new_lock(client, "n");
    for (at = 0; at < 4; ++at) {
        CHECK(pthread_create(&threads[at], NULL, contend, NULL) == 0);
    }
    for (at = 0; at < 4; ++at) {
        pthread_join(threads[at], NULL);
    }
    CHECK(most_inside == 1 && entered == 200);
    fh_lock_free(shared);
    fh_client_free(client);
}

void lock_tests(void) {
    RUN(a_hold_has_a_token_a_fence_and_an_end);
    RUN(keep_alive_renews_when_a_third_has_passed);
    RUN(the_library_renews_in_the_background);
    RUN(refusals_say_why_and_who);
    RUN(an_owner_is_taken_up_only_on_purpose);
    RUN(a_semaphore_has_as_many_holders_as_permits);
    RUN(losing_on_purpose_is_for_memory_only);
    RUN(a_lock_outlives_its_client_and_not_its_closing);
    RUN(threads_share_one_handle);
}
