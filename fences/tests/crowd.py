"""The test of every fence: many holders at the same time, each with a fence of its own and sure that it holds.

What landed, in the order in which it landed, must never go back to a lower fence.
"""

import random
import threading

HOLDERS = 8
WRITES = 12

passed = 0
failed = 0


def check(what, body):
    """Runs one test and says how it went."""
    global passed, failed
    try:
        body()
    except Exception as error:  # noqa: BLE001 (whatever it is, the others still run)
        failed += 1
        print(f"FAIL {what}: {type(error).__name__}: {error}", flush=True)
    else:
        passed += 1
        print(f"ok   {what}", flush=True)


def crowd(writer, landed, base=100):
    """`writer()` makes a function for one thread: write(fence) -> whether it landed. `landed()`: the fences in order."""
    accepted = []
    errors = []

    def hold(number):
        try:
            write = writer()
            for _ in range(WRITES):
                if write(base + number):
                    accepted.append(base + number)
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    holders = list(range(1, HOLDERS + 1))
    random.shuffle(holders)
    threads = [threading.Thread(target=hold, args=(number,)) for number in holders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors
    order = landed()
    assert order == sorted(order), f"a stale write landed: {order}"
    assert sorted(order) == sorted(accepted), f"{len(order)} landed, {len(accepted)} were told so"
    assert order.count(base + HOLDERS) == WRITES, "an equal fence was refused"
    assert len(order) < HOLDERS * WRITES, "nothing stale was tried"


def one_by_one(write):
    """The rule without any concurrency: higher and equal lands, lower does not."""
    assert write(7) and write(7), "an equal fence"
    assert write(9), "a higher one"
    assert not write(8), "a stale one"
    assert write(9), "an equal one after a stale one"
    assert write(2**63 - 1) and not write(2**63 - 2), "the highest there are"


def close():
    print(f"{passed} passed, {failed} failed")
    raise SystemExit(failed > 0)
