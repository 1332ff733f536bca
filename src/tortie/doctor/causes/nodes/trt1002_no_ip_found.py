"""TRT1002: autodetection looked at the host and found no address it may take."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import culprits, named
from tortie.doctor.causes.methods import METHOD, method_for, release_matters, widened
from tortie.doctor.causes.nodes.address_replay import skipped_by
from tortie.doctor.causes.nodes.bgp_addresses import ADDRESS_SIGNS, inner_link
from tortie.doctor.causes.nodes.bgp_evidence import NODE_BUILT, NODE_NAME, NODE_USED, node_at
from tortie.doctor.causes.shared import STARTED, TERMINATING
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.surroundings import has_operator
from tortie.doctor.picture.facts import Interface
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

NONE_FOUND: Final = Sign("trt1002-none", "Unable to auto-detect an <family> address: no valid <rest>")
NO_MATCH: Final = Sign(
    "trt1002-regex", "Unable to auto-detect an <family> address using interface regex(es)? [<list_re>]: <rest>"
)
NO_MATCH_BARE: Final = Sign(
    "trt1002-regex-bare", "auto-detect an <family> address using interface regex(es)? <re>: no valid"
)
EXCLUDED: Final = Sign("trt1002-skip", "Unable to auto-detect an <family> address while excluding [<list_re>]: <rest>")
OUTSIDE: Final = Sign(
    "trt1002-cidr", "Unable to auto-detect an <family> address using interface cidr(s)? [<list_re>]: <rest>"
)
UNREACHED: Final = Sign("trt1002-reach", "Unable to auto-detect <family> address by connecting to <dest>: <rest>")
NO_AUTODETECT: Final = Sign("trt1002-couldnt", "Couldn't autodetect an <family> address. If auto-detecting")
OLD_FORM: Final = Sign("trt1002-old", "Couldn't autodetect a management <family> address")
FAILURES: Final = (NO_MATCH, NO_MATCH_BARE, EXCLUDED, OUTSIDE, UNREACHED, NONE_FOUND, NO_AUTODETECT, OLD_FORM)
LOOKING: Final = Sign("trt1002-looking", "Initialize BGP data")  # the last line before it looks for an address
KEPT: Final = Sign("trt1002-kept", "Autodetection of <family> address failed, keeping existing value: <rest>")
NEAR: Final = 3  # lines; what is said of one look stands together
METHOD_6: Final = "IP6_AUTODETECTION_METHOD"


class Seen:
    """Looks that found nothing; `spared` are those after which the node goes on with the address that it had."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.kept = picture.hits(KEPT)
        self.detected = picture.hits(*ADDRESS_SIGNS)
        self.hits = [hit for hit in picture.hits(*FAILURES) if not self._spared(hit)]
        self.ended = picture.hits(TERMINATING)

    def _spared(self, hit: Hit) -> bool:
        same = (kept for kept in self.kept if kept.place.source == hit.place.source)
        return any(0 <= kept.place.first - hit.place.first <= NEAR for kept in same)

    @cached_property
    def later(self) -> Hit | None:
        """An address that was found after the failure, in the same source."""
        last = self.hits[-1].place
        after = (
            hit
            for hit in self.picture.hits(*ADDRESS_SIGNS, STARTED)
            if hit.place.source == last.source and hit.place.first > last.first
        )
        return next(after, None)

    @cached_property
    def overlooked(self) -> list[Interface]:
        """Links of the host that have an address and are no software's own."""
        links = [link for link in self.picture.of(Interface) if link.name != "lo" and not inner_link(link.name)]
        return [link for link in links if any(map(_usable, link.addresses))]

    @property
    def asked(self) -> str:
        """What the look was for: names, networks, a destination."""
        values = (hit.value("list_re") or hit.value("re") or hit.value("dest") for hit in self.hits if hit.values)
        return next(values, "")

    @property
    def names_asked(self) -> str:
        """Names of links only; other nodes may still need them."""
        regexes = (hit for hit in self.hits if hit.sign in (NO_MATCH.key, NO_MATCH_BARE.key))
        return next((",".join((hit.value("list_re") or hit.value("re")).split()) for hit in regexes), "")

    @property
    def strength(self) -> float:
        if self.later:
            return POSSIBLE
        if not self.ended and all(hit.sign in (NO_AUTODETECT.key, OLD_FORM.key) for hit in self.hits):
            return LIKELY
        return PROVEN if self.ended and (self.overlooked or self.asked) else STRONG


