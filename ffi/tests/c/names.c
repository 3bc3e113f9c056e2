/* Text that cannot be a name, a lifetime, a wait, an owner, a label or a URL. */
#include "check.h"

static fh_client *client;

typedef struct {
    const char *ptr;
    size_t len;
} text;

static char too_long[257];

static const text bad_names[] = {{NULL, 0},
                                 {"", 0},
                                 {"a\0b", 3},
                                 {"a\0", 2},
                                 {"a#b", 3},
                                 {"#", 1},
                                 {"a\nb", 3},
                                 {"a\x7f", 2},
                                 {"a\xc2\x85", 3},
                                 {"\xff", 1},
                                 {"a\xc3", 2},
                                 {"\xc0\x80", 2},
                                 {"\xed\xa0\x80", 3},
                                 {"\xed\xbf\xbf", 3},
                                 {"\xf4\x90\x80\x80", 4},
                                 {"\xe2\x28\xa1", 3},
                                 {NULL, 5},
                                 {too_long, SIZE_MAX},
                                 {too_long, 257}};

static void a_bad_name_is_refused_everywhere(void) {
    size_t at;
    memset(too_long, 'x', sizeof too_long);
    for (at = 0; at < sizeof bad_names / sizeof bad_names[0]; ++at) {
        const char *name = bad_names[at].ptr;
        const size_t length = bad_names[at].len;
        fh_lock *lock = NULL;
        fh_info *info = NULL;
        INVALID("locks_bad_name", fh_lock_new(client, name, length, 1000, NULL, &lock, &error));
        INVALID("locks_bad_name", fh_semaphore_new(client, name, length, 2, 1000, NULL, &lock, &error));
        INVALID("locks_bad_name", fh_client_holders(client, name, length, &info, &error));
        INVALID("locks_bad_name", fh_client_force_release(client, name, length, 0, 1, NULL, 0, &error));
        CHECK(lock == NULL && info == NULL);
    }
}

static void a_good_name_is_taken_as_it_stands(void) {
    static const text good[] = {
        {"a", 1},        {"a b", 3},  {"\xc3\xa9", 2}, {"a\xc2\xa0z", 4}, {"\xf0\x9f\x90\x98", 4},
        {too_long, 256}, {"a/b:c", 5}};
    size_t at;
    memset(too_long, 'x', sizeof too_long);
    for (at = 0; at < sizeof good / sizeof good[0]; ++at) {
        fh_lock *lock = NULL;
        OK(fh_lock_new(client, good[at].ptr, good[at].len, 1000, NULL, &lock, NULL));
        CHECK(strlen(fh_lock_name(lock)) == good[at].len);
        CHECK(memcmp(fh_lock_name(lock), good[at].ptr, good[at].len) == 0);
        OK(fh_lock_acquire(lock, 0, NULL, NULL));
        fh_lock_free(lock);
    }
}

/* The text is not read beyond its length, and need not outlive the call. */
static void names_are_copied_and_need_no_nul(void) {
    char *name = (char *)malloc(3);
    fh_lock *lock = NULL;
    memcpy(name, "abc", 3);
    OK(fh_lock_new(client, name, 2, 1000, NULL, &lock, NULL));
    memset(name, '#', 3);
    free(name);
    CHECK_TEXT(fh_lock_name(lock), "ab");
    fh_lock_free(lock);
}

static void a_bad_lifetime_is_refused(void) {
    static const uint64_t bad[] = {0, 1, 99, 86400001, UINT64_MAX - 1, UINT64_MAX};
    size_t at;
    fh_lock *lock = NULL;
    for (at = 0; at < sizeof bad / sizeof bad[0]; ++at) {
        INVALID("locks_bad_ttl", fh_lock_new(client, FH_S("n"), bad[at], NULL, &lock, &error));
        INVALID("locks_bad_ttl", fh_semaphore_new(client, FH_S("n"), 2, bad[at], NULL, &lock, &error));
    }
    CHECK(lock == NULL);
    OK(fh_lock_new(client, FH_S("n"), 100, NULL, &lock, NULL));
    CHECK(fh_lock_ttl_ms(lock) == 100);
    fh_lock_free(lock);
    OK(fh_lock_new(client, FH_S("n"), 86400000, NULL, &lock, NULL));
    CHECK(fh_lock_ttl_ms(lock) == 86400000);
    fh_lock_free(lock);
}

