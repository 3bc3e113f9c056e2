/* Answers to look through. */
#include "check.h"

#include <pthread.h>

static fh_client *client;

static void nobody_holds_a_free_lock(void) {
    fh_info *info = NULL;
    OK(fh_client_holders(client, FH_S("free"), &info, NULL));
    CHECK(fh_info_count(info) == 1 && fh_info_holder_count(info, 0) == 0 && fh_info_waiting(info, 0) == 0);
    CHECK_TEXT(fh_info_name(info, 0), "free");
    CHECK(strstr(fh_info_json(info), "\"held\":false") != NULL);
    fh_info_free(info);
}

static void a_holder_is_shown_as_it_is(void) {
    fh_lock *lock = new_lock(client, "held");
    fh_info *info = NULL;
    fh_holder holder = FH_HOLDER_INIT;
    OK(fh_lock_acquire(lock, 0, NULL, NULL));
    OK(fh_client_holders(client, FH_S("held"), &info, NULL));
    OK(fh_info_holder(info, 0, 0, &holder));
    CHECK(holder.struct_size == sizeof holder && holder.slot == 0 && holder.token == fh_lock_token(lock));
    CHECK_TEXT(holder.owner, fh_lock_owner(lock));
    CHECK(holder.label != NULL && strlen(holder.label) > 0);
    CHECK(holder.since_ms > 1000000000000 && holder.renewed_at_ms >= holder.since_ms);
    CHECK(holder.expires_at_ms > holder.since_ms + 20000 && holder.expires_at_ms < holder.since_ms + 40000);
    OK(fh_lock_release(lock, NULL));
    CHECK_TEXT(holder.owner, fh_lock_owner(lock)); /* an answer does not change */
    fh_info_free(info);
    fh_lock_free(lock);
}

/* A program that was built when the struct ended earlier: no byte behind its size is written. */
static void a_shorter_holder_of_an_older_program_is_filled(void) {
    fh_lock *lock = new_lock(client, "older");
    fh_info *info = NULL;
    fh_holder holder = FH_HOLDER_INIT;
    OK(fh_lock_acquire(lock, 0, NULL, NULL));
    OK(fh_client_holders(client, FH_S("older"), &info, NULL));
    holder.struct_size = offsetof(fh_holder, owner);
    OK(fh_info_holder(info, 0, 0, &holder));
    CHECK(holder.token == fh_lock_token(lock) && holder.owner == NULL && holder.since_ms == 0);
    holder.struct_size = 0;
    IS(FH_ERR_INVALID, fh_info_holder(info, 0, 0, &holder));
    fh_info_free(info);
    fh_lock_free(lock);
}

static fh_lock *waiting;

static void *wait_for_it(void *unused) {
    (void)unused;
    OK(fh_lock_acquire(waiting, 20000, NULL, NULL));
    return NULL;
}

static void whoever_waits_is_shown(void) {
    fh_lock *lock = new_lock(client, "busy");
    fh_info *info = NULL;
    fh_waiter waiter = FH_WAITER_INIT;
    pthread_t thread;
    const uint64_t limit = now_ms() + 10000;
    waiting = new_lock(client, "busy");
    OK(fh_lock_acquire(lock, 0, NULL, NULL));
    CHECK(pthread_create(&thread, NULL, wait_for_it, NULL) == 0);
    for (;;) {
        OK(fh_client_holders(client, FH_S("busy"), &info, NULL));
        if (fh_info_waiting(info, 0) == 1 || now_ms() > limit) break;
        fh_info_free(info);
        sleep_ms(1);
    }
    OK(fh_info_waiter(info, 0, 0, &waiter));
    CHECK(waiter.position == 1 && waiter.since_ms > 1000000000000);
    CHECK_TEXT(waiter.owner, fh_lock_owner(waiting));
    IS(FH_ERR_INVALID, fh_info_waiter(info, 0, 1, &waiter));
    waiter.struct_size = 1;
    IS(FH_ERR_INVALID, fh_info_waiter(info, 0, 0, &waiter));
    OK(fh_lock_release(lock, NULL));
    pthread_join(thread, NULL);
    fh_info_free(info);
    fh_lock_free(waiting);
    fh_lock_free(lock);
}

static void a_list_goes_by_name_in_pages(void) {
    static const char *const names[] = {"page/a", "page/b", "page/c", "other"};
    fh_lock *locks[4];
    fh_info *info = NULL;
    size_t at;
    for (at = 0; at < 4; ++at) {
        locks[at] = new_lock(client, names[at]);
        OK(fh_lock_acquire(locks[at], 0, NULL, NULL));
    }
    OK(fh_client_list(client, FH_S("page/"), NULL, 0, 2, &info, NULL));
    CHECK(fh_info_count(info) == 2);
    CHECK_TEXT(fh_info_name(info, 0), "page/a");
    CHECK_TEXT(fh_info_name(info, 1), "page/b");
    CHECK(fh_info_holder_count(info, 1) == 1 && fh_info_name(info, 2) == NULL);
    fh_info_free(info);
    OK(fh_client_list(client, FH_S("page/"), FH_S("page/b"), 0, &info, NULL));
    CHECK(fh_info_count(info) == 1);
    CHECK_TEXT(fh_info_name(info, 0), "page/c");
    CHECK(strstr(fh_info_json(info), "\"locks\":[") != NULL && strstr(fh_info_json(info), "\"store\":") != NULL);
    fh_info_free(info);
    OK(fh_client_list(client, FH_S("none"), NULL, 0, 10, &info, NULL));
    CHECK(fh_info_count(info) == 0);
    fh_info_free(info);
    for (at = 0; at < 4; ++at) {
        fh_lock_free(locks[at]);
    }
}

static void a_hold_is_ended_by_hand(void) {
    fh_lock *lock = new_lock(client, "stuck");
    const char *owner = fh_lock_owner(lock);
    uint64_t token;
    OK(fh_lock_acquire(lock, 0, NULL, NULL));
    token = fh_lock_token(lock);
    IS(FH_NOT_HELD, fh_client_force_release(client, FH_S("stuck"), 0, token + 1, NULL, 0, NULL));
    IS(FH_NOT_HELD, fh_client_force_release(client, FH_S("stuck"), 1, token, NULL, 0, NULL));
    IS(FH_NOT_HELD, fh_client_force_release(client, FH_S("stuck"), 0, 0, FH_S("somebody"), NULL));
    OK(fh_client_force_release(client, FH_S("stuck"), 0, token, NULL, 0, NULL));
    IS(FH_NOT_HELD, fh_client_force_release(client, FH_S("stuck"), 0, token, NULL, 0, NULL));
    fh_lock_release(lock, NULL);
    OK(fh_lock_acquire(lock, 0, NULL, NULL));
    OK(fh_client_force_release(client, FH_S("stuck"), 0, 0, owner, strlen(owner), NULL));
    fh_lock_free(lock);
}

void info_tests(void) {
    client = open_memory();
    RUN(nobody_holds_a_free_lock);
    RUN(a_holder_is_shown_as_it_is);
    RUN(a_shorter_holder_of_an_older_program_is_filled);
    RUN(whoever_waits_is_shown);
    RUN(a_list_goes_by_name_in_pages);
    RUN(a_hold_is_ended_by_hand);
    fh_client_free(client);
}
