"""Plays the scenarios that every language plays. There is no rule of leases here."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

import fencehold
from conftest import SOURCE, Flavour, fresh, server

FOLDER = SOURCE / "tests" / "scenarios"
FILES = sorted(path for path in FOLDER.glob("*.json") if path.name != "errors.json")

ACTIONS = {
    "new", "open", "acquire", "step_aside", "take", "keep_alive", "release", "run", "lose", "let_expire",
    "advance", "force_release", "holders", "list", "ping", "close", "check",
}  # fmt: skip
OPTIONS = {"owner", "resume", "label", "fair", "reentrant", "crash"}
MAKES = OPTIONS | {"client", "name", "ttl", "permits", "handle_wait", "client_options"}
ASKS = {
    "lock", "do", "wait", "url", "body", "body_fails", "reason", "by", "slot", "token", "token_of",
    "owner_of", "prefix", "limit", "after", "expect", "expect_error",
}  # fmt: skip
LOOKS = {
    "held", "lost", "lost_calls", "refusal", "last_error", "readable", "fence_above", "fence_is",
    "token_above", "token_is", "slot", "ttl_ms", "remaining_ms", "owner", "name_is", "position",
}  # fmt: skip
ERRORS = {"kind", "reason", "retry", "late", "refusal", "mentions"}


class BodyError(Exception):
    pass


class Player:
    def __init__(self, api: Flavour, url: str, manual: bool) -> None:
        self.api = api
        self.url = url
        self.manual = manual
        self.clients: dict[str, Any] = {}
        self.locks: dict[str, Any] = {}
        self.calls: dict[str, list[str]] = {}
        self.seen: dict[str, dict[str, int]] = {}

    def client(self, step: dict[str, Any]) -> Any:
        name = step.get("client", "a")
        if name not in self.clients:
            options = step.get("client_options", {})
            assert set(options) <= {"label"}
            self.clients[name] = self.api.Client(self.url, **options)
        return self.clients[name]

    def options(self, step: dict[str, Any]) -> dict[str, Any]:
        options = {key: step[key] for key in OPTIONS & set(step)}
        if "handle_wait" in step:
            options["wait"] = step["handle_wait"]
        return {"ttl": step["ttl"], "background": False, **options}

    def keep(self, name: str, lock: Any) -> Any:
        self.locks[name] = lock
        calls: list[str] = []
        self.calls[name] = calls
        lock.on_lost(calls.append)
        return lock

    def lock(self, step: dict[str, Any]) -> Any:
        """The step's handle, made first if the step says how."""
        if "ttl" not in step:
            return self.locks[step["lock"]]
        client = self.client(step)
        if "permits" in step:
            made = client.semaphore(step["name"], step["permits"], **self.options(step))
        else:
            made = client.lock(step["name"], **self.options(step))
        return self.keep(step["lock"], made)

    async def act(self, step: dict[str, Any]) -> Any:
        do, wait = step["do"], {"wait": step["wait"]} if "wait" in step else {}
        if do == "open":
            self.clients[step["client"]] = self.api.Client(step["url"])
            return None
        if do == "take":
            lock = self.client(step).acquire(step["name"], **self.options(step))
            return self.keep(step["lock"], await self.api.do(lock))
        if do in ("advance", "holders", "list", "force_release", "ping", "close"):
            return await self.ask_client(do, step)
        if do == "check" and "lock" not in step:
            return None
        lock = self.lock(step)
        if do in ("acquire", "step_aside"):
            return await self.api.do(getattr(lock, do)(**wait))
        if do in ("keep_alive", "release"):
            return await self.api.do(getattr(lock, do)())
        if do == "lose":
            return lock.lose(step["reason"])
        if do == "let_expire":
            if self.manual:
                return self.clients[step.get("client", next(iter(self.clients)))].advance(lock.ttl)
            return await asyncio.sleep(lock.ttl.total_seconds() + 0.1)
        if do == "run":

            async def body() -> str:
                await self.play(step["body"])
                if step.get("body_fails"):
                    raise BodyError
                return "done"

            result = await self.api.do(lock.run(self.api.body(body), **wait))
            assert bool(result) is result.acquired
            assert result.value == ("done" if result.acquired else None)
            return result.acquired
        assert do in ("new", "check"), do
        return None

    async def ask_client(self, do: str, step: dict[str, Any]) -> Any:
        client = self.client(step)
        if do == "advance":
            return client.advance(step["by"])
        if do == "holders":
            found = await self.api.do(client.holders(step["name"]))
            return self.whose(found, step.get("expect", []))
        if do == "list":
            more = {key: step[key] for key in ("limit", "after") if key in step}
            return [one.name for one in await self.api.do(client.list(step["prefix"], **more))]
        if do == "force_release":
            which: dict[str, Any] = {"slot": step["slot"]} if "slot" in step else {}
            if "token" in step:
                which["token"] = step["token"]
            elif "token_of" in step:
                which["token"] = self.locks[step["token_of"]].token
            else:
                which["owner"] = self.locks[step["owner_of"]].owner
            return await self.api.do(client.force_release(step["name"], **which))
        return await self.api.do(getattr(client, do)())

    def whose(self, holders: Any, expected: list[str]) -> list[str]:
        """The ids of the handles that these holders are."""
        found = []
        for index, holder in enumerate(holders):
            wanted = self.locks[expected[index]] if index < len(expected) else None
            assert wanted is not None and holder.owner == wanted.owner, holders
            if wanted.held:
                assert holder.token == wanted.token
            found.append(expected[index])
        return found

    async def play(self, steps: list[dict[str, Any]]) -> None:
        for step in steps:
            assert step["do"] in ACTIONS, step
            assert set(step) <= MAKES | ASKS | LOOKS, step
            try:
                await self.one(step)
            except BaseException as error:
                if not getattr(error, "scenario_step", None):
                    error.scenario_step = step  # type: ignore[attr-defined]
                    print(f"at step {json.dumps(step, ensure_ascii=False)}: {error!r}")
                raise

    async def one(self, step: dict[str, Any]) -> None:
        wanted = step.get("expect_error")
        answer = None
        try:
            answer = await self.act(step)
        except BodyError:
            if wanted != {"kind": "body"}:
                raise
        except fencehold.Error as error:
            if wanted is None or hasattr(error, "scenario_step"):
                raise
            self.compare_error(error, wanted)
        else:
            assert wanted is None, f"expected {wanted}, got {answer!r}"
        again = asyncio.get_running_loop().time() + 5
        while True:
            try:
                if "expect" in step:
                    assert answer == step["expect"]
                self.look(step)
                break
            except AssertionError:
                # Where keep_alive starts a renewal and does not wait for it, and where handlers run
                # on an event loop.
                if not self.api.is_aio or asyncio.get_running_loop().time() > again:
                    raise
                await asyncio.sleep(0.01)
                if step["do"] == "keep_alive":
                    answer = self.lock({"lock": step["lock"]}).keep_alive()
        lock = self.locks.get(step.get("lock", ""))
        if lock is not None:
            with contextlib.suppress(fencehold.NotHeldError):
                self.seen[step["lock"]] = {"token": lock.token, "fence": lock.fence}

    def compare_error(self, error: fencehold.Error, wanted: dict[str, Any]) -> None:
        assert set(wanted) <= ERRORS, wanted
        assert error.kind == wanted["kind"], error
        assert error.reason == wanted.get("reason", error.reason)
        assert error.retry == wanted.get("retry", error.retry)
        if wanted.get("late"):
            assert error.late_by is not None and error.late_by.total_seconds() > 0
        if "refusal" in wanted:
            assert error.refusal is not None and error.refusal.reason == wanted["refusal"]
        for words in wanted.get("mentions", []):
            assert words in str(error)

    def look(self, step: dict[str, Any]) -> None:
        keys = set(step) & LOOKS
        if step["do"] == "force_release":
            keys.discard("slot")
        if "ttl" in step:
            keys.discard("owner")
        if not keys or step.get("lock") not in self.locks:
            return
        lock, seen = self.locks[step["lock"]], self.seen
        for key in sorted(keys):
            wanted = step[key]
            if key == "held":
                assert lock.held is wanted and lock.locked() is wanted
            elif key == "lost":
                assert lock.lost_reason == wanted and lock.lost is (wanted is not None)
            elif key == "lost_calls":
                assert self.calls[step["lock"]] == wanted
            elif key == "refusal":
                self.look_at_refusal(lock.refusal, wanted)
            elif key == "last_error":
                assert (lock.last_error.kind if lock.last_error else None) == wanted
            elif key == "readable":
                self.look_whether_readable(lock, wanted)
            elif key in ("fence_above", "token_above"):
                assert getattr(lock, key[:5]) > seen[wanted][key[:5]]
            elif key in ("fence_is", "token_is"):
                assert getattr(lock, key[:5]) == seen[wanted][key[:5]]
            elif key in ("slot", "owner", "position"):
                assert getattr(lock, key) == wanted
            elif key == "name_is":
                assert lock.name == wanted
            elif key == "ttl_ms":
                least = 1000 if self.url.startswith("http:") else 1
                assert lock.ttl.total_seconds() * 1000 == -(-wanted // least) * least
            else:
                assert key == "remaining_ms"
                assert wanted[0] <= lock.remaining.total_seconds() * 1000 <= wanted[1]

    def look_at_refusal(self, refusal: Any, wanted: Any) -> None:
        if wanted is None:
            assert refusal is None
            return
        assert set(wanted) <= {"reason", "holders"}
        assert refusal is not None and refusal.reason == wanted["reason"]
        if "holders" in wanted:
            assert self.whose(refusal.holders, wanted["holders"]) == wanted["holders"]

    def look_whether_readable(self, lock: Any, wanted: bool) -> None:
        for name in ("token", "fence", "slot"):
            if wanted:
                getattr(lock, name)
            else:
                with pytest.raises(fencehold.NotHeldError):
                    getattr(lock, name)


def plays() -> list[Any]:
    found = []
    for path in FILES:
        scenario = json.loads(path.read_text(encoding="utf-8"))
        assert set(scenario) <= {"schema", "scenario", "store", "steps"}, path
        assert scenario["schema"] == 1, path
        stores = scenario["store"]
        for store in [stores] if isinstance(stores, str) else stores:
            found.append(pytest.param(scenario, store, id=f"{path.stem}-{store}"))
        why = why_not_on_a_server(scenario)
        marks = [pytest.mark.skip(reason=why)] if why else []
        found.append(pytest.param(scenario, "http:", id=f"{path.stem}-http:", marks=marks))
    return found


def actions(steps: list[dict[str, Any]]) -> set[str]:
    return {step["do"] for step in steps}.union(*(actions(step["body"]) for step in steps if "body" in step))


def why_not_on_a_server(scenario: dict[str, Any]) -> str | None:
    """What a scenario that was written for `memory:` alone needs and no other store has."""
    if "file:" in scenario["store"]:
        return None
    does = actions(scenario["steps"])
    if "advance" in does:
        return "it moves the clock, which memory:?clock=manual alone can do"
    return "it rehearses a loss, which memory: alone can do" if "lose" in does else None


@pytest.mark.parametrize(("scenario", "store"), plays())
async def test_scenario(api: Flavour, scenario: dict[str, Any], store: str, tmp_path: Path) -> None:
    place = server(tmp_path) if store == "http:" else contextlib.nullcontext(fresh(store, tmp_path))
    with place as url:
        player = Player(api, url, "clock=manual" in store)
        try:
            await player.play(scenario["steps"])
        finally:
            for client in player.clients.values():
                await api.do(client.close())


def test_there_are_scenarios() -> None:
    assert len(FILES) > 25
