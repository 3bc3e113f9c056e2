"""All languages contend for one lock on one store; one contender is killed, another is stopped past its lifetime.

usage: demo.py FOLDER SECONDS NAME=COMMAND...     COMMAND may contain {db}, {seconds} and {lifetime}

Prints who held when with which fence and which stale write was refused. Exit code 0 only if, in the order of the store,
no two held at once, and no stale write landed.
"""

import os
import pathlib
import shlex
import signal
import sqlite3
import subprocess
import sys
import time

LIFETIME_MS = 1000
PAGES = 6
ROUND_SECONDS = 2
TRIES = 6  # a stop may hit a contender between two writes, where there is no stale write to refuse
HERE = pathlib.Path(__file__).resolve().parent


class Demo:
    """The contenders, the database that they write to, and what is done to them."""

    def __init__(self, folder, seconds, commands):
        self.folder = pathlib.Path(folder)
        self.end = time.monotonic() + float(seconds)
        self.path = self.folder / "report.db"
        self.db = sqlite3.connect(self.path, timeout=1, isolation_level=None)
        self.db.executescript((HERE / "schema.sql").read_text(encoding="utf-8"))
        self.commands = dict(item.split("=", 1) for item in commands)
        self.running = {}
        self.url = f"file:{self.folder / 'store'}"
        self.environment = {**os.environ, "FENCEHOLD_URL": self.url}

    def start(self, who):
        words = {"db": self.path, "seconds": ROUND_SECONDS, "lifetime": LIFETIME_MS}
        arguments = shlex.split(self.commands[who].format(**words))
        with open(self.folder / f"{who}.log", "ab") as log:
            self.running[who] = subprocess.Popen(
                arguments, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )

    def keep_going(self):
        """Starts again whoever has done its round; one that failed ends the demo."""
        for who, process in list(self.running.items()):
            code = process.poll()
            if code is not None:
                self.check(who, code)
                self.start(who)

    def check(self, who, code):
        if code != 0:
            log = (self.folder / f"{who}.log").read_text(encoding="utf-8", errors="replace").strip()
            raise SystemExit(f"demo: {who} ended with {code}: {log[-2000:]}")

    def tell(self, who, fence, event):
        self.db.execute("INSERT INTO account (who, fence, event) VALUES (?, ?, ?)", (who, fence, event))

    def last_of(self, who):
        query = "SELECT seq, fence, event FROM account WHERE who = ? ORDER BY seq DESC LIMIT 1"
        return self.db.execute(query, (who,)).fetchone() or (0, 0, "")

    def wait_until(self, what, ready, limit=20.0):
        end = time.monotonic() + limit
        while time.monotonic() < end:
            value = ready()
            if value:
                return value
            self.keep_going()
            time.sleep(0.003)
        raise SystemExit(f"demo: waited {limit:.0f} s for {what}")

    def everyone_has_worked(self):
        done = {row[0] for row in self.db.execute("SELECT who FROM account WHERE event = 'releasing'")}
        return done >= set(self.commands)

    def holding(self, who):
        """The fence that `who` is writing under just now: it has written, and will write again."""
        _, fence, event = self.last_of(who)
        query = "SELECT count(*) FROM account WHERE who = ? AND fence = ? AND event = 'wrote'"
        written = self.db.execute(query, (who, fence)).fetchone()[0]
        return fence if event == "wrote" and written < PAGES - 1 else None

    def freeze(self, who, event, number=None):
        """Stops `who` in the middle of its work, tells it, and then sends it `number`. Answers its fence."""
        while True:
            fence = self.wait_until(f"{who} to hold", lambda: self.holding(who))
            os.killpg(self.running[who].pid, signal.SIGSTOP)
            try:
                if self.holding(who) == fence:
                    self.tell(who, fence, event)
                    break
            except sqlite3.OperationalError:
                pass  # stopped while it had the database locked: nobody could write, so let it go on
            os.killpg(self.running[who].pid, signal.SIGCONT)
        if number is not None:
            os.killpg(self.running[who].pid, number)
        return fence

    def kill(self, who):
        self.freeze(who, "killed", signal.SIGKILL)
        self.running.pop(who).wait()

    def stop_past_lifetime(self, who):
        """True: it woke up in the middle of a write, which was refused."""
        fence = self.freeze(who, "stopped")
        newer = "SELECT count(*) FROM account WHERE fence > ? AND event = 'wrote'"
        self.wait_until("somebody to take over", lambda: self.db.execute(newer, (fence,)).fetchone()[0])
        self.tell(who, fence, "resumed")
        os.killpg(self.running[who].pid, signal.SIGCONT)

        def outcome():
            query = (
                "SELECT event FROM account WHERE who = ? AND fence = ? AND event IN ('refused', 'lost', 'releasing')"
            )
            return self.db.execute(query, (who, fence)).fetchone()

        return self.wait_until(f"{who} to find out", outcome)[0] == "refused"

    def finish(self):
        for who, process in self.running.items():
            try:
                self.check(who, process.wait(timeout=30))
            except subprocess.TimeoutExpired:
                self.check(who, "no end")

    def end_all(self):
        for process in self.running.values():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def holds_of(rows):
    """One entry per fence, in the order of the store: who, and the rows that belong to it."""
    holds = {}
    for row in rows:
        holds.setdefault(row[3], {"who": row[2], "rows": []})["rows"].append(row)
    return sorted(holds.items())


