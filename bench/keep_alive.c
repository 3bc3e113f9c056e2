/* What fh_lock_keep_alive() costs when no renewal is due, beside an empty call and one bare read of the same clock.
 *
 *   cc -O2 bench/keep_alive.c $(pkg-config --cflags --libs fencehold) -o keep_alive && ./keep_alive
 *
 * usage: keep_alive [--json] [ROUNDS]
 *
 * The three are measured in turns, so that a change of the machine's speed meets all of them. The target is the ratio
 * of the medians: at most 1.15 times the bare read. With --json: one line. */
#define _GNU_SOURCE
#include <fencehold.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A round is short, so that most of them are not interrupted. */
enum { calls = 2000, most_rounds = 100000, kinds = 3 };

/* What is called must not be known to the compiler, as it is not for a function of a shared library. */
__attribute__((noinline)) static int empty_call(const void *handle) {
    __asm__ volatile("" : : "r"(handle) : "memory");
    return handle != NULL;
}

static double ns_since(const struct timespec *begin) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - begin->tv_sec) * 1e9 + (double)(now.tv_nsec - begin->tv_nsec);
}

/* Nanoseconds a call, over one round. */
static double measure(int kind, const fh_lock *lock) {
    struct timespec begin, read;
    int left, good = 0;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    switch (kind) {
    case 0:
        for (left = calls; left > 0; --left) good += empty_call(lock);
        break;
    case 1:
        for (left = calls; left > 0; --left) good += clock_gettime(CLOCK_BOOTTIME, &read) == 0;
        break;
    default:
        for (left = calls; left > 0; --left) good += fh_lock_keep_alive(lock) == FH_OK;
        break;
    }
    if (good != calls) abort();
    return ns_since(&begin) / calls;
}

static int by_size(const void *one, const void *other) {
    const double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

int main(int argc, char **argv) {
    static const char *const names[kinds] = {"empty call", "clock_gettime(CLOCK_BOOTTIME)", "fh_lock_keep_alive()"};
    static double taken[kinds][most_rounds];
    fh_client *client = NULL;
    fh_lock *lock = NULL;
    int rounds = 5001, json = 0, argument, round, kind;
    for (argument = 1; argument < argc; ++argument) {
        if (strcmp(argv[argument], "--json") == 0) {
            json = 1;
        } else {
            rounds = atoi(argv[argument]);
        }
    }
    if (rounds < 1 || rounds > most_rounds) return 2;
    if (fh_client_open(FH_S("memory:"), NULL, &client, NULL) != FH_OK) return 1;
    if (fh_lock_new(client, FH_S("bench"), 86400000, NULL, &lock, NULL) != FH_OK) return 1;
    if (fh_lock_acquire(lock, 0, NULL, NULL) != FH_OK) return 1;
    for (round = 0; round < rounds; ++round) {
        for (kind = 0; kind < kinds; ++kind) taken[kind][round] = measure(kind, lock);
    }
    for (kind = 0; kind < kinds; ++kind) qsort(taken[kind], (size_t)rounds, sizeof taken[kind][0], by_size);
    const int half = rounds / 2;
    if (json) {
        printf("{\"language\": \"C\", \"clock\": \"%s\", \"rounds\": %d, \"empty_ns\": %.2f, \"clock_ns\": %.2f, "
               "\"keep_alive_ns\": %.2f, \"ratio\": %.3f}\n",
               names[1], rounds, taken[0][half], taken[1][half], taken[2][half], taken[2][half] / taken[1][half]);
    } else {
        printf("%-32s %8s %8s %8s %8s\n", "ns a call", "p50", "p10", "p90", "ratio");
        for (kind = 0; kind < kinds; ++kind) {
            printf("%-32s %8.1f %8.1f %8.1f %8.2f\n", names[kind], taken[kind][half], taken[kind][rounds / 10],
                   taken[kind][rounds - 1 - rounds / 10], taken[kind][half] / taken[1][half]);
        }
    }
    fh_lock_free(lock);
    fh_client_free(client);
    return 0;
}
