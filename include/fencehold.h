/**
 * @file fencehold.h
 * Leases with fencing tokens: locks and semaphores that cross processes, machines and languages.
 *
 * Generated from ffi/src by `FENCEHOLD_BLESS=1 cargo test -p fencehold-ffi --test header`; edit there.
 *
 * Rules of the whole interface:
 * - A status is FH_OK (0), an ordinary answer (positive) or a failure (negative). Only FH_OK means yes.
 * - Every handle may be used from any thread at any time; only its _free must come last, when no other call on it is under
 *   way any more (trigger its cancel or close the client to end a wait first). _free(NULL) does nothing.
 * - Text in is pointer plus length, UTF-8, not NUL-terminated; NULL with length 0 is "not given". Text out is NUL-terminated
 *   UTF-8, borrowed, and good until the handle it came from is freed.
 * - `error` may be NULL; otherwise it is always written: NULL, or an error that the caller frees with fh_error_free().
 * - Other outputs are written on FH_OK only, unless a function says otherwise. What `_new`, `_open`, fh_info and
 *   fh_kv functions give out belongs to the caller and is freed with the type's _free.
 * - Callbacks come with a user_data and a user_data_free (NULL: nothing to free), which runs exactly once on every path,
 *   a failed registration included. A callback has to return: it must not throw, longjmp or end its thread.
 * - No function panics, throws, exits or changes signal handlers. In a forked child, handles made by the parent answer
 *   FH_ERR_FORKED or FH_LOST, and never hang.
 */

#ifndef FENCEHOLD_H
#define FENCEHOLD_H

#include <stddef.h>
#include <stdint.h>
#define FH_VERSION_MAJOR 0
#define FH_VERSION_MINOR 1
#define FH_VERSION_PATCH 0
#define FH_VERSION "0.1.0"
/** The version of this header, to compare with fh_version_number(): major * 1000000 + minor * 1000 + patch. */
#define FH_VERSION_NUMBER 1000u

#if defined(__GNUC__) || defined(__clang__)
#define FH_API __attribute__((__visibility__("default")))
#define FH_MUST_USE __attribute__((__warn_unused_result__))
#else
#define FH_API
#define FH_MUST_USE
#endif

/** Answers: only FH_OK means yes. Values are never reused. */
enum {
    FH_OK = 0,
    FH_HELD = 1,      /**< somebody else holds it */
    FH_TIMED_OUT = 2, /**< the wait was over and somebody else still holds it */
    FH_LOST = 3,      /**< it was ours and is not any more: stop */
    FH_NOT_HELD = 4,  /**< there was nothing to give back or to keep */
    FH_REFUSED = 5    /**< a precondition of a step did not hold */
};

/** Failures. Values are never reused. */
enum {
    FH_ERR_INVALID = -1,      /**< an argument that can never work */
    FH_ERR_UNREACHABLE = -2,  /**< the store could not be asked; nothing was done */
    FH_ERR_UNAUTHORIZED = -3, /**< the store wants credentials */
    FH_ERR_IN_DOUBT = -4,     /**< sent, no answer: it may have been done, see fh_error_until_ms() */
    FH_ERR_FORBIDDEN = -5,    /**< the credentials, or this user's rights, do not allow it */
    FH_ERR_RATE_LIMITED = -6, /**< the store asks for fewer calls */
    FH_ERR_UNSUPPORTED = -7,  /**< this store or this version cannot do it */
    FH_ERR_STORE = -8,        /**< the store is full, damaged, read-only or of a newer format */
    FH_ERR_CANCELLED = -9,    /**< the wait was cancelled; nothing is held, no place is kept */
    FH_ERR_FORKED = -10,      /**< the handle belongs to the parent of this process */
    FH_ERR_INTERNAL = -11,    /**< a fault of this library */
    FH_ERR_NOT_HELD = -12     /**< the call needs a lock that is held */
};

/** fh_lock_options.flags */
enum {
    FH_FAIR = 1,         /**< first come, first served */
    FH_REENTRANT = 2,    /**< further acquires through the handle count instead of being refused */
    FH_BACKGROUND = 4,   /**< a thread renews; without it fh_lock_keep_alive() does */
    FH_CRASH_EXPIRE = 8, /**< after a crash the lease runs to its end, also where the store could notice the death */
    FH_RESUME = 16       /**< take up the hold of this very owner, which another process handed on */
};

/** fh_lock_lost_reason() and the reason of a loss handler; 0 is none. */
enum {
    FH_LOST_RENEW = 1,   /**< the store said so */
    FH_LOST_GUARD = 2,   /**< a guarded step was refused because somebody else holds it */
    FH_LOST_EXPIRED = 3, /**< the lease's own deadline passed */
    FH_LOST_FORKED = 4   /**< this process is a child of the holder */
};

/** fh_error_retry(): whether the same call may be made again. */
enum {
    FH_RETRY_NOW = 1,
    FH_RETRY_LATER = 2,
    FH_RETRY_CHECK_FIRST = 3, /**< only after looking at what was done */
    FH_RETRY_NEVER = 4        /**< not before something else was changed */
};

/** Levels of fh_set_log(). */
enum { FH_LOG_ERROR = 1, FH_LOG_WARN = 2, FH_LOG_INFO = 3, FH_LOG_DEBUG = 4 };

/** As wait_ms: wait without limit. */
#define FH_FOREVER UINT64_MAX
/** As wait_ms: the handle's own wait; one try if it has none. */
#define FH_DEFAULT_WAIT (UINT64_MAX - 1)
/** As the version that a write expects: none in particular. */
#define FH_ANY_VERSION UINT64_MAX
/** A string literal as the two arguments pointer and length. */
#define FH_S(literal) "" literal, sizeof(literal) - 1

/** Initial values: `fh_client_options options = FH_CLIENT_OPTIONS_INIT;` */
#define FH_CLIENT_OPTIONS_INIT                                                                                         \
    { sizeof(fh_client_options), 0, { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 } }
