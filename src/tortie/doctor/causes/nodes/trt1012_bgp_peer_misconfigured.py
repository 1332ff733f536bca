"""TRT1012: BGPPeer or route-reflector definitions are wrong, missing on one side, or match nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, cached_property
from typing import Final

from tortie.doctor.causes.cause import HINT, LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.nodes.bgp_evidence import (
    MESH_OFF,
    MESH_OFF_JSON,
    NO_PEERS,
    SESSION_UP,
    UNKNOWN_CONNECT,
    few,
    is_external,
    mesh_off,
    no_peers,
    node_at,
    settled,
    unknown_connects,
)
from tortie.doctor.causes.nodes.bgp_nat import rewritten_calls, translated_calls
from tortie.doctor.causes.nodes.peer_labels import drift, lost
from tortie.doctor.causes.nodes.reflectors import FIELD, Gap, gap
from tortie.doctor.causes.nodes.rejected_routes import IMPORTS, one_cluster
from tortie.doctor.causes.nodes.router_ids import IDENTIFIER, ROUTER_ID, router_ids
from tortie.doctor.causes.nodes.router_words import UNCONFIGURED, refused
from tortie.doctor.causes.underlay.traffic_evidence import rows
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Session, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

MESH_COLUMN: Final = Sign("trt1012-mesh-column", "MESHENABLED")
# Who tries all ports of all machines, as the person says who knows it.
_SCANNER: Final = lazily(
    r"\b(?:is|was|that's|from|it's|belongs to) (?:\w+ ){0,3}?(?:scanner|nessus|nmap|openvas|pentest\w*|port ?scan)"
    r"|[是为属][^，。；]{0,12}(?:扫描|漏扫|探测)",
    re.IGNORECASE,
)
BGP_PEER: Final = Culprit("resource", "BGPPeer")
DEAD: Final = ("cross-node-dead", "network-dead", "host-pod-dead", "service-dead", "complains")


class Seen:
    """What is configured (mesh, BGPPeers), and what BIRD says about peers."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.down = picture.sessions_down()
        self.off = mesh_off(picture)
        self.defined = [setting for setting in picture.of(Setting) if setting.scope == "bgppeer"]

    @cached_property
    def same_id(self) -> list[Session]:
        return [session for session in self.down if "bad bgp identifier" in session.info.lower()]

    @cached_property
    def unknown(self) -> list[Hit]:
        """Strangers that call; one with a node's address is another cause."""
        calls = [hit for hit in unknown_connects(self.picture) if not self.picture.owner_of(hit.value("ip"))]
        return [hit for hit in calls if not (hit.prose and _SCANNER.search(hit.line))]

    @cached_property
    def external(self) -> list[Session]:
        return [session for session in self.down if is_external(session)]

    @property
    def mesh_down(self) -> list[Session]:
        """Sessions between nodes, none of which anybody configured."""
        return [session for session in self.down if not is_external(session) and not self.defined]

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(setting.owner for setting in self.defined if setting.owner))

    @property
    def selectors(self) -> list[Setting]:
        return [setting for setting in self.defined if "elector" in setting.name]


def reserved_router_id(seen: Seen) -> Finding | None:
    """The id itself is refused, not that somebody else has it."""
    bad = [one for one in router_ids(seen.picture) if one.reserved]
    return ruled_out(bad[:2], id=bad[0].address) if bad and (seen.same_id or seen.picture.hits(IDENTIFIER)) else None


def same_router_id(seen: Seen) -> Finding | None:
    said = seen.picture.hits(IDENTIFIER)
    if not seen.same_id and not (said and not settled(seen.picture)):
        return None
    peers = [session.peer for session in seen.same_id]
    who = culprits(named("peer", *peers), BGP_PEER)
    # Hashes of names hardly ever meet; they rather end in a range that routers refuse.
    hashed = seen.picture.value(ROUTER_ID, "env") == "hash"
    strength = POSSIBLE if hashed or _only_a_routers_word(seen, said) else STRONG
    return found(strength, who, (*seen.same_id[:3], *said[:2]), peers=few(peers), peer=next(iter(peers), ""))


def _only_a_routers_word(seen: Seen, said: list[Hit]) -> bool:
    """BIRD refuses an id that is its own; a router may have other reasons, unless the node's id is seen to be valid."""
    if router_ids(seen.picture):
        return False
    told = [(is_external(one), one.info) for one in seen.same_id]
    told += [("Global_" in hit.line or "Node_" in hit.line, hit.line) for hit in said]
    return all(external and "received:" in text.lower() for external, text in told)


def labels_gone(seen: Seen) -> Finding | None:
    how = drift(seen.picture)
    return ruled_out(how.evidence, bgppeer=lost(seen.picture)[0].peer.name) if how else None


