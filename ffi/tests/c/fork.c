/* A forked child: what it inherited is lost, nothing hangs, and its own handles work. */
#include "check.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static int lost_calls;

static void note(const fh_lock *lock, int32_t reason, void *user_data) {
    (void)lock;
    (void)user_data;
    lost_calls += reason == FH_LOST_FORKED;
}

/* The number of the first thing that is not as it has to be, 0 for none. */
static int look_from_child(fh_client *client, fh_lock *inherited, uint64_t fence) {
    fh_lock *own = NULL, *taken = NULL;
    fh_error *error = NULL;
    fh_info *info = NULL;
    fh_txn *txn = NULL;
    if (fh_lock_held(inherited) != 0) return 1;
    if (fh_lock_keep_alive(inherited) != FH_LOST) return 2;
    if (fh_lock_lost_reason(inherited) != FH_LOST_FORKED) return 3;
    if (fh_lock_acquire(inherited, FH_FOREVER, NULL, &error) != FH_ERR_FORKED) return 4;
    if (fh_error_kind(error) != FH_ERR_FORKED || strstr(fh_error_message(error), "child") == NULL) return 5;
    fh_error_free(error);
    if (fh_lock_release(inherited, NULL) != FH_LOST) return 6;
    if (fh_lock_take(inherited, 0, NULL, NULL, NULL) != FH_ERR_FORKED) return 7;
    /* What it writes needs the fence of its parent's hold, so that a successor's write wins. */
    if (fh_lock_fence(inherited) != fence || fh_lock_token(inherited) < fence) return 8;
    if (fh_lock_remaining_ms(inherited) != 0 || fh_lock_epoch(inherited) != 0) return 9;
    error = fh_lock_last_error(inherited);
    if (fh_error_kind(error) != FH_ERR_FORKED) return 10;
    fh_error_free(error);
    if (fh_lock_on_lost(inherited, note, NULL, NULL, NULL) != FH_OK || lost_calls != 1) return 11;
    if (fh_txn_new(client, &txn, NULL) != FH_OK || fh_txn_guard(txn, inherited, NULL) >= FH_OK) return 12;
    fh_txn_free(txn);
    if (fh_lock_new(client, FH_S("other"), 30000, NULL, &own, NULL) != FH_OK) return 13;
    if (fh_lock_acquire(own, 0, NULL, NULL) != FH_OK || fh_lock_keep_alive(own) != FH_OK) return 14;
    if (fh_lock_release(own, NULL) != FH_OK) return 15;
    if (fh_lock_new(client, FH_S("n"), 30000, NULL, &taken, NULL) != FH_OK) return 16;
    if (fh_lock_acquire(taken, 0, NULL, NULL) != FH_HELD) return 17;
    if (fh_client_holders(client, FH_S("n"), &info, NULL) != FH_OK || fh_info_holder_count(info, 0) != 1) return 18;
    fh_info_free(info);
    fh_lock_free(taken);
    fh_lock_free(own);
    fh_lock_free(inherited);
    fh_client_free(client);
    return 0;
}

static int child_answer(fh_client *client, fh_lock *lock) {
    const uint64_t fence = fh_lock_fence(lock);
    int status = -1;
    CHECK(fence > 0);
    const pid_t child = fork();
    if (child == 0) _exit(look_from_child(client, lock, fence));
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_child_holds_nothing_and_the_parent_holds_on(void) {
    char folder[64];
    fh_client *client = open_folder(folder);
    fh_lock *lock = new_lock(client, "n");
    OK(fh_lock_acquire(lock, 0, NULL, NULL));
    lost_calls = 0;
    CHECK(child_answer(client, lock) == 0);
    CHECK(fh_lock_held(lock) == 1);
    OK(fh_lock_keep_alive(lock));
    OK(fh_lock_release(lock, NULL));
    fh_lock_free(lock);
    fh_client_free(client);
    remove_folder(folder);
}

static int stop;

static void *use_all_the_time(void *lock) {
    while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
        if (fh_lock_acquire((const fh_lock *)lock, 1, NULL, NULL) == FH_OK)
            fh_lock_release((const fh_lock *)lock, NULL);
    }
    return NULL;
}

/* Whatever another thread was in the middle of, the child does not wait for it. */
static void a_child_never_hangs_on_what_the_parents_threads_did(void) {
    char folder[64];
    fh_client *client = open_folder(folder);
    fh_lock *lock = new_lock(client, "n"), *busy = new_lock(client, "busy");
    pthread_t threads[2];
    uint64_t fence;
    int turn;
    OK(fh_lock_acquire(lock, 0, NULL, NULL));
    fence = fh_lock_fence(lock);
    stop = 0;
    CHECK(pthread_create(&threads[0], NULL, use_all_the_time, busy) == 0);
    CHECK(pthread_create(&threads[1], NULL, use_all_the_time, busy) == 0);
    for (turn = 0; turn < 20; ++turn) {
        int status = -1;
        const pid_t child = fork();
        if (child == 0) {
            alarm(20); /* a hang ends here */
            lost_calls = 0;
            _exit(fh_lock_keep_alive(busy) == FH_LOST ? look_from_child(client, lock, fence) : 99);
        }
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(!WIFSIGNALED(status)); /* it hung */
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    CHECK(fh_lock_held(lock) == 1);
    fh_lock_free(busy);
    fh_lock_free(lock);
    fh_client_free(client);
    remove_folder(folder);
}

void fork_tests(void) {
    RUN(a_child_holds_nothing_and_the_parent_holds_on);
    RUN(a_child_never_hangs_on_what_the_parents_threads_did);
}
