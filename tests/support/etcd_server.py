"""Real etcd for the tests: one member or several, on free loopback ports, gone without a trace afterwards."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

_START_S = 60.0
_READY = b"ready to serve client requests"
_PORT_TAKEN = b"address already in use"


class ServerTls(NamedTuple):
    """What etcd needs to speak TLS; with `client_ca` it asks every client for a certificate."""

    cert: Path
    key: Path
    client_ca: Path | None = None


class EtcdServer:
    """One member. It can be stopped, started again on the same data, paused and resumed."""

    def __init__(
        self,
        folder: Path,
        name: str = "one",
        *,
        tls: ServerTls | None = None,
        arguments: Sequence[str] = (),
        heartbeat_ms: int = 10,
        election_ms: int = 100,
    ) -> None:
        self.name = name
        self.port, self.peer_port = free_port(), free_port()
        self.tls = tls
        self.initial_cluster = f"{name}={self.peer_url}"
        self._arguments = [
            f"--heartbeat-interval={heartbeat_ms}",
            f"--election-timeout={election_ms}",
            *arguments,
        ]
        self._data = folder / name
        self._log = folder / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    @property
    def peer_url(self) -> str:
        return f"http://127.0.0.1:{self.peer_port}"

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        if self._process is None:
            raise AssertionError(f"etcd {self.name} is not running")
        return self._process.pid

    def start(self, *, wait: bool = True) -> None:
        command = [
            *_dies_with_us(),
            _tool("etcd"),
            f"--name={self.name}",
            f"--data-dir={self._data}",
            f"--listen-client-urls={self.endpoint}",
            f"--advertise-client-urls={self.endpoint}",
            f"--listen-peer-urls={self.peer_url}",
            f"--initial-advertise-peer-urls={self.peer_url}",
            f"--initial-cluster={self.initial_cluster}",
            *self._arguments,
        ]
        if self.tls:
            command += [f"--cert-file={self.tls.cert}", f"--key-file={self.tls.key}"]
            if self.tls.client_ca:
                command += [f"--trusted-ca-file={self.tls.client_ca}", "--client-cert-auth"]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ETCD")}
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
        if wait:
            self.wait_until_ready()

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + _START_S
        while _READY not in self._log.read_bytes():
            if not self.running or time.monotonic() > deadline:
                self.stop()
                raise EtcdDidNotStart(self.name, self._log.read_bytes())
            time.sleep(0.005)

    def stop(self) -> None:
        """kill -9: what a power cut looks like from outside."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def pause(self) -> None:
        """The machine hangs: its kernel still takes connections, nobody answers."""
        os.kill(self.pid, signal.SIGSTOP)
        deadline = time.monotonic() + _START_S
        while not all(_state(thread) == "T" for thread in Path(f"/proc/{self.pid}/task").iterdir()):
            if time.monotonic() > deadline:
                raise AssertionError(f"etcd {self.name} does not stop")
            time.sleep(0.001)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def etcdctl(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """What etcd's own client says, independently of ours."""
        # Its own patience, of a few seconds, is too short for a busy machine.
        patience = [f"--dial-timeout={_START_S:.0f}s", f"--command-timeout={_START_S:.0f}s"]
        command = [_tool("etcdctl"), f"--endpoints={self.endpoint}", *patience, *arguments]
        environment = os.environ | {"ETCDCTL_API": "3"}
        done = subprocess.run(
            command, input=stdin, capture_output=True, env=environment, timeout=2 * _START_S, check=False
        )
        if done.returncode:
            raise AssertionError(f"etcdctl {' '.join(arguments)}: {done.stderr.decode()}")
        return done.stdout

    def enable_auth(self, root_password: str) -> None:
        self.etcdctl("user", "add", f"root:{root_password}")
        self.etcdctl("user", "grant-role", "root", "root")
        self.etcdctl("auth", "enable")


class EtcdCluster:
    """Several members; as long as most of them run, so does the cluster."""

    def __init__(self, members: list[EtcdServer]) -> None:
        self.members = members

    @property
    def endpoints(self) -> tuple[str, ...]:
        return tuple(member.endpoint for member in self.members)

    def leader(self) -> EtcdServer:
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            for member in self.members:
                if member.running and _leads(member):
                    return member
            time.sleep(0.01)
        raise AssertionError("the etcd cluster has no leader")

    def kill(self, member: EtcdServer) -> None:
        member.stop()


class EtcdDidNotStart(AssertionError):
    def __init__(self, name: str, log: bytes) -> None:
        self.port_taken = _PORT_TAKEN in log
        super().__init__(f"etcd {name} did not start; the end of its log:\n{log[-3000:].decode(errors='replace')}")


@contextmanager
def running_etcd(
    *,
    tls: ServerTls | None = None,
    root_password: str | None = None,
    arguments: Sequence[str] = (),
) -> Iterator[EtcdServer]:
    """One member, ready. With `root_password` it asks for users and passwords."""
    with running_cluster(members=1, tls=tls, arguments=arguments) as cluster:
        (server,) = cluster.members
        if root_password is not None:
            server.enable_auth(root_password)
        yield server


@contextmanager
def running_cluster(
    members: int = 3, *, tls: ServerTls | None = None, arguments: Sequence[str] = ()
) -> Iterator[EtcdCluster]:
    with tempfile.TemporaryDirectory(prefix="tortie-etcd-", dir=_fast_storage(), ignore_cleanup_errors=True) as name:
        cluster = _started_cluster(Path(name), members, tls, arguments)
        try:
            yield cluster
        finally:
            for member in cluster.members:
                member.stop()


def _started_cluster(folder: Path, members: int, tls: ServerTls | None, arguments: Sequence[str]) -> EtcdCluster:
    # Several members on few cores lose their leader all the time with the timers that suit a single one.
    heartbeat_ms, election_ms = (10, 100) if members == 1 else (50, 300)
    attempts = 5
    for attempt in range(attempts):
        servers = [
            EtcdServer(
                folder,
                f"member{number}-{attempt}",
                tls=tls,
                arguments=arguments,
                heartbeat_ms=heartbeat_ms,
                election_ms=election_ms,
            )
            for number in range(1, members + 1)
        ]
        for server in servers:
            server.initial_cluster = ",".join(f"{peer.name}={peer.peer_url}" for peer in servers)
        try:
            for server in servers:
                server.start(wait=False)
            for server in servers:
                server.wait_until_ready()
        except BaseException as error:
            for server in servers:
                server.stop()
            # Between finding a free port and etcd's taking it, another process may have been faster.
            if isinstance(error, EtcdDidNotStart) and error.port_taken and attempt < attempts - 1:
                continue
            raise
        return EtcdCluster(servers)
    raise AssertionError("unreachable")


def free_port() -> int:
    """Below those that the kernel gives to outgoing connections: one of these could take it while its server is down.

    That need not even be somebody else's: a client that tries again and again may be given the port as its own.
    """
    lowest, above = 10_000, int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for _ in range(1000 if above > lowest else 0):
        port = lowest + secrets.randbelow(above - lowest)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _state(thread: Path) -> str:
    # The name before it, in brackets, may hold anything.
    return (thread / "stat").read_text().rpartition(")")[2].split()[0]


def _leads(member: EtcdServer) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", member.port, timeout=2)
    try:
        connection.request("POST", "/v3/maintenance/status", b"{}")
        status = json.loads(connection.getresponse().read())
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        connection.close()
    leader: str = status.get("leader", "")
    return leader != "" and leader == status["header"]["member_id"]


def _tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise AssertionError(f"{name} is not installed: run `make setup`, or `apt-get install etcd-server etcd-client`")
    return found


def _dies_with_us() -> list[str]:
    """A killed test run must not leave servers behind."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL"] if setpriv else []


def _fast_storage() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
