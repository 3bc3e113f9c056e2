// What keep_alive() costs when no renewal is due, beside an empty call and one bare read of the same clock.
//
//   c++ -std=c++17 -O2 bench/keep_alive.cpp $(pkg-config --cflags --libs fencehold) -o keep_alive && ./keep_alive
//
// The three are measured in turns, so that a change of the machine's speed meets all of them. The target is the
// ratio: at most 1.15 times the bare read.
#include <fencehold.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace {

using namespace std::chrono_literals;

constexpr int calls = 200'000; // in one round
constexpr int rounds = 101;

// What is called must not be known to the compiler, as it is not for a function of a shared library.
[[gnu::noinline]] bool empty_call(const void *handle) {
    asm volatile("" : : "r"(handle) : "memory");
    return handle != nullptr;
}

[[gnu::noinline]] bool clock_read(const void *) {
    timespec now{};
    return clock_gettime(CLOCK_BOOTTIME, &now) == 0;
}

template <class Call> double nanoseconds(const Call &call) {
    const auto begin = std::chrono::steady_clock::now();
    for (int count = 0; count < calls; ++count) {
        if (!call()) std::abort();
    }
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
    return taken.count() / calls;
}

struct Row {
    const char *name;
    std::vector<double> rounds{};
    double at(double part) const { return rounds[static_cast<std::size_t>(part * (rounds.size() - 1))]; }
};

} // namespace

int main() {
    const fencehold::Client client{"memory:"};
    auto lock = client.lock("bench", {24h});
    if (!lock.acquire()) return 1;
    const fh_lock *c_lock = lock.c_ptr();

    std::array<Row, 4> rows{Row{"empty call"}, Row{"clock_gettime(CLOCK_BOOTTIME)"}, Row{"C++ keep_alive()"},
                            Row{"C fh_lock_keep_alive()"}};
    for (int round = 0; round < rounds; ++round) {
        rows[0].rounds.push_back(nanoseconds([&] { return empty_call(c_lock); }));
        rows[1].rounds.push_back(nanoseconds([&] { return clock_read(c_lock); }));
        rows[2].rounds.push_back(nanoseconds([&] { return lock.keep_alive(); }));
        rows[3].rounds.push_back(nanoseconds([&] { return fh_lock_keep_alive(c_lock) == FH_OK; }));
    }
    for (auto &row : rows) std::sort(row.rounds.begin(), row.rounds.end());
    const double clock = rows[1].at(0.5);
    std::printf("%-32s %8s %8s %8s %8s\n", "ns a call, of 101 rounds", "p50", "p10", "p90", "ratio");
    for (const auto &row : rows) {
        std::printf("%-32s %8.1f %8.1f %8.1f %8.2f\n", row.name, row.at(0.5), row.at(0.1), row.at(0.9),
                    row.at(0.5) / clock);
    }
    return 0;
}
