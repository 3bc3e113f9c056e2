/* Locks: a handle each, and the waits, during which PHP's signal handlers run. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "php_fencehold.h"

#include <SAPI.h>
#include <main/php_main.h>
#include <zend_exceptions.h>
#include <zend_fibers.h>

#define POLL_MS 50 /* how often a wait looks whether PHP wants something */

zend_class_entry *fencehold_lock_ce;
static zend_object_handlers handlers;

static zend_always_inline fencehold_lock *this_lock(zval *object) {
    return FENCEHOLD_OBJECT(fencehold_lock, Z_OBJ_P(object));
}

/* --- waiting */

/* Called about every POLL_MS on the waiting thread; not 0 ends the wait. A PHP signal handler runs in here. What it
 * throws, and PHP's way of ending a request (a jump), must not pass through the library: the first stays pending, the
 * second is noted, and both go on when the wait is over. */
static int32_t should_end(void *unused) {
    (void)unused;
    if (!PG(ignore_user_abort) && (PG(connection_status) & PHP_CONNECTION_ABORTED)) return 1;
    if (!zend_atomic_bool_load_ex(&EG(vm_interrupt))) return 0;
    zend_fiber_switch_block(); /* a fiber that left from here would leave the library's frames behind */
    zend_try {
        zend_atomic_bool_store_ex(&EG(vm_interrupt), false);
        if (zend_atomic_bool_load_ex(&EG(timed_out))) {
            zend_timeout();
        } else if (zend_interrupt_function) {
            zend_interrupt_function(EG(current_execute_data));
        }
    }
    zend_catch { FENCEHOLD_G(bailout) = true; }
    zend_end_try();
    zend_fiber_switch_unblock();
    return FENCEHOLD_G(bailout) || EG(exception) != NULL;
}

static void throw_over(void) { zend_throw_error(NULL, "The request that this Fencehold\\Lock belonged to is over"); }

typedef fh_status (*waiting_call)(const fh_lock *lock, uint64_t wait, const fh_cancel *cancel, uint64_t *epoch,
                                  fh_error **error);

static fh_status do_acquire(const fh_lock *lock, uint64_t wait, const fh_cancel *cancel, uint64_t *epoch,
                            fh_error **error) {
    const fh_status status = fh_lock_acquire(lock, wait, cancel, error);
    *epoch = fh_lock_epoch(lock);
    return status;
}

static fh_status do_step_aside(const fh_lock *lock, uint64_t wait, const fh_cancel *cancel, uint64_t *epoch,
                               fh_error **error) {
    const fh_status status = fh_lock_step_aside(lock, wait, cancel, error);
    *epoch = fh_lock_epoch(lock);
    return status;
}

/* False: an exception is pending, and nothing was taken. Else *status is the answer. What is refused comes with an
 * error only where that is asked for: refused is NULL, or gets it. */
static bool wait_for(fencehold_lock *self, waiting_call call, uint64_t wait, uint64_t *epoch, fh_status *status,
                     fh_error **refused) {
    if (self->lock == NULL) {
        throw_over();
        return false;
    }
    if (self->waits) {
        fencehold_raise_as(FH_ERR_INVALID, "waiting", fh_lock_name(self->lock), NULL,
                           "lock \"%s\": this handle is waiting already, and this is a signal handler of that wait. "
                           "Make a handle of its own with $client->lock()",
                           fh_lock_name(self->lock));
        return false;
    }
    if (wait == FH_DEFAULT_WAIT) wait = self->wait;
    if (wait > FENCEHOLD_G(max_wait)) wait = FENCEHOLD_G(max_wait);
    fh_cancel *cancel = NULL;
    fh_error *error = NULL;
    if (wait > 0) {
        *status = fh_cancel_new_polling(POLL_MS, should_end, NULL, NULL, &cancel);
        if (*status != FH_OK) {
            fencehold_raise(*status, NULL);
            return false;
        }
    }
    self->waits = true;
    GC_ADDREF(&self->std); /* a signal handler may drop the last other reference to it */
    *status = call(self->lock, wait, cancel, epoch, &error);
    self->waits = false;
    fh_cancel_free(cancel);
    const bool ended = FENCEHOLD_G(bailout) || EG(exception) != NULL;
    if (ended) {
        /* Granted in the same moment: nobody would know. */
        if (*status == FH_OK) fh_lock_release_epoch(self->lock, *epoch, NULL);
        fh_error_free(error);
    }
    OBJ_RELEASE(&self->std);
    if (FENCEHOLD_G(bailout)) {
        FENCEHOLD_G(bailout) = false;
        zend_bailout();
    }
    if (ended) return false;
    if (*status > FH_OK && refused != NULL) {
        *refused = error;
        return true;
    }
    if (*status < FH_OK || error != NULL) {
        fencehold_raise(*status, error);
        return false;
    }
    return true;
}

