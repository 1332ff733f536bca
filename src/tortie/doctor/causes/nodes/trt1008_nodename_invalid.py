"""TRT1008: the node's name fails validation: capitals, an underscore, a line break."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import LIKELY, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import culprits, named
from tortie.doctor.causes.nodes.bgp_evidence import NODE_BUILT, NODE_NAME, NODE_USED
from tortie.doctor.causes.nodes.node_names import NAME_SIGNS, NODENAME_FILE, STORED_NAME
from tortie.doctor.causes.shared import STARTED, TERMINATING
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.surroundings import has_operator
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.texts import Text

FIELD: Final = Sign("trt1008-field", "error with field (Metadata.)?Name = '<list_name>' \\(")
RULE: Final = Sign("trt1008-rule", "name must consist of lower case alphanumeric characters")
SUBDOMAIN: Final = Sign("trt1008-subdomain", "a lowercase RFC 1123 subdomain must consist of")
LINE_BREAK: Final = Sign("trt1008-line-break", 'nodes "<name>\\n" not found')
NAMES: Final = (NODE_NAME, NODE_BUILT, NODE_USED)
_RESOURCE: Final = lazily(r"'(\w+)' resource")
_VALID: Final = lazily(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?", re.ASCII)


class Seen:
    """Names that were used at start-up, and what refused them."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.breaks = [hit for hit in picture.hits(LINE_BREAK) if "\\n" in hit.text]
        self.rules = [hit for hit in picture.hits(FIELD, RULE) if not _of_another_kind(hit)]
        self.names = picture.hits(*NAMES)
        bad = (hit for hit in self.names if hit.value("name"))
        self.named = [hit for hit in bad if not _VALID.fullmatch(hit.value("name"))]
        self.ended = picture.hits(TERMINATING)
        self.stored = picture.hits(STORED_NAME)

    def found(self, strength: float, name: str, evidence: tuple[object, ...], *, line_break: bool = False) -> Finding:
        file = NODENAME_FILE if line_break or self.stored else ""
        fault = "line-break" if line_break else _fault(name)
        return found(
            strength,
            culprits(named("node", name), named("setting", "NODENAME"), named("file", file)),
            (*self.stored[:1], *evidence),
            say="refused",
            name=name,
            shown=repr(name)[1:-1] + ("\\n" if line_break else ""),
            fault=Text(__name__, f"word {fault}"),
            right=name.lower().replace("_", "-"),
            node=self._node(name),
            file=file,
            line_break="yes" if line_break else "",
        )

    def _node(self, name: str) -> str:
        """What Kubernetes calls this host."""
        low = name.lower()
        return next((node for node in self.picture.nodes_now() if node.lower() == low), name)


def _of_another_kind(hit: Hit) -> bool:
    """calicoctl refuses names of policies and pools in the same words, and says what they are of."""
    kind = _RESOURCE.search(hit.line)
    return kind is not None and kind[1] != "Node"


def _fault(name: str) -> str:
    return "capitals" if re.search("[A-Z]", name) else "underscore" if "_" in name else "letters"


def line_break(seen: Seen) -> Finding | None:
    if not seen.breaks:
        return None
    name = seen.breaks[0].value("name").removesuffix("\\n")
    return seen.found(STRONG, name, tuple(seen.breaks[:1]), line_break=True)


def refused(seen: Seen) -> Finding | None:
    if not seen.rules:
        return None
    name = next((hit.value("list_name") for hit in seen.rules if hit.value("list_name")), "")
    name = name or (seen.named[0].value("name") if seen.named else "")
    strength = PROVEN if seen.ended or seen.named else STRONG
    return seen.found(strength, name, (*seen.named[:1], *seen.rules[:1], *seen.ended[:1]))


def bad_and_ended(seen: Seen) -> Finding | None:
    """The refusal itself is not shown."""
    if not seen.named or not seen.picture.hits(SUBDOMAIN, TERMINATING):
        return None
    return seen.found(LIKELY if seen.ended else STRONG, seen.named[0].value("name"), tuple(seen.named[:1]))


def registered(seen: Seen) -> Finding | None:
    return ruled_out(seen.names[:1]) if seen.names and seen.picture.hits(STARTED) else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    if finding.value("line_break"):
        yield do("write")
        yield from _restarted(picture, finding)
        return
    operator = has_operator(picture)
    if not operator:
        yield do("take-name")
    if not picture.agents() and not picture.nodes_now():
        yield do("without-kubernetes")
    if finding.value("file") or not finding.values:
        yield do("drop-stored")
    if operator:
        yield from _restarted(picture, finding)


def _restarted(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    """The node's own name is known only where Kubernetes shows it."""
    node = finding.value("node")
    yield from ways.restart_agent(picture, node) if node in picture.nodes_now() else (do("restart"),)


def _by_letters(picture: Picture, finding: Finding) -> bool:
    del picture
    return not finding.value("line_break")


def _by_file(picture: Picture, finding: Finding) -> bool:
    del picture
    return bool(finding.value("file"))


CAUSE = Cause(
    module=__name__,
    id="nodename-invalid",
    code="TRT1008",
    severity="medium",
    explains=("start-terminated", "crash-loop", "not-ready"),
    signs=(FIELD, RULE, SUBDOMAIN, LINE_BREAK, *NAMES, *NAME_SIGNS, STARTED, TERMINATING),
    look=Seen,
    rules=(line_break, refused, bad_and_ended, registered),
    fix=fix,
    prevents={"lower-case": _by_letters, "file": _by_file},
)