#define FH_LOCK_OPTIONS_INIT { sizeof(fh_lock_options), FH_DEFAULT_WAIT, { 0, 0 }, { 0, 0 }, 0 }
#define FH_HOLDER_INIT { sizeof(fh_holder), 0, 0, 0, 0, 0, 0, 0 }
#define FH_WAITER_INIT { sizeof(fh_waiter), 0, 0, 0, 0 }
#define FH_ROW_INIT { sizeof(fh_row), 0, 0, 0 }


/**
 * Ends waits that were given it. Triggering is final: make a new one for the next wait.
 */
typedef struct fh_cancel fh_cancel;

/**
 * A store, opened. Needed for as long as locks are made from it; they go on without it.
 */
typedef struct fh_client fh_client;

/**
 * What happened, to which lock, on which store, and what to do. Belongs to the caller.
 */
typedef struct fh_error fh_error;

/**
 * An answer about locks: one for fh_client_holders() and a refusal, any number for fh_client_list().
 */
typedef struct fh_info fh_info;

/**
 * The rows of one namespace. Needs no fh_client any more.
 */
typedef struct fh_kv fh_kv;

/**
 * A handle of a lock or a semaphore: one owner, at most one permit.
 */
typedef struct fh_lock fh_lock;

/**
 * Rows that were read, or what became of a write.
 */
typedef struct fh_rows fh_rows;

/**
 * A step that is being put together. Not for several threads at once.
 */
typedef struct fh_txn fh_txn;

/**
 * Negative: failed. Zero: done. Positive: an ordinary answer.
 */
typedef int32_t fh_status;

/**
 * Who holds a permit. What the store does not know is NULL or 0.
 */
typedef struct {
    /**
     * Set by FH_HOLDER_INIT; fields are only appended.
     */
    size_t struct_size;
    /**
     * Which permit; 0 for a lock.
     */
    uint32_t slot;
    /**
     * The permit's current token.
     */
    uint64_t token;
    /**
     * The holder's owner; borrowed from the fh_info.
     */
    const char *owner;
    /**
     * What the holder calls itself, for people; borrowed from the fh_info.
     */
    const char *label;
    /**
     * When it acquired, in milliseconds after 1970 UTC.
     */
    int64_t since_ms;
    /**
     * When it renewed last.
     */
    int64_t renewed_at_ms;
    /**
     * When the lease ends unless it is renewed.
     */
    int64_t expires_at_ms;
} fh_holder;

/**
 * Who waits in line. What the store does not know is NULL or 0.
 */
typedef struct {
    /**
     * Set by FH_WAITER_INIT; fields are only appended.
     */
    size_t struct_size;
    /**
     * 1 is next.
     */
    uint32_t position;
    /**
     * The waiter's owner; borrowed from the fh_info.
     */
    const char *owner;
    /**
     * What it calls itself, for people; borrowed from the fh_info.
     */
    const char *label;
    /**
     * Since when it waits, in milliseconds after 1970 UTC.
     */
    int64_t since_ms;
} fh_waiter;

/**
 * A text in options: pointer and length; { NULL, 0 } is "not given".
 */
typedef struct {
    /**
     * The first byte; need not be NUL-terminated.
     */
    const char *ptr;
    /**
     * How many bytes.
     */
    size_t len;
} fh_str;

/**
 * What a client may be told; all of it optional.
 */
typedef struct {
    /**
     * Set by FH_CLIENT_OPTIONS_INIT; fields are only appended.
     */
    size_t struct_size;
    /**
     * How long one request may take, at most a fourth of the lifetime; 0: 5 s.
     */
    uint64_t request_timeout_ms;
    /**
     * A bearer token.
     */
    fh_str auth_token;
    /**
     * A file with a bearer token, read again when it changes.
     */
    fh_str auth_token_file;
    /**
     * The user to log in as.
     */
    fh_str user;
    /**
     * The user's password.
     */
    fh_str password;
    /**
     * A file with the password.
     */
    fh_str password_file;
    /**
     * A file with the certificates of authorities to trust.
     */
    fh_str ca_file;
    /**
     * A file with this client's certificate.
     */
    fh_str cert_file;
    /**
     * A file with this client's key.
     */
    fh_str key_file;
    /**
     * What holders call themselves, for people; the program's name if not given.
     */
    fh_str label;
} fh_client_options;

/**
 * How a handle behaves; all of it optional.
 */
typedef struct {
    /**
     * Set by FH_LOCK_OPTIONS_INIT; fields are only appended.
     */
    size_t struct_size;
    /**
     * How long an acquire with FH_DEFAULT_WAIT waits; 0: one try; FH_FOREVER; FH_DEFAULT_WAIT: not given, one try.
     */
    uint64_t wait_ms;
    /**
     * Who the handle is to the store, unique per holder; minted if not given.
     */
    fh_str owner;
    /**
     * What the holder calls itself, for people; the client's label if not given.
     */
    fh_str label;
    /**
     * FH_FAIR, FH_REENTRANT, FH_BACKGROUND, FH_CRASH_EXPIRE, FH_RESUME.
     */
    uint32_t flags;
} fh_lock_options;

/**
 * A row.
 */
typedef struct {
    /**
     * Set by FH_ROW_INIT; fields are only appended.
     */
    size_t struct_size;
    /**
     * Its key; borrowed from the fh_rows.
     */
    const char *key;
    /**
     * What it holds, as JSON; borrowed from the fh_rows.
     */
    const char *value_json;
    /**
     * Rises with every write on the whole store; 0: there is no such row.
     */
    uint64_t version;
} fh_row;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Reads a lifetime as people write it, such as "30s" or "1h30m", and checks its range.
 *
 * @param text   The text, of text_len bytes.
 * @param ms     Not NULL. Gets the lifetime in milliseconds.
 * @return FH_OK. FH_ERR_INVALID with the reason locks_bad_ttl: no duration, no unit, or outside 100 ms to 24 h.
 * @since ABI 0
 */
