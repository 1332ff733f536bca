"""Rights that releases of the agent ask for, and whether a role that is shown has them."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.model.tuples import NamedTuple


class Right(NamedTuple):
    """What the role of the agent has to list from a release on. Each is checked in the source of that release."""

    resource: str
    group: str
    since: tuple[int, int]
    shown_by: str  # a resource of the same rule or one that stands behind it: a role that is cut does not reach it


RIGHTS: Final = (
    Right("endpointslices", "discovery.k8s.io", (3, 20), "globalnetworkpolicies"),
    Right("serviceaccounts/token", "", (3, 24), "globalnetworkpolicies"),
    Right("bgpfilters", "crd.projectcalico.org", (3, 26), "hostendpoints"),
    Right("tiers", "crd.projectcalico.org", (3, 29), "hostendpoints"),
)
_RESOURCES: Final = re.compile(r"[a-z]{1,80}(?:/[a-z]{1,80})?")
_ROLE: Final = ("calico-node", "canal")
_WHOSE: Final = re.compile(r"^\s{0,8}name:\s{1,4}[\"']?(?:calico-node|canal-calico|canal)[\"']?\s*$", re.MULTILINE)
_ANY: Final = re.compile(r"[\"']\*[\"']|^\*\.\*\s", re.MULTILINE)
_FILTERED: Final = re.compile(r"\|\s*(?:e|f|z)?grep|\|\s*(?:sed|awk|jq|yq)\b|jsonpath|\bname\b$")


class Lack(NamedTuple):
    """A role that is shown, and what it should list and does not."""

    right: Right
    place: Place
    host: str


def lacking(picture: Picture, release: tuple[int, ...]) -> list[Lack]:
    """Of the releases up to this one, the rights that the agent's role is shown to be without; the latest last."""
    roles = [exhibit for exhibit in picture.exhibits if not exhibit.prose and _is_role(exhibit)]
    if not roles or any(_ANY.search(exhibit.text) for exhibit in roles):
        return []
    text = "\n".join(exhibit.text for exhibit in roles)
    named = set(_RESOURCES.findall(text))
    place = roles[0].place(0, len(roles[0].lines))
    return [
        Lack(right, place, roles[0].host)
        for right in RIGHTS
        if right.since <= release[:2] and right.shown_by in text and right.resource not in named
    ]


def _is_role(exhibit: Exhibit) -> bool:
    command = exhibit.command.lower()
    if "clusterrole " in f"{command} " or "clusterroles" in command or "clusterrole/" in command:
        return any(name in command for name in _ROLE) and _FILTERED.search(command) is None
    return not command and "kind: ClusterRole" in exhibit.text and _WHOSE.search(exhibit.text) is not None
