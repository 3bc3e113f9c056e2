/* Structs that say their size: older and newer callers, and callers who forgot. */
#include "check.h"

static fh_client *client;

static void options_that_were_not_begun_are_refused(void) {
    fh_lock_options options = FH_LOCK_OPTIONS_INIT;
    fh_client_options client_options = FH_CLIENT_OPTIONS_INIT;
    static const size_t bad[] = {0, 1, sizeof(size_t) - 1, 4097, SIZE_MAX};
    size_t at;
    fh_lock *lock = NULL;
    fh_client *opened = NULL;
    for (at = 0; at < sizeof bad / sizeof bad[0]; ++at) {
        options.struct_size = bad[at];
        client_options.struct_size = bad[at];
        INVALID("bad_options", fh_lock_new(client, FH_S("n"), 1000, &options, &lock, &error));
        INVALID("bad_options", fh_semaphore_new(client, FH_S("n"), 2, 1000, &options, &lock, &error));
        INVALID("bad_options", fh_client_open(FH_S("memory:"), &client_options, &opened, &error));
    }
    CHECK(lock == NULL && opened == NULL);
}

/* A program that was built when the struct ended earlier: the rest of it is not read. */
static void shorter_options_of_an_older_program_are_taken(void) {
    const size_t size = offsetof(fh_lock_options, owner);
    fh_lock_options *options = (fh_lock_options *)malloc(size);
    fh_lock *lock = NULL;
    memcpy(options, &size, sizeof size);
    ((uint64_t *)(void *)options)[offsetof(fh_lock_options, wait_ms) / sizeof(uint64_t)] = 1500;
    OK(fh_lock_new(client, FH_S("n"), 1000, options, &lock, NULL));
    CHECK(fh_lock_wait_ms(lock) == 1500);
    fh_lock_free(lock);
    free(options);
}

struct longer {
    fh_lock_options options;
    uint64_t field_of_the_future;
};

static void longer_options_of_a_newer_program_are_taken_unless_used(void) {
    struct longer longer;
    fh_lock *lock = NULL;
    const fh_lock_options begun = FH_LOCK_OPTIONS_INIT;
    longer.options = begun;
    longer.options.struct_size = sizeof longer;
    longer.field_of_the_future = 0;
    OK(fh_lock_new(client, FH_S("n"), 1000, &longer.options, &lock, NULL));
    fh_lock_free(lock);
    lock = NULL;
    longer.field_of_the_future = 1;
    INVALID("bad_options", fh_lock_new(client, FH_S("n"), 1000, &longer.options, &lock, &error));
    CHECK(lock == NULL);
}

static void unknown_flags_are_refused(void) {
    fh_lock_options options = FH_LOCK_OPTIONS_INIT;
    fh_lock *lock = NULL;
    options.flags = 32;
    INVALID("bad_options", fh_lock_new(client, FH_S("n"), 1000, &options, &lock, &error));
    options.flags = UINT32_MAX;
    INVALID("bad_options", fh_lock_new(client, FH_S("n"), 1000, &options, &lock, &error));
    CHECK(lock == NULL);
    options.flags = FH_FAIR | FH_REENTRANT | FH_BACKGROUND | FH_CRASH_EXPIRE;
    OK(fh_lock_new(client, FH_S("n"), 1000, &options, &lock, NULL));
    fh_lock_free(lock);
}

static void texts_of_options_are_checked(void) {
    fh_lock_options options = FH_LOCK_OPTIONS_INIT;
    fh_client_options client_options = FH_CLIENT_OPTIONS_INIT;
    fh_lock *lock = NULL;
    fh_client *opened = NULL;
    options.owner.ptr = "\xff";
    options.owner.len = 1;
    INVALID("locks_bad_owner", fh_lock_new(client, FH_S("n"), 1000, &options, &lock, &error));
    options.owner.ptr = NULL;
    INVALID("locks_bad_owner", fh_lock_new(client, FH_S("n"), 1000, &options, &lock, &error));
    options.owner.len = 0;
    options.label.ptr = "a\0b";
    options.label.len = 3;
    INVALID("locks_bad_label", fh_lock_new(client, FH_S("n"), 1000, &options, &lock, &error));
    options.label.ptr = NULL;
    INVALID("locks_bad_label", fh_lock_new(client, FH_S("n"), 1000, &options, &lock, &error));
    client_options.label.len = 1;
    INVALID("locks_bad_label", fh_client_open(FH_S("memory:"), &client_options, &opened, &error));
    client_options.label.ptr = "\xc3";
    INVALID("locks_bad_label", fh_client_open(FH_S("memory:"), &client_options, &opened, &error));
    client_options.label.len = 0;
    client_options.password.len = 4;
    INVALID("bad_options", fh_client_open(FH_S("memory:"), &client_options, &opened, &error));
    CHECK(lock == NULL && opened == NULL);
}

