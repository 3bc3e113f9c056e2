/// @file
/// fencehold for C++17 and later: leases with fencing tokens, header-only on top of fencehold.h.
///
/// ```cpp
/// fencehold::Client client{"file:/var/lib/fencehold"};
/// auto lock = client.lock("reports/nightly", {30s});
/// if (lock.try_lock()) {
///   while (lock.keep_alive() && step(lock.fence())) {}
///   lock.release();   // throws; the destructor would only try
/// }
/// ```
///
/// - Everything that can fail throws a class under fencehold::Error; "somebody else holds it" is an
///   answer (false), except from lock(), Client::acquire() and standard guards, which throw instead of
///   entering. Destructors and unlock() never throw: their failures go to the log and to last_error().
/// - Every function may be called from any thread at any time. Only moving from an object and its
///   destruction must not run beside another call on the same object.
/// - A Lock is a checkpoint handle unless LockOptions::background is set: keep_alive() renews when a
///   third of the lifetime has passed, and nothing else does.
/// - After fork() a handle of the parent is lost in the child (LostReason::forked); a Client reconnects.
#ifndef FENCEHOLD_HPP
#define FENCEHOLD_HPP

#include "fencehold/client.hpp"
#include "fencehold/error.hpp"
#include "fencehold/info.hpp"
#include "fencehold/kv.hpp"
#include "fencehold/lock.hpp"
#include "fencehold/log.hpp"
#include "fencehold/transaction.hpp"
#include "fencehold/wait.hpp"

#endif
