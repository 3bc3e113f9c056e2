/* Calls with arguments drawn from what breaks code: none crashes, hangs or answers FH_ERR_INTERNAL. */
#include "check.h"

static uint64_t state;

/* xorshift: the same calls in each run. */
static uint64_t draw(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static uint64_t number(void) {
    static const uint64_t numbers[] = {
        0, 1, 2, 99, 100, 101, 1000, 86400000, 86400001, INT32_MAX, UINT32_MAX, (uint64_t)INT64_MAX, UINT64_MAX - 2};
    return numbers[draw() % (sizeof numbers / sizeof numbers[0])];
}

static char bytes[300];

static fh_str piece(void) {
    fh_str text;
    size_t at;
    text.ptr = bytes;
    text.len = draw() % 8 == 0 ? draw() % sizeof bytes : draw() % 4;
    for (at = 0; at < text.len; ++at) {
        bytes[at] = (char)(draw() % 4 == 0 ? draw() : 'a' + draw() % 3);
    }
    if (draw() % 16 == 0) text.ptr = NULL;
    return text;
}

/* Takes the error's place, as the call that writes it is the other argument. */
static void done(fh_status status, fh_error **place) {
    fh_error *error = *place;
    *place = NULL;
    if (status == FH_ERR_INTERNAL)
        fprintf(stderr, "state %llu: %s\n", (unsigned long long)state, fh_error_message(error));
    CHECK(status != FH_ERR_INTERNAL && status >= FH_ERR_NOT_HELD && status <= FH_REFUSED);
    CHECK((error != NULL) == (status < FH_OK));
    fh_error_free(error);
}

static void a_call(const fh_client *client) {
    fh_lock_options options = FH_LOCK_OPTIONS_INIT;
    const fh_str name = piece();
    fh_error *error = NULL;
    fh_lock *lock = NULL;
    fh_info *info = NULL;
    options.flags = (uint32_t)(draw() % 4 == 0 ? draw() : draw() % 2 * FH_REENTRANT);
    options.wait_ms = draw() % 2 ? 0 : FH_DEFAULT_WAIT;
    if (draw() % 8 == 0) options.struct_size = draw() % 2 ? draw() % sizeof options : number() % (sizeof options + 1);
    switch (draw() % 6) {
    case 0:
        done(fh_lock_new(client, name.ptr, name.len, number(), &options, &lock, &error), &error);
        break;
    case 1:
        done(fh_semaphore_new(client, name.ptr, name.len, (uint32_t)number(), number(), &options, &lock, &error),
             &error);
        break;
    case 2:
        done(fh_client_holders(client, name.ptr, name.len, &info, &error), &error);
        break;
    case 3:
        done(fh_client_list(client, name.ptr, name.len, "b", draw() % 2, (uint32_t)number(), &info, &error), &error);
        break;
    case 4:
        done(fh_client_force_release(client, FH_S("a"), (uint32_t)number(), number(), name.ptr, name.len, &error),
             &error);
        break;
    default:
        done(fh_client_kv(client, name.ptr, name.len, &info, &error), &error);
        break;
    }
    if (lock != NULL) {
        uint64_t epoch = 0;
        fh_status status;
        done(fh_lock_acquire(lock, 0, NULL, &error), &error);
        error = NULL;
        status = fh_lock_take(lock, 0, NULL, &epoch, &error);
        CHECK(fh_error_kind(error) == status && status != FH_ERR_INTERNAL);
        fh_error_free(error);
        done(fh_lock_release_epoch(lock, number(), &error), &error);
        if (draw() % 4 == 0) CHECK(fh_lock_lose(lock, (int32_t)(draw() % 6), NULL) != FH_ERR_INTERNAL);
        CHECK(fh_lock_keep_alive(lock) != FH_ERR_INTERNAL);
        CHECK(fh_lock_remaining_ms(lock) <= fh_lock_ttl_ms(lock));
    }
    fh_lock_free(lock);
    fh_info_free(info);
}

static void no_argument_breaks_the_library(void) {
    fh_client *client = open_manual("random");
    int turn;
    state = 0x9e3779b97f4a7c15u;
    for (turn = 0; turn < 20000; ++turn) {
        a_call(client);
        if (draw() % 64 == 0) OK(fh_client_advance(client, draw() % 100000, NULL));
    }
    OK(fh_client_advance(client, UINT64_MAX, NULL));
    a_call(client);
    fh_client_free(client);
}

static void no_text_breaks_the_readers(void) {
    uint64_t ms = 0;
    int turn;
    state = 0x2545f4914f6cdd1du;
    for (turn = 0; turn < 50000; ++turn) {
        static const char letters[] = "0123456789smhd.- eforv\xff";
        char text[12];
        const size_t length = draw() % sizeof text;
        size_t at;
        fh_status ttl, wait;
        for (at = 0; at < length; ++at) {
            text[at] = letters[draw() % (sizeof letters - 1)];
        }
        ttl = fh_ttl_parse(text, length, &ms, NULL);
        CHECK(ttl == FH_ERR_INVALID || (ttl == FH_OK && ms >= 100 && ms <= 86400000));
        wait = fh_wait_parse(text, length, &ms, NULL);
        CHECK(wait == FH_ERR_INVALID || (wait == FH_OK && ms != FH_DEFAULT_WAIT));
        CHECK(ttl != FH_OK || wait == FH_OK);
    }
}

void random_tests(void) {
    RUN(no_argument_breaks_the_library);
    RUN(no_text_breaks_the_readers);
}