FH_API FH_MUST_USE fh_status fh_ttl_parse(const char *text, size_t text_len, uint64_t *ms, fh_error **error);

/**
 * Reads a wait as people write it: a duration such as "500ms", or "forever".
 *
 * @param text   The text, of text_len bytes.
 * @param ms     Not NULL. Gets the wait in milliseconds; 0 is one try; FH_FOREVER.
 * @return FH_OK. FH_ERR_INVALID with the reason locks_bad_wait.
 * @since ABI 0
 */
FH_API FH_MUST_USE fh_status fh_wait_parse(const char *text, size_t text_len, uint64_t *ms, fh_error **error);

/**
 * The version of the library: major * 1000000 + minor * 1000 + patch. Compare with FH_VERSION_NUMBER.
 *
 * @since ABI 0
 */
FH_API uint32_t fh_version_number(void);

/**
 * Checks at start that the library is not older than the header that the program was built with.
 *
 * @param header_version  FH_VERSION_NUMBER.
 * @return FH_OK. FH_ERR_UNSUPPORTED: the library is older, or of another major version; the message has both numbers.
 * @since ABI 0
 */
FH_API FH_MUST_USE fh_status fh_require_version(uint32_t header_version, fh_error **error);

/**
 * Sends the library's log messages to a function; without this call they go nowhere.
 *
 * What is reported is what nobody asked for: a release that failed at the end of a scope, a loss handler that failed. The
 * function may be called from any thread, while nothing is locked. It must not register another log function. A forked
 * child starts without one.
 *
 * @param fn              NULL: nowhere. Its level is an FH_LOG_ value; message is good during the call only.
 * @param user_data_free  NULL, or called once when the function is replaced and its last call is over.
 * @since ABI 0
 */
FH_API
void fh_set_log(void (*fn)(int32_t level, const char *message, void *user_data),
                void *user_data,
                void (*user_data_free)(void *user_data));

/**
 * What kind of thing went wrong: an FH_ERR_ value, or FH_HELD, FH_TIMED_OUT, FH_LOST. FH_OK for NULL.
 *
 * @since ABI 0
 */
FH_API int32_t fh_error_kind(const fh_error *error);

/**
 * Whether the same call may be made again: an FH_RETRY_ value. 0 for NULL.
 *
 * @since ABI 0
 */
FH_API int32_t fh_error_retry(const fh_error *error);

/**
 * Of FH_ERR_IN_DOUBT: until when the lock may still be held at the latest, in milliseconds after 1970 UTC. Else 0.
 *
 * @since ABI 0
 */
FH_API int64_t fh_error_until_ms(const fh_error *error);

/**
 * Of FH_LOST: by how many milliseconds the work outlived the lease. -1 where that is not known.
 *
 * @since ABI 0
 */
FH_API int64_t fh_error_late_by_ms(const fh_error *error);

/**
 * What happened, for people: to which lock, on which store, and what to do. Never NULL.
 *
 * @return Borrowed until the error is freed.
 * @since ABI 0
 */
FH_API const char *fh_error_message(const fh_error *error);

/**
 * The stable id of the reason, for programs, such as "locks_bad_ttl". Never NULL.
 *
 * @return Borrowed until the error is freed.
 * @since ABI 0
 */
FH_API const char *fh_error_reason(const fh_error *error);

/**
 * The name of the lock it is about; NULL for none.
 *
 * @return Borrowed until the error is freed.
 * @since ABI 0
 */
FH_API const char *fh_error_lock(const fh_error *error);

/**
 * The store it is about, without credentials; NULL for none.
 *
 * @return Borrowed until the error is freed.
 * @since ABI 0
 */
FH_API const char *fh_error_store(const fh_error *error);

/**
 * The error behind this one; NULL for none.
 *
 * @return Borrowed until this error is freed; not to be freed itself.
 * @since ABI 0
 */
FH_API const fh_error *fh_error_cause(const fh_error *error);

/**
 * Of FH_HELD and FH_TIMED_OUT: who holds the lock, and why it was refused.
 *
 * @param info  NULL, or gets the holders as an fh_info of one lock; NULL if the answer is NULL.
 * @return "held", "contended", "timed_out", "held_here" or "owner_in_use"; a text that is never freed. NULL: this error has
 *         no refusal.
 * @since ABI 0
 */
FH_API
const char *fh_error_refusal(const fh_error *error,
                             fh_info **info);

/**
 * Makes an error a second one that is freed by itself.
 *
 * @param copy  Not NULL. Gets the copy.
 * @return FH_OK. FH_ERR_INVALID: a pointer was NULL.
 * @since ABI 0
 */
FH_API FH_MUST_USE fh_status fh_error_clone(const fh_error *error, fh_error **copy);

/**
 * Frees an error; NULL does nothing.
 *
 * @since ABI 0
 */
FH_API void fh_error_free(fh_error *error);

/**
 * How many locks the answer is about. 0 for NULL.
 *
 * @since ABI 0
 */
FH_API size_t fh_info_count(const fh_info *info);

/**
 * The name of a lock of the answer; NULL where there is none.
 *
 * @param lock  0 to fh_info_count() - 1.
 * @return Borrowed until the answer is freed.
 * @since ABI 0
 */
FH_API const char *fh_info_name(const fh_info *info, size_t lock);

/**
 * How many wait in line for a lock of the answer.
 *
 * @since ABI 0
 */
FH_API size_t fh_info_waiting(const fh_info *info, size_t lock);

/**
 * How many hold a permit of a lock of the answer.
 *
 * @since ABI 0
 */
FH_API size_t fh_info_holder_count(const fh_info *info, size_t lock);

/**
 * A holder of a lock of the answer, by rising slot.
 *
 * @param index   0 to fh_info_holder_count() - 1.
 * @param holder  Not NULL, begun with FH_HOLDER_INIT. Its texts are borrowed until the answer is freed.
 * @return FH_OK. FH_ERR_INVALID: there is no such holder, or holder was not begun.
 * @since ABI 0
 */