bool fencehold_lock_take(fencehold_lock *self) {
    uint64_t epoch = 0;
    fh_status status = FH_OK;
    return wait_for(self, fh_lock_take, FH_DEFAULT_WAIT, &epoch, &status, NULL);
}

/* --- the object */

static zend_object *lock_create(zend_class_entry *ce) {
    fencehold_lock *self = zend_object_alloc(sizeof *self, ce);
    memset(self, 0, XtOffsetOf(fencehold_lock, std));
    zend_object_std_init(&self->std, ce);
    object_properties_init(&self->std, ce);
    self->std.handlers = &handlers;
    return &self->std;
}

/* Gives back what is held, within the library's limit; failures go to the log. */
static void end_lock(fencehold_lock *self) {
    if (self->lock == NULL) return;
    *self->link = self->next;
    if (self->next != NULL) self->next->link = self->link;
    fh_lock_free(self->lock);
    self->lock = NULL;
}

static void lock_free(zend_object *object) {
    fencehold_lock *self = FENCEHOLD_OBJECT(fencehold_lock, object);
    end_lock(self);
    if (self->client != NULL) OBJ_RELEASE(self->client);
    zend_object_std_dtor(object);
}

void fencehold_lock_end_all(void) {
    while (FENCEHOLD_G(locks) != NULL) end_lock(FENCEHOLD_G(locks));
}

void fencehold_lock_startup(zend_class_entry *ce) {
    fencehold_lock_ce = ce;
    ce->create_object = lock_create;
    memcpy(&handlers, &std_object_handlers, sizeof handlers);
    handlers.offset = XtOffsetOf(fencehold_lock, std);
    handlers.free_obj = lock_free;
    handlers.clone_obj = NULL;
    handlers.compare = zend_objects_not_comparable;
}

fencehold_lock *fencehold_lock_init(zval *object, zend_object *client, fh_lock *lock, uint64_t wait) {
    object_init_ex(object, fencehold_lock_ce);
    fencehold_lock *self = this_lock(object);
    self->lock = lock;
    self->wait = wait;
    self->client = client;
    GC_ADDREF(client);
    self->next = FENCEHOLD_G(locks);
    self->link = &FENCEHOLD_G(locks);
    if (self->next != NULL) self->next->link = &self->next;
    FENCEHOLD_G(locks) = self;
    return self;
}

/* --- methods */

/* Private: handles come from a client. */
ZEND_METHOD(Fencehold_Lock, __construct) { ZEND_PARSE_PARAMETERS_NONE(); }

/* The wait that was passed, else the handle's own; false: an exception is pending. */
static bool given_wait(zval *wait, uint32_t argument, uint64_t *ms) {
    *ms = FH_DEFAULT_WAIT;
    return wait == NULL || fencehold_duration_arg(wait, argument, FENCEHOLD_WAIT, ms);
}

static void wait_method(INTERNAL_FUNCTION_PARAMETERS, waiting_call call) {
    zval *wait = NULL;
    ZEND_PARSE_PARAMETERS_START(0, 1)
    Z_PARAM_OPTIONAL
    Z_PARAM_ZVAL(wait)
    ZEND_PARSE_PARAMETERS_END();
    uint64_t ms = 0;
    uint64_t epoch = 0;
    fh_status status = FH_OK;
    if (!given_wait(wait, 1, &ms) || !wait_for(this_lock(ZEND_THIS), call, ms, &epoch, &status, NULL)) RETURN_THROWS();
    RETURN_BOOL(status == FH_OK);
}

ZEND_METHOD(Fencehold_Lock, acquire) { wait_method(INTERNAL_FUNCTION_PARAM_PASSTHRU, do_acquire); }

ZEND_METHOD(Fencehold_Lock, stepAside) { wait_method(INTERNAL_FUNCTION_PARAM_PASSTHRU, do_step_aside); }

/* Gives back the hold that run() took. The body's exception comes first, ours becomes its last previous one. Answers
 * false if ours is pending. */
static bool leave(fencehold_lock *self, uint64_t epoch, zval *value) {
    zend_object *thrown = EG(exception);
    fh_error *error = NULL;
    const fh_status status = self->lock == NULL ? FH_OK : fh_lock_leave(self->lock, epoch, &error);
    if (status == FH_OK) return thrown == NULL;
    if (thrown == NULL) {
        zval ours;
        fencehold_error_object(&ours, status, error);
        if (zend_hash_str_exists(&Z_OBJCE(ours)->properties_info, ZEND_STRL("value"))) {
            zval copy;
            ZVAL_COPY(&copy, value);
            fencehold_set(Z_OBJ(ours), "value", &copy);
        }
        zend_throw_exception_object(&ours);
        return false;
    }
    if (zend_is_unwind_exit(thrown) || zend_is_graceful_exit(thrown)) {
        fh_error_free(error);
        return false;
    }
    zval ours;
    EG(exception) = NULL;
    fencehold_error_object(&ours, status, error);
    EG(exception) = thrown;
    zend_exception_set_previous(thrown, Z_OBJ(ours));
    return false;
}

