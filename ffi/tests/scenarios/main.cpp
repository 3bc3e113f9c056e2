// Plays every file of the folder given through fencehold.h; tests/scenarios/README.md describes the steps, and no rule
// of leases is here. Each is played on a server of its own, too. Prints one line a play and, last, `N passed, N
// failed`.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../../../tests/on_server.hpp"
#include "handles.hpp"

using Json = nlohmann::json;

namespace {

// A step did not do what the scenario says, or the scenario cannot be understood.
struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// What a body throws that shall fail.
struct BodyFailed {};

struct Handle {
    Lock lock;
    std::shared_ptr<std::vector<std::string>> lost_calls = std::make_shared<std::vector<std::string>>();
    std::string client;
};

const std::set<std::string> known_keys{
    "do",           "lock",     "client",      "client_options", "name",    "ttl",          "permits",
    "handle_wait",  "owner",    "resume",      "label",          "fair",    "reentrant",    "crash",
    "wait",         "url",      "body",        "body_fails",     "reason",  "by",           "slot",
    "token",        "token_of", "owner_of",    "prefix",         "limit",   "after",        "expect",
    "expect_error", "held",     "lost",        "lost_calls",     "refusal", "last_error",   "readable",
    "fence_above",  "fence_is", "token_above", "token_is",       "ttl_ms",  "remaining_ms", "name_is",
    "position"};

void require_known(const Json &object, const std::set<std::string> &known) {
    for (const auto &[key, value] : object.items()) {
        if (known.count(key) == 0) throw Failure("unknown key " + key);
    }
}

void compare(const std::string &what, const Json &actual, const Json &expected) {
    if (actual != expected) throw Failure(what + " is " + actual.dump() + ", not " + expected.dump());
}

std::uint64_t wait_of(const Json &wait) {
    if (wait == 0) return 0;
    if (!wait.is_string()) throw Failure("a wait is text or 0");
    const auto text = wait.get<std::string>();
    std::uint64_t ms = 0;
    call(fh_wait_parse, text.data(), text.size(), &ms);
    return ms;
}

std::uint64_t given_wait(const Json &step) {
    return step.contains("wait") ? wait_of(step.at("wait")) : FH_DEFAULT_WAIT;
}

fh_str str(const std::string &text) { return {text.data(), text.size()}; }

// Whether an answer is yes; "no" is held, timed out, lost or not held.
bool yes(fh_status status) {
    if (status < FH_OK) throw Failure("a failure without an error: " + std::to_string(status));
    return status == FH_OK;
}

Client open_client(const std::string &url, const std::string &label = {}) {
    fh_client_options options = FH_CLIENT_OPTIONS_INIT;
    options.label = str(label);
    fh_client *client = nullptr;
    call(fh_client_open, url.data(), url.size(), &options, &client);
    return Client{client};
}

class Play {
  public:
    explicit Play(std::string url) : url_(std::move(url)) {}

    void steps(const Json &steps) {
        for (const auto &each : steps) {
            try {
                step(each);
            } catch (const Failure &failure) {
                if (std::string_view{failure.what()}.find("\n  in ") != std::string_view::npos) throw;
                auto shown = each;
                shown.erase("body");
                throw Failure(std::string{failure.what()} + "\n  in " + shown.dump());
            }
        }
    }

    void end() {
        for (auto &[id, client] : clients_) call(fh_client_close, client.get());
    }

  private:
    using Numbers = std::map<std::string, std::uint64_t>;

    void step(const Json &step) {
        require_known(step, known_keys);
        // What was seen before this step; what its body sees counts as before as well, unless it is of this handle.
        const auto fences = fences_, tokens = tokens_;
        const auto *expected = step.contains("expect_error") ? &step.at("expect_error") : nullptr;
        if (expected != nullptr) {
            require_known(*expected, {"kind", "reason", "retry", "late", "refusal", "mentions"});
        }
        try {
            const auto answer = act(step);
            if (expected != nullptr) throw Failure("it raised nothing");
            if (step.contains("expect")) compare("the answer", answer, step.at("expect"));
        } catch (const Raised &raised) {
            const auto *error = raised.error.get();
            if (expected == nullptr) throw Failure(std::string{"it raised "} + fh_error_message(error));
            check_error(error, *expected);
        } catch (const BodyFailed &) {
            if (expected == nullptr || expected->at("kind") != "body") throw Failure("it raised the body's error");
        }
        const auto found = handles_.find(step.value("lock", ""));
        if (found == handles_.end()) return;
        look_at(found->second, step, fences, tokens);
        const auto *lock = found->second.lock.get();
        if (const auto fence = fh_lock_fence(lock); fence != 0) {
            fences_[found->first] = fence;
            tokens_[found->first] = fh_lock_token(lock);
        }
    }

