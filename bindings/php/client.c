/* Clients. A persistent one goes into a pool when its object is gone, and the next object that is made with the same
 * arguments takes it out again: no two objects share one, so that close() ends nothing of somebody else's. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "php_fencehold.h"

#include <SAPI.h>
#include <zend_exceptions.h>
#include <zend_smart_str.h>

#define IDLE_MAX 4  /* clients of the same arguments that are kept */
#define KEYS_MAX 64 /* different arguments: a worker that is given new ones again and again must not grow */

typedef struct {
    size_t count;
    fh_client *clients[IDLE_MAX];
} idle_clients;

zend_class_entry *fencehold_client_ce;
static zend_object_handlers handlers;

/* --- the pool */

void fencehold_pool_free(zval *value) {
    idle_clients *idle = Z_PTR_P(value);
    for (size_t index = 0; index < idle->count; ++index) fh_client_free(idle->clients[index]);
    pefree(idle, 1);
}

static fh_client *take_idle(zend_string *key) {
    idle_clients *idle = zend_hash_find_ptr(&FENCEHOLD_G(pool), key);
    return idle == NULL || idle->count == 0 ? NULL : idle->clients[--idle->count];
}

static void forget_oldest(void) {
    zend_string *oldest = NULL;
    ZEND_HASH_FOREACH_STR_KEY(&FENCEHOLD_G(pool), oldest) { break; }
    ZEND_HASH_FOREACH_END();
    if (oldest != NULL) zend_hash_del(&FENCEHOLD_G(pool), oldest);
}

static void keep_idle(zend_string *key, fh_client *client) {
    idle_clients *idle = zend_hash_find_ptr(&FENCEHOLD_G(pool), key);
    if (idle == NULL) {
        if (zend_hash_num_elements(&FENCEHOLD_G(pool)) >= KEYS_MAX) forget_oldest();
        idle = pecalloc(1, sizeof *idle, 1);
        zend_hash_str_add_ptr(&FENCEHOLD_G(pool), ZSTR_VAL(key), ZSTR_LEN(key), idle);
    }
    if (idle->count < IDLE_MAX) {
        idle->clients[idle->count++] = client;
    } else {
        fh_client_free(client);
    }
}

static void key_add(smart_str *key, const char *text, size_t len) {
    smart_str_append_unsigned(key, len);
    smart_str_appendc(key, ':');
    if (len > 0) smart_str_appendl(key, text, len);
}

/* What a client depends on: its arguments, and the variables that stand in for those left out. */
static zend_string *pool_key(const char *url, size_t url_len, const fh_client_options *options) {
    static const char *const variables[] = {
        "URL",           "AUTH_TOKEN", "AUTH_TOKEN_FILE", "USER",     "PASSWORD", "CA_FILE",
        "PASSWORD_FILE", "CERT_FILE",  "REQUEST_TIMEOUT", "KEY_FILE", "LABEL"};
    const fh_str texts[] = {options->auth_token, options->auth_token_file, options->user,
                            options->password,   options->password_file,   options->ca_file,
                            options->cert_file,  options->key_file,        options->label};
    smart_str key = {0};
    key_add(&key, url, url_len);
    smart_str_append_unsigned(&key, (zend_ulong)options->request_timeout_ms);
    for (size_t index = 0; index < sizeof texts / sizeof texts[0]; ++index)
        key_add(&key, texts[index].ptr, texts[index].len);
    for (size_t index = 0; index < sizeof variables / sizeof variables[0]; ++index) {
        char name[32];
        snprintf(name, sizeof name, "FENCEHOLD_%s", variables[index]);
        const char *text = getenv(name);
        key_add(&key, text, text == NULL ? 0 : strlen(text));
    }
    return smart_str_extract(&key);
}

/* memory: is a store of its own for each client, so it must not come back with what an earlier request left in it. */
static bool is_private_memory(const char *url, size_t len) {
    const size_t scheme = sizeof("memory:") - 1;
    return len >= scheme && memcmp(url, "memory:", scheme) == 0 && (len == scheme || url[scheme] == '?');
}

/* --- the object */

static zend_object *client_create(zend_class_entry *ce) {
    fencehold_client *self = zend_object_alloc(sizeof *self, ce);
    self->client = NULL;
    self->key = NULL;
    self->labelled = false;
    zend_object_std_init(&self->std, ce);
    object_properties_init(&self->std, ce);
    self->std.handlers = &handlers;
    return &self->std;
}

