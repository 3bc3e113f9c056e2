/// @file
/// The exceptions of fencehold. Part of fencehold.hpp; include that.
#ifndef FENCEHOLD_ERROR_HPP
#define FENCEHOLD_ERROR_HPP

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "../fencehold.h"
#include "info.hpp"

namespace fencehold {

/// What kind of thing went wrong; the same kinds in every language. A newer library may know more.
enum class Kind : std::int32_t {
    held = FH_HELD,                     ///< Somebody else holds the lock.
    timed_out = FH_TIMED_OUT,           ///< The wait was over and somebody else still holds it.
    lost = FH_LOST,                     ///< The lease ended before the work did.
    not_held = FH_ERR_NOT_HELD,         ///< The handle holds nothing.
    cancelled = FH_ERR_CANCELLED,       ///< The caller gave the wait up.
    unreachable = FH_ERR_UNREACHABLE,   ///< The store could not be asked; nothing was done.
    in_doubt = FH_ERR_IN_DOUBT,         ///< Sent, but no answer came: it may have been done.
    invalid = FH_ERR_INVALID,           ///< The caller passed something that can never work.
    unauthorized = FH_ERR_UNAUTHORIZED, ///< The store wants credentials.
    forbidden = FH_ERR_FORBIDDEN,       ///< The credentials do not allow it.
    rate_limited = FH_ERR_RATE_LIMITED, ///< The store asks for fewer calls.
    unsupported = FH_ERR_UNSUPPORTED,   ///< This store or this version cannot do it.
    store = FH_ERR_STORE,               ///< The store is full, damaged, read-only or of a newer format.
    forked = FH_ERR_FORKED,             ///< The handle belongs to the parent of this process.
    internal = FH_ERR_INTERNAL,         ///< A fault of the library.
};

/// The kind's id, the same in every language, such as `in_doubt`.
constexpr std::string_view to_string(Kind kind) noexcept {
    switch (kind) {
    case Kind::held:
        return "held";
    case Kind::timed_out:
        return "timed_out";
    case Kind::lost:
        return "lost";
    case Kind::not_held:
        return "not_held";
    case Kind::cancelled:
        return "cancelled";
    case Kind::unreachable:
        return "unreachable";
    case Kind::in_doubt:
        return "in_doubt";
    case Kind::invalid:
        return "invalid";
    case Kind::unauthorized:
        return "unauthorized";
    case Kind::forbidden:
        return "forbidden";
    case Kind::rate_limited:
        return "rate_limited";
    case Kind::unsupported:
        return "unsupported";
    case Kind::store:
        return "store";
    case Kind::forked:
        return "forked";
    case Kind::internal:
        return "internal";
    }
    return "unknown";
}

/// Whether the same call may be made again, and when.
enum class Retry : std::int32_t {
    now = FH_RETRY_NOW,                 ///< At once.
    later = FH_RETRY_LATER,             ///< After a while.
    check_first = FH_RETRY_CHECK_FIRST, ///< Only after looking at what was done.
    never = FH_RETRY_NEVER,             ///< Not before something else was changed.
};

/// The word for it, the same in every language, such as `check_first`.
constexpr std::string_view to_string(Retry retry) noexcept {
    switch (retry) {
    case Retry::now:
        return "now";
    case Retry::later:
        return "later";
    case Retry::check_first:
        return "check_first";
    case Retry::never:
        return "never";
    }
    return "unknown";
}

namespace detail {

/// Everything an error knows. Shared, so that copying an exception cannot fail.
struct ErrorData {
    Kind kind{Kind::internal};
    Retry retry{Retry::never};
    std::string message{};
    std::string reason{};
    std::string lock{};
    std::string store{};
    std::optional<TimePoint> until{};
    std::optional<std::chrono::milliseconds> late_by{};
    std::optional<Refusal> refusal{};
    std::shared_ptr<void> value{};
    const std::type_info *value_type{};
};
using ErrorPtr = std::shared_ptr<ErrorData>;

} // namespace detail

/// The base of everything that fencehold throws. what() says what happened, to which lock, on which
/// store, and what to do; programs look at kind() and reason(). The texts live as long as any copy.
class Error : public std::exception {
  public:
    explicit Error(detail::ErrorPtr data) noexcept : data_(std::move(data)) {}