FH_API FH_MUST_USE fh_status fh_info_holder(const fh_info *info, size_t lock, size_t index, fh_holder *holder);

/**
 * One who waits for a lock of the answer, first come first. A refusal tells their number only.
 *
 * @param index   0 to fh_info_waiting() - 1.
 * @param waiter  Not NULL, begun with FH_WAITER_INIT. Its texts are borrowed until the answer is freed.
 * @return FH_OK. FH_ERR_INVALID: there is no such waiter, or waiter was not begun.
 * @since ABI 0
 */
FH_API FH_MUST_USE fh_status fh_info_waiter(const fh_info *info, size_t lock, size_t index, fh_waiter *waiter);

/**
 * The answer as JSON: camelCase, times as RFC 3339 UTC, tokens as strings. Never NULL.
 *
 * Of fh_client_list() an object with "store", "at" and "locks"; of fh_client_holders() one lock; of a refusal an object with
 * "reason", "waiting" and "holders". Members may be added.
 *
 * @return Borrowed until the answer is freed.
 * @since ABI 0
 */
FH_API
const char *fh_info_json(const fh_info *info);

/**
 * Frees an answer; NULL does nothing.
 *
 * @since ABI 0
 */
FH_API void fh_info_free(fh_info *info);

/**
 * Opens a client: reads the URL and the options, and does no I/O.
 *
 * @param url      "memory:", "file:/var/lib/fencehold" and so on. NULL or length 0: FENCEHOLD_URL, else the one line of
 *                 /etc/fencehold/url, else FH_ERR_INVALID with the reason locks_no_store.
 * @param options  NULL, or begun with FH_CLIENT_OPTIONS_INIT; copied.
 * @param client   Not NULL. Gets the client; free it with fh_client_free().
 * @return FH_OK. FH_ERR_INVALID: locks_bad_url, locks_no_store, locks_bad_label. FH_ERR_UNSUPPORTED: no such store here.
 * @since ABI 0
 */
FH_API
FH_MUST_USE
fh_status fh_client_open(const char *url,
                         size_t url_len,
                         const fh_client_options *options,
                         fh_client **client,
                         fh_error **error);

/**
 * Cancels the waits of the client's locks, gives back all their holds (3 s in all) and ends the client: later calls through
 * it and its locks answer FH_ERR_INVALID with the reason client_closed.
 *
 * @return FH_OK, also when it was closed before. FH_ERR_IN_DOUBT: the message names the locks that could not be given back.
 * @since ABI 0
 */
FH_API
fh_status fh_client_close(const fh_client *client,
                          fh_error **error);

/**
 * Frees a client; NULL does nothing. Locks made from it go on; close it first to give them back.
 *
 * @since ABI 0
 */
FH_API void fh_client_free(fh_client *client);

/**
 * Asks the store whether it is there.
 *
 * @return FH_OK. FH_ERR_UNREACHABLE, FH_ERR_UNAUTHORIZED, FH_ERR_STORE and so on: why not.
 * @since ABI 0
 */
FH_API FH_MUST_USE fh_status fh_client_ping(const fh_client *client, fh_error **error);

/**
 * The store's URL without credentials. Never NULL.
 *
 * @return Borrowed until the client is freed.
 * @since ABI 0
 */
FH_API const char *fh_client_store(const fh_client *client);

/**
 * Asks who holds a lock and who waits for it.
 *
 * @param name  1 to 256 bytes of UTF-8 without control characters or '#'.
 * @param info  Not NULL. Gets an answer of one lock; free it with fh_info_free().
 * @return FH_OK, also when nobody holds it. FH_ERR_INVALID: locks_bad_name. FH_ERR_UNREACHABLE and so on.
 * @since ABI 0
 */
FH_API
FH_MUST_USE
fh_status fh_client_holders(const fh_client *client,
                            const char *name,
                            size_t name_len,
                            fh_info **info,
                            fh_error **error);

/**
 * Lists locks that are held or waited for, by name, byte for byte.
 *
 * @param prefix  Only names that start with it; length 0: all.
 * @param after   Only names that come after it, to go on from the last one of the answer before; length 0: from the first.
 * @param limit   At most so many; 0: 1000.
 * @param info    Not NULL. Gets the answer; free it with fh_info_free().
 * @return FH_OK. FH_ERR_INVALID. FH_ERR_UNREACHABLE and so on.
 * @since ABI 0
 */
FH_API
FH_MUST_USE
fh_status fh_client_list(const fh_client *client,
                         const char *prefix,
                         size_t prefix_len,
                         const char *after,
                         size_t after_len,
                         uint32_t limit,
                         fh_info **info,
                         fh_error **error);

/**
 * Ends somebody's hold by hand. Its holder finds out at its next renewal.
 *
 * @param slot   Which permit; 0 for a lock.
 * @param token  The token that the hold has now; 0: go by owner.
 * @param owner  Used if token is 0: the holder's owner.
 * @return FH_OK: ended. FH_NOT_HELD: it was not theirs any more and nothing changed. FH_ERR_INVALID: neither token nor owner,
 *         or both. FH_ERR_UNREACHABLE and so on.
 * @since ABI 0
 */
FH_API
FH_MUST_USE
fh_status fh_client_force_release(const fh_client *client,
                                  const char *name,
                                  size_t name_len,
                                  uint32_t slot,
                                  uint64_t token,
                                  const char *owner,
                                  size_t owner_len,
                                  fh_error **error);

/**
 * Moves the clock of a store "memory:?clock=manual" forward, to rehearse expiry.
 *
 * @return FH_OK. FH_ERR_UNSUPPORTED: the store has no manual clock.
 * @since ABI 0
 */
FH_API FH_MUST_USE fh_status fh_client_advance(const fh_client *client, uint64_t ms, fh_error **error);

/**
 * Makes a cancel object that nobody has triggered.
 *
 * @param cancel  Not NULL. Gets the object.
 * @return FH_OK. FH_ERR_INVALID: cancel is NULL.
 * @since ABI 0
 */