static void client_free(zend_object *object) {
    fencehold_client *self = FENCEHOLD_OBJECT(fencehold_client, object);
    if (self->client != NULL) {
        if (self->key != NULL) {
            keep_idle(self->key, self->client);
        } else {
            fh_client_free(self->client);
        }
    }
    if (self->key != NULL) zend_string_release(self->key);
    zend_object_std_dtor(object);
}

void fencehold_client_startup(zend_class_entry *ce) {
    fencehold_client_ce = ce;
    ce->create_object = client_create;
    memcpy(&handlers, &std_object_handlers, sizeof handlers);
    handlers.offset = XtOffsetOf(fencehold_client, std);
    handlers.free_obj = client_free;
    handlers.clone_obj = NULL;
    handlers.compare = zend_objects_not_comparable;
}

static fencehold_client *this_client(zval *object) {
    fencehold_client *self = FENCEHOLD_OBJECT(fencehold_client, Z_OBJ_P(object));
    if (self->client == NULL) zend_throw_error(NULL, "The Fencehold\\Client object was not constructed");
    return self;
}

static fh_str given(zend_string *text) {
    const fh_str none = {NULL, 0};
    if (text == NULL) return none;
    const fh_str some = {ZSTR_VAL(text), ZSTR_LEN(text)};
    return some;
}

ZEND_METHOD(Fencehold_Client, __construct) {
    zend_string *url = NULL, *auth_token = NULL, *auth_token_file = NULL, *user = NULL, *password = NULL;
    zend_string *password_file = NULL, *ca_file = NULL, *cert_file = NULL, *key_file = NULL, *label = NULL;
    zval *request_timeout = NULL;
    bool persistent = true;
    ZEND_PARSE_PARAMETERS_START(0, 12)
    Z_PARAM_OPTIONAL
    Z_PARAM_STR_OR_NULL(url)
    Z_PARAM_STR_OR_NULL(auth_token)
    Z_PARAM_STR_OR_NULL(auth_token_file)
    Z_PARAM_STR_OR_NULL(user)
    Z_PARAM_STR_OR_NULL(password)
    Z_PARAM_STR_OR_NULL(password_file)
    Z_PARAM_STR_OR_NULL(ca_file)
    Z_PARAM_STR_OR_NULL(cert_file)
    Z_PARAM_STR_OR_NULL(key_file)
    Z_PARAM_ZVAL(request_timeout)
    Z_PARAM_STR_OR_NULL(label)
    Z_PARAM_BOOL(persistent)
    ZEND_PARSE_PARAMETERS_END();

    fencehold_client *self = FENCEHOLD_OBJECT(fencehold_client, Z_OBJ_P(ZEND_THIS));
    if (self->client != NULL) {
        zend_throw_error(NULL, "The Fencehold\\Client object is already constructed");
        RETURN_THROWS();
    }
    fh_client_options options = FH_CLIENT_OPTIONS_INIT;
    if (request_timeout != NULL) {
        if (!fencehold_duration_arg(request_timeout, 10, FENCEHOLD_TIME, &options.request_timeout_ms)) RETURN_THROWS();
        if (options.request_timeout_ms == 0) {
            fencehold_raise_invalid("locks_bad_wait", "a request timeout of 0 lets no request through "
                                                      "(locks_bad_wait). Write '5s'");
            RETURN_THROWS();
        }
    }
    options.auth_token = given(auth_token);
    options.auth_token_file = given(auth_token_file);
    options.user = given(user);
    options.password = given(password);
    options.password_file = given(password_file);
    options.ca_file = given(ca_file);
    options.cert_file = given(cert_file);
    options.key_file = given(key_file);
    options.label = given(label);

    const char *from = url == NULL ? FENCEHOLD_G(url) : ZSTR_VAL(url);
    if (from == NULL) from = "";
    const size_t from_len = url == NULL ? strlen(from) : ZSTR_LEN(url);

    zend_string *key = NULL;
    if (persistent && !is_private_memory(from, from_len)) {
        key = pool_key(from, from_len, &options);
        self->client = take_idle(key);
    }
    if (self->client == NULL) {
        fh_error *error = NULL;
        const fh_status status = fh_client_open(from, from_len, &options, &self->client, &error);
        if (status != FH_OK) {
            if (key != NULL) zend_string_release(key);
            self->client = NULL;
            fencehold_raise(status, error);
            RETURN_THROWS();
        }
    }
    self->key = key;
    self->labelled = label != NULL || getenv("FENCEHOLD_LABEL") != NULL;
}

