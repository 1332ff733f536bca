"""The standard plugins that an installation brings along: copied, kept up to date, taken back; others' stay."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import Ran, Tortie
from tests.support.runtime import DEBIAN

CARRIED = ("loopback", "host-local", "portmap", "bandwidth", "tuning")
RECORD = ".tortie-cni.json"


class Machine:
    """A root folder, and one with the standard plugins of a distribution."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.bin = self.root / "opt/cni/bin"
        self.distribution = self.root / "usr/lib/cni"
        self.shell = Tortie(folder)

    def run(self, verb: str, *words: str, **variables: str) -> Ran:
        self.shell.variables = variables or {"TORTIE_STORE": "/nowhere"}
        return self.shell("cni", verb, "--root", str(self.root), "-o", "json", *words)

    def states(self, verb: str, *words: str, **variables: str) -> dict[str, str]:
        files = self.run(verb, *words, **variables).json["files"]
        return {os.path.basename(file["path"]): file["state"] for file in files}

    def package(self, *names: str, release: int = 1, versions: tuple[str, ...] = ("1.0.0",), folder: str = "") -> None:
        """Plugins that tell which versions they speak."""
        place = self.root / folder if folder else self.distribution
        place.mkdir(parents=True, exist_ok=True)
        for name in names:
            told = json.dumps({"cniVersion": versions[-1], "supportedVersions": versions})
            (place / name).write_text(f"#!/bin/sh\n# release {release}\necho '{told}'\n")
            (place / name).chmod(0o755)

    def configuration(self) -> Any:
        return json.loads((self.root / "etc/cni/net.d/10-calico.conflist").read_text())

    @property
    def there(self) -> set[str]:
        return {path.name for path in self.bin.iterdir()}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_what_the_machine_has_is_brought_and_only_that_is_taken_back(machine: Machine) -> None:
    machine.package(*CARRIED, "ptp")
    machine.package("bridge", folder="opt/cni/bin")
    ran = machine.run("install")
    assert ran.code == 0
    told = {os.path.basename(file["path"]): file for file in ran.json["files"]}
    assert {told[name]["state"] for name in (*CARRIED, RECORD)} == {"created"}
    assert told["tuning"]["origin"] == f"copy of {machine.distribution}/tuning"
    for name in CARRIED:
        assert (machine.bin / name).read_bytes() == (machine.distribution / name).read_bytes()
        assert (machine.bin / name).stat().st_mode & 0o777 == 0o755
    assert [plugin["type"] for plugin in machine.configuration()["plugins"]] == ["calico", "portmap", "bandwidth"]
    assert set(machine.states("install").values()) == {"unchanged"}
    removed = machine.states("uninstall")
    assert {removed[name] for name in (*CARRIED, RECORD)} == {"removed"}
    assert machine.there == {"bridge"}
    assert set(CARRIED) <= {path.name for path in machine.distribution.iterdir()}


def test_what_was_brought_follows_the_machines_packages(machine: Machine) -> None:
    machine.package(*CARRIED)
    machine.run("install")
    machine.package("portmap", release=2)
    assert machine.states("install", UPDATE_CNI_BINARIES="false")["portmap"] == "skipped"
    states = machine.states("install")
    assert (states["portmap"], states["tuning"], states[RECORD]) == ("updated", "unchanged", "updated")
    assert "release 2" in (machine.bin / "portmap").read_text()
    (machine.distribution / "tuning").unlink()
    machine.run("install")
    assert "tuning" in machine.there  # the package is gone, and what it was copied for is perhaps not
    assert machine.states("uninstall")["tuning"] == "removed"


def test_what_somebody_else_put_there_stays_whatever_its_age(machine: Machine) -> None:
    machine.package(*CARRIED)
    machine.package("loopback", "portmap", release=9, folder="opt/cni/bin")
    ran = machine.run("install", UPDATE_CNI_BINARIES="true")
    told = {os.path.basename(file["path"]): file for file in ran.json["files"]}
    assert (told["portmap"]["state"], told["portmap"]["why"]) == ("unchanged", "it is not from Tortie, and stays")
    machine.package("host-local", "tuning", release=9, folder="opt/cni/bin")
    assert machine.states("uninstall", "--dry-run")["tuning"] == "skipped"
    assert machine.states("install")["tuning"] == "unchanged"
    machine.run("uninstall")
    assert machine.there == {"loopback", "portmap", "host-local", "tuning"}
    assert all("release 9" in (machine.bin / name).read_text() for name in machine.there)


def test_what_is_left_out(machine: Machine) -> None:
    machine.package(*CARRIED)
    states = machine.states("install", SKIP_CNI_BINARIES="bandwidth,tuning,loopback")
    assert {states[name] for name in ("bandwidth", "tuning", "loopback")} == {"skipped"}
    assert not machine.there & {"bandwidth", "tuning", "loopback"}
    assert [plugin["type"] for plugin in machine.configuration()["plugins"]] == ["calico", "portmap"]


