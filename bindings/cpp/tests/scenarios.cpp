// Plays every file of tests/scenarios through fencehold.hpp. The README there describes the steps; no rule of
// leases is here. Each is played on a server of its own, too. Prints one line a play and, last, `N passed, N failed`.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "../../../tests/on_server.hpp"
#include "support.hpp"

using namespace fencehold;
using Json = nlohmann::json;

namespace {

// A step did not do what the scenario says, or the scenario cannot be understood.
struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// What a body throws that shall fail.
struct BodyFailed {};

struct Handle {
    std::unique_ptr<Lock> lock;
    std::shared_ptr<std::vector<std::string>> lost_calls = std::make_shared<std::vector<std::string>>();
    std::string client;
    std::string name;
};

const std::set<std::string> known_keys{
    "do",           "lock",     "client",      "client_options", "name",    "ttl",          "permits",
    "handle_wait",  "owner",    "resume",      "label",          "fair",    "reentrant",    "crash",
    "wait",         "url",      "body",        "body_fails",     "reason",  "by",           "slot",
    "token",        "token_of", "owner_of",    "prefix",         "limit",   "after",        "expect",
    "expect_error", "held",     "lost",        "lost_calls",     "refusal", "last_error",   "readable",
    "fence_above",  "fence_is", "token_above", "token_is",       "ttl_ms",  "remaining_ms", "name_is",
    "position"};
const std::set<std::string> known_error_keys{"kind", "reason", "retry", "late", "refusal", "mentions"};

void require_known(const Json &object, const std::set<std::string> &known) {
    for (const auto &[key, value] : object.items()) {
        if (known.count(key) == 0) throw Failure("unknown key " + key);
    }
}

void compare(const std::string &what, const Json &actual, const Json &expected) {
    if (actual != expected) throw Failure(what + " is " + actual.dump() + ", not " + expected.dump());
}

Wait wait_of(const Json &wait) {
    if (wait.is_string()) return Wait::parse(wait.get<std::string>());
    if (wait != 0) throw Failure("a wait is text or 0");
    return Wait::no();
}

std::optional<std::string> text_of(const Json &step, const char *key) {
    if (!step.contains(key)) return std::nullopt;
    return step.at(key).get<std::string>();
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
        for (auto &[id, client] : clients_) client.close();
    }

  private:
    void step(const Json &step) {
        require_known(step, known_keys);
        const auto seen_fences = fences_;
        const auto seen_tokens = tokens_;
        const auto *expected_error = step.contains("expect_error") ? &step.at("expect_error") : nullptr;
        if (expected_error != nullptr) require_known(*expected_error, known_error_keys);
        try {
            const auto answer = call(step);
            if (expected_error != nullptr) throw Failure("it raised nothing");
            if (step.contains("expect")) compare("the answer", answer, step.at("expect"));
        } catch (const Error &error) {
            if (expected_error == nullptr) throw Failure(std::string{"it raised "} + error.what());
            check_error(error, *expected_error);
        } catch (const BodyFailed &) {
            if (expected_error == nullptr || expected_error->at("kind") != "body")
                throw Failure("it raised the body's error");
        }
        if (!step.contains("lock")) return;
        const auto id = step.at("lock").get<std::string>();
        const auto found = handles_.find(id);
        if (found == handles_.end()) return;
        look_at(found->second, step, seen_fences, seen_tokens);
        note(id, *found->second.lock);
    }

    // Keeps the token and the fence, if they can be read, for the steps to come.
    void note(const std::string &id, const Lock &lock) {
        try {
            fences_[id] = lock.fence();
            tokens_[id] = lock.token();
        } catch (const NotHeldError &) {
            return;
        }
    }

    Json call(const Json &step) {
        static const std::map<std::string, std::function<Json(Play &, const Json &)>> calls{
            {"new", [](Play &, const Json &) { return Json{}; }},
            {"check", [](Play &, const Json &) { return Json{}; }},
            {"open", &Play::open},
            {"take", &Play::take},
            {"run", &Play::run},
            {"acquire", [](Play &play, const Json &step) { return Json(play.lock(step).acquire(given_wait(step))); }},
            {"step_aside",
             [](Play &play, const Json &step) { return Json(play.lock(step).step_aside(given_wait(step))); }},
            {"keep_alive", [](Play &play, const Json &step) { return Json(play.lock(step).keep_alive()); }},
            {"release", [](Play &play, const Json &step) { return Json(play.lock(step).release()); }},
            {"lose", &Play::lose},
            {"let_expire", &Play::let_expire},
            {"advance", &Play::advance},
            {"force_release", &Play::force_release},
            {"holders", &Play::holders},
            {"list", &Play::list},
            {"ping", [](Play &play, const Json &step) { return play.client(step).ping(), Json{}; }},
            {"close", [](Play &play, const Json &step) { return play.client(step).close(), Json{}; }},
        };
        const auto name = step.at("do").get<std::string>();
        const auto found = calls.find(name);
        if (found == calls.end()) throw Failure("unknown do " + name);
        if (step.contains("ttl") && name != "take") make(step);
        return found->second(*this, step);
    }

