/* The parts of a scope: take, epoch, release_epoch, leave. */
#include "check.h"

static void a_scope_gives_back_the_hold_that_it_took_and_no_other(void) {
    fh_client *client = open_memory();
    fh_lock *lock = new_lock(client, "n");
    uint64_t first = 0, second = 0;
    OK(fh_lock_take(lock, 0, NULL, &first, NULL));
    CHECK(first == 1 && fh_lock_epoch(lock) == first);
    OK(fh_lock_release(lock, NULL));
    OK(fh_lock_take(lock, 0, NULL, &second, NULL));
    CHECK(second == 2);
    IS(FH_NOT_HELD, fh_lock_release_epoch(lock, first, NULL));
    OK(fh_lock_leave(lock, first, NULL));
    CHECK(fh_lock_held(lock) == 1);
    IS(FH_NOT_HELD, fh_lock_release_epoch(lock, second + 1, NULL));
    IS(FH_NOT_HELD, fh_lock_release_epoch(lock, 0, NULL));
    IS(FH_NOT_HELD, fh_lock_release_epoch(lock, UINT64_MAX, NULL));
    CHECK(fh_lock_held(lock) == 1);
    OK(fh_lock_release_epoch(lock, second, NULL));
    CHECK(fh_lock_held(lock) == 0);
    OK(fh_lock_leave(lock, second, NULL));
    fh_lock_free(lock);
    fh_client_free(client);
}

static void take_raises_what_acquire_answers(void) {
    fh_client *client = open_memory();
    fh_lock *first = new_lock(client, "n"), *second = new_lock(client, "n");
    uint64_t epoch = 7;
    OK(fh_lock_take(first, 0, NULL, NULL, NULL));
    FAILS(FH_HELD, "held", fh_lock_take(second, 0, NULL, &epoch, &error));
    FAILS(FH_TIMED_OUT, "timed_out", fh_lock_take(second, 20, NULL, &epoch, &error));
    FAILS(FH_HELD, "held_here", fh_lock_take(first, 0, NULL, &epoch, &error));
    CHECK(epoch == 7);
    fh_lock_free(second);
    fh_lock_free(first);
    fh_client_free(client);
}

static void a_scope_that_outlived_its_lease_is_told_so(void) {
    fh_client *client = open_manual("scopes");
    fh_lock *lock = new_lock(client, "n"), *next = new_lock(client, "n");
    uint64_t epoch = 0;
    fh_error *error = NULL;
    OK(fh_lock_take(lock, 0, NULL, &epoch, NULL));
    OK(fh_lock_lose(lock, FH_LOST_RENEW, NULL));
    IS(FH_LOST, fh_lock_leave(lock, epoch, &error));
    CHECK_TEXT(fh_error_reason(error), "renew");
    CHECK(fh_error_late_by_ms(error) >= 0);
    fh_error_free(error);
    OK(fh_lock_take(lock, 0, NULL, &epoch, NULL));
    OK(fh_client_advance(client, 60000, NULL));
    OK(fh_lock_take(next, 0, NULL, NULL, NULL));
    IS(FH_LOST, fh_lock_leave(lock, epoch, NULL));
    OK(fh_lock_keep_alive(next));
    fh_lock_free(next);
    fh_lock_free(lock);
    fh_client_free(client);
}

static void stepping_aside_comes_back_behind_those_who_wait(void) {
    fh_client *client = open_memory();
    fh_lock *lock = new_lock(client, "n");
    uint64_t fence;
    OK(fh_lock_acquire(lock, 0, NULL, NULL));
    fence = fh_lock_fence(lock);
    OK(fh_lock_step_aside(lock, 1000, NULL, NULL));
    CHECK(fh_lock_fence(lock) > fence);
    OK(fh_lock_release(lock, NULL));
    OK(fh_lock_step_aside(lock, 0, NULL, NULL));
    CHECK(fh_lock_held(lock) == 1);
    fh_lock_free(lock);
    fh_client_free(client);
}

static void a_reentrant_handle_counts(void) {
    fh_client *client = open_memory();
    fh_lock_options options = FH_LOCK_OPTIONS_INIT;
    fh_lock *lock = NULL;
    uint64_t outer = 0, inner = 0;
    options.flags = FH_REENTRANT;
    OK(fh_lock_new(client, FH_S("n"), 30000, &options, &lock, NULL));
    OK(fh_lock_take(lock, 0, NULL, &outer, NULL));
    OK(fh_lock_take(lock, 0, NULL, &inner, NULL));
    CHECK(outer == inner);
    OK(fh_lock_leave(lock, inner, NULL));
    CHECK(fh_lock_held(lock) == 1);
    OK(fh_lock_leave(lock, outer, NULL));
    CHECK(fh_lock_held(lock) == 0);
    fh_lock_free(lock);
    fh_client_free(client);
}

void scope_tests(void) {
    RUN(a_scope_gives_back_the_hold_that_it_took_and_no_other);
    RUN(take_raises_what_acquire_answers);
    RUN(a_scope_that_outlived_its_lease_is_told_so);
    RUN(stepping_aside_comes_back_behind_those_who_wait);
    RUN(a_reentrant_handle_counts);
}
