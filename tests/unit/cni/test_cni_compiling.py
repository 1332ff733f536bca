"""The plugin's program in a package: compiled where there is a compiler, left out where there is none."""

from __future__ import annotations

import importlib.util
import os
import struct
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from tortie.cni.shim import shim

ROOT = Path(__file__).parent.parent.parent.parent
SOURCES = [ROOT / "src/tortie/cni/shim.c", ROOT / "src/tortie/cni/loopback.c"]
PROGRAM = f"shim-{os.uname().machine}"


_INTERPRETER = 3  # the kind of segment that names the loader of shared libraries


def segments(program: bytes) -> list[int]:
    """The kinds of them, of a program of 64 bits."""
    begin, size, count = *struct.unpack_from("<Q", program, 32), *struct.unpack_from("<HH", program, 54)
    return [struct.unpack_from("<I", program, begin + index * size)[0] for index in range(count)]


class Machine(NamedTuple):
    machine: str


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "scripts/hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_is_compiled_without_a_warning_and_needs_no_library(
    hook: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook, "_FLAGS", (*hook._FLAGS, "-Werror"))
    assert hook.compile_shim(SOURCES, tmp_path) == ""
    program = (tmp_path / PROGRAM).read_bytes()
    assert program.startswith(b"\x7fELF")
    assert _INTERPRETER not in segments(program)
    assert [path.name for path in tmp_path.iterdir()] == [PROGRAM]


def test_without_a_compiler_or_with_one_that_fails_there_is_none(
    hook: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken.c"
    broken.write_text("int main(void) { return")
    (tmp_path / PROGRAM).write_text("of an older source")
    assert "expected" in hook.compile_shim([broken], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["broken.c"]
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CC", raising=False)
    assert "no C compiler" in hook.compile_shim(SOURCES, tmp_path)
    monkeypatch.setenv("CC", "/bin/false")
    assert "/bin/false failed" in hook.compile_shim(SOURCES, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["broken.c"]


def test_a_machine_that_the_package_has_no_program_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "uname", lambda: Machine("pdp11"))
    made = shim("/run/tortie/cni.sock", "/var/lib/tortie/cni", "/usr/bin/python3")
    assert (made.form, made.content[:18]) == ("python", b"#!/usr/bin/python3")
    assert made.why.endswith("not for pdp11")