FH_API FH_MUST_USE fh_status fh_cancel_new(fh_cancel **cancel);

/**
 * Makes a cancel object that also asks a function, on the waiting thread, whether the wait should end.
 *
 * For languages whose signals or timeouts are only seen by asking their interpreter. The function is called about every
 * interval_ms while a wait lasts, with nothing locked; it must not acquire through the handle that waits.
 *
 * @param fn              Not NULL. Answers 0 to go on, anything else to end the wait.
 * @param user_data_free  NULL, or called once: when the object is freed and no wait uses it any more.
 * @param cancel          Not NULL. Gets the object.
 * @return FH_OK. FH_ERR_INVALID: a pointer was NULL or interval_ms was 0.
 * @since ABI 0
 */
FH_API
FH_MUST_USE
fh_status fh_cancel_new_polling(uint64_t interval_ms,
                                int32_t (*fn)(void *user_data),
                                void *user_data,
                                void (*user_data_free)(void *user_data),
                                fh_cancel **cancel);

/**
 * Ends every wait that was given this object, now and later. Async-signal-safe. NULL does nothing.
 *
 * @since ABI 0
 */
FH_API void fh_cancel_trigger(const fh_cancel *cancel);

/**
 * Frees a cancel object; NULL does nothing. A wait that has begun with it goes on without it.
 *
 * @since ABI 0
 */
FH_API void fh_cancel_free(fh_cancel *cancel);

/**
 * Makes a handle of a lock. Nothing is sent.
 *
 * Without FH_BACKGROUND the lease is renewed by fh_lock_keep_alive(), which the work calls often enough.
 *
 * @param name     1 to 256 bytes of UTF-8 without control characters or '#'. Copied.
 * @param ttl_ms   How long the lease outlives its last renewal: 100 ms to 24 h. fh_lock_ttl_ms() tells what the store grants.
 * @param options  NULL, or begun with FH_LOCK_OPTIONS_INIT; copied.
 * @param lock     Not NULL. Gets the handle; free it with fh_lock_free().
 * @return FH_OK. FH_ERR_INVALID: locks_bad_name, locks_bad_ttl, locks_bad_owner, locks_bad_label, client_closed.
 * @since ABI 0
 */
FH_API
FH_MUST_USE
fh_status fh_lock_new(const fh_client *client,
                      const char *name,
                      size_t name_len,
                      uint64_t ttl_ms,
                      const fh_lock_options *options,
                      fh_lock **lock,
                      fh_error **error);

/**
 * Makes a handle of a semaphore: of one of `permits` permits of the name. Nothing is sent.
 *
 * @param permits  How many may hold at once, from 1; everybody must say the same number.
 * @return As fh_lock_new().
 * @since ABI 0
 */
FH_API
FH_MUST_USE
fh_status fh_semaphore_new(const fh_client *client,
                           const char *name,
                           size_t name_len,
                           uint32_t permits,
                           uint64_t ttl_ms,
                           const fh_lock_options *options,
                           fh_lock **lock,
                           fh_error **error);

/**
 * Takes the permit that the handle stands for. Blocks for at most the wait.
 *
 * A handle that already holds it answers FH_HELD (fh_lock_refusal(): "held_here"), unless it is reentrant.
 *
 * @param wait_ms  Milliseconds to wait for our turn; 0: one try; FH_FOREVER; FH_DEFAULT_WAIT: the handle's own.
 * @param cancel   NULL, or ends the wait when triggered: nothing is held and no place kept.
 * @return FH_OK: held. FH_HELD: somebody else holds it (see fh_lock_refusal). FH_TIMED_OUT: the wait was over.
 *         FH_ERR_CANCELLED. FH_ERR_UNREACHABLE: nothing was done, safe to retry. FH_ERR_IN_DOUBT: it may be held until
 *         fh_error_until_ms(); acquire again through this handle. FH_ERR_INVALID: client_closed. FH_ERR_FORKED.
 * @since ABI 0
 */
FH_API
FH_MUST_USE
fh_status fh_lock_acquire(const fh_lock *lock,
                          uint64_t wait_ms,
                          const fh_cancel *cancel,
                          fh_error **error);

/**
 * Takes the permit, for scope forms: what is an answer of fh_lock_acquire() comes with an error here.
 *
 * @param wait_ms  As fh_lock_acquire().
 * @param cancel   As fh_lock_acquire().
 * @param epoch    NULL, or gets the number of the hold, for fh_lock_leave(), on FH_OK.
 * @param error    NULL, or set on anything but FH_OK; fh_error_refusal() tells who holds it.
 * @return As fh_lock_acquire().
 * @since ABI 0
 */
FH_API
FH_MUST_USE
fh_status fh_lock_take(const fh_lock *lock,
                       uint64_t wait_ms,
                       const fh_cancel *cancel,
                       uint64_t *epoch,
                       fh_error **error);

/**
 * Lets the others go first: gives the permit back, if held, and acquires it again behind those who wait.
 *
 * @return As fh_lock_acquire(). On anything but FH_OK the permit is not held any more.
 * @since ABI 0
 */
FH_API
FH_MUST_USE
fh_status fh_lock_step_aside(const fh_lock *lock,
                             uint64_t wait_ms,
                             const fh_cancel *cancel,
                             fh_error **error);

/**
 * Says whether the lease is still ours, and renews it when a third of its lifetime has passed.
 *
 * Call it often: not due, it costs nanoseconds and does no I/O. Due, it renews once, which takes at most a fifth of the
 * lifetime. With FH_BACKGROUND it never does I/O.
 *
 * @return FH_OK: go on. FH_LOST: stop now; fh_lock_lost_reason() and fh_lock_last_error() tell why. FH_NOT_HELD: it holds
 *         nothing. Anything else, too, is no yes.
 * @since ABI 0
 */
FH_API
FH_MUST_USE
fh_status fh_lock_keep_alive(const fh_lock *lock);

