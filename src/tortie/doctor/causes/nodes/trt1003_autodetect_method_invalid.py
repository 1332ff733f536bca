"""TRT1003: the autodetection method is written in a way that this release does not understand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import culprits, named
from tortie.doctor.causes.methods import METHOD, method_for, plainly, release_matters
from tortie.doctor.causes.nodes.bgp_addresses import ADDRESS_SIGNS
from tortie.doctor.causes.nodes.bgp_evidence import NODE_BUILT, NODE_NAME, NODE_USED, node_at
from tortie.doctor.causes.shared import STARTED, TERMINATING
from tortie.doctor.causes.steps import Step
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign

INVALID: Final = Sign("trt1003-method", "Invalid IP autodetection method: <rest>")
BAD_CIDR: Final = Sign("trt1003-cidr", 'Invalid CIDR "<text>" for IP autodetection method(: <rest>)?')
BAD_CIDR_BARE: Final = Sign("trt1003-cidr-bare", "for IP autodetection method: cidr=<rest>")
BAD_REGEX: Final = Sign("trt1003-regex", "Invalid interface regex")
NO_KUBERNETES: Final = Sign(
    "trt1003-kubernetes", "Cannot use method 'kubernetes-internal-ip' when not running on a Kubernetes cluster"
)
# Tortie's own words; what it merely remarks on does not end a start.
REFUSED: Final = Sign("trt1003-refused", "cannot be meant: IP_AUTODETECTION_METHOD=<value>: <rest>")
REFUSED_ALONE: Final = Sign("trt1003-refused-alone", "why: IP_AUTODETECTION_METHOD=<value>: <rest>")
FAILURES: Final = (INVALID, REFUSED, REFUSED_ALONE, BAD_CIDR, BAD_CIDR_BARE, BAD_REGEX, NO_KUBERNETES)
NEWER: Final = ("kubernetes-internal-ip", "cidr=")  # than the first releases


class Seen:
    """Methods that were refused and those that were accepted."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.hits = picture.hits(*FAILURES)
        self.accepted = picture.hits(*ADDRESS_SIGNS)
        self.setting = picture.setting(METHOD)
        self.ended = picture.hits(TERMINATING)

    @property
    def written(self) -> str:
        """In the words of Calico, in those of Tortie, in the configuration, in the line's last words."""
        said = next((hit.value("rest") for hit in self.hits if hit.sign == INVALID.key), "").strip(" .'\"")
        said = said or next((hit.value("value") for hit in self.hits if hit.value("value")), "")
        return said or (self.setting.value if self.setting else "") or self.hits[0].line.rpartition(": ")[2].strip()

    @property
    def later(self) -> bool:
        """A log goes on with an address after the last refusal, and nothing says that it is another node's."""
        last = self.hits[-1]
        node = node_at(self.picture, last.place, last.host)
        went_on = (*self.accepted, *self.picture.hits(STARTED))
        after = [hit for hit in went_on if hit.place.source == last.place.source and hit.place > last.place]
        return any(not node or node_at(self.picture, hit.place, hit.host) in ("", node) for hit in after)

    @property
    def unknown(self) -> str:
        """The method, where the release does not know it at all; a bad network is another matter."""
        whole = any(hit.sign in (INVALID.key, NO_KUBERNETES.key) for hit in self.hits)
        method = "kubernetes-internal-ip" if self.picture.hits(NO_KUBERNETES) else self.written
        return method if whole and method.startswith(NEWER) else ""


def accepted(seen: Seen) -> Finding | None:
    return ruled_out(seen.accepted[:1]) if seen.accepted and not seen.hits else None


def accepted_later(seen: Seen) -> Finding | None:
    agents = seen.picture.agents_now()
    after = [hit for hit in seen.accepted if seen.hits and hit.place > seen.hits[-1].place]
    return ruled_out(after[:1]) if after and agents and all(pod.all_ready for pod in agents) else None


def refused(seen: Seen) -> Finding | None:
    if not seen.hits:
        return None
    first, written = seen.hits[0], seen.written
    node = node_at(seen.picture, first.place, first.host)
    version = next((one.version for one in seen.picture.versions("calico")), "")
    return found(
        POSSIBLE if seen.later else PROVEN if seen.ended or seen.setting else STRONG,
        culprits(named("setting", written, METHOD), named("version", version), named("node", node)),
        (seen.setting, *seen.hits[:2], *seen.ended[:1]),
        written=written,
        unknown=seen.unknown,
        node=node,
        version=version,
    )


def _meant(picture: Picture, written: str, unknown: str) -> str:
    """The nearest form that can be read, else one that fits the cluster."""
    from tortie.addressing.methods import BadMethod, parse_method

    right = ""
    try:
        parse_method(written)
    except BadMethod as error:
        right = error.right
    usable = right and right != "agreed" and not written.startswith(NEWER)
    return plainly(right) if usable else method_for(picture, refused=unknown)


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    method = _meant(picture, finding.value("written"), finding.value("unknown"))
    if release_matters(picture, method):
        yield do("release")
    yield from ways.set_autodetection(picture, method)
    version = picture.version("calico")
    yield do("forms" if not version or version >= (3, 22) else "forms-3-16" if version >= (3, 16) else "forms-first")


CAUSE = Cause(
    module=__name__,
    id="autodetect-method-invalid",
    code="TRT1003",
    severity="high",
    explains=("start-terminated", "crash-loop", "not-ready"),
    signs=(*FAILURES, *ADDRESS_SIGNS, STARTED, TERMINATING, NODE_NAME, NODE_BUILT, NODE_USED),
    look=Seen,
    rules=(accepted, accepted_later, refused),
    fix=fix,
)
