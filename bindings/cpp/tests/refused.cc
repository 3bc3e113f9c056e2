// What must not compile: test.sh compiles this once for each CASE. 0 is all that is around them, and must. Not named
// .cpp, as linters see only faults here, which is the point.
#include <fencehold.hpp>

#include <utility>

using namespace fencehold;
using namespace std::chrono_literals;

void refused(const Client &client, Lock &lock) {
#if CASE == 0 // all of this is fine
    static_cast<void>(client.lock("n", {30s}));
    Lock moved{std::move(lock)};
    static_cast<void>(moved.acquire());
    static_cast<void>(client.kv("n").put("k", "1", 30s));
#elif CASE == 1  // a lifetime has no default
    static_cast<void>(client.lock("n", {}));
#elif CASE == 2  // nor have the options
    LockOptions options;
#elif CASE == 3  // a bare number has no unit
    static_cast<void>(client.lock("n", {30}));
#elif CASE == 4  // not as a wait either
    static_cast<void>(lock.acquire(10));
#elif CASE == 5  // two handles on one hold
    Lock copy{lock};
#elif CASE == 6  // a hold that came from nowhere
    Lock none;
#elif CASE == 7  // an answer that nobody looks at
    lock.acquire();
#elif CASE == 8  // nor at this one
    lock.keep_alive();
#elif CASE == 9  // nor here
    lock.try_lock_for(1s);
#elif CASE == 10 // a client is one, too
    Client copy{client};
#elif CASE == 11 // a row's lifetime has a unit as well
    static_cast<void>(client.kv("n").put("k", "1", 30));
#elif CASE == 12 // and a write an answer
    client.kv("n").put("k", "1", 30s);
#endif
}
