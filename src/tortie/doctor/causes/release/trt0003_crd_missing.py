"""TRT0003: a CRD of Calico's is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.datastore.api_errors import (
    CRD_NOT_FOUND,
    HARMLESS_KINDS,
    MISSING_KIND,
    MISSING_PATH,
    NO_MATCHES,
    calico_version,
    missing_kinds,
    plural_of,
)
from tortie.doctor.causes.release.operator_evidence import said_by_kubectl, well_now
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.underlay.traffic_evidence import Row, agents_fine, rows
from tortie.doctor.causes.ways import apply_release
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

OLD_FORM = Sign("crd-old-form", "resource does not exist: <kind>\\(<name>\\)")
NO_TYPE = Sign("crd-no-type", 'the server doesn\'t have a resource type "<plural>"')
CACHE = Sign("crd-cache", "failed to wait for <controller> caches to sync")
GROUP = "crd.projectcalico.org"
OPERATORS = "operator.tigera.io"
_LISTED = r"^(?:customresourcedefinition[.]apiextensions[.]k8s[.]io/)?(\w+)[.]operator[.]tigera[.]io\b"
# What the operator cannot work without, by the controller that waits for it.
WATCHED = {"installation": "installations", "apiserver": "apiservers", "tigerastatus": "tigerastatuses"}
SERVED = "projectcalico.org/"
OURS = (
    "ippool",
    "felixconfig",
    "bgp",
    "clusterinfo",
    "globalnetwork",
    "hostendpoint",
    "ipam",
    "blockaffin",
    "networkset",
    "kubecontrollers",
    "tier",
    "caliconode",
    "staged",
    "networkpolicies",
    "ipreservation",
)


class Seen:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        # projectcalico.org/v3 is served by Calico's API server; clusters without it lack nothing.
        own = [kind for kind in missing_kinds(picture) if kind.own]
        self.missing = [kind for kind in own if not kind.hit.value("version").startswith(SERVED)]
        hits = picture.hits(CRD_NOT_FOUND)
        self.absent = [hit for hit in hits if GROUP in hit.value("crd") or "tigera.io" in hit.value("crd")]
        self.untyped = [hit for hit in picture.hits(NO_TYPE) if hit.value("plural").lower().startswith(OURS)]
        self.version = calico_version(picture)

    @cached_property
    def names(self) -> list[str]:
        names = [hit.value("crd").lower() for hit in self.absent]
        names += [f"{kind.plural}.{GROUP}" for kind in self.missing]
        names += [f"{hit.value('plural').partition('.')[0].lower()}.{GROUP}" for hit in self.untyped]
        return list(dict.fromkeys(name for name in names if not name.startswith(HARMLESS_KINDS)))

    @cached_property
    def unlisted(self) -> list[tuple[str, Hit, Row]]:
        """Kinds that one of the operator's controllers waits for, and that a list with their siblings lacks."""
        waits = self.picture.hits(CACHE)
        listed = list(rows(self.picture, _LISTED, "crd", "customresourcedefinition", needle=OPERATORS)) if waits else []
        siblings = {row.match[1] for row in listed}
        if len(siblings) < 2:  # asked for by name, or cut
            return []
        wanted = [(plural, hit) for hit in waits for word, plural in WATCHED.items() if word in hit.value("controller")]
        return [(f"{plural}.{OPERATORS}", hit, listed[0]) for plural, hit in wanted if plural not in siblings]

    @property
    def needed(self) -> bool:
        return bool(self.missing or (self.absent and self.names))


def applied_since(seen: Seen) -> Finding | None:
    """kubectl did not know the kind when a file was applied; whoever needs it is well by now."""
    typed = seen.missing and all(kind.hit.prose or said_by_kubectl(kind.hit) for kind in seen.missing)
    well = well_now(seen.picture, "calico") or (seen.picture.agents_now() if agents_fine(seen.picture) else [])
    return ruled_out(well[:1]) if typed and well and not seen.absent else None


def installed(seen: Seen) -> Finding | None:
    if not seen.needed or seen.absent:
        return None
    crd = seen.names[0]
    present = next(rows(seen.picture, rf"^{crd.replace('.', '[.]')}\s+\d{{4}}-", needle=GROUP), None)
    return ruled_out((present,), crd=crd) if present else None


def not_installed(seen: Seen) -> Finding | None:
    if not seen.needed:
        return None
    who = culprits(
        named("resource", *seen.names[:4], *(kind.kind for kind in seen.missing[:3])), named("version", seen.version),
        Culprit("resource", "CustomResourceDefinition"),
    )  # fmt: skip
    evidence = (*seen.absent[:1], *(kind.hit for kind in seen.missing[:2]), *seen.untyped[:1])
    # Where somebody only asked for it, nothing shows that anything needs it.
    strength = LIKELY if not seen.missing else PROVEN if seen.absent or seen.untyped else STRONG
    return found(strength, who, evidence, crd=seen.names[0], version=seen.version)


def not_listed(seen: Seen) -> Finding | None:
    if not seen.unlisted:
        return None
    crd, waits, listed = seen.unlisted[0]
    who = culprits(named("resource", crd, "CustomResourceDefinition"), named("version", seen.version))
    return found(PROVEN, who, (waits, listed), crd=crd)


def old_form(seen: Seen) -> Finding | None:
    """`resource does not exist: Kind(name)`: the resource, or its definition."""
    hits = seen.picture.hits(OLD_FORM)
    old = [hit for hit in hits if "with error" not in hit.line and not _harmless(hit.value("kind"))]
    if not old:
        return None
    kind = old[0].value("kind")
    crd = f"{plural_of(kind)}.{GROUP}"
    failing = "ERROR" in old[0].line or "FATAL" in old[0].line or seen.untyped
    evidence = (*old[:1], *seen.untyped[:1])
    return found(LIKELY if failing else POSSIBLE, named("resource", crd, kind), evidence, crd=crd, kind=kind)


def not_known(seen: Seen) -> Finding | None:
    if not seen.untyped:
        return None
    return found(POSSIBLE, named("resource", *seen.names[:3]), seen.untyped[:1], crd=next(iter(seen.names), ""))


def _harmless(kind: str) -> bool:
    return kind.lower().startswith(HARMLESS_KINDS) or kind.lower().startswith("kubernetes")


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield do("crds", version=calico_version(picture))
    yield from apply_release(picture, "crds.yaml")
    yield do("restart")


CAUSE = Cause(
    module=__name__,
    id="crd-missing",
    code="TRT0003",
    severity="high",
    explains=(
        "crash-loop", "not-ready", "controllers-failing", "datastore-error", "start-terminated", "operator-degraded",
        "felix-not-ready", "log-errors", "restarts", "init-crash",
    ),
    signs=(MISSING_KIND, MISSING_PATH, NO_MATCHES, CRD_NOT_FOUND, OLD_FORM, NO_TYPE, CACHE),
    look=Seen,
    rules=(applied_since, installed, not_installed, not_listed, old_form, not_known),
    fix=fix,
    yields_to=("manifest-image-skew", "version-skew"),
)  # fmt: skip
