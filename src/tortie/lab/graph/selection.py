"""What Mermaid and Graphviz get to draw: all sessions of a small mesh; of a large one the broken ones and a note.

These drawings are for files and tools, so their words are English.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tortie.lab.graph.picture import LabView, Link, agents, count, links
from tortie.lab.graph.words import nodes_told, sessions_told, words_of

_WORDS: Final = words_of("en")
_ALL_NODES_MAX: Final = 12
_BROKEN_MAX: Final = 200  # GitHub's Mermaid refuses a flowchart of more than 500 edges; nobody reads so many


class Drawn(NamedTuple):
    links: tuple[Link, ...]
    condensed: bool  # links that are up stand in a note instead
    left_out: int  # broken links that do not stand in the drawing either


def to_draw(view: LabView) -> Drawn:
    found = links(view)
    if len(agents(view)) <= _ALL_NODES_MAX:
        return Drawn(found, False, 0)
    outside = tuple(link for link in found if link.state == "up" and _leaves_the_mesh(link))
    down = tuple(link for link in found if link.state != "up")
    return Drawn(down[:_BROKEN_MAX] + outside[:_BROKEN_MAX], True, max(0, len(down) - _BROKEN_MAX))


def _leaves_the_mesh(link: Link) -> bool:
    return all(session.kind != "mesh" for session in link.sessions)


def title_told(view: LabView) -> str:
    """The lab in one line: who it is and how it stands."""
    store = f"store {view.store}" if view.store else ""
    told = (store, nodes_told(_WORDS, count(view)), *sessions_told(_WORDS, view))
    return f"{view.name}: {', '.join(each for each in told if each)}"


def note_told(view: LabView, drawn: Drawn) -> tuple[str, ...]:
    """What stands in a condensed drawing in place of the sessions that are up."""
    more = (f"{drawn.left_out} more that are not up",) if drawn.left_out else ()
    return (*sessions_told(_WORDS, view), *more)