/**
 * Gives the permit back, within 2 s. Renewal has stopped and the handle is not held in any case.
 *
 * @return FH_OK: given back. FH_NOT_HELD: there was nothing. FH_LOST: the lease had been lost before.
 *         FH_ERR_UNREACHABLE, FH_ERR_IN_DOUBT: it may stay held until fh_error_until_ms() and then ends by itself; the call
 *         may be repeated.
 * @since ABI 0
 */
FH_API
fh_status fh_lock_release(const fh_lock *lock,
                          fh_error **error);

/**
 * The number of the handle's current or last hold; 0: none yet. It rises with each hold.
 *
 * @since ABI 0
 */
FH_API uint64_t fh_lock_epoch(const fh_lock *lock);

/**
 * Gives the permit back if the handle's current hold is still the one with this number.
 *
 * @param epoch  What fh_lock_epoch() answered right after the acquire.
 * @return As fh_lock_release(); FH_NOT_HELD also when a later hold has begun.
 * @since ABI 0
 */
FH_API fh_status fh_lock_release_epoch(const fh_lock *lock, uint64_t epoch, fh_error **error);

/**
 * The end of a scope form: gives back the hold with this number, and says whether it lasted until here.
 *
 * @param epoch  What fh_lock_take() gave or fh_lock_epoch() answered right after the acquire.
 * @param error  NULL, or set on anything but FH_OK.
 * @return FH_OK: it was held all the time, or somebody released it on purpose. FH_LOST: the lease ended before the work did;
 *         fh_error_late_by_ms(). FH_ERR_UNREACHABLE, FH_ERR_IN_DOUBT: of the release; the work is done.
 * @since ABI 0
 */
FH_API
fh_status fh_lock_leave(const fh_lock *lock,
                        uint64_t epoch,
                        fh_error **error);

/**
 * Frees a handle; NULL does nothing. A hold is given back first, within 2 s; a failure goes to the log only.
 *
 * Allowed inside a loss handler of the same handle. Loss handlers that run meanwhile on another thread finish; none starts
 * afterwards.
 *
 * @since ABI 0
 */
FH_API
void fh_lock_free(fh_lock *lock);

/**
 * Adds a loss handler: called once for each hold that is lost, also if the loss was before this call.
 *
 * It runs after the state changed, while nothing is locked: with FH_BACKGROUND on the library's thread `fencehold`, else
 * inside the call that found out. All functions may be called inside. It stays for the next holds.
 *
 * @param fn              Not NULL. Its reason is an FH_LOST_ value.
 * @param user_data_free  NULL, or called once: when the handle is freed and the handler does not run any more, or at once if
 *                        this call fails.
 * @return FH_OK. FH_ERR_INVALID: a pointer was NULL.
 * @since ABI 0
 */
FH_API
FH_MUST_USE
fh_status fh_lock_on_lost(const fh_lock *lock,
                          void (*fn)(const fh_lock *lock, int32_t reason, void *user_data),
                          void *user_data,
                          void (*user_data_free)(void *user_data),
                          fh_error **error);

/**
 * Ends the handle's hold as a loss, to rehearse it. On memory: stores only.
 *
 * @param reason  An FH_LOST_ value.
 * @return FH_OK. FH_ERR_UNSUPPORTED: not a memory: store. FH_ERR_INVALID: no such reason. FH_ERR_NOT_HELD.
 * @since ABI 0
 */
FH_API FH_MUST_USE fh_status fh_lock_lose(const fh_lock *lock, int32_t reason, fh_error **error);

/**
 * 1 while the permit is held and its deadline lies ahead, else 0. No I/O.
 *
 * @since ABI 0
 */
FH_API int32_t fh_lock_held(const fh_lock *lock);

/**
 * 1 from the first renewal that could not be asked until one succeeds or the lease is lost, else 0.
 *
 * @since ABI 0
 */
FH_API int32_t fh_lock_at_risk(const fh_lock *lock);

/**
 * Why the last hold was lost: an FH_LOST_ value; 0: it was not.
 *
 * @since ABI 0
 */
FH_API int32_t fh_lock_lost_reason(const fh_lock *lock);

/**
 * The token of the last answer: it rises with each renewal. What guards send. 0 while there is none: never send that.
 *
 * @since ABI 0
 */
FH_API uint64_t fh_lock_token(const fh_lock *lock);

/**
 * The first token of this hold: the same for the whole hold, above every token of earlier holders. What rows, headers and
 * children get. Readable while held or lost; else 0: never send that.
 *
 * @since ABI 0
 */
FH_API
uint64_t fh_lock_fence(const fh_lock *lock);

/**
 * Which permit is held; 0 for a lock, and while there is none.
 *
 * @since ABI 0
 */
FH_API uint32_t fh_lock_slot(const fh_lock *lock);

/**
 * The place in line of an acquire that waits, 1 is next; 0: not in line.
 *
 * @since ABI 0
 */
FH_API uint32_t fh_lock_position(const fh_lock *lock);

/**
 * The lifetime that the store grants: what was asked, rounded up to the store's step.
 *
 * @since ABI 0
 */
FH_API uint64_t fh_lock_ttl_ms(const fh_lock *lock);

/**
 * How long the lease lasts unless it is renewed; 0 when not held.
 *
 * @since ABI 0
 */
FH_API uint64_t fh_lock_remaining_ms(const fh_lock *lock);

/**
 * The handle's own wait as it was given in its options; FH_DEFAULT_WAIT: it was not.
 *
 * @since ABI 0
 */
FH_API uint64_t fh_lock_wait_ms(const fh_lock *lock);

/**
 * The lock's name. Never NULL.
 *
 * @return Borrowed until the handle is freed.
 * @since ABI 0
 */
FH_API const char *fh_lock_name(const fh_lock *lock);

/**
 * Who the handle is to the store. Never NULL.
 *
 * @return Borrowed until the handle is freed.
 * @since ABI 0
 */
FH_API const char *fh_lock_owner(const fh_lock *lock);