    static Wait given_wait(const Json &step) { return step.contains("wait") ? wait_of(step.at("wait")) : Wait{}; }

    // --- clients and handles

    Client &client_named(const std::string &id, const Json &step = {}) {
        const auto found = clients_.find(id);
        if (found != clients_.end()) return found->second;
        ClientOptions options;
        if (step.contains("client_options")) {
            require_known(step.at("client_options"), {"label"});
            options.label = step.at("client_options").value("label", "");
        }
        return clients_.try_emplace(id, url_, options).first->second;
    }
    static std::string client_id(const Json &step) { return step.value("client", "a"); }
    Client &client(const Json &step) { return client_named(client_id(step), step); }

    Handle &handle(const std::string &id) {
        const auto found = handles_.find(id);
        if (found == handles_.end()) throw Failure("there is no handle " + id);
        return found->second;
    }
    Lock &lock(const Json &step) { return *handle(step.at("lock").get<std::string>()).lock; }

    static LockOptions lock_options(const Json &step) {
        LockOptions options{Ttl::parse(step.at("ttl").get<std::string>())};
        if (step.contains("handle_wait")) options.wait = wait_of(step.at("handle_wait"));
        options.owner = step.value("owner", "");
        options.label = step.value("label", "");
        options.fair = step.value("fair", false);
        options.reentrant = step.value("reentrant", false);
        options.resume = step.value("resume", false);
        if (step.contains("crash")) options.crash_expire = step.at("crash") == "expire";
        return options;
    }

    void keep(const Json &step, Lock lock) {
        Handle made;
        made.client = client_id(step);
        made.name = step.at("name").get<std::string>();
        made.lock = std::make_unique<Lock>(std::move(lock));
        made.lock->on_lost([calls = made.lost_calls](LostReason reason) { calls->emplace_back(to_string(reason)); });
        handles_[step.at("lock").get<std::string>()] = std::move(made);
    }

    void make(const Json &step) {
        const auto name = step.at("name").get<std::string>();
        const auto options = lock_options(step);
        keep(step, step.contains("permits")
                       ? client(step).semaphore(name, step.at("permits").get<std::uint32_t>(), options)
                       : client(step).lock(name, options));
    }

    // --- the calls that are more than one line

    Json open(const Json &step) {
        const auto url = step.at("url").is_null() ? std::string{} : step.at("url").get<std::string>();
        clients_.insert_or_assign(client_id(step), Client{url});
        return {};
    }

    Json take(const Json &step) {
        auto options = lock_options(step);
        if (step.contains("wait")) options.wait = wait_of(step.at("wait"));
        keep(step, client(step).acquire(step.at("name").get<std::string>(), options));
        return {};
    }

    Json run(const Json &step) {
        auto &lock = this->lock(step);
        const auto body = [&]() -> std::string {
            steps(step.at("body"));
            if (step.value("body_fails", false)) throw BodyFailed{};
            return "done";
        };
        const auto run = lock.run(body, given_wait(step));
        if (run.acquired) compare("the value of run", run.value.value(), "done");
        if (run.acquired == run.refusal.has_value()) throw Failure("run has both or neither of acquired and refusal");
        return run.acquired;
    }

    Json lose(const Json &step) {
        for (const auto reason : {LostReason::renew, LostReason::guard, LostReason::expired, LostReason::forked}) {
            if (step.at("reason") == std::string{to_string(reason)}) return lock(step).lose(reason), Json{};
        }
        throw Failure("unknown reason");
    }

    Json let_expire(const Json &step) {
        const auto &expiring = handle(step.at("lock").get<std::string>());
        const auto ttl = expiring.lock->ttl();
        if (url_.find("clock=manual") != std::string::npos) {
            client_named(expiring.client).advance(ttl);
        } else {
            std::this_thread::sleep_for(ttl + std::chrono::milliseconds{100});
        }
        return {};
    }