ZEND_METHOD(Fencehold_Lock, run) {
    zend_fcall_info call;
    zend_fcall_info_cache cache;
    zval *wait = NULL;
    ZEND_PARSE_PARAMETERS_START(1, 2)
    Z_PARAM_FUNC(call, cache)
    Z_PARAM_OPTIONAL
    Z_PARAM_ZVAL(wait)
    ZEND_PARSE_PARAMETERS_END();
    fencehold_lock *self = this_lock(ZEND_THIS);
    uint64_t ms = 0;
    uint64_t epoch = 0;
    fh_status status = FH_OK;
    fh_error *refused = NULL;
    if (!given_wait(wait, 2, &ms) || !wait_for(self, fh_lock_take, ms, &epoch, &status, &refused)) {
        zend_release_fcall_info_cache(&cache);
        RETURN_THROWS();
    }
    zval value;
    zval refusal;
    ZVAL_NULL(&value);
    ZVAL_NULL(&refusal);
    if (status != FH_OK) {
        zend_release_fcall_info_cache(&cache);
        fh_info *info = NULL;
        const char *reason = refused == NULL ? NULL : fh_error_refusal(refused, &info);
        fencehold_refusal(&refusal, reason, info);
        fh_error_free(refused);
        fencehold_run_result(return_value, false, &value, &refusal);
        return;
    }
    zval answer;
    ZVAL_UNDEF(&answer);
    call.retval = &answer;
    zend_call_function(&call, &cache);
    if (Z_TYPE(answer) != IS_UNDEF) {
        ZVAL_COPY_DEREF(&value, &answer);
        zval_ptr_dtor(&answer);
    }
    if (!leave(self, epoch, &value)) {
        zval_ptr_dtor(&value);
        RETURN_THROWS();
    }
    fencehold_run_result(return_value, true, &value, &refusal);
}

ZEND_METHOD(Fencehold_Lock, keepAlive) {
    ZEND_PARSE_PARAMETERS_NONE();
    const fencehold_lock *self = this_lock(ZEND_THIS);
    RETURN_BOOL(EXPECTED(self->lock != NULL) && fh_lock_keep_alive(self->lock) == FH_OK);
}

ZEND_METHOD(Fencehold_Lock, release) {
    ZEND_PARSE_PARAMETERS_NONE();
    const fencehold_lock *self = this_lock(ZEND_THIS);
    if (self->lock == NULL) RETURN_FALSE;
    fh_error *error = NULL;
    const fh_status status = fh_lock_release(self->lock, &error);
    if (status < FH_OK) {
        fencehold_raise(status, error);
        RETURN_THROWS();
    }
    RETURN_BOOL(status == FH_OK);
}

ZEND_METHOD(Fencehold_Lock, held) {
    ZEND_PARSE_PARAMETERS_NONE();
    const fencehold_lock *self = this_lock(ZEND_THIS);
    RETURN_BOOL(self->lock != NULL && fh_lock_held(self->lock));
}

ZEND_METHOD(Fencehold_Lock, atRisk) {
    ZEND_PARSE_PARAMETERS_NONE();
    const fencehold_lock *self = this_lock(ZEND_THIS);
    RETURN_BOOL(self->lock != NULL && fh_lock_at_risk(self->lock));
}

static const char *const lost_words[] = {NULL, "renew", "guard", "expired", "forked"};
#define LOST_WORDS ((int32_t)(sizeof lost_words / sizeof lost_words[0]))

ZEND_METHOD(Fencehold_Lock, lostReason) {
    ZEND_PARSE_PARAMETERS_NONE();
    const fencehold_lock *self = this_lock(ZEND_THIS);
    const int32_t reason = self->lock == NULL ? 0 : fh_lock_lost_reason(self->lock);
    if (reason <= 0 || reason >= LOST_WORDS) RETURN_NULL();
    RETURN_STRING(lost_words[reason]);
}

ZEND_METHOD(Fencehold_Lock, refusal) {
    ZEND_PARSE_PARAMETERS_NONE();
    const fencehold_lock *self = this_lock(ZEND_THIS);
    fh_info *info = NULL;
    const char *reason = self->lock == NULL ? NULL : fh_lock_refusal(self->lock, &info);
    fencehold_refusal(return_value, reason, info);
}

