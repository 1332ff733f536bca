"""The pages hang together: what one points to is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tortie.doctor.causes.catalogue import all_causes
from tortie.doctor.knowledge import pages
from tortie.model.effects.page import page as page_of_effects

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), f"{target} is not there"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_a_part_of_a_page_lead_to_a_heading(page: Path) -> None:
    for target, part in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text()):
        there = page.parent / target if target else page
        assert part in _parts(there), f"{there.name} has no heading for #{part}"


def _parts(page: Path) -> set[str]:
    """As pages are shown: small letters, blanks as dashes, no other signs."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_named_in_the_text_exist(page: Path) -> None:
    """Paths in backticks that begin with a folder of ours, or with a package of the source."""
    ours = "src|tests|docs|scripts|benchmarks|requirements|examples"
    packages = "model|host|store|addressing|bgp|ipam|dataplane|health|node|cni|controllers|lab|doctor|cli"
    for name in re.findall(rf"`((?:{ours}|{packages})/[\w/.-]*)`", page.read_text()):
        roots = (ROOT, ROOT / "src" / "tortie")
        assert any((root / name).exists() or (root / f"{name}.py").exists() for root in roots) or _attribute(name), name


def _attribute(name: str) -> bool:
    """`store/retry.update` names a function of a module."""
    module, _, attribute = name.rpartition(".")
    path = ROOT / "src" / "tortie" / f"{module}.py"
    return path.exists() and bool(
        re.search(rf"^(async def|def|class) {attribute}\b|^{attribute}\b", path.read_text(), re.M)
    )


def test_the_pages_of_causes_are_what_the_doctor_knows() -> None:
    folder = ROOT / "docs" / "causes"
    wanted = pages(all_causes())
    there = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.glob("*/*")}
    stale = sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))
    assert not stale, f"run `make pages`: {', '.join(stale[:10])}"


def test_the_page_of_effects_is_what_the_table_says() -> None:
    assert (ROOT / "docs" / "reference" / "effects.md").read_text() == page_of_effects(), "run `make pages`"
