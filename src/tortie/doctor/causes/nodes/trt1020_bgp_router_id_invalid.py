"""TRT1020: a node's router id lies in a range that its peer does not take: the hash of a name may end there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.nodes.bgp_evidence import SHARED_SIGNS, settled
from tortie.doctor.causes.nodes.router_ids import (
    IDENTIFIER,
    OPEN_SENT,
    ROUTER_ID,
    WRONG_ID,
    WRONG_ID_HEX,
    refusals,
    router_ids,
)
from tortie.doctor.picture.facts import Session
from tortie.doctor.picture.picture import Picture

RIGHT_SINCE: Final = (3, 25)  # its hash never ends in a reserved range


class Seen:
    """Router ids, who refuses one, and where ids come from."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.ids = router_ids(picture)
        self.refused = refusals(picture)
        self.hashed = [s for s in picture.settings(ROUTER_ID, "env") if s.value == "hash"]
        self.peers = [one.peer for one in self.refused if isinstance(one, Session)]

    @property
    def said_by_peer(self) -> bool:
        """The peer sent the error; otherwise BIRD itself did not take the peer's id."""
        told = (one.info if isinstance(one, Session) else one.line for one in self.refused)
        return any("received: bad bgp" in text.lower() for text in told)


def over(seen: Seen) -> Finding | None:
    up = seen.picture.sessions()
    return ruled_out(up[:1]) if up and seen.refused and settled(seen.picture) else None


def reserved_id(seen: Seen) -> Finding | None:
    bad = [one for one in seen.ids if one.reserved]
    if not bad or not seen.refused:
        return None
    node = next((one.node for one in bad if one.node), "")
    # A router's line names the id and refuses it; otherwise both have to be seen.
    strength = PROVEN if len({one.place for one in (*bad, *seen.refused)}) > 1 else STRONG
    who = culprits(named("address", bad[0].address), named("node", node), named("peer", *seen.peers[:2]),
                   Culprit("setting", ROUTER_ID))  # fmt: skip
    evidence = (*bad[:2], *seen.refused[:2], *seen.hashed[:1])
    return found(strength, who, evidence, id=bad[0].address, node=node, peer=next(iter(seen.peers), ""))


def valid_ids(seen: Seen) -> Finding | None:
    own = [one for one in seen.ids if not one.refused]
    return ruled_out(own[:2], id=own[0].address) if own and seen.refused else None


def hashed(seen: Seen) -> Finding | None:
    """Ids are hashes of names, and a peer does not take one; the id itself is not shown."""
    release = seen.picture.version("calico")
    if not seen.hashed or not seen.refused or (release is not None and release >= RIGHT_SINCE):
        return None
    who = culprits(Culprit("setting", ROUTER_ID), named("peer", *seen.peers[:2]))
    evidence = (*seen.hashed[:1], *seen.refused[:2])
    return found(LIKELY if seen.said_by_peer else POSSIBLE, who, evidence, peer=next(iter(seen.peers), ""))


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    yield do("look")
    release = picture.version("calico")
    if not picture.settings(ROUTER_ID, "env") or any(s.value == "hash" for s in picture.settings(ROUTER_ID, "env")):
        if release is None or release < RIGHT_SINCE:
            yield do("upgrade")
        yield do("ipv4")
    else:
        yield do("own")
    yield do("accept", peer=finding.value("peer"))


CAUSE = Cause(
    module=__name__,
    id="bgp-router-id-invalid",
    code="TRT1020",
    severity="medium",
    explains=("bgp-down", "bird-not-ready", "not-ready", "traffic-dead"),
    signs=(*SHARED_SIGNS, IDENTIFIER, WRONG_ID, WRONG_ID_HEX, OPEN_SENT),
    look=Seen,
    rules=(over, reserved_id, valid_ids, hashed),
    fix=fix,
)
