"""TRT1011: the two ends of a session have different TCP MD5 passwords, or only one has any."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, cached_property
from typing import Final

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.nodes.bgp_evidence import (
    BGP_PORT,
    MD5_BIRD,
    MD5_COUNTED,
    MD5_KERNEL,
    MD5_ROUTER,
    SECRET_REF,
    few,
    md5_counted,
    missing_peers,
    settled,
    trouble,
)
from tortie.doctor.picture.facts import Document
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.places import exhibit_at
from tortie.doctor.signs import Hit, Sign

NO_PASSWORD: Final = Sign("trt1011-no-password", "Can't read password for BGPPeer <name>")
NO_MESH_PASSWORD: Final = Sign("trt1011-no-mesh-password", "Can't read (BGP )?password for (node mesh|mesh)")
NOT_HAD: Final = Sign("trt1011-not-had", "BGPPeer\\(<name>\\): no session: its password")  # Tortie's own word for it
# The kernel did not take the key at all: no memory left for options, or no support for signatures.
NOT_TAKEN: Final = Sign("trt1011-not-taken", "TCP_MD5SIG: <reason>")
NOT_SUPPORTED: Final = Sign("trt1011-not-supported", "Kernel does not support TCP MD5 signatures")
PASSWORD_FIELD: Final = Sign("trt1011-mesh-field", "nodeMeshPassword")


@cache
def _address() -> re.Pattern[str]:
    return re.compile(r"((?:\d{1,3}\.){3}\d{1,3})")


@cache
def _port() -> re.Pattern[str]:
    return re.compile(r"(?:\d{1,3}\.){3}\d{1,3}\.?(?:,\s*|:)(\d{1,5})\b")


class Seen:
    """What kernels, BIRD, routers and agents say of signatures and passwords."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        kernel = [hit for hit in picture.hits(MD5_KERNEL) if self._concerns(hit)]
        router = [hit for hit in picture.hits(MD5_ROUTER) if "179" in hit.line or "bgp" in hit.line.lower()]
        self.kernel: list[Hit] = [*kernel, *router, *md5_counted(picture)]
        self.bird = picture.hits(MD5_BIRD)
        self.unread = picture.hits(NO_PASSWORD, NOT_HAD, NO_MESH_PASSWORD)
        self.configured = picture.hits(SECRET_REF, PASSWORD_FIELD)

    def _concerns(self, hit: Hit) -> bool:
        """Other programs sign their packets, too, and strangers from elsewhere send some to this port."""
        ports = _port().findall(hit.line)
        if ports and str(BGP_PORT) not in ports:
            return False
        named_there = set(_address().findall(hit.line))
        down = {peer.address for peer in missing_peers(self.picture)}
        down |= {session.peer for session in self.picture.sessions_down()}
        return not named_there or not down or bool(named_there & down)

    @cached_property
    def ends(self) -> list[str]:
        """Addresses of both ends: of packets that were dropped, and of sessions that are down."""
        lines = [hit.line for hit in self.kernel if hit.sign != MD5_COUNTED.key]
        dropped = [address for line in lines for address in _address().findall(line)]
        missing = [peer.address for peer in missing_peers(self.picture)]
        return list(dict.fromkeys([*dropped, *missing, *(s.peer for s in self.picture.sessions_down()[:3])]))

    @cached_property
    def unsigned(self) -> list[str]:
        """BGPPeers with one of these addresses that are shown whole and name no password."""
        peers = [document for document in self.picture.of(Document) if document.kind == "BGPPeer" and document.name]
        specs = [(document.name, document.body.get("spec")) for document in peers]
        bare = [(name, spec) for name, spec in specs if isinstance(spec, dict) and "password" not in spec]
        return list(dict.fromkeys(name for name, spec in bare if str(spec.get("peerIP", "")) in self.ends))

    @cached_property
    def peer(self) -> str:
        """The BGPPeer at fault, as its resource is called."""
        return (self.unread[0].value("name") if self.unread else "") or next(iter(self.unsigned), "")

    @property
    def culprits(self) -> tuple[Culprit, ...]:
        return culprits(
            named("peer", self.peer, *self.unsigned[1:], *self.ends),
            named("setting", "password"),
            named("resource", "BGPPeer"),
            named("port", "179/tcp"),
        )

    @property
    def evidence(self) -> tuple[object, ...]:
        return (*self.unread[:2], *self.kernel[:2], *self.bird[:2], *missing_peers(self.picture)[:2])


