"""The pages hang together: what one points to is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), f"{target} is not there"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_named_in_the_text_exist(page: Path) -> None:
    """Paths in backticks that begin with a folder of ours, or with a package of the source."""
    for name in re.findall(
        r"`((?:src|tests|docs|scripts|benchmarks|requirements|model|store|cli)/[\w/.-]*)`", page.read_text()
    ):
        roots = (ROOT, ROOT / "src" / "tortie")
        assert any((root / name).exists() or (root / f"{name}.py").exists() for root in roots) or _attribute(name), name


def _attribute(name: str) -> bool:
    """`store/retry.update` names a function of a module."""
    module, _, attribute = name.rpartition(".")
    path = ROOT / "src" / "tortie" / f"{module}.py"
    return path.exists() and bool(
        re.search(rf"^(async def|def|class) {attribute}\b|^{attribute}\b", path.read_text(), re.M)
    )
