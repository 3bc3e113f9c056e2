// Scope forms: lock(), standard guards, Client::acquire(), run() and destructors.
#include <doctest/doctest.h>

#include <condition_variable>
#include <memory>
#include <mutex>

#include "support.hpp"

using namespace fencehold;
using namespace std::chrono_literals;

namespace {
struct Two {
    std::string url;
    Client a;
    Client b;
    explicit Two(const std::string &parameters = {}) : url(test::fresh_memory(parameters)), a(url), b(url) {}
};
} // namespace

TEST_CASE("lock() waits for the handle's own wait and then throws") {
    const Two two;
    auto holder = two.a.lock("n", {30s});
    REQUIRE(holder.acquire());
    auto patient = two.b.lock("n", LockOptions{30s, 20ms});
    CHECK_THROWS_AS(patient.lock(), TimedOutError);
    auto hasty = two.b.lock("n", LockOptions{30s, 0s});
    try {
        hasty.lock();
        FAIL("taken although somebody else holds it");
    } catch (const HeldError &error) {
        CHECK(error.kind() == Kind::held);
        CHECK(error.retry() == Retry::later);
        CHECK(error.lock() == "n");
        CHECK(error.refusal().reason == RefusalReason::held);
        CHECK(error.refusal().holders.at(0).owner == std::string{holder.owner()});
        CHECK(std::string{error.what()}.find("lock \"n\"") != std::string::npos);
    }
    CHECK_FALSE(hasty.held());
}

TEST_CASE("lock() without a wait of the handle waits until it is free") {
    const Two two;
    auto holder = two.a.lock("n", {30s});
    REQUIRE(holder.acquire());
    std::atomic<bool> entered{false};
    std::thread waiter{[&] {
        auto lock = two.b.lock("n", {30s});
        // cppcheck-suppress localMutex // no mutex of this process
        const std::lock_guard<Lock> guard{lock};
        entered = true;
    }};
    REQUIRE(test::eventually([&] { return two.a.show("n").waiters.size() == 1; }));
    CHECK_FALSE(entered);
    CHECK(holder.release());
    waiter.join();
    CHECK(entered);
    CHECK(two.a.holders("n").empty());
}

TEST_CASE("try_lock is one try, whatever the handle's wait") {
    const Two two;
    auto holder = two.a.lock("n", {30s});
    REQUIRE(holder.try_lock());
    auto other = two.b.lock("n", LockOptions{30s, Wait::forever()});
    CHECK_FALSE(other.try_lock());
    CHECK_FALSE(other.try_lock_for(10ms));
    CHECK_FALSE(other.try_lock_for(-5s));
    CHECK_FALSE(other.try_lock_until(std::chrono::steady_clock::now() + 10ms));
    CHECK_FALSE(other.try_lock_until(std::chrono::system_clock::now() - 1h));
    holder.unlock();
    CHECK(other.try_lock_for(10s));
    other.unlock();
    other.unlock();
    CHECK(other.try_lock_until(std::chrono::steady_clock::now() + 10s));
}

TEST_CASE("scoped_lock takes two and gives both back") {
    const Two two;
    auto first = two.a.lock("first", {30s});
    auto second = two.a.lock("second", {30s});
    std::mutex mutex;
    {
        const std::scoped_lock guard{first, second, mutex};
        CHECK(first.held());
        CHECK(second.held());
    }
    CHECK_FALSE(first.held());
    CHECK_FALSE(second.held());
    CHECK(two.b.list().empty());
}

TEST_CASE("unique_lock tries, waits, defers and gives back") {
    const Two two;
    auto lock = two.a.lock("n", {30s});
    auto other = two.b.lock("n", {30s});
    {
        std::unique_lock<Lock> guard{lock};
        CHECK(guard.owns_lock());
        CHECK_FALSE((std::unique_lock<Lock>{other, std::try_to_lock}).owns_lock());
        CHECK_FALSE((std::unique_lock<Lock>{other, 10ms}).owns_lock());
        guard.unlock();
        CHECK((std::unique_lock<Lock>{other, 10s}).owns_lock());
        CHECK(guard.try_lock());
    }
    CHECK_FALSE(lock.held());
    // cppcheck-suppress localMutex // no mutex of this process
    std::unique_lock<Lock> deferred{other, std::defer_lock};
    CHECK_FALSE(other.held());
    CHECK(deferred.try_lock_until(std::chrono::steady_clock::now() + 1s));
}