    Json act(const Json &step) {
        static const std::map<std::string, std::function<Json(Play &, const Json &)>> acts{
            {"new", [](Play &, const Json &) { return Json{}; }},
            {"check", [](Play &, const Json &) { return Json{}; }},
            {"open", &Play::open},
            {"take", &Play::take},
            {"run", &Play::run},
            {"acquire",
             [](Play &play, const Json &step) {
                 return Json(yes(call(fh_lock_acquire, play.lock(step), given_wait(step), nullptr)));
             }},
            {"step_aside",
             [](Play &play, const Json &step) {
                 return Json(yes(call(fh_lock_step_aside, play.lock(step), given_wait(step), nullptr)));
             }},
            {"keep_alive",
             [](Play &play, const Json &step) { return Json(fh_lock_keep_alive(play.lock(step)) == FH_OK); }},
            {"release", [](Play &play, const Json &step) { return Json(yes(call(fh_lock_release, play.lock(step)))); }},
            {"lose", &Play::lose},
            {"let_expire", &Play::let_expire},
            {"advance", &Play::advance},
            {"force_release", &Play::force_release},
            {"holders", &Play::holders},
            {"list", &Play::list},
            {"ping", [](Play &play, const Json &step) { return call(fh_client_ping, play.client(step)), Json{}; }},
            {"close", [](Play &play, const Json &step) { return call(fh_client_close, play.client(step)), Json{}; }},
        };
        const auto name = step.at("do").get<std::string>();
        const auto found = acts.find(name);
        if (found == acts.end()) throw Failure("unknown do " + name);
        if (step.contains("ttl") && name != "take") make(step, std::nullopt);
        return found->second(*this, step);
    }

    // --- clients and handles

    fh_client *client_named(const std::string &id, const Json &step = Json::object()) {
        auto &client = clients_[id];
        if (!client) {
            const auto options = step.value("client_options", Json::object());
            require_known(options, {"label"});
            client = open_client(url_, options.value("label", ""));
        }
        return client.get();
    }
    static std::string client_id(const Json &step) { return step.value("client", "a"); }
    fh_client *client(const Json &step) { return client_named(client_id(step), step); }

    Handle &handle(const Json &id) {
        const auto found = handles_.find(id.get<std::string>());
        if (found == handles_.end()) throw Failure("there is no handle " + id.dump());
        return found->second;
    }
    fh_lock *lock(const Json &step) { return handle(step.at("lock")).lock.get(); }

    void make(const Json &step, std::optional<std::uint64_t> wait) {
        const auto name = step.at("name").get<std::string>(), ttl = step.at("ttl").get<std::string>();
        const auto owner = step.value("owner", ""), label = step.value("label", "");
        fh_lock_options options = FH_LOCK_OPTIONS_INIT;
        if (step.contains("handle_wait")) options.wait_ms = wait_of(step.at("handle_wait"));
        options.wait_ms = wait.value_or(options.wait_ms);
        options.owner = str(owner);
        options.label = str(label);
        const auto flag = [&](const char *key, std::uint32_t bit) { return step.value(key, false) ? bit : 0; };
        options.flags = flag("fair", FH_FAIR) | flag("reentrant", FH_REENTRANT) | flag("resume", FH_RESUME);
        if (step.value("crash", "") == "expire") options.flags |= FH_CRASH_EXPIRE;
        std::uint64_t ttl_ms = 0;
        call(fh_ttl_parse, ttl.data(), ttl.size(), &ttl_ms);
        fh_lock *made = nullptr;
        if (step.contains("permits")) {
            call(fh_semaphore_new, client(step), name.data(), name.size(), step.at("permits").get<std::uint32_t>(),
                 ttl_ms, &options, &made);
        } else {
            call(fh_lock_new, client(step), name.data(), name.size(), ttl_ms, &options, &made);
        }
        Handle kept;
        kept.lock.reset(made);
        kept.client = client_id(step);
        using Calls = std::shared_ptr<std::vector<std::string>>;
        const auto note = [](const fh_lock *, std::int32_t reason, void *calls) {
            (*static_cast<Calls *>(calls))->push_back(lost_id(reason));
        };
        const auto forget = [](void *calls) { delete static_cast<Calls *>(calls); };
        call(fh_lock_on_lost, made, +note, static_cast<void *>(new Calls{kept.lost_calls}), +forget);
        handles_[step.at("lock").get<std::string>()] = std::move(kept);
    }

