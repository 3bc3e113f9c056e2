// Rows of users: the same on every kind of store.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "../../../tests/serve.hpp"
#include "support.hpp"

using namespace fencehold;
using namespace std::chrono_literals;

namespace {

// Calls `body` with the URL of a fresh store of each kind.
template <class Body> void on_each_store(const Body &body) {
    body(test::fresh_memory());
    const test::Folder folder;
    body(folder.url());
    const test::Server server;
    body(server.url());
}

} // namespace

TEST_CASE("rows are written, read and removed") {
    on_each_store([](const std::string &url) {
        CAPTURE(url);
        const Client client{url};
        const auto rows = client.kv("reports");
        CHECK_FALSE(rows.get("k"));
        const auto first = rows.put("k", R"({ "state": "new", "text": "ä\"\n" })", Expiry::forever());
        CHECK(first);
        CHECK_FALSE(first.reason);
        CHECK(first.value == R"({"state":"new","text":"ä\"\n"})");
        const auto found = rows.get("k");
        REQUIRE(found);
        CHECK(found->key == "k");
        CHECK(found->value == first.value);
        CHECK(found->version == first.version);
        CHECK_FALSE(client.kv("other").get("k"));

        const auto removed = rows.erase("k");
        CHECK(removed.applied);
        CHECK(removed.version == first.version);
        CHECK(removed.value == first.value);
        CHECK_FALSE(rows.get("k"));
    });
}

TEST_CASE("a lost precondition is an answer that shows the row in the way") {
    on_each_store([](const std::string &url) {
        CAPTURE(url);
        const Client client{url};
        const auto rows = client.kv("reports");
        const auto is_lost = [](const Written &written, const std::string &reason, std::uint64_t version,
                                const std::string &value) {
            CAPTURE(reason);
            CHECK_FALSE(written);
            CHECK(written.reason == reason);
            CHECK(written.version == version);
            CHECK(written.value == value);
        };
        const auto first = rows.put_if_absent("k", "1", 1h);
        REQUIRE(first.applied);
        is_lost(rows.put_if_absent("k", "2", 1h), "exists", first.version, "1");
        is_lost(rows.put("k", "2", 1h, 0), "exists", first.version, "1");
        is_lost(rows.put("none", "2", 1h, 7), "absent", 0, "null");
        const auto second = rows.put("k", "2", 1h, first.version);
        REQUIRE(second.applied);
        CHECK(second.version > first.version);
        is_lost(rows.put("k", "3", 1h, first.version), "version", second.version, "2");
        is_lost(rows.check("k", first.version), "version", second.version, "2");
        CHECK(rows.check("k", second.version).applied);
        CHECK(rows.check("none", 0).applied);
        is_lost(rows.erase("k", first.version), "version", second.version, "2");
        is_lost(rows.erase("none"), "absent", 0, "null");
        CHECK(rows.erase("k", second.version).applied);
    });
}

TEST_CASE("numbers are counted, and stay what a number can hold") {
    on_each_store([](const std::string &url) {
        CAPTURE(url);
        const Client client{url};
        const auto rows = client.kv("reports");
        CHECK(rows.incr("count", 5, 1h).value == "5");
        const auto counted = rows.incr("count", -7, 1h);
        CHECK(counted.value == "-2");
        CHECK(rows.get("count")->version == counted.version);
        const auto least = rows.incr("least", std::numeric_limits<std::int64_t>::min(), 1h);
        CHECK(least.value == "-9223372036854775808");
        CHECK(rows.incr("least", -1, 1h).reason == "limit");
        CHECK(rows.put("text", "\"t\"", 1h));
        CHECK(rows.incr("text", 1, 1h).reason == "type");
    });
}

TEST_CASE("many rows come by key and in pages") {
    on_each_store([](const std::string &url) {
        CAPTURE(url);
        const Client client{url};
        const auto rows = client.kv("reports");
        for (const auto *key : {"p/b", "p/c", "p/a", "q"}) CHECK(rows.put(key, "1", 1h));
        const auto keys_of = [](const std::vector<ValueRow> &found) {
            std::string keys;
            for (const auto &row : found) keys += row.key + " ";
            return keys;
        };
        CHECK(keys_of(rows.get_many({"p/c", "none", "p/a"})) == "p/a p/c ");
        CHECK(rows.get_many({}).empty());
        const auto page = rows.get_prefix("p/", 2);
        CHECK(keys_of(page.rows) == "p/a p/b ");
        REQUIRE(page.next_after);
        const auto last = rows.get_prefix("p/", 2, *page.next_after);
        CHECK(keys_of(last.rows) == "p/c ");
        CHECK_FALSE(last.next_after);
        CHECK(keys_of(rows.get_prefix("p/").rows) == "p/a p/b p/c ");
    });
}