def _usable(address: str) -> bool:
    return "." in address and not address.startswith(("127.", "169.254."))


def _shown(picture: Picture, link: Interface) -> str:
    """The link with its address, and the pattern of first-found that its name falls under."""
    pattern = skipped_by(picture, link.name)
    return f"{link.name} ({link.addresses[0]}" + (f", {pattern})" if pattern else ")")


def stored_kept(seen: Seen) -> Finding | None:
    return ruled_out(seen.kept[:1]) if seen.kept and not seen.hits else None


def detected(seen: Seen) -> Finding | None:
    return ruled_out(seen.detected[:1]) if seen.detected and not seen.hits else None


def detected_later(seen: Seen) -> Finding | None:
    agents = seen.picture.agents_now()
    well = agents and all(pod.all_ready for pod in agents)
    return ruled_out((seen.later,)) if seen.hits and well and seen.later else None


def nothing_found(seen: Seen) -> Finding | None:
    if not seen.hits:
        return None
    first, links = seen.hits[0], seen.overlooked
    setting = METHOD_6 if "6" in first.value("family") else METHOD
    method = seen.picture.setting(setting)
    written = method.value if method else ""
    node = node_at(seen.picture, first.place, first.host)
    blamed = culprits(
        named("interface", *(link.name for link in links)),
        named("setting", seen.asked, setting, written),
        named("node", node),
    )
    return found(
        seen.strength,
        blamed,
        (method, *links[:2], *seen.hits[:2], *seen.ended[:1]),
        node=node,
        interface=links[0].name if links else "",
        family=first.value("family"),
        regex=seen.names_asked,
        how=seen.asked or written or "first-found",
        have=[_shown(seen.picture, link) for link in links[:2]],
    )


def passed_over(seen: Seen) -> Finding | None:
    """What it says of the look is cut off: the release passes over every link that has an address of the host's own."""
    picture, links = seen.picture, seen.overlooked
    if not picture.hits(LOOKING) or seen.detected or picture.value(METHOD) not in ("", "first-found"):
        return None
    if not links or not all(skipped_by(picture, link.name) for link in links):
        return None
    blamed = culprits(named("interface", *(link.name for link in links)), named("setting", METHOD))
    method = picture.setting(METHOD)
    return found(
        STRONG if restarts(picture) else LIKELY, blamed, (*links[:2], method, *picture.hits(LOOKING)[-1:]),
        say="nothing-found",
        interface=links[0].name, family="IPv4", how="first-found",
        have=[_shown(picture, link) for link in links[:2]],
    )  # fmt: skip


def restarts(picture: Picture) -> bool:
    """The agent ends again and again, by its row or by what people say."""
    agents = [pod for pod in picture.agents_now() if not pod.all_ready and (pod.restarts or "CrashLoop" in pod.status)]
    return bool(agents or picture.said("keeps-restarting", "complains"))


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    interface, family = finding.value("interface"), finding.value("family").lower()
    if family == "ipv4" and not interface and _only_ipv6(picture):
        yield do("ipv6-only-operator" if has_operator(picture) else "ipv6-only")
        return
    method = widened(picture, finding.value("regex"), interface) if interface else ""
    method = method or method_for(picture)
    if "6" in family and method.startswith(("cidr=", "can-reach=")):
        method = ""  # these are known by addresses of the other family
    yield do("links")
    if release_matters(picture, method):
        yield do("release")
    yield from ways.set_autodetection(picture, method, 6 if "6" in family else 4)


def _only_ipv6(picture: Picture) -> bool:
    links = [link for link in picture.of(Interface) if link.name != "lo" and link.addresses]
    return bool(links) and not any("." in address for link in links for address in link.addresses)


def _by_name(picture: Picture, finding: Finding) -> bool:
    return bool(finding.value("regex"))


CAUSE = Cause(
    module=__name__,
    id="no-ip-found",
    code="TRT1002",
    severity="high",
    explains=("start-terminated", "crash-loop", "not-ready"),
    signs=(*FAILURES, KEPT, LOOKING, *ADDRESS_SIGNS, STARTED, TERMINATING, NODE_NAME, NODE_BUILT, NODE_USED),
    look=Seen,
    rules=(stored_kept, detected, detected_later, nothing_found, passed_over),
    fix=fix,
    prevents={"by-address": _by_name},
    yields_to=("autodetect-method-invalid",),  # a method that cannot be read finds nothing
)
