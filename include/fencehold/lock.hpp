/// @file
/// Locks, semaphores and how to cancel a wait. Part of fencehold.hpp; include that.
#ifndef FENCEHOLD_LOCK_HPP
#define FENCEHOLD_LOCK_HPP

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#if __cplusplus >= 202002L && __has_include(<stop_token>)
#include <stop_token>
#endif

#include "../fencehold.h"
#include "error.hpp"
#include "info.hpp"
#include "log.hpp"
#include "run.hpp"
#include "wait.hpp"

namespace fencehold {

class Client;

/// How a handle behaves. `LockOptions{30s}`; in C++20 also `{.ttl = 30s, .wait = 10s, .fair = true}`.
struct LockOptions {
    Ttl ttl;                    ///< How long the lease outlives its last renewal. Required: `{}` does not compile.
    std::optional<Wait> wait{}; ///< The handle's own wait: for calls without one. None: one try, lock() waits forever.
    std::string owner{};        ///< Whom the store shall know; empty: minted per handle. At most 256 bytes.
    std::string label{};        ///< For people who look at the store; empty: the client's.
    bool fair{};                ///< First come, first served.
    bool reentrant{};           ///< Further acquires count instead of being refused; as many releases give back.
    bool background{};          ///< A thread renews; without it keep_alive() does.
    bool crash_expire{}; ///< After a crash the lease runs to its end, also where the store could notice the death.
    bool resume{};       ///< Take up the hold of this very `owner`, which another process handed on.
};

/// Ends waits from elsewhere, for good: another thread, or a signal handler. Copies are the same.
class Cancel {
  public:
    Cancel() {
        fh_cancel *cancel = nullptr;
        detail::check(fh_cancel_new(&cancel), detail::ErrorSlot{});
        handle_ = std::shared_ptr<fh_cancel>{cancel, fh_cancel_free};
    }
    /// Ends all waits that were and will be given this, with CancelledError. Async-signal-safe.
    void trigger() const noexcept { fh_cancel_trigger(handle_.get()); }
    /// For the rest of the C API. Borrowed.
    fh_cancel *c_ptr() const noexcept { return handle_.get(); }

  private:
    std::shared_ptr<fh_cancel> handle_;
};

/// A handle on a lock or on a permit of a semaphore: one owner, at most one permit. Made by Client::lock()
/// and Client::semaphore(), which send nothing.
///
/// Move-only and one pointer wide; meets TimedLockable, so std::scoped_lock and std::unique_lock take it.
/// Any thread may call any function at any time. An acquire through a handle that already holds is a
/// stranger's: false (`held_here`), or it waits; LockOptions::reentrant counts instead. The destructor
/// gives the hold back, within 2 s, and never throws: the failure goes to the log (set_log()).
class Lock {
  public:
    Lock(Lock &&) noexcept = default;
    Lock &operator=(Lock &&) noexcept = default;

    /// Takes the permit. False: the store said no, and refusal() tells why. A store out of reach is ridden
    /// out for the length of the wait and then thrown: never false.
    ///
    /// @param wait How long to wait for our turn; without it the handle's own, else one try.
    /// @throws UnreachableError nothing was done. InDoubtError it may be held: acquire again through this
    ///         handle. Also InvalidError (`client_closed`), ForkedError, UnauthorizedError, StoreError, ….
    [[nodiscard]] bool acquire(Wait wait = {}) { return acquire_with(wait, nullptr); }
    /// The same; `cancel` ends the wait with CancelledError, nothing held and no place in line kept.
    [[nodiscard]] bool acquire(Wait wait, const Cancel &cancel) { return acquire_with(wait, cancel.c_ptr()); }
#if defined(__cpp_lib_jthread)
    /// The same; a stop requested of `stop` ends the wait with CancelledError.
    [[nodiscard]] bool acquire(Wait wait, std::stop_token stop) {
        const Cancel cancel;
        const std::stop_callback trigger{std::move(stop), [&cancel]() noexcept { cancel.trigger(); }};
        return acquire(wait, cancel);
    }
#endif

    /// Takes the permit or throws; waits for the handle's own wait, else forever.
    /// @throws HeldError, TimedOutError and what acquire() throws.
    void lock() {
        const auto own = fh_lock_wait_ms(c_ptr());
        enter(own == FH_DEFAULT_WAIT ? FH_FOREVER : own);
    }
    /// One try, whatever the handle's own wait. @throws what acquire() throws.
    [[nodiscard]] bool try_lock() { return acquire(Wait::no()); }
    /// Waits up to `duration`, of which a negative one is one try. @throws what acquire() throws.
    template <class R, class P> [[nodiscard]] bool try_lock_for(const std::chrono::duration<R, P> &duration) {
        return acquire(duration > duration.zero() ? Wait{duration} : Wait::no());
    }
    /// Waits until `time`, of which a past one is one try. @throws what acquire() throws.
    template <class C, class D> [[nodiscard]] bool try_lock_until(const std::chrono::time_point<C, D> &time) {
        return try_lock_for(time - C::now());
    }
    /// release() without exceptions: a failure goes to the log and to last_error(). At most 2 s.
    void unlock() noexcept {
        detail::ErrorSlot error;
        if (fh_lock_release(c_ptr(), error.out()) < FH_OK) {
            detail::log(LogLevel::warn, detail::view(fh_error_message(error.get())));
        }
    }