    Json advance(const Json &step) {
        const auto by = Wait::parse(step.at("by").get<std::string>());
        client(step).advance(std::chrono::duration<std::uint64_t, std::milli>{by.ms()});
        return {};
    }

    Json force_release(const Json &step) {
        const auto name = step.at("name").get<std::string>();
        const auto slot = step.value("slot", std::uint32_t{0});
        const auto &by = client(step);
        if (const auto of = text_of(step, "owner_of")) return by.force_release(name, handle(*of).lock->owner(), slot);
        if (const auto of = text_of(step, "token_of")) return by.force_release(name, handle(*of).lock->token(), slot);
        return by.force_release(name, step.at("token").get<std::uint64_t>(), slot);
    }

    Json holders(const Json &step) {
        return handle_ids(client(step).holders(step.at("name").get<std::string>()),
                          step.contains("expect") ? step.at("expect") : Json::array());
    }

    Json list(const Json &step) {
        auto names = Json::array();
        for (const auto &info : client(step).list(step.value("prefix", ""), step.value("limit", std::uint32_t{1000}),
                                                  step.value("after", ""))) {
            names.push_back(info.name);
        }
        return names;
    }

    // --- comparisons

    // The ids of the handles that these holders are, of those that are expected; else what the store says.
    Json handle_ids(const std::vector<Holder> &holders, const Json &expected) {
        auto ids = Json::array();
        for (std::size_t index = 0; index < holders.size(); ++index) {
            const auto &holder = holders[index];
            Json id = "?" + holder.owner.value_or("");
            if (index < expected.size()) {
                const auto &lock = *handle(expected[index].get<std::string>()).lock;
                if (holder.owner == std::string{lock.owner()} && same_token(holder, lock)) id = expected[index];
            }
            ids.push_back(id);
        }
        return ids;
    }

    static bool same_token(const Holder &holder, const Lock &lock) {
        try {
            return holder.token == lock.token();
        } catch (const NotHeldError &) {
            return true;
        }
    }

    static void check_error(const Error &error, const Json &expected) {
        const std::string message = error.what();
        compare("the kind of \"" + message + "\"", to_string(error.kind()), expected.at("kind"));
        if (expected.contains("reason")) compare("the reason", error.reason(), expected.at("reason"));
        if (expected.contains("retry")) compare("retry", to_string(error.retry()), expected.at("retry"));
        if (expected.contains("late")) {
            const auto *lost = dynamic_cast<const LostError *>(&error);
            const auto late = lost != nullptr && lost->late_by() && lost->late_by()->count() > 0;
            compare("late", late, expected.at("late"));
        }
        if (expected.contains("refusal")) {
            const auto *held = dynamic_cast<const HeldError *>(&error);
            compare("the refusal", held == nullptr ? "none" : to_string(held->refusal().reason),
                    expected.at("refusal"));
        }
        for (const auto &word : expected.value("mentions", Json::array())) {
            if (message.find(word.get<std::string>()) == std::string::npos) {
                throw Failure("\"" + message + "\" does not mention " + word.dump());
            }
        }
    }

    using Numbers = std::map<std::string, std::uint64_t>;

