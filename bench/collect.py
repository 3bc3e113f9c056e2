"""Runs the measurements of bench/run.sh, prints one table, and writes docs/benchmarks.md.

No figure is written here: what is here are the targets, and how a row is made of what programs print.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


@dataclass
class Row:
    """A line of the table. `met` is none where there is no target."""

    what: str
    measured: str
    peer: str = ""
    target: str = ""
    met: bool | None = None


class Missing(Exception):
    """Something that a row needs is not here."""


def ns(value: float) -> str:
    for limit, unit, scale in ((1e3, "ns", 1.0), (1e6, "µs", 1e3), (1e9, "ms", 1e6), (float("inf"), "s", 1e9)):
        if value < limit:
            return f"{value / scale:.3g} {unit}"
    raise AssertionError(value)


def rate(value: float) -> str:
    return f"{value:,.0f}/s"


class Bench:
    def __init__(self, built: Path, release: Path, quick: bool) -> None:
        self.built, self.release, self.quick = built, release, quick
        self.program = release / "fencehold-bench"

    def seconds(self, full: int) -> str:
        return str(max(1, full // 4) if self.quick else full)

    def run(self, *command: str | Path, **options: Any) -> str:
        if not Path(str(command[0])).exists() and shutil.which(str(command[0])) is None:
            raise Missing(f"{Path(str(command[0])).name} is not here")
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
        if done.returncode != 0:
            lines = (done.stderr or done.stdout).strip().splitlines()
            raise Missing(f"{Path(str(command[0])).name}: {lines[-1] if lines else done.returncode}")
        return done.stdout

    def ours(self, name: str, *arguments: str) -> dict[str, Any]:
        """One measurement in a folder of its own; FOLDER stands for it."""
        with tempfile.TemporaryDirectory() as folder:
            words = [folder if word == "FOLDER" else word for word in arguments]
            return json.loads(self.run(self.program, name, *words))

    def sqlite(self, synchronous: str, processes: str) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            program = self.built / "sqlite"
            return json.loads(self.run(program, f"{folder}/locks.db", synchronous, processes, self.seconds(4)))

    # -- asking whether it is still held

    def keep_alive(self) -> list[Row]:
        rows = []

        def row(language: str, clock: str, call: float, read: float, most: float) -> None:
            ratio = call / read
            measured = f"{call:.1f} ns, {ratio:.2f} times"
            rows.append(
                Row(
                    f"keep_alive() in {language}", measured, f"{clock}: {read:.1f} ns", f"≤ {most} times", ratio <= most
                )
            )

        def attempt(language: str, measure: Callable[[], None]) -> None:
            try:
                measure()
            except Missing as why:
                rows.append(Row(f"keep_alive() in {language}", f"missing: {why}"))

        def bare(language: str, most: float, *command: str | Path) -> None:
            found = json.loads(self.run(*command))
            row(language, found["clock"], found["keep_alive_ns"], found["clock_ns"], most)

        def interpreted(language: str, call: str, clock: str, found: list[dict[str, Any]]) -> None:
            times = {one["what"]: one["medianNs"] for one in found}
            row(language, clock, times[call], times[clock], 1.2)

        def php() -> None:
            extension = self.built / "php/modules/fencehold.so"
            if not extension.exists():
                raise Missing("the extension is not built")
            bare("PHP", 1.2, "php", "-d", f"extension={extension}", ROOT / "bench/keep_alive.php", "--json")

        def node() -> None:
            found = json.loads(self.run("node", ROOT / "bindings/node/bench/bench.mjs", "--json"))
            interpreted("Node", "lock.keepAlive()", "performance.now()", found["rows"])

        attempt("Rust", lambda: bare("Rust", 1.15, self.program, "keep-alive"))
        attempt("C", lambda: bare("C", 1.15, self.built / "keep_alive_c", "--json"))
        attempt("C++", lambda: bare("C++", 1.15, self.built / "keep_alive_cpp", "--json"))
        attempt("PHP", php)
        attempt("Node", node)
        attempt("Python", lambda: interpreted("Python", "lock.keep_alive()", "time.monotonic()", self.python()))
        return rows

    def python(self) -> list[dict[str, Any]]:
        if not hasattr(self, "_python"):
            script = ROOT / "bindings/python/bench/bench.py"
            python = self.built / "python/bin/python"
            self._python = json.loads(self.run(python, script, "--json", "--scale", "0.25" if self.quick else "1"))
        return list(self._python["rows"])

    # -- taking and giving back

    def pairs(self) -> list[Row]:
        rows = []
        rounds = [
            (
                self.ours("pairs", "lease", "FOLDER", "1", self.seconds(4)),
                self.ours("pairs", "flock", "FOLDER", "1", self.seconds(4)),
                self.ours("pairs", "lease", "FOLDER", "4", self.seconds(4)),
                self.ours("pairs", "flock", "FOLDER", "4", self.seconds(4)),
            )
            for _ in range(1 if self.quick else 3)
        ]
        ratio, one, bare = sorted(
            (one["p50_ns"][0] / bare["p50_ns"][0], one["p50_ns"][0], bare["p50_ns"][0]) for one, bare, *_ in rounds
        )[len(rounds) // 2]
        rows.append(
            Row(
                "acquire + release on file:, one process",
                f"{ns(one)}, {ratio:.1f} times",
                f"flock(2): {ns(bare)}",
                "≤ 15 times",
                ratio <= 15,
            )
        )
        single, _, four, four_flock = rounds[-1]
        share = statistics.median(four["pairs_per_second"] / one["pairs_per_second"] for one, _, four, _ in rounds)
        rows.append(
            Row(
                "the same, 4 processes on 4 names together",
                f"{rate(four['pairs_per_second'])}, {share:.0%} of one process",
                f"one process: {rate(single['pairs_per_second'])}; 4 with flock(2): {rate(four_flock['pairs_per_second'])}",
                "≥ 60 %",
                share >= 0.6,
            )
        )
        evenness = min(four["slowest_to_fastest"] for _, _, four, _ in rounds)
        rows.append(Row("slowest of the 4 to the fastest", f"{evenness:.2f}", "", "≥ 0.5", evenness >= 0.5))
        slow = statistics.median(four["p99_ns"] for _, _, four, _ in rounds)
        rows.append(Row("p99 of the 4", ns(slow), "", "< 1 ms", slow < 1e6))
        for synchronous in ("off", "normal"):
            what = f"one row in SQLite, synchronous={synchronous}, 1 and 4 processes"
            try:
                alone, together = self.sqlite(synchronous, "1"), self.sqlite(synchronous, "4")
            except Missing as why:
                rows.append(Row(what, f"missing: {why}"))
                continue
            rates = f"{rate(alone['pairs_per_second'])} and {rate(together['pairs_per_second'])}"
            evenness = together["slowest_to_fastest"]
            peer = f"slowest to fastest {evenness:.2f}, p99 {ns(together['p99_ns'])}"
            rows.append(Row(what, f"{ns(alone['p50_ns'])}; {rates}", peer))
        try:
            found = self.python()
        except Missing as why:
            return [*rows, Row("acquire + release from Python", f"missing: {why}")]
        medians = {one["what"]: one["medianNs"] for one in found}
        prefix = "acquire + release: "
        for what, ours in medians.items():
            if not what.startswith(f"{prefix}file:"):
                continue
            for peer, least in (("filelock", 10), ("diskcache.Lock", 3)):
                theirs = medians.get(prefix + peer)
                if theirs is None:
                    rows.append(Row(f"Python, {what} beside {peer}", f"missing: {peer} is not installed"))
                    continue
                times = theirs / ours
                measured, beside = f"{ns(ours)}, {times:.1f} times as fast", f"{peer}: {ns(theirs)}"
                rows.append(Row(f"Python, {what}", measured, beside, f"≥ {least} times", times >= least))
        return rows

    # -- waiting

    def waiting(self) -> list[Row]:
        rows = []
        for waiters in ("1", "32"):
            rounds = [
                (
                    self.ours("handover", "lease", "FOLDER", waiters, self.seconds(4)),
                    self.ours("handover", "flock", "FOLDER", waiters, self.seconds(4)),
                )
                for _ in range(1 if self.quick else 3)
            ]
            ratio, ours, bare = sorted(
                (ours["p50_ns"] / bare["p50_ns"], ours["p50_ns"], bare["p50_ns"]) for ours, bare in rounds
            )[len(rounds) // 2]
            plural = "waiter" if waiters == "1" else "waiters"
            rows.append(
                Row(
                    f"hand-over, {waiters} {plural}, p50",
                    f"{ns(ours)}, {ratio:.1f} times",
                    f"blocking flock(2): {ns(bare)}",
                    "≤ 2 times",
                    ratio <= 2,
                )
            )
            even, others = (min(one["fewest_to_most"] for one in side) for side in zip(*rounds, strict=True))
            rows.append(
                Row(
                    f"turns of the one served least to the one served most, {waiters} {plural}",
                    f"{even:.2f}",
                    f"flock(2): {others:.2f}",
                    "≥ 0.5",
                    even >= 0.5,
                )
            )
        count = "40" if self.quick else "200"
        ours, bare = self.ours("takeover", "lease", "FOLDER", count), self.ours("takeover", "flock", "FOLDER", count)
        rows.append(
            Row(
                "after SIGKILL of the holder, p50 and p99",
                f"{ns(ours['p50_ns'])}, {ns(ours['p99_ns'])}",
                f"flock(2): {ns(bare['p50_ns'])}, {ns(bare['p99_ns'])}",
                "p99 ≤ 100 ms",
                ours["p99_ns"] <= 100e6,
            )
        )
        return rows

    # -- many leases

    def many(self) -> list[Row]:
        found = self.ours("leases", "FOLDER", "100000")
        ratio, size = found["ratio"], found["bytes_per_lease"]
        rows = [
            Row(
                "acquire + release beside 100,000 held leases",
                f"{ns(found['full_ns'])}, {ratio:.2f} times",
                f"on an empty store: {ns(found['empty_ns'])}",
                "≤ 2 times",
                ratio <= 2,
            ),
            Row("disk a lease", f"{size:.0f} bytes", "", "≤ 400 bytes", size <= 400),
        ]
        found = self.ours("renewals", "FOLDER", "10000", "12" if self.quick else "30")
        share = found["percent_of_a_core"]
        threads = found["threads_of_the_library"]
        rows.append(
            Row(
                "10,000 leases of 30 s renewed in the background",
                f"{share:.2f} % of a core, {threads} thread{'s' if threads != 1 else ''}, {found['lost']} lost",
                f"{found['renewed']:,} of them renewed meanwhile",
                "< 3 %, one thread",
                share < 3 and threads == 1 and found["lost"] == 0 and found["renewed"] == found["leases"],
            )
        )
        return rows

    # -- programs and sizes

    def commands(self) -> list[Row]:
        rows = []
        command = self.release / "fencehold"
        try:
            if not command.exists():
                raise Missing("the command is not built")
            with tempfile.TemporaryDirectory() as folder:
                ours = [str(command), "--store", f"file:{folder}/store", "run", "bench", "--", "true"]
                theirs = ["flock", f"{folder}/file", "true"]
                self.run(*ours)
                self.run(*theirs)
                taken: tuple[list[int], list[int]] = ([], [])
                for _ in range(50 if self.quick else 200):
                    for times, words in zip(taken, (ours, theirs), strict=True):
                        before = time.perf_counter_ns()
                        subprocess.run(words, check=True, capture_output=True)
                        times.append(time.perf_counter_ns() - before)
            one, two = (statistics.median(times) for times in taken)
            rows.append(
                Row(
                    "fencehold run NAME -- true",
                    ns(one),
                    f"flock FILE true: {ns(two)}",
                    "≤ 6 ms more",
                    one - two <= 6e6,
                )
            )
        except Missing as why:
            rows.append(Row("fencehold run NAME -- true", f"missing: {why}"))
        for what, pattern, limit in (
            ("the shared library, stripped", "prefix/lib/libfencehold.so", 3),
            ("the Python wheel", "wheels/*.whl", 4),
        ):
            files = sorted(self.built.glob(pattern))
            if files:
                size = files[0].resolve().stat().st_size
                rows.append(Row(what, f"{size / 1e6:.2f} MB", "", f"< {limit} MB", size < limit * 1_000_000))
            else:
                rows.append(Row(what, "missing: it is not built"))
        return rows


def machine() -> list[str]:
    model = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    system = subprocess.run(
        ["df", "--output=fstype", tempfile.gettempdir()], capture_output=True, text=True, check=False
    )
    kind = (system.stdout.split() or ["", "unknown"])[-1]
    return [f"{model}, {os.cpu_count()} CPUs, Linux {platform.release()}, {kind}"]


def page(sections: list[tuple[str, list[Row]]], facts: list[str]) -> str:
    rows = [row for _, some in sections for row in some]
    judged = [row for row in rows if row.met is not None]
    met = sum(row.met is True for row in judged)
    lines = [
        "# Benchmarks",
        "",
        "Made by `make bench`, which measures everything below and its peers in one run on one machine and writes this",
        "page. The ratios are what counts: absolute figures move with the machine and with what else it does.",
        "",
        f"{met} of {len(judged)} targets are met. " + ". ".join(facts) + ".",
        "",
    ]
    for title, some in sections:
        lines += [f"## {title}", "", "| | measured | beside it | target | |", "|---|---|---|---|---|"]
        for row in some:
            met_text = {True: "met", False: "**missed**", None: ""}[row.met]
            lines.append(f"| {row.what} | {row.measured} | {row.peer} | {row.target} | {met_text} |")
        lines.append("")
    lines += [
        "How it is measured: every call is timed and p50 is compared, since a busy machine moves the mean; flock(2) is",
        "called a hundred times for each reading of the clock. A hand-over is from the moment before the release to the",
        "moment when the next process holds, after holds of 2 ms. A takeover is from the moment before SIGKILL. The",
        "programs are in `bench/`, and in `bench` of each binding.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--built", type=Path, required=True, help="what bench/run.sh has built")
    parser.add_argument("--release", type=Path, required=True, help="cargo's folder of release builds")
    parser.add_argument("--missing", action="append", default=[], help="what could not be built, and why")
    parser.add_argument("--quick", action="store_true", help="a quarter of the time, for trying it out")
    parser.add_argument("--no-page", action="store_true", help="only print")
    asked = parser.parse_args()
    bench = Bench(asked.built, asked.release, asked.quick)
    before = os.getloadavg()[0]
    sections: list[tuple[str, list[Row]]] = []
    for title, measure in (
        ("Still held?", bench.keep_alive),
        ("Taking and giving back", bench.pairs),
        ("Waiting", bench.waiting),
        ("Many leases", bench.many),
        ("Commands and sizes", bench.commands),
    ):
        print(f"measuring: {title}", file=sys.stderr)
        sections.append((title, measure()))
    facts = machine()
    facts.append(f"{time.strftime('%Y-%m-%d')}, load average {before:.1f} before and {os.getloadavg()[0]:.1f} after")
    facts += [f"Not built here: {missing}" for missing in asked.missing]
    for title, rows in sections:
        print(f"\n{title}")
        for row in rows:
            met = {True: "met", False: "MISSED", None: ""}[row.met]
            print(f"  {row.what:68} {row.measured:38} {row.peer:48} {row.target:20} {met}")
    print("\n" + "\n".join(facts))
    if not asked.no_page:
        (ROOT / "docs/benchmarks.md").write_text(page(sections, facts), encoding="utf-8")


if __name__ == "__main__":
    main()