    /// Calls `body` with the lock held and gives back the hold that this call took. Never calls it without.
    ///
    /// What the body throws arrives unchanged; a failing release then only goes to the log and last_error().
    /// @throws LostError if the lease ended before the body did, else InDoubtError or UnreachableError of the
    ///         release; all three carry what the body returned as `value<T>()`. Also what acquire() throws.
    template <class F> auto run(F &&body, Wait wait = {}) -> Run<std::invoke_result_t<F &>> {
        Run<std::invoke_result_t<F &>> result;
        std::uint64_t epoch = 0;
        {
            detail::ErrorSlot error;
            const auto status = fh_lock_take(c_ptr(), wait.ms(), nullptr, &epoch, error.out());
            if (status == FH_HELD || status == FH_TIMED_OUT) {
                result.refusal = error.data(status)->refusal;
                return result;
            }
            detail::check(status, error);
        }
        try {
            detail::call_body(result, body);
        } catch (...) {
            fh_lock_leave(c_ptr(), epoch, nullptr);
            throw;
        }
        detail::ErrorSlot error;
        if (const auto status = fh_lock_leave(c_ptr(), epoch, error.out()); status != FH_OK) {
            auto data = error.data(status);
            detail::attach_value(*data, result);
            detail::raise(std::move(data));
        }
        return result;
    }

    /// Gives the lock to those in line and takes it again behind them. True: held again, with a higher
    /// fence. False: not held any more. @throws what acquire() throws.
    [[nodiscard]] bool step_aside(Wait wait = {}) {
        detail::ErrorSlot error;
        return detail::answer(fh_lock_step_aside(c_ptr(), wait.ms(), nullptr, error.out()), error);
    }

    /// True while held; false: lost or never held, stop. Not due: no I/O, no allocation, and no more than
    /// asking the time costs. Due (a third of the lifetime has passed): one renewal, which takes at most a
    /// fifth of the lifetime; a background handle sends nothing. last_error() keeps the cause.
    [[nodiscard]] bool keep_alive() noexcept { return fh_lock_keep_alive(handle_.get()) == FH_OK; }

    /// Gives the hold back. False: there was nothing to give back (idle, lost, forked). held() is false
    /// afterwards in any case, and no renewal is sent. At most 2 s.
    /// @throws UnreachableError, InDoubtError; then it may be called again.
    bool release() {
        detail::ErrorSlot error;
        return detail::answer(fh_lock_release(c_ptr(), error.out()), error);
    }

    /// Calls `handler` once a hold when the lease is lost, after held() has become false; at once if it is
    /// lost already. It stays for the next hold and lives as long as the handle. It is called on the thread
    /// `fencehold` (background handles) or inside the call that found out, holding nothing; it may call
    /// any function of the handle and destroy it. What it throws goes to the log.
    void on_lost(std::function<void(LostReason)> handler) {
        using Handler = std::function<void(LostReason)>;
        auto owned = std::make_unique<Handler>(std::move(handler));
        detail::ErrorSlot error;
        const auto status = fh_lock_on_lost(
            c_ptr(),
            [](const fh_lock *lock, std::int32_t reason, void *user_data) {
                call_handler(*static_cast<Handler *>(user_data), lock, static_cast<LostReason>(reason));
            },
            owned.release(), [](void *user_data) { delete static_cast<Handler *>(user_data); }, error.out());
        detail::check(status, error);
    }

    /// Whether the lease is ours now. False the moment its deadline passed.
    bool held() const noexcept { return fh_lock_held(c_ptr()) == 1; }
    /// Whether a renewal could not be asked since the last good one; last_error() says why.
    bool at_risk() const noexcept { return fh_lock_at_risk(c_ptr()) == 1; }
    /// Why the last hold was lost; none if it was not.
    std::optional<LostReason> lost_reason() const noexcept {
        const auto reason = fh_lock_lost_reason(c_ptr());
        return reason > 0 ? std::optional{static_cast<LostReason>(reason)} : std::nullopt;
    }
    /// Why the last acquire answered false, and who holds it; none if it did not.
    std::optional<Refusal> refusal() const {
        fh_info *info = nullptr;
        const char *reason = fh_lock_refusal(c_ptr(), &info);
        const detail::InfoPtr owned{info};
        return detail::refusal(reason, info);
    }
    /// What went wrong last: the cause of a loss, of being at risk, of a failed release. Its raise() throws
    /// it as the class of its kind.
    std::optional<Error> last_error() const {
        const detail::ErrorSlot error{fh_lock_last_error(c_ptr())};
        return error ? std::optional<Error>{error.data(FH_ERR_INTERNAL)} : std::nullopt;
    }