def no_peer_left(seen: Seen) -> Finding | None:
    """The mesh is off, and nothing takes its place."""
    none = no_peers(seen.picture)
    if not seen.off or not none:
        return None
    selectors = seen.selectors
    who = culprits(
        named("setting", "nodeToNodeMeshEnabled"),
        named("peer", *seen.names[:3]),
        named("setting", *(setting.name for setting in selectors)),
        BGP_PEER,
        Culprit("resource", "BGPConfiguration"),
    )
    evidence = (*seen.off[:2], *selectors[:2], *none[:2])
    if not seen.names:
        return found(PROVEN, who, evidence, say="no-peer-defined")
    last = selectors[-1] if selectors else None
    return found(
        PROVEN, who, evidence, bgppeers=few(seen.names), selector=f"{last.name}: {last.value}" if last else "",
        label=_label(seen), say="no-peer-selected",
    )  # fmt: skip


def made_by_nat(seen: Seen) -> Finding | None:
    """A host's own rule makes the address that calls."""
    calls = [call for call in translated_calls(seen.picture) if call.certain]
    seen_twice = rewritten_calls(seen.picture)
    if seen_twice:
        return ruled_out(seen_twice[0].places)
    return ruled_out((calls[0].translation, calls[0].hit)) if calls else None


def unknown_speaker(seen: Seen) -> Finding | None:
    if not seen.unknown:
        return None
    first, picture = seen.unknown[0], seen.picture
    strangers = [hit.value("ip") for hit in seen.unknown]
    node = node_at(picture, first.place, first.host)
    # Without the nodes' addresses the unknown one may be a node's, and then it is another fault.
    told = seen.off or picture.commands("bgppeer")
    strength = STRONG if len(picture.internal_ips()) > 1 else LIKELY if told else POSSIBLE
    if not seen.external and (translated_calls(picture) or seen.mesh_down):
        strength = POSSIBLE  # rather a node behind a translation
    who = culprits(named("peer", *strangers), BGP_PEER, named("node", node))
    return found(strength, who, seen.unknown[:3], strangers=few(strangers), stranger=strangers[0], node=node)


def unknown_to_router(seen: Seen) -> Finding | None:
    """The other side says that nobody told it of this node."""
    said = refused(seen.picture)
    if not said or seen.mesh_down or settled(seen.picture):
        return None
    nodes = [address for hit in said if (address := hit.value("ip"))]
    names = [name for address in nodes if (name := seen.picture.owner_of(address))]
    who = culprits(named("address", *nodes[:3]), named("node", *names[:3]), BGP_PEER)
    strength = STRONG if seen.external else LIKELY
    return found(strength, who, (*said[:2], *seen.external[:1]), callers=few(nodes), stranger="")


def routes_not_passed_on(seen: Seen) -> Finding | None:
    """Sessions may all stand: reflectors are the wrong nodes, or do not know each other."""
    missed = gap(seen.picture)
    if missed is None:
        return None
    pairs = missed.of_nodes or list(missed.pairs)
    blamed = missed.mute or missed.hubs
    names = [peer.name for peer in missed.peers]
    who = culprits(
        named("node", *blamed[:3]), named("setting", FIELD), named("peer", *names[:3]),
        named("node", *missed.reflecting[:3]), BGP_PEER,
    )  # fmt: skip
    say = "not-reflecting" if missed.mute else "one-cluster" if missed.one_cluster else "apart"
    return found(
        _certainty(seen, missed), who, (*missed.evidence[:5], *seen.picture.sessions()[:2]), say=say,
        hubs=few(blamed), hub=blamed[0], reflecting=few(missed.reflecting), bgppeers=few(names),
        one=pairs[0][0], other=pairs[0][1], cluster=missed.one_cluster or _free_id(missed),
    )  # fmt: skip


def nobody_reflects(seen: Seen) -> Finding | None:
    """Counted: no node has a cluster id, or BIRD no client, where a selector makes some node everybody's peer."""
    counted = [n for word in (FIELD, "rr client") for n in seen.picture.numbers(word)]
    chosen = list(rows(seen.picture, r"^\s*peerSelector:\s*\S", needle="peerSelector"))
    if not seen.off or not chosen or not counted or any(number.value for number in counted):
        return None
    who = culprits(named("setting", FIELD), named("peer", *seen.names[:3]), BGP_PEER)
    return found(STRONG, who, (*counted[:2], *chosen[:1], *seen.off[:1]), bgppeers=few(seen.names), hub="",
                 cluster="244.0.0.1")  # fmt: skip


