"""Pages that show a lab show what is really printed: their commands are typed here, in a real lab, in this order.

Only times, ages and process numbers may differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.transcripts import Desk, steps

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "README.zh.md",
    "docs/how-to/play-with-a-cluster.md",
    "docs/how-to/break-and-heal.md",
    "docs/how-to/peer-with-your-router.md",
    "docs/how-to/find-leaked-addresses.md",
    "docs/how-to/move-pods-from-host-local.md",
    "docs/how-to/come-from-calicoctl.md",
)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """With the examples beside it, and labs of its own."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    desk = Desk(tmp_path, TORTIE_LAB_DIR=str(tmp_path / "labs"))
    yield desk
    desk.type("tortie lab down --all")


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_shows_is_what_is_printed(desk: Desk, page: str) -> None:
    shown = list(steps((ROOT / page).read_text(), "tortie lab"))
    assert shown, "the page shows no lab"
    for step in shown:
        desk.follow(step)
    assert desk.type("tortie lab list").startswith("there are no labs"), "the page leaves a lab behind"
