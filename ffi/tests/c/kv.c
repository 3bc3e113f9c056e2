/* Rows through their own functions. */
#include "check.h"

/* Compares one row and frees the answer. */
static void row_is(fh_rows *rows, const char *key, const char *value, uint64_t version) {
    fh_row row = FH_ROW_INIT;
    CHECK(fh_rows_count(rows) == 1);
    OK(fh_rows_row(rows, 0, &row));
    CHECK(row.struct_size == sizeof row && row.version == version);
    CHECK_TEXT(row.key, key);
    CHECK_TEXT(row.value_json, value);
    fh_rows_free(rows);
}

static uint64_t version_of(fh_rows *rows) {
    fh_row row = FH_ROW_INIT;
    OK(fh_rows_row(rows, 0, &row));
    CHECK(fh_rows_reason(rows) == NULL && row.version > 0);
    fh_rows_free(rows);
    return row.version;
}

static uint64_t put(const fh_kv *kv, const char *key, const char *value) {
    fh_rows *rows = NULL;
    OK(fh_kv_put(kv, key, strlen(key), value, strlen(value), FH_FOREVER, FH_ANY_VERSION, &rows, NULL));
    return version_of(rows);
}

/* `rows` is where the call wrote its answer, so that it is read after it. */
static void lost(fh_status status, fh_rows **rows, const char *reason, const char *key, const char *value,
                 uint64_t version) {
    IS(FH_REFUSED, status);
    CHECK_TEXT(fh_rows_reason(*rows), reason);
    row_is(*rows, key, value, version);
}

static void rows_are_written_and_read(fh_client *client) {
    fh_kv *kv = NULL, *other = NULL;
    fh_rows *rows = NULL;
    uint64_t first, second, was;
    OK(fh_kv_new(client, FH_S("work"), &kv, NULL));
    OK(fh_kv_new(client, FH_S("other"), &other, NULL));
    OK(fh_kv_get(kv, FH_S("k"), &rows, NULL));
    CHECK(rows != NULL && fh_rows_count(rows) == 0 && fh_rows_next(rows) == NULL);
    fh_rows_free(rows);
    first = put(kv, "k", "{\"a\": [1, \"\xc3\xa4\\u0000\"]}");
    OK(fh_kv_get(kv, FH_S("k"), &rows, NULL));
    row_is(rows, "k", "{\"a\":[1,\"\xc3\xa4\\u0000\"]}", first);
    OK(fh_kv_get(other, FH_S("k"), &rows, NULL));
    CHECK(fh_rows_count(rows) == 0);
    fh_rows_free(rows);

    /* with the version that is expected, and without */
    OK(fh_kv_put(kv, FH_S("k"), FH_S("2"), 60000, first, &rows, NULL));
    second = version_of(rows);
    CHECK(second > first);
    was = second;
    lost(fh_kv_put(kv, FH_S("k"), FH_S("3"), 60000, first, &rows, NULL), &rows, "version", "k", "2", second);
    lost(fh_kv_put(kv, FH_S("k"), FH_S("3"), 60000, 0, &rows, NULL), &rows, "exists", "k", "2", second);
    lost(fh_kv_put(kv, FH_S("none"), FH_S("3"), 60000, 7, &rows, NULL), &rows, "absent", "none", "null", 0);
    lost(fh_kv_put_if_absent(kv, FH_S("k"), FH_S("3"), 60000, &rows, NULL), &rows, "exists", "k", "2", second);
    OK(fh_kv_put_if_absent(kv, FH_S("new"), FH_S("\"n\""), FH_FOREVER, &rows, NULL));
    CHECK(version_of(rows) > second);
    OK(fh_kv_check(kv, FH_S("k"), second, &rows, NULL));
    row_is(rows, "k", "null", second);
    OK(fh_kv_check(kv, FH_S("none"), 0, &rows, NULL));
    row_is(rows, "none", "null", 0);
    lost(fh_kv_check(kv, FH_S("k"), first, &rows, NULL), &rows, "version", "k", "2", second);

    /* numbers */
    OK(fh_kv_incr(kv, FH_S("k"), -5, FH_FOREVER, &rows, NULL));
    second = version_of(rows);
    OK(fh_kv_get(kv, FH_S("k"), &rows, NULL));
    row_is(rows, "k", "-3", second);
    OK(fh_kv_incr(kv, FH_S("count"), INT64_MIN, FH_FOREVER, &rows, NULL));
    first = version_of(rows);
    lost(fh_kv_incr(kv, FH_S("count"), -1, FH_FOREVER, &rows, NULL), &rows, "limit", "count", "-9223372036854775808",
         first);
    first = put(kv, "text", "\"t\"");
    lost(fh_kv_incr(kv, FH_S("text"), 1, FH_FOREVER, &rows, NULL), &rows, "type", "text", "\"t\"", first);

    /* and away */
    lost(fh_kv_delete(kv, FH_S("k"), was, &rows, NULL), &rows, "version", "k", "-3", second);
    OK(fh_kv_delete(kv, FH_S("k"), second, &rows, NULL));
    row_is(rows, "k", "-3", second);
    lost(fh_kv_delete(kv, FH_S("k"), FH_ANY_VERSION, &rows, NULL), &rows, "absent", "k", "null", 0);
    fh_kv_free(other);
    fh_kv_free(kv);
}

