/* The module: its classes, settings, and what happens at the ends of a request. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "php_fencehold.h"

#include <SAPI.h>
#include <ext/json/php_json.h>
#include <ext/spl/spl_exceptions.h>
#include <ext/standard/info.h>
#include <main/php_ini.h>
#include <zend_attributes.h>
#include <zend_exceptions.h>
#include <zend_interfaces.h>

#include "fencehold_arginfo.h"

ZEND_DECLARE_MODULE_GLOBALS(fencehold)

/* Whether this thread is inside a request, so that PHP's log may be used from it. */
static __thread bool in_request = false;

static ZEND_INI_MH(on_max_wait) {
    if (new_value == NULL || ZSTR_LEN(new_value) == 0) {
        FENCEHOLD_G(max_wait) = FH_FOREVER;
        return SUCCESS;
    }
    uint64_t ms = 0;
    fh_error *error = NULL;
    if (fh_wait_parse(ZSTR_VAL(new_value), ZSTR_LEN(new_value), &ms, &error) != FH_OK) {
        zend_error(E_WARNING, "fencehold.max_wait: %s", fh_error_message(error));
        fh_error_free(error);
        return FAILURE;
    }
    FENCEHOLD_G(max_wait) = ms;
    return SUCCESS;
}

PHP_INI_BEGIN()
STD_PHP_INI_ENTRY("fencehold.url", "", PHP_INI_ALL, OnUpdateString, url, zend_fencehold_globals, fencehold_globals)
PHP_INI_ENTRY("fencehold.max_wait", "", PHP_INI_ALL, on_max_wait)
PHP_INI_END()

/* What no call could tell: failures at a request's end, of destructors and of threads. */
static void write_log(int32_t level, const char *message, void *unused) {
    (void)unused;
    if (level > FH_LOG_WARN) return;
    char line[1024];
    snprintf(line, sizeof line, "fencehold: %s", message);
    if (in_request) {
        php_log_err_with_severity(line, level == FH_LOG_ERROR ? LOG_ERR : LOG_WARNING);
    } else {
        fprintf(stderr, "%s\n", line);
    }
}

static PHP_GINIT_FUNCTION(fencehold) {
#if defined(ZTS) && defined(COMPILE_DL_FENCEHOLD)
    ZEND_TSRMLS_CACHE_UPDATE();
#endif
    memset(fencehold_globals, 0, sizeof *fencehold_globals);
    fencehold_globals->max_wait = FH_FOREVER;
    zend_hash_init(&fencehold_globals->pool, 0, NULL, fencehold_pool_free, 1);
}

static PHP_GSHUTDOWN_FUNCTION(fencehold) { zend_hash_destroy(&fencehold_globals->pool); }

#ifdef ZEND_ACC_NODISCARD
static void must_use(zend_class_entry *ce, const char *method) {
    zend_function *function = zend_hash_str_find_ptr(&ce->function_table, method, strlen(method));
    if (function != NULL) function->common.fn_flags |= ZEND_ACC_NODISCARD;
}
#endif

static void register_exceptions(void) {
    zend_class_entry *marker = register_class_Fencehold_Exception_Exception(zend_ce_throwable);
    zend_class_entry *runtime = spl_ce_RuntimeException;
    zend_class_entry *held = register_class_Fencehold_Exception_HeldException(runtime, marker);
    zend_class_entry *const classes[FENCEHOLD_KINDS] = {
        held,
        register_class_Fencehold_Exception_TimedOutException(held),
        register_class_Fencehold_Exception_LostException(runtime, marker),
        register_class_Fencehold_Exception_NotHeldException(runtime, marker),
        register_class_Fencehold_Exception_CancelledException(runtime, marker),
        register_class_Fencehold_Exception_UnreachableException(runtime, marker),
        register_class_Fencehold_Exception_InDoubtException(runtime, marker),
        register_class_Fencehold_Exception_InvalidException(spl_ce_InvalidArgumentException, marker),
        register_class_Fencehold_Exception_UnauthorizedException(runtime, marker),
        register_class_Fencehold_Exception_ForbiddenException(runtime, marker),
        register_class_Fencehold_Exception_RateLimitedException(runtime, marker),
        register_class_Fencehold_Exception_UnsupportedException(runtime, marker),
        register_class_Fencehold_Exception_StoreException(runtime, marker),
        register_class_Fencehold_Exception_ForkedException(runtime, marker),
        register_class_Fencehold_Exception_InternalException(runtime, marker),
    };
    fencehold_errors_startup(classes);
}