    /// The current token, which moves with each renewal. 1 to 2^63-1, also readable after a loss.
    /// @throws NotHeldError if the handle never held, or gave its hold back.
    std::uint64_t token() const { return readable(fh_lock_token(c_ptr())); }
    /// This grant's first token, the same for the whole hold: above all earlier holders' tokens and below
    /// all later ones'. Write it beside what you write, and let the store refuse a lower one.
    /// @throws NotHeldError as token().
    std::uint64_t fence() const { return readable(fh_lock_fence(c_ptr())); }
    /// Which permit of the semaphore; 0 for a lock. @throws NotHeldError as token().
    std::uint32_t slot() const {
        const auto slot = fh_lock_slot(c_ptr());
        static_cast<void>(fence());
        return slot;
    }
    /// Our place in line while waiting, 1 is next; else 0.
    std::uint32_t position() const noexcept { return fh_lock_position(c_ptr()); }
    /// The name, as it was given.
    std::string_view name() const noexcept { return detail::view(fh_lock_name(c_ptr())); }
    /// Whom the store knows: the chosen owner, or host:pid:12 hex.
    std::string_view owner() const noexcept { return detail::view(fh_lock_owner(c_ptr())); }
    /// The lifetime as the store takes it, rounded up to its step.
    std::chrono::milliseconds ttl() const noexcept { return millis(fh_lock_ttl_ms(c_ptr())); }
    /// How long the lease lasts unless renewed; zero while not held.
    std::chrono::milliseconds remaining() const noexcept { return millis(fh_lock_remaining_ms(c_ptr())); }

    /// On a `memory:` store only: loses the hold for `reason`, to rehearse what the program does then.
    /// @throws UnsupportedError on any other store.
    void lose(LostReason reason) {
        detail::ErrorSlot error;
        detail::check(fh_lock_lose(c_ptr(), static_cast<std::int32_t>(reason), error.out()), error);
    }

    /// For the rest of the C API. Borrowed; null after a move.
    fh_lock *c_ptr() const noexcept { return handle_.get(); }

  private:
    friend class Client;
    struct Free {
        void operator()(fh_lock *lock) const noexcept { fh_lock_free(lock); }
    };

    explicit Lock(fh_lock *lock) noexcept : handle_(lock) {}

    bool acquire_with(Wait wait, const fh_cancel *cancel) {
        detail::ErrorSlot error;
        return detail::answer(fh_lock_acquire(c_ptr(), wait.ms(), cancel, error.out()), error);
    }

    /// Takes the permit or throws.
    void enter(std::uint64_t wait_ms) {
        detail::ErrorSlot error;
        detail::check(fh_lock_take(c_ptr(), wait_ms, nullptr, nullptr, error.out()), error);
    }

    static void call_handler(const std::function<void(LostReason)> &handler, const fh_lock *lock,
                             LostReason reason) noexcept {
        try {
            try {
                handler(reason);
            } catch (const std::exception &error) {
                detail::log(LogLevel::error, describe(lock) + error.what());
            } catch (...) {
                detail::log(LogLevel::error, describe(lock) + "something that is no std::exception");
            }
        } catch (...) { // NOLINT: no memory for the message; nobody above could do anything about it
        }
    }
    static std::string describe(const fh_lock *lock) {
        return "lock \"" + std::string{detail::view(fh_lock_name(lock))} + "\": a loss handler threw: ";
    }

    /// `number`, which the C library shows as 0 while there is none.
    std::uint64_t readable(std::uint64_t number) const {
        if (number == 0) {
            auto data = std::make_shared<detail::ErrorData>();
            data->kind = Kind::not_held;
            data->retry = Retry::now;
            data->reason = "not_held";
            data->lock = std::string{name()};
            data->message =
                "lock \"" + data->lock + "\": it is not held, so it has no token, fence or slot. Acquire it first";
            detail::raise(std::move(data));
        }
        return number;
    }

    static std::chrono::milliseconds millis(std::uint64_t ms) noexcept {
        return std::chrono::milliseconds{static_cast<std::chrono::milliseconds::rep>(ms)};
    }

    std::unique_ptr<fh_lock, Free> handle_;
};

} // namespace fencehold

#endif
