"""TRT2014: the certificates between Felix and Typha have expired."""

from __future__ import annotations

from tortie.doctor.causes.datastore.api_trust import (
    AFTER,
    BAD_CERTIFICATE,
    BEFORE,
    CLOCK_SIGNS,
    EXPIRED,
    command_of,
    disagreement,
    expired,
    refusals,
    unsynchronised,
)
from tortie.doctor.causes.datastore.trt2013_typha_unavailable import typha_troubles
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
from tortie.doctor.causes.shared import DIAL_FAILED
from tortie.doctor.picture.facts import Certificate
from tortie.doctor.picture.picture import Picture
from tortie.doctor.words import Words

SECRETS = ("typha-certs", "node-certs")


def _of_typha(picture: Picture, cert: Certificate) -> bool:
    said = f"{cert.endpoint} {cert.subject} {' '.join(cert.names)} {command_of(picture, cert)}".lower()
    return "typha" in said or ":5473" in said or "node-certs" in said


def judge(picture: Picture) -> Finding:
    after = [r for r in refusals(picture, AFTER) if r.server == "typha"]
    bare = [r for r in refusals(picture, EXPIRED) if r.server == "typha"]
    before = [r for r in refusals(picture, BEFORE) if r.server == "typha"]
    bad = [r for r in refusals(picture, BAD_CERTIFICATE) if r.server == "typha"]
    late = [cert for cert in expired(picture) if _of_typha(picture, cert)]
    wrong = disagreement(picture)
    doubt = [*unsynchronised(picture), *([wrong] if wrong else [])]
    if before:
        return ruled_out(
            Words("the text is `is before`: a clock is wrong", "文本是 `is before`：是时钟错误"), (before[0].hit,)
        )
    refused = after or bare or (bad if late else [])
    if refused or late:
        address = next((r.address for r in refused if r.address), "")
        end = after[0].hit.value("end") if after else ""
        strength = PROVEN if late and refused else STRONG if after else LIKELY
        if doubt and not late:
            strength = POSSIBLE
        why = Words(
            f"Felix refuses Typha{f' at {address}:5473' if address else ''}: the certificate has "
            f"expired{f' on {end}' if end else ''}.",
            f"Felix 拒绝 Typha{f'（{address}:5473）' if address else ''}：证书{f'已于 {end} ' if end else '已'}过期。",
        )
        objects = (
            *SECRETS,
            "calico-typha",
            address,
            f"{address}:5473" if address else "5473",
            *(c.endpoint for c in late),
        )
        return found(strength, why, objects, (*late[:2], *(r.hit for r in refused[:2])))
    if bad:
        why = Words(
            "Typha refuses the certificate of its clients; no date is shown", "Typha 拒绝客户端证书，但没有有效期信息"
        )
        return found(POSSIBLE, why, (*SECRETS, "calico-typha"), (bad[0].hit,))
    failing = typha_troubles(picture)
    if failing:
        return ruled_out(Words("the connection to 5473 itself fails", "到 5473 的连接本身就失败"), failing[:1])
    return cannot_tell(
        Words("no connection to Typha and no certificate of it is shown", "没有与 Typha 的连接，也没有其证书")
    )


def fix(picture: Picture, _finding: Finding) -> tuple[Step, ...]:
    namespace = picture.namespace
    return (
        Step(
            Words("See the dates", "查看有效期"),
            "for s in typha-certs node-certs; do kubectl -n tigera-operator get secret $s -o "
            "jsonpath='{.data.tls\\.crt}' | base64 -d | openssl x509 -noout -subject -enddate; done",
        ),
        Step(
            Words(
                "Let the operator issue them again; no webhook may block it. Hand-made ones: re-issue and replace "
                "the secrets",
                "让 operator 重新签发（确认没有 webhook 阻塞）；手工证书则重新签发并替换 Secret",
            ),
            "kubectl -n tigera-operator delete secret typha-certs node-certs",
            "disruptive",
        ),
        Step(
            Words("Restart Typha first", "先重启 Typha"),
            f"kubectl -n {namespace} rollout restart deploy/calico-typha",
            "disruptive",
        ),
        Step(
            Words("Then the agents", "再重启 calico-node"),
            f"kubectl -n {namespace} rollout restart ds/calico-node",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="typha-cert-expired",
    code="TRT2014",
    severity="high",
    name=Words("Typha certificate expired", "Typha 证书过期"),
    what=Words(
        "The certificates between Felix and Typha (typha-certs, node-certs) passed their end; all nodes lose Typha "
        "at once.",
        "Felix 与 Typha 之间的证书（typha-certs、node-certs）已过期，所有节点同时失去 Typha。",
    ),
    explains=("felix-not-ready", "typha-down", "not-ready", "crash-loop", "restarts"),
    look_alikes=(
        ("apiserver-certs-expired", Words("the port is 443 or 6443", "端口是 443 或 6443")),
        ("clock-skew", Words("`is before`, or clocks differ", "`is before`，或时钟不一致")),
        ("typha-port-blocked", Words("the connection itself times out", "连接本身超时")),
    ),
    signs=(DIAL_FAILED, AFTER, BEFORE, EXPIRED, BAD_CERTIFICATE, *CLOCK_SIGNS),
    judge=judge,
    ask=Ask(
        "for s in typha-certs node-certs; do kubectl -n tigera-operator get secret $s -o "
        "jsonpath='{.data.tls\\.crt}' | base64 -d | openssl x509 -noout -enddate; done",
        Words("a date in the past proves it", "日期已过即可证实"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("Felix is in sync", "Felix 已同步"),
            "kubectl -n <ns> logs <calico-node pod> | grep -i typha | tail -3",
        ),
    ),
    prevent=(Words("Alarm 30 days before expiry.", "到期前 30 天告警。"),),
    yields_to=("clock-skew",),
)
