/* Ending a wait: from another thread, from a signal handler, by asking a function, by closing the client. */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

static fh_client *client;
static fh_lock *holder, *waiter;

static void begin(void) {
    client = open_memory();
    holder = new_lock(client, "n");
    waiter = new_lock(client, "n");
    OK(fh_lock_acquire(holder, 0, NULL, NULL));
}

static void end(void) {
    fh_lock_free(waiter);
    fh_lock_free(holder);
    fh_client_free(client);
}

static size_t in_line(void) {
    fh_info *info = NULL;
    size_t waiting;
    OK(fh_client_holders(client, FH_S("n"), &info, NULL));
    waiting = fh_info_waiting(info, 0);
    fh_info_free(info);
    return waiting;
}

/* Waits until somebody waits, at most ten seconds. */
static void until_in_line(void) {
    const uint64_t limit = now_ms() + 10000;
    while (in_line() == 0 && now_ms() < limit) {
        sleep_ms(1);
    }
}

static void *trigger_when_in_line(void *cancel) {
    until_in_line();
    fh_cancel_trigger((const fh_cancel *)cancel);
    return NULL;
}

static void another_thread_ends_a_wait(void) {
    fh_cancel *cancel = NULL;
    pthread_t thread;
    begin();
    OK(fh_cancel_new(&cancel));
    CHECK(pthread_create(&thread, NULL, trigger_when_in_line, cancel) == 0);
    FAILS(FH_ERR_CANCELLED, "cancelled", fh_lock_acquire(waiter, FH_FOREVER, cancel, &error));
    pthread_join(thread, NULL);
    CHECK(fh_lock_held(waiter) == 0 && in_line() == 0 && fh_lock_position(waiter) == 0);
    end();
    fh_cancel_free(cancel);
}

static void a_triggered_cancel_stays_triggered(void) {
    fh_cancel *cancel = NULL;
    begin();
    OK(fh_cancel_new(&cancel));
    fh_cancel_trigger(cancel);
    fh_cancel_trigger(cancel);
    FAILS(FH_ERR_CANCELLED, "cancelled", fh_lock_acquire(waiter, 0, cancel, &error));
    FAILS(FH_ERR_CANCELLED, "cancelled", fh_lock_take(waiter, FH_FOREVER, cancel, NULL, &error));
    FAILS(FH_ERR_CANCELLED, "cancelled", fh_lock_step_aside(waiter, FH_FOREVER, cancel, &error));
    CHECK(in_line() == 0);
    fh_cancel_free(cancel);
    end();
}

static fh_cancel *signalled;
static volatile sig_atomic_t signals;

static void on_alarm(int number) {
    (void)number;
    ++signals;
    fh_cancel_trigger(signalled); /* NULL at first */
}

static void ring_every_20_ms(long microseconds) {
    struct itimerval timer;
    memset(&timer, 0, sizeof timer);
    timer.it_value.tv_usec = timer.it_interval.tv_usec = microseconds;
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void a_signal_handler_ends_a_wait_and_other_signals_do_not(void) {
    struct sigaction action, before;
    uint64_t began;
    fh_cancel *cancel = NULL;
    begin();
    OK(fh_cancel_new(&cancel));
    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    sigaction(SIGALRM, &action, &before);
    signals = 0;
    signalled = NULL;
    ring_every_20_ms(20000);
    began = now_ms();
    IS(FH_TIMED_OUT, fh_lock_acquire(waiter, 200, cancel, NULL));
    CHECK(now_ms() - began >= 199 && signals > 0);
    signalled = cancel;
    FAILS(FH_ERR_CANCELLED, "cancelled", fh_lock_acquire(waiter, FH_FOREVER, cancel, &error));
    ring_every_20_ms(0);
    sigaction(SIGALRM, &before, NULL);
    CHECK(in_line() == 0);
    fh_cancel_free(cancel);
    end();
}

static int asked, asks_to_end, polls_freed;

static int32_t ask(void *user_data) {
    CHECK(user_data == &asked);
    return ++asked >= asks_to_end;
}

static void count_free(void *user_data) {
    CHECK(user_data == &asked);
    ++polls_freed;
}

static void a_polled_function_ends_a_wait(void) {
    fh_cancel *cancel = NULL;
    begin();
    asked = polls_freed = 0;
    asks_to_end = 3;
    OK(fh_cancel_new_polling(10, ask, &asked, count_free, &cancel));
    FAILS(FH_ERR_CANCELLED, "cancelled", fh_lock_acquire(waiter, FH_FOREVER, cancel, &error));
    CHECK(asked == 3 && polls_freed == 0 && in_line() == 0);
    fh_cancel_free(cancel);
    CHECK(polls_freed == 1);

    asks_to_end = INT32_MAX;
    OK(fh_cancel_new_polling(UINT64_MAX, ask, &asked, count_free, &cancel));
    IS(FH_TIMED_OUT, fh_lock_acquire(waiter, 50, cancel, NULL));
    fh_cancel_trigger(cancel);
    FAILS(FH_ERR_CANCELLED, "cancelled", fh_lock_acquire(waiter, FH_FOREVER, cancel, &error));
    fh_cancel_free(cancel);
    CHECK(polls_freed == 2);
    end();
}

static void *free_when_in_line(void *cancel) {
    until_in_line();
    fh_cancel_free((fh_cancel *)cancel);
    OK(fh_lock_release(holder, NULL));
    return NULL;
}

static void a_wait_goes_on_without_its_cancel(void) {
    fh_cancel *cancel = NULL;
    pthread_t thread;
    begin();
    OK(fh_cancel_new(&cancel));
    CHECK(pthread_create(&thread, NULL, free_when_in_line, cancel) == 0);
    OK(fh_lock_acquire(waiter, 20000, cancel, NULL));
    pthread_join(thread, NULL);
    end();
}

static void *close_when_in_line(void *unused) {
    (void)unused;
    until_in_line();
    fh_client_close(client, NULL);
    return NULL;
}

static void closing_the_client_ends_its_waits(void) {
    pthread_t thread;
    fh_status status;
    begin();
    CHECK(pthread_create(&thread, NULL, close_when_in_line, NULL) == 0);
    status = fh_lock_acquire(waiter, FH_FOREVER, NULL, NULL);
    CHECK(status == FH_ERR_CANCELLED || status == FH_ERR_INVALID);
    pthread_join(thread, NULL);
    CHECK(fh_lock_held(holder) == 0);
    end();
}

void cancel_tests(void) {
    RUN(another_thread_ends_a_wait);
    RUN(a_triggered_cancel_stays_triggered);
    RUN(a_signal_handler_ends_a_wait_and_other_signals_do_not);
    RUN(a_polled_function_ends_a_wait);
    RUN(a_wait_goes_on_without_its_cancel);
    RUN(closing_the_client_ends_its_waits);
}
