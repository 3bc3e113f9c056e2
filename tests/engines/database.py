"""Locks in PostgreSQL: the schema, the login, and transactions of users that a lock guards."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psycopg
from cluster import Postgres, wait_for
from programs import FENCEHOLD

LEVELS = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]
LOST = "FH001"
AGAIN = "40001"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "postgres.md"


def fencehold(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([FENCEHOLD, *arguments], capture_output=True, text=True, check=False)


def connect(cluster: Postgres, level: str = LEVELS[0]) -> psycopg.Connection:
    connection = psycopg.connect(
        host="127.0.0.1", port=cluster.port, user="postgres", password=cluster.PASSWORD, dbname="postgres"
    )
    connection.isolation_level = psycopg.IsolationLevel[level.replace(" ", "_")]
    return connection


def code_of(body: Callable[[], object]) -> str:
    """The SQLSTATE of a failure; empty when there was none."""
    try:
        body()
    except psycopg.Error as error:
        return error.sqlstate or "gone"
    return ""


class Held:
    """Our command, holding a lock until it is told to give it back."""

    def __init__(self, cluster: Postgres, name: str, ttl: str = "30s", wait: str = "") -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.fence_file, self.gate = Path(self.folder.name) / "fence", Path(self.folder.name) / "gate"
        self.gate.touch()
        body = 'echo "$FENCEHOLD_FENCE" >"$0.new" && mv "$0.new" "$0"; while [ -e "$1" ]; do sleep 0.02; done'
        command = [FENCEHOLD, "run", name, "--store", cluster.url, "--ttl", ttl, *(["--wait", wait] if wait else [])]
        self.process = subprocess.Popen(
            [*command, "--", "sh", "-c", body, str(self.fence_file), str(self.gate)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def fence(self) -> int:
        wait_for("the holder", self.fence_file.exists)
        return int(self.fence_file.read_text())

    def done(self) -> None:
        self.gate.unlink()
        assert self.process.wait(30) == 0

    def kill(self) -> None:
        os.killpg(self.process.pid, 9)
        self.process.wait()


@contextmanager
def holding(cluster: Postgres, name: str, ttl: str = "30s") -> Iterator[Held]:
    held = Held(cluster, name, ttl)
    try:
        yield held
    finally:
        if held.process.poll() is None:
            held.kill()


def guard(connection: psycopg.Connection, name: str, token: int) -> None:
    connection.execute("SELECT fencehold.guard(%s, %s)", (name, token))


def migrates(cluster: Postgres) -> None:
    refused = fencehold("ls", "--store", cluster.url)
    assert refused.returncode == 73 and "fencehold migrate" in refused.stderr, refused
    printed = fencehold("migrate", "--print")
    assert printed.returncode == 0
    made, again = fencehold("migrate", cluster.url), fencehold("migrate", "--store", cluster.url)
    assert (made.returncode, again.returncode) == (0, 0), (made, again)
    assert "was made" in made.stdout and "already" in again.stdout
    with connect(cluster) as connection, connection.cursor() as cursor:
        # What was printed for review is what was done, and can be done again.
        connection.autocommit = True
        cursor.execute(printed.stdout.encode())
    assert fencehold("ls", "--store", cluster.url).returncode == 0
    with connect(cluster) as connection:
        connection.execute("UPDATE fencehold.meta SET format = 7")
    for command in (["ls"], ["migrate"]):
        newer = fencehold(*command, "--store", cluster.url)
        assert newer.returncode == 73 and "format 7" in newer.stderr and "format 1" in newer.stderr, newer
    with connect(cluster) as connection:
        connection.execute("UPDATE fencehold.meta SET format = 1")


def knows_who_asks(cluster: Postgres) -> None:
    wrong = cluster.url.replace("p%40ss", "hunter2")
    refused = fencehold("ls", "--store", wrong)
    assert refused.returncode == 77 and "hunter2" not in refused.stderr, refused
    none = fencehold("ls", "--store", f"postgres://postgres@127.0.0.1:{cluster.port}/postgres")
    assert none.returncode == 77 and "password" in none.stderr, none
    assert fencehold("ls", "--store", cluster.url.removesuffix("postgres") + "nowhere").returncode == 73
    by_socket = f"postgres://postgres:p%40ss%20word@:{cluster.port}/postgres?host={cluster.folder}"
    assert fencehold("ls", "--store", by_socket).returncode == 0
    two = cluster.url.replace("127.0.0.1", "127.0.0.1:1,127.0.0.1")
    assert fencehold("ls", "--store", two).returncode == 0, "the first host is not there, the second is"


def encrypts(cluster: Postgres) -> None:
    url = cluster.url.replace("127.0.0.1", "localhost") + "?sslmode=verify-full"
    authority = ["--ca-file", str(cluster.folder / "cert.pem")]
    said = fencehold("ls", "--store", url, *authority)
    assert said.returncode == 0, said
    held = fencehold("run", "tls", "--store", url, *authority, "--", "true")
    assert held.returncode == 0, held
    distrusted = fencehold("ls", "--store", url)
    assert distrusted.returncode == 77 and "certificate" in distrusted.stderr, distrusted
    with connect(cluster) as connection:
        connection.autocommit = True
        connection.execute("ALTER SYSTEM SET ssl = off")
        connection.execute("SELECT pg_reload_conf()")

    def refused() -> bool:
        said = fencehold("ls", "--store", url, *authority)
        return said.returncode == 78 and "in the clear" in said.stderr

    try:
        wait_for("the refusal", refused, 10)
    finally:
        with connect(cluster) as connection:
            connection.autocommit = True
            connection.execute("ALTER SYSTEM RESET ssl")
            connection.execute("SELECT pg_reload_conf()")


def guards_while_held(cluster: Postgres, level: str) -> None:
    name = f"guard-{level}"
    with holding(cluster, name) as held:
        fence = held.fence()
        with connect(cluster, level) as connection:
            guard(connection, name, fence)
            connection.execute("SELECT 1")
        with connect(cluster, level) as connection:
            assert code_of(partial(guard, connection, name, fence - 1)) == LOST
            connection.rollback()
            assert code_of(partial(guard, connection, "nobody's", fence)) == LOST
            connection.rollback()
            higher = LOST if level == LEVELS[0] else AGAIN
            assert code_of(partial(guard, connection, name, fence + 1000)) == higher
        held.done()
    with connect(cluster, level) as connection:
        assert code_of(partial(guard, connection, name, fence)) == LOST, "it was given back"


def lets_renewals_pass(cluster: Postgres, level: str) -> None:
    """A guarded transaction outlives the lifetime: the holder renews beside it, and it commits."""
    name = f"renewed-{level}"
    with holding(cluster, name, "1500ms") as held, connect(cluster, level) as connection:
        fence = held.fence()
        guard(connection, name, fence)
        end = time.monotonic() + 3
        while time.monotonic() < end:
            connection.execute("SELECT 1")
            time.sleep(0.1)
        assert held.process.poll() is None, "the holder lost the lock"
        connection.commit()
        # The first token is still good after renewals moved it, also in a transaction that sees the past.
        connection.execute("SELECT 1")
        time.sleep(1)
        guard(connection, name, fence)
        connection.commit()
        held.done()


def keeps_the_next_one_out(cluster: Postgres, level: str) -> None:
    """The holder dies in the middle of a guarded transaction: nobody takes over before that ends."""
    name = f"takeover-{level}"
    with holding(cluster, name, "1500ms") as held, connect(cluster, level) as connection:
        fence = held.fence()
        connection.execute("SELECT 1")
        guard(connection, name, fence)
        held.kill()
        following = Held(cluster, name, "10s", "30s")
        end = time.monotonic() + 3.5
        while time.monotonic() < end:
            assert not following.fence_file.exists(), "two at once"
            connection.execute("SELECT 1")
            time.sleep(0.1)
        tried = fencehold("run", name, "--store", cluster.url, "--", "true")
        assert tried.returncode == 75, tried
        connection.commit()
        assert following.fence() > fence
        assert code_of(partial(guard, connection, name, fence)) == LOST
        connection.rollback()
        following.done()


def refuses_after_a_takeover(cluster: Postgres, level: str) -> None:
    """A transaction that began under the lock and guards after somebody else has it does not commit."""
    name = f"late-{level}"
    with holding(cluster, name, "1500ms") as held, connect(cluster, level) as connection:
        fence = held.fence()
        connection.execute("SELECT 1")
        held.kill()
        following = Held(cluster, name, "10s", "30s")
        assert following.fence() > fence
        code = code_of(partial(guard, connection, name, fence))
        assert code in ((LOST,) if level == LEVELS[0] else (LOST, AGAIN)), code
        connection.rollback()
        assert code_of(partial(guard, connection, name, fence)) == LOST, "what begins anew sees it as lost"
        connection.rollback()
        following.done()


def release_waits_for_its_own(cluster: Postgres) -> None:
    """A release beside an open guarded transaction waits for its end; by hand it says why it cannot."""
    name = "released"
    with holding(cluster, name) as held, connect(cluster) as connection:
        fence = held.fence()
        guard(connection, name, fence)
        by_hand = fencehold("release", name, "--store", cluster.url, "--token", str(fence))
        assert by_hand.returncode == 69 and "guarded" in by_hand.stderr, by_hand
        timer = threading.Timer(0.7, connection.commit)
        timer.start()
        held.done()
        timer.join()
    with holding(cluster, name) as held:
        assert held.fence() > fence


def an_idle_guard_ends_with_the_lease(cluster: Postgres) -> None:
    """A client that stops in the middle of a guarded transaction holds nobody up for longer than the lease."""
    name = "idle"
    with holding(cluster, name, "2s") as held, connect(cluster) as connection:
        fence = held.fence()
        guard(connection, name, fence)
        held.kill()
        following = Held(cluster, name, "10s", "30s")
        assert following.fence() > fence
        assert code_of(partial(connection.execute, "SELECT 1")), "the idle transaction lives on"
        following.done()


def fences_rise(cluster: Postgres) -> None:
    """Tokens rise over holders, restarts, and a sequence that a restored backup set back."""
    fences = []
    for round_ in range(4):
        if round_ == 2:
            for node in cluster.nodes:
                node.stop()
                node.start()
            cluster.wait()
            with connect(cluster) as connection:
                connection.execute("SELECT setval('fencehold.versions', 1)")
        with holding(cluster, "rise") as held:
            fences.append(held.fence())
            held.done()
    assert fences == sorted(set(fences)), fences


def a_users_transaction_is_its_own(cluster: Postgres) -> None:
    """Trying a lock that is held leaves a transaction of the user alone, whatever becomes of it."""
    with holding(cluster, "busy") as held, connect(cluster) as connection:
        held.fence()
        connection.execute("CREATE TEMP TABLE mine (a int)")
        assert fencehold("run", "busy", "--store", cluster.url, "--", "true").returncode == 75
        connection.execute("INSERT INTO mine VALUES (1)")
        connection.rollback()
        assert fencehold("show", "busy", "--store", cluster.url, "-q").returncode == 0
        held.done()


def the_page_is_true(cluster: Postgres) -> None:
    """The statements of docs/postgres.md."""
    blocks = re.findall(r"```text\n(-- .*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) >= 2, "the page shows how to guard and which rights are needed"
    with holding(cluster, "reports/nightly") as held, connect(cluster) as connection:
        connection.autocommit = True
        connection.execute("CREATE ROLE app")
        connection.execute("CREATE TABLE report (day date PRIMARY KEY, total integer)")
        connection.execute("INSERT INTO report VALUES ('2026-07-01', 0)")
        connection.execute("GRANT ALL ON report TO app")
        for block in blocks:
            connection.execute(block.replace(":fence", str(held.fence())).encode())
            connection.execute("SET ROLE app")
        assert connection.execute("SELECT total FROM report").fetchone() == (17,)
        held.done()


def end_connections(cluster: Postgres) -> None:
    """An administrator ends every other connection, some times over."""
    for _ in range(5):
        with connect(cluster) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
            )
        time.sleep(0.3)


def cases(cluster: Postgres) -> list[tuple[str, Callable[[], None]]]:
    found: list[tuple[str, Callable[[], None]]] = [
        ("the schema is made, once, and a newer one is refused", partial(migrates, cluster)),
        ("logins, sockets and several hosts", partial(knows_who_asks, cluster)),
        ("TLS, checked, and never given up silently", partial(encrypts, cluster)),
        ("a release waits for the transaction that it guards", partial(release_waits_for_its_own, cluster)),
        ("an idle guarded transaction ends with the lease", partial(an_idle_guard_ends_with_the_lease, cluster)),
        ("fences rise, whatever the sequence says", partial(fences_rise, cluster)),
        ("a transaction of the user is left alone", partial(a_users_transaction_is_its_own, cluster)),
        ("the statements of the page", partial(the_page_is_true, cluster)),
    ]
    for level in LEVELS:
        found += [
            (f"{level}: a guard is good while the lock is held", partial(guards_while_held, cluster, level)),
            (f"{level}: renewals pass by a guard", partial(lets_renewals_pass, cluster, level)),
            (f"{level}: a guard keeps the next holder out", partial(keeps_the_next_one_out, cluster, level)),
            (f"{level}: a guard after a takeover is refused", partial(refuses_after_a_takeover, cluster, level)),
        ]
    return found