/**
 * Why the last acquire was refused, and who holds the lock.
 *
 * @param holders  NULL, or gets an answer of one lock, to be freed with fh_info_free(); NULL if the answer is NULL.
 * @return "held", "contended", "timed_out", "held_here" or "owner_in_use", a text that is never freed. NULL: it was not.
 * @since ABI 0
 */
FH_API
const char *fh_lock_refusal(const fh_lock *lock,
                            fh_info **holders);

/**
 * Why the handle is at risk, was lost, or could not be given back; NULL: nothing happened.
 *
 * @return Belongs to the caller: free it with fh_error_free().
 * @since ABI 0
 */
FH_API FH_MUST_USE fh_error *fh_lock_last_error(const fh_lock *lock);

/**
 * Begins a step. Nothing is sent before fh_txn_commit().
 *
 * @param txn  Not NULL. Gets the step; free it with fh_txn_free().
 * @return FH_OK. FH_ERR_INVALID: a pointer was NULL, or client_closed.
 * @since ABI 0
 */
FH_API FH_MUST_USE fh_status fh_txn_new(const fh_client *client, fh_txn **txn, fh_error **error);

/**
 * Makes the step depend on a lock: it is committed only if the lock is still ours then.
 *
 * @param lock  A held lock of the same client.
 * @return FH_OK. FH_ERR_NOT_HELD: it is not held, and nothing was sent. FH_ERR_INVALID: it is another client's.
 * @since ABI 0
 */
FH_API FH_MUST_USE fh_status fh_txn_guard(fh_txn *txn, const fh_lock *lock, fh_error **error);

/**
 * Adds items to be pushed to a queue.
 *
 * @param items_json  A JSON array of {"data", "partition", "transactionId", "traceId"}; only data is required.
 * @return FH_OK. FH_ERR_INVALID.
 * @since ABI 0
 */
FH_API
FH_MUST_USE
fh_status fh_txn_push(fh_txn *txn,
                      const char *queue,
                      size_t queue_len,
                      const char *items_json,
                      size_t items_len,
                      fh_error **error);

/**
 * Adds acknowledgements of queue items, as a JSON array of the wire's objects.
 *
 * @return FH_OK. FH_ERR_INVALID.
 * @since ABI 0
 */
FH_API FH_MUST_USE fh_status fh_txn_ack(fh_txn *txn, const char *json, size_t len, fh_error **error);

/**
 * Adds changes of key-value rows, as a JSON array of the wire's objects.
 *
 * @return FH_OK. FH_ERR_INVALID.
 * @since ABI 0
 */
FH_API FH_MUST_USE fh_status fh_txn_kv(fh_txn *txn, const char *json, size_t len, fh_error **error);

/**
 * Adds timers, as a JSON array of the wire's objects.
 *
 * @return FH_OK. FH_ERR_INVALID.
 * @since ABI 0
 */
FH_API FH_MUST_USE fh_status fh_txn_timers(fh_txn *txn, const char *json, size_t len, fh_error **error);

/**
 * Commits the step: all of it, if every guard holds, or nothing.
 *
 * A renewal in flight is waited for, and when a handle's own renewal had moved the token the step is sent again, at most
 * three times. A guard that somebody else has loses its handle, for the reason "guard".
 *
 * @param result_json  NULL, or gets {"success", "reason", "results"}, borrowed until the next call on the step; NULL on a failure.
 * @return FH_OK. FH_LOST: a guard did not hold, and *error tells who has the lock. FH_REFUSED: the store did nothing of it;
 *         "reason" tells why. FH_ERR_NOT_HELD: a guard is not held, and nothing was sent. FH_ERR_UNSUPPORTED. FH_ERR_IN_DOUBT:
 *         sent, no answer; it is never sent again by itself.
 * @since ABI 0
 */
FH_API
FH_MUST_USE
fh_status fh_txn_commit(fh_txn *txn,
                        const char **result_json,
                        fh_error **error);

/**
 * Does operations on rows of users, in one atomic call.
 *
 * @param operations_json  A JSON array of the wire's objects: get, getMany, getPrefix, put, putIfAbsent, delete, incr, check.
 * @param info             Not NULL. Gets the answer: fh_info_json() is {"results": […]}, one element for each operation, or, when
 *                         an operation with "required" lost, {"ok": false, "reason": "kv_precondition", …}. Free it with
 *                         fh_info_free().
 * @return FH_OK. FH_REFUSED: a required operation lost, and nothing was written. FH_ERR_INVALID. FH_ERR_UNSUPPORTED: this store
 *         keeps locks only. FH_ERR_UNREACHABLE. FH_ERR_IN_DOUBT: a write was sent, no answer; it is never sent again by itself.
 * @since ABI 0
 */
FH_API
FH_MUST_USE
fh_status fh_client_kv(const fh_client *client,
                       const char *operations_json,
                       size_t operations_len,
                       fh_info **info,
                       fh_error **error);

/**
 * Frees a step; NULL does nothing. One that was not committed did nothing.
 *
 * @since ABI 0
 */
FH_API void fh_txn_free(fh_txn *txn);

/**
 * Gives out the rows of a namespace. Nothing is sent.
 *
 * @param ns  1 to 64 of a-z, 0-9, '.', '_' and '-'; checked when something is asked. Copied.
 * @param kv  Not NULL. Gets the rows; free them with fh_kv_free().
 * @return FH_OK. FH_ERR_INVALID.
 * @since ABI 0
 */
FH_API
FH_MUST_USE
fh_status fh_kv_new(const fh_client *client,
                    const char *ns,
                    size_t ns_len,
                    fh_kv **kv,
                    fh_error **error);

/**
 * Reads the row at a key.
 *
 * @param key   1 to 512 bytes of UTF-8 without NUL.
 * @param rows  Not NULL. Gets one row, or none if there is none; free it with fh_rows_free().
 * @return FH_OK, also without a row. FH_ERR_INVALID with a reason kv_…, or client_closed. FH_ERR_UNSUPPORTED: this store keeps
 *         locks only. FH_ERR_UNREACHABLE.
 * @since ABI 0
 */
