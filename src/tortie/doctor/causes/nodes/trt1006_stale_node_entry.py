"""TRT1006: the record of a host that was renamed, rebuilt or removed still owns this host's address."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import culprits, named
from tortie.doctor.causes.nodes.address_conflicts import ARP_SIGNS, contest, contests, decided, link_of, would_show
from tortie.doctor.causes.nodes.bgp_addresses import ADDRESS_SIGNS, registrations
from tortie.doctor.causes.nodes.bgp_evidence import (
    SHARED_SIGNS,
    answers,
    is_external,
    missing_peers,
    same_host,
    session_node,
    trouble,
)
from tortie.doctor.causes.nodes.installations import restarted, uses_etcd
from tortie.doctor.causes.nodes.node_names import NAME_SIGNS, old_record
from tortie.doctor.causes.steps import Step
from tortie.doctor.picture.facts import CalicoNode, Node, Registered
from tortie.doctor.picture.picture import Picture

_LEAST: Final = 2  # nodes: a list of one may have been cut


def owner_gone(picture: Picture) -> Finding | None:
    case = contest(picture, "stale")
    if case is None:
        return None
    recorded = {node.name: node for node in picture.of(CalicoNode)}
    return found(
        case.strength,
        culprits(named("node", case.other), named("address", case.address), named("node", case.node)),
        (recorded.get(case.other), *case.evidence, case.hit, *picture.hits("terminating")[:1]),
        say="" if case.node else "owner-gone-unnamed",
        other=case.other,
        node=case.node,
        address=case.address,
        interface=link_of(picture, case.address),
    )


def owner_alive(picture: Picture) -> Finding | None:
    """Or the address is one that no single host has."""
    case = decided(picture)
    return ruled_out((*case.evidence, case.hit), say=f"instead-{case.kind}", other=case.other) if case else None


def two_records(picture: Picture) -> Finding | None:
    """No conflict is shown, yet one host is recorded under its old name, too, and something is wrong."""
    names = old_record(picture)
    if names is None or not (trouble(picture) or picture.said("complains") or picture.hits("terminating")):
        return None
    other, node = names
    records = [one for one in picture.of(CalicoNode) if one.name in names]
    shared = [seen for seen in picture.of(Registered) if seen.node == other]
    address = shared[-1].address if shared else ""
    blamed = culprits(named("node", other), named("address", address), named("node", node))
    said = picture.said("hostname-changed", "host-reinstalled")[:1]
    strength = STRONG if shared and (said or trouble(picture)) else LIKELY
    return found(strength, blamed, (*said, *records), other=other, node=node, address=address)


def peer_gone(picture: Picture) -> Finding | None:
    """Nobody wants the address, but all nodes wait for a session with one that Kubernetes has no more."""
    nodes = {name: node for name, node in picture.nodes_now().items() if node.status}
    missing = missing_peers(picture)
    if len(nodes) < _LEAST or not missing:
        return None
    if counted := _by_count(picture, nodes):
        return counted
    stored = {one.address: one for one in registrations(picture) if one.node and one.via != "log"}
    theirs = [stored.get(peer.address) for peer in missing]
    gone = [one for one in theirs if one and not any(same_host(one.node, name) for name in nodes)]
    if len(gone) < len(missing) or any(one.address in picture.internal_ips().values() for one in gone):
        return None  # others are missing as well, or the record is that of a living node under another name
    one = gone[0]
    if not would_show(picture, nodes, one.node) or answers(picture, one.address):
        return None  # a machine without Kubernetes may be a node of Calico's
    blamed = culprits(named("node", one.node), named("address", one.address))
    evidence = (one, *missing[:2], *list(nodes.values())[:2])
    return found(LIKELY, blamed, evidence, other=one.node, node="", address=one.address)


def _by_count(picture: Picture, nodes: dict[str, Node]) -> Finding | None:
    """A table of sessions has all names but its own: as many as are gone are not established, and none else."""
    names, sessions = picture.calico_nodes(), picture.sessions()
    gone = [name for name in names if not any(same_host(name, node) for node in nodes)]
    views = {session_node(picture, session) for session in sessions}
    down = {session.peer for session in picture.sessions_down()}
    whole = len({session.peer for session in sessions}) == len(names) - 1 and len(views) == 1
    if not gone or not whole or len(down) != len(gone) or any(is_external(session) for session in sessions):
        return None
    if down & {*picture.internal_ips().values()} or not all(would_show(picture, nodes, name) for name in gone):
        return None
    if any(answers(picture, address) for address in down):
        return None
    address = next(iter(down)) if len(down) == 1 else ""
    records = [one for one in picture.of(CalicoNode) if one.name in gone]
    blamed = culprits(named("node", *gone[:3]), named("address", address))
    return found(
        LIKELY, blamed, (*records[:2], *picture.sessions_down()[:2]), other=gone[0], node="", address=address,
    )  # fmt: skip


def owner_not_shown(picture: Picture) -> Finding | None:
    case = next(iter(contests(picture)), None)
    if case is None:
        return None
    blamed = culprits(named("node", case.other), named("address", case.address), named("node", case.node))
    link = link_of(picture, case.address)
    return found(POSSIBLE, blamed, (case.hit,), node=case.node, other=case.other, address=case.address, interface=link)


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    if finding.rule == "peer-gone":
        yield do("remove")
        return
    yield do("nobody-answers")
    yield do("remove-node" if _is_kubernetes(picture, finding) else "remove")
    yield from restarted(picture, finding.value("node"))


def _is_kubernetes(picture: Picture, finding: Finding) -> bool:
    """The old record is a node of Kubernetes, too."""
    return uses_etcd(picture) is False or finding.value("other") in picture.nodes_now()


def _cleaned(picture: Picture, finding: Finding) -> bool:
    """Only records of Calico's own are left to kube-controllers."""
    return not _is_kubernetes(picture, finding)


CAUSE = Cause(
    module=__name__,
    id="stale-node-entry",
    code="TRT1006",
    severity="medium",
    explains=("start-terminated", "crash-loop", "not-ready", "bgp-down", "bird-not-ready"),
    signs=(*SHARED_SIGNS, *ADDRESS_SIGNS, *ARP_SIGNS, *NAME_SIGNS),
    rules=(owner_gone, owner_alive, two_records, peer_gone, owner_not_shown),
    fix=fix,
    prevents={"kube-controllers": _cleaned},
)
