"""The fence of a file, in Python, PHP and the shell, on the same files. usage: files.py FOLDER"""

import os
import pathlib
import random
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(HERE / "python"))

from crowd import HOLDERS, WRITES, check, crowd, one_by_one
from fence import Stale, fenced, write_file

folder = pathlib.Path(sys.argv[1])
SHELL = str(HERE / "shell" / "fenced-write")
PHP = """require $argv[1]; try { Fences\\fenced($argv[2] . '.fence', (int) $argv[3], function () use ($argv) {
    file_put_contents($argv[2] . '.new', $argv[4]); rename($argv[2] . '.new', $argv[2]); }); }
    catch (Fences\\Stale $stale) { fwrite(STDERR, $stale->getMessage()); exit(1); }"""


def by_python(path, text, fence):
    try:
        write_file(path, text.encode(), fence)
        return True
    except Stale:
        return False


def finished(process):
    assert process.returncode in (0, 1), process.stderr
    assert process.returncode == 0 or b"stale" in process.stderr, process.stderr
    return process.returncode == 0


def by_shell(path, text, fence):
    return finished(subprocess.run([SHELL, path, str(fence)], input=text.encode(), capture_output=True, check=False))


def by_php(path, text, fence):
    command = ["php", "-r", PHP, "--", str(HERE / "php" / "fence.php"), path, str(fence), text]
    return finished(subprocess.run(command, capture_output=True, check=False))


def rule(write):
    path = str(folder / f"rule-{write.__name__}")
    one_by_one(lambda fence: write(path, f"by {fence}", fence))
    assert pathlib.Path(path).read_text() == f"by {2**63 - 1}"


def logged():
    log = folder / "log"

    def write(fence):
        try:
            with fenced(str(folder / "logged"), fence):
                text = log.read_text() if log.exists() else ""
                time.sleep(0.001)  # two at once would lose a line
                log.write_text(f"{text}{fence}\n")
                return True
        except Stale:
            return False

    crowd(lambda: write, lambda: [int(line) for line in log.read_text().split()])


def mixed():
    """All three at once on one file: what is read there never goes back."""
    path = str(folder / "mixed")
    by_python(path, "100 first", 100)
    seen, done, landed, errors = [], threading.Event(), [], []

    def look():
        while not done.is_set():
            seen.append(int(pathlib.Path(path).read_text().split()[0]))
            time.sleep(0.001)

    def hold(number):
        try:
            for _ in range(WRITES):
                write = random.choice((by_python, by_shell, by_php))
                if write(path, f"{number} {'x' * 5000}", number):
                    landed.append(number)
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    watcher = threading.Thread(target=look)
    holders = [threading.Thread(target=hold, args=(100 + number,)) for number in range(1, HOLDERS + 1)]
    for thread in [watcher, *holders]:
        thread.start()
    for thread in holders:
        thread.join()
    done.set()
    watcher.join()
    assert not errors, errors
    assert seen == sorted(seen), f"it went back: {seen}"
    assert landed.count(100 + HOLDERS) == WRITES, "an equal fence was refused"
    assert len(landed) < HOLDERS * WRITES, "nothing stale was tried"
    assert pathlib.Path(path).read_text().startswith(f"{100 + HOLDERS} ")
    assert pathlib.Path(path + ".fence").read_text() == f"{100 + HOLDERS}\n"


def killed():
    """A writer that is killed leaves the file whole, and the next one writes."""
    path = str(folder / "killed")
    by_shell(path, "a" * 400_000, 1)
    for turn in range(25):
        letter = "bcdefgh"[turn % 7]
        fence = turn // 2 + 2
        code = f"import sys; sys.path.insert(0, {str(HERE / 'python')!r}); from fence import write_file; \
                 [write_file({path!r}, b'{letter}' * 400_000, {fence}) for _ in range(1000)]"
        process = subprocess.Popen([sys.executable, "-c", code])
        time.sleep(random.uniform(0.03, 0.12))
        process.kill()
        process.wait()
        data = pathlib.Path(path).read_bytes()
        assert len(data) == 400_000 and len(set(data)) == 1, f"torn: {len(data)} bytes, {set(data)}"
    assert by_shell(path, "done", 100)


def refusals():
    path = str(folder / "refused")
    for fence in ("0", "-1", "x", "1.5", "09", "99999999999999999999"):
        process = subprocess.run([SHELL, path, fence], input=b"x", capture_output=True, check=False)
        assert process.returncode == 2 and not os.path.exists(path), (fence, process)
    environment = dict(os.environ, FENCEHOLD_FENCE="7")
    assert subprocess.run([SHELL, path], input=b"x", env=environment, check=False).returncode == 0
    os.chmod(path, 0o644)
    assert by_shell(path, "y", 8) and pathlib.Path(path).stat().st_mode & 0o777 == 0o666 & ~umask, (
        "the mode follows the umask"
    )
    left = [name for name in os.listdir(folder) if ".new" in name and name.startswith("refused")]
    assert not left, left


umask = os.umask(0o022)
os.umask(umask)
for write in (by_python, by_shell, by_php):
    check(
        f"a file {write.__name__.replace('_', ' ')}: higher and equal lands, lower does not",
        lambda write=write: rule(write),
    )
check("a block of Python inside a fence: many at once", logged)
check("a file by Python, PHP and the shell at once: it never goes back", mixed)
check("a writer that is killed leaves the file whole", killed)
check("fenced-write refuses what is no fence, and takes the one of fencehold run", refusals)