#define LABEL_MAX 64

/* The running program is called php or php-fpm, which tells nobody much: a holder is labelled with its script. */
static fh_str script_label(void) {
    const fh_str none = {NULL, 0};
    const char *path = SG(request_info).path_translated;
    if (path == NULL) return none;
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    const size_t len = strlen(name);
    if (len == 0 || len > LABEL_MAX) return none;
    for (size_t index = 0; index < len; ++index) {
        if (name[index] < ' ' || name[index] > '~') return none; /* what the library might refuse */
    }
    const fh_str label = {name, len};
    return label;
}

typedef struct {
    zend_string *name, *owner, *label, *crash;
    zend_long permits; /* -1: a lock */
    zval *ttl, *wait;
    bool resume, fair, reentrant;
} lock_arguments;

/* Makes the handle; false: an exception is pending. */
static bool make_lock(zval *object, zval *client, const lock_arguments *arguments) {
    const uint32_t first = arguments->permits < 0 ? 2 : 3; /* the number of the argument ttl */
    const fencehold_client *self = this_client(client);
    uint64_t ttl = 0;
    uint64_t wait = 0;
    if (self->client == NULL || !fencehold_duration_arg(arguments->ttl, first, FENCEHOLD_TTL, &ttl)) return false;
    if (arguments->wait != NULL && !fencehold_duration_arg(arguments->wait, first + 1, FENCEHOLD_WAIT, &wait))
        return false;
    fh_lock_options options = FH_LOCK_OPTIONS_INIT;
    options.wait_ms = wait;
    options.owner = given(arguments->owner);
    options.label = given(arguments->label);
    if (arguments->label == NULL && !self->labelled) options.label = script_label();
    if (arguments->fair) options.flags |= FH_FAIR;
    if (arguments->reentrant) options.flags |= FH_REENTRANT;
    if (arguments->resume) options.flags |= FH_RESUME;
    if (arguments->crash != NULL && zend_string_equals_literal(arguments->crash, "expire")) {
        options.flags |= FH_CRASH_EXPIRE;
    } else if (arguments->crash != NULL && !zend_string_equals_literal(arguments->crash, "takeover")) {
        fencehold_raise_invalid("locks_bad_crash", "crash is 'takeover' or 'expire' (locks_bad_crash)");
        return false;
    }
    fh_lock *lock = NULL;
    fh_error *error = NULL;
    const char *name = ZSTR_VAL(arguments->name);
    const size_t name_len = ZSTR_LEN(arguments->name);
    fh_status status = FH_OK;
    if (arguments->permits < 0) {
        status = fh_lock_new(self->client, name, name_len, ttl, &options, &lock, &error);
    } else {
        const uint32_t permits = arguments->permits > UINT32_MAX ? UINT32_MAX : (uint32_t)arguments->permits;
        status = fh_semaphore_new(self->client, name, name_len, permits, ttl, &options, &lock, &error);
    }
    if (status != FH_OK) {
        fencehold_raise(status, error);
        return false;
    }
    fencehold_lock_init(object, Z_OBJ_P(client), lock, wait);
    return true;
}

#define LOCK_PARAMETERS(arguments)                                                                                     \
    Z_PARAM_ZVAL((arguments).ttl)                                                                                      \
    Z_PARAM_OPTIONAL                                                                                                   \
    Z_PARAM_ZVAL((arguments).wait)                                                                                     \
    Z_PARAM_STR_OR_NULL((arguments).owner)                                                                             \
    Z_PARAM_BOOL((arguments).resume)                                                                                   \
    Z_PARAM_STR_OR_NULL((arguments).label)                                                                             \
    Z_PARAM_BOOL((arguments).fair)                                                                                     \
    Z_PARAM_BOOL((arguments).reentrant)                                                                                \
    Z_PARAM_STR((arguments).crash)

ZEND_METHOD(Fencehold_Client, lock) {
    lock_arguments arguments = {.permits = -1};
    ZEND_PARSE_PARAMETERS_START(2, 9)
    Z_PARAM_STR(arguments.name)
    LOCK_PARAMETERS(arguments)
    ZEND_PARSE_PARAMETERS_END();
    make_lock(return_value, ZEND_THIS, &arguments);
}