    const char *what() const noexcept override { return data_->message.c_str(); }
    /// What kind of thing went wrong.
    Kind kind() const noexcept { return data_->kind; }
    /// The stable id of the reason, such as `locks_bad_ttl` or `client_closed`.
    std::string_view reason() const noexcept { return data_->reason; }
    /// The lock it is about; empty if it is about none.
    std::string_view lock() const noexcept { return data_->lock; }
    /// The store it is about, without credentials; empty if it is about none.
    std::string_view store() const noexcept { return data_->store; }
    /// Whether the call may be made again.
    Retry retry() const noexcept { return data_->retry; }
    /// Throws this error as the class of its kind: what to do with Lock::last_error() to learn more.
    [[noreturn]] void raise() const;

  protected:
    const detail::ErrorData &data() const noexcept { return *data_; }

  private:
    detail::ErrorPtr data_;
};

namespace detail {

/// An error that Lock::run() may throw after its body was done.
class AfterBody : public Error {
  public:
    using Error::Error;
    /// What the body of Lock::run() returned, if it was run and returned a `T` (without const and
    /// reference); else null. It lives as long as any copy of the error.
    template <class T> T *value() const noexcept {
        return data().value_type != nullptr && *data().value_type == typeid(T) ? static_cast<T *>(data().value.get())
                                                                               : nullptr;
    }
};

} // namespace detail

/// Somebody else holds the lock, and the call was one that must not go on without it.
class HeldError : public Error {
  public:
    using Error::Error;
    /// Why the store said no, and who holds the lock as far as it told.
    Refusal refusal() const { return data().refusal ? *data().refusal : Refusal{}; }
};
/// The wait was over and somebody else still holds the lock.
class TimedOutError : public HeldError {
  public:
    using HeldError::HeldError;
};
/// The lease ended before the work did: somebody else may have worked since. Check what was done.
class LostError : public detail::AfterBody {
  public:
    using AfterBody::AfterBody;
    /// By how much the work outlived the lease; empty where that is not known.
    std::optional<std::chrono::milliseconds> late_by() const noexcept { return data().late_by; }
};
/// The handle holds nothing.
class NotHeldError : public Error {
  public:
    using Error::Error;
};
/// The wait was cancelled: nothing is held and no place in line is kept.
class CancelledError : public Error {
  public:
    using Error::Error;
};
/// The store could not be asked. Nothing was done: call again.
class UnreachableError : public detail::AfterBody {
  public:
    using AfterBody::AfterBody;
};
/// The request was sent and no answer came. Acquire or release again through the same handle, which
/// recognises its own grant, or wait until until().
class InDoubtError : public detail::AfterBody {
  public:
    using AfterBody::AfterBody;
    /// Until when the lock may still be held, at the latest; empty if that is not known.
    std::optional<TimePoint> until() const noexcept { return data().until; }
};
/// The caller passed something that can never work; reason() says what.
class InvalidError : public Error {
  public:
    using Error::Error;
};
/// The store wants credentials, or refuses these.
class UnauthorizedError : public Error {
  public:
    using Error::Error;
};
/// The credentials, or this user's rights, do not allow it.
class ForbiddenError : public Error {
  public:
    using Error::Error;
};
/// The store asks for fewer calls.
class RateLimitedError : public Error {
  public:
    using Error::Error;
};
/// This store or this version of the library cannot do it.
class UnsupportedError : public Error {
  public:
    using Error::Error;
};
/// The store cannot: it is full, damaged, read-only or of a newer format.
class StoreError : public Error {
  public:
    using Error::Error;
};
/// The handle belongs to the parent of this process. Make one of your own here.
class ForkedError : public Error {
  public:
    using Error::Error;
};
/// A fault of the library. The handle can only be destroyed.
class InternalError : public Error {
  public:
    using Error::Error;
};

namespace detail {

/// Throws `data` as the class of its kind; a kind that only a newer library knows as Error.
[[noreturn]] inline void raise(ErrorPtr data) {
    switch (data->kind) {
    case Kind::held:
        throw HeldError{std::move(data)};
    case Kind::timed_out:
        throw TimedOutError{std::move(data)};
    case Kind::lost:
        throw LostError{std::move(data)};
    case Kind::not_held:
        throw NotHeldError{std::move(data)};
    case Kind::cancelled:
        throw CancelledError{std::move(data)};
    case Kind::unreachable:
        throw UnreachableError{std::move(data)};
    case Kind::in_doubt:
        throw InDoubtError{std::move(data)};
    case Kind::invalid:
        throw InvalidError{std::move(data)};
    case Kind::unauthorized:
        throw UnauthorizedError{std::move(data)};
    case Kind::forbidden:
        throw ForbiddenError{std::move(data)};
    case Kind::rate_limited:
        throw RateLimitedError{std::move(data)};
    case Kind::unsupported:
        throw UnsupportedError{std::move(data)};
    case Kind::store:
        throw StoreError{std::move(data)};
    case Kind::forked:
        throw ForkedError{std::move(data)};
    case Kind::internal:
        throw InternalError{std::move(data)};
    }
    throw Error{std::move(data)};
}

} // namespace detail

inline void Error::raise() const { detail::raise(data_); }

namespace detail {

struct ErrorFree {
    void operator()(fh_error *error) const noexcept { fh_error_free(error); }
};

/// Owns the error that a C function may set.
class ErrorSlot {
  public:
    ErrorSlot() = default;
    explicit ErrorSlot(fh_error *error) noexcept : error_(error) {}
    ErrorSlot(const ErrorSlot &) = delete;
    ErrorSlot &operator=(const ErrorSlot &) = delete;
    ~ErrorSlot() { fh_error_free(error_); }

