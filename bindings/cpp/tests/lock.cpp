// One handle and its neighbours, without scope forms.
#include <doctest/doctest.h>

#include <optional>
#include <vector>

#include "support.hpp"

using namespace fencehold;
using namespace std::chrono_literals;

TEST_CASE("acquire and release answer what happened") {
    const Client a{test::fresh_memory()};
    auto lock = a.lock("reports/nightly", {30s});
    CHECK_FALSE(lock.held());
    CHECK_FALSE(lock.release());
    CHECK(lock.acquire());
    CHECK(lock.held());
    CHECK(lock.name() == "reports/nightly");
    CHECK(lock.ttl() == 30s);
    CHECK(lock.remaining() > 29s);
    CHECK(lock.position() == 0);
    CHECK(lock.slot() == 0);
    CHECK_FALSE(lock.at_risk());
    CHECK_FALSE(lock.lost_reason());
    CHECK(lock.release());
    CHECK_FALSE(lock.held());
    CHECK_FALSE(lock.release());
}

TEST_CASE("a refusal tells who holds it") {
    const auto url = test::fresh_memory();
    const Client a{url};
    const Client b{url};
    auto first = a.lock("n", LockOptions{30s, std::nullopt, "", "billing"});
    auto second = b.lock("n", {30s});
    CHECK(first.acquire());
    CHECK_FALSE(second.refusal());
    CHECK_FALSE(second.acquire());
    const auto refusal = second.refusal();
    REQUIRE(refusal);
    CHECK(refusal->reason == RefusalReason::held);
    REQUIRE(refusal->holders.size() == 1);
    CHECK(refusal->holders[0].owner == std::string{first.owner()});
    CHECK(refusal->holders[0].label == "billing");
    CHECK(refusal->holders[0].token == first.token());
    CHECK_FALSE(second.acquire(20ms));
    CHECK(second.refusal()->reason == RefusalReason::timed_out);
    CHECK_FALSE(first.acquire());
    CHECK(first.refusal()->reason == RefusalReason::held_here);
    CHECK(first.held());
}

TEST_CASE("token, fence and slot of a handle that never held throw not_held") {
    const Client client{test::fresh_memory()};
    auto lock = client.lock("n", {30s});
    CHECK_THROWS_AS(lock.token(), NotHeldError);
    CHECK_THROWS_AS(lock.fence(), NotHeldError);
    CHECK_THROWS_AS(lock.slot(), NotHeldError);
    try {
        static_cast<void>(lock.fence());
    } catch (const NotHeldError &error) {
        CHECK(error.kind() == Kind::not_held);
        CHECK(error.retry() == Retry::now);
        CHECK(error.lock() == "n");
    }
}

TEST_CASE("keep_alive renews when a third has passed; the token moves and the fence stays") {
    const Client client{test::fresh_memory("?clock=manual")};
    auto lock = client.lock("n", {30s});
    REQUIRE(lock.acquire());
    const auto fence = lock.fence();
    auto token = lock.token();
    for (int turn = 0; turn < 10; ++turn) {
        CHECK(lock.keep_alive());
        CHECK(lock.token() == token);
        client.advance(11s);
        CHECK(lock.keep_alive());
        CHECK(lock.token() > token);
        CHECK(lock.remaining() > 29s); // the store's lifetime less a margin
        CHECK(lock.remaining() <= 30s);
        CHECK(lock.fence() == fence);
        token = lock.token();
    }
    client.advance(30s);
    CHECK_FALSE(lock.held());
    CHECK_FALSE(lock.keep_alive());
    CHECK(lock.lost_reason() == LostReason::expired);
    CHECK(lock.fence() == fence);
    REQUIRE(lock.last_error());
    CHECK(lock.last_error()->kind() == Kind::lost);
    CHECK_THROWS_AS(lock.last_error()->raise(), LostError);
}

