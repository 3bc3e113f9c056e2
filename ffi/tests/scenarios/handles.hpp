// The C interface with owners for what it gives out, and its failures as exceptions: what the scenario runner needs.
#ifndef FENCEHOLD_TESTS_HANDLES_HPP
#define FENCEHOLD_TESTS_HANDLES_HPP

#include <fencehold.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

template <class T, void (*free)(T *)> struct Freed {
    void operator()(T *object) const { free(object); }
};
using Client = std::unique_ptr<fh_client, Freed<fh_client, fh_client_free>>;
using Lock = std::unique_ptr<fh_lock, Freed<fh_lock, fh_lock_free>>;
using Info = std::unique_ptr<fh_info, Freed<fh_info, fh_info_free>>;
using Error = std::unique_ptr<fh_error, Freed<fh_error, fh_error_free>>;

// A call failed, or a scope form was refused.
struct Raised {
    std::shared_ptr<fh_error> error;
};

// Calls `function` with the arguments and a place for the error; what is in `error` afterwards is thrown.
template <class Function, class... Arguments> fh_status call(Function function, Arguments... arguments) {
    fh_error *error = nullptr;
    const auto status = function(arguments..., &error);
    if (error != nullptr) throw Raised{std::shared_ptr<fh_error>{error, fh_error_free}};
    return status;
}

inline std::string kind_id(std::int32_t kind) {
    switch (kind) {
    case FH_HELD:
        return "held";
    case FH_TIMED_OUT:
        return "timed_out";
    case FH_LOST:
        return "lost";
    case FH_ERR_INVALID:
        return "invalid";
    case FH_ERR_UNREACHABLE:
        return "unreachable";
    case FH_ERR_UNAUTHORIZED:
        return "unauthorized";
    case FH_ERR_IN_DOUBT:
        return "in_doubt";
    case FH_ERR_FORBIDDEN:
        return "forbidden";
    case FH_ERR_RATE_LIMITED:
        return "rate_limited";
    case FH_ERR_UNSUPPORTED:
        return "unsupported";
    case FH_ERR_STORE:
        return "store";
    case FH_ERR_CANCELLED:
        return "cancelled";
    case FH_ERR_FORKED:
        return "forked";
    case FH_ERR_INTERNAL:
        return "internal";
    case FH_ERR_NOT_HELD:
        return "not_held";
    default:
        return "kind " + std::to_string(kind);
    }
}

inline std::string retry_id(std::int32_t retry) {
    switch (retry) {
    case FH_RETRY_NOW:
        return "now";
    case FH_RETRY_LATER:
        return "later";
    case FH_RETRY_CHECK_FIRST:
        return "check_first";
    case FH_RETRY_NEVER:
        return "never";
    default:
        return "retry " + std::to_string(retry);
    }
}

inline std::string lost_id(std::int32_t reason) {
    switch (reason) {
    case FH_LOST_RENEW:
        return "renew";
    case FH_LOST_GUARD:
        return "guard";
    case FH_LOST_EXPIRED:
        return "expired";
    case FH_LOST_FORKED:
        return "forked";
    default:
        return "reason " + std::to_string(reason);
    }
}

#endif