    // --- the calls that are more than one line

    Json open(const Json &step) {
        auto opened = open_client(step.at("url").is_null() ? std::string{} : step.at("url").get<std::string>());
        clients_[client_id(step)] = std::move(opened);
        return {};
    }

    Json take(const Json &step) {
        const auto wait = step.contains("wait") ? std::optional{wait_of(step.at("wait"))} : std::nullopt;
        make(step, wait);
        call(fh_lock_take, lock(step), FH_DEFAULT_WAIT, nullptr, static_cast<std::uint64_t *>(nullptr));
        return {};
    }

    Json run(const Json &step) {
        auto *lock = this->lock(step);
        if (!yes(call(fh_lock_acquire, lock, given_wait(step), nullptr))) return false;
        const auto epoch = fh_lock_epoch(lock);
        try {
            steps(step.at("body"));
            if (step.value("body_fails", false)) throw BodyFailed{};
        } catch (...) {
            fh_lock_leave(lock, epoch, nullptr);
            throw;
        }
        call(fh_lock_leave, lock, epoch);
        return true;
    }

    Json lose(const Json &step) {
        for (const auto reason : {FH_LOST_RENEW, FH_LOST_GUARD, FH_LOST_EXPIRED, FH_LOST_FORKED}) {
            if (step.at("reason") == lost_id(reason)) return call(fh_lock_lose, lock(step), reason), Json{};
        }
        throw Failure("unknown reason");
    }

    Json let_expire(const Json &step) {
        const auto &expiring = handle(step.at("lock"));
        const auto ttl = fh_lock_ttl_ms(expiring.lock.get());
        if (url_.find("clock=manual") != std::string::npos) {
            call(fh_client_advance, client_named(expiring.client), ttl);
        } else {
            std::this_thread::sleep_for(std::chrono::milliseconds{ttl + 100});
        }
        return {};
    }

    Json advance(const Json &step) { return call(fh_client_advance, client(step), wait_of(step.at("by"))), Json{}; }

    Json force_release(const Json &step) {
        const auto name = step.at("name").get<std::string>();
        const auto slot = step.value("slot", std::uint32_t{0});
        std::uint64_t token = step.value("token", std::uint64_t{0});
        std::string owner;
        if (step.contains("owner_of")) owner = fh_lock_owner(handle(step.at("owner_of")).lock.get());
        if (step.contains("token_of")) token = fh_lock_token(handle(step.at("token_of")).lock.get());
        return yes(call(fh_client_force_release, client(step), name.data(), name.size(), slot, token, owner.data(),
                        owner.size()));
    }

    Json holders(const Json &step) {
        const auto name = step.at("name").get<std::string>();
        fh_info *info = nullptr;
        call(fh_client_holders, client(step), name.data(), name.size(), &info);
        return handle_ids(Info{info}.get(), step.value("expect", Json::array()));
    }

    Json list(const Json &step) {
        const auto prefix = step.value("prefix", ""), after = step.value("after", "");
        fh_info *info = nullptr;
        call(fh_client_list, client(step), prefix.data(), prefix.size(), after.data(), after.size(),
             step.value("limit", std::uint32_t{0}), &info);
        const Info owned{info};
        auto names = Json::array();
        for (std::size_t at = 0; at < fh_info_count(info); ++at) names.push_back(fh_info_name(info, at));
        return names;
    }

    // --- comparisons

    // The ids of the handles that these holders are, of those that are expected; else what the store says.
    Json handle_ids(const fh_info *info, const Json &expected) {
        auto ids = Json::array();
        for (std::size_t index = 0; index < fh_info_holder_count(info, 0); ++index) {
            fh_holder holder = FH_HOLDER_INIT;
            if (fh_info_holder(info, 0, index, &holder) != FH_OK) throw Failure("a holder cannot be read");
            const std::string owner = holder.owner == nullptr ? "" : holder.owner;
            Json id = "?" + owner;
            if (index < expected.size()) {
                const auto *lock = handle(expected[index]).lock.get();
                const auto token = fh_lock_token(lock);
                if (owner == fh_lock_owner(lock) && (token == 0 || token == holder.token)) id = expected[index];
            }
            ids.push_back(id);
        }
        return ids;
    }