def established(seen: Seen) -> Finding | None:
    up = seen.picture.sessions()
    return ruled_out(up[:1]) if up and settled(seen.picture) else None


def key_not_taken(seen: Seen) -> Finding | None:
    """BIRD says "auth failed" for that, too; no packet was ever compared."""
    refused = seen.picture.hits(NOT_TAKEN, NOT_SUPPORTED)
    return ruled_out(refused[:1], reason=refused[0].value("reason")) if refused and not seen.kernel else None


def signature_refused(seen: Seen) -> Finding | None:
    if not seen.kernel and not seen.bird:
        return None
    strength = PROVEN if seen.unread or trouble(seen.picture) else STRONG
    bare = next(iter(seen.unsigned), "")
    return found(strength, seen.culprits, seen.evidence, ends=few(seen.ends), unsigned=bare, peer=seen.peer)


def password_not_read(seen: Seen) -> Finding | None:
    """The session is then rendered without any."""
    if not seen.unread:
        return None
    down = seen.picture.sessions_down() or missing_peers(seen.picture)
    return found(STRONG if down else LIKELY, seen.culprits, seen.evidence, peer=seen.peer)


def password_configured(seen: Seen) -> Finding | None:
    if seen.configured and missing_peers(seen.picture):
        return found(POSSIBLE, named("setting", "password"), seen.configured[:1])
    return None


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    """A secret that other sessions use keeps its password: a peer without any gets one of its own."""
    peer = finding.value("peer")
    if bare := finding.value("unsigned"):
        own = {"secret": f"bgp-{bare}", "secret_key": "password"}
        yield do("new-secret", **own)
        yield do("name-secret", **own)
        return
    secret = {"secret": _reference(picture, "name", peer), "secret_key": _reference(picture, "key", peer)}
    if finding.rule == "password-not-read":
        yield do("can-read", **secret)
        yield do("new-secret", **secret)
        if peer:
            yield do("create-again")
        return
    yield do("compare")
    yield do("one-password", **secret)


def _reference(picture: Picture, part: str, peer: str) -> str:
    """The name or key of a password's secret: the peer's own, else the only one that is shown."""
    shown = [s for s in picture.settings(f"password.secretKeyRef.{part}", "bgppeer") if s.value]
    own = [setting.value for setting in shown if setting.owner == peer]
    every = {setting.value for setting in shown} or set(_written(picture, part))
    return own[-1] if own else every.pop() if len(every) == 1 else ""


def _written(picture: Picture, part: str) -> Iterator[str]:
    """The same from a piece of a resource that was cut out, below the word secretKeyRef."""
    for hit in picture.hits(SECRET_REF):
        exhibit = exhibit_at(picture, hit.place)
        at = hit.place.first - exhibit.number(0) if exhibit else 0
        for line in exhibit.lines[at + 1 : at + 3] if exhibit else ():
            name, _, value = line.strip().partition(": ")
            if name == part:
                yield value.strip("\"' ")


CAUSE = Cause(
    module=__name__,
    id="bgp-auth-mismatch",
    code="TRT1011",
    severity="medium",
    explains=("bgp-down", "bird-not-ready", "not-ready", "traffic-dead"),
    signs=(
        MD5_KERNEL, MD5_BIRD, MD5_ROUTER, MD5_COUNTED, NO_PASSWORD, NOT_HAD, NO_MESH_PASSWORD, SECRET_REF,
        PASSWORD_FIELD, NOT_TAKEN, NOT_SUPPORTED,
    ),
    look=Seen,
    rules=(established, key_not_taken, signature_refused, password_not_read, password_configured),
    fix=fix,
)  # fmt: skip