static void a_bad_number_of_permits_is_refused(void) {
    fh_lock *lock = NULL;
    INVALID("locks_bad_limit", fh_semaphore_new(client, FH_S("n"), 0, 1000, NULL, &lock, &error));
    INVALID("locks_bad_limit", fh_semaphore_new(client, FH_S("n"), UINT32_MAX, 1000, NULL, &lock, &error));
    CHECK(lock == NULL);
}

static void lifetimes_are_read_as_people_write_them(void) {
    static const text bad[] = {{"30", 2},    {"-1s", 3},
                               {"", 0},      {"99ms", 4},
                               {"25h", 3},   {"forever", 7},
                               {"1s 1m", 5}, {"1.5s\0", 5},
                               {"\xff", 1},  {"1m1h", 4},
                               {"s", 1},     {"30 s", 4},
                               {"1e3s", 4},  {"99999999999999999999999s", 24}};
    uint64_t ms = 0;
    size_t at;
    OK(fh_ttl_parse(FH_S("30s"), &ms, NULL));
    CHECK(ms == 30000);
    OK(fh_ttl_parse(FH_S("1h30m"), &ms, NULL));
    CHECK(ms == 5400000);
    OK(fh_ttl_parse("100ms and more", 5, &ms, NULL));
    CHECK(ms == 100);
    for (at = 0; at < sizeof bad / sizeof bad[0]; ++at) {
        INVALID("locks_bad_ttl", fh_ttl_parse(bad[at].ptr, bad[at].len, &ms, &error));
    }
    CHECK(ms == 100);
}

static void waits_are_read_as_people_write_them(void) {
    static const text bad[] = {{"30", 2}, {"-1s", 3}, {"", 0}, {"Forever", 7}, {"for\0ver", 7}, {"\xc3", 1}};
    uint64_t ms = 0;
    size_t at;
    OK(fh_wait_parse(FH_S("500ms"), &ms, NULL));
    CHECK(ms == 500);
    OK(fh_wait_parse(FH_S("forever"), &ms, NULL));
    CHECK(ms == FH_FOREVER);
    OK(fh_wait_parse(FH_S("0s"), &ms, NULL));
    CHECK(ms == 0);
    OK(fh_wait_parse(FH_S("30d"), &ms, NULL));
    CHECK(ms == 2592000000u);
    for (at = 0; at < sizeof bad / sizeof bad[0]; ++at) {
        INVALID("locks_bad_wait", fh_wait_parse(bad[at].ptr, bad[at].len, &ms, &error));
    }
    CHECK(ms == 2592000000u);
}

static void a_bad_url_is_refused(void) {
    static const text bad[] = {
        {"memory", 6},       {"nowhere:", 8}, {"memory:?clock=", 14}, {"memory:?colour=red", 18}, {"file:relative", 13},
        {"memory:a\0b", 10}, {"\xff", 1},     {"memory:\xff", 8},     {"memory:a%00b", 12}};
    size_t at;
    fh_client *opened = NULL;
    for (at = 0; at < sizeof bad / sizeof bad[0]; ++at) {
        INVALID("locks_bad_url", fh_client_open(bad[at].ptr, bad[at].len, NULL, &opened, &error));
    }
    unsetenv("FENCEHOLD_URL");
    INVALID("locks_no_store", fh_client_open(NULL, 0, NULL, &opened, &error));
    CHECK(opened == NULL);
    setenv("FENCEHOLD_URL", "memory:from-the-environment", 1);
    OK(fh_client_open(NULL, 0, NULL, &opened, NULL));
    CHECK_TEXT(fh_client_store(opened), "memory:from-the-environment");
    fh_client_free(opened);
    unsetenv("FENCEHOLD_URL");
}

void names_tests(void) {
    client = open_memory();
    RUN(a_bad_name_is_refused_everywhere);
    RUN(a_good_name_is_taken_as_it_stands);
    RUN(names_are_copied_and_need_no_nul);
    RUN(a_bad_lifetime_is_refused);
    RUN(a_bad_number_of_permits_is_refused);
    RUN(lifetimes_are_read_as_people_write_them);
    RUN(waits_are_read_as_people_write_them);
    RUN(a_bad_url_is_refused);
    fh_client_free(client);
}
