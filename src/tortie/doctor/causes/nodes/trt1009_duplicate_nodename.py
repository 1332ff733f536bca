"""TRT1009: two hosts run under one Calico name and take turns owning its record."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import HINT, LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.nodes.bgp_evidence import NODE_BUILT, NODE_NAME, NODE_USED, same_host
from tortie.doctor.causes.nodes.foreign_names import foreign_names
from tortie.doctor.causes.nodes.node_names import NAME_SIGNS, NODENAME_FILE, STORED_NAME, by_agent, by_file
from tortie.doctor.causes.nodes.trt1004_node_ip_changed import CHANGED
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.surroundings import has_operator
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import CalicoNode, Interface
from tortie.doctor.picture.picture import Picture

_SEVERAL: Final = lazily(
    r"\b(?:two|both|2) (?:\w+ )?(?:hosts|machines|nodes|vms|servers)|in turns?\b|take turns|alternat|"
    r"(?:两|2) ?(?:台|个)|轮流|交替",
    re.I,
)
TUNNELS: Final = ("tunl0", "vxlan.calico", "wireguard.cali")
_VARIABLE: Final = Culprit("setting", "NODENAME")
_FILE: Final = Culprit("file", NODENAME_FILE)


class Seen:
    """What tells of two hosts under one name."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.changed = picture.hits(CHANGED)
        self.cloned = picture.said("cloned-vm")
        self.stored = picture.hits(STORED_NAME)
        self.fixed = [call for call in by_agent(picture) if call.by == "calico-node"]
        self.files = by_file(picture)

    @cached_property
    def tunnels(self) -> list[Interface]:
        """Two hosts with one tunnel address, which belongs to one record."""
        seen: dict[str, Interface] = {}
        for link in self.picture.of(Interface):
            for address in link.addresses if link.name in TUNNELS and link.host else ():
                other = seen.setdefault(address, link)
                if not same_host(other.host, link.host) and "." in address:
                    return [other._replace(addresses=(address,)), link]
        return []

    @cached_property
    def fewer(self) -> list[str]:
        """Nodes of Kubernetes that have no record in Calico although its list is shown."""
        recorded = [node.name for node in self.picture.of(CalicoNode)]
        nodes = [name for name, node in self.picture.nodes_now().items() if node.status]
        if not recorded or len(nodes) <= len(set(recorded)):
            return []
        return [name for name in nodes if name not in recorded]


def foreign_name(seen: Seen) -> Finding | None:
    foreign = next(iter(foreign_names(seen.picture)), None)
    if foreign is None:
        return None
    sure = seen.tunnels or seen.fewer or seen.changed or seen.cloned or seen.stored
    return found(
        PROVEN if sure else STRONG,
        culprits(named("node", foreign.name, foreign.host), _FILE, _VARIABLE),
        (*seen.cloned[:1], foreign.source, *seen.stored[:1], *seen.tunnels, *seen.changed[:1]),
        name=foreign.name,
        host=foreign.host,
        node=foreign.host,
        by="file" if seen.stored else foreign.by,
    )


def only_host(seen: Seen) -> Finding | None:
    """A stored name that is not the name of the only host on which anything was typed; kubectl reaches other hosts."""
    picture, stored = seen.picture, seen.stored
    logged = picture.hits(NODE_NAME, NODE_USED)
    hosts = {exhibit.host for exhibit in picture.exhibits if exhibit.host}
    own = {setting.value for setting in picture.settings("name", "host")}
    one_host = len(hosts) == 1 and len(own) == 1 and not any(pod.node for pod in picture.agents())
    if not stored or not logged or not one_host:
        return None
    name, host = logged[-1].value("name"), own.pop()
    # A host that was renamed keeps its stored name as well: then it is one host with two names.
    if same_host(name, host) or picture.said("hostname-changed") or not same_host(host, hosts.pop()):
        return None
    told = picture.said("complains", "cloned-vm")
    both = [one for one in told if one.kind == "cloned-vm" or _SEVERAL.search(one.text)]
    return found(
        LIKELY if both else POSSIBLE,
        culprits(named("node", name, host), _FILE, _VARIABLE),
        (stored[0], logged[-1], *picture.settings("name", "host")[:1], *both[:1]),
        name=name,
        host=host,
        node=host,
        by="file",
    )


def shared_tunnel(seen: Seen) -> Finding | None:
    if not seen.tunnels:
        return None
    first, second = (link.host for link in seen.tunnels)
    address = seen.tunnels[0].addresses[0]
    return found(
        STRONG,
        culprits(named("node", first, second), named("address", address), _FILE, _VARIABLE),
        (*seen.tunnels, *seen.changed[:1]),
        name=first,
        host=second,
        node=second,
        address=address,
    )


def address_changes(seen: Seen) -> Finding | None:
    if not seen.changed:
        return None
    blamed = culprits(named("node", *seen.fewer, *(call.name for call in seen.fixed)), _VARIABLE, _FILE)
    sure = seen.fewer or seen.cloned or seen.stored
    return found(LIKELY if sure else POSSIBLE, blamed, (*seen.changed[:2], *seen.stored[:1], *seen.cloned))


def fewer_records(seen: Seen) -> Finding | None:
    if not seen.fewer:
        return None
    told = seen.stored or seen.fixed
    strength = LIKELY if told and seen.cloned else POSSIBLE if seen.cloned or seen.stored else HINT
    blamed = culprits(named("node", *seen.fewer[:3]), _VARIABLE, _FILE)
    return found(strength, blamed, (*seen.stored[:1], *seen.cloned), absent=seen.fewer[:3])


def own_names(seen: Seen) -> Finding | None:
    own = seen.files and all(not call.host or same_host(call.host, call.name) for call in seen.files)
    return ruled_out(call.source for call in seen.files) if own else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    by, name = finding.value("by"), finding.value("name")
    host = finding.value("host")
    if not by:
        yield do("compare")
    if by != "agent":
        yield do("remove-file")
    if by != "file" and not has_operator(picture):
        yield do("take-names")
    yield from ways.restart_agent(picture, host) if host else (do("restart"),)
    yield from ways.restart_agent(picture, name) if name else (do("restart-original"),)


def _copied(picture: Picture, finding: Finding) -> bool:
    return finding.value("by") == "file" or bool(picture.said("cloned-vm"))


def _written(picture: Picture, finding: Finding) -> bool:
    del picture
    return finding.value("by") == "agent"


CAUSE = Cause(
    module=__name__,
    id="duplicate-nodename",
    code="TRT1009",
    severity="high",
    explains=(
        "not-ready", "bgp-down", "bird-not-ready", "traffic-dead", "others-failing", "crash-loop", "start-terminated",
    ),
    signs=(*NAME_SIGNS, CHANGED, NODE_NAME, NODE_BUILT, NODE_USED),
    look=Seen,
    rules=(foreign_name, only_host, shared_tunnel, address_changes, fewer_records, own_names),
    fix=fix,
    prevents={"template": _copied, "manifest": _written},
)  # fmt: skip
