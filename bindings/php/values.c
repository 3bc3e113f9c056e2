/* The read-only values: who holds a lock, who waits, and why it was refused. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "php_fencehold.h"

#include <ext/date/php_date.h>
#include <sys/time.h>

zend_object_handlers fencehold_value_handlers;
static zend_object_handlers commit_handlers;
static zend_class_entry *holder_ce, *waiter_ce, *info_ce, *refusal_ce, *run_ce, *commit_ce;

typedef struct {
    fh_error *lost; /* why a guard did not hold; NULL: they did */
    zend_object std;
} commit_result;

zend_object *fencehold_value_create(zend_class_entry *ce) {
    zend_object *object = zend_objects_new(ce);
    object_properties_init(object, ce);
    object->handlers = &fencehold_value_handlers;
    return object;
}

static zend_object *commit_create(zend_class_entry *ce) {
    commit_result *self = zend_object_alloc(sizeof *self, ce);
    self->lost = NULL;
    zend_object_std_init(&self->std, ce);
    object_properties_init(&self->std, ce);
    self->std.handlers = &commit_handlers;
    return &self->std;
}

static void commit_free(zend_object *object) {
    fh_error_free(FENCEHOLD_OBJECT(commit_result, object)->lost);
    zend_object_std_dtor(object);
}

void fencehold_values_startup(zend_class_entry *holder, zend_class_entry *waiter, zend_class_entry *info,
                              zend_class_entry *refusal, zend_class_entry *run, zend_class_entry *commit) {
    memcpy(&fencehold_value_handlers, &std_object_handlers, sizeof fencehold_value_handlers);
    fencehold_value_handlers.clone_obj = NULL;
    holder_ce = holder;
    waiter_ce = waiter;
    info_ce = info;
    refusal_ce = refusal;
    run_ce = run;
    commit_ce = commit;
    zend_class_entry *all[] = {holder, waiter, info, refusal, run, commit};
    for (size_t index = 0; index < sizeof all / sizeof all[0]; ++index)
        all[index]->create_object = fencehold_value_create;
    commit->create_object = commit_create;
    memcpy(&commit_handlers, &fencehold_value_handlers, sizeof commit_handlers);
    commit_handlers.offset = XtOffsetOf(commit_result, std);
    commit_handlers.free_obj = commit_free;
}

void fencehold_set(zend_object *object, const char *name, zval *value) {
    const zend_property_info *property = zend_hash_str_find_ptr(&object->ce->properties_info, name, strlen(name));
    zval *place = OBJ_PROP(object, property->offset);
    zval_ptr_dtor(place);
    ZVAL_COPY_VALUE(place, value);
    Z_PROP_FLAG_P(place) = 0;
}

