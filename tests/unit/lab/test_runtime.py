"""A chain of plugins, run: real programs that write down how they were called."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tortie.lab.chain import TRY_LATER, Attachment, PluginFailed
from tortie.lab.runtime import Job, Runtime, attach, detach

POD = Attachment("c" * 64, "/proc/7/fd/1024", "web-1", "default", "u-1")
# Adds its own name to what came before, or fails as it is told.
PLUGIN = """#!/bin/sh
read -r config
name=$(basename "$0")
printf '%s %s %s\\n' "$CNI_COMMAND" "$name" "$config" >>"$CALLS"
if [ -e "$FAILURES/$CNI_COMMAND-$name" ]; then cat "$FAILURES/$CNI_COMMAND-$name"; exit 1; fi
if [ "$CNI_COMMAND" = ADD ]; then printf '{"cniVersion":"1.0.0","ips":[],"last":"%s"}' "$name"; fi
"""


class Node:
    """A node's folder with a chain of plugins."""

    def __init__(self, folder: Path, *types: str, version: str = "1.0.0") -> None:
        self.root = folder
        self._calls = folder / "calls"
        self._failures = folder / "failures"
        self._failures.mkdir()
        programs = folder / "opt/cni/bin"
        programs.mkdir(parents=True)
        self.conflist = folder / "etc/cni/net.d/10-net.conflist"
        self.conflist.parent.mkdir(parents=True)
        self.write_conflist(*types, version=version)
        for kind in types:
            (programs / kind).write_text(PLUGIN)
            (programs / kind).chmod(0o755)

    def write_conflist(self, *types: str, version: str = "1.0.0") -> None:
        plugins = [{"type": kind} for kind in types]
        self.conflist.write_text(json.dumps({"name": "net", "cniVersion": version, "plugins": plugins}))

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": "/usr/bin:/bin", "CALLS": str(self._calls), "FAILURES": str(self._failures)}

    @property
    def runtime(self) -> Runtime:
        return Runtime(str(self.root), self.environment)

    def fail(self, command: str, kind: str, code: int) -> None:
        (self._failures / f"{command}-{kind}").write_text(json.dumps({"code": code, "msg": "sorry"}))

    def heal(self, command: str, kind: str) -> None:
        (self._failures / f"{command}-{kind}").unlink()

    @property
    def calls(self) -> list[tuple[str, str, Any]]:
        """Command, plugin, and who it was told came before it."""
        found = []
        for line in self._calls.read_text().splitlines():
            command, kind, config = line.split(" ", 2)
            previous = json.loads(config).get("prevResult")
            found.append((command, kind, previous["last"] if previous else None))
        return found

    @property
    def results(self) -> list[str]:
        return [path.name for path in (self.root / "var/lib/cni/results").glob("*")]

    def job(self, timeout_s: float = 30) -> Job:
        return Job(POD, str(self.root), time.monotonic() + timeout_s, str(self.root / "outcome"))

    @property
    def outcome(self) -> Any:
        return json.loads((self.root / "outcome").read_text())


def soon() -> float:
    return time.monotonic() + 30


def test_add_goes_down_the_chain_and_del_up_again(tmp_path: Path) -> None:
    node = Node(tmp_path, "one", "two", "three")
    assert node.runtime.add(POD, soon())["last"] == "three"
    assert node.results == [f"net-{'c' * 64}-eth0"]
    node.runtime.delete(POD, soon())
    assert node.calls == [
        ("ADD", "one", None),
        ("ADD", "two", "one"),
        ("ADD", "three", "two"),
        ("DEL", "three", "three"),
        ("DEL", "two", "three"),
        ("DEL", "one", "three"),
    ]
    assert node.results == []


def test_old_versions_are_not_told_at_the_end(tmp_path: Path) -> None:
    node = Node(tmp_path, "one", version="0.3.1")
    node.runtime.add(POD, soon())
    node.runtime.delete(POD, soon())
    assert node.calls[-1] == ("DEL", "one", None)


def test_del_follows_the_configuration_of_add(tmp_path: Path) -> None:
    node = Node(tmp_path, "one", "two")
    node.runtime.add(POD, soon())
    node.write_conflist("one")
    node.runtime.delete(POD, soon())
    assert [call[:2] for call in node.calls][2:] == [("DEL", "two"), ("DEL", "one")]


def test_del_of_what_was_never_added_follows_the_folder(tmp_path: Path) -> None:
    node = Node(tmp_path, "one")
    node.runtime.delete(POD, soon())
    assert node.calls == [("DEL", "one", None)]


def test_half_a_chain_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(tmp_path, "one", "two", "three")
    node.fail("ADD", "two", 7)
    for name, value in node.environment.items():
        monkeypatch.setenv(name, value)
    assert attach(node.job()) == 1
    assert node.outcome == {"plugin": "two", "code": 7, "why": "sorry"}
    assert [call[:2] for call in node.calls] == [
        ("ADD", "one"),
        ("ADD", "two"),
        ("DEL", "three"),
        ("DEL", "two"),
        ("DEL", "one"),
    ]
    assert node.results == []


def test_an_attachment_tells_its_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(tmp_path, "one")
    for name, value in node.environment.items():
        monkeypatch.setenv(name, value)
    assert attach(node.job()) == 0
    assert node.outcome["result"]["last"] == "one"
    assert detach(node.job()) == 0


def test_del_is_tried_again_as_long_as_there_is_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(tmp_path, "one")
    for name, value in node.environment.items():
        monkeypatch.setenv(name, value)
    node.fail("DEL", "one", TRY_LATER)
    assert detach(node.job(timeout_s=0.5)) == 1
    assert node.outcome["code"] == TRY_LATER
    assert len(node.calls) > 1
    node.heal("DEL", "one")
    assert detach(node.job()) == 0


def test_a_plugin_that_is_not_there_or_hangs_is_named(tmp_path: Path) -> None:
    node = Node(tmp_path, "one")
    node.write_conflist("other")
    with pytest.raises(PluginFailed, match="other"):
        node.runtime.add(POD, soon())
    node.write_conflist("one")
    (tmp_path / "opt/cni/bin/one").write_text("#!/bin/sh\nexec sleep 60\n")
    with pytest.raises(PluginFailed) as failure:
        node.runtime.add(POD, time.monotonic() + 0.3)
    assert failure.value.number == TRY_LATER
