/// @file
/// Steps guarded by locks. Part of fencehold.hpp; include that.
#ifndef FENCEHOLD_TRANSACTION_HPP
#define FENCEHOLD_TRANSACTION_HPP

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../fencehold.h"
#include "error.hpp"
#include "lock.hpp"

namespace fencehold {

/// One item to push.
struct Item {
    std::string data;                            ///< The item's data, as JSON text.
    std::optional<std::string> partition{};      ///< The partition of the queue.
    std::optional<std::string> transaction_id{}; ///< Makes a repeated push the same item.
    std::optional<std::string> trace_id{};       ///< For following it through a system.
};

namespace detail {

/// The text of a top-level member of a JSON object, if it is text without escapes; else none.
inline std::optional<std::string> text_member(std::string_view json, std::string_view name) {
    int depth = 0;
    std::optional<std::string_view> last; // the string before where we are
    bool is_value = false;
    for (std::size_t at = 0; at < json.size(); ++at) {
        const char c = json[at];
        if (c == '{' || c == '[') ++depth;
        if (c == '}' || c == ']') --depth;
        if (c == ':' && depth == 1) is_value = last == name;
        if (c == ',' && depth == 1) is_value = false;
        if (c != '"') continue;
        const auto begin = at + 1;
        for (++at; at < json.size() && json[at] != '"'; ++at) {
            if (json[at] == '\\') ++at;
        }
        if (at >= json.size()) break;
        last = json.substr(begin, at - begin);
        if (is_value && depth == 1) return std::string{*last};
    }
    return std::nullopt;
}

} // namespace detail

/// What a commit answered.
class [[nodiscard]] CommitResult {
  public:
    bool success{};                      ///< Whether all of it was done; else none of it was.
    std::optional<std::string> reason{}; ///< Why not: `lost` if a guard was; `kv_precondition`, `duplicate`, ….
    std::string json{};                  ///< The store's answer as JSON text: success, reason, results.
    explicit operator bool() const noexcept { return success; }

    /// Itself, if it succeeded. @throws LostError if a guard was lost; StoreError for another precondition.
    const CommitResult &or_throw() const {
        if (success) return *this;
        if (lost_) detail::raise(lost_);
        auto data = std::make_shared<detail::ErrorData>();
        const bool lost = reason == "lost";
        data->kind = lost ? Kind::lost : Kind::store;
        data->retry = lost ? Retry::check_first : Retry::never;
        data->reason = reason.value_or("refused");
        data->message = lost ? "a guard of the step is not held any more, so nothing of it was done"
                             : "the step was refused, and nothing of it was done (" + data->reason + ")";
        detail::raise(std::move(data));
    }

  private:
    friend class Transaction;
    detail::ErrorPtr lost_; // whose lock it is now
};

class Transaction;

/// A queue that a transaction pushes to. Lives as long as the transaction.
class Queue {
  public:
    /// Adds items to the step. @throws InvalidError if an item's data is no JSON.
    Transaction &push(const std::vector<Item> &items);

  private:
    friend class Transaction;
    Queue(Transaction &transaction, std::string_view name) : transaction_(&transaction), name_(name) {}
    Transaction *transaction_;
    std::string name_;
};

/// A step that commits as one, and only if the locks that it guards are still held. Made by
/// Client::transaction(); used by one thread at a time.
class Transaction {
  public:
    Transaction(Transaction &&) noexcept = default;
    Transaction &operator=(Transaction &&) noexcept = default;

    /// The step shall commit only while `lock` is held. @throws NotHeldError if it is not now, and
    /// nothing was sent; InvalidError if it is another client's.
    Transaction &guard(const Lock &lock) {
        detail::ErrorSlot error;
        detail::check(fh_txn_guard(handle_.get(), lock.c_ptr(), error.out()), error);
        return *this;
    }
    /// The queue to push to.
    Queue queue(std::string_view name) { return Queue{*this, name}; }
    /// Adds acknowledgements, as the JSON text of an array.
    Transaction &ack(std::string_view json) {
        detail::ErrorSlot error;
        detail::check(fh_txn_ack(handle_.get(), json.data(), json.size(), error.out()), error);
        return *this;
    }
    /// Adds operations on keys, as the JSON text of an array.
    Transaction &kv(std::string_view json) {
        detail::ErrorSlot error;
        detail::check(fh_txn_kv(handle_.get(), json.data(), json.size(), error.out()), error);
        return *this;
    }
    /// Adds operations on timers, as the JSON text of an array.
    Transaction &timers(std::string_view json) {
        detail::ErrorSlot error;
        detail::check(fh_txn_timers(handle_.get(), json.data(), json.size(), error.out()), error);
        return *this;
    }
    /// Does all of it, or none. @throws InDoubtError, UnreachableError, UnsupportedError, ….
    [[nodiscard]] CommitResult commit() {
        const char *json = nullptr;
        detail::ErrorSlot error;
        const auto status = fh_txn_commit(handle_.get(), &json, error.out());
        if (status < FH_OK) detail::raise(error.data(status));
        CommitResult result;
        result.success = status == FH_OK;
        result.json = std::string{detail::view(json)};
        if (status == FH_LOST) {
            result.reason = "lost";
            result.lost_ = error.data(status);
        } else if (!result.success) {
            result.reason = detail::text_member(result.json, "reason").value_or("refused");
        }
        return result;
    }

  private:
    friend class Client;
    friend class Queue;
    struct Free {
        void operator()(fh_txn *transaction) const noexcept { fh_txn_free(transaction); }
    };
    explicit Transaction(fh_txn *transaction) noexcept : handle_(transaction) {}
    std::unique_ptr<fh_txn, Free> handle_;
};

namespace detail {

/// Appends `text` as a JSON string.
inline void append_json(std::string &json, std::string_view text) {
    constexpr char hex[] = "0123456789abcdef";
    json += '"';
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            json += '\\';
            json += c;
        } else if (byte < 0x20) {
            json += "\\u00";
            json += hex[byte >> 4U];
            json += hex[byte & 0xfU];
        } else {
            json += c;
        }
    }
    json += '"';
}

inline std::string items_json(const std::vector<Item> &items) {
    std::string json = "[";
    for (const auto &item : items) {
        if (json.size() > 1) json += ',';
        json += "{\"data\":" + item.data;
        const auto member = [&json](std::string_view name, const std::optional<std::string> &text) {
            if (!text) return;
            json += ',';
            append_json(json, name);
            json += ':';
            append_json(json, *text);
        };
        member("partition", item.partition);
        member("transactionId", item.transaction_id);
        member("traceId", item.trace_id);
        json += '}';
    }
    return json + ']';
}

} // namespace detail

inline Transaction &Queue::push(const std::vector<Item> &items) {
    const auto json = detail::items_json(items);
    detail::ErrorSlot error;
    detail::check(
        fh_txn_push(transaction_->handle_.get(), name_.data(), name_.size(), json.data(), json.size(), error.out()),
        error);
    return *transaction_;
}

} // namespace fencehold

#endif