static void set_long(zend_object *object, const char *name, zend_long number) {
    zval value;
    ZVAL_LONG(&value, number);
    fencehold_set(object, name, &value);
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

void fencehold_time(zval *object, int64_t unix_ms) {
    if (unix_ms <= 0) {
        ZVAL_NULL(object);
        return;
    }
    char text[48];
    const int len = snprintf(text, sizeof text, "%lld.%03d", (long long)(unix_ms / 1000), (int)(unix_ms % 1000));
    php_date_instantiate(php_date_get_immutable_ce(), object);
    if (!php_date_initialize(Z_PHPDATE_P(object), text, (size_t)len, "U.v", NULL, 0)) {
        zval_ptr_dtor(object);
        ZVAL_NULL(object);
    }
}

static void set_time(zend_object *object, const char *name, int64_t unix_ms) {
    zval value;
    fencehold_time(&value, unix_ms);
    fencehold_set(object, name, &value);
}

void fencehold_holders(zval *array, const fh_info *info, size_t lock) {
    array_init(array);
    const size_t count = fh_info_holder_count(info, lock);
    for (size_t index = 0; index < count; ++index) {
        fh_holder holder = FH_HOLDER_INIT;
        if (fh_info_holder(info, lock, index, &holder) != FH_OK) break;
        zval element;
        object_init_ex(&element, holder_ce);
        zend_object *object = Z_OBJ(element);
        set_long(object, "slot", holder.slot);
        set_long(object, "token", (zend_long)holder.token);
        set_text(object, "owner", holder.owner);
        set_text(object, "label", holder.label);
        set_time(object, "since", holder.since_ms);
        set_time(object, "renewedAt", holder.renewed_at_ms);
        set_time(object, "expiresAt", holder.expires_at_ms);
        add_next_index_zval(array, &element);
    }
}

static void waiters(zval *array, const fh_info *info, size_t lock) {
    array_init(array);
    fh_waiter waiter = FH_WAITER_INIT;
    for (size_t index = 0; fh_info_waiter(info, lock, index, &waiter) == FH_OK; ++index) {
        zval element;
        object_init_ex(&element, waiter_ce);
        zend_object *object = Z_OBJ(element);
        set_long(object, "position", waiter.position);
        set_text(object, "owner", waiter.owner == NULL ? "" : waiter.owner);
        set_text(object, "label", waiter.label);
        set_time(object, "since", waiter.since_ms);
        add_next_index_zval(array, &element);
    }
}

void fencehold_info(zval *object, const fh_info *info, size_t lock) {
    object_init_ex(object, info_ce);
    zval value;
    const char *name = fh_info_name(info, lock);
    set_text(Z_OBJ_P(object), "name", name == NULL ? "" : name);
    ZVAL_BOOL(&value, fh_info_holder_count(info, lock) > 0);
    fencehold_set(Z_OBJ_P(object), "held", &value);
    fencehold_holders(&value, info, lock);
    fencehold_set(Z_OBJ_P(object), "holders", &value);
    waiters(&value, info, lock);
    fencehold_set(Z_OBJ_P(object), "waiters", &value);
}

void fencehold_refusal(zval *object, const char *reason, fh_info *info) {
    if (reason == NULL) {
        ZVAL_NULL(object);
    } else {
        object_init_ex(object, refusal_ce);
        zval holders;
        const bool known = info != NULL && fh_info_count(info) > 0;
        if (known) {
            fencehold_holders(&holders, info, 0);
        } else {
            array_init(&holders);
        }
        set_text(Z_OBJ_P(object), "reason", reason);
        fencehold_set(Z_OBJ_P(object), "holders", &holders);
        set_long(Z_OBJ_P(object), "waiting", known ? (zend_long)fh_info_waiting(info, 0) : 0);
    }
    fh_info_free(info);
}

void fencehold_run_result(zval *object, bool acquired, zval *value, zval *refusal) {
    zval flag;
    object_init_ex(object, run_ce);
    ZVAL_BOOL(&flag, acquired);
    fencehold_set(Z_OBJ_P(object), "acquired", &flag);
    fencehold_set(Z_OBJ_P(object), "value", value);
    fencehold_set(Z_OBJ_P(object), "refusal", refusal);
}

void fencehold_commit_result(zval *object, bool success, zval *reason, zval *results, fh_error *lost) {
    zval flag;
    object_init_ex(object, commit_ce);
    ZVAL_BOOL(&flag, success);
    fencehold_set(Z_OBJ_P(object), "success", &flag);
    fencehold_set(Z_OBJ_P(object), "reason", reason);
    fencehold_set(Z_OBJ_P(object), "results", results);
    FENCEHOLD_OBJECT(commit_result, Z_OBJ_P(object))->lost = lost;
}

/* --- as JSON: camelCase, times in RFC 3339 UTC, tokens as text, as every other language writes them */

static zval *property(zend_object *object, const char *name) {
    const zend_property_info *info = zend_hash_str_find_ptr(&object->ce->properties_info, name, strlen(name));
    return OBJ_PROP(object, info->offset);
}

static void copy_member(zval *array, zend_object *object, const char *name) {
    zval *value = property(object, name);
    Z_TRY_ADDREF_P(value);
    add_assoc_zval(array, name, value);
}

static int64_t unix_ms(zval *time) {
    const timelib_time *at = Z_PHPDATE_P(time)->time;
    return (int64_t)at->sse * 1000 + (int64_t)at->us / 1000;
}

static void time_member(zval *array, zend_object *object, const char *name) {
    zval *value = property(object, name);
    if (Z_TYPE_P(value) != IS_OBJECT) {
        add_assoc_null(array, name);
        return;
    }
    const int64_t ms = unix_ms(value);
    zend_string *seconds = php_format_date(ZEND_STRL("Y-m-d\\TH:i:s"), (time_t)(ms / 1000), false);
    add_assoc_str(array, name, strpprintf(0, "%s.%03dZ", ZSTR_VAL(seconds), (int)(ms % 1000)));
    zend_string_release(seconds);
}

ZEND_METHOD(Fencehold_Holder, jsonSerialize) {
    ZEND_PARSE_PARAMETERS_NONE();
    zend_object *self = Z_OBJ_P(ZEND_THIS);
    array_init(return_value);
    copy_member(return_value, self, "slot");
    add_assoc_str(return_value, "token", zend_long_to_str(Z_LVAL_P(property(self, "token"))));
    copy_member(return_value, self, "owner");
    copy_member(return_value, self, "label");
    time_member(return_value, self, "since");
    time_member(return_value, self, "renewedAt");
    time_member(return_value, self, "expiresAt");
    zval *expires = property(self, "expiresAt");
    if (Z_TYPE_P(expires) == IS_OBJECT) {
        struct timeval now;
        gettimeofday(&now, NULL);
        const int64_t left = unix_ms(expires) - ((int64_t)now.tv_sec * 1000 + now.tv_usec / 1000);
        add_assoc_long(return_value, "expiresInMs", left > 0 ? (zend_long)left : 0);
    } else {
        add_assoc_null(return_value, "expiresInMs");
    }
}

ZEND_METHOD(Fencehold_Waiter, jsonSerialize) {
    ZEND_PARSE_PARAMETERS_NONE();
    zend_object *self = Z_OBJ_P(ZEND_THIS);
    array_init(return_value);
    copy_member(return_value, self, "position");
    copy_member(return_value, self, "owner");
    copy_member(return_value, self, "label");
    time_member(return_value, self, "since");
}

ZEND_METHOD(Fencehold_LockInfo, jsonSerialize) {
    ZEND_PARSE_PARAMETERS_NONE();
    zend_object *self = Z_OBJ_P(ZEND_THIS);
    array_init(return_value);
    copy_member(return_value, self, "name");
    copy_member(return_value, self, "held");
    add_assoc_long(return_value, "waiting", zend_hash_num_elements(Z_ARRVAL_P(property(self, "waiters"))));
    copy_member(return_value, self, "holders");
    copy_member(return_value, self, "waiters");
}

ZEND_METHOD(Fencehold_Refusal, jsonSerialize) {
    ZEND_PARSE_PARAMETERS_NONE();
    zend_object *self = Z_OBJ_P(ZEND_THIS);
    array_init(return_value);
    copy_member(return_value, self, "reason");
    copy_member(return_value, self, "holders");
    copy_member(return_value, self, "waiting");
}

ZEND_METHOD(Fencehold_CommitResult, orThrow) {
    ZEND_PARSE_PARAMETERS_NONE();
    zend_object *self = Z_OBJ_P(ZEND_THIS);
    if (Z_TYPE_P(property(self, "success")) == IS_TRUE) RETURN_OBJ_COPY(self);
    fh_error *lost = NULL;
    if (fh_error_clone(FENCEHOLD_OBJECT(commit_result, self)->lost, &lost) == FH_OK) {
        fencehold_raise(FH_LOST, lost);
        RETURN_THROWS();
    }
    const zval *reason = property(self, "reason");
    const char *word = Z_TYPE_P(reason) == IS_STRING ? Z_STRVAL_P(reason) : "refused";
    const bool again = strcmp(word, "reserved") == 0 || strcmp(word, "unavailable") == 0;
    fencehold_raise_as(again ? FH_ERR_UNREACHABLE : FH_ERR_INVALID, word, NULL, NULL,
                       "the step was refused and nothing of it was done (%s)", word);
}

/* Private constructors: values come from calls. */
ZEND_METHOD(Fencehold_Holder, __construct) { ZEND_PARSE_PARAMETERS_NONE(); }

ZEND_METHOD(Fencehold_Waiter, __construct) { ZEND_PARSE_PARAMETERS_NONE(); }

ZEND_METHOD(Fencehold_LockInfo, __construct) { ZEND_PARSE_PARAMETERS_NONE(); }

ZEND_METHOD(Fencehold_Refusal, __construct) { ZEND_PARSE_PARAMETERS_NONE(); }

ZEND_METHOD(Fencehold_RunResult, __construct) { ZEND_PARSE_PARAMETERS_NONE(); }

ZEND_METHOD(Fencehold_CommitResult, __construct) { ZEND_PARSE_PARAMETERS_NONE(); }
