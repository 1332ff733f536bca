"""The `tortie` command as its users run it, with a datastore of its own and nothing of our environment."""

from __future__ import annotations

import asyncio
import io
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from unittest import mock

import yaml

from tortie.cli.main import main
from tortie.store.contract import Delete, Operation, Put, Store
from tortie.store.embedded import EmbeddedStore
from tortie.store.etcd import EtcdConfig, EtcdStore

COMMAND = Path(sys.executable).with_name("tortie")
_DEADLINE_S = 60.0

Result = TypeVar("Result")


class Ran(NamedTuple):
    """What a user notices of one command."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)

    @property
    def yaml(self) -> Any:
        return yaml.safe_load(self.stdout)


class Tortie:
    """One user's shell: a home, a current folder, and variables that name a datastore."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.folder = folder
        self.store = folder / "store.db"
        self.variables = variables or {"TORTIE_STORE": str(self.store)}

    def __call__(self, *words: str, stdin: str | bytes = b"") -> Ran:
        """In this process, for speed. Output is what the command itself would have written, to the byte."""
        out, err = _stream(), _stream()
        with (
            mock.patch.dict(os.environ, self.environment, clear=True),
            mock.patch.object(sys, "stdin", _stream(_as_bytes(stdin))),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            code = main(words)
        return Ran(code, _written(out), _written(err))

    def run(self, *words: str, stdin: str | bytes = b"", **variables: str) -> Ran:
        """In a process of its own."""
        done = subprocess.run(
            [str(COMMAND), *words],
            input=_as_bytes(stdin),
            capture_output=True,
            env=self.environment | variables,
            cwd=self.folder,
            timeout=_DEADLINE_S,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(self, *words: str, **options: Any) -> subprocess.Popen[bytes]:
        """A process that the caller talks to and ends."""
        return subprocess.Popen([str(COMMAND), *words], env=self.environment, cwd=self.folder, **options)

    def shell(self, script: str) -> Ran:
        """A line as people type it; `tortie` and `kubectl-tortie` are found by name."""
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", script],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=self.environment,
            cwd=self.folder,
            timeout=_DEADLINE_S,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    @property
    def environment(self) -> dict[str, str]:
        path = os.pathsep.join((str(COMMAND.parent), "/usr/bin", "/bin", "/usr/sbin", "/sbin"))
        return {"PATH": path, "HOME": str(self.folder), "LANG": "C.UTF-8", "TORTIE_CONFIG": "", **self.variables}

    def file(self, name: str, *documents: Any) -> str:
        """A file of the user's, from text, bytes, or documents that become YAML; returns its path."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if len(documents) == 1 and isinstance(documents[0], str | bytes):
            path.write_bytes(_as_bytes(documents[0]))
        else:
            path.write_text(yaml.safe_dump_all(documents, sort_keys=False))
        return str(path)

    def with_store(self, work: Callable[[Store], Awaitable[Result]]) -> Result:
        """Straight at the datastore, as another program that shares it would be."""

        async def session() -> Result:
            store = self._open()
            try:
                return await work(store)
            finally:
                await store.close()

        return asyncio.run(session())

    def put(self, key: str, value: bytes | dict[str, Any]) -> None:
        raw = value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()
        self.with_store(lambda store: store.commit([Put(key, raw)]))

    def entries(self, prefix: str = "/calico/") -> dict[str, bytes]:
        listing = self.with_store(lambda store: store.scan(prefix))
        return {entry.key: entry.value for entry in listing.entries}

    def clear(self) -> None:
        operations: list[Operation] = [Delete(key) for key in self.entries()]
        for start in range(0, len(operations), 100):
            batch = operations[start : start + 100]
            self.with_store(lambda store, batch=batch: store.commit(batch))  # type: ignore[misc]

    def _open(self) -> Store:
        if endpoint := self.variables.get("ETCD_ENDPOINTS"):
            return EtcdStore(EtcdConfig(endpoints=(endpoint,)))
        return EmbeddedStore(self.variables["TORTIE_STORE"])


def _as_bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def _stream(content: bytes = b"") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="", write_through=True)


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()


def resource(kind: str, name: str, spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "projectcalico.org/v3",
        "kind": kind,
        "metadata": {"name": name, **metadata},
        "spec": spec,
    }


def pool(name: str, cidr: str, **spec: Any) -> dict[str, Any]:
    return resource("IPPool", name, {"cidr": cidr, **spec})


def node(name: str, address: str = "10.0.0.1/24") -> dict[str, Any]:
    return resource("Node", name, {"bgp": {"ipv4Address": address}})


def key_of(plural: str, name: str) -> str:
    return f"/calico/resources/v3/projectcalico.org/{plural}/{name}"


def assert_three_lines(ran: Ran, code: int) -> None:
    """What, why and fix on standard error, nothing on standard output, and the exit code."""
    labels = [line.split(":")[0].strip() for line in ran.stderr.splitlines() if not line.startswith("      ")]
    assert (ran.code, ran.stdout, labels) == (code, "", ["Error", "why", "fix"]), ran
