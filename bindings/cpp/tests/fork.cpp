// A forked child: inherited handles are lost, the client works on.
#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include "support.hpp"

using namespace fencehold;
using namespace std::chrono_literals;

namespace {
// The number of the first check that failed in the child, 0 for none.
int check_child(const Client &client, Lock &inherited) {
    if (inherited.held()) return 1;
    if (inherited.keep_alive()) return 2;
    if (inherited.lost_reason() != LostReason::forked) return 3;
    if (inherited.release()) return 4;
    try {
        static_cast<void>(inherited.acquire(10s));
        return 5;
    } catch (const ForkedError &error) {
        if (error.kind() != Kind::forked) return 6;
    }
    auto own = client.lock("n", {30s});
    if (own.acquire()) return 7;
    if (!own.refusal() || own.refusal()->holders.size() != 1) return 8;
    auto other = client.lock("other", {30s});
    if (!other.acquire() || !other.keep_alive() || !other.release()) return 9;
    return 0;
}
} // namespace

TEST_CASE("a child of fork holds nothing of its parent, and the parent holds on") {
    const test::Folder folder;
    const Client client{folder.url()};
    auto lock = client.lock("n", {30s});
    REQUIRE(lock.acquire());
    const auto child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        int result = 99;
        try {
            result = check_child(client, lock);
        } catch (...) {
            result = 98;
        }
        _exit(result);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(lock.held());
    CHECK(lock.keep_alive());
    CHECK(client.holders("n").size() == 1);
    CHECK(lock.release());
}
