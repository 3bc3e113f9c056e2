// Steps: what is handed on, and what comes of them.
#include <doctest/doctest.h>

#include "support.hpp"

using namespace fencehold;
using namespace std::chrono_literals;

TEST_CASE("items become JSON with every character escaped that must be") {
    const std::vector<Item> items{{"{\"a\":1}", "p\"\\\n", std::nullopt, "t"}, {"2"}};
    CHECK(detail::items_json(items) ==
          "[{\"data\":{\"a\":1},\"partition\":\"p\\\"\\\\\\u000a\",\"traceId\":\"t\"},{\"data\":2}]");
    CHECK(detail::items_json({}) == "[]");
}

TEST_CASE("a store without queues says unsupported and does nothing") {
    const Client client{test::fresh_memory()};
    auto lock = client.lock("n", {30s});
    REQUIRE(lock.acquire());
    CHECK_THROWS_AS(([&] {
                        auto step = client.transaction();
                        step.guard(lock).queue("orders").push({{"1"}});
                        static_cast<void>(step.commit());
                    }()),
                    UnsupportedError);
    CHECK(lock.held());
}

TEST_CASE("a guarded step is done, or nothing of it and the lock is lost") {
    const test::Folder folder;
    for (const auto &url : {test::fresh_memory(), folder.url()}) {
        const Client client{url};
        auto lock = client.lock("n", {30s});
        auto next = client.lock("n", {30s});
        REQUIRE(lock.acquire());
        const auto put = [&](const Lock &guard) {
            return client.transaction()
                .guard(guard)
                .kv(R"([{"op":"put","ns":"work","key":"k","value":"\"reason\":\"mine\"","forever":true}])")
                .commit();
        };
        const auto done = put(lock);
        CHECK(done.success);
        CHECK(done);
        CHECK_FALSE(done.reason);
        CHECK(done.json.find("\"results\":[") != std::string::npos);
        CHECK(&done.or_throw() == &done);

        auto step = client.transaction();
        step.guard(lock);
        REQUIRE(client.force_release("n", lock.token()));
        REQUIRE(next.acquire());
        const auto refused = step.commit();
        CHECK_FALSE(refused);
        CHECK(refused.reason == "lost");
        CHECK(lock.lost_reason() == LostReason::guard);
        try {
            refused.or_throw();
            FAIL("a lost guard was no exception");
        } catch (const LostError &error) {
            CHECK(error.reason() == "guard");
            CHECK(error.lock() == "n");
            CHECK(error.retry() == Retry::check_first);
        }
        CHECK_THROWS_AS(put(lock), NotHeldError);
        CHECK(put(next).success);
    }
}

TEST_CASE("a lost precondition is an answer with the store's reason") {
    const Client client{test::fresh_memory()};
    auto step = client.transaction();
    step.kv(R"([{"op":"check","ns":"work","key":"k","expect":7,"required":true}])");
    const auto refused = step.commit();
    CHECK_FALSE(refused);
    CHECK(refused.reason == "kv_precondition");
    CHECK_THROWS_AS(refused.or_throw(), StoreError);
}

TEST_CASE("a member of an answer is found at the top only") {
    CHECK(detail::text_member(R"({"results":[{"reason":"inner"}],"reason":"outer"})", "reason") == "outer");
    CHECK(detail::text_member(R"({"a":"reason","b":["reason",":x"],"reason":"r"})", "reason") == "r");
    CHECK_FALSE(detail::text_member(R"({"reason":null,"success":true,"x":"y"})", "reason"));
    CHECK_FALSE(detail::text_member(R"({"results":[{"reason":"inner"}]})", "reason"));
    CHECK_FALSE(detail::text_member(R"({"reason":"unfinished)", "reason"));
    CHECK(detail::text_member(R"({"x":"\"reason\":\"no\"","reason":"yes"})", "reason") == "yes");
}

TEST_CASE("or_throw turns a refused commit into an exception") {
    CommitResult good;
    good.success = true;
    CHECK(&good.or_throw() == &good);
    CommitResult lost;
    lost.reason = "lost";
    CHECK_FALSE(lost);
    CHECK_THROWS_AS(lost.or_throw(), LostError);
    CommitResult other;
    other.reason = "refused";
    CHECK_THROWS_AS(other.or_throw(), StoreError);
}
