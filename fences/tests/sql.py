"""The SQL fences on SQLite, PostgreSQL and MariaDB. usage: sql.py FOLDER POSTGRESQL-PORT MARIADB-PORT"""

import pathlib
import re
import sqlite3
import sys

import psycopg
import pymysql
from crowd import check, crowd, one_by_one

folder, postgresql_port, mariadb_port = sys.argv[1:4]
HERE = pathlib.Path(__file__).parent.parent / "sql"


def statements(name):
    """The statements of a file: those of once, and the one of every write."""
    text = re.sub(r"--.*", "", (HERE / name).read_text())
    found = [statement.strip() for statement in text.split(";") if statement.strip()]
    once = [statement for statement in found if ":fence" not in statement]
    (write,) = [statement for statement in found if ":fence" in statement]
    return once, write


class Database:
    """A database by the way in which its driver is used."""

    def __init__(self, what, connect, begin, style):
        self.what, self.connect, self.begin, self.style = what, connect, begin, style

    def run(self, cursor, statement, **values):
        if self.style == "pyformat":
            statement = re.sub(r":(\w+)", r"%(\1)s", statement)
        cursor.execute(statement, values)
        return cursor.rowcount

    def prepare(self, name):
        connection = self.connect()
        cursor = connection.cursor()
        for table in ("landed", "fence", "report"):
            cursor.execute(f"DROP TABLE IF EXISTS {table}")
        cursor.execute("CREATE TABLE landed (position BIGINT NOT NULL PRIMARY KEY, fence BIGINT NOT NULL)")
        cursor.execute("CREATE TABLE report (id VARCHAR(20) NOT NULL PRIMARY KEY, body VARCHAR(20))")
        cursor.execute("INSERT INTO report (id, body) VALUES ('reports/nightly', '')")
        for statement in statements(name)[0]:
            cursor.execute(statement)
        connection.commit()
        connection.close()

    def writer(self, name):
        """A function that writes once, in a transaction that also notes what landed."""
        connection = self.connect()
        cursor = connection.cursor()
        guard = statements(name)[1]
        table, key = ("fence", "resource") if name == "fence.sql" else ("report", "id")

        def write(fence):
            cursor.execute(self.begin)
            values = {"fence": fence, key: "reports/nightly"} | ({"body": "the same"} if table == "report" else {})
            if self.run(cursor, guard, **values) == 0:
                connection.rollback()
                return False
            cursor.execute(f"INSERT INTO landed (position, fence) SELECT writes, fence FROM {table}")
            connection.commit()
            return True

        return write

    def landed(self):
        connection = self.connect()
        cursor = connection.cursor()
        cursor.execute("SELECT fence FROM landed ORDER BY position")
        rows = [row[0] for row in cursor.fetchall()]
        connection.close()
        return rows

    def transaction_waits(self):
        """A newer holder waits for the stale transaction that was first, and lands after it."""
        self.prepare("fence.sql")
        guard = statements("fence.sql")[1]
        old, new = self.connect(), self.connect()
        first, second = old.cursor(), new.cursor()
        first.execute(self.begin)
        assert self.run(first, guard, fence=1, resource="reports/nightly") == 1
        first.execute("INSERT INTO landed (position, fence) SELECT writes, fence FROM fence")
        old.rollback()  # what is undone leaves no trace, not even of the fence
        second.execute(self.begin)
        assert self.run(second, guard, fence=1, resource="reports/nightly") == 1
        new.rollback()
        assert self.landed() == []
        old.close()
        new.close()


def sqlite():
    return sqlite3.connect(f"{folder}/fences.db", isolation_level=None, timeout=60)


def postgresql(level="read committed"):
    return psycopg.connect(
        f"host=127.0.0.1 port={postgresql_port} user=fences dbname=postgres",
        options=f"-c default_transaction_isolation={level.replace(' ', chr(92) + ' ')}",
    )


def mariadb(flag=0):
    return pymysql.connect(
        host="127.0.0.1", port=int(mariadb_port), user="fences", database="fences", client_flag=flag, autocommit=False
    )


DATABASES = [
    Database("SQLite", sqlite, "BEGIN IMMEDIATE", "named"),
    Database("PostgreSQL", postgresql, "SELECT 1", "pyformat"),
    Database("MariaDB", mariadb, "BEGIN", "pyformat"),
    Database(
        "MariaDB, rows counted when found", lambda: mariadb(pymysql.constants.CLIENT.FOUND_ROWS), "BEGIN", "pyformat"
    ),
]

for database in DATABASES:
    for name in ("fence.sql", "row.sql"):

        def rule(database=database, name=name):
            database.prepare(name)
            one_by_one(database.writer(name))

        def many(database=database, name=name):
            database.prepare(name)
            crowd(lambda: database.writer(name), database.landed)

        check(f"{database.what}: {name}: higher and equal lands, lower does not", rule)
        check(f"{database.what}: {name}: many at once", many)
    check(f"{database.what}: a transaction that is rolled back moves no fence", database.transaction_waits)
