/// @file
/// What a store knows about a lock. Part of fencehold.hpp; include that.
#ifndef FENCEHOLD_INFO_HPP
#define FENCEHOLD_INFO_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../fencehold.h"

namespace fencehold {

/// A time of day, for people: to the millisecond, and never used for a deadline.
using TimePoint = std::chrono::time_point<std::chrono::system_clock, std::chrono::milliseconds>;

/// Why a lease ended before it was given back.
enum class LostReason : std::int32_t {
    renew = FH_LOST_RENEW,     ///< A renewal was refused: somebody else holds it, or it was released by hand.
    guard = FH_LOST_GUARD,     ///< A guarded commit was refused because somebody else holds it.
    expired = FH_LOST_EXPIRED, ///< The deadline passed without a renewal.
    forked = FH_LOST_FORKED,   ///< This process is a fork of the one that acquired.
};

/// The word for it, the same in every language: `renew`, `guard`, `expired`, `forked`.
constexpr std::string_view to_string(LostReason reason) noexcept {
    switch (reason) {
    case LostReason::renew:
        return "renew";
    case LostReason::guard:
        return "guard";
    case LostReason::expired:
        return "expired";
    case LostReason::forked:
        return "forked";
    }
    return "unknown";
}

/// Why an acquire answered false.
enum class RefusalReason : std::int32_t {
    held,         ///< Somebody else holds it.
    contended,    ///< Free permits and a crowd on them: come back.
    timed_out,    ///< The wait was over.
    held_here,    ///< This very handle holds it.
    owner_in_use, ///< The chosen owner holds it, but not through this handle.
};

/// The word for it, the same in every language, such as `timed_out`.
constexpr std::string_view to_string(RefusalReason reason) noexcept {
    switch (reason) {
    case RefusalReason::held:
        return "held";
    case RefusalReason::contended:
        return "contended";
    case RefusalReason::timed_out:
        return "timed_out";
    case RefusalReason::held_here:
        return "held_here";
    case RefusalReason::owner_in_use:
        return "owner_in_use";
    }
    return "unknown";
}

/// Who holds a permit. What the store does not know is empty.
struct Holder {
    std::uint32_t slot{};                  ///< Which permit; 0 for a lock.
    std::uint64_t token{};                 ///< The permit's current token.
    std::optional<std::string> owner{};    ///< The holder's owner.
    std::optional<std::string> label{};    ///< What the holder calls itself, for people.
    std::optional<TimePoint> since{};      ///< When it acquired.
    std::optional<TimePoint> renewed_at{}; ///< When it renewed last.
    std::optional<TimePoint> expires_at{}; ///< When the lease ends unless it is renewed.
};

/// Who waits in line for a lock.
struct Waiter {
    std::uint32_t position{};           ///< 1 is next.
    std::string owner{};                ///< The waiter's owner.
    std::optional<std::string> label{}; ///< What it calls itself, for people.
    std::optional<TimePoint> since{};   ///< Since when it waits.
};

/// A lock as the store sees it.
struct LockInfo {
    std::string name{};            ///< The lock's name.
    bool held{};                   ///< Whether anybody holds it.
    std::vector<Holder> holders{}; ///< Who holds it, by rising slot.
    std::vector<Waiter> waiters{}; ///< Who waits, first come first.
};

/// The answer of a store that did not grant a lock.
struct Refusal {
    RefusalReason reason{};        ///< Why.
    std::vector<Holder> holders{}; ///< Who holds the lock, as far as the store told.
    std::uint32_t waiting{};       ///< How many wait in line.
};

namespace detail {

struct InfoFree {
    void operator()(fh_info *info) const noexcept { fh_info_free(info); }
};
using InfoPtr = std::unique_ptr<fh_info, InfoFree>;

/// A text of the C library, which shows "none" as NULL.
inline std::string_view view(const char *text) noexcept { return text == nullptr ? std::string_view{} : text; }

inline std::optional<std::string> text(const char *text) {
    return text == nullptr ? std::nullopt : std::optional<std::string>{text};
}

/// A time of the C library, which shows "unknown" as 0.
inline std::optional<TimePoint> time(std::int64_t unix_ms) noexcept {
    if (unix_ms == 0) return std::nullopt;
    return TimePoint{std::chrono::milliseconds{unix_ms}};
}

inline RefusalReason refusal_reason(std::string_view id) noexcept {
    for (auto reason :
         {RefusalReason::contended, RefusalReason::timed_out, RefusalReason::held_here, RefusalReason::owner_in_use}) {
        if (to_string(reason) == id) return reason;
    }
    return RefusalReason::held;
}

inline std::vector<Holder> holders(const fh_info *info, std::size_t lock) {
    std::vector<Holder> all;
    const auto count = fh_info_holder_count(info, lock);
    all.reserve(count);
    for (std::size_t index = 0; index < count; ++index) {
        fh_holder holder = FH_HOLDER_INIT;
        if (fh_info_holder(info, lock, index, &holder) != FH_OK) break;
        all.push_back({holder.slot, holder.token, text(holder.owner), text(holder.label), time(holder.since_ms),
                       time(holder.renewed_at_ms), time(holder.expires_at_ms)});
    }
    return all;
}

inline std::vector<Waiter> waiters(const fh_info *info, std::size_t lock) {
    std::vector<Waiter> all;
    fh_waiter waiter = FH_WAITER_INIT;
    for (std::size_t index = 0; fh_info_waiter(info, lock, index, &waiter) == FH_OK; ++index) {
        all.push_back({waiter.position, std::string{view(waiter.owner)}, text(waiter.label), time(waiter.since_ms)});
    }
    return all;
}

inline LockInfo lock_info(const fh_info *info, std::size_t lock) {
    LockInfo result{std::string{view(fh_info_name(info, lock))}, false, holders(info, lock), waiters(info, lock)};
    result.held = !result.holders.empty();
    return result;
}

/// The refusal of the C library, `reason` NULL for none.
inline std::optional<Refusal> refusal(const char *reason, const fh_info *info) {
    if (reason == nullptr) return std::nullopt;
    Refusal result{refusal_reason(reason), {}, 0};
    if (info != nullptr && fh_info_count(info) > 0) {
        result.holders = holders(info, 0);
        result.waiting = static_cast<std::uint32_t>(fh_info_waiting(info, 0));
    }
    return result;
}

} // namespace detail
} // namespace fencehold

#endif
