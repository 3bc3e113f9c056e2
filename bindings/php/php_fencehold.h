/* The extension's own header. One .c file per noun; arguments, errors and values have one each, too. */
#ifndef PHP_FENCEHOLD_H
#define PHP_FENCEHOLD_H

#include <php.h>
#include <fencehold.h>
#include <zend_smart_str_public.h>

#define PHP_FENCEHOLD_VERSION FH_VERSION

extern zend_module_entry fencehold_module_entry;
#define phpext_fencehold_ptr &fencehold_module_entry

typedef struct fencehold_lock fencehold_lock;

ZEND_BEGIN_MODULE_GLOBALS(fencehold)
char *url;             /* ini fencehold.url */
uint64_t max_wait;     /* ini fencehold.max_wait in milliseconds; FH_FOREVER: none */
HashTable pool;        /* clients that no object uses: what they were opened with => fencehold_idle */
fencehold_lock *locks; /* every handle of this request */
bool bailout;          /* PHP wants to end the request, and the wait that noticed it is on its way out */
ZEND_END_MODULE_GLOBALS(fencehold)

ZEND_EXTERN_MODULE_GLOBALS(fencehold)
#define FENCEHOLD_G(v) ZEND_MODULE_GLOBALS_ACCESSOR(fencehold, v)
#if defined(ZTS) && defined(COMPILE_DL_FENCEHOLD)
ZEND_TSRMLS_CACHE_EXTERN()
#endif

/* Clients. */
typedef struct {
    fh_client *client; /* NULL until the constructor is through */
    zend_string *key;  /* its place in the pool; NULL: it does not go there */
    bool labelled;     /* holders made from it have a label of the caller's */
    zend_object std;
} fencehold_client;

#define FENCEHOLD_OBJECT(type, object) ((type *)((char *)(object)-XtOffsetOf(type, std)))

extern zend_class_entry *fencehold_client_ce;
void fencehold_client_startup(zend_class_entry *ce);
void fencehold_pool_free(zval *idle);

/* Locks. */
struct fencehold_lock {
    fh_lock *lock;                /* NULL once the request is over */
    uint64_t wait;                /* the handle's own */
    zend_object *client;          /* what it was made from; kept alive by it */
    fencehold_lock *next, **link; /* in FENCEHOLD_G(locks) */
    bool waits;                   /* a wait is in progress: its signal handlers run inside it */
    zend_object std;
};

extern zend_class_entry *fencehold_lock_ce;
void fencehold_lock_startup(zend_class_entry *ce);
fencehold_lock *fencehold_lock_init(zval *object, zend_object *client, fh_lock *lock, uint64_t wait);
/* Takes it within the handle's own wait. False: an exception is pending, and nothing is held. */
bool fencehold_lock_take(fencehold_lock *self);
/* Gives everything of this request back. */
void fencehold_lock_end_all(void);

/* Steps. */
void fencehold_transaction_startup(zend_class_entry *of_transaction, zend_class_entry *of_queue);
void fencehold_transaction_init(zval *object, zend_object *client, fh_txn *txn);

/* An argument as JSON; false: an exception is pending. */
bool fencehold_to_json(zval *value, uint32_t argument, smart_str *json);

/* Rows. */
void fencehold_kv_startup(zend_class_entry *kv, zend_class_entry *row, zend_class_entry *page,
                          zend_class_entry *written);
void fencehold_kv_init(zval *object, zend_object *client, fh_kv *kv);

/* Durations: of arguments. */
typedef enum { FENCEHOLD_TTL, FENCEHOLD_WAIT, FENCEHOLD_TIME, FENCEHOLD_EXPIRY } fencehold_duration;
bool fencehold_duration_arg(zval *value, uint32_t argument, fencehold_duration what, uint64_t *ms);

/* Values. */
void fencehold_values_startup(zend_class_entry *holder, zend_class_entry *waiter, zend_class_entry *info,
                              zend_class_entry *refusal, zend_class_entry *run, zend_class_entry *commit);
void fencehold_time(zval *object, int64_t unix_ms); /* 0: null */
void fencehold_holders(zval *array, const fh_info *info, size_t lock);
void fencehold_info(zval *object, const fh_info *info, size_t lock);
void fencehold_refusal(zval *object, const char *reason, fh_info *info);            /* frees info; reason NULL: null */
void fencehold_run_result(zval *object, bool acquired, zval *value, zval *refusal); /* takes both over */
/* Takes everything over; lost is why a guard did not hold, or NULL. */
void fencehold_commit_result(zval *object, bool success, zval *reason, zval *results, fh_error *lost);
/* Sets a readonly property of a new object; takes the value over. */
void fencehold_set(zend_object *object, const char *name, zval *value);
zend_object *fencehold_value_create(zend_class_entry *ce);
/* An object that cannot be cloned and is only equal to itself. */
extern zend_object_handlers fencehold_value_handlers;

/* Errors. */
#define FENCEHOLD_KINDS 15
void fencehold_errors_startup(zend_class_entry *const classes[FENCEHOLD_KINDS]);
/* An exception object that is not thrown yet; frees error. */
void fencehold_error_object(zval *object, fh_status status, fh_error *error);
void fencehold_raise(fh_status status, fh_error *error);
void fencehold_raise_as(fh_status kind, const char *reason, const char *lock, const char *store, const char *format,
                        ...) ZEND_ATTRIBUTE_FORMAT(printf, 5, 6);
#define fencehold_raise_invalid(reason, ...) fencehold_raise_as(FH_ERR_INVALID, reason, NULL, NULL, __VA_ARGS__)

#endif