    fh_error **out() noexcept { return &error_; }
    const fh_error *get() const noexcept { return error_; }
    explicit operator bool() const noexcept { return error_ != nullptr; }

    /// The error as data; `status` is what the function answered.
    ErrorPtr data(fh_status status) const {
        auto data = std::make_shared<ErrorData>();
        if (error_ == nullptr) {
            data->kind = static_cast<Kind>(status);
            data->message = "the call failed (" + std::string{to_string(data->kind)} + ")";
            data->reason = std::string{to_string(data->kind)};
            return data;
        }
        data->kind = static_cast<Kind>(fh_error_kind(error_));
        data->retry = static_cast<Retry>(fh_error_retry(error_));
        data->message = std::string{view(fh_error_message(error_))};
        data->reason = std::string{view(fh_error_reason(error_))};
        data->lock = std::string{view(fh_error_lock(error_))};
        data->store = std::string{view(fh_error_store(error_))};
        data->until = time(fh_error_until_ms(error_));
        const auto late_by = fh_error_late_by_ms(error_);
        if (late_by >= 0) data->late_by = std::chrono::milliseconds{late_by};
        fh_info *info = nullptr;
        const char *reason = fh_error_refusal(error_, &info);
        const InfoPtr owned{info};
        data->refusal = refusal(reason, info);
        return data;
    }

  private:
    fh_error *error_ = nullptr;
};

/// Throws if `status` is not FH_OK.
inline void check(fh_status status, const ErrorSlot &error) {
    if (status != FH_OK) raise(error.data(status));
}

/// Throws if `status` says that the call failed; answers whether it was FH_OK.
inline bool answer(fh_status status, const ErrorSlot &error) {
    if (status < FH_OK) raise(error.data(status));
    return status == FH_OK;
}

[[noreturn]] inline void raise_invalid(const char *reason, const char *message) {
    auto data = std::make_shared<ErrorData>();
    data->kind = Kind::invalid;
    data->reason = reason;
    data->message = message;
    raise(std::move(data));
}

} // namespace detail
} // namespace fencehold

#endif
