"""TRT7010: pods or tunnels send packets larger than the path lets through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.kernel.mtu_evidence import (
    HEADERS,
    LARGE,
    TOO_LONG,
    conflict,
    narrow_path,
    nested,
    pings_by_size,
)
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.underlay.traffic_evidence import host_of
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.addresses import public
from tortie.doctor.picture.facts import Ping
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

NEEDS_UPDATE = Sign("mtu-needs-update", "device MTU needs to be updated…new=<n_new> old=<n_old>")
NOT_SET = Sign("mtu-not-set", "Failed to set vxlan tunnel device MTU")
FRAG_NEEDED = Sign("mtu-frag-needed", "Frag needed and DF set")
NEED_TO_FRAG = Sign("mtu-need-to-frag", "unreachable - need to frag \\(mtu <n>\\)")  # as a capture shows it
CLIENT_HELLO = Sign("mtu-client-hello", "TLS handshake, Client hello")
SERVER_HELLO = Sign("mtu-server-hello", "TLS handshake, Server hello")
AUTOMATIC: Final = (3, 17)  # from here on Calico finds the MTU by itself, by links of these names
FOUND_LINKS: Final = lazily(r"(?:en|wl|ww|sl|ib)[Pcopsvx]|eth|wlan|wwan")


class Seen:
    """Sizes that do not fit, by links, by Felix's log, by pings and by what people say."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.conflict, self.said = conflict(picture), picture.said("large-packets-stall")
        self.refused = picture.hits(NOT_SET)
        updates = (hit for hit in picture.hits(NEEDS_UPDATE) if _grows(hit.value("n_new"), hit.value("n_old")))
        self.update = next(updates, None)
        self.setting = picture.setting("veth_mtu") or picture.setting("mtu")
        self.small, self.large = pings_by_size(picture)
        self.frag = next((hit for hit in picture.hits(FRAG_NEEDED, NEED_TO_FRAG) if not _to_the_internet(hit)), None)

    @property
    def stalled(self) -> tuple[object, ...]:
        return (*self.large[:1], self.frag, *self.said[:1])

    @property
    def culprits(self) -> tuple[Culprit, ...]:
        links = (self.conflict.sender, self.conflict.limit) if self.conflict else ()
        logged = [hit for hit in (self.update, *self.refused[:1]) if hit]
        return culprits(
            Culprit("setting", "veth_mtu"),
            named("interface", *(link for link in links if " " not in link)),
            named("setting", str(self.conflict.sent) if self.conflict else ""),
            named("node", self.conflict.host if self.conflict else ""),
            Culprit("setting", "mtu"),
            named("setting", self.setting.value if self.setting else ""),
            named("setting", self.update.value("n_new") if self.update else ""),
            named("interface", "vxlan.calico" if logged else ""),
            named("node", *(host_of(self.picture, hit) for hit in logged)),
        )


def too_large(seen: Seen) -> Finding | None:
    if seen.conflict is None:
        return None
    one = seen.conflict
    proof = seen.said or seen.frag or (seen.small and seen.large) or seen.refused
    evidence = (*one.facts, seen.setting, seen.update, *seen.refused[:1], *seen.stalled)
    return found(
        PROVEN if proof else LIKELY, seen.culprits, evidence, sender=one.sender, sent=one.sent, limit=one.limit,
        fits=str(one.fits), payload=one.fits - HEADERS, remote_pod=seen.large[0].address if seen.large else "",
    )  # fmt: skip


def docker_in_a_pod(seen: Seen) -> Finding | None:
    one = nested(seen.picture)
    if one is None:
        return None
    felt = (*seen.stalled, *seen.picture.said("suffers")[:1])
    who = culprits(named("interface", one.bridge), Culprit("setting", "mtu"), named("setting", str(one.sent)))
    return found(
        STRONG if any(felt) else POSSIBLE, who, (*one.facts, *felt), sender=one.bridge, sent=one.sent, limit=one.link,
        fits=str(one.fits), payload=one.fits - HEADERS,
    )  # fmt: skip


