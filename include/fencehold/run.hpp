/// @file
/// The result of Lock::run(). Part of fencehold.hpp; include that.
#ifndef FENCEHOLD_RUN_HPP
#define FENCEHOLD_RUN_HPP

#include <memory>
#include <optional>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "error.hpp"
#include "info.hpp"

namespace fencehold {

/// What Lock::run() answers: whether the body ran, and what it returned. True if it ran.
template <class T> struct Run {
    bool acquired{};                  ///< Whether the lock was taken and the body called.
    std::optional<T> value{};         ///< What the body returned; set if `acquired`.
    std::optional<Refusal> refusal{}; ///< Why not; set if not `acquired`.
    explicit operator bool() const noexcept { return acquired; }
};

/// For a body that returns nothing.
template <> struct Run<void> {
    bool acquired{};                  ///< Whether the lock was taken and the body called.
    std::optional<Refusal> refusal{}; ///< Why not; set if not `acquired`.
    explicit operator bool() const noexcept { return acquired; }
};

/// For a body that returns a reference.
template <class T> struct Run<T &> {
    bool acquired{};                  ///< Whether the lock was taken and the body called.
    T *value{};                       ///< What the body returned; set if `acquired`.
    std::optional<Refusal> refusal{}; ///< Why not; set if not `acquired`.
    explicit operator bool() const noexcept { return acquired; }
};

namespace detail {

/// Calls the body and keeps what it returns.
template <class R, class F> void call_body(Run<R> &run, F &body) {
    run.acquired = true;
    if constexpr (std::is_void_v<R>) {
        body();
    } else if constexpr (std::is_lvalue_reference_v<R>) {
        run.value = std::addressof(body());
    } else {
        run.value.emplace(body());
    }
}

/// Hands what the body returned to the error that is thrown instead.
template <class R> void attach_value(ErrorData &error, Run<R> &run) {
    if constexpr (std::is_lvalue_reference_v<R>) {
        using T = std::remove_cv_t<std::remove_reference_t<R>>;
        error.value = std::shared_ptr<void>{std::shared_ptr<void>{}, const_cast<T *>(run.value)};
        error.value_type = &typeid(T);
    } else if constexpr (!std::is_void_v<R>) {
        using T = std::remove_cv_t<R>;
        error.value = std::make_shared<T>(std::move(*run.value));
        error.value_type = &typeid(T);
    }
}

} // namespace detail
} // namespace fencehold

#endif
