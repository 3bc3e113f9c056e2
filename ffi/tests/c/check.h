/* What the C tests share. Every file of this folder compiles as C11 and as C++17. */
#ifndef FENCEHOLD_CHECK_H
#define FENCEHOLD_CHECK_H

#include <fencehold.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) check_that((condition) != 0, #condition, __FILE__, __LINE__)
#define CHECK_TEXT(text, expected) check_text((text), (expected), #text, __FILE__, __LINE__)
/* Runs `call`, which is to answer FH_OK. */
#define OK(call) check_status((call), FH_OK, #call, __FILE__, __LINE__)
/* Runs `call`, which is to answer `status`. */
#define IS(status, call) check_status((call), (status), #call, __FILE__, __LINE__)
/* Runs `call`, which has `&error` as its last argument and is to fail with this status and reason. */
#define FAILS(status, reason, call)                                                                                    \
    do {                                                                                                               \
        fh_error *error = check_not_written();                                                                         \
        const fh_status answered = (call);                                                                             \
        check_error(answered, (status), error, (reason), #call, __FILE__, __LINE__);                                   \
    } while (0)
/* The same with FH_ERR_INVALID. */
#define INVALID(reason, call) FAILS(FH_ERR_INVALID, reason, call)
#define RUN(test) check_run(test, #test)

void check_that(int holds, const char *what, const char *file, int line);
void check_text(const char *text, const char *expected, const char *what, const char *file, int line);
fh_status check_status(fh_status status, fh_status expected, const char *what, const char *file, int line);
fh_error *check_not_written(void);
void check_error(fh_status status, fh_status expected, fh_error *error, const char *reason, const char *what,
                 const char *file, int line);
void check_run(void (*test)(void), const char *name);

/* A client of a memory: store that nobody else uses. */
fh_client *open_memory(void);
/* The same, with the manual clock; another client of the same store each time it is called with one name. */
fh_client *open_manual(const char *name);
/* A client of a new file: store; `folder` gets its path and is removed with remove_folder(). */
fh_client *open_folder(char folder[64]);
void remove_folder(const char *folder);
/* Checkpoint handles of 30 s. */
fh_lock *new_lock(const fh_client *client, const char *name);
void sleep_ms(long ms);
uint64_t now_ms(void);

void arguments_tests(void);
void names_tests(void);
void options_tests(void);
void error_tests(void);
void lock_tests(void);
void scope_tests(void);
void cancel_tests(void);
void callback_tests(void);
void info_tests(void);
void step_tests(void);
void fork_tests(void);
void log_tests(void);
void random_tests(void);
void kv_tests(void);

#endif
