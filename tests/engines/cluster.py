"""Real engines for tests: clusters on free ports of loopback, in temporary folders, stopped by their pids."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

READY = 60.0
ZOOKEEPER_JAR = "/usr/share/java/zookeeper.jar"


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def wait_for(what: str, ready: Callable[[], bool], limit: float = READY) -> None:
    end = time.monotonic() + limit
    while not ready():
        if time.monotonic() > end:
            raise AssertionError(f"waited {limit:.0f} s for {what}")
        time.sleep(0.05)


class Node:
    """One server process."""

    def __init__(self, command: list[str], folder: Path, environment: dict[str, str]) -> None:
        self.command = command
        self.folder = folder
        self.environment = {**os.environ, **environment}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                self.command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def signal(self, number: int) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    def stop(self) -> None:
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGKILL)
        if self.process is not None:
            self.process.wait()
            self.process = None


class Cluster:
    """Some servers that make up one engine."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="engine-"))
        self.nodes: list[Node] = []
        self.places: list[str] = []

    def is_ready(self, place: str) -> bool:
        raise NotImplementedError

    def start(self) -> None:
        for node in self.nodes:
            node.start()
        self.wait()

    def wait(self) -> None:
        for place in self.places:
            wait_for(f"{type(self).__name__} at {place}", lambda place=place: self.is_ready(place))

    def stop(self) -> None:
        for node in self.nodes:
            node.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class Etcd(Cluster):
    def __init__(self, count: int = 3) -> None:
        super().__init__()
        ports = free_ports(2 * count)
        peers = [f"http://127.0.0.1:{port}" for port in ports[count:]]
        cluster = ",".join(f"n{at}={peer}" for at, peer in enumerate(peers))
        for at in range(count):
            folder = self.folder / f"n{at}"
            folder.mkdir()
            client = f"http://127.0.0.1:{ports[at]}"
            command = ["etcd", "--name", f"n{at}", "--data-dir", "data", "--initial-cluster", cluster]
            command += ["--listen-client-urls", client, "--advertise-client-urls", client]
            command += ["--listen-peer-urls", peers[at], "--initial-advertise-peer-urls", peers[at]]
            command += ["--heartbeat-interval", "50", "--election-timeout", "500"]
            self.nodes.append(Node(command, folder, {}))
            self.places.append(f"127.0.0.1:{ports[at]}")

    @property
    def url(self) -> str:
        return "etcd://" + ",".join(self.places)

    def control(
        self, *arguments: str, timeout: float = 30, place: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        endpoints = place or ",".join(self.places)
        return subprocess.run(
            ["etcdctl", "--endpoints", endpoints, *arguments],
            env={**os.environ, "ETCDCTL_API": "3"},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def is_ready(self, place: str) -> bool:
        return self.control("endpoint", "health", place=place).returncode == 0

    def leader(self) -> int:
        for at, place in enumerate(self.places):
            said = self.control("endpoint", "status", place=place).stdout.split(", ")
            if len(said) > 4 and said[4] == "true":
                return at
        raise AssertionError("no leader")


class PostgresNode(Node):
    """A server of PostgreSQL, which refuses to run as root."""

    def start(self) -> None:
        user = "postgres" if os.getuid() == 0 else None
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                self.command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, user=user, group=user
            )

    def stop(self) -> None:
        """Ends it at once; its children, which a kill would leave behind, end with it."""
        self.signal(signal.SIGQUIT)
        if self.process is not None:
            self.process.wait()
            self.process = None


class Postgres(Cluster):
    """One server, with passwords and TLS."""

    PASSWORD = "p@ss word"

    def __init__(self) -> None:
        super().__init__()
        (self.port,) = free_ports(1)
        self.places.append(f"127.0.0.1:{self.port}")
        self.binaries = max(Path("/usr/lib/postgresql").glob("*/bin"))
        data, password = self.folder / "data", self.folder / "password"
        password.write_text(self.PASSWORD + "\n")
        settings = ["[req]", "distinguished_name = dn", "x509_extensions = ext", "[dn]", "[ext]"]
        settings += ["subjectAltName = DNS:localhost", "basicConstraints = CA:FALSE"]
        (self.folder / "openssl.cnf").write_text("\n".join(settings) + "\n")
        certificate = [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-config",
            "openssl.cnf",
        ]
        certificate += ["-subj", "/CN=localhost", "-keyout", "key.pem", "-out", "cert.pem"]
        subprocess.run(certificate, cwd=self.folder, check=True, capture_output=True)
        user = None
        if os.getuid() == 0:
            user = "postgres"
            for path in [self.folder, *self.folder.iterdir()]:
                shutil.chown(path, user, user)
        init = [self.binaries / "initdb", "-D", data, "-A", "scram-sha-256", "-U", "postgres", f"--pwfile={password}"]
        init += ["-E", "UTF8", "--no-locale", "--no-sync"]
        subprocess.run(init, cwd=self.folder, check=True, capture_output=True, user=user, group=user)
        with open(data / "postgresql.conf", "a") as configuration:
            configuration.write("ssl = on\n")
        # What is killed here is processes, never the machine.
        settings = ["fsync=off", "listen_addresses=localhost", f"port={self.port}", "max_connections=60"]
        settings += [f"unix_socket_directories={self.folder}"]
        settings += [f"ssl_cert_file={self.folder}/cert.pem", f"ssl_key_file={self.folder}/key.pem"]
        command = [str(self.binaries / "postgres"), "-D", str(data)]
        self.nodes.append(PostgresNode(command + [part for one in settings for part in ("-c", one)], self.folder, {}))

    @property
    def url(self) -> str:
        return f"postgres://postgres:p%40ss%20word@127.0.0.1:{self.port}/postgres"

    def is_ready(self, place: str) -> bool:
        host, port = place.split(":")
        command = [self.binaries / "pg_isready", "-q", "-h", host, "-p", port]
        return subprocess.run(command, check=False).returncode == 0


class ZooKeeper(Cluster):
    def __init__(self, count: int = 3) -> None:
        super().__init__()
        ports = free_ports(3 * count)
        servers = [
            f"server.{at}=127.0.0.1:{ports[count + at]}:{ports[2 * count + at]};127.0.0.1:{ports[at]}"
            for at in range(count)
        ]
        for at in range(count):
            folder = self.folder / f"n{at}"
            (folder / "data").mkdir(parents=True)
            (folder / "data" / "myid").write_text(f"{at}\n")
            lines = ["tickTime=500", "initLimit=20", "syncLimit=10", "dataDir=data", "maxClientCnxns=0"]
            lines += ["admin.enableServer=false", "4lw.commands.whitelist=*", "maxSessionTimeout=60000", "forceSync=no"]
            (folder / "zoo.cfg").write_text("\n".join(lines + servers) + "\n")
            command = ["java", "-Xmx128m", "-Dzookeeper.admin.enableServer=false"]
            command += ["-cp", f"/etc/zookeeper/conf_example:{ZOOKEEPER_JAR}"]
            command += ["org.apache.zookeeper.server.quorum.QuorumPeerMain", "zoo.cfg"]
            self.nodes.append(Node(command, folder, {}))
            self.places.append(f"127.0.0.1:{ports[at]}")

    @property
    def hosts(self) -> str:
        return ",".join(self.places)

    @property
    def url(self) -> str:
        return f"zookeeper://{self.hosts}/locks"

    def ask(self, place: str, word: bytes) -> str:
        host, port = place.rsplit(":", 1)
        try:
            with socket.create_connection((host, int(port)), timeout=2) as connection:
                connection.sendall(word)
                return connection.makefile().read()
        except OSError:
            return ""

    def is_ready(self, place: str) -> bool:
        return "Mode: " in self.ask(place, b"srvr")

    def leader(self) -> int:
        for at, place in enumerate(self.places):
            if "Mode: leader" in self.ask(place, b"srvr"):
                return at
        raise AssertionError("no leader")