TEST_CASE("Client::acquire takes or throws, and its scope gives back") {
    const Two two;
    {
        auto lock = two.a.acquire("n", {30s});
        CHECK(lock.held());
        CHECK_THROWS_AS(two.b.acquire("n", {30s}), HeldError);
        CHECK_THROWS_AS(two.b.acquire("n", LockOptions{30s, 10ms}), TimedOutError);
    }
    CHECK(two.b.acquire("n", {30s}).held());
    CHECK(two.b.holders("n").empty());
}

TEST_CASE("a scope that an exception leaves gives back, and the exception arrives unchanged") {
    const Two two;
    std::string caught;
    try {
        const auto lock = two.a.acquire("n", {30s});
        throw std::runtime_error("the work failed");
    } catch (const std::exception &error) {
        caught = error.what();
    }
    CHECK(caught == "the work failed");
    CHECK(two.b.holders("n").empty());
}

TEST_CASE("run calls the body with the lock only, and answers its value") {
    const Two two;
    auto lock = two.a.lock("n", {30s});
    auto other = two.b.lock("n", {30s});
    int place = 1;
    const auto run = lock.run([&] {
        CHECK(lock.held());
        const auto refused = other.run([&] { place = 2; });
        CHECK_FALSE(refused);
        REQUIRE(refused.refusal);
        CHECK(refused.refusal->reason == RefusalReason::held);
        return std::string{"done"};
    });
    CHECK(run.acquired);
    CHECK(run.value == "done");
    CHECK_FALSE(run.refusal);
    CHECK(place == 1);
    CHECK_FALSE(lock.held());
    CHECK(other.run([&] { place = 3; }, 1s));
    CHECK(place == 3);
    CHECK(lock.run([&]() -> int & { return place; }).value == &place);
    CHECK(**lock.run([] { return std::make_unique<int>(7); }).value == 7);
}

TEST_CASE("what the body of run throws arrives unchanged and the lock is given back") {
    const Two two{"?clock=manual"};
    auto lock = two.a.lock("n", {30s});
    CHECK_THROWS_AS(lock.run([] { throw std::logic_error("mine"); }), std::logic_error);
    CHECK_FALSE(lock.held());
    CHECK(two.b.holders("n").empty());
    CHECK_THROWS_AS(lock.run([&] {
        two.a.advance(31s);
        throw std::logic_error("mine");
    }),
                    std::logic_error);
}

TEST_CASE("run says that the lease ended before the body, with the body's value") {
    const Two two{"?clock=manual"};
    auto lock = two.a.lock("n", {30s});
    try {
        lock.run([&] {
            two.a.advance(32s);
            return 42;
        });
        FAIL("the loss was not told");
    } catch (const LostError &error) {
        REQUIRE(error.value<int>() != nullptr);
        CHECK(*error.value<int>() == 42);
        CHECK(error.value<std::string>() == nullptr);
        REQUIRE(error.late_by());
        CHECK(*error.late_by() >= 2s); // the lease ends a margin before the store's lifetime does
        CHECK(*error.late_by() < 3s);
        CHECK(error.retry() == Retry::check_first);
        CHECK(error.lock() == "n");
    }
    CHECK_THROWS_AS(lock.run([&] { lock.lose(LostReason::renew); }), LostError);
}

TEST_CASE("run gives back only the hold that it took") {
    const Two two;
    auto lock = two.a.lock("n", {30s});
    CHECK(lock.run([&] {
        CHECK(lock.release());
        REQUIRE(lock.acquire());
    }));
    CHECK(lock.held());
}
