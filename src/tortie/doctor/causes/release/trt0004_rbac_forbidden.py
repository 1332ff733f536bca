"""TRT0004: Calico's service account lacks a right."""

from __future__ import annotations

from tortie.doctor.causes.datastore.api_errors import FORBIDDEN, FORBIDDEN_OLD, refusals
from tortie.doctor.causes.legacy import (
    LIKELY,
    POSSIBLE,
    PROVEN,
    STRONG,
    Ask,
    Cause,
    Finding,
    Step,
    cannot_tell,
    found,
    ruled_out,
)
from tortie.doctor.causes.shared import UNAUTHORIZED
from tortie.doctor.causes.underlay.traffic_evidence import Row, rows
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

NO_ROLE = Sign("rbac-no-role", 'clusterrole.rbac.authorization.k8s.io "<role>" not found')
OURS = ("calico", "canal", "tigera", "typha", "flannel", "tortie")
_ROLE_REF = r"\"?kind\"?:\s*\"?ClusterRole\"?\s*,\s*\"?name\"?:\s*\"?(?P<role>[\w:.-]+)"
_ROLE_ROW = r"^(?P<role>[a-z][\w:.-]*)\s+\d"


def judge(picture: Picture) -> Finding:
    refused = [r for r in refusals(picture) if _ours(r.user) or not r.user.startswith("system:serviceaccount:")]
    roles, role_facts = _dangling(picture)
    denied = [row for row in rows(picture, r"^\s*no\b", "auth can-i") if _asked_for_us(row)]
    if refused:
        first = refused[0]
        why = Words(
            f"{first.account} may not {first.verb} {first.resource}"
            + (f": its binding points to the role {roles[0]}, which does not exist." if roles else "."),
            f"服务账号 {first.account} 没有对 {first.resource} 执行 {first.verb} 的权限"
            + (f"：其绑定指向不存在的角色 {roles[0]}。" if roles else "。"),
        )
        objects = (
            *roles,
            *[r.resource for r in refused[:3]],
            first.account,
            first.user,
            first.verb,
            *[r.object for r in refused[:2]],
            "ClusterRole",
            *[r.resource for r in refused[3:6]],
        )
        evidence = (*role_facts[:2], *[r.hit for r in refused[:2]], *denied[:1])
        strength = PROVEN if roles or denied else STRONG
        return found(strength, why, objects, evidence, verb=first.verb, resource=first.resource, user=first.user)
    if roles:
        why = Words(
            f"a binding points to the role {roles[0]}, which does not exist", f"有绑定指向不存在的角色 {roles[0]}"
        )
        return found(LIKELY, why, (*roles, "ClusterRole"), role_facts[:2])
    bare = [hit for hit in picture.hits(UNAUTHORIZED) if "forbidden" not in hit.line]
    if bare:
        return ruled_out(Words("the answer is 401, not 403", "返回的是 401 而不是 403"), bare[:1])
    if denied:
        command = denied[0].command
        why = Words(
            "an account of Calico's lacks a right; that it is needed is not shown",
            "Calico 的账号缺少一项权限，但未显示是否需要",
        )
        asked = command.partition("can-i ")[2].split()
        return found(POSSIBLE, why, asked[1:2], denied[:1])
    return cannot_tell(Words("no refusal (403) is shown", "没有 403 拒绝的报错"))


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


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    verb, resource = finding.value("verb", "<verb>"), finding.value("resource", "<resource>")
    user = finding.value("user", "system:serviceaccount:<ns>:<account>")
    return (
        Step(
            Words(
                "Apply the RBAC part (roles, bindings, accounts) of the running release again",
                "重新应用当前版本清单中的 RBAC（角色、绑定、账号）",
            ),
            "kubectl apply --server-side --force-conflicts -f <rbac.yaml of the running release>",
        ),
        Step(Words("See that it may now", "确认权限已生效"), f"kubectl auth can-i {verb} {resource} --as={user}"),
        Step(
            Words("Restart the agents that gave up", "重启已失败的 calico-node"),
            f"kubectl -n {picture.namespace} rollout restart ds/calico-node",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="rbac-forbidden",
    code="TRT0004",
    severity="high",
    name=Words("RBAC right missing", "RBAC 权限不足"),
    what=Words(
        "Calico's service account lacks a right that this release needs, or its role or binding is missing.",
        "Calico 的服务账号缺少该版本所需的权限，或角色、绑定不存在。",
    ),
    explains=(
        "unauthorized",
        "init-crash",
        "start-terminated",
        "crash-loop",
        "not-ready",
        "felix-not-ready",
        "datastore-error",
        "controllers-failing",
        "sandbox-failed",
        "operator-degraded",
        "typha-down",
        "log-errors",
        "restarts",
    ),
    look_alikes=(
        ("cni-token-expired", Words("there it says bare Unauthorized (401)", "只报 Unauthorized（401）")),
        ("crd-missing", Words("there it says 'could not find' (404)", "报 could not find（404）")),
        ("psp-forbidden", Words("there pods are not even created", "pod 根本没有被创建")),
    ),
    signs=(FORBIDDEN, FORBIDDEN_OLD, NO_ROLE, UNAUTHORIZED),
    judge=judge,
    ask=Ask(
        "kubectl auth can-i <verb> <res> --as=system:serviceaccount:<ns>:<sa>; "
        "kubectl get clusterrolebinding -o wide | grep -e calico -e canal",
        Words("no means that the right is missing", "返回 no 即缺少权限"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("It answers yes", "返回 yes"), "kubectl auth can-i <verb> <res> --as=system:serviceaccount:<ns>:<sa>"
        ),
    ),
    prevent=(Words("Upgrade with the whole manifest.", "升级时应用完整清单。"),),
    yields_to=("manifest-image-skew",),
)
