/* From errors of the C library to exceptions. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "php_fencehold.h"

#include <zend_exceptions.h>

typedef struct {
    fh_status code;
    const char *id;
    const char *retry;
    zend_class_entry *ce;
} error_kind;

/* In the order of fencehold_errors_startup. */
static error_kind kinds[FENCEHOLD_KINDS] = {
    {FH_HELD, "held", "later", NULL},
    {FH_TIMED_OUT, "timed_out", "later", NULL},
    {FH_LOST, "lost", "check_first", NULL},
    {FH_ERR_NOT_HELD, "not_held", "now", NULL},
    {FH_ERR_CANCELLED, "cancelled", "now", NULL},
    {FH_ERR_UNREACHABLE, "unreachable", "later", NULL},
    {FH_ERR_IN_DOUBT, "in_doubt", "check_first", NULL},
    {FH_ERR_INVALID, "invalid", "never", NULL},
    {FH_ERR_UNAUTHORIZED, "unauthorized", "never", NULL},
    {FH_ERR_FORBIDDEN, "forbidden", "never", NULL},
    {FH_ERR_RATE_LIMITED, "rate_limited", "later", NULL},
    {FH_ERR_UNSUPPORTED, "unsupported", "never", NULL},
    {FH_ERR_STORE, "store", "never", NULL},
    {FH_ERR_FORKED, "forked", "never", NULL},
    {FH_ERR_INTERNAL, "internal", "never", NULL}, /* last: also what only a newer library knows */
};

void fencehold_errors_startup(zend_class_entry *const classes[FENCEHOLD_KINDS]) {
    for (size_t index = 0; index < FENCEHOLD_KINDS; ++index) kinds[index].ce = classes[index];
}

static const error_kind *kind_of(fh_status code) {
    size_t index = 0;
    while (index < FENCEHOLD_KINDS - 1 && kinds[index].code != code) ++index;
    return &kinds[index];
}

static const char *retry_word(const fh_error *error) {
    switch (fh_error_retry(error)) {
    case FH_RETRY_NOW:
        return "now";
    case FH_RETRY_LATER:
        return "later";
    case FH_RETRY_CHECK_FIRST:
        return "check_first";
    default:
        return "never";
    }
}

static void set_text(zend_object *object, const char *name, const char *text) {
    zval value;
    if (text == NULL) {
        ZVAL_NULL(&value);
    } else {
        ZVAL_STRING(&value, text);
    }
    fencehold_set(object, name, &value);
}

static bool has(const zend_object *object, const char *name) {
    return zend_hash_str_exists(&object->ce->properties_info, name, strlen(name));
}

/* error NULL: what is known without one; reason, lock and store are only used then. */
static void make(zval *exception, const error_kind *kind, const fh_error *error, const char *message,
                 const char *reason, const char *lock, const char *store) {
    object_init_ex(exception, kind->ce);
    zend_object *object = Z_OBJ_P(exception);
    zend_update_property_string(zend_ce_exception, object, ZEND_STRL("message"), message);
    zend_update_property_long(zend_ce_exception, object, ZEND_STRL("code"), kind->code);
    set_text(object, "kind", kind->id);
    set_text(object, "reason", error == NULL ? reason : fh_error_reason(error));
    set_text(object, "lock", error == NULL ? lock : fh_error_lock(error));
    set_text(object, "store", error == NULL ? store : fh_error_store(error));
    set_text(object, "retry", error == NULL ? kind->retry : retry_word(error));
    zval value;
    if (has(object, "refusal")) {
        fh_info *info = NULL;
        const char *why = error == NULL ? NULL : fh_error_refusal(error, &info);
        fencehold_refusal(&value, why, info);
        fencehold_set(object, "refusal", &value);
    }
    if (has(object, "lateByMs")) {
        const int64_t late_by = error == NULL ? -1 : fh_error_late_by_ms(error);
        ZVAL_NULL(&value);
        if (late_by >= 0) ZVAL_LONG(&value, (zend_long)late_by);
        fencehold_set(object, "lateByMs", &value);
    }
    if (has(object, "until")) {
        fencehold_time(&value, error == NULL ? 0 : fh_error_until_ms(error));
        fencehold_set(object, "until", &value);
    }
    if (has(object, "value")) {
        ZVAL_NULL(&value);
        fencehold_set(object, "value", &value);
    }
}

static void from_error(zval *exception, fh_status status, const fh_error *error) {
    if (error == NULL) {
        const error_kind *kind = kind_of(status);
        char message[64];
        snprintf(message, sizeof message, "the call failed (%s)", kind->id);
        make(exception, kind, NULL, message, kind->id, NULL, NULL);
        return;
    }
    make(exception, kind_of(fh_error_kind(error)), error, fh_error_message(error), NULL, NULL, NULL);
    const fh_error *cause = fh_error_cause(error);
    if (cause != NULL) {
        zval previous;
        from_error(&previous, FH_ERR_INTERNAL, cause);
        zend_exception_set_previous(Z_OBJ_P(exception), Z_OBJ(previous));
    }
}

void fencehold_error_object(zval *object, fh_status status, fh_error *error) {
    from_error(object, status, error);
    fh_error_free(error);
}

void fencehold_raise(fh_status status, fh_error *error) {
    zval exception;
    fencehold_error_object(&exception, status, error);
    zend_throw_exception_object(&exception);
}

void fencehold_raise_as(fh_status code, const char *reason, const char *lock, const char *store, const char *format,
                        ...) {
    va_list arguments;
    va_start(arguments, format);
    char *message = NULL;
    vspprintf(&message, 0, format, arguments);
    va_end(arguments);
    zval exception;
    make(&exception, kind_of(code), NULL, message, reason, lock, store);
    efree(message);
    zend_throw_exception_object(&exception);
}
