"""A fence in a file: remembers the highest number that was accepted for a resource, and refuses a lower one.

Copy it. It needs Python 3.9 and a local disk, and shares its files with `fence.php` and `fenced-write`.
"""

import contextlib
import fcntl
import os


class Stale(Exception):
    """Somebody with a higher fence was here; `highest` is theirs."""

    def __init__(self, fence, highest):
        super().__init__(f"fence {fence} is stale: {highest} was accepted")
        self.fence, self.highest = fence, highest


def _replace(path, data):
    """Writes a file so that it is there as a whole, or as it was, also after a power failure. Only inside a fence."""
    with open(path + ".new", "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)
    folder = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextlib.contextmanager
def fenced(path, fence):
    """Enters if no higher fence was accepted, and keeps every other writer out until the block ends.

    `path` is the file with the number; `path + ".lock"` is made beside it. Raises Stale. The number is on the disk
    before the block runs, so that a crash in between refuses too much and never too little.
    """
    with open(path + ".lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            with open(path, encoding="ascii") as file:
                highest = int(file.read())
        except FileNotFoundError:
            highest = 0
        if fence < highest:
            raise Stale(fence, highest)
        if fence > highest:
            _replace(path, b"%d\n" % fence)
        yield


def write_file(path, data, fence):
    """Replaces the file at `path` by `data`, unless a higher fence wrote it. The fence is in `path + ".fence"`."""
    with fenced(path + ".fence", fence):
        _replace(path, data)
