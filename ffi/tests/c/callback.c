/* Loss handlers: called once a hold, on which thread, freed once. */
#include "check.h"

#include <pthread.h>

typedef struct {
    int calls, freed;
    int32_t reason;
    int was_held;
    pthread_t thread;
    fh_lock *to_free;
} watch;

static void note(const fh_lock *lock, int32_t reason, void *user_data) {
    watch *seen = (watch *)user_data;
    seen->reason = reason;
    seen->was_held = fh_lock_held(lock);
    seen->thread = pthread_self();
    CHECK(fh_lock_lost_reason(lock) == reason && fh_lock_fence(lock) != 0);
    __atomic_add_fetch(&seen->calls, 1, __ATOMIC_SEQ_CST);
    if (seen->to_free != NULL) {
        CHECK(seen->to_free == lock);
        fh_lock_free(seen->to_free);
        CHECK(seen->freed == 0); /* what it works with stays until it returns */
    }
}

static void count_free(void *user_data) { __atomic_add_fetch(&((watch *)user_data)->freed, 1, __ATOMIC_SEQ_CST); }

static int calls(watch *seen) { return __atomic_load_n(&seen->calls, __ATOMIC_SEQ_CST); }

static void until(watch *seen, int wanted) {
    const uint64_t limit = now_ms() + 10000;
    while (calls(seen) < wanted && now_ms() < limit) {
        sleep_ms(1);
    }
}

static void a_loss_handler_runs_once_a_hold_and_is_freed_once(void) {
    fh_client *client = open_memory();
    fh_lock *lock = new_lock(client, "n");
    watch first, late;
    memset(&first, 0, sizeof first);
    memset(&late, 0, sizeof late);
    OK(fh_lock_on_lost(lock, note, &first, count_free, NULL));
    OK(fh_lock_acquire(lock, 0, NULL, NULL));
    OK(fh_lock_release(lock, NULL));
    CHECK(first.calls == 0); /* a release is no loss */
    OK(fh_lock_acquire(lock, 0, NULL, NULL));
    OK(fh_lock_lose(lock, FH_LOST_GUARD, NULL));
    CHECK(first.calls == 1 && first.reason == FH_LOST_GUARD && first.was_held == 0);
    CHECK(pthread_equal(first.thread, pthread_self()));
    IS(FH_LOST, fh_lock_keep_alive(lock));
    CHECK(first.calls == 1);
    OK(fh_lock_on_lost(lock, note, &late, count_free, NULL));
    CHECK(late.calls == 1 && first.calls == 1);
    OK(fh_lock_acquire(lock, 0, NULL, NULL));
    OK(fh_lock_lose(lock, FH_LOST_RENEW, NULL));
    CHECK(first.calls == 2 && late.calls == 2 && late.reason == FH_LOST_RENEW);
    CHECK(first.freed == 0 && late.freed == 0);
    fh_lock_free(lock);
    CHECK(first.freed == 1 && late.freed == 1);
    fh_client_free(client);
}

static void the_call_that_finds_an_expiry_runs_the_handler(void) {
    fh_client *client = open_manual("callbacks");
    fh_lock *lock = new_lock(client, "n");
    watch seen;
    memset(&seen, 0, sizeof seen);
    OK(fh_lock_on_lost(lock, note, &seen, count_free, NULL));
    OK(fh_lock_acquire(lock, 0, NULL, NULL));
    OK(fh_client_advance(client, 30000, NULL));
    CHECK(seen.calls == 0);
    IS(FH_LOST, fh_lock_keep_alive(lock));
    CHECK(seen.calls == 1 && seen.reason == FH_LOST_EXPIRED && pthread_equal(seen.thread, pthread_self()));
    fh_lock_free(lock);
    CHECK(seen.freed == 1);
    fh_client_free(client);
}

static void a_background_handle_calls_on_the_librarys_thread(void) {
    fh_client *client = open_memory();
    fh_lock_options options = FH_LOCK_OPTIONS_INIT;
    fh_lock *lock = NULL;
    watch seen;
    memset(&seen, 0, sizeof seen);
    options.flags = FH_BACKGROUND;
    OK(fh_lock_new(client, FH_S("n"), 30000, &options, &lock, NULL));
    OK(fh_lock_on_lost(lock, note, &seen, count_free, NULL));
    OK(fh_lock_acquire(lock, 0, NULL, NULL));
    OK(fh_lock_lose(lock, FH_LOST_RENEW, NULL));
    until(&seen, 1);
    CHECK(calls(&seen) == 1 && !pthread_equal(seen.thread, pthread_self()));
    fh_lock_free(lock);
    fh_client_free(client);
}

static void a_handle_may_be_freed_in_its_own_handler(void) {
    fh_client *client = open_memory();
    fh_lock *lock = new_lock(client, "n");
    watch seen;
    memset(&seen, 0, sizeof seen);
    seen.to_free = lock;
    OK(fh_lock_on_lost(lock, note, &seen, count_free, NULL));
    OK(fh_lock_acquire(lock, 0, NULL, NULL));
    OK(fh_lock_lose(lock, FH_LOST_RENEW, NULL)); /* frees it */
    CHECK(seen.calls == 1 && seen.freed == 1);
    fh_client_free(client);
}

static void a_background_handle_may_be_freed_in_its_own_handler(void) {
    fh_client *client = open_memory();
    fh_lock_options options = FH_LOCK_OPTIONS_INIT;
    static watch seen; /* the library's thread may still be at it when this returns */
    const uint64_t limit = now_ms() + 10000;
    memset(&seen, 0, sizeof seen);
    options.flags = FH_BACKGROUND;
    OK(fh_lock_new(client, FH_S("n"), 30000, &options, &seen.to_free, NULL));
    OK(fh_lock_on_lost(seen.to_free, note, &seen, count_free, NULL));
    OK(fh_lock_acquire(seen.to_free, 0, NULL, NULL));
    OK(fh_lock_lose(seen.to_free, FH_LOST_RENEW, NULL));
    until(&seen, 1);
    while (__atomic_load_n(&seen.freed, __ATOMIC_SEQ_CST) == 0 && now_ms() < limit) {
        sleep_ms(1);
    }
    CHECK(seen.calls == 1 && seen.freed == 1);
    fh_client_free(client);
}

void callback_tests(void) {
    RUN(a_loss_handler_runs_once_a_hold_and_is_freed_once);
    RUN(the_call_that_finds_an_expiry_runs_the_handler);
    RUN(a_background_handle_calls_on_the_librarys_thread);
    RUN(a_handle_may_be_freed_in_its_own_handler);
    RUN(a_background_handle_may_be_freed_in_its_own_handler);
}
