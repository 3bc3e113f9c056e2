// What several test files need.
#ifndef FENCEHOLD_TEST_SUPPORT_HPP
#define FENCEHOLD_TEST_SUPPORT_HPP

#include <fencehold.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>

namespace test {

// A folder of its own, removed at the end.
class Folder {
  public:
    Folder() {
        auto pattern = (std::filesystem::temp_directory_path() / "fencehold-cpp-XXXXXX").string();
        if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
        path_ = pattern;
    }
    Folder(const Folder &) = delete;
    Folder &operator=(const Folder &) = delete;
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    std::string url() const { return "file:" + path_.string(); }

  private:
    std::filesystem::path path_;
};

// A URL of a store of this process that no other test uses.
inline std::string fresh_memory(const std::string &parameters = {}) {
    static std::atomic<int> number{0};
    return "memory:cpp-" + std::to_string(++number) + parameters;
}

// Waits until `condition` holds, for at most ten seconds.
template <class Condition> bool eventually(const Condition &condition) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds{10};
    while (!condition()) {
        if (std::chrono::steady_clock::now() > limit) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return true;
}

} // namespace test

#endif