    void look_at(const Handle &handle, const Json &step, const Numbers &fences, const Numbers &tokens) {
        const auto &lock = *handle.lock;
        const auto with = [&step](const char *key, const auto &check) {
            if (step.contains(key)) check(step.at(key));
        };
        with("held", [&](const Json &expected) { compare("held", lock.held(), expected); });
        with("lost", [&](const Json &expected) {
            const auto reason = lock.lost_reason();
            compare("lost", reason ? Json(to_string(*reason)) : Json{}, expected);
        });
        with("lost_calls", [&](const Json &expected) { compare("lost_calls", *handle.lost_calls, expected); });
        with("refusal", [&](const Json &expected) { check_refusal(lock.refusal(), expected); });
        with("last_error", [&](const Json &expected) {
            const auto error = lock.last_error();
            compare("last_error", error ? Json(to_string(error->kind())) : Json{}, expected);
        });
        with("readable", [&](const Json &expected) {
            compare("token is readable", is_readable([&] { return lock.token(); }), expected);
            compare("fence is readable", is_readable([&] { return lock.fence(); }), expected);
            compare("slot is readable", is_readable([&] { return lock.slot(); }), expected);
        });
        with("fence_above", [&](const Json &of) { above("fence", lock.fence(), fences, of); });
        with("fence_is", [&](const Json &of) { compare("fence", lock.fence(), fences.at(of.get<std::string>())); });
        with("token_above", [&](const Json &of) { above("token", lock.token(), tokens, of); });
        with("token_is", [&](const Json &of) { compare("token", lock.token(), tokens.at(of.get<std::string>())); });
        if (step.at("do") != "force_release") {
            with("slot", [&](const Json &expected) { compare("slot", lock.slot(), expected); });
        }
        with("ttl_ms",
             [&](const Json &expected) { compare("ttl", lock.ttl().count(), test::granted_ms(url_, expected)); });
        with("remaining_ms", [&](const Json &range) {
            const auto remaining = lock.remaining().count();
            if (remaining < range.at(0) || remaining > range.at(1)) {
                throw Failure("remaining is " + std::to_string(remaining) + " ms");
            }
        });
        with("owner", [&](const Json &expected) { compare("owner", lock.owner(), expected); });
        with("name_is", [&](const Json &expected) { compare("name", lock.name(), expected); });
        with("position", [&](const Json &expected) { compare("position", lock.position(), expected); });
    }

    template <class Read> static bool is_readable(const Read &read) {
        try {
            static_cast<void>(read());
            return true;
        } catch (const NotHeldError &) {
            return false;
        }
    }

    static void above(const char *what, std::uint64_t number, const Numbers &seen, const Json &of) {
        const auto other = seen.at(of.get<std::string>());
        if (number <= other) {
            throw Failure(std::string{what} + " is " + std::to_string(number) + ", not above " + std::to_string(other));
        }
    }

    void check_refusal(const std::optional<Refusal> &refusal, const Json &expected) {
        if (expected.is_null() || !refusal) {
            compare("there is a refusal", refusal.has_value(), !expected.is_null());
            return;
        }
        require_known(expected, {"reason", "holders"});
        compare("the refusal", to_string(refusal->reason), expected.at("reason"));
        if (expected.contains("holders")) {
            compare("the holders", handle_ids(refusal->holders, expected.at("holders")), expected.at("holders"));
        }
    }

    std::string url_;
    std::map<std::string, Client> clients_;
    std::map<std::string, Handle> handles_;
    Numbers fences_;
    Numbers tokens_;
};

// The store's URL with a name or folder never used before.
std::string fresh_url(const std::string &store, const test::Folder &folder) {
    const auto mark = store.find('?');
    const auto parameters = mark == std::string::npos ? std::string{} : store.substr(mark);
    const auto scheme = store.substr(0, mark);
    if (scheme == "memory:") return test::fresh_memory(parameters);
    if (scheme == "file:") return folder.url() + parameters;
    throw Failure("unknown store " + store);
}

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
    const test::Folder folder;
    play_on(fresh_url(store, folder), scenario);
}

void unset_variables() {
    for (const auto *name : {"URL", "AUTH_TOKEN", "AUTH_TOKEN_FILE", "USER", "PASSWORD", "PASSWORD_FILE", "CA_FILE",
                             "CERT_FILE", "KEY_FILE", "REQUEST_TIMEOUT", "LABEL"}) {
        unsetenv((std::string{"FENCEHOLD_"} + name).c_str());
    }
}

} // namespace

int main() {
    unset_variables();
    std::vector<std::filesystem::path> files;
    for (const auto &entry : std::filesystem::directory_iterator{FENCEHOLD_SCENARIOS}) {
        if (entry.path().extension() == ".json" && entry.path().filename() != "errors.json")
            files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    int passed = 0;
    int failed = files.empty() ? 1 : 0;
    test::Skipped skipped;
    for (const auto &path : files) {
        auto stores = Json::array();
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
        }
        for (const auto &store : stores) {
            const auto title = path.filename().string() + " on " + store.get<std::string>();
            try {
                play(scenario, store.get<std::string>());
                std::cout << "ok " << title << '\n';
                ++passed;
            } catch (const std::exception &error) {
                std::cout << "FAILED " << title << ": " << error.what() << '\n';
                ++failed;
            }
        }
    }
    skipped.print();
    std::cout << passed << " passed, " << failed << " failed" << std::endl;
    return failed == 0 ? 0 : 1;
}