TEST_CASE("loss handlers run once a hold, at once if added late, and may throw") {
    std::vector<std::string> logged;
    set_log([&](LogLevel, std::string_view message) { logged.emplace_back(message); });
    {
        const Client client{test::fresh_memory()};
        auto lock = client.lock("n", {30s});
        std::vector<LostReason> seen;
        lock.on_lost([&](LostReason reason) {
            CHECK_FALSE(lock.held());
            seen.push_back(reason);
        });
        lock.on_lost([](LostReason) { throw std::runtime_error("broken handler"); });
        REQUIRE(lock.acquire());
        lock.lose(LostReason::renew);
        CHECK_FALSE(lock.keep_alive());
        CHECK(seen == std::vector{LostReason::renew});
        lock.on_lost([&](LostReason reason) { seen.push_back(reason); });
        CHECK(seen == std::vector{LostReason::renew, LostReason::renew});
        REQUIRE(lock.acquire());
        CHECK(lock.held());
        CHECK_FALSE(lock.lost_reason());
        lock.lose(LostReason::guard);
        CHECK(seen.size() == 4);
        CHECK(lock.lost_reason() == LostReason::guard);
    }
    set_log({});
    REQUIRE(logged.size() == 2);
    CHECK(logged[0].find("broken handler") != std::string::npos);
    CHECK(logged[0].find("\"n\"") != std::string::npos);
}

TEST_CASE("a handler is freed with its handle") {
    const auto shared = std::make_shared<int>(0);
    {
        const Client client{test::fresh_memory()};
        auto lock = client.lock("n", {30s});
        lock.on_lost([shared](LostReason) { ++*shared; });
        CHECK(shared.use_count() == 2);
    }
    CHECK(shared.use_count() == 1);
}

TEST_CASE("a cancel ends a wait with nothing held") {
    const auto url = test::fresh_memory();
    const Client a{url};
    const Client b{url};
    auto holder = a.lock("n", {30s});
    auto waiter = b.lock("n", LockOptions{30s});
    REQUIRE(holder.acquire());
    const Cancel cancel;
    std::thread later{[&] {
        std::this_thread::sleep_for(20ms);
        cancel.trigger();
    }};
    CHECK_THROWS_AS(static_cast<void>(waiter.acquire(Wait::forever(), cancel)), CancelledError);
    later.join();
    CHECK_FALSE(waiter.held());
    CHECK(b.show("n").waiters.empty());
}

#if defined(__cpp_lib_jthread)
TEST_CASE("a stop token ends a wait with nothing held") {
    const auto url = test::fresh_memory();
    const Client a{url};
    const Client b{url};
    auto holder = a.lock("n", {30s});
    REQUIRE(holder.acquire());
    std::atomic<bool> cancelled{false};
    std::jthread worker{[&](std::stop_token stop) {
        auto waiter = b.lock("n", {30s});
        try {
            static_cast<void>(waiter.acquire(Wait::forever(), stop));
        } catch (const CancelledError &) {
            cancelled = !waiter.held();
        }
    }};
    std::this_thread::sleep_for(20ms);
    worker.request_stop();
    worker.join();
    CHECK(cancelled);
    std::stop_source already;
    already.request_stop();
    auto waiter = b.lock("n", {30s});
    CHECK_THROWS_AS(static_cast<void>(waiter.acquire(10s, already.get_token())), CancelledError);
}
#endif

TEST_CASE("holders, show, list and force_release see the store") {
    const auto url = test::fresh_memory();
    const Client a{url};
    const Client b{url};
    auto lock = a.lock("jobs/1", {30s});
    auto other = a.lock("jobs/2", {30s});
    REQUIRE(lock.acquire());
    REQUIRE(other.acquire());
    CHECK(b.holders("jobs/1").at(0).token == lock.token());
    CHECK(b.holders("free").empty());
    CHECK_FALSE(b.show("free").held);
    const auto info = b.show("jobs/1");
    CHECK(info.name == "jobs/1");
    CHECK(info.held);
    CHECK(info.waiters.empty());
    REQUIRE(info.holders.at(0).expires_at);
    CHECK(*info.holders[0].expires_at > std::chrono::system_clock::now());
    const auto listed = b.list("jobs/");
    REQUIRE(listed.size() == 2);
    CHECK(listed[0].name == "jobs/1");
    CHECK(b.list("jobs/", 1, "jobs/1").at(0).name == "jobs/2");
    CHECK_FALSE(b.force_release("jobs/1", std::uint64_t{1}));
    CHECK(b.force_release("jobs/1", lock.token()));
    CHECK(b.force_release("jobs/2", other.owner()));
    CHECK(b.list().empty());
}

