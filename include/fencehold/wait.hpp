/// @file
/// How long to hold and how long to wait. Part of fencehold.hpp; include that.
#ifndef FENCEHOLD_WAIT_HPP
#define FENCEHOLD_WAIT_HPP

#include <chrono>
#include <cstdint>
#include <string_view>

#include "../fencehold.h"
#include "error.hpp"

namespace fencehold {
namespace detail {

/// The milliseconds of a duration that is not negative, rounded up; what is longer than some thirty
/// thousand years is cut to that.
template <class Rep, class Period> constexpr std::uint64_t ceil_ms(const std::chrono::duration<Rep, Period> &duration) {
    constexpr std::chrono::milliseconds longest{1'000'000'000'000'000};
    using Exact = std::chrono::duration<long double, std::milli>;
    if (Exact{duration} >= Exact{longest}) return static_cast<std::uint64_t>(longest.count());
    return static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::milliseconds>(duration).count());
}

/// False for a negative duration and for one that is not a number.
template <class Rep, class Period> constexpr bool is_length(const std::chrono::duration<Rep, Period> &duration) {
    // The counts, as comparing durations may be done by negation, which takes what is not a number for a length.
    return duration.count() >= std::chrono::duration<Rep, Period>::zero().count();
}

} // namespace detail

/// How long a lease outlives its last renewal: 100 ms to 24 h, rounded up to the millisecond and by
/// stores with coarser steps (Lock::ttl() tells what was granted). There is no default and no forever;
/// a bare number does not convert, because it has no unit.
class Ttl {
  public:
    Ttl() = delete;
    /// @throws InvalidError `locks_bad_ttl` if negative or not a number. The range is checked where the
    ///         handle is made.
    template <class Rep, class Period>
    constexpr Ttl(const std::chrono::duration<Rep, Period> &duration) // NOLINT: 30s is a Ttl
        : ms_(detail::is_length(duration) ? detail::ceil_ms(duration) : negative()) {}

    /// Reads text such as `500ms`, `30s`, `1h30m` (ms s m h d, bigger units first).
    /// @throws InvalidError `locks_bad_ttl`
    static Ttl parse(std::string_view text) {
        std::uint64_t ms = 0;
        detail::ErrorSlot error;
        detail::check(fh_ttl_parse(text.data(), text.size(), &ms, error.out()), error);
        return Ttl{std::chrono::duration<std::uint64_t, std::milli>{ms}};
    }

    /// The lifetime in milliseconds.
    constexpr std::uint64_t ms() const noexcept { return ms_; }

  private:
    static std::uint64_t negative() {
        detail::raise_invalid("locks_bad_ttl",
                              "ttl is negative or not a number (locks_bad_ttl). A lifetime is 100 ms to 24 h");
    }

    std::uint64_t ms_;
};

/// How long an acquire waits for its turn. Without an argument: the handle's own wait, else one try.
class Wait {
  public:
    /// The handle's own wait, else one try.
    constexpr Wait() noexcept = default;
    /// Up to this long, rounded up to the millisecond; zero is one try.
    /// @throws InvalidError `locks_bad_wait` if negative or not a number.
    template <class Rep, class Period>
    constexpr Wait(const std::chrono::duration<Rep, Period> &duration) // NOLINT: 10s is a Wait
        : ms_(detail::is_length(duration) ? detail::ceil_ms(duration) : negative()) {}

    /// One try, whatever the handle's own wait.
    static constexpr Wait no() noexcept { return Wait{Raw{0}}; }
    /// Without limit.
    static constexpr Wait forever() noexcept { return Wait{Raw{FH_FOREVER}}; }
    /// Reads text such as `500ms`, `10s`, `1h30m`, or `forever`.
    /// @throws InvalidError `locks_bad_wait`
    static Wait parse(std::string_view text) {
        std::uint64_t ms = 0;
        detail::ErrorSlot error;
        detail::check(fh_wait_parse(text.data(), text.size(), &ms, error.out()), error);
        return Wait{Raw{ms}};
    }

    /// As the C library writes it: milliseconds, FH_FOREVER or FH_DEFAULT_WAIT.
    constexpr std::uint64_t ms() const noexcept { return ms_; }

  private:
    struct Raw {
        std::uint64_t ms;
    };
    constexpr explicit Wait(Raw raw) noexcept : ms_(raw.ms) {}
    static std::uint64_t negative() {
        detail::raise_invalid("locks_bad_wait", "wait is negative or not a number (locks_bad_wait). "
                                                "Pass a duration, zero for one try, or Wait::forever()");
    }

    std::uint64_t ms_ = FH_DEFAULT_WAIT;
};

} // namespace fencehold

#endif
