/* Rows of users. Values travel as JSON. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "php_fencehold.h"

#include <ext/json/php_json.h>
#include <zend_exceptions.h>
#include <zend_smart_str.h>

typedef struct {
    fh_kv *kv;
    zend_object *client; /* kept alive by it: a client in the pool may become somebody else's */
    zend_object std;
} kv_object;

static zend_class_entry *kv_ce, *row_ce, *page_ce, *written_ce;
static zend_object_handlers handlers;

static zend_object *kv_create(zend_class_entry *ce) {
    kv_object *self = zend_object_alloc(sizeof *self, ce);
    self->kv = NULL;
    self->client = NULL;
    zend_object_std_init(&self->std, ce);
    object_properties_init(&self->std, ce);
    self->std.handlers = &handlers;
    return &self->std;
}

static void kv_free(zend_object *object) {
    kv_object *self = FENCEHOLD_OBJECT(kv_object, object);
    fh_kv_free(self->kv);
    if (self->client != NULL) OBJ_RELEASE(self->client);
    zend_object_std_dtor(object);
}

void fencehold_kv_startup(zend_class_entry *kv, zend_class_entry *row, zend_class_entry *page,
                          zend_class_entry *written) {
    kv_ce = kv;
    row_ce = row;
    page_ce = page;
    written_ce = written;
    kv_ce->create_object = kv_create;
    memcpy(&handlers, &std_object_handlers, sizeof handlers);
    handlers.offset = XtOffsetOf(kv_object, std);
    handlers.free_obj = kv_free;
    handlers.clone_obj = NULL;
    handlers.compare = zend_objects_not_comparable;
    zend_class_entry *values[] = {row, page, written};
    for (size_t index = 0; index < sizeof values / sizeof values[0]; ++index)
        values[index]->create_object = fencehold_value_create;
}

void fencehold_kv_init(zval *object, zend_object *client, fh_kv *kv) {
    object_init_ex(object, kv_ce);
    kv_object *self = FENCEHOLD_OBJECT(kv_object, Z_OBJ_P(object));
    self->kv = kv;
    self->client = client;
    GC_ADDREF(client);
}

static const fh_kv *this_kv(zval *object) { return FENCEHOLD_OBJECT(kv_object, Z_OBJ_P(object))->kv; }

/* --- answers */

static void set_text(zval *object, const char *name, const char *text) {
    zval value;
    if (text == NULL) {
        ZVAL_NULL(&value);
    } else {
        ZVAL_STRING(&value, text);
    }
    fencehold_set(Z_OBJ_P(object), name, &value);
}

static void set_value_and_version(zval *object, const fh_row *row) {
    zval value;
    ZVAL_NULL(&value);
    if (row->value_json != NULL &&
        php_json_decode_ex(&value, row->value_json, strlen(row->value_json), PHP_JSON_OBJECT_AS_ARRAY,
                           PHP_JSON_PARSER_DEFAULT_DEPTH) != SUCCESS) {
        ZVAL_NULL(&value); /* nested deeper than json_decode() goes */
    }
    fencehold_set(Z_OBJ_P(object), "value", &value);
    ZVAL_LONG(&value, (zend_long)row->version);
    fencehold_set(Z_OBJ_P(object), "version", &value);
}

static void row_object(zval *object, const fh_row *row) {
    object_init_ex(object, row_ce);
    set_text(object, "key", row->key);
    set_value_and_version(object, row);
}

static void all_rows(zval *array, const fh_rows *rows) {
    array_init(array);
    fh_row row = FH_ROW_INIT;
    for (size_t index = 0; fh_rows_row(rows, index, &row) == FH_OK; ++index) {
        zval element;
        row_object(&element, &row);
        add_next_index_zval(array, &element);
    }
}

/* Whether there is an answer; false: an exception is pending. */
static bool answered(fh_status status, fh_error *error) {
    if (status >= FH_OK) return true;
    fencehold_raise(status, error);
    return false;
}

/* What became of a write; frees rows. */
static void written(zval *object, fh_status status, fh_rows *rows, fh_error *error) {
    if (!answered(status, error)) return;
    fh_row row = FH_ROW_INIT;
    zval applied;
    object_init_ex(object, written_ce);
    ZVAL_BOOL(&applied, status == FH_OK);
    fencehold_set(Z_OBJ_P(object), "applied", &applied);
    if (fh_rows_row(rows, 0, &row) == FH_OK) set_value_and_version(object, &row);
    set_text(object, "reason", fh_rows_reason(rows));
    fh_rows_free(rows);
}