TEST_CASE("a semaphore has as many holders as permits") {
    const auto url = test::fresh_memory();
    const Client client{url};
    auto a = client.semaphore("s", 2, {30s});
    auto b = client.semaphore("s", 2, {30s});
    auto c = client.semaphore("s", 2, {30s});
    CHECK(a.acquire());
    CHECK(b.acquire());
    CHECK_FALSE(c.acquire());
    CHECK(a.slot() != b.slot());
    const auto fence = a.fence();
    CHECK(a.release());
    CHECK(c.acquire());
    CHECK(c.fence() > fence);
}

TEST_CASE("step_aside lets a waiter in and comes back behind it") {
    const auto url = test::fresh_memory();
    const Client a{url};
    const Client b{url};
    auto mine = a.lock("n", LockOptions{30s});
    REQUIRE(mine.acquire());
    const auto before = mine.fence();
    std::uint64_t between = 0;
    std::thread waiter{[&] {
        auto theirs = b.lock("n", {30s});
        if (theirs.acquire(Wait::forever())) between = theirs.fence();
    }};
    REQUIRE(test::eventually([&] { return b.show("n").waiters.size() == 1; }));
    CHECK(mine.step_aside(10s));
    waiter.join();
    CHECK(between > before);
    CHECK(mine.fence() > between);
}

TEST_CASE("close gives back and ends the handles") {
    const auto url = test::fresh_memory();
    Client a{url};
    const Client b{url};
    auto lock = a.lock("n", {30s});
    REQUIRE(lock.acquire());
    a.close();
    CHECK_FALSE(lock.held());
    CHECK_FALSE(lock.keep_alive());
    CHECK(b.holders("n").empty());
    CHECK_THROWS_AS(a.ping(), InvalidError);
    CHECK_THROWS_AS(static_cast<void>(lock.acquire()), InvalidError);
    a.close();
    CHECK_FALSE(lock.release());
}

TEST_CASE("locks outlive their client") {
    std::optional<Client> client{std::in_place, test::fresh_memory()};
    auto lock = client->lock("n", {30s});
    REQUIRE(lock.acquire());
    client.reset();
    CHECK(lock.held());
    CHECK(lock.keep_alive());
    CHECK(lock.name() == "n");
    CHECK(lock.release());
    CHECK(lock.acquire());
}

TEST_CASE("a moved handle holds on; the one assigned over gives back") {
    const auto url = test::fresh_memory();
    const Client a{url};
    const Client b{url};
    auto first = a.lock("first", {30s});
    auto second = a.lock("second", {30s});
    REQUIRE(first.acquire());
    REQUIRE(second.acquire());
    auto moved = std::move(first);
    CHECK(moved.held());
    moved = std::move(second);
    CHECK(b.holders("first").empty());
    CHECK(b.holders("second").size() == 1);
    CHECK(moved.name() == "second");
}

TEST_CASE("a background handle is renewed without a call") {
    const Client client{test::fresh_memory()};
    LockOptions options{300ms};
    options.background = true;
    auto lock = client.lock("n", options);
    REQUIRE(lock.acquire());
    const auto token = lock.token();
    CHECK(test::eventually([&] { return lock.token() > token; }));
    CHECK(lock.keep_alive());
    CHECK(lock.release());
}

TEST_CASE("one holder at a time among threads, none forgotten") {
    const auto url = test::fresh_memory();
    int counter = 0; // guarded by the lock alone
    std::vector<std::thread> threads;
    std::atomic<int> granted{0};
    for (int number = 0; number < 4; ++number) {
        threads.emplace_back([&] {
            const Client client{url};
            auto lock = client.lock("n", {30s});
            for (int turn = 0; turn < 50; ++turn) {
                if (!lock.acquire(30s)) continue;
                ++granted;
                ++counter;
                lock.release();
            }
        });
    }
    for (auto &thread : threads) thread.join();
    CHECK(granted == 200);
    CHECK(counter == 200);
}