def count(number, what):
    return f"{number} {what}" + "s" * (number != 1)


def print_account(holds):
    start = min(hold["rows"][0][1] for _, hold in holds)
    print(f"\n{'from':>8} {'to':>8}  {'who':<7} {'fence':<17} what")
    for fence, hold in holds:
        events = [row[4] for row in hold["rows"]]
        times = [row[1] for row in hold["rows"]]
        text = f"{count(events.count('wrote'), 'write')} landed"
        for event, words in [
            ("killed", "KILLED while holding"),
            ("stopped", "STOPPED past its lifetime"),
            ("refused", "its stale write was REFUSED"),
            ("lost", "found out that it had lost"),
        ]:
            if event in events:
                text += f", {words}"
        print(f"{times[0] - start:8.3f} {times[-1] - start:8.3f}  {hold['who']:<7} {fence:<17} {text}")


def judge_handover(before, fence, after):
    """What is wrong with `after` having got the lock when `before` had it."""
    rows = before["rows"]
    told = [row for row in rows if row[4] in ("releasing", "killed", "stopped")]
    # Without one it was slow: it surely held when it last wrote, and had asked after the row before that one.
    worked = [row for row in rows if row[4] in ("acquired", "wrote")]
    end = told[0] if told else worked[-1]
    taken = after["rows"][0]
    if taken[4] != "acquired":
        return [f"fence {fence} of {after['who']} did something before it was acquired"]
    if taken[0] < end[0]:
        return [f"{after['who']} held from row {taken[0]} on while {before['who']} still did"]
    asked = end if told else worked[-2:][0]
    if end[4] not in ("releasing", "killed") and taken[1] - asked[1] < LIFETIME_MS / 1000 / 2:
        return [f"{after['who']} took over from {before['who']} in row {taken[0]} before its lifetime was over"]
    return []


def judge(rows, holds, everybody):
    """What is wrong with this history, in words; empty: nothing."""
    wrong = []
    highest = 0
    for seq, _, who, fence, event in rows:
        if event == "wrote":
            if fence < highest:
                wrong.append(f"row {seq}: a stale write of {who} landed, fence {fence} after {highest}")
            highest = max(highest, fence)
    before = None
    for fence, after in holds:
        if before is not None:
            wrong += judge_handover(before, fence, after)
        before = after
    for who in everybody:
        if not any(row[2] == who and row[4] == "wrote" for row in rows):
            wrong.append(f"{who} never wrote")
    for event in ("killed", "refused"):
        if not any(row[4] == event for row in rows):
            wrong.append(f"nothing was {event}, so nothing was shown")
    return wrong


def contend(demo):
    for who in demo.commands:
        demo.start(who)
    print(f"{len(demo.running)} contenders on {demo.url}: {', '.join(demo.running)}", flush=True)
    demo.wait_until("everyone to have worked once", demo.everyone_has_worked, limit=60)
    first, *_, last = demo.commands
    killed = "node" if "node" in demo.commands else last
    demo.kill(killed)
    print(f"{killed} was killed while it held", flush=True)
    stopped = "php" if "php" in demo.commands else first
    refused = False
    for _ in range(TRIES):
        if not refused:
            refused = demo.stop_past_lifetime(stopped)
            print(
                f"{stopped} was stopped past its lifetime" + ", and its stale write was refused" * refused, flush=True
            )
    demo.wait_until("the time to be over", lambda: time.monotonic() >= demo.end, limit=600)
    demo.finish()


def main(folder, seconds, *commands):
    demo = Demo(folder, seconds, commands)
    try:
        contend(demo)
    finally:
        demo.end_all()

    rows = demo.db.execute("SELECT seq, at, who, fence, event FROM account ORDER BY seq").fetchall()
    holds = holds_of(rows)
    print_account(holds)
    wrong = judge(rows, holds, demo.commands)
    landed = sum(row[4] == "wrote" for row in rows)
    refused = sum(row[4] == "refused" for row in rows)
    print(f"\n{count(len(holds), 'hold')}, {count(landed, 'write')} landed, {count(refused, 'stale write')} refused")
    for line in wrong:
        print("WRONG:", line)
    if wrong:
        sys.exit(1)
    print("No two held at once in the order of the store, and no stale write landed.")


if __name__ == "__main__":
    main(*sys.argv[1:])
