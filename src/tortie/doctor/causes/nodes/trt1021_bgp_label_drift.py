"""TRT1021: nodes have lost the labels by which a BGPPeer chose them, and its sessions went with them."""

from __future__ import annotations

from collections.abc import Iterator

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.nodes.bgp_evidence import NO_PEERS, SHARED_SIGNS, is_external, no_peers
from tortie.doctor.causes.nodes.peer_labels import REMOVED, Drift, Lost, drift, lost
from tortie.doctor.picture.facts import Session
from tortie.doctor.picture.peers import chosen, peers
from tortie.doctor.picture.picture import Picture


class Seen:
    """BGPPeers against labels, and which of their sessions are left."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.lost = lost(picture)
        self.drift = drift(picture)
        self.none = no_peers(picture)
        self.removed = picture.hits(REMOVED)
        self.external = [session for session in picture.sessions() if is_external(session)]

    @property
    def gone(self) -> list[object]:
        """That no session of such a peer is left: a table without one, or BIRD's own word."""
        return [*self.removed[:2], *(self.none[:1] if not self.external else ())]


def still_up(seen: Seen) -> Finding | None:
    up = [session for one in seen.lost for session in _sessions(seen, one) if session.state == "up"]
    return ruled_out(up[:1]) if up else None


def _sessions(seen: Seen, one: Lost) -> list[Session]:
    return [session for session in seen.external if session.peer == one.peer.peer_ip]


def labels_gone(seen: Seen) -> Finding | None:
    if not seen.lost or seen.drift is None:
        return None
    strength = PROVEN if seen.gone else STRONG if not seen.external else LIKELY
    say = "renamed" if seen.drift.renamed_to else ""
    return _found(seen, seen.lost[0], strength, seen.drift, say)


def chooses_nobody(seen: Seen) -> Finding | None:
    """Perhaps it never did."""
    return _found(seen, seen.lost[0], POSSIBLE, Drift(()), "") if seen.lost else None


def _found(seen: Seen, one: Lost, strength: float, how: Drift, say: str) -> Finding:
    key = next(iter(one.keys), "")
    who = culprits(
        named("peer", one.peer.name),
        named("setting", key, one.field),
        named("node", how.node),
        Culprit("resource", "BGPPeer"),
    )
    return found(
        strength, who, (*how.evidence, *one.evidence, *seen.gone), say=say, bgppeer=one.peer.name, field=one.field,
        selector=one.selector, key=key, node=how.node, renamed_to=how.renamed_to, label=_label(one),
    )  # fmt: skip


def _label(one: Lost) -> str:
    """What a node needs to be chosen again; empty where the selector asks for more than one label."""
    if len(one.keys) != 1 or "!" in one.selector or "||" in one.selector:
        return ""
    quoted = one.selector.replace('"', "'").split("'")
    return f"{one.keys[0]}={quoted[1]}" if len(quoted) == 3 and "==" in quoted[0] else f"{one.keys[0]}=true"


def all_chosen(seen: Seen) -> Finding | None:
    """Every selector that is shown chooses somebody."""
    every = [peer for peer in peers(seen.picture) if peer.node_selector or peer.peer_selector]
    picked = [chosen(seen.picture, s) for peer in every for s in (peer.node_selector, peer.peer_selector) if s]
    return ruled_out(every[0].evidence[:1], bgppeer=every[0].name) if picked and all(picked) else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    del picture
    yield do("compare")
    has = finding.value("selector").replace(" ", "") == f"has({finding.value('key')})"
    if finding.value("renamed_to"):
        yield do("new-key") if has else do("new-selector")
    else:
        yield do("label")
        yield do("keep")


CAUSE = Cause(
    module=__name__,
    id="bgp-label-drift",
    code="TRT1021",
    severity="high",
    explains=("bgp-down", "bird-not-ready", "not-ready", "traffic-dead", "others-failing", "service-dead"),
    signs=(*SHARED_SIGNS, NO_PEERS, REMOVED),
    look=Seen,
    rules=(still_up, labels_gone, chooses_nobody, all_chosen),
    fix=fix,
)