/* --- calls */

/* The version that a write expects; false: an exception is pending. */
static bool expected(bool any, zend_long version, uint32_t argument, uint64_t *expect) {
    if (!any && version < 0) {
        zend_argument_value_error(argument, "must be greater than or equal to 0");
        return false;
    }
    *expect = any ? FH_ANY_VERSION : (uint64_t)version;
    return true;
}

ZEND_METHOD(Fencehold_Kv, get) {
    zend_string *key;
    ZEND_PARSE_PARAMETERS_START(1, 1)
    Z_PARAM_STR(key)
    ZEND_PARSE_PARAMETERS_END();
    fh_rows *rows = NULL;
    fh_error *error = NULL;
    const fh_status status = fh_kv_get(this_kv(ZEND_THIS), ZSTR_VAL(key), ZSTR_LEN(key), &rows, &error);
    if (!answered(status, error)) RETURN_THROWS();
    fh_row row = FH_ROW_INIT;
    if (fh_rows_row(rows, 0, &row) == FH_OK) row_object(return_value, &row);
    fh_rows_free(rows);
}

ZEND_METHOD(Fencehold_Kv, getMany) {
    HashTable *keys;
    zval *key;
    ZEND_PARSE_PARAMETERS_START(1, 1)
    Z_PARAM_ARRAY_HT(keys)
    ZEND_PARSE_PARAMETERS_END();
    fh_str *texts = safe_emalloc(zend_hash_num_elements(keys), sizeof *texts, sizeof *texts);
    size_t count = 0;
    ZEND_HASH_FOREACH_VAL(keys, key) {
        ZVAL_DEREF(key);
        if (Z_TYPE_P(key) != IS_STRING) {
            efree(texts);
            zend_argument_type_error(1, "must be a list of strings, %s given in it", zend_zval_type_name(key));
            RETURN_THROWS();
        }
        texts[count].ptr = Z_STRVAL_P(key);
        texts[count].len = Z_STRLEN_P(key);
        ++count;
    }
    ZEND_HASH_FOREACH_END();
    fh_rows *rows = NULL;
    fh_error *error = NULL;
    const fh_status status = fh_kv_get_many(this_kv(ZEND_THIS), texts, count, &rows, &error);
    efree(texts);
    if (!answered(status, error)) RETURN_THROWS();
    all_rows(return_value, rows);
    fh_rows_free(rows);
}

ZEND_METHOD(Fencehold_Kv, getPrefix) {
    zend_string *prefix, *after = NULL;
    zend_long limit = 1000;
    ZEND_PARSE_PARAMETERS_START(1, 3)
    Z_PARAM_STR(prefix)
    Z_PARAM_OPTIONAL
    Z_PARAM_LONG(limit)
    Z_PARAM_STR_OR_NULL(after)
    ZEND_PARSE_PARAMETERS_END();
    if (limit < 1 || limit > UINT32_MAX) {
        zend_argument_value_error(2, "must be between 1 and 4294967295");
        RETURN_THROWS();
    }
    fh_rows *rows = NULL;
    fh_error *error = NULL;
    const fh_status status =
        fh_kv_get_prefix(this_kv(ZEND_THIS), ZSTR_VAL(prefix), ZSTR_LEN(prefix), (uint32_t)limit,
                         after == NULL ? NULL : ZSTR_VAL(after), after == NULL ? 0 : ZSTR_LEN(after), &rows, &error);
    if (!answered(status, error)) RETURN_THROWS();
    zval found;
    object_init_ex(return_value, page_ce);
    all_rows(&found, rows);
    fencehold_set(Z_OBJ_P(return_value), "rows", &found);
    set_text(return_value, "nextAfter", fh_rows_next(rows));
    fh_rows_free(rows);
}

ZEND_METHOD(Fencehold_Kv, put) {
    zend_string *key;
    zval *value, *ttl;
    zend_long version = 0;
    bool any = true;
    ZEND_PARSE_PARAMETERS_START(3, 4)
    Z_PARAM_STR(key)
    Z_PARAM_ZVAL(value)
    Z_PARAM_ZVAL(ttl)
    Z_PARAM_OPTIONAL
    Z_PARAM_LONG_OR_NULL(version, any)
    ZEND_PARSE_PARAMETERS_END();
    uint64_t ttl_ms = 0;
    uint64_t expect = 0;
    smart_str json = {0};
    if (!fencehold_duration_arg(ttl, 3, FENCEHOLD_EXPIRY, &ttl_ms) || !expected(any, version, 4, &expect) ||
        !fencehold_to_json(value, 2, &json))
        RETURN_THROWS();
    fh_rows *rows = NULL;
    fh_error *error = NULL;
    const fh_status status = fh_kv_put(this_kv(ZEND_THIS), ZSTR_VAL(key), ZSTR_LEN(key), ZSTR_VAL(json.s),
                                       ZSTR_LEN(json.s), ttl_ms, expect, &rows, &error);
    smart_str_free(&json);
    written(return_value, status, rows, error);
}