    static void check_error(const fh_error *error, const Json &expected) {
        const std::string message = fh_error_message(error);
        compare("the kind of \"" + message + "\"", kind_id(fh_error_kind(error)), expected.at("kind"));
        if (expected.contains("reason")) compare("the reason", fh_error_reason(error), expected.at("reason"));
        if (expected.contains("retry")) compare("retry", retry_id(fh_error_retry(error)), expected.at("retry"));
        if (expected.contains("late")) compare("late", fh_error_late_by_ms(error) > 0, expected.at("late"));
        if (expected.contains("refusal")) {
            const auto *reason = fh_error_refusal(error, nullptr);
            compare("the refusal", reason == nullptr ? "none" : reason, expected.at("refusal"));
        }
        for (const auto &word : expected.value("mentions", Json::array())) {
            if (message.find(word.get<std::string>()) == std::string::npos) {
                throw Failure("\"" + message + "\" does not mention " + word.dump());
            }
        }
    }

    void look_at(const Handle &handle, const Json &step, const Numbers &fences, const Numbers &tokens) {
        const auto *lock = handle.lock.get();
        const auto with = [&step](const char *key, const auto &check) {
            if (step.contains(key)) check(step.at(key));
        };
        with("held", [&](const Json &expected) { compare("held", fh_lock_held(lock) == 1, expected); });
        with("lost", [&](const Json &expected) {
            const auto reason = fh_lock_lost_reason(lock);
            compare("lost", reason == 0 ? Json{} : Json(lost_id(reason)), expected);
        });
        with("lost_calls", [&](const Json &expected) { compare("lost_calls", *handle.lost_calls, expected); });
        with("refusal", [&](const Json &expected) { check_refusal(lock, expected); });
        with("last_error", [&](const Json &expected) {
            const Error error{fh_lock_last_error(lock)};
            compare("last_error", error ? Json(kind_id(fh_error_kind(error.get()))) : Json{}, expected);
        });
        with("readable", [&](const Json &expected) {
            compare("token is readable", fh_lock_token(lock) != 0, expected);
            compare("fence is readable", fh_lock_fence(lock) != 0, expected);
        });
        const auto fence = fh_lock_fence(lock), token = fh_lock_token(lock);
        with("fence_above", [&](const Json &of) { above("fence", fence, seen(fences, fences_, step, of)); });
        with("fence_is", [&](const Json &of) { compare("fence", fence, seen(fences, fences_, step, of)); });
        with("token_above", [&](const Json &of) { above("token", token, seen(tokens, tokens_, step, of)); });
        with("token_is", [&](const Json &of) { compare("token", token, seen(tokens, tokens_, step, of)); });
        if (step.at("do") != "force_release") {
            with("slot", [&](const Json &expected) { compare("slot", fh_lock_slot(lock), expected); });
        }
        with("ttl_ms",
             [&](const Json &expected) { compare("ttl", fh_lock_ttl_ms(lock), test::granted_ms(url_, expected)); });
        with("remaining_ms", [&](const Json &range) {
            const auto remaining = fh_lock_remaining_ms(lock);
            if (remaining < range.at(0) || remaining > range.at(1)) {
                throw Failure("remaining is " + std::to_string(remaining) + " ms");
            }
        });
        with("owner", [&](const Json &expected) { compare("owner", fh_lock_owner(lock), expected); });
        with("name_is", [&](const Json &expected) { compare("name", fh_lock_name(lock), expected); });
        with("position", [&](const Json &expected) { compare("position", fh_lock_position(lock), expected); });
    }

    // The number last seen of a handle before this step.
    static std::uint64_t seen(const Numbers &before, const Numbers &now, const Json &step, const Json &of) {
        const auto &numbers = of == step.at("lock") ? before : now;
        const auto found = numbers.find(of.get<std::string>());
        if (found == numbers.end()) throw Failure("nothing was seen of " + of.dump());
        return found->second;
    }

    static void above(const char *what, std::uint64_t number, std::uint64_t other) {
        if (number <= other) {
            throw Failure(std::string{what} + " is " + std::to_string(number) + ", not above " + std::to_string(other));
        }
    }

