/// @file
/// A client of a store. Part of fencehold.hpp; include that.
#ifndef FENCEHOLD_CLIENT_HPP
#define FENCEHOLD_CLIENT_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../fencehold.h"
#include "error.hpp"
#include "info.hpp"
#include "kv.hpp"
#include "lock.hpp"
#include "transaction.hpp"
#include "wait.hpp"

namespace fencehold {

/// How a client reaches its store. What is left out comes from `FENCEHOLD_<NAME>`, such as
/// `FENCEHOLD_AUTH_TOKEN_FILE`, else it is not used.
struct ClientOptions {
    std::chrono::milliseconds
        request_timeout{};         ///< For one request; zero: 5 s. At most a fourth of the lifetime is used.
    std::string auth_token{};      ///< A bearer token.
    std::string auth_token_file{}; ///< A file that has it, read again when it changes.
    std::string user{};            ///< With `password`.
    std::string password{};        ///< Never shown.
    std::string password_file{};   ///< A file that has it.
    std::string ca_file{};         ///< Whom to trust, as PEM.
    std::string cert_file{};       ///< Our certificate, as PEM.
    std::string key_file{};        ///< Its key, as PEM.
    std::string label{};           ///< For people who look at the store; empty: the program's name.
};

/// A store and what talks to it. Opening does no I/O. Its locks may live longer: they go on, unless close()
/// has ended them.
class Client {
  public:
    /// @param url Such as `file:/var/lib/fencehold`, `memory:`. Empty: `FENCEHOLD_URL`, else the one line of
    ///            `/etc/fencehold/url`.
    /// @throws InvalidError `locks_no_store`, `locks_bad_url`. UnsupportedError: the loaded library is older
    ///         than this header, or lacks this kind of store.
    explicit Client(std::string_view url = {}, const ClientOptions &options = {}) {
        detail::ErrorSlot error;
        detail::check(fh_require_version(FH_VERSION_NUMBER, error.out()), error);
        fh_client_options c_options = FH_CLIENT_OPTIONS_INIT;
        if (options.request_timeout < options.request_timeout.zero()) {
            detail::raise_invalid("locks_bad_wait", "request_timeout is negative (locks_bad_wait). Pass a duration");
        }
        c_options.request_timeout_ms = static_cast<std::uint64_t>(options.request_timeout.count());
        c_options.auth_token = str(options.auth_token);
        c_options.auth_token_file = str(options.auth_token_file);
        c_options.user = str(options.user);
        c_options.password = str(options.password);
        c_options.password_file = str(options.password_file);
        c_options.ca_file = str(options.ca_file);
        c_options.cert_file = str(options.cert_file);
        c_options.key_file = str(options.key_file);
        c_options.label = str(options.label);
        fh_client *client = nullptr;
        const auto status = fh_client_open(url.data(), url.size(), &c_options, &client, error.out());
        handle_.reset(client);
        detail::check(status, error);
    }
    Client(Client &&) noexcept = default;
    Client &operator=(Client &&) noexcept = default;

    /// Makes a handle on a lock. Nothing is sent.
    /// @param name 1 to 256 bytes of UTF-8, no control character, no `#`; compared byte for byte.
    /// @throws InvalidError `locks_bad_name`, `locks_bad_ttl`, `locks_bad_owner`, `locks_bad_label`,
    ///         `client_closed`. UnsupportedError: the store cannot do what an option asks.
    Lock lock(std::string_view name, const LockOptions &options) const {
        const auto c_options = lock_options(options);
        fh_lock *lock = nullptr;
        detail::ErrorSlot error;
        const auto status =
            fh_lock_new(c_ptr(), name.data(), name.size(), options.ttl.ms(), &c_options, &lock, error.out());
        return made(lock, status, error);
    }

    /// Makes a handle on one of `permits` permits. Everybody who uses the name must say the same number.
    /// @throws as lock().
    Lock semaphore(std::string_view name, std::uint32_t permits, const LockOptions &options) const {
        const auto c_options = lock_options(options);
        fh_lock *lock = nullptr;
        detail::ErrorSlot error;
        const auto status = fh_semaphore_new(c_ptr(), name.data(), name.size(), permits, options.ttl.ms(), &c_options,
                                             &lock, error.out());
        return made(lock, status, error);
    }

    /// Makes a handle and takes its lock; the destructor of the result gives it back. Waits for
    /// LockOptions::wait; without it: one try.
    /// @throws HeldError, TimedOutError; what lock() and Lock::acquire() throw.
    Lock acquire(std::string_view name, const LockOptions &options) const {
        auto lock = this->lock(name, options);
        lock.enter(FH_DEFAULT_WAIT);
        return lock;
    }

