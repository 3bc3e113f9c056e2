/// @file
/// The log and the version. Part of fencehold.hpp; include that.
#ifndef FENCEHOLD_LOG_HPP
#define FENCEHOLD_LOG_HPP

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "../fencehold.h"
#include "info.hpp"

namespace fencehold {

/// How serious a log message is.
enum class LogLevel : std::int32_t {
    error = FH_LOG_ERROR, ///< Something was lost or may be.
    warn = FH_LOG_WARN,   ///< Something to look at.
    info = FH_LOG_INFO,   ///< For the curious.
    debug = FH_LOG_DEBUG, ///< For whoever looks for a fault.
};

namespace detail {

using LogFunction = std::function<void(LogLevel, std::string_view)>;

/// The function that set_log() registered, for what goes wrong in this header.
class LogPlace {
  public:
    std::shared_ptr<LogFunction> get() {
        const std::lock_guard<std::mutex> guard{mutex_};
        return function_;
    }
    void set(std::shared_ptr<LogFunction> function) {
        const std::lock_guard<std::mutex> guard{mutex_};
        function_.swap(function);
    }

  private:
    std::mutex mutex_; // guards function_
    std::shared_ptr<LogFunction> function_;
};

inline LogPlace &log_place() {
    static LogPlace place;
    return place;
}

/// Calls a log function; what it throws goes nowhere, there being no log for it.
inline void call_log(const LogFunction &function, LogLevel level, std::string_view message) noexcept {
    try {
        function(level, message);
    } catch (...) { // NOLINT: nobody above could do anything about it
    }
}

inline void log(LogLevel level, std::string_view message) noexcept {
    try {
        if (const auto function = log_place().get()) call_log(*function, level, message);
    } catch (...) { // NOLINT: see call_log
    }
}

} // namespace detail

/// Sends the library's log messages to `function`; without a call, or with an empty function, they go
/// nowhere. What is reported is what nobody asked for: a release that failed in a destructor, a loss
/// handler that threw. It may be called from any thread, while nothing is locked. A forked child starts
/// without one.
inline void set_log(std::function<void(LogLevel, std::string_view)> function) {
    if (!function) {
        fh_set_log(nullptr, nullptr, nullptr);
        detail::log_place().set(nullptr);
        return;
    }
    auto shared = std::make_shared<detail::LogFunction>(std::move(function));
    auto data = std::make_unique<std::shared_ptr<detail::LogFunction>>(shared);
    detail::log_place().set(std::move(shared));
    fh_set_log(
        [](std::int32_t level, const char *message, void *user_data) {
            const auto &target = *static_cast<std::shared_ptr<detail::LogFunction> *>(user_data);
            detail::call_log(*target, static_cast<LogLevel>(level), detail::view(message));
        },
        data.release(), [](void *user_data) { delete static_cast<std::shared_ptr<detail::LogFunction> *>(user_data); });
}

/// The version of the loaded library: major * 1000000 + minor * 1000 + patch. Client checks it against
/// the header's FH_VERSION_NUMBER.
inline std::uint32_t version_number() noexcept { return fh_version_number(); }

} // namespace fencehold

#endif
