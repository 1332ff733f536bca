"""TRT0004: Calico's service account lacks a right."""

from __future__ import annotations

from collections.abc import Iterator

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.datastore.api_errors import AUDITED, FORBIDDEN, FORBIDDEN_OLD, Refusal, refusals
from tortie.doctor.causes.shared import UNAUTHORIZED
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.underlay.traffic_evidence import Row, rows
from tortie.doctor.causes.ways import apply_release, restart_agent
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign

NO_ROLE = Sign("rbac-no-role", 'clusterrole.rbac.authorization.k8s.io "<role>" not found')
OURS = ("calico", "canal", "tigera", "typha", "flannel", "tortie")
_ROLE_REF = r"\"?kind\"?:\s*\"?ClusterRole\"?\s*,\s*\"?name\"?:\s*\"?(?P<role>[\w:.-]+)"
_ROLE_ROW = r"^(?P<role>[a-z][\w:.-]*)\s+\d"


class Seen:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        all_refused = [one for one in refusals(picture) if not _of_a_person(one)]
        self.refused = [r for r in all_refused if _ours(r.user) or not r.user.startswith("system:serviceaccount:")]
        self.roles, self.role_facts = _dangling(picture)
        self.denied = [row for row in rows(picture, r"^\s*no\b", "auth can-i") if _asked_for_us(row)]


def refused(seen: Seen) -> Finding | None:
    if not seen.refused:
        return None
    first = seen.refused[0]
    who = culprits(
        named("resource", *seen.roles, *(one.resource for one in seen.refused[:3])),
        named("user", first.account, first.user),
        named("message", first.verb),
        named("resource", *(one.object for one in seen.refused[:2]), "ClusterRole"),
        named("resource", *(one.resource for one in seen.refused[3:6])),
    )
    evidence = (*seen.role_facts[:2], *(one.hit for one in seen.refused[:2]), *seen.denied[:1])
    return found(
        PROVEN if seen.roles or seen.denied else STRONG, who, evidence, account=first.account, verb=first.verb,
        resource=first.resource, user=first.user, role=next(iter(seen.roles), ""),
    )  # fmt: skip


def no_such_role(seen: Seen) -> Finding | None:
    if not seen.roles:
        return None
    who = culprits(named("resource", *seen.roles), Culprit("resource", "ClusterRole"))
    return found(LIKELY, who, seen.role_facts[:2], role=seen.roles[0])


def unauthorized(seen: Seen) -> Finding | None:
    bare = [hit for hit in seen.picture.hits(UNAUTHORIZED) if "forbidden" not in hit.line]
    return ruled_out(bare[:1]) if bare else None


def asked_and_denied(seen: Seen) -> Finding | None:
    if not seen.denied:
        return None
    asked = seen.denied[0].command.partition("can-i ")[2].split()
    return found(POSSIBLE, named("resource", *asked[1:2]), seen.denied[:1])


def _of_a_person(one: Refusal) -> bool:
    """calicoctl and kubectl ask with the rights of whoever types."""
    typed = "calicoctl" in one.hit.command or "Error from server (Forbidden)" in one.hit.line
    return typed and not one.user.startswith("system:")


def _ours(user: str) -> bool:
    return any(word in user for word in OURS)


def _asked_for_us(row: Row) -> bool:
    return "--as" in row.command and _ours(row.command)


def _dangling(picture: Picture) -> tuple[list[str], list[object]]:
    """Roles that a binding names and that do not exist."""
    said = [hit for hit in picture.hits(NO_ROLE) if _ours(hit.value("role"))]
    if said:
        return [hit.value("role") for hit in said[:1]], list(said[:1])
    listed = {
        row["role"]: row
        for row in rows(picture, _ROLE_ROW, "get clusterrole")
        if "get clusterrolebinding" not in row.command
    }
    if not any(_ours(role) for role in listed):
        return [], []
    named = [row for row in rows(picture, _ROLE_REF, "rolebinding") if row["role"] not in listed and _ours(row["role"])]
    return [row["role"] for row in named[:2]], [*named[:1], *list(listed.values())[:1]]


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield from apply_release(picture, "rbac.yaml")
    yield do("check")
    yield from restart_agent(picture)


CAUSE = Cause(
    module=__name__,
    id="rbac-forbidden",
    code="TRT0004",
    severity="high",
    explains=(
        "unauthorized", "init-crash", "start-terminated", "crash-loop", "not-ready", "felix-not-ready",
        "datastore-error", "controllers-failing", "sandbox-failed", "operator-degraded", "typha-down", "log-errors",
        "restarts",
    ),
    signs=(FORBIDDEN, FORBIDDEN_OLD, AUDITED, NO_ROLE, UNAUTHORIZED),
    look=Seen,
    rules=(refused, no_such_role, unauthorized, asked_and_denied),
    fix=fix,
    yields_to=("manifest-image-skew",),
)  # fmt: skip
