// What the runners of scenarios need to play them on a server as well.
#ifndef FENCEHOLD_TESTS_ON_SERVER_HPP
#define FENCEHOLD_TESTS_ON_SERVER_HPP

#include <cstdint>
#include <iostream>
#include <map>
#include <string>

#include "serve.hpp"

namespace test {

// Whether a step does this, or one in its body.
template <class Json> bool does(const Json &steps, const std::string &what) {
    for (const auto &step : steps) {
        if (step.value("do", "") == what) return true;
        if (step.contains("body") && does(step.at("body"), what)) return true;
    }
    return false;
}

// What a scenario that was written for memory: alone needs and no server has; empty: nothing.
template <class Json> std::string why_not_on_a_server(const Json &scenario) {
    const auto stores = scenario.at("store").is_array() ? scenario.at("store") : Json::array({scenario.at("store")});
    for (const auto &store : stores) {
        if (store == "file:") return {};
    }
    if (does(scenario.at("steps"), "advance")) return "moves the clock, which memory:?clock=manual alone can do";
    if (does(scenario.at("steps"), "lose")) return "rehearses a loss, which memory: alone can do";
    return {};
}

// The lifetime that a store grants: a server's are whole seconds.
inline std::int64_t granted_ms(const std::string &url, std::int64_t ttl_ms) {
    return url.rfind("http:", 0) == 0 ? (ttl_ms + 999) / 1000 * 1000 : ttl_ms;
}

// How many were skipped, by reason.
class Skipped {
  public:
    void add(const std::string &title, const std::string &reason) {
        std::cout << "skipped " << title << " on http: it " << reason << '\n';
        ++counts_[reason];
    }
    void print() const {
        for (const auto &[reason, count] : counts_) {
            std::cout << count << " skipped on http:, each " << reason << '\n';
        }
    }

  private:
    std::map<std::string, int> counts_;
};

} // namespace test

#endif