static void rows_of_each_store(void) {
    char folder[64];
    fh_client *client = open_memory();
    rows_are_written_and_read(client);
    fh_client_free(client);
    client = open_folder(folder);
    rows_are_written_and_read(client);
    fh_client_free(client);
    remove_folder(folder);
}

static void many_rows_come_by_key(void) {
    fh_client *client = open_memory();
    fh_kv *kv = NULL;
    fh_rows *rows = NULL, *rest = NULL;
    fh_row row = FH_ROW_INIT;
    const fh_str keys[] = {{"p/c", 3}, {"none", 4}, {"p/a", 3}};
    OK(fh_kv_new(client, FH_S("work"), &kv, NULL));
    fh_client_free(client); /* what was made from it goes on */
    put(kv, "p/b", "2");
    put(kv, "p/c", "3");
    put(kv, "p/a", "1");
    put(kv, "q", "4");
    OK(fh_kv_get_many(kv, keys, 3, &rows, NULL));
    CHECK(fh_rows_count(rows) == 2 && fh_rows_next(rows) == NULL);
    OK(fh_rows_row(rows, 1, &row));
    CHECK_TEXT(row.key, "p/c");
    CHECK_TEXT(row.value_json, "3");
    IS(FH_ERR_INVALID, fh_rows_row(rows, 2, &row));
    IS(FH_ERR_INVALID, fh_rows_row(rows, 0, NULL));
    row.struct_size = 1;
    IS(FH_ERR_INVALID, fh_rows_row(rows, 0, &row));
    /* A program that was built when the struct ended earlier. */
    row.struct_size = offsetof(fh_row, version);
    row.version = 0;
    OK(fh_rows_row(rows, 0, &row));
    CHECK_TEXT(row.key, "p/a");
    CHECK(row.version == 0);
    fh_rows_free(rows);
    OK(fh_kv_get_many(kv, NULL, 0, &rows, NULL));
    CHECK(fh_rows_count(rows) == 0);
    fh_rows_free(rows);

    OK(fh_kv_get_prefix(kv, FH_S("p/"), 2, NULL, 0, &rows, NULL));
    CHECK(fh_rows_count(rows) == 2);
    CHECK_TEXT(fh_rows_next(rows), "p/b");
    OK(fh_kv_get_prefix(kv, FH_S("p/"), 2, fh_rows_next(rows), strlen(fh_rows_next(rows)), &rest, NULL));
    CHECK(fh_rows_next(rest) == NULL);
    fh_rows_free(rows);
    row.struct_size = sizeof row;
    OK(fh_rows_row(rest, 0, &row));
    row_is(rest, "p/c", "3", row.version);
    fh_kv_free(kv);
}

