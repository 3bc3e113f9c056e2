// A server of a test's own: `fencehold serve` on a free port with a fresh folder, ended with the object. $FENCEHOLD
// names the command.
#ifndef FENCEHOLD_TESTS_SERVE_HPP
#define FENCEHOLD_TESTS_SERVE_HPP

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <csignal>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace test {

class Server {
  public:
    Server() {
        const char *command = std::getenv("FENCEHOLD");
        if (command == nullptr) throw std::runtime_error("FENCEHOLD does not name the command");
        auto pattern = (std::filesystem::temp_directory_path() / "fencehold-serve-XXXXXX").string();
        if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
        folder_ = pattern;
        int ends[2];
        if (pipe(ends) != 0) throw std::runtime_error("no pipe");
        says_ = ends[0];
        process_ = fork();
        if (process_ == 0) {
            prctl(PR_SET_PDEATHSIG, SIGTERM);
            dup2(ends[1], STDERR_FILENO);
            close(ends[0]);
            close(ends[1]);
            execl(command, command, "serve", "--data", folder_.c_str(), "--listen", "127.0.0.1:0",
                  static_cast<char *>(nullptr));
            _exit(127);
        }
        close(ends[1]);
        url_ = said_url();
        if (url_.empty()) {
            end();
            throw std::runtime_error(std::string{command} + " does not serve");
        }
    }
    Server(const Server &) = delete;
    Server &operator=(const Server &) = delete;
    ~Server() { end(); }

    const std::string &url() const { return url_; }

  private:
    // What stands behind "serving" in its first lines; empty if it ends before.
    std::string said_url() const {
        std::string text;
        char byte = 0;
        while (read(says_, &byte, 1) == 1) {
            text += byte;
            const auto at = text.find("http://");
            if (at != std::string::npos && byte == ' ') return text.substr(at, text.size() - at - 1);
        }
        return {};
    }

    void end() {
        if (process_ > 0) {
            kill(process_, SIGTERM);
            waitpid(process_, nullptr, 0);
        }
        close(says_);
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    std::filesystem::path folder_;
    std::string url_;
    int says_ = -1;
    pid_t process_ = -1;
};

} // namespace test

#endif
