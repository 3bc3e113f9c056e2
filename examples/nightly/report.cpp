// The nightly report in C++. usage: report DATABASE [SECONDS] [LIFETIME_MS]
#include <fencehold.hpp>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <sqlite3.h>
#include <stdexcept>
#include <string>
#include <thread>

using namespace std::chrono_literals;

constexpr const char *who = "cpp";
constexpr int pages = 6;

class Database {
  public:
    explicit Database(const char *path) {
        sqlite3 *raw = nullptr;
        const int code = sqlite3_open(path, &raw);
        db_.reset(raw);
        if (code != SQLITE_OK) throw std::runtime_error("cannot open the database");
        sqlite3_busy_timeout(raw, 10000);
    }

    void tell(std::uint64_t fence, const std::string &event) {
        change("INSERT INTO account (who, fence, event) VALUES ('" + std::string(who) + "', ?1, ?2)", fence, event);
    }

    // True: it landed. False: somebody newer has written.
    bool write(std::uint64_t fence, int page) {
        return change("UPDATE report SET body = ?2, fence = ?1 WHERE id = 'nightly' AND fence <= ?1", fence,
                      std::string(who) + " page " + std::to_string(page)) == 1;
    }

  private:
    int change(const std::string &sql, std::uint64_t fence, const std::string &text) {
        sqlite3_stmt *raw = nullptr;
        const int code = sqlite3_prepare_v2(db_.get(), sql.c_str(), -1, &raw, nullptr);
        const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt *)> statement(raw, sqlite3_finalize);
        if (code != SQLITE_OK || sqlite3_bind_int64(raw, 1, static_cast<sqlite3_int64>(fence)) != SQLITE_OK ||
            sqlite3_bind_text(raw, 2, text.c_str(), -1, SQLITE_TRANSIENT) != SQLITE_OK ||
            sqlite3_step(raw) != SQLITE_DONE)
            throw std::runtime_error(sqlite3_errmsg(db_.get()));
        return sqlite3_changes(db_.get());
    }

    std::unique_ptr<sqlite3, int (*)(sqlite3 *)> db_{nullptr, sqlite3_close};
};

void write_report(Database &db, fencehold::Lock &lock) {
    const auto fence = lock.fence();
    db.tell(fence, "acquired");
    for (int page = 0; page < pages; page++) {
        if (!lock.keep_alive()) return db.tell(fence, "lost");
        std::this_thread::sleep_for(20ms); // the work; the lease may end meanwhile, and then only the fence helps
        if (!db.write(fence, page)) return db.tell(fence, "refused");
    }
    db.tell(fence, "releasing");
}

int main(int argc, char **argv) try {
    if (argc < 2) return 64;
    Database db(argv[1]);
    const std::chrono::milliseconds ttl(argc > 3 ? std::atoll(argv[3]) : 30000);
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(argc > 2 ? std::atof(argv[2]) : 0);

    fencehold::LockOptions options{ttl, 1s};
    options.fair = true;
    options.label = who;
    fencehold::Client client;
    auto lock = client.lock("reports/nightly", options);
    do {
        if (lock.acquire()) {
            write_report(db, lock);
            lock.release();
        }
    } while (std::chrono::steady_clock::now() < end);
} catch (const std::exception &error) {
    std::cerr << error.what() << "\n";
    return 1;
}