static void every_option_arrives(void) {
    fh_lock_options options = FH_LOCK_OPTIONS_INIT;
    fh_lock *lock = NULL;
    fh_info *info = NULL;
    fh_holder holder = FH_HOLDER_INIT;
    char owner[] = "me", label[] = "the night shift";
    options.wait_ms = FH_FOREVER;
    options.owner.ptr = owner;
    options.owner.len = strlen(owner);
    options.label.ptr = label;
    options.label.len = strlen(label);
    options.flags = FH_REENTRANT;
    OK(fh_lock_new(client, FH_S("options"), 1000, &options, &lock, NULL));
    memset(owner, 'x', sizeof owner - 1);
    memset(label, 'x', sizeof label - 1);
    memset(&options, 0xff, sizeof options);
    CHECK(fh_lock_wait_ms(lock) == FH_FOREVER);
    CHECK_TEXT(fh_lock_owner(lock), "me");
    OK(fh_lock_acquire(lock, FH_DEFAULT_WAIT, NULL, NULL));
    OK(fh_lock_acquire(lock, 0, NULL, NULL));
    OK(fh_client_holders(client, FH_S("options"), &info, NULL));
    OK(fh_info_holder(info, 0, 0, &holder));
    CHECK_TEXT(holder.owner, "me");
    CHECK_TEXT(holder.label, "the night shift");
    fh_info_free(info);
    fh_lock_free(lock);
}

static void a_handles_own_wait_is_used_by_default(void) {
    fh_lock_options options = FH_LOCK_OPTIONS_INIT;
    fh_lock *holder = new_lock(client, "waits");
    fh_lock *waiter = NULL;
    uint64_t began;
    CHECK(fh_lock_wait_ms(holder) == FH_DEFAULT_WAIT);
    OK(fh_lock_acquire(holder, FH_DEFAULT_WAIT, NULL, NULL));
    options.wait_ms = 100;
    OK(fh_lock_new(client, FH_S("waits"), 1000, &options, &waiter, NULL));
    began = now_ms();
    IS(FH_TIMED_OUT, fh_lock_acquire(waiter, FH_DEFAULT_WAIT, NULL, NULL));
    CHECK(now_ms() - began >= 99);
    IS(FH_HELD, fh_lock_acquire(waiter, 0, NULL, NULL));
    fh_lock_free(waiter);
    fh_lock_free(holder);
}

static void numbers_at_the_edge_are_taken_or_refused(void) {
    static const uint64_t numbers[] = {1, 1000, INT64_MAX, UINT64_MAX - 2, UINT64_MAX};
    size_t at;
    for (at = 0; at < sizeof numbers / sizeof numbers[0]; ++at) {
        fh_client_options options = FH_CLIENT_OPTIONS_INIT;
        fh_client *opened = NULL;
        fh_lock *lock = NULL;
        options.request_timeout_ms = numbers[at];
        if (fh_client_open(FH_S("memory:"), &options, &opened, NULL) != FH_OK) continue;
        lock = new_lock(opened, "n");
        OK(fh_lock_acquire(lock, numbers[at], NULL, NULL));
        OK(fh_lock_step_aside(lock, numbers[at], NULL, NULL));
        OK(fh_lock_release(lock, NULL));
        fh_lock_free(lock);
        fh_client_free(opened);
    }
}

struct longer_holder {
    fh_holder holder;
    uint64_t field_of_the_future;
};

static void a_longer_holder_of_a_newer_program_is_filled_as_far_as_it_is_known(void) {
    struct longer_holder longer;
    const fh_holder begun = FH_HOLDER_INIT;
    fh_lock *lock = new_lock(client, "longer");
    fh_info *info = NULL;
    longer.holder = begun;
    longer.holder.struct_size = sizeof longer;
    longer.field_of_the_future = 7;
    OK(fh_lock_acquire(lock, 0, NULL, NULL));
    OK(fh_client_holders(client, FH_S("longer"), &info, NULL));
    OK(fh_info_holder(info, 0, 0, &longer.holder));
    CHECK(longer.holder.token == fh_lock_token(lock) && longer.holder.struct_size == sizeof longer);
    CHECK(longer.field_of_the_future == 7);
    fh_info_free(info);
    fh_lock_free(lock);
}

void options_tests(void) {
    client = open_memory();
    RUN(options_that_were_not_begun_are_refused);
    RUN(shorter_options_of_an_older_program_are_taken);
    RUN(longer_options_of_a_newer_program_are_taken_unless_used);
    RUN(unknown_flags_are_refused);
    RUN(texts_of_options_are_checked);
    RUN(every_option_arrives);
    RUN(a_handles_own_wait_is_used_by_default);
    RUN(numbers_at_the_edge_are_taken_or_refused);
    RUN(a_longer_holder_of_a_newer_program_is_filled_as_far_as_it_is_known);
    fh_client_free(client);
}