ZEND_METHOD(Fencehold_Kv, putIfAbsent) {
    zend_string *key;
    zval *value, *ttl;
    ZEND_PARSE_PARAMETERS_START(3, 3)
    Z_PARAM_STR(key)
    Z_PARAM_ZVAL(value)
    Z_PARAM_ZVAL(ttl)
    ZEND_PARSE_PARAMETERS_END();
    uint64_t ttl_ms = 0;
    smart_str json = {0};
    if (!fencehold_duration_arg(ttl, 3, FENCEHOLD_EXPIRY, &ttl_ms) || !fencehold_to_json(value, 2, &json))
        RETURN_THROWS();
    fh_rows *rows = NULL;
    fh_error *error = NULL;
    const fh_status status = fh_kv_put_if_absent(this_kv(ZEND_THIS), ZSTR_VAL(key), ZSTR_LEN(key), ZSTR_VAL(json.s),
                                                 ZSTR_LEN(json.s), ttl_ms, &rows, &error);
    smart_str_free(&json);
    written(return_value, status, rows, error);
}

ZEND_METHOD(Fencehold_Kv, delete) {
    zend_string *key;
    zend_long version = 0;
    bool any = true;
    ZEND_PARSE_PARAMETERS_START(1, 2)
    Z_PARAM_STR(key)
    Z_PARAM_OPTIONAL
    Z_PARAM_LONG_OR_NULL(version, any)
    ZEND_PARSE_PARAMETERS_END();
    uint64_t expect = 0;
    if (!expected(any, version, 2, &expect)) RETURN_THROWS();
    fh_rows *rows = NULL;
    fh_error *error = NULL;
    const fh_status status = fh_kv_delete(this_kv(ZEND_THIS), ZSTR_VAL(key), ZSTR_LEN(key), expect, &rows, &error);
    written(return_value, status, rows, error);
}

ZEND_METHOD(Fencehold_Kv, incr) {
    zend_string *key;
    zend_long delta;
    zval *ttl;
    ZEND_PARSE_PARAMETERS_START(3, 3)
    Z_PARAM_STR(key)
    Z_PARAM_LONG(delta)
    Z_PARAM_ZVAL(ttl)
    ZEND_PARSE_PARAMETERS_END();
    uint64_t ttl_ms = 0;
    if (!fencehold_duration_arg(ttl, 3, FENCEHOLD_EXPIRY, &ttl_ms)) RETURN_THROWS();
    fh_rows *rows = NULL;
    fh_error *error = NULL;
    const fh_status status =
        fh_kv_incr(this_kv(ZEND_THIS), ZSTR_VAL(key), ZSTR_LEN(key), (int64_t)delta, ttl_ms, &rows, &error);
    written(return_value, status, rows, error);
}

ZEND_METHOD(Fencehold_Kv, check) {
    zend_string *key;
    zend_long version;
    ZEND_PARSE_PARAMETERS_START(2, 2)
    Z_PARAM_STR(key)
    Z_PARAM_LONG(version)
    ZEND_PARSE_PARAMETERS_END();
    uint64_t expect = 0;
    if (!expected(false, version, 2, &expect)) RETURN_THROWS();
    fh_rows *rows = NULL;
    fh_error *error = NULL;
    const fh_status status = fh_kv_check(this_kv(ZEND_THIS), ZSTR_VAL(key), ZSTR_LEN(key), expect, &rows, &error);
    written(return_value, status, rows, error);
}

/* Private constructors: these objects come from calls. */
ZEND_METHOD(Fencehold_Kv, __construct) { ZEND_PARSE_PARAMETERS_NONE(); }

ZEND_METHOD(Fencehold_ValueRow, __construct) { ZEND_PARSE_PARAMETERS_NONE(); }

ZEND_METHOD(Fencehold_ValuePage, __construct) { ZEND_PARSE_PARAMETERS_NONE(); }

ZEND_METHOD(Fencehold_Written, __construct) { ZEND_PARSE_PARAMETERS_NONE(); }
