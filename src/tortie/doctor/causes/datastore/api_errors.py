"""How the API server says no: 403, 404 and what is missing, read out of the texts; and which releases fit together."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.model.tuples import NamedTuple

# The shared sign wants a group; the core group is written as an empty string, so these stop before it.
FORBIDDEN: Final = Sign("api-forbidden", 'is forbidden: User "<user>" cannot <verb> (resource |resources )"<resource>"')
FORBIDDEN_OLD: Final = Sign(
    "api-forbidden-old",
    'is forbidden: User "<user>" cannot <verb> <resource> (at the cluster scope|in the namespace)',
)
# The API server's own record of a request that it refused.
AUDITED: Final = Sign("api-audited", 'authorization.k8s.io/decision":( )?"forbid')
MISSING_KIND: Final = Sign(
    "api-missing-kind",
    "resource does not exist: <kind>(\\(<name>\\))? with error: the server could not find the requested resource",
)
MISSING_PATH: Final = Sign(
    "api-missing-path", "the server could not find the requested resource \\(<verb> <plural>.crd.projectcalico.org"
)
NO_MATCHES: Final = Sign("api-no-matches", 'no matches for kind "<kind>" in version "<version>"')
CRD_NOT_FOUND: Final = Sign("api-crd-not-found", 'customresourcedefinitions.apiextensions.k8s.io "<crd>" not found')

_RECORD: Final = {
    "user": re.compile(r"\"username\" ?: ?\"([\w:.@-]{1,200})\""),
    "verb": re.compile(r"\"verb\" ?: ?\"(\w{1,20})\""),
    "resource": re.compile(r"\"resource\" ?: ?\"([\w./-]{1,80})\""),
}

# Kinds that Kubernetes serves itself; everything else that Calico asks for is a CRD of its own.
CORE_KINDS: Final = (
    "kubernetes",
    "endpointslice",
    "customresourcedefinition",
    "poddisruptionbudget",
    "podsecuritypolicy",
    "daemonset",
    "deployment",
    "networkpolicies",
    "clusterrole",
    "rolebinding",
)
# Asked for by every start, absent in every new cluster, logged at INFO.
HARMLESS_KINDS: Final = ("globalfelixconfig", "globalbgpconfig", "globalbgppeer")
OWN_GROUPS: Final = ("crd.projectcalico.org", "projectcalico.org", "operator.tigera.io")


class Refusal(NamedTuple):
    """One 403: who may not do what."""

    hit: Hit
    user: str
    verb: str
    resource: str
    object: str = ""  # the one object it is about

    @property
    def account(self) -> str:
        return self.user.rpartition(":")[2]


def refusals(picture: Picture) -> list[Refusal]:
    """403s against Calico's own accounts, without the one on kubeadm-config that start-up tolerates."""
    found: dict[tuple[str, str, str, str], Refusal] = {}
    for hit in picture.hits(FORBIDDEN, FORBIDDEN_OLD):
        refusal = Refusal(hit, hit.value("user"), hit.value("verb"), hit.value("resource"), _object(hit))
        if "kubeadm-config" in _before(hit):
            continue
        if not refusal.user.startswith("system:serviceaccount:") and not _by_calico(hit):
            continue
        found.setdefault((refusal.user, refusal.verb, refusal.resource, ""), refusal)
    for refusal in _audited(picture):
        found.setdefault((refusal.user, refusal.verb, refusal.resource, ""), refusal)
    return list(found.values())


def _audited(picture: Picture) -> list[Refusal]:
    """Of a record on one line, as the API server writes its audit log."""
    found = []
    for hit in picture.hits(AUDITED):
        said = {name: match[1] for name, pattern in _RECORD.items() if (match := pattern.search(hit.line))}
        ours = said.get("user", "").startswith("system:serviceaccount:")
        if ours and "kubeadm-config" not in hit.line and len(said) == len(_RECORD):
            found.append(Refusal(hit, said["user"], said["verb"], said["resource"]))
    return found


