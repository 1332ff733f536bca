"""Files of a machine: written and put back, with everything that grew out of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from tortie.lab.failures import LabFailure, in_words
from tortie.lab.faults.deeds import WriteFile
from tortie.lab.faults.doing_files import WriteDoer
from tortie.lab.faults.hands import Hands

DEED = WriteFile("node-1", "/var/lib/cni/networks/k8s-pod-network/10.88.0.5", "c0ffee\r\neth0")


class _Here:
    """The machine is a folder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def path(self, _machine: str, path: str) -> str:
        return f"{self._root}{path}"

    def inside(self, _machine: str, work: Callable[[], Any]) -> Any:
        return work()


def _written(root: Path) -> tuple[Hands, WriteDoer, dict[str, Any]]:
    hands, doer = cast(Hands, _Here(root)), WriteDoer()
    memo = doer.look(hands, "tag", DEED)
    doer.do(hands, "tag", DEED, memo)
    return hands, doer, memo


def _tree(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


def test_undo_takes_the_folders_with_it(tmp_path: Path) -> None:
    hands, doer, memo = _written(tmp_path)
    (left,) = doer.undone(hands, "tag", DEED, memo)
    assert in_words("en", left) == f"node-1: {DEED.path} is still there"
    assert in_words("zh", left) == f"node-1：{DEED.path} 仍然存在"
    doer.undo(hands, "tag", DEED, memo)
    assert doer.undone(hands, "tag", DEED, memo) == []
    assert _tree(tmp_path) == []


def test_a_folder_that_a_program_moved_aside_is_found_and_removed(tmp_path: Path) -> None:
    """As a migration does with what it has taken over."""
    hands, doer, memo = _written(tmp_path)
    folder = os.path.dirname(f"{tmp_path}{DEED.path}")
    os.rename(folder, f"{folder}.migrated")
    (left,) = doer.undone(hands, "tag", DEED, memo)
    assert in_words("en", left) == f"node-1: {DEED.path} was moved, and lies in {folder}.migrated"
    doer.undo(hands, "tag", DEED, memo)
    assert doer.undone(hands, "tag", DEED, memo) == []
    assert _tree(tmp_path) == []


def test_what_lay_beside_it_before_stays(tmp_path: Path) -> None:
    older = tmp_path / "var/lib/cni/networks/k8s-pod-network.migrated"
    older.mkdir(parents=True)
    before = _tree(tmp_path)
    hands, doer, memo = _written(tmp_path)
    doer.undo(hands, "tag", DEED, memo)
    assert doer.undone(hands, "tag", DEED, memo) == []
    assert _tree(tmp_path) == before


def test_a_folder_in_its_place_is_refused_in_either_language(tmp_path: Path) -> None:
    os.makedirs(f"{tmp_path}{DEED.path}")
    with pytest.raises(LabFailure) as caught:
        _written(tmp_path)
    assert caught.value.told("en")[:2] == (
        f"not done: node-1: {DEED.path}",
        "it is no plain file, and could not be put back",
    )
    assert caught.value.told("zh")[:2] == (f"未执行：node-1：{DEED.path}", "不是普通文件，之后无法放回")