static void a_row_ends_when_its_time_is_over(void) {
    fh_client *client = open_manual("rows");
    fh_kv *kv = NULL;
    fh_rows *rows = NULL;
    OK(fh_kv_new(client, FH_S("work"), &kv, NULL));
    OK(fh_kv_put(kv, FH_S("k"), FH_S("1"), 1500, FH_ANY_VERSION, &rows, NULL)); /* whole seconds: 2 */
    fh_rows_free(rows);
    OK(fh_client_advance(client, 1900, NULL));
    OK(fh_kv_get(kv, FH_S("k"), &rows, NULL));
    CHECK(fh_rows_count(rows) == 1);
    fh_rows_free(rows);
    OK(fh_client_advance(client, 200, NULL));
    OK(fh_kv_get(kv, FH_S("k"), &rows, NULL));
    CHECK(fh_rows_count(rows) == 0);
    fh_rows_free(rows);
    fh_kv_free(kv);
    fh_client_free(client);
}

static void what_can_never_work_is_refused(void) {
    fh_client *client = open_memory();
    fh_kv *kv = NULL, *bad = NULL;
    fh_rows *rows = NULL;
    const fh_str keys[] = {{"a", 1}, {"\xff", 1}};
    const uint64_t any = FH_ANY_VERSION, forever = FH_FOREVER;
    INVALID("null", fh_kv_new(NULL, FH_S("work"), &kv, &error));
    INVALID("null", fh_kv_new(client, FH_S("work"), NULL, &error));
    INVALID("kv_bad_namespace", fh_kv_new(client, FH_S("\xff"), &kv, &error));
    OK(fh_kv_new(client, FH_S("Not a namespace"), &bad, NULL));
    INVALID("kv_bad_namespace", fh_kv_get(bad, FH_S("k"), &rows, &error));
    OK(fh_kv_new(client, FH_S("work"), &kv, NULL));
    INVALID("null", fh_kv_get(NULL, FH_S("k"), &rows, &error));
    INVALID("null", fh_kv_get(kv, FH_S("k"), NULL, &error));
    INVALID("kv_bad_key", fh_kv_get(kv, NULL, 0, &rows, &error));
    INVALID("kv_bad_key", fh_kv_get(kv, "\xff", 1, &rows, &error));
    INVALID("kv_bad_key", fh_kv_check(kv, "a\0b", 3, 0, &rows, &error));
    INVALID("kv_bad_key", fh_kv_delete(kv, NULL, 1, any, &rows, &error));
    INVALID("null", fh_kv_get_many(kv, NULL, 2, &rows, &error));
    INVALID("kv_bad_key", fh_kv_get_many(kv, keys, 2, &rows, &error));
    INVALID("kv_prefix_required", fh_kv_get_prefix(kv, NULL, 0, 10, NULL, 0, &rows, &error));
    INVALID("kv_bad_request", fh_kv_put(kv, FH_S("k"), FH_S(""), forever, any, &rows, &error));
    INVALID("kv_bad_request", fh_kv_put(kv, FH_S("k"), FH_S("{"), forever, any, &rows, &error));
    INVALID("kv_bad_request", fh_kv_put_if_absent(kv, FH_S("k"), FH_S("1 2"), forever, &rows, &error));
    INVALID("kv_bad_ttl", fh_kv_put(kv, FH_S("k"), FH_S("1"), 0, any, &rows, &error));
    INVALID("kv_bad_ttl", fh_kv_incr(kv, FH_S("k"), 1, 0, &rows, &error));
    CHECK(rows == NULL && fh_rows_count(NULL) == 0 && fh_rows_next(NULL) == NULL && fh_rows_reason(NULL) == NULL);
    OK(fh_client_close(client, NULL));
    INVALID("client_closed", fh_kv_get(kv, FH_S("k"), &rows, &error));
    fh_rows_free(NULL);
    fh_kv_free(NULL);
    fh_kv_free(bad);
    fh_kv_free(kv);
    fh_client_free(client);
}

void kv_tests(void) {
    RUN(rows_of_each_store);
    RUN(many_rows_come_by_key);
    RUN(a_row_ends_when_its_time_is_over);
    RUN(what_can_never_work_is_refused);
}
