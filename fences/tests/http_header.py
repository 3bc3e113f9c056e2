"""The header `Fence` behind real servers. usage: http_header.py FOLDER"""

import http.client
import itertools
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time

from crowd import check, crowd, one_by_one

HERE = pathlib.Path(__file__).parent
folder = pathlib.Path(sys.argv[1])


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Site:
    """Processes of one program that share the fences and the log."""

    def __init__(self, what, count, *command, **environment):
        self.what = what
        self.folder = folder / what
        self.folder.mkdir()
        self.log = self.folder / "log"
        (self.folder / "fences").mkdir()
        self.environment = dict(
            os.environ, FENCES_FOLDER=str(self.folder / "fences"), FENCES_LOG=str(self.log), **environment
        )
        self.command = command
        self.ports = [free_port() for _ in range(count)]
        self.start()

    def start(self):
        with open(self.folder / "said", "a") as said:
            # In a group of its own: the server of PHP leaves its workers behind.
            self.processes = [
                subprocess.Popen(
                    [part.format(port=port) for part in self.command],
                    env=self.environment,
                    stdout=said,
                    stderr=said,
                    start_new_session=True,
                )
                for port in self.ports
            ]
        for port in self.ports:
            for _ in range(600):
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    time.sleep(0.05)
            else:
                raise AssertionError(f"{self.what} does not listen: {(self.folder / 'said').read_text()}")

    def stop(self):
        for process in self.processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def ask(self, method, path, fence, port=None):
        connection = http.client.HTTPConnection("127.0.0.1", port or self.ports[0], timeout=60)
        connection.request(
            method, path, body=b"x" if method == "POST" else None, headers={"Fence": fence} if fence is not None else {}
        )
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body

    def writer(self, path):
        turn = itertools.cycle(self.ports)
        lock = threading.Lock()

        def write(fence):
            with lock:
                port = next(turn)
            status, body = self.ask("POST", path, str(fence), port)
            assert status in (200, 412), (status, body)
            if status == 412:
                found = json.loads(body)
                assert found["error"] == "stale_fence" and int(found["highest"]) > fence, found
            return status == 200

        return lambda: write

    def answers(self):
        assert self.ask("POST", "/reports/x", None)[0] == 428
        for fence in ("", "0", "-1", "x", "1.5", "07", str(2**63), "9" * 400):
            assert self.ask("POST", "/reports/x", fence)[0] == 400, fence
        assert self.ask("GET", "/reports/x", None) == (200, b"done")
        assert self.ask("POST", "/other", None) == (200, b"done")
        assert not self.log.exists()

    def many(self):
        self.log.unlink(missing_ok=True)
        crowd(self.writer("/reports/many"), lambda: [int(line) for line in self.log.read_text().split()])

    def remembers(self):
        write = self.writer("/reports/kept")()
        assert write(50)
        self.stop()
        self.start()
        assert not write(49) and write(50) and write(51)
        assert self.writer("/reports/another")()(1), "another resource has a fence of its own"


program = str(HERE / "apps.py")
SITES = [
    Site("wsgi", 2, sys.executable, program, "wsgi", "{port}"),
    Site("asgi", 2, sys.executable, program, "asgi", "{port}"),
    Site("php", 1, "php", "-S", "127.0.0.1:{port}", str(HERE / "app.php"), PHP_CLI_SERVER_WORKERS="4"),
    Site("node", 1, "node", str(HERE / "app.mjs"), "{port}"),
]
try:
    for site in SITES:
        check(f"{site.what}: without a fence 428, with none that is one 400, reading needs none", site.answers)
        check(
            f"{site.what}: higher and equal lands, lower is 412",
            lambda site=site: one_by_one(site.writer("/reports/rule")()),
        )
        check(f"{site.what}: many at once", site.many)
        check(f"{site.what}: it remembers over a restart", site.remembers)
finally:
    for site in SITES:
        site.stop()