def kernel_refuses(seen: Seen) -> Finding | None:
    if seen.update is None or not seen.refused:
        return None
    wanted, fits = seen.update.value("n_new"), seen.update.value("n_old")
    evidence = (seen.update, seen.refused[0], seen.setting, *seen.stalled)
    return found(STRONG, seen.culprits, evidence, wanted=wanted, fits=fits, payload=int(fits) - HEADERS)


def large_lost(seen: Seen) -> Finding | None:
    if not seen.large or not (seen.small or seen.said):
        return None
    lost, narrow = seen.large[0], narrow_path(seen.picture)
    link = named("interface", narrow.link if narrow else "")
    who = culprits(seen.culprits, link, named("address", lost.address), named("node", lost.host))
    evidence = (*seen.stalled, *seen.small[:1], *((narrow.fact,) if narrow else ()))
    return found(
        STRONG, who, evidence, size=lost.size or 0, address=lost.address, remote_pod=lost.address,
        say="narrow-path" if narrow else "", narrow=str(narrow.fits) if narrow else "",
        link=narrow.link if narrow else "", mtu=narrow.mtu if narrow else "",
        payload=narrow.fits - HEADERS if narrow else "",
    )  # fmt: skip


def path_says_so(seen: Seen) -> Finding | None:
    if seen.frag is None:
        return None
    strength = STRONG if seen.said and seen.frag.sign == NEED_TO_FRAG.key else LIKELY
    return found(strength, culprits(seen.culprits, named("node", seen.frag.host)), (seen.frag, *seen.said[:1]))


def large_stall(seen: Seen) -> Finding | None:
    hello = seen.picture.hit(CLIENT_HELLO)
    unanswered = hello and not seen.picture.hit(SERVER_HELLO)
    return found(POSSIBLE, seen.culprits, (*seen.said[:1], hello)) if seen.said or unanswered else None


def large_pass(seen: Seen) -> Finding | None:
    passed = [ping for ping in seen.picture.of(Ping) if ping.ok and (ping.size or 0) >= LARGE]
    return ruled_out(passed[:1]) if passed else None


def _to_the_internet(hit: Hit) -> bool:
    """A host that pings something outside learns the size of its own line."""
    return "exec" not in hit.command and any(public(word) for word in hit.command.split())


def _grows(new: str, old: str) -> bool:
    return new.isdecimal() and old.isdecimal() and int(new) > int(old)


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    fits, link = finding.value("fits"), finding.value("limit")
    if finding.rule == "docker-in-a-pod":
        yield do("daemon")
        return
    by_hand = fits and (_too_old(picture) or not (FOUND_LINKS.match(link) or "." in link or link.startswith("tunl")))
    narrow = finding.value("narrow")  # what the agent would find at its own link is too much for this path
    yield from ways.set_config_map(picture, "veth_mtu", narrow or (fits if by_hand else "0"))
    yield do("pods")


def _too_old(picture: Picture) -> bool:
    """For an automatic MTU; without Calico's release the cluster's says how old it is."""
    calico, cluster = picture.version("calico"), picture.version("kubernetes") or picture.version("kubelet")
    return calico < AUTOMATIC if calico else bool(cluster and cluster < (1, 19))


CAUSE = Cause(
    module=__name__,
    id="mtu-mismatch",
    code="TRT7010",
    severity="medium",
    explains=("traffic-dead", "service-dead", "log-errors"),
    signs=(NEEDS_UPDATE, NOT_SET, FRAG_NEEDED, NEED_TO_FRAG, TOO_LONG, CLIENT_HELLO, SERVER_HELLO),
    look=Seen,
    rules=(too_large, docker_in_a_pod, kernel_refuses, large_lost, path_says_so, large_stall, large_pass),
    fix=fix,
)
