"""The demo's judge sees what it must see."""

import pathlib
import sqlite3

import demo

EVERYBODY = {"a": "", "b": ""}
# (seq, seconds, who, fence, event): a is stopped, b takes over, a's late write is refused, b is killed.
GOOD = [
    (1, 0.0, "a", 10, "acquired"),
    (2, 0.1, "a", 10, "wrote"),
    (3, 0.2, "a", 10, "stopped"),
    (4, 1.2, "b", 20, "acquired"),
    (5, 1.3, "b", 20, "wrote"),
    (6, 1.4, "a", 10, "refused"),
    (7, 1.5, "b", 20, "killed"),
]


def verdict(rows):
    return demo.judge(rows, demo.holds_of(rows), EVERYBODY)


def changed(seq, row):
    return [row if old[0] == seq else old for old in GOOD]


def test_a_good_history_is_good():
    assert verdict(GOOD) == []


def test_a_stale_write_that_landed_is_seen():
    assert "a stale write of a landed" in verdict([*GOOD, (8, 1.6, "a", 10, "wrote")])[0]


def test_two_holders_at_once_are_seen():
    rows = changed(3, (3, 0.2, "a", 10, "wrote"))
    assert "while a still did" in verdict([*rows, (9, 1.7, "a", 10, "releasing")])[0]


def test_a_takeover_before_the_lifetime_is_seen():
    rows = changed(4, (4, 0.4, "b", 20, "acquired"))
    assert "before its lifetime was over" in verdict(rows)[0]


def test_a_takeover_from_one_that_was_not_stopped_is_seen():
    rows = [row for row in GOOD if row[4] != "stopped"]
    assert verdict(rows) == []
    rows = [(4, 0.3, *row[2:]) if row[0] == 4 else row for row in rows]
    assert "before its lifetime was over" in verdict(rows)[0]


def test_a_demo_that_showed_nothing_is_no_success():
    assert verdict(changed(6, (6, 1.4, "a", 10, "lost"))) == ["nothing was refused, so nothing was shown"]
    assert verdict(changed(7, (7, 1.5, "b", 20, "releasing"))) == ["nothing was killed, so nothing was shown"]


def test_a_contender_that_never_wrote_is_seen():
    rows = GOOD[:3] + GOOD[5:]
    assert "b never wrote" in verdict(rows)


def test_the_table_refuses_a_lower_fence_and_tells_what_landed():
    db = sqlite3.connect(":memory:")
    db.executescript((pathlib.Path(demo.__file__).parent / "schema.sql").read_text(encoding="utf-8"))
    write = "UPDATE report SET body = ?, fence = ? WHERE id = 'nightly' AND fence <= ?"
    counts = [db.execute(write, (f"a page {fence}", fence, fence)).rowcount for fence in (5, 5, 4, 6)]
    assert counts == [1, 1, 0, 1]
    assert db.execute("SELECT who, fence, event FROM account").fetchall() == [
        ("a", 5, "wrote"),
        ("a", 5, "wrote"),
        ("a", 6, "wrote"),
    ]