def test_a_machine_without_any_gets_a_loopback_of_ours_until_it_has_one(machine: Machine) -> None:
    machine.run("install")
    assert machine.there == {"tortie", "calico", "calico-ipam", "loopback"}
    machine.package("loopback")
    assert machine.states("install")["loopback"] == "updated"
    assert (machine.bin / "loopback").read_bytes() == (machine.distribution / "loopback").read_bytes()
    (machine.distribution / "loopback").unlink()
    # Nobody may take it for somebody else's: it is what was brought, and ours takes its place.
    assert machine.states("install")["loopback"] == "updated"
    assert RECORD not in machine.there
    machine.run("uninstall")
    assert machine.there == set()


def test_a_folder_of_the_callers_choice(machine: Machine, tmp_path: Path) -> None:
    machine.package(*CARRIED, release=3, folder="unpacked")
    machine.package(*CARRIED)
    machine.run(
        "install", "--plugins-from", str(tmp_path / "nothing"), "--plugins-from", str(machine.root / "unpacked")
    )
    assert "release 3" in (machine.bin / "tuning").read_text()


def test_the_folder_of_the_distribution_itself(machine: Machine) -> None:
    machine.package(*CARRIED)
    words = ("--bin-dir", "/usr/lib/cni")
    assert not set(machine.states("install", *words)) & {*CARRIED, RECORD}
    machine.run("uninstall", *words)
    assert {path.name for path in machine.distribution.iterdir()} == set(CARRIED)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"plugins": 5}', '{"plugins": {"portmap": 5}}', "[" * 100_000])
def test_a_record_that_makes_no_sense_gives_no_right_to_anything(machine: Machine, text: str) -> None:
    machine.package(*CARRIED)
    machine.package("portmap", release=9, folder="opt/cni/bin")
    (machine.bin / RECORD).write_text(text)
    assert machine.run("install").code == 0
    machine.run("uninstall")
    assert machine.there == {"portmap"}


def test_a_loopback_that_cannot_be_run_is_told(machine: Machine) -> None:
    machine.package("loopback", folder="opt/cni/bin")
    (machine.bin / "loopback").chmod(0o644)
    ran = machine.run("install")
    assert ran.code == 4
    (warning,) = ran.json["warnings"]
    assert warning["what"] == f"{machine.bin}/loopback cannot be run"
    assert "every pod" in warning["why"]


@pytest.mark.parametrize(
    ("spoken", "version", "versions"),
    [
        (("0.3.1", "0.4.0"), "0.4.0", None),  # before release 1.0 of the plugins
        (("0.3.1", "0.4.0", "1.0.0"), "1.0.0", None),
        (("0.4.0", "1.0.0", "1.1.0"), "1.0.0", ["1.0.0", "1.1.0"]),
    ],
)
def test_the_configuration_is_of_a_version_that_all_of_the_chain_speak(
    machine: Machine, spoken: tuple[str, ...], version: str, versions: list[str] | None
) -> None:
    machine.package("portmap", versions=spoken)
    machine.package("bandwidth", versions=("0.3.1", "0.4.0", "1.0.0", "1.1.0"))
    machine.run("install")
    written = machine.configuration()
    assert (written["cniVersion"], written.get("cniVersions")) == (version, versions)


def test_with_nothing_chained_it_is_of_all_that_we_speak(machine: Machine) -> None:
    machine.run("install")
    assert machine.configuration()["cniVersions"] == ["1.0.0", "1.1.0"]


def test_the_real_ones_run_from_where_they_were_brought(machine: Machine) -> None:
    machine.run("install", "--plugins-from", DEBIAN)
    for name in CARRIED:
        asked = {"CNI_COMMAND": "VERSION"}
        done = subprocess.run(
            [machine.bin / name],
            env=asked,
            input=b'{"cniVersion":"1.0.0"}',
            capture_output=True,
            check=True,
            timeout=60,
        )
        assert machine.configuration()["cniVersion"] in json.loads(done.stdout)["supportedVersions"]


def test_what_runs_the_plugin_is_told_and_may_be_chosen(machine: Machine) -> None:
    told = {os.path.basename(file["path"]): file.get("origin") for file in machine.run("install").json["files"]}
    assert (told["calico"], told["loopback"]) == ("compiled", "Tortie's own"), "`make setup` builds it"
    assert (machine.bin / "calico").read_bytes().startswith(b"\x7fELF")
    files = machine.run("install", "--python", "/usr/bin/python3").json["files"]
    told = {os.path.basename(file["path"]): file.get("origin") for file in files}
    assert told["calico"] == "in Python: Python was asked for"
    assert (machine.bin / "calico").read_bytes().startswith(b"#!/usr/bin/python3 ")
    machine.run("uninstall")
    assert machine.there == set()