ZEND_METHOD(Fencehold_Client, semaphore) {
    lock_arguments arguments = {0};
    ZEND_PARSE_PARAMETERS_START(3, 10)
    Z_PARAM_STR(arguments.name)
    Z_PARAM_LONG(arguments.permits)
    LOCK_PARAMETERS(arguments)
    ZEND_PARSE_PARAMETERS_END();
    if (arguments.permits < 0) arguments.permits = 0; /* refused below, like 0 */
    make_lock(return_value, ZEND_THIS, &arguments);
}

ZEND_METHOD(Fencehold_Client, acquire) {
    lock_arguments arguments = {.permits = -1};
    ZEND_PARSE_PARAMETERS_START(2, 9)
    Z_PARAM_STR(arguments.name)
    LOCK_PARAMETERS(arguments)
    ZEND_PARSE_PARAMETERS_END();
    zval object;
    if (!make_lock(&object, ZEND_THIS, &arguments)) RETURN_THROWS();
    fencehold_lock *lock = FENCEHOLD_OBJECT(fencehold_lock, Z_OBJ(object));
    if (!fencehold_lock_take(lock)) {
        zval_ptr_dtor(&object);
        RETURN_THROWS();
    }
    RETURN_COPY_VALUE(&object);
}

/* One lock as the store sees it; NULL: an exception is pending. */
static fh_info *show(zval *client, zend_string *name) {
    const fencehold_client *self = this_client(client);
    if (self->client == NULL) return NULL;
    fh_info *info = NULL;
    fh_error *error = NULL;
    const fh_status status = fh_client_holders(self->client, ZSTR_VAL(name), ZSTR_LEN(name), &info, &error);
    if (status == FH_OK) return info;
    fencehold_raise(status, error);
    return NULL;
}

ZEND_METHOD(Fencehold_Client, holders) {
    zend_string *name;
    ZEND_PARSE_PARAMETERS_START(1, 1)
    Z_PARAM_STR(name)
    ZEND_PARSE_PARAMETERS_END();
    fh_info *info = show(ZEND_THIS, name);
    if (info == NULL) RETURN_THROWS();
    fencehold_holders(return_value, info, 0);
    fh_info_free(info);
}

ZEND_METHOD(Fencehold_Client, show) {
    zend_string *name;
    ZEND_PARSE_PARAMETERS_START(1, 1)
    Z_PARAM_STR(name)
    ZEND_PARSE_PARAMETERS_END();
    fh_info *info = show(ZEND_THIS, name);
    if (info == NULL) RETURN_THROWS();
    fencehold_info(return_value, info, 0);
    fh_info_free(info);
}

ZEND_METHOD(Fencehold_Client, list) {
    zend_string *prefix = ZSTR_EMPTY_ALLOC(), *after = ZSTR_EMPTY_ALLOC();
    zend_long limit = 1000;
    ZEND_PARSE_PARAMETERS_START(0, 3)
    Z_PARAM_OPTIONAL
    Z_PARAM_STR(prefix)
    Z_PARAM_LONG(limit)
    Z_PARAM_STR(after)
    ZEND_PARSE_PARAMETERS_END();
    if (limit < 0 || limit > UINT32_MAX) {
        zend_argument_value_error(2, "must be between 0 and 4294967295");
        RETURN_THROWS();
    }
    const fencehold_client *self = this_client(ZEND_THIS);
    if (self->client == NULL) RETURN_THROWS();
    fh_info *info = NULL;
    fh_error *error = NULL;
    const fh_status status = fh_client_list(self->client, ZSTR_VAL(prefix), ZSTR_LEN(prefix), ZSTR_VAL(after),
                                            ZSTR_LEN(after), (uint32_t)limit, &info, &error);
    if (status != FH_OK) {
        fencehold_raise(status, error);
        RETURN_THROWS();
    }
    array_init(return_value);
    const size_t count = fh_info_count(info);
    for (size_t index = 0; index < count; ++index) {
        zval element;
        fencehold_info(&element, info, index);
        add_next_index_zval(return_value, &element);
    }
    fh_info_free(info);
}

ZEND_METHOD(Fencehold_Client, store) {
    ZEND_PARSE_PARAMETERS_NONE();
    const fencehold_client *self = this_client(ZEND_THIS);
    if (self->client == NULL) RETURN_THROWS();
    RETURN_STRING(fh_client_store(self->client));
}