def _before(hit: Hit) -> str:
    """What stands on the line before the refusal: the object it is about."""
    start = hit.line.find("is forbidden")
    return hit.line[:start] if start >= 0 else hit.line


def _object(hit: Hit) -> str:
    named = re.search(r"[\"'“]([^\"'”\s]+?)\\?[\"'”]\s+is forbidden", hit.line)
    return named[1] if named else ""


def _by_calico(hit: Hit) -> bool:
    """Calico may use another identity, such as kubelet's certificate: then its own log says so."""
    return "projectcalico" in hit.line or re.search(r"logs\b.{0,300}\b(?:calico|canal|typha)", hit.command) is not None


class MissingKind(NamedTuple):
    """One 404 on a kind. `plural` is the resource's name, `own` tells Calico's CRDs from Kubernetes' APIs."""

    hit: Hit
    kind: str
    plural: str
    own: bool


def missing_kinds(picture: Picture) -> list[MissingKind]:
    found: dict[str, MissingKind] = {}
    for hit in picture.hits(MISSING_PATH, MISSING_KIND, NO_MATCHES):
        kind = hit.value("plural") or hit.value("kind")
        kind = kind.partition("(")[0]
        if kind.lower().startswith(HARMLESS_KINDS):
            continue
        version = hit.value("version")
        own = version.startswith(OWN_GROUPS) if version else not kind.lower().startswith(CORE_KINDS)
        plural = kind.lower() if hit.value("plural") else plural_of(kind)
        found.setdefault(plural, MissingKind(hit, kind, plural, own))
    return list(found.values())


def plural_of(kind: str) -> str:
    low = kind.lower()
    if low.endswith("y"):
        return low[:-1] + "ies"
    return low if low.endswith("s") and not low.endswith("ss") else low + "s"


# Releases

# (from, until) of Calico and of Kubernetes, both inclusive; None is open. What that pair lacks.
MISFITS: Final = (
    ((3, 20), (3, 22), (1, 25), None, "discovery.k8s.io/v1beta1"),
    ((3, 23), None, None, (1, 20), "discovery.k8s.io/v1"),
    (None, (3, 14), (1, 22), None, "apiextensions.k8s.io/v1beta1"),
)


def calico_version(picture: Picture) -> str:
    """As tags write it: v3.21.5; of the node agent's image, else any."""
    known = [version.version for version in picture.versions("calico")]
    return ("v" + known[-1].lstrip("v")) if known else ""


def kubernetes_version(picture: Picture) -> tuple[int, ...] | None:
    return picture.version("kubernetes") or picture.version("kubelet") or _by_nodes(picture) or _as_told(picture)


def _as_told(picture: Picture) -> tuple[int, ...] | None:
    """The release that people say they upgraded to."""
    told = [
        said.values[2] for said in picture.said("upgraded") if said.values[:1] == ("kubernetes",) and said.values[2:]
    ]
    numbers = tuple(int(part) for part in re.findall(r"\d+", told[-1])[:3]) if told else ()
    return numbers if len(numbers) > 1 else None


def _by_nodes(picture: Picture) -> tuple[int, ...] | None:
    for node in picture.nodes_now().values():
        numbers = tuple(int(part) for part in re.findall(r"\d+", node.version)[:3])
        if numbers:
            return numbers
    return None


def misfit(picture: Picture) -> str:
    """The API that this Calico needs and this Kubernetes does not serve, by their versions; empty when they fit."""
    calico, kubernetes = picture.version("calico"), kubernetes_version(picture)
    if not calico or not kubernetes:
        return ""
    for calico_from, calico_until, kube_from, kube_until, api in MISFITS:
        if _within(calico[:2], calico_from, calico_until) and _within(kubernetes[:2], kube_from, kube_until):
            return api
    return ""


def _within(version: tuple[int, ...], low: tuple[int, ...] | None, high: tuple[int, ...] | None) -> bool:
    return (low is None or version >= low) and (high is None or version <= high)