/* Whether the numbers of a grant can be read; if not, an exception is pending. */
static bool is_readable(const fencehold_lock *self, const char *what) {
    if (self->lock == NULL) {
        throw_over();
        return false;
    }
    if (fh_lock_fence(self->lock) != 0) return true;
    const char *name = fh_lock_name(self->lock);
    const char *store = fh_client_store(FENCEHOLD_OBJECT(fencehold_client, self->client)->client);
    const bool forked = fh_lock_lost_reason(self->lock) == FH_LOST_FORKED;
    fencehold_raise_as(FH_ERR_NOT_HELD, "not_held", name, store, "lock \"%s\" on %s: %s, so it has no %s", name, store,
                       forked ? "this handle is its parent process's" : "nothing was acquired through this handle",
                       what);
    return false;
}

ZEND_METHOD(Fencehold_Lock, token) {
    ZEND_PARSE_PARAMETERS_NONE();
    const fencehold_lock *self = this_lock(ZEND_THIS);
    if (!is_readable(self, "token")) RETURN_THROWS();
    RETURN_LONG((zend_long)fh_lock_token(self->lock));
}

ZEND_METHOD(Fencehold_Lock, fence) {
    ZEND_PARSE_PARAMETERS_NONE();
    const fencehold_lock *self = this_lock(ZEND_THIS);
    if (!is_readable(self, "fence")) RETURN_THROWS();
    RETURN_LONG((zend_long)fh_lock_fence(self->lock));
}

ZEND_METHOD(Fencehold_Lock, slot) {
    ZEND_PARSE_PARAMETERS_NONE();
    const fencehold_lock *self = this_lock(ZEND_THIS);
    if (!is_readable(self, "slot")) RETURN_THROWS();
    RETURN_LONG(fh_lock_slot(self->lock));
}

ZEND_METHOD(Fencehold_Lock, position) {
    ZEND_PARSE_PARAMETERS_NONE();
    const fencehold_lock *self = this_lock(ZEND_THIS);
    RETURN_LONG(self->lock == NULL ? 0 : fh_lock_position(self->lock));
}

ZEND_METHOD(Fencehold_Lock, name) {
    ZEND_PARSE_PARAMETERS_NONE();
    const fencehold_lock *self = this_lock(ZEND_THIS);
    RETURN_STRING(self->lock == NULL ? "" : fh_lock_name(self->lock));
}

ZEND_METHOD(Fencehold_Lock, owner) {
    ZEND_PARSE_PARAMETERS_NONE();
    const fencehold_lock *self = this_lock(ZEND_THIS);
    RETURN_STRING(self->lock == NULL ? "" : fh_lock_owner(self->lock));
}

ZEND_METHOD(Fencehold_Lock, ttlMs) {
    ZEND_PARSE_PARAMETERS_NONE();
    const fencehold_lock *self = this_lock(ZEND_THIS);
    RETURN_LONG(self->lock == NULL ? 0 : (zend_long)fh_lock_ttl_ms(self->lock));
}

ZEND_METHOD(Fencehold_Lock, remainingMs) {
    ZEND_PARSE_PARAMETERS_NONE();
    const fencehold_lock *self = this_lock(ZEND_THIS);
    RETURN_LONG(self->lock == NULL ? 0 : (zend_long)fh_lock_remaining_ms(self->lock));
}

ZEND_METHOD(Fencehold_Lock, lastError) {
    ZEND_PARSE_PARAMETERS_NONE();
    const fencehold_lock *self = this_lock(ZEND_THIS);
    fh_error *error = self->lock == NULL ? NULL : fh_lock_last_error(self->lock);
    if (error == NULL) RETURN_NULL();
    fencehold_error_object(return_value, fh_error_kind(error), error);
}

ZEND_METHOD(Fencehold_Lock, lose) {
    zend_string *word;
    ZEND_PARSE_PARAMETERS_START(1, 1)
    Z_PARAM_STR(word)
    ZEND_PARSE_PARAMETERS_END();
    const fencehold_lock *self = this_lock(ZEND_THIS);
    int32_t reason = 1;
    while (reason < LOST_WORDS && !zend_string_equals_cstr(word, lost_words[reason], strlen(lost_words[reason])))
        ++reason;
    if (reason == LOST_WORDS) {
        zend_argument_value_error(1, "must be one of 'renew', 'guard', 'expired' or 'forked'");
        RETURN_THROWS();
    }
    if (self->lock == NULL) return;
    fh_error *error = NULL;
    const fh_status status = fh_lock_lose(self->lock, reason, &error);
    if (status != FH_OK) fencehold_raise(status, error);
}