def _certainty(seen: Seen, missed: Gap) -> float:
    if not missed.of_nodes:
        # Reflectors miss each other's pods only, and many have none: somebody has to name two of them.
        texts = [one.text for one in seen.picture.said(*DEAD)]
        felt = any(one in text and other in text for one, other in missed.pairs for text in texts)
        return LIKELY if felt else POSSIBLE
    if not missed.sure:
        return LIKELY
    return PROVEN if seen.off and seen.picture.sessions() else STRONG


def _free_id(missed: Gap) -> str:
    """For a reflector that has none: the one that another node was given by mistake is left alone."""
    return "244.0.0.1" if not missed.reflecting else "244.0.0.2"


def reflected_in_vain(seen: Seen) -> Finding | None:
    """Sessions stand, and what comes over them is rejected as a loop."""
    one = one_cluster(seen.picture)
    if one is None or seen.down:
        return None
    who = culprits(named("setting", one.cluster, FIELD), named("node", *one.reflectors[:3]), BGP_PEER)
    return found(STRONG, who, one.evidence, cluster=one.cluster, hubs=one.reflectors[:4])


def established(seen: Seen) -> Finding | None:
    up = seen.picture.sessions()
    return ruled_out(up[:1]) if up and settled(seen.picture) else None


def mesh_is_off(seen: Seen) -> Finding | None:
    if seen.off and not seen.picture.sessions():
        return found(POSSIBLE, named("setting", "nodeToNodeMeshEnabled"), seen.off[:1])
    return None


def configured_peer_down(seen: Seen) -> Finding | None:
    if not seen.external:
        return None
    peers = [session.peer for session in seen.external]
    return found(HINT, named("peer", *peers), seen.external[:2], peers=few(peers), peer=peers[0])


@cache
def _equals() -> re.Pattern[str]:
    return re.compile(r"(?<![\w./-])(?P<key>[\w./-]{1,300}) {0,8}== {0,8}['\"](?P<value>[\w.-]+)['\"]")


def _label(seen: Seen) -> str:
    """The label that reflectors need for the peerSelector to match them; empty where the selector is more than that."""
    selector = next((setting.value for setting in reversed(seen.selectors) if setting.name == "peerSelector"), "")
    if match := _equals().fullmatch(selector.strip()):
        return f"{match['key']}={match['value']}"
    has = re.fullmatch(r"has\(([\w./-]+)\)", selector.strip())
    return f"{has[1]}=true" if has else ""


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    yield do("compare")
    if finding.rule == "unknown-to-router":
        yield do("neighbor")
    elif finding.rule == "same-router-id":
        yield do("not-itself", bgppeer=_defined_for(picture, finding.value("peer")))
    elif finding.rule in ("routes-not-passed-on", "nobody-reflects", "reflected-in-vain"):
        mute = finding.say == "not-reflecting" or finding.rule == "nobody-reflects"
        yield do("reflect") if mute else do("join-reflectors")
    elif finding.rule in ("no-peer-left", "mesh-is-off"):
        if finding.say == "no-peer-selected":
            yield do("label-reflectors")
        yield do("mesh-on")
    elif stranger := finding.value("stranger"):
        yield _told_about(picture, stranger)
    else:
        yield do(
            "define", slug=finding.value("peer").replace(".", "-").replace(":", "-"), address=finding.value("peer")
        )


def _told_about(picture: Picture, stranger: str) -> Do:
    """One peer that never answers, and a stranger that calls: it is that one, with another address."""
    down = {session.peer for session in picture.sessions_down() if is_external(session)}
    name = _defined_for(picture, down.pop()) if len(down) == 1 else ""
    if name:
        return do("right-address", bgppeer=name, address=stranger)
    return do("define", slug=stranger.replace(".", "-").replace(":", "-"), address=stranger)


def _defined_for(picture: Picture, address: str) -> str:
    names = [setting.owner for setting in picture.settings("peerIP", "bgppeer") if setting.value == address]
    return names[-1] if names else ""


CAUSE = Cause(
    module=__name__,
    id="bgp-peer-misconfigured",
    code="TRT1012",
    severity="medium",
    explains=("bgp-down", "bird-not-ready", "not-ready", "traffic-dead", "others-failing", "service-dead"),
    signs=(
        *UNCONFIGURED, IDENTIFIER, NO_PEERS, MESH_OFF, MESH_OFF_JSON, MESH_COLUMN, UNKNOWN_CONNECT, SESSION_UP, IMPORTS,
    ),
    look=Seen,
    rules=(
        reserved_router_id, same_router_id, labels_gone, no_peer_left, made_by_nat, unknown_speaker, unknown_to_router,
        routes_not_passed_on, nobody_reflects, reflected_in_vain, established, mesh_is_off, configured_peer_down,
    ),
    fix=fix,
)  # fmt: skip