static PHP_MINIT_FUNCTION(fencehold) {
    fh_error *error = NULL;
    if (fh_require_version(FH_VERSION_NUMBER, &error) != FH_OK) {
        zend_error(E_CORE_WARNING, "fencehold: %s", fh_error_message(error));
        fh_error_free(error);
        return FAILURE;
    }
    REGISTER_INI_ENTRIES();
    fencehold_client_startup(register_class_Fencehold_Client());
    fencehold_lock_startup(register_class_Fencehold_Lock());
    zend_class_entry *json = php_json_serializable_ce;
    fencehold_values_startup(register_class_Fencehold_Holder(json), register_class_Fencehold_Waiter(json),
                             register_class_Fencehold_LockInfo(json), register_class_Fencehold_Refusal(json),
                             register_class_Fencehold_RunResult(), register_class_Fencehold_CommitResult());
    zend_class_entry *transaction = register_class_Fencehold_Transaction();
    fencehold_transaction_startup(transaction, register_class_Fencehold_Queue());
    zend_class_entry *kv = register_class_Fencehold_Kv();
    fencehold_kv_startup(kv, register_class_Fencehold_ValueRow(), register_class_Fencehold_ValuePage(),
                         register_class_Fencehold_Written());
    register_exceptions();
#ifdef ZEND_ACC_NODISCARD
    must_use(fencehold_lock_ce, "acquire");
    must_use(fencehold_lock_ce, "stepaside");
    must_use(transaction, "commit");
    must_use(kv, "putifabsent");
    must_use(kv, "check");
#endif
    fh_set_log(write_log, NULL, NULL);
    return SUCCESS;
}

static PHP_MSHUTDOWN_FUNCTION(fencehold) {
    fh_set_log(NULL, NULL, NULL);
    UNREGISTER_INI_ENTRIES();
    return SUCCESS;
}

static PHP_RINIT_FUNCTION(fencehold) {
#if defined(ZTS) && defined(COMPILE_DL_FENCEHOLD)
    ZEND_TSRMLS_CACHE_UPDATE();
#endif
    in_request = true;
    return SUCCESS;
}

static PHP_RSHUTDOWN_FUNCTION(fencehold) {
    fencehold_lock_end_all();
    in_request = false;
    return SUCCESS;
}

static PHP_MINFO_FUNCTION(fencehold) {
    char library[32];
    const uint32_t number = fh_version_number();
    snprintf(library, sizeof library, "%u.%u.%u", number / 1000000, number / 1000 % 1000, number % 1000);
    php_info_print_table_start();
    php_info_print_table_row(2, "fencehold support", "enabled");
    php_info_print_table_row(2, "extension version", PHP_FENCEHOLD_VERSION);
    php_info_print_table_row(2, "library version", library);
    php_info_print_table_end();
    DISPLAY_INI_ENTRIES();
}

static const zend_module_dep dependencies[] = {ZEND_MOD_REQUIRED("date") ZEND_MOD_REQUIRED("json")
                                                   ZEND_MOD_REQUIRED("spl") ZEND_MOD_END};

zend_module_entry fencehold_module_entry = {
    STANDARD_MODULE_HEADER_EX,
    NULL,
    dependencies,
    "fencehold",
    NULL,
    PHP_MINIT(fencehold),
    PHP_MSHUTDOWN(fencehold),
    PHP_RINIT(fencehold),
    PHP_RSHUTDOWN(fencehold),
    PHP_MINFO(fencehold),
    PHP_FENCEHOLD_VERSION,
    PHP_MODULE_GLOBALS(fencehold),
    PHP_GINIT(fencehold),
    PHP_GSHUTDOWN(fencehold),
    NULL,
    STANDARD_MODULE_PROPERTIES_EX,
};

#ifdef COMPILE_DL_FENCEHOLD
#ifdef ZTS
ZEND_TSRMLS_CACHE_DEFINE()
#endif
ZEND_GET_MODULE(fencehold)
#endif