ZEND_METHOD(Fencehold_Client, ping) {
    ZEND_PARSE_PARAMETERS_NONE();
    const fencehold_client *self = this_client(ZEND_THIS);
    if (self->client == NULL) RETURN_THROWS();
    fh_error *error = NULL;
    const fh_status status = fh_client_ping(self->client, &error);
    if (status != FH_OK) fencehold_raise(status, error);
}

ZEND_METHOD(Fencehold_Client, close) {
    ZEND_PARSE_PARAMETERS_NONE();
    fencehold_client *self = this_client(ZEND_THIS);
    if (self->client == NULL) RETURN_THROWS();
    if (self->key != NULL) { /* a closed client is of no use to the next request */
        zend_string_release(self->key);
        self->key = NULL;
    }
    fh_error *error = NULL;
    const fh_status status = fh_client_close(self->client, &error);
    if (status != FH_OK) fencehold_raise(status, error);
}

ZEND_METHOD(Fencehold_Client, forceRelease) {
    zend_string *name, *owner = NULL;
    zend_long token = 0, slot = 0;
    bool no_token = true;
    ZEND_PARSE_PARAMETERS_START(1, 4)
    Z_PARAM_STR(name)
    Z_PARAM_OPTIONAL
    Z_PARAM_LONG_OR_NULL(token, no_token)
    Z_PARAM_STR_OR_NULL(owner)
    Z_PARAM_LONG(slot)
    ZEND_PARSE_PARAMETERS_END();
    if (no_token == (owner == NULL)) {
        fencehold_raise_invalid("locks_bad_id", "forceRelease() ends the hold with a token or of an owner: pass one of "
                                                "the two (locks_bad_id)");
        RETURN_THROWS();
    }
    if (!no_token && token < 1) {
        zend_argument_value_error(2, "must be greater than 0");
        RETURN_THROWS();
    }
    if (slot < 0 || slot > UINT32_MAX) {
        zend_argument_value_error(4, "must be between 0 and 4294967295");
        RETURN_THROWS();
    }
    const fencehold_client *self = this_client(ZEND_THIS);
    if (self->client == NULL) RETURN_THROWS();
    fh_error *error = NULL;
    const fh_str by = given(owner);
    const fh_status status = fh_client_force_release(self->client, ZSTR_VAL(name), ZSTR_LEN(name), (uint32_t)slot,
                                                     no_token ? 0 : (uint64_t)token, by.ptr, by.len, &error);
    if (status < FH_OK) {
        fencehold_raise(status, error);
        RETURN_THROWS();
    }
    RETURN_BOOL(status == FH_OK);
}

ZEND_METHOD(Fencehold_Client, transaction) {
    ZEND_PARSE_PARAMETERS_NONE();
    const fencehold_client *self = this_client(ZEND_THIS);
    if (self->client == NULL) RETURN_THROWS();
    fh_txn *txn = NULL;
    fh_error *error = NULL;
    const fh_status status = fh_txn_new(self->client, &txn, &error);
    if (status != FH_OK) {
        fencehold_raise(status, error);
        RETURN_THROWS();
    }
    fencehold_transaction_init(return_value, Z_OBJ_P(ZEND_THIS), txn);
}

ZEND_METHOD(Fencehold_Client, kv) {
    zend_string *ns;
    ZEND_PARSE_PARAMETERS_START(1, 1)
    Z_PARAM_STR(ns)
    ZEND_PARSE_PARAMETERS_END();
    const fencehold_client *self = this_client(ZEND_THIS);
    if (self->client == NULL) RETURN_THROWS();
    fh_kv *kv = NULL;
    fh_error *error = NULL;
    const fh_status status = fh_kv_new(self->client, ZSTR_VAL(ns), ZSTR_LEN(ns), &kv, &error);
    if (status != FH_OK) {
        fencehold_raise(status, error);
        RETURN_THROWS();
    }
    fencehold_kv_init(return_value, Z_OBJ_P(ZEND_THIS), kv);
}

ZEND_METHOD(Fencehold_Client, advance) {
    zval *by;
    ZEND_PARSE_PARAMETERS_START(1, 1)
    Z_PARAM_ZVAL(by)
    ZEND_PARSE_PARAMETERS_END();
    const fencehold_client *self = this_client(ZEND_THIS);
    uint64_t ms = 0;
    if (self->client == NULL || !fencehold_duration_arg(by, 1, FENCEHOLD_TIME, &ms)) RETURN_THROWS();
    fh_error *error = NULL;
    const fh_status status = fh_client_advance(self->client, ms, &error);
    if (status != FH_OK) fencehold_raise(status, error);
}
