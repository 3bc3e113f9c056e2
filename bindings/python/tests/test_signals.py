"""Signals during a wait: real ones, to another Python."""

from __future__ import annotations

import signal
import subprocess
import time
from typing import Any

import pytest

import fencehold
from conftest import child, run_child

WAITER = """
import sys, time, fencehold
url, form = sys.argv[1:]
client = fencehold.Client(url)
lock = client.lock("n", ttl="30s", fair=form == "fair")
print("waiting", flush=True)
began = None
try:
    if form == "with":
        with client.acquire("n", ttl="30s", wait="forever"): pass
    elif form == "run":
        lock.run(lambda: None, wait="forever")
    elif form == "cancel":
        lock.acquire(wait="forever", cancel=fencehold.Cancel())
    elif form == "wait_lost":
        client.acquire("m", ttl="30s").wait_lost()
    else:
        lock.acquire(wait="forever")
except KeyboardInterrupt:
    print("interrupted", lock.held, flush=True)
"""


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("form", ["plain", "fair", "with", "run", "cancel", "wait_lost"])
def test_ctrl_c_ends_a_wait_with_nothing_held(form: str, tmp_path: Any) -> None:
    url = f"file:{tmp_path}/store"
    client = fencehold.Client(url)
    holder = client.acquire("n", ttl="30s", fair=form == "fair")
    process = child(WAITER, url, form)
    assert line(process) == "waiting"
    if form == "fair":
        while not client.show("n").waiters:
            time.sleep(0.01)
    else:
        time.sleep(0.3)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert line(process) == "interrupted False"
    assert time.monotonic() - sent < 1
    assert client.show("n").waiters == ()
    assert process.wait(10) == 0
    process.communicate()
    assert holder.held and [one.owner for one in client.holders("n")] == [holder.owner]
    holder.release()
    assert client.acquire("n", ttl="30s", fair=form == "fair").release()


def test_other_signals_leave_the_wait_alone(tmp_path: Any) -> None:
    url = f"file:{tmp_path}/store"
    out = run_child(
        """
import os, signal, sys, threading, time, fencehold
client = fencehold.Client(sys.argv[1])
holder = client.acquire("n", ttl="30s")
handled = []
for number in (signal.SIGCHLD, signal.SIGALRM, signal.SIGWINCH):
    signal.signal(number, lambda number, frame: handled.append(time.monotonic()))
began = time.monotonic()
def shoot():
    for i in range(100):
        os.kill(os.getpid(), (signal.SIGCHLD, signal.SIGALRM, signal.SIGWINCH)[i % 3])
        time.sleep(0.01)
threading.Thread(target=shoot).start()
assert client.lock("n", ttl="30s").acquire(wait="2s") is False
took = time.monotonic() - began
assert 1.9 < took < 2.5, took
assert len(handled) > 5 and handled[0] - began < 1, handled
holder.release()
print("fine")
""",
        url,
    )
    assert out == "fine\n"


def test_what_a_handler_raises_ends_the_wait(tmp_path: Any) -> None:
    out = run_child(
        """
import signal, sys, fencehold
client = fencehold.Client(sys.argv[1])
holder = client.acquire("n", ttl="30s")
class Alarm(Exception): pass
def handler(number, frame): raise Alarm
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.2)
lock = client.lock("n", ttl="30s")
try:
    lock.acquire(wait="forever")
except Alarm:
    print("alarm", lock.held, holder.held)
holder.release()
""",
        f"file:{tmp_path}/store",
    )
    assert out == "alarm False True\n"


def test_a_handler_may_trigger_a_cancel(tmp_path: Any) -> None:
    out = run_child(
        """
import signal, sys, fencehold
client = fencehold.Client(sys.argv[1])
holder = client.acquire("n", ttl="30s")
cancel = fencehold.Cancel()
signal.signal(signal.SIGALRM, lambda number, frame: cancel.trigger())
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    client.acquire("n", ttl="30s", wait="forever", cancel=cancel)
except fencehold.CancelledError as error:
    print(error.kind, cancel.triggered)
holder.release()
""",
        f"file:{tmp_path}/store",
    )
    assert out == "cancelled True\n"
