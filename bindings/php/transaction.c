/* Steps guarded by locks. The parts of a step are arrays, which travel as JSON. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "php_fencehold.h"

#include <ext/json/php_json.h>
#include <zend_exceptions.h>
#include <zend_smart_str.h>

typedef struct {
    fh_txn *txn;
    zend_object *client;
    zend_object std;
} transaction;

typedef struct {
    zend_object *transaction;
    zend_string *name;
    zend_object std;
} queue;

static zend_class_entry *transaction_ce, *queue_ce;
static zend_object_handlers transaction_handlers, queue_handlers;

static zend_object *transaction_create(zend_class_entry *ce) {
    transaction *self = zend_object_alloc(sizeof *self, ce);
    self->txn = NULL;
    self->client = NULL;
    zend_object_std_init(&self->std, ce);
    object_properties_init(&self->std, ce);
    self->std.handlers = &transaction_handlers;
    return &self->std;
}

static void transaction_free(zend_object *object) {
    transaction *self = FENCEHOLD_OBJECT(transaction, object);
    fh_txn_free(self->txn);
    if (self->client != NULL) OBJ_RELEASE(self->client);
    zend_object_std_dtor(object);
}

static zend_object *queue_create(zend_class_entry *ce) {
    queue *self = zend_object_alloc(sizeof *self, ce);
    self->transaction = NULL;
    self->name = NULL;
    zend_object_std_init(&self->std, ce);
    object_properties_init(&self->std, ce);
    self->std.handlers = &queue_handlers;
    return &self->std;
}

static void queue_free(zend_object *object) {
    queue *self = FENCEHOLD_OBJECT(queue, object);
    if (self->transaction != NULL) OBJ_RELEASE(self->transaction);
    if (self->name != NULL) zend_string_release(self->name);
    zend_object_std_dtor(object);
}

void fencehold_transaction_startup(zend_class_entry *of_transaction, zend_class_entry *of_queue) {
    transaction_ce = of_transaction;
    queue_ce = of_queue;
    transaction_ce->create_object = transaction_create;
    queue_ce->create_object = queue_create;
    memcpy(&transaction_handlers, &std_object_handlers, sizeof transaction_handlers);
    transaction_handlers.offset = XtOffsetOf(transaction, std);
    transaction_handlers.free_obj = transaction_free;
    transaction_handlers.clone_obj = NULL;
    transaction_handlers.compare = zend_objects_not_comparable;
    memcpy(&queue_handlers, &std_object_handlers, sizeof queue_handlers);
    queue_handlers.offset = XtOffsetOf(queue, std);
    queue_handlers.free_obj = queue_free;
    queue_handlers.clone_obj = NULL;
    queue_handlers.compare = zend_objects_not_comparable;
}

void fencehold_transaction_init(zval *object, zend_object *client, fh_txn *txn) {
    object_init_ex(object, transaction_ce);
    transaction *self = FENCEHOLD_OBJECT(transaction, Z_OBJ_P(object));
    self->txn = txn;
    self->client = client;
    GC_ADDREF(client);
}

bool fencehold_to_json(zval *value, uint32_t argument, smart_str *json) {
    const int options = PHP_JSON_UNESCAPED_SLASHES | PHP_JSON_UNESCAPED_UNICODE | PHP_JSON_PRESERVE_ZERO_FRACTION;
    /* json_last_error() is the caller's: it stays as it was. */
    const php_json_error_code before = JSON_G(error_code);
    const int status = php_json_encode_ex(json, value, options, PHP_JSON_PARSER_DEFAULT_DEPTH);
    const php_json_error_code code = JSON_G(error_code);
    if (status == SUCCESS && code == PHP_JSON_ERROR_NONE && EG(exception) == NULL) {
        JSON_G(error_code) = before;
        smart_str_0(json);
        return true;
    }
    smart_str_free(json);
    if (EG(exception) == NULL) {
        zval why;
        ZVAL_UNDEF(&why);
        zend_call_known_function(zend_hash_str_find_ptr(CG(function_table), ZEND_STRL("json_last_error_msg")), NULL,
                                 NULL, &why, 0, NULL, NULL);
        zend_argument_value_error(argument, "cannot be written as JSON: %s",
                                  Z_TYPE(why) == IS_STRING ? Z_STRVAL(why) : "unknown error");
        zval_ptr_dtor(&why);
    }
    JSON_G(error_code) = before;
    return false;
}

/* The array as a JSON list; false: an exception is pending. */
static bool to_json(zval *array, smart_str *json) {
    if (zend_array_is_list(Z_ARRVAL_P(array))) return fencehold_to_json(array, 1, json);
    zend_argument_value_error(1, "must be a list");
    return false;
}

ZEND_METHOD(Fencehold_Transaction, guard) {
    zval *lock;
    ZEND_PARSE_PARAMETERS_START(1, 1)
    Z_PARAM_OBJECT_OF_CLASS(lock, fencehold_lock_ce)
    ZEND_PARSE_PARAMETERS_END();
    const transaction *self = FENCEHOLD_OBJECT(transaction, Z_OBJ_P(ZEND_THIS));
    const fencehold_lock *guarded = FENCEHOLD_OBJECT(fencehold_lock, Z_OBJ_P(lock));
    fh_error *error = NULL;
    const fh_status status = fh_txn_guard(self->txn, guarded->lock, &error);
    if (status != FH_OK) {
        fencehold_raise(status, error);
        RETURN_THROWS();
    }
    RETURN_COPY(ZEND_THIS);
}

