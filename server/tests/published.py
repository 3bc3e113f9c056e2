"""The published Python client of Queen brokers against a server. Run by server/published.sh with the server's URL."""

import asyncio
import sys
import time
import uuid

from queen import Queen


def name(what: str) -> str:
    return f"py-{what}-{uuid.uuid4().hex[:8]}"


async def one_holder_and_its_guarded_step(queen: Queen) -> None:
    lock, other = (queen.lock(lock_name, ttl_seconds=30) for lock_name in [name("one")] * 2)
    queue = name("out")
    assert await lock.acquire() and not await other.acquire()
    shown = await queen.locks.get(lock.name)
    assert shown["held"] and shown["holders"][0]["owner"] == lock.owner, shown
    row = await queen.kv.get("queen-locks", f"{lock.name}#0")
    assert row["found"] and row["version"] == lock.token, row
    step = queen.transaction().guard(lock)
    result = await step.queue(queue).push([{"data": {"n": 1}}]).commit()
    assert result["success"], result
    messages = await queen.queue(queue).batch(10).wait(False).pop()
    assert [message["data"] for message in messages] == [{"n": 1}], messages
    await queen.ack(messages)
    token = lock.token
    assert await lock.release() and await other.acquire() and other.token > token
    assert await other.release()


async def guarded_steps_survive_renewals(queen: Queen) -> None:
    lock = queen.lock(name("busy"), ttl_seconds=2, renew_every=0.1)
    queue = name("many")
    assert await lock.acquire()
    commits, end = 0, time.monotonic() + 1.5
    while time.monotonic() < end:
        result = await queen.transaction().guard(lock).queue(queue).push([{"data": commits}]).commit()
        assert result["success"], result
        commits += 1
    assert await lock.release()
    drained = 0
    while messages := await queen.queue(queue).batch(100).wait(False).pop():
        drained += len(messages)
        await queen.ack(messages)
    assert drained == commits, (drained, commits)


async def a_stale_guard_commits_nothing(queen: Queen) -> None:
    lock_name, queue = name("stale"), name("never")
    first = await queen.locks.acquire(lock_name, ttl_seconds=1, owner="old")
    await asyncio.sleep(1.3)
    second = await queen.locks.acquire(lock_name, ttl_seconds=30, owner="new")
    assert second["acquired"] and second["token"] > first["token"]
    checks = await queen.kv.check("queen-locks", f"{lock_name}#0", expect=first["token"])
    assert not checks["applied"] and checks["value"]["owner"] == "new", checks
    assert not await queen.queue(queue).batch(10).wait(False).pop()


async def a_semaphore_has_its_permits(queen: Queen) -> None:
    handles = [queen.semaphore(sem_name, 3, ttl_seconds=30) for sem_name in [name("sem")] * 6]
    took = [await handle.acquire() for handle in handles]
    assert sum(took) == 3, took
    held = [handle for handle in handles if handle.held]
    assert sorted(handle.slot for handle in held) == [0, 1, 2]
    slot = held[0].slot
    assert await held[0].release()
    waiting = next(handle for handle in handles if not handle.held and handle is not held[0])
    assert await waiting.acquire(wait=5) and waiting.slot == slot


async def main(url: str) -> int:
    failed = 0
    for test in (
        one_holder_and_its_guarded_step,
        guarded_steps_survive_renewals,
        a_stale_guard_commits_nothing,
        a_semaphore_has_its_permits,
    ):
        async with Queen(url) as queen:
            try:
                await test(queen)
                print(f"ok   {test.__name__}")
            except Exception as error:  # noqa: BLE001 - whatever it is, the others run
                failed += 1
                print(f"FAIL {test.__name__}: {error!r}")
    return failed


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1])))
