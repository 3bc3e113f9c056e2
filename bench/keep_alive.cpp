// What keep_alive() costs when no renewal is due, beside an empty call and one bare read of the same clock.
//
//   c++ -std=c++17 -O2 bench/keep_alive.cpp $(pkg-config --cflags --libs fencehold) -o keep_alive && ./keep_alive
//
// usage: keep_alive [--json] [ROUNDS]
//
// The three are measured in turns, so that a change of the machine's speed meets all of them. The target is the ratio
// of the medians: at most 1.15 times the bare read. With --json: one line.
#include <fencehold.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <vector>

namespace {

using namespace std::chrono_literals;

constexpr int calls = 2'000; // in one round, which is short, so that most of them are not interrupted

// What is called must not be known to the compiler, as it is not for a function of a shared library.
[[gnu::noinline]] bool empty_call(const void *handle) {
    asm volatile("" : : "r"(handle) : "memory");
    return handle != nullptr;
}

template <class Call> double nanoseconds(const Call &call) {
    const auto begin = std::chrono::steady_clock::now();
    int good = 0;
    for (int left = calls; left > 0; --left) good += call() ? 1 : 0;
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
    if (good != calls) std::abort();
    return taken.count() / calls;
}

struct Row {
    const char *name;
    std::vector<double> rounds{};
    double at(double part) const { return rounds[static_cast<std::size_t>(part * (rounds.size() - 1))]; }
};

} // namespace

int main(int argc, char **argv) {
    int rounds = 5001;
    bool json = false;
    for (int argument = 1; argument < argc; ++argument) {
        if (std::string_view{argv[argument]} == "--json") {
            json = true;
        } else {
            rounds = std::atoi(argv[argument]);
        }
    }
    if (rounds < 1) return 2;
    const fencehold::Client client{"memory:"};
    auto lock = client.lock("bench", {24h});
    if (!lock.acquire()) return 1;

    std::array<Row, 3> rows{Row{"empty call"}, Row{"clock_gettime(CLOCK_BOOTTIME)"}, Row{"Lock::keep_alive()"}};
    timespec now{};
    for (int round = 0; round < rounds; ++round) {
        rows[0].rounds.push_back(nanoseconds([&] { return empty_call(&lock); }));
        rows[1].rounds.push_back(nanoseconds([&] { return clock_gettime(CLOCK_BOOTTIME, &now) == 0; }));
        rows[2].rounds.push_back(nanoseconds([&] { return lock.keep_alive(); }));
    }
    for (auto &row : rows) std::sort(row.rounds.begin(), row.rounds.end());
    const double clock = rows[1].at(0.5);
    if (json) {
        std::printf(
            "{\"language\": \"C++\", \"clock\": \"%s\", \"rounds\": %d, \"empty_ns\": %.2f, \"clock_ns\": %.2f, "
            "\"keep_alive_ns\": %.2f, \"ratio\": %.3f}\n",
            rows[1].name, rounds, rows[0].at(0.5), clock, rows[2].at(0.5), rows[2].at(0.5) / clock);
        return 0;
    }
    std::printf("%-32s %8s %8s %8s %8s\n", "ns a call", "p50", "p10", "p90", "ratio");
    for (const auto &row : rows) {
        std::printf("%-32s %8.1f %8.1f %8.1f %8.2f\n", row.name, row.at(0.5), row.at(0.1), row.at(0.9),
                    row.at(0.5) / clock);
    }
    return 0;
}