ZEND_METHOD(Fencehold_Transaction, queue) {
    zend_string *name;
    ZEND_PARSE_PARAMETERS_START(1, 1)
    Z_PARAM_STR(name)
    ZEND_PARSE_PARAMETERS_END();
    object_init_ex(return_value, queue_ce);
    queue *made = FENCEHOLD_OBJECT(queue, Z_OBJ_P(return_value));
    made->transaction = Z_OBJ_P(ZEND_THIS);
    GC_ADDREF(made->transaction);
    made->name = zend_string_copy(name);
}

ZEND_METHOD(Fencehold_Queue, push) {
    zval *items;
    ZEND_PARSE_PARAMETERS_START(1, 1)
    Z_PARAM_ARRAY(items)
    ZEND_PARSE_PARAMETERS_END();
    const queue *self = FENCEHOLD_OBJECT(queue, Z_OBJ_P(ZEND_THIS));
    const transaction *step = FENCEHOLD_OBJECT(transaction, self->transaction);
    smart_str json = {0};
    if (!to_json(items, &json)) RETURN_THROWS();
    fh_error *error = NULL;
    const fh_status status =
        fh_txn_push(step->txn, ZSTR_VAL(self->name), ZSTR_LEN(self->name), ZSTR_VAL(json.s), ZSTR_LEN(json.s), &error);
    smart_str_free(&json);
    if (status != FH_OK) {
        fencehold_raise(status, error);
        RETURN_THROWS();
    }
    RETURN_OBJ_COPY(self->transaction);
}

typedef fh_status (*add_call)(fh_txn *txn, const char *json, size_t len, fh_error **error);

static void add_method(INTERNAL_FUNCTION_PARAMETERS, add_call add) {
    zval *array;
    ZEND_PARSE_PARAMETERS_START(1, 1)
    Z_PARAM_ARRAY(array)
    ZEND_PARSE_PARAMETERS_END();
    const transaction *self = FENCEHOLD_OBJECT(transaction, Z_OBJ_P(ZEND_THIS));
    smart_str json = {0};
    if (!to_json(array, &json)) RETURN_THROWS();
    fh_error *error = NULL;
    const fh_status status = add(self->txn, ZSTR_VAL(json.s), ZSTR_LEN(json.s), &error);
    smart_str_free(&json);
    if (status != FH_OK) {
        fencehold_raise(status, error);
        RETURN_THROWS();
    }
    RETURN_COPY(ZEND_THIS);
}

ZEND_METHOD(Fencehold_Transaction, ack) { add_method(INTERNAL_FUNCTION_PARAM_PASSTHRU, fh_txn_ack); }

ZEND_METHOD(Fencehold_Transaction, kv) { add_method(INTERNAL_FUNCTION_PARAM_PASSTHRU, fh_txn_kv); }

ZEND_METHOD(Fencehold_Transaction, timers) { add_method(INTERNAL_FUNCTION_PARAM_PASSTHRU, fh_txn_timers); }

ZEND_METHOD(Fencehold_Transaction, commit) {
    ZEND_PARSE_PARAMETERS_NONE();
    const transaction *self = FENCEHOLD_OBJECT(transaction, Z_OBJ_P(ZEND_THIS));
    const char *json = NULL;
    fh_error *error = NULL;
    const fh_status status = fh_txn_commit(self->txn, &json, &error);
    if (status < FH_OK) {
        fencehold_raise(status, error);
        RETURN_THROWS();
    }
    zval reason;
    zval results;
    ZVAL_NULL(&reason);
    ZVAL_EMPTY_ARRAY(&results);
    if (json != NULL) {
        zval answer;
        ZVAL_UNDEF(&answer);
        if (php_json_decode_ex(&answer, json, strlen(json), PHP_JSON_OBJECT_AS_ARRAY, PHP_JSON_PARSER_DEFAULT_DEPTH) ==
                SUCCESS &&
            Z_TYPE(answer) == IS_ARRAY) {
            zval *member = zend_hash_str_find(Z_ARRVAL(answer), ZEND_STRL("results"));
            if (member != NULL && Z_TYPE_P(member) == IS_ARRAY) ZVAL_COPY(&results, member);
            member = zend_hash_str_find(Z_ARRVAL(answer), ZEND_STRL("reason"));
            if (member != NULL && Z_TYPE_P(member) == IS_STRING) ZVAL_COPY(&reason, member);
        }
        zval_ptr_dtor(&answer);
    }
    fencehold_commit_result(return_value, status == FH_OK, &reason, &results, error);
}

/* Private constructors: these objects come from a client or a transaction. */
ZEND_METHOD(Fencehold_Transaction, __construct) { ZEND_PARSE_PARAMETERS_NONE(); }

ZEND_METHOD(Fencehold_Queue, __construct) { ZEND_PARSE_PARAMETERS_NONE(); }
