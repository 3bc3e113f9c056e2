// errors.json, row by row.
#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <typeindex>

#include "support.hpp"

using namespace fencehold;

namespace {
const std::map<std::type_index, std::string> names{
    {typeid(HeldError), "HeldError"},
    {typeid(TimedOutError), "TimedOutError"},
    {typeid(LostError), "LostError"},
    {typeid(NotHeldError), "NotHeldError"},
    {typeid(CancelledError), "CancelledError"},
    {typeid(UnreachableError), "UnreachableError"},
    {typeid(InDoubtError), "InDoubtError"},
    {typeid(InvalidError), "InvalidError"},
    {typeid(UnauthorizedError), "UnauthorizedError"},
    {typeid(ForbiddenError), "ForbiddenError"},
    {typeid(RateLimitedError), "RateLimitedError"},
    {typeid(UnsupportedError), "UnsupportedError"},
    {typeid(StoreError), "StoreError"},
    {typeid(ForkedError), "ForkedError"},
    {typeid(InternalError), "InternalError"},
};
} // namespace

TEST_CASE("every row of errors.json is thrown as its class") {
    std::ifstream file{std::string{FENCEHOLD_SCENARIOS} + "/errors.json"};
    REQUIRE(file);
    const auto table = nlohmann::json::parse(file);
    REQUIRE(table.at("schema") == 1);
    std::set<std::string> seen;
    for (const auto &row : table.at("errors")) {
        const auto expected = row.at("cpp").get<std::string>();
        CAPTURE(expected);
        auto data = std::make_shared<detail::ErrorData>();
        data->kind = static_cast<Kind>(row.at("code").get<int>());
        data->message = "a message";
        try {
            detail::raise(data);
        } catch (const Error &error) {
            CHECK(names.at(typeid(error)) == expected);
            CHECK(to_string(error.kind()) == row.at("kind").get<std::string>());
            CHECK(std::string{error.what()} == "a message");
        }
        CHECK_THROWS_AS(detail::raise(data), Error);
        seen.insert(expected);
    }
    CHECK(seen.size() == names.size());
}

TEST_CASE("a kind of a newer library is still an Error") {
    auto data = std::make_shared<detail::ErrorData>();
    data->kind = static_cast<Kind>(-99);
    CHECK_THROWS_AS(detail::raise(data), Error);
    CHECK(to_string(data->kind) == "unknown");
}

TEST_CASE("every word of retry is known") {
    for (const auto retry : {Retry::now, Retry::later, Retry::check_first, Retry::never}) {
        CHECK(to_string(retry) != "unknown");
    }
}

TEST_CASE("an error of the library keeps its fields after it is freed") {
    const Client client{test::fresh_memory()};
    std::optional<Error> kept;
    try {
        static_cast<void>(client.lock("a#b", {std::chrono::seconds{30}}));
    } catch (const InvalidError &error) {
        kept = error;
    }
    REQUIRE(kept);
    CHECK(kept->kind() == Kind::invalid);
    CHECK(kept->reason() == "locks_bad_name");
    CHECK(kept->retry() == Retry::never);
    CHECK(std::string{kept->what()}.find("locks_bad_name") != std::string::npos);
}
