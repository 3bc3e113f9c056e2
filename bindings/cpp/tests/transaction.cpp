// Steps: what is handed on, and what a client without steps answers.
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

TEST_CASE("a store without steps says unsupported and does nothing") {
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
