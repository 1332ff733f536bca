"""TRT0001: this release of Calico does not fit the API of this cluster."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from tortie.doctor.causes.cause import HINT, LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.datastore.api_errors import (
    FORBIDDEN,
    MISSING_KIND,
    MISSING_PATH,
    NO_MATCHES,
    calico_version,
    kubernetes_version,
    misfit,
    missing_kinds,
)
from tortie.doctor.causes.release.operator_evidence import said_by_kubectl
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.underlay.traffic_evidence import agents_fine
from tortie.doctor.causes.ways import apply_release
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign

SLICES = Sign("skew-slices", "Failed to perform list of current data during resync…kubernetesendpointslices")
REFLECTOR = Sign("skew-reflector", "failed to list *<beta>.<kind>: the server could not find the requested resource")
CALC_GRAPH = Sign("skew-calc-graph", 'Reporter is not ready. name="async_calc_graph"')
NFT_PROXY = (3, 29)  # the first release that works with kube-proxy in nftables mode


class Seen:
    """What the agent asks the API for, and the two releases."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.core = [kind for kind in missing_kinds(picture) if not kind.own]
        hits = picture.hits(SLICES)
        self.slices = [hit for hit in hits if "could not find" in hit.line or "does not exist" in hit.line]
        self.calico, self.kubernetes = calico_version(picture), kubernetes_version(picture)
        self.api = misfit(picture)
        self.versions = tuple(v for name in ("calico", "kubernetes") for v in picture.versions(name)[-1:])

    @property
    def cluster(self) -> str:
        return "v" + ".".join(map(str, self.kubernetes)) if self.kubernetes else ""

    @property
    def kinds(self) -> list[str]:
        return [kind.kind for kind in self.core] or (["KubernetesEndpointSlice"] if self.slices else [])

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        plurals = [kind.plural for kind in self.core] or (["kubernetesendpointslices"] if self.slices else [])
        return culprits(
            named("version", self.calico, self.cluster),
            named("resource", *self.kinds, *plurals, self.api),
            named("version", *(kind.hit.value("version") for kind in self.core)),
            Culprit("program", "calico-node"),
        )

    def found(self, strength: float, evidence: tuple[object, ...], kind: str = "") -> Finding:
        return found(
            strength, self.culprits, evidence, calico=self.calico, cluster=self.cluster, kind=kind, api=self.api
        )


def missing_api(seen: Seen) -> Finding | None:
    if not (seen.core or seen.slices):
        return None
    waiting = seen.picture.hits(CALC_GRAPH)[:1]
    evidence = (*(kind.hit for kind in seen.core[:2]), *seen.slices[:1], *seen.versions, *waiting)
    fits = seen.calico and seen.kubernetes and not seen.api and seen.slices
    return seen.found(PROVEN if seen.api else LIKELY if fits else STRONG, evidence, seen.kinds[0])


def not_needed(seen: Seen) -> Finding | None:
    """Only kubectl asked for it, while a file was applied; the agents run without."""
    typed = seen.core and all(said_by_kubectl(kind.hit) for kind in seen.core) and not seen.slices
    return seen.found(HINT, (seen.core[0].hit,), seen.kinds[0]) if typed and agents_fine(seen.picture) else None


def nftables_proxy(seen: Seen) -> Finding | None:
    nft = _nft_proxy(seen.picture)
    if nft is None:
        return None
    who = culprits(
        named("version", seen.calico), Culprit("setting", "nftables"), Culprit("program", "kube-proxy"),
        named("version", seen.cluster),
    )  # fmt: skip
    return found(LIKELY, who, (nft, *seen.versions), calico=seen.calico)


def api_not_served(seen: Seen) -> Finding | None:
    if not seen.api:
        return None
    picture = seen.picture
    if agents_fine(picture):
        return seen.found(HINT, seen.versions)
    # Felix waits for what the API never sends, and since the upgrade.
    waiting, asked = picture.hits(CALC_GRAPH)[:1], picture.hits(REFLECTOR)[:1]
    said = picture.said("after-kubernetes-upgrade")[:1]
    grounds = sum(map(bool, (waiting, asked, said)))
    strength = STRONG if (waiting or asked) and grounds > 1 else LIKELY if waiting else POSSIBLE
    return seen.found(strength, (*asked, *seen.versions, *said, *waiting))


def works_here(seen: Seen) -> Finding | None:
    known = seen.calico and seen.kubernetes and seen.picture.agents()
    if known and agents_fine(seen.picture):
        return ruled_out(seen.versions, calico=seen.calico, cluster=seen.cluster)
    return None


def _nft_proxy(picture: Picture) -> object | None:
    version = picture.version("calico")
    if not version or version >= NFT_PROXY:
        return None
    return next((s for s in picture.settings("mode") if s.value.strip("\"' ") == "nftables"), None)


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield do("choose")
    yield from apply_release(picture)


CAUSE = Cause(
    module=__name__,
    id="version-skew",
    code="TRT0001",
    severity="high",
    explains=(
        "felix-not-ready", "not-ready", "crash-loop", "sandbox-failed", "datastore-error", "controllers-failing",
        "operator-degraded", "log-errors", "pod-not-created", "restarts",
    ),
    signs=(SLICES, REFLECTOR, CALC_GRAPH, MISSING_KIND, MISSING_PATH, NO_MATCHES, FORBIDDEN),
    look=Seen,
    rules=(not_needed, missing_api, nftables_proxy, api_not_served, works_here),
    fix=fix,
)  # fmt: skip
