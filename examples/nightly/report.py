"""The nightly report in Python. usage: report.py DATABASE [SECONDS] [LIFETIME_MS]"""

import sqlite3
import sys
import time

from fencehold import Client

WHO = "python"
PAGES = 6
WRITE = "UPDATE report SET body = ?, fence = ? WHERE id = 'nightly' AND fence <= ?"
TELL = "INSERT INTO account (who, fence, event) VALUES (?, ?, ?)"


def write_report(db: sqlite3.Connection, lock) -> None:
    fence = lock.fence
    db.execute(TELL, (WHO, fence, "acquired"))
    for page in range(PAGES):
        if not lock.keep_alive():
            db.execute(TELL, (WHO, fence, "lost"))
            return
        time.sleep(0.02)  # the work; the lease may end meanwhile, and then only the fence helps
        landed = db.execute(WRITE, (f"{WHO} page {page}", fence, fence)).rowcount == 1
        if not landed:
            db.execute(TELL, (WHO, fence, "refused"))
            return
    db.execute(TELL, (WHO, fence, "releasing"))


def main(database: str, seconds: str = "0", lifetime_ms: str = "30000") -> None:
    db = sqlite3.connect(database, timeout=10, isolation_level=None)
    end = time.monotonic() + float(seconds)
    with Client() as client:
        lock = client.lock("reports/nightly", ttl=f"{lifetime_ms}ms", wait="1s", fair=True, label=WHO)
        while True:
            if lock.acquire():
                write_report(db, lock)
                lock.release()
            if time.monotonic() >= end:
                return


main(*sys.argv[1:])
