/// @file
/// Rows of users: small values beside the locks. Part of fencehold.hpp; include that.
#ifndef FENCEHOLD_KV_HPP
#define FENCEHOLD_KV_HPP

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
#include "wait.hpp"

namespace fencehold {

/// How long a row lasts. There is no default; a bare number does not convert, because it has no unit.
class Expiry {
  public:
    Expiry() = delete;
    /// So long from now, rounded up to whole seconds.
    /// @throws InvalidError `kv_bad_ttl` if negative or not a number. Zero is refused where the row is written.
    template <class Rep, class Period>
    constexpr Expiry(const std::chrono::duration<Rep, Period> &duration) // NOLINT: 1h is an Expiry
        : ms_(detail::is_length(duration) ? detail::ceil_ms(duration) : negative()) {}
    /// Never.
    static constexpr Expiry forever() noexcept { return Expiry{Raw{FH_FOREVER}}; }

    /// As the C library writes it: milliseconds or FH_FOREVER.
    constexpr std::uint64_t ms() const noexcept { return ms_; }

  private:
    struct Raw {
        std::uint64_t ms;
    };
    constexpr explicit Expiry(Raw raw) noexcept : ms_(raw.ms) {}
    static std::uint64_t negative() {
        detail::raise_invalid("kv_bad_ttl", "a row's lifetime is negative or not a number (kv_bad_ttl). "
                                            "Pass a duration, or Expiry::forever()");
    }

    std::uint64_t ms_;
};

/// A row as it is stored.
struct ValueRow {
    std::string key{};       ///< Its key.
    std::string value{};     ///< What it holds, as JSON text.
    std::uint64_t version{}; ///< Rises with every write on the whole store.
};

/// Some rows by key, and where the next page begins.
struct ValuePage {
    std::vector<ValueRow> rows{};            ///< The rows.
    std::optional<std::string> next_after{}; ///< The key to go on after; empty: there are no more.
};

/// What became of a write or a check; true if it was done.
struct [[nodiscard]] Written {
    bool applied{};          ///< Whether it was done; else nothing was changed.
    std::uint64_t version{}; ///< The row's; of erase() the removed one's; lost: of the row in the way, 0: none.
    std::string value{};     ///< Its value as JSON text; of check(): `null`.
    std::optional<std::string> reason{}; ///< Why it was lost: `exists`, `absent`, `version`, `limit`, `type`.
    explicit operator bool() const noexcept { return applied; }
};

/// The rows of one namespace: JSON values up to 64 KiB with versions, expiry and conditions. Made by
/// Client::kv(); may live longer than the client.
///
/// Every function throws UnsupportedError (the store keeps locks only), InvalidError with a reason `kv_…` or
/// `client_closed`, UnreachableError, and, for a write that was sent and not answered, InDoubtError: it is never
/// sent again by itself. A lost precondition is an answer.
class Kv {
  public:
    Kv(Kv &&) noexcept = default;
    Kv &operator=(Kv &&) noexcept = default;

    /// The row at `key`, if there is one.
    std::optional<ValueRow> get(std::string_view key) const {
        const auto rows = ask(fh_kv_get, key.data(), key.size());
        auto found = all(rows.get());
        if (found.empty()) return std::nullopt;
        return std::move(found.front());
    }
    /// Those of the rows at `keys`, at most 1024, that are there, by key.
    std::vector<ValueRow> get_many(const std::vector<std::string_view> &keys) const {
        std::vector<fh_str> texts;
        texts.reserve(keys.size());
        for (const auto key : keys) texts.push_back({key.data(), key.size()});
        return all(ask(fh_kv_get_many, texts.data(), texts.size()).get());
    }
    /// Up to `limit` rows, 1 to 1000, whose keys begin with `prefix` and come after `after`, by key. For the next
    /// page pass ValuePage::next_after.
    ValuePage get_prefix(std::string_view prefix, std::uint32_t limit = 1000, std::string_view after = {}) const {
        const auto rows = ask(fh_kv_get_prefix, prefix.data(), prefix.size(), limit, after.data(), after.size());
        return {all(rows.get()), detail::text(fh_rows_next(rows.get()))};
    }

    /// Writes a row.
    /// @param value JSON text. @param ttl Such as `24h`, or Expiry::forever().
    /// @param expect The version that the row must have; 0: it must not be there; none: whatever is there.
    Written put(std::string_view key, std::string_view value, Expiry ttl,
                std::optional<std::uint64_t> expect = std::nullopt) const {
        return written(fh_kv_put, key.data(), key.size(), value.data(), value.size(), ttl.ms(), version(expect));
    }
    /// Writes a row if there is none.
    Written put_if_absent(std::string_view key, std::string_view value, Expiry ttl) const {
        return written(fh_kv_put_if_absent, key.data(), key.size(), value.data(), value.size(), ttl.ms());
    }
    /// Removes a row, with `expect` only one of that version. It is lost (`absent`) if there is none.
    Written erase(std::string_view key, std::optional<std::uint64_t> expect = std::nullopt) const {
        return written(fh_kv_delete, key.data(), key.size(), version(expect));
    }
    /// Adds to the number in a row, which is made if there is none; `ttl` is for that one.
    Written incr(std::string_view key, std::int64_t delta, Expiry ttl) const {
        return written(fh_kv_incr, key.data(), key.size(), delta, ttl.ms());
    }
    /// Whether a row has the version `expect`; 0: is not there.
    Written check(std::string_view key, std::uint64_t expect) const {
        return written(fh_kv_check, key.data(), key.size(), expect);
    }

    /// For the rest of the C API. Borrowed; null after a move.
    fh_kv *c_ptr() const noexcept { return handle_.get(); }

  private:
    friend class Client;
    struct Free {
        void operator()(fh_kv *kv) const noexcept { fh_kv_free(kv); }
        void operator()(fh_rows *rows) const noexcept { fh_rows_free(rows); }
    };
    using Rows = std::unique_ptr<fh_rows, Free>;
    explicit Kv(fh_kv *kv) noexcept : handle_(kv) {}

    static std::uint64_t version(const std::optional<std::uint64_t> &expect) noexcept {
        return expect.value_or(FH_ANY_VERSION);
    }

    template <class Function, class... Arguments> Rows ask(Function function, Arguments... arguments) const {
        fh_rows *rows = nullptr;
        detail::ErrorSlot error;
        const auto status = function(c_ptr(), arguments..., &rows, error.out());
        Rows owned{rows};
        if (status < FH_OK) detail::raise(error.data(status));
        return owned;
    }

    template <class Function, class... Arguments> Written written(Function function, Arguments... arguments) const {
        const auto rows = ask(function, arguments...);
        auto reason = detail::text(fh_rows_reason(rows.get()));
        auto found = row(rows.get(), 0);
        return {!reason, found.version, std::move(found.value), std::move(reason)};
    }

    static ValueRow row(const fh_rows *rows, std::size_t index) {
        fh_row row = FH_ROW_INIT;
        if (fh_rows_row(rows, index, &row) != FH_OK) return {};
        return {std::string{detail::view(row.key)}, std::string{detail::view(row.value_json)}, row.version};
    }

    static std::vector<ValueRow> all(const fh_rows *rows) {
        std::vector<ValueRow> found;
        const auto count = fh_rows_count(rows);
        found.reserve(count);
        for (std::size_t index = 0; index < count; ++index) found.push_back(row(rows, index));
        return found;
    }

    std::unique_ptr<fh_kv, Free> handle_;
};

} // namespace fencehold

#endif