    void check_refusal(const fh_lock *lock, const Json &expected) {
        fh_info *info = nullptr;
        const auto *reason = fh_lock_refusal(lock, &info);
        const Info owned{info};
        if (expected.is_null() || reason == nullptr) {
            compare("there is a refusal", reason != nullptr, !expected.is_null());
            return;
        }
        require_known(expected, {"reason", "holders"});
        compare("the refusal", reason, expected.at("reason"));
        if (expected.contains("holders")) {
            compare("the holders", handle_ids(info, expected.at("holders")), expected.at("holders"));
        }
    }

    std::string url_;
    std::map<std::string, Client> clients_;
    std::map<std::string, Handle> handles_;
    Numbers fences_;
    Numbers tokens_;
};

void play_on(const std::string &url, const Json &scenario) {
    Play play{url};
    play.steps(scenario.at("steps"));
    play.end();
}

void play(const Json &scenario, const std::string &store) {
    require_known(scenario, {"schema", "scenario", "store", "steps"});
    compare("schema", scenario.at("schema"), 1);
    if (store == "http:") {
        const test::Server server;
        return play_on(server.url(), scenario);
    }
    const auto mark = store.find('?');
    const auto parameters = mark == std::string::npos ? std::string{} : store.substr(mark);
    const auto scheme = store.substr(0, mark);
    auto folder = (std::filesystem::temp_directory_path() / "fencehold-c-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) throw Failure("no temporary folder");
    const auto remove = [&folder](void *) { std::filesystem::remove_all(folder); };
    const std::unique_ptr<std::string, decltype(remove)> removed{&folder, remove};
    if (scheme != "memory:" && scheme != "file:") throw Failure("unknown store " + store);
    const auto name = scheme == "memory:" ? "c" + folder.substr(folder.rfind('-')) : folder;
    play_on(scheme + name + parameters, scenario);
}

// Maps every row of the table of kinds, and knows no kind that is not in it.
void check_kinds(const std::filesystem::path &table) {
    std::ifstream file{table};
    std::set<std::int32_t> codes;
    const auto kinds = Json::parse(file);
    for (const auto &row : kinds.at("errors")) {
        const auto code = row.at("code").get<std::int32_t>();
        compare("the kind of " + std::to_string(code), kind_id(code), row.at("kind"));
        codes.insert(code);
    }
    for (std::int32_t code = -100; code <= 100; ++code) {
        if (code != 0 && (codes.count(code) == 0) == (kind_id(code).find(' ') == std::string::npos)) {
            throw Failure("the table and this runner differ about " + std::to_string(code));
        }
    }
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    std::vector<std::filesystem::path> files;
    for (const auto &entry : std::filesystem::directory_iterator{argv[1]}) {
        const auto &path = entry.path();
        if (path.extension() == ".json" && path.filename() != "errors.json") files.push_back(path);
    }
    std::sort(files.begin(), files.end());
    int passed = 0, failed = files.empty() ? 1 : 0;
    if (const auto table = std::filesystem::path{argv[1]} / "errors.json"; std::filesystem::exists(table)) {
        try {
            check_kinds(table);
            ++passed;
        } catch (const std::exception &error) {
            std::cout << "FAILED errors.json: " << error.what() << '\n';
            ++failed;
        }
    }
    test::Skipped skipped;
    for (const auto &path : files) {
        auto stores = Json::array({"?"});
        Json scenario;
        try {
            std::ifstream file{path};
            scenario = Json::parse(file);
            stores = scenario.at("store").is_array() ? scenario.at("store") : Json::array({scenario.at("store")});
            if (const auto reason = test::why_not_on_a_server(scenario); reason.empty()) {
                stores.push_back("http:");
            } else {
                skipped.add(path.filename().string(), reason);
            }
        } catch (const std::exception &error) {
            std::cout << "FAILED " << path.filename().string() << ": " << error.what() << '\n';
            ++failed;
            continue;
        }
        for (const auto &store : stores) {
            const auto title = path.filename().string() + " on " + store.get<std::string>();
            std::string fault;
            try {
                play(scenario, store.get<std::string>());
            } catch (const Raised &raised) {
                fault = fh_error_message(raised.error.get());
            } catch (const std::exception &error) {
                fault = error.what();
            }
            std::cout << (fault.empty() ? "ok " + title : "FAILED " + title + ": " + fault) << '\n';
            ++(fault.empty() ? passed : failed);
        }
    }
    skipped.print();
    std::cout << passed << " passed, " << failed << " failed" << std::endl;
    return failed == 0 ? 0 : 1;
}