FH_API
FH_MUST_USE
fh_status fh_kv_get(const fh_kv *kv,
                    const char *key,
                    size_t key_len,
                    fh_rows **rows,
                    fh_error **error);

/**
 * Reads the rows at several keys, at most 1024, in one call.
 *
 * @param keys   count texts; NULL if count is 0.
 * @param rows   Not NULL. Gets those that are there, by key.
 * @return As fh_kv_get().
 * @since ABI 0
 */
FH_API
FH_MUST_USE
fh_status fh_kv_get_many(const fh_kv *kv,
                         const fh_str *keys,
                         size_t count,
                         fh_rows **rows,
                         fh_error **error);

/**
 * Reads a page of the rows whose keys begin with a prefix, by key.
 *
 * @param prefix  Not empty.
 * @param limit   At most so many rows: 1 to 1000.
 * @param after   Only keys after this one: fh_rows_next() of the page before; NULL with length 0 begins at the first.
 * @param rows    Not NULL. Gets the page.
 * @return As fh_kv_get().
 * @since ABI 0
 */
FH_API
FH_MUST_USE
fh_status fh_kv_get_prefix(const fh_kv *kv,
                           const char *prefix,
                           size_t prefix_len,
                           uint32_t limit,
                           const char *after,
                           size_t after_len,
                           fh_rows **rows,
                           fh_error **error);

/**
 * Writes a row.
 *
 * @param value_json  What it shall hold, as JSON; at most 64 KiB.
 * @param ttl_ms      How long it lasts, rounded up to whole seconds; FH_FOREVER.
 * @param expect      The version that the row must have, 0: it must not be there; FH_ANY_VERSION: whatever is there.
 * @param rows        Not NULL. Written on FH_OK and on FH_REFUSED; free it with fh_rows_free(). Gets one row: on FH_OK as it is
 *                    now; on FH_REFUSED the one in the way, with version 0 if there is none.
 * @return FH_OK. FH_REFUSED: it was not as expected, nothing was changed, and fh_rows_reason() tells why. FH_ERR_INVALID.
 *         FH_ERR_UNSUPPORTED. FH_ERR_UNREACHABLE: nothing was done. FH_ERR_IN_DOUBT: sent, no answer; it is never sent again by
 *         itself.
 * @since ABI 0
 */
FH_API
FH_MUST_USE
fh_status fh_kv_put(const fh_kv *kv,
                    const char *key,
                    size_t key_len,
                    const char *value_json,
                    size_t value_len,
                    uint64_t ttl_ms,
                    uint64_t expect,
                    fh_rows **rows,
                    fh_error **error);

/**
 * Writes a row if there is none.
 *
 * @return As fh_kv_put(); FH_REFUSED with the reason "exists".
 * @since ABI 0
 */
FH_API
FH_MUST_USE
fh_status fh_kv_put_if_absent(const fh_kv *kv,
                              const char *key,
                              size_t key_len,
                              const char *value_json,
                              size_t value_len,
                              uint64_t ttl_ms,
                              fh_rows **rows,
                              fh_error **error);

/**
 * Removes a row.
 *
 * @param expect  The version that it must have; FH_ANY_VERSION.
 * @return As fh_kv_put(), with the row as it was; FH_REFUSED with the reason "absent" also if there was none to remove.
 * @since ABI 0
 */
FH_API
FH_MUST_USE
fh_status fh_kv_delete(const fh_kv *kv,
                       const char *key,
                       size_t key_len,
                       uint64_t expect,
                       fh_rows **rows,
                       fh_error **error);

/**
 * Adds to the number in a row, which is made if there is none.
 *
 * @param ttl_ms  How long a row lasts that is made here; one that is there keeps its own.
 * @return As fh_kv_put(); FH_REFUSED with the reason "type" (it holds no number) or "limit" (no number can hold the sum).
 * @since ABI 0
 */
FH_API
FH_MUST_USE
fh_status fh_kv_incr(const fh_kv *kv,
                     const char *key,
                     size_t key_len,
                     int64_t delta,
                     uint64_t ttl_ms,
                     fh_rows **rows,
                     fh_error **error);

/**
 * Compares the version of a row and changes nothing.
 *
 * @param expect  The version; 0: it is not there.
 * @return As fh_kv_put(); on FH_OK the value is null.
 * @since ABI 0
 */
FH_API
FH_MUST_USE
fh_status fh_kv_check(const fh_kv *kv,
                      const char *key,
                      size_t key_len,
                      uint64_t expect,
                      fh_rows **rows,
                      fh_error **error);

/**
 * Frees the rows of a namespace; NULL does nothing. The store's rows stay.
 *
 * @since ABI 0
 */
FH_API void fh_kv_free(fh_kv *kv);

/**
 * How many rows the answer has. 0 for NULL.
 *
 * @since ABI 0
 */
FH_API size_t fh_rows_count(const fh_rows *rows);

/**
 * A row of the answer, by rising key.
 *
 * @param index  0 to fh_rows_count() - 1.
 * @param row    Not NULL, begun with FH_ROW_INIT. Its texts are borrowed until the answer is freed.
 * @return FH_OK. FH_ERR_INVALID: there is no such row, or row was not begun.
 * @since ABI 0
 */
FH_API FH_MUST_USE fh_status fh_rows_row(const fh_rows *rows, size_t index, fh_row *row);

/**
 * The key after which the next page of fh_kv_get_prefix() begins; NULL: this was the last.
 *
 * @return Borrowed until the answer is freed.
 * @since ABI 0
 */
FH_API const char *fh_rows_next(const fh_rows *rows);

/**
 * Why a write changed nothing: "exists", "absent", "version", "limit" or "type"; NULL: it was done.
 *
 * @return Borrowed until the answer is freed.
 * @since ABI 0
 */
FH_API const char *fh_rows_reason(const fh_rows *rows);

/**
 * Frees an answer; NULL does nothing.
 *
 * @since ABI 0
 */
FH_API void fh_rows_free(fh_rows *rows);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FENCEHOLD_H */
