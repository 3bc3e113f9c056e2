// What the types promise before anything runs.
#include <doctest/doctest.h>

#include <cmath>
#include <mutex>
#include <type_traits>

#include "support.hpp"

using namespace fencehold;
using namespace std::chrono_literals;

static_assert(sizeof(Lock) == sizeof(void *));
static_assert(sizeof(Client) == sizeof(void *));
static_assert(std::is_nothrow_move_constructible_v<Lock> && std::is_nothrow_move_assignable_v<Lock>);
static_assert(!std::is_copy_constructible_v<Lock> && !std::is_copy_assignable_v<Lock>);
static_assert(std::is_nothrow_move_constructible_v<Client> && !std::is_copy_constructible_v<Client>);
static_assert(std::is_nothrow_destructible_v<Lock> && std::is_nothrow_destructible_v<Client>);
static_assert(std::is_nothrow_copy_constructible_v<Error> && std::is_nothrow_copy_constructible_v<TimedOutError>);
static_assert(noexcept(std::declval<Lock &>().keep_alive()) &&noexcept(std::declval<Lock &>().unlock()));
static_assert(!std::is_default_constructible_v<Ttl> && !std::is_default_constructible_v<LockOptions>);
static_assert(!std::is_convertible_v<int, Ttl> && !std::is_convertible_v<double, Wait>);
static_assert(std::is_base_of_v<HeldError, TimedOutError> && std::is_base_of_v<std::exception, Error>);
static_assert(Ttl{30s}.ms() == 30'000 && Wait{}.ms() == FH_DEFAULT_WAIT && Wait::forever().ms() == FH_FOREVER);
static_assert(std::is_same_v<decltype(std::declval<Lock &>().run(std::declval<void (*)()>())), Run<void>>);
static_assert(std::is_same_v<decltype(std::declval<Lock &>().run(std::declval<int (*)()>())), Run<int>>);

TEST_CASE("durations are rounded up to the millisecond") {
    CHECK(Ttl{1'000'001us}.ms() == 1001);
    CHECK(Ttl{std::chrono::duration<double>{0.1}}.ms() == 100);
    CHECK(Wait{1ns}.ms() == 1);
    CHECK(Wait{0s}.ms() == 0);
    CHECK(Wait{std::chrono::hours::max()}.ms() < FH_DEFAULT_WAIT);
    CHECK(Wait{std::chrono::nanoseconds::max()}.ms() == 9'223'372'036'855);
}

TEST_CASE("negative durations and what is not a number are refused") {
    CHECK_THROWS_AS(Ttl{-1ms}, InvalidError);
    CHECK_THROWS_AS(Wait{-1ns}, InvalidError);
    CHECK_THROWS_AS(Wait{std::chrono::duration<double>{std::nan("")}}, InvalidError);
    try {
        static_cast<void>(Wait{-1s});
        FAIL("a negative wait was taken");
    } catch (const Error &error) {
        CHECK(error.reason() == "locks_bad_wait");
        CHECK(error.retry() == Retry::never);
    }
}

TEST_CASE("text is read as in every language") {
    CHECK(Ttl::parse("1h30m").ms() == 5'400'000);
    CHECK(Wait::parse("500ms").ms() == 500);
    CHECK(Wait::parse("forever").ms() == FH_FOREVER);
    CHECK_THROWS_AS(Ttl::parse("30"), InvalidError);
    CHECK_THROWS_AS(Wait::parse("soon"), InvalidError);
}

TEST_CASE("bad input is refused where the handle is made") {
    const Client client{test::fresh_memory()};
    CHECK_THROWS_AS(client.lock("a#b", {30s}), InvalidError);
    CHECK_THROWS_AS(client.lock(std::string_view{"a\0b", 3}, {30s}), InvalidError);
    CHECK_THROWS_AS(client.lock("n", {99ms}), InvalidError);
    CHECK_THROWS_AS(client.lock("n", {25h}), InvalidError);
    CHECK_THROWS_AS(client.semaphore("n", 0, {30s}), InvalidError);
    CHECK_THROWS_AS(Client{"gopher://host/"}, InvalidError);
    ClientOptions options;
    options.request_timeout = -1s;
    CHECK_THROWS_AS((Client{"memory:", options}), InvalidError);
}

TEST_CASE("the library is the one of the header") { CHECK(version_number() == FH_VERSION_NUMBER); }

#if __cplusplus >= 202002L
TEST_CASE("designated initialisers name what is set") {
    const Client client{test::fresh_memory()};
    const auto lock = client.lock("n", {.ttl = 30s, .wait = 10s, .label = "report", .fair = true});
    CHECK(lock.ttl() == 30s);
}
#endif