    /// Who holds the lock or the semaphore's permits, by rising slot.
    std::vector<Holder> holders(std::string_view name) const { return show(name).holders; }
    /// The lock as the store sees it. A lock that nobody holds is a LockInfo without holders.
    LockInfo show(std::string_view name) const {
        fh_info *info = nullptr;
        detail::ErrorSlot error;
        const auto status = fh_client_holders(c_ptr(), name.data(), name.size(), &info, error.out());
        const detail::InfoPtr owned{info};
        detail::check(status, error);
        return detail::lock_info(info, 0);
    }
    /// The locks that are held or waited for and whose names begin with `prefix`, by name.
    /// @param limit At most so many. @param after Only names after this one: the last of the page before.
    std::vector<LockInfo> list(std::string_view prefix = {}, std::uint32_t limit = 1000,
                               std::string_view after = {}) const {
        fh_info *info = nullptr;
        detail::ErrorSlot error;
        const auto status = fh_client_list(c_ptr(), prefix.data(), prefix.size(), after.data(), after.size(), limit,
                                           &info, error.out());
        const detail::InfoPtr owned{info};
        detail::check(status, error);
        std::vector<LockInfo> locks;
        const auto count = fh_info_count(info);
        locks.reserve(count);
        for (std::size_t index = 0; index < count; ++index) locks.push_back(detail::lock_info(info, index));
        return locks;
    }

    /// For operators: ends the hold that has this token. Its holder finds out at its next renewal.
    /// True: ended. False: nothing changed, because nobody holds it with this token.
    bool force_release(std::string_view name, std::uint64_t token, std::uint32_t slot = 0) const {
        return end_hold(name, slot, token, {});
    }
    /// The same, for the hold of this owner.
    bool force_release(std::string_view name, std::string_view owner, std::uint32_t slot = 0) const {
        return end_hold(name, slot, 0, owner);
    }

    /// A step that commits only if the locks that it guards are still held.
    /// @throws UnsupportedError here or from Transaction::commit() on a store that has no steps.
    Transaction transaction() const {
        fh_txn *transaction = nullptr;
        detail::ErrorSlot error;
        detail::check(fh_txn_new(c_ptr(), &transaction, error.out()), error);
        return Transaction{transaction};
    }

    /// The rows of a namespace: 1 to 64 of a-z, 0-9, `.`, `_` and `-`, checked when something is asked.
    Kv kv(std::string_view ns) const {
        fh_kv *kv = nullptr;
        detail::ErrorSlot error;
        detail::check(fh_kv_new(c_ptr(), ns.data(), ns.size(), &kv, error.out()), error);
        return Kv{kv};
    }

    /// The store's URL without credentials.
    std::string_view store() const noexcept { return detail::view(fh_client_store(c_ptr())); }
    /// Asks the store for a sign of life. @throws UnreachableError, UnauthorizedError, StoreError, ….
    void ping() const {
        detail::ErrorSlot error;
        detail::check(fh_client_ping(c_ptr(), error.out()), error);
    }
    /// Cancels waits and gives all holds back, within 3 s. Calls after it throw InvalidError `client_closed`;
    /// a second close() does nothing.
    /// @throws InDoubtError, naming the locks that could not be given back.
    void close() {
        detail::ErrorSlot error;
        detail::check(fh_client_close(c_ptr(), error.out()), error);
    }

    /// On a store `memory:?clock=manual` only: lets time pass, for tests.
    /// @throws UnsupportedError on any other store.
    template <class Rep, class Period> void advance(const std::chrono::duration<Rep, Period> &duration) const {
        detail::ErrorSlot error;
        detail::check(fh_client_advance(c_ptr(), Wait{duration}.ms(), error.out()), error);
    }

    /// For the rest of the C API. Borrowed; null after a move.
    fh_client *c_ptr() const noexcept { return handle_.get(); }

  private:
    struct Free {
        void operator()(fh_client *client) const noexcept { fh_client_free(client); }
    };

    static fh_str str(std::string_view text) noexcept { return {text.data(), text.size()}; }

    static fh_lock_options lock_options(const LockOptions &options) noexcept {
        fh_lock_options c_options = FH_LOCK_OPTIONS_INIT;
        if (options.wait) c_options.wait_ms = options.wait->ms();
        c_options.owner = str(options.owner);
        c_options.label = str(options.label);
        const auto flag = [&c_options](bool set, int value) {
            if (set) c_options.flags |= static_cast<std::uint32_t>(value);
        };
        flag(options.fair, FH_FAIR);
        flag(options.reentrant, FH_REENTRANT);
        flag(options.background, FH_BACKGROUND);
        flag(options.crash_expire, FH_CRASH_EXPIRE);
        flag(options.resume, FH_RESUME);
        return c_options;
    }

    static Lock made(fh_lock *lock, fh_status status, const detail::ErrorSlot &error) {
        Lock result{lock};
        detail::check(status, error);
        return result;
    }

    bool end_hold(std::string_view name, std::uint32_t slot, std::uint64_t token, std::string_view owner) const {
        detail::ErrorSlot error;
        return detail::answer(fh_client_force_release(c_ptr(), name.data(), name.size(), slot, token, owner.data(),
                                                      owner.size(), error.out()),
                              error);
    }

    std::unique_ptr<fh_client, Free> handle_;
};

} // namespace fencehold

#endif
