"""TRT2005: a clock is wrong or was stepped, so tokens and certificates look expired or not yet valid."""

from __future__ import annotations

from tortie.doctor.causes.datastore.api_evidence import bad_node
from tortie.doctor.causes.datastore.api_trust import (
    AFTER,
    BEFORE,
    CLOCK_SIGNS,
    CURL_EARLY,
    EXPIRED,
    NOT_YET,
    OUR_EARLY,
    OUR_EXPIRED,
    TOKEN_EXPIRED,
    disagreement,
    refusals,
    steps,
    synchronised,
    unsynchronised,
)
from tortie.doctor.causes.legacy import (
    HINT,
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
from tortie.doctor.picture.facts import Certificate, Clock, LogLine
from tortie.doctor.picture.picture import Picture
from tortie.doctor.words import Words


def _duration(seconds: float) -> Words:
    amount = abs(seconds)
    for unit, en, zh in (
        (86400 * 365, "years", "年"),
        (86400, "days", "天"),
        (3600, "hours", "小时"),
        (60, "minutes", "分钟"),
    ):
        if amount >= 2 * unit:
            return Words(f"{amount / unit:.0f} {en}", f"{amount / unit:.0f} {zh}")
    return Words(f"{amount:.0f} s", f"{amount:.0f} 秒")


def judge(picture: Picture) -> Finding:
    before = [r.hit for r in refusals(picture, BEFORE, OUR_EARLY, CURL_EARLY)]
    tokens = picture.hits(NOT_YET)
    late_tokens, refused = picture.hits(TOKEN_EXPIRED), picture.hits(UNAUTHORIZED)
    after = [r.hit for r in refusals(picture, AFTER, EXPIRED, OUR_EXPIRED)]
    stepped, loose, wrong = steps(picture), unsynchronised(picture), disagreement(picture)
    said = picture.said("clock-wrong")
    speakers = {line.place: line.host for line in picture.of(LogLine) if line.host}
    hosts = [speakers.get(hit.place) or hit.host for hit in (*stepped, *before)]
    host = bad_node(picture, *(c.host for c in loose), wrong.host if wrong else "", *hosts)
    pods = [pod.name for pod in picture.agents_now() if not pod.all_ready]
    objects = (host, "clock", "NTP", "chronyd", "timedatectl", *pods)
    proof = (*loose[:1], *((wrong,) if wrong else ()), *stepped[:2], *said[:1])
    ahead = [hit for hit in stepped if "-" in hit.text and (_number(hit.value("n")) or 0.0) > 60.0]
    if tokens and ahead and not before:
        gap = _duration(float(ahead[0].value("n")))
        why = Words(
            f"The clock{_of(host).en} was ahead by {gap.en} and was set back; tokens issued meanwhile begin in the "
            "future.",
            f"时钟{_of(host).zh}曾快了约 {gap.zh}，随后被调回；其间签发的令牌尚未生效。",
        )
        return found(PROVEN, why, objects, (*proof, *tokens[:2], *refused[:1]), node=host)
    if before or tokens:
        first = (*before, *tokens)[0]
        now, begin = first.value("now"), first.value("begin")
        why = Words(
            f"The clock{_of(host).en} is behind: it shows {now or 'an earlier time'}, before the certificate or "
            "token begins"
            f"{f' ({begin})' if begin else ''}.",
            f"时钟{_of(host).zh}偏慢：当前为 {now or '更早的时间'}，"
            f"早于证书或令牌的生效时间{f'（{begin}）' if begin else ''}。",
        )
        strength = PROVEN if loose or wrong or stepped else STRONG
        return found(strength, why, objects, (*proof, *before[:2], *tokens[:1]), node=host)
    symptom = (*after, *late_tokens, *refused)
    if symptom and (wrong or stepped or said):
        gap = _duration(wrong.seconds if wrong else float(stepped[0].value("n") or 0) if stepped else 0)
        amount = f" by {gap.en}" if wrong or (stepped and stepped[0].value("n")) else ""
        amount_zh = f"约 {gap.zh}" if amount else ""
        why = Words(
            f"The clock{_of(host).en} is or was wrong{amount}; certificates and tokens are judged by it.",
            f"时钟{_of(host).zh}有误{amount_zh}，证书与令牌的有效性因此被误判。",
        )
        strong = wrong or (stepped and (late_tokens or refused))
        strength = STRONG if strong else LIKELY
        if wrong and _valid_by_others(picture, wrong.seconds):
            strength = PROVEN
        return found(strength, why, objects, (*proof, *symptom[:2]), node=host)
    if late_tokens and loose:
        why = Words(
            f"The clock{_of(host).en} is not synchronised and the API server finds tokens expired.",
            f"时钟{_of(host).zh}未同步，API server 认为令牌已过期。",
        )
        return found(LIKELY, why, objects, (*proof, *late_tokens[:2]), node=host)
    if wrong and abs(wrong.seconds) >= 300:
        gap = _duration(wrong.seconds)
        why = Words(
            f"The clock of {host} differs from the others by {gap.en}.", f"{host} 的时钟与其他机器相差约 {gap.zh}。"
        )
        return found(LIKELY, why, objects, proof, node=host)
    if loose or stepped or said:
        why = Words(
            f"The clock{_of(host).en} is not kept in step, but no token or certificate is refused for it.",
            f"时钟{_of(host).zh}没有同步，但没有因此被拒绝的令牌或证书。",
        )
        return found(POSSIBLE if symptom else HINT, why, objects, (*proof, *symptom[:1]), node=host)
    agree = [clock for clock in picture.of(Clock) if clock.time is not None]
    if synchronised(picture) or len({clock.host for clock in agree}) > 1:
        return ruled_out(Words("the clocks shown agree", "所示时钟一致"), (synchronised(picture) or agree)[:2])
    return cannot_tell(Words("no clock is shown", "没有时钟信息"))


def _number(text: str) -> float | None:
    return float(text) if text.replace(".", "", 1).isdecimal() else None


def _of(host: str) -> Words:
    return Words(f" of {host}", f"（{host}）") if host else Words("", "")


def _valid_by_others(picture: Picture, seconds: float) -> bool:
    """A certificate shown would be valid if the clock were put right."""
    times = [clock.time for clock in picture.of(Clock) if clock.time is not None]
    if not times:
        return False
    right = max(times) if seconds < 0 else min(times)
    return any((c.not_before or 0) <= right <= c.not_after for c in picture.of(Certificate) if c.not_after)


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    on = finding.value("node", "<node>")
    return (
        Step(
            Words(f"On {on}: keep time, now and after reboots", f"在 {on} 上启用时间同步，重启后仍生效"),
            "systemctl enable --now chronyd",
        ),
        Step(Words("Set the clock at once", "立即校正时钟"), "chronyc makestep; hwclock --systohc --utc", "disruptive"),
        Step(
            Words("Start kubelet and runtime only when the time is right", "让 kubelet 与运行时在时间同步之后启动"),
            "mkdir -p /etc/systemd/system/kubelet.service.d && printf "
            "'[Unit]\\nWants=time-sync.target\\nAfter=time-sync.target\\n' "
            "> /etc/systemd/system/kubelet.service.d/20-time.conf && systemctl daemon-reload && systemctl enable "
            "chrony-wait.service",
        ),
        Step(
            Words("Recreate the pods there, so that they get new tokens", "重建该节点上的 Pod 以获取新令牌"),
            f"kubectl -n {picture.namespace} delete pod -l k8s-app=calico-node --field-selector spec.nodeName={on}",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="clock-skew",
    code="TRT2005",
    severity="high",
    name=Words("clock is wrong", "时钟不准"),
    what=Words(
        "A node's clock is wrong or was stepped after start, so tokens and certificates look expired or not yet valid.",
        "节点时钟错误，或启动后被大幅调整，使令牌与证书看似过期或尚未生效。",
    ),
    explains=(
        "unauthorized",
        "api-unreachable",
        "datastore-error",
        "crash-loop",
        "sandbox-failed",
        "node-not-ready",
        "init-crash",
    ),
    look_alikes=(
        ("cni-token-expired", Words("clocks agree and the token's end has passed", "时钟一致而令牌已到期")),
        ("apiserver-certs-expired", Words("`is after` with the right time", "`is after` 且时间正确")),
        ("rbac-forbidden", Words("403 names a User that cannot", "403 会指出无权限的 User")),
    ),
    signs=(AFTER, BEFORE, EXPIRED, OUR_EARLY, OUR_EXPIRED, CURL_EARLY, *CLOCK_SIGNS, UNAUTHORIZED),
    judge=judge,
    ask=Ask(
        "timedatectl; journalctl -b -u chronyd -u ntpd | grep -i -e step -e wrong; date -u",
        Words("run it on the node and on a master: the times must agree", "在节点与 master 上各执行一次：时间必须一致"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("It says `System clock synchronized: yes`", "显示 `System clock synchronized: yes`"),
            "timedatectl; date -u",
        ),
    ),
    prevent=(
        Words(
            "Keep the hardware clock in UTC, and no time pushed by the hypervisor.",
            "硬件时钟使用 UTC，不由虚拟化平台推送时间。",
        ),
        Words("Alarm on unsynchronised clocks.", "对未同步的时钟告警。"),
    ),
)