TEST_CASE("a row ends when its time is over, in whole seconds") {
    const Client client{test::fresh_memory("?clock=manual")};
    const auto rows = client.kv("reports");
    CHECK(rows.put("k", "1", 1100ms));
    client.advance(1900ms);
    CHECK(rows.get("k"));
    client.advance(200ms);
    CHECK_FALSE(rows.get("k"));
    on_each_store([](const std::string &url) {
        CAPTURE(url);
        const Client real{url};
        const auto short_lived = real.kv("reports");
        CHECK(short_lived.put("k", "1", 1ms));
        CHECK(short_lived.get("k"));
        CHECK(test::eventually([&] { return !short_lived.get("k"); }));
    });
}

TEST_CASE("what can never work is an exception with a reason") {
    Client client{test::fresh_memory()};
    const auto rows = client.kv("reports");
    const auto reason = [](const auto &call) {
        try {
            call();
        } catch (const InvalidError &error) {
            return std::string{error.reason()};
        }
        return std::string{"nothing"};
    };
    CHECK(reason([&] { static_cast<void>(client.kv("No Namespace").get("k")); }) == "kv_bad_namespace");
    CHECK(reason([&] { static_cast<void>(rows.get("")); }) == "kv_bad_key");
    CHECK(reason([&] { static_cast<void>(rows.get(std::string(600, 'k'))); }) == "kv_key_too_large");
    CHECK(reason([&] { static_cast<void>(rows.put("k", "no json", 1h)); }) == "kv_bad_request");
    CHECK(reason([&] { static_cast<void>(rows.put("k", '"' + std::string(66'000, 'v') + '"', 1h)); }) ==
          "kv_value_too_large");
    CHECK(reason([&] { static_cast<void>(rows.put("k", "1", 0s)); }) == "kv_bad_ttl");
    CHECK(reason([&] { static_cast<void>(rows.put("k", "1", -1s)); }) == "kv_bad_ttl");
    CHECK(reason([&] { static_cast<void>(rows.put("k", "1", std::chrono::duration<double>{NAN})); }) == "kv_bad_ttl");
    CHECK(reason([&] { static_cast<void>(rows.get_prefix("")); }) == "kv_prefix_required");
    client.close();
    CHECK(reason([&] { static_cast<void>(rows.get("k")); }) == "client_closed");
}

TEST_CASE("the rows of a namespace outlive their client") {
    const auto rows = [] { return Client{test::fresh_memory()}.kv("reports"); }();
    CHECK(rows.put("k", "1", 1h));
    auto moved = Client{test::fresh_memory()}.kv("other");
    auto other = std::move(moved);
    CHECK(moved.c_ptr() == nullptr); // NOLINT: that is what is tested
    CHECK(other.put("k", "1", 1h));
}

TEST_CASE("a guarded step writes rows on every kind of store, or nothing when the guard is gone") {
    on_each_store([](const std::string &url) {
        CAPTURE(url);
        const Client client{url};
        const auto rows = client.kv("reports");
        const auto lock = client.acquire("nightly", {30s});
        const auto put = [&](int value) {
            return R"([{"op":"put","ns":"reports","key":"last","value":)" + std::to_string(value) +
                   R"(,"forever":true}])";
        };
        CHECK(client.transaction().guard(lock).kv(put(1)).commit());
        CHECK(rows.get("last")->value == "1");

        auto step = client.transaction();
        step.guard(lock).kv(put(2));
        REQUIRE(client.force_release("nightly", lock.token()));
        const auto next = client.acquire("nightly", {30s});
        const auto refused = step.commit();
        CHECK(refused.reason == "lost");
        CHECK(lock.lost_reason() == LostReason::guard);
        CHECK(rows.get("last")->value == "1");
        CHECK(client.transaction().guard(next).kv(put(3)).commit());
        CHECK(rows.get("last")->value == "3");
    });
}
