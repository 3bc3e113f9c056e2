/* Durations: numbers are seconds, text has a unit, and PHP's own DateInterval. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "php_fencehold.h"

#include <ext/date/php_date.h>
#include <math.h>

#define DAY_MS 86400000.0
#define LONGEST_MS 9e12 /* about 285 years: beyond it is a mistake */

static bool from_text(const char *text, size_t len, fencehold_duration what, uint64_t *ms) {
    fh_error *error = NULL;
    const fh_status status =
        what == FENCEHOLD_TTL ? fh_ttl_parse(text, len, ms, &error) : fh_wait_parse(text, len, ms, &error);
    if (status != FH_OK && what == FENCEHOLD_EXPIRY) {
        fh_error_free(error);
        fencehold_raise_invalid("kv_bad_ttl", "\"%.*s\" is no lifetime of a row (kv_bad_ttl). Write '1h', or 'forever'",
                                (int)(len < 64 ? len : 64), text);
        return false;
    }
    if (status != FH_OK) {
        fencehold_raise(status, error);
        return false;
    }
    if (what == FENCEHOLD_TIME && *ms == FH_FOREVER) {
        fencehold_raise_invalid("locks_bad_wait", "'forever' is no length of time here (locks_bad_wait). Write '5s'");
        return false;
    }
    return true;
}

/* A number that is no length of time is refused by the parser, in its words. */
static bool from_number(double number, fencehold_duration what, uint64_t *ms) {
    if (number >= 0 && number * 1000 <= LONGEST_MS) {
        /* Rounded up, so that a short wait never becomes none. */
        const double rounded = ceil(number * 1000 - 1e-6);
        *ms = rounded > 0 ? (uint64_t)rounded : 0;
        return true;
    }
    char text[64];
    const int len = snprintf(text, sizeof text, "%.15gs", number);
    return from_text(text, (size_t)len, what, ms);
}

static const char *reason_of(fencehold_duration what) {
    if (what == FENCEHOLD_EXPIRY) return "kv_bad_ttl";
    return what == FENCEHOLD_TTL ? "locks_bad_ttl" : "locks_bad_wait";
}

static bool from_interval(zval *object, fencehold_duration what, uint64_t *ms) {
    const php_interval_obj *interval = Z_PHPINTERVAL_P(object);
    if (!interval->initialized) {
        zend_throw_error(NULL, "The DateInterval object has not been correctly initialized by its constructor");
        return false;
    }
    const timelib_rel_time *time = interval->diff;
    double days = (double)time->d;
    if (time->days != TIMELIB_UNSET) {
        days = (double)time->days;
    } else if (time->y != 0 || time->m != 0) {
        fencehold_raise_invalid(reason_of(what),
                                "an interval of months or years has no fixed length (%s). Use days, hours or seconds",
                                reason_of(what));
        return false;
    }
    const double length = days * DAY_MS + (double)time->h * 3600000 + (double)time->i * 60000 + (double)time->s * 1000 +
                          (double)time->us / 1000;
    return from_number((time->invert ? -length : length) / 1000, what, ms);
}

bool fencehold_duration_arg(zval *value, uint32_t argument, fencehold_duration what, uint64_t *ms) {
    switch (Z_TYPE_P(value)) {
    case IS_LONG:
        return from_number((double)Z_LVAL_P(value), what, ms);
    case IS_DOUBLE:
        return from_number(Z_DVAL_P(value), what, ms);
    case IS_STRING:
        return from_text(Z_STRVAL_P(value), Z_STRLEN_P(value), what, ms);
    case IS_OBJECT:
        if (instanceof_function(Z_OBJCE_P(value), php_date_get_interval_ce())) return from_interval(value, what, ms);
        break;
    default:
        break;
    }
    zend_argument_type_error(argument, "must be of type DateInterval|string|int|float, %s given",
                             zend_zval_type_name(value));
    return false;
}
