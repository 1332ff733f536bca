"""TRT6001: the token in the CNI plugin's kubeconfig is no longer accepted."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from tortie.doctor.causes.cni.cni_evidence import (
    CONF_DIR,
    DIRECTORY_SIGNS,
    KUBECONFIG,
    kubeconfigs,
    node_of,
    now,
    runtime_conf_dirs,
)
from tortie.doctor.causes.cni.file_times import written_at
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
from tortie.doctor.causes.shared import FORBIDDEN_USER, UNAUTHORIZED
from tortie.doctor.picture.facts import HostFile, LogLine, Process, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

WROTE = Sign("cni-token-wrote", "Wrote updated CNI kubeconfig file")
REFRESH_FAILED = Sign("cni-token-refresh-failed", "Failed to (create|update) CNI token")
EXPIRED = Sign("cni-token-expired-text", "token has expired")
FOREIGN_KEY = Sign("cni-token-foreign-key", "invalid bearer token…error in cryptographic primitive")
MANAGE = "CALICO_MANAGE_CNI"
DAY_S = 86_400.0
SIGNING_KEYS = ("sa.key", "sa.pub", "service-account.key", "service.key", "service-account-key.pem")


class Moment(NamedTuple):
    at: float
    place: Place


def judge(picture: Picture) -> Finding:
    refused = [hit for hit in picture.hits(UNAUTHORIZED) if "is forbidden" not in hit.line]
    forbidden = [hit for hit in picture.hits(FORBIDDEN_USER) if "kubeadm-config" not in hit.line]
    expiry, clock, files = _expiry(picture), _now(picture), kubeconfigs(picture)
    late = expiry is not None and clock is not None and clock.at > expiry.at
    if not refused and not late:
        if expiry and clock:
            return ruled_out(Words("the token is still valid", "令牌仍在有效期内"), (expiry, clock))
        if forbidden:
            return ruled_out(Words("the API server answers 403, not 401", "API 返回的是 403 而不是 401"), forbidden[:1])
        return cannot_tell(Words("no refused token is shown", "没有令牌被拒绝的证据"))
    if expiry and clock and not late:
        return ruled_out(
            Words("the token in the kubeconfig is still valid", "kubeconfig 中的令牌仍有效"), (expiry, clock)
        )
    other = [d for d in runtime_conf_dirs(picture) if d.path != CONF_DIR]
    signs = _signs(picture, clock)
    node = node_of(refused, picture)
    file = f"{CONF_DIR}/{KUBECONFIG}"
    objects = (KUBECONFIG, file, *(name for name, _, _ in signs), "token", node)
    evidence = (*((expiry,) if late and expiry else ()), *(place for _, place, _ in signs), *refused[:2])
    if late:
        why = _why_late(signs, bool(refused))
        return found(PROVEN if refused else STRONG, why, objects, (*evidence, clock), node=node, file=file)
    if signs and not other and len({file.folder for file in files}) < 2:
        told = list(dict.fromkeys(text for *_, text in signs))
        reason = Words("; ".join(text.en for text in told), "；".join(text.zh for text in told))
        why = Words(
            f"The CNI plugin's token is refused (401), and nothing renews it: {reason.en}.",
            f"CNI 插件的令牌被拒绝（401），且没有得到更新：{reason.zh}。",
        )
        strong = any(name in (MANAGE, "-monitor-token") for name, *_ in signs) or len(signs) > 1
        return found(STRONG if strong else LIKELY, why, objects, evidence, node=node, file=file)
    why = Words(
        "The CNI plugin's token is refused (401). An expired token, a stepped clock, an old file elsewhere fit alike.",
        "CNI 插件的令牌被拒绝（401）。令牌过期、时钟跳变、运行时读取别处旧文件都有可能。",
    )
    return found(POSSIBLE, why, objects, evidence, node=node, file=file)


def _why_late(signs: list[tuple[str, object, Words]], refused: bool) -> Words:
    because = f" ({signs[0][2].en})" if signs else ""
    because_zh = f"（{signs[0][2].zh}）" if signs else ""
    then, then_zh = (
        (", so the plugin gets 401 Unauthorized", "，插件因此收到 401 Unauthorized") if refused else ("", "")
    )
    return Words(
        f"The token in {KUBECONFIG} is past its expiry{because}{then}.",
        f"{KUBECONFIG} 中的令牌已过期{because_zh}{then_zh}。",
    )


def _signs(picture: Picture, clock: Moment | None) -> list[tuple[str, object, Words]]:
    """Why the file is not renewed: name of the thing, its place, words."""
    signs: list[tuple[str, object, Words]] = []
    setting = _manage(picture)
    if setting:
        signs.append((MANAGE, setting, Words(f"{MANAGE} is false", f"{MANAGE} 为 false")))
    process = _no_monitor(picture)
    if process:
        words = Words("no -monitor-token process runs", "没有 -monitor-token 进程")
        signs.append(("-monitor-token", process, words))
    old = [w for w in _files_written(picture) if clock and clock.at - w.at > DAY_S]
    wrote = _last_wrote(picture)
    silent = clock is not None and wrote is not None and clock.at - wrote.at > DAY_S
    if old and (silent or not picture.hits(WROTE)):
        days = (clock.at - old[0].at) / DAY_S if clock else 0
        words = Words(f"{KUBECONFIG} is {days:.1f} days old", f"{KUBECONFIG} 已有 {days:.1f} 天未更新")
        signs.append((KUBECONFIG, old[0], words))
    if silent and clock and wrote:
        days = (clock.at - wrote.at) / DAY_S
        words = Words(f"the refresher wrote it last {days:.1f} days ago", f"刷新程序最后一次写入是 {days:.1f} 天前")
        signs.append((KUBECONFIG, wrote, words))
    replaced, foreign = _key_replaced(picture), picture.hits(FOREIGN_KEY)
    if replaced:
        words = Words("the signing key was replaced after the file was written", "签名密钥在该文件写入之后被更换")
        signs += [("sa.key", replaced[1], words), (KUBECONFIG, replaced[0], words)]
    if foreign:
        words = Words("the API server finds tokens signed by another key", "API Server 发现令牌由另一把密钥签发")
        signs.append(("sa.key", foreign[-1], words))
    failed = picture.hits(REFRESH_FAILED, EXPIRED)
    if failed:
        signs.append((KUBECONFIG, failed[0], Words(f"“{failed[0].text}”", f"“{failed[0].text}”")))
    return signs


def _manage(picture: Picture) -> Setting | None:
    setting = picture.setting(MANAGE)
    return setting if setting and setting.value.strip("\"' ").lower() == "false" else None


def _no_monitor(picture: Picture) -> Process | None:
    """The agent's processes were listed, and the one that renews the token is missing (it exists from v3.24)."""
    version = picture.version("calico")
    agent = [p for p in picture.of(Process) if "calico-node -" in p.command]
    if len(agent) < 2 or (version is not None and version < (3, 24)):
        return None
    return None if any("-monitor-token" in p.command for p in agent) else agent[0]


def _expiry(picture: Picture) -> Moment | None:
    """`"exp": 1664946137` or a date, as a decoded token shows it."""
    from tortie.doctor.reading.readers.times import epoch

    for exhibit in reversed(picture.exhibits):
        if exhibit.prose or len(exhibit.lines) > 200:
            continue
        for index, line in enumerate(exhibit.lines):
            match = _compiled(r"[\"']exp[\"']?\s*:\s*[\"']?([0-9T:Z.+-]{9,35})").search(line) if "exp" in line else None
            if match:
                text = match[1]
                at = float(text) if text.isdecimal() else epoch(text)
                if at:
                    return Moment(at, exhibit.place(index))
    return None


def _now(picture: Picture) -> Moment | None:
    clock = now(picture)
    if clock and clock.time is not None:
        return Moment(clock.time, clock.place)
    for exhibit in reversed(picture.exhibits):
        if "date" in exhibit.command and len(exhibit.lines) <= 50:
            for index, line in enumerate(exhibit.lines):
                if _compiled(r"\d{10}$").match(line.strip()):
                    return Moment(float(line.strip()), exhibit.place(index))
    return None


def _files_written(picture: Picture) -> list[Moment]:
    """Times of calico-kubeconfig, the oldest first."""
    times = [(written_at(picture, file), file.place) for file in kubeconfigs(picture)]
    return sorted((Moment(at, place) for at, place in times if at is not None), key=lambda moment: moment.at)


def _last_wrote(picture: Picture) -> Moment | None:
    """When the refresher last said that it wrote the file; None without a line of it that has a time."""
    spoken = {hit.place.first for hit in picture.hits(WROTE)}
    times = [Moment(line.time, line.place) for line in picture.of(LogLine) if line.time and line.place.first in spoken]
    return max(times, key=lambda moment: moment.at, default=None)


def _key_replaced(picture: Picture) -> tuple[Moment, Moment] | None:
    """The file, and the key that signs tokens, which was made after it."""
    keys = [(written_at(picture, file), file.place) for file in picture.of(HostFile) if file.name in SIGNING_KEYS]
    newest = max((Moment(at, place) for at, place in keys if at is not None), key=lambda m: m.at, default=None)
    files = _files_written(picture)
    return (files[0], newest) if files and newest and newest.at > files[0].at else None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    steps = [
        Step(
            Words(
                "Recreate the agent on that node: install-cni writes a fresh kubeconfig",
                "重建该节点的 calico-node：install-cni 会写入新的 kubeconfig",
            ),
            f"kubectl -n {picture.namespace} delete pod <calico-node pod of {finding.value('node', 'that node')}>",
            "disruptive",
        )
    ]
    if _manage(picture):
        steps.append(
            Step(
                Words(
                    f"Remove {MANAGE}=false, or it expires again in a day", f"去掉 {MANAGE}=false，否则一天后再次过期"
                ),
                f"kubectl -n {picture.namespace} set env ds/calico-node {MANAGE}-",
                "disruptive",
            )
        )
    version = picture.version("calico")
    if version is None or version < (3, 24):
        steps.append(
            Step(
                Words(
                    "Upgrade to v3.24 or later: it requests its own token and renews it; before, the pod's was copied",
                    "升级到 v3.24 及以上：使用独立令牌并自动续期；此前只是复制 Pod 的令牌",
                ),
                "",
                "disruptive",
            )
        )
    return tuple(steps)


CAUSE = Cause(
    id="cni-token-expired",
    code="TRT6001",
    severity="high",
    name=Words("CNI token expired", "CNI 令牌过期"),
    what=Words(
        "The token in calico-kubeconfig is no longer accepted: nothing refreshed it, or the signing key changed.",
        "calico-kubeconfig 中的令牌不再被接受：没有被刷新，或签名密钥已更换。",
    ),
    explains=("unauthorized", "sandbox-failed", "pod-pending", "terminating-stuck", "no-address", "log-errors"),
    look_alikes=(
        ("rbac-forbidden", Words("there the answer is 403 `is forbidden: User`", "那时返回 403 `is forbidden: User`")),
        (
            "clock-skew",
            Words("there a clock was stepped, and the token's dates are fine", "那时是时钟跳变，令牌日期本身正常"),
        ),
        (
            "cni-conf-dir-mismatch",
            Words("there the runtime reads an old file in another directory", "那时运行时读取的是另一目录中的旧文件"),
        ),
    ),
    signs=(UNAUTHORIZED, FORBIDDEN_USER, WROTE, REFRESH_FAILED, EXPIRED, FOREIGN_KEY, *DIRECTORY_SIGNS),
    judge=judge,
    ask=Ask(
        "awk '/token:/{print $2}' /etc/cni/net.d/calico-kubeconfig | cut -d. -f2 | base64 -d 2>/dev/null | "
        "grep -o '\"exp\":[0-9]*'; date +%s; ls -l --time-style=full-iso /etc/cni/net.d",
        Words("an exp in the past decides", "exp 早于当前时间即可确定"),
    ),
    fix=fix,
    verify=(
        Step(Words("The file is fresh", "文件已更新"), f"ls -l --time-style=full-iso {CONF_DIR}"),
        Step(Words("New pods start", "新 Pod 能启动"), "kubectl get pod -A | grep -e ContainerCreating -e Terminating"),
    ),
    prevent=(Words(f"Alarm when {KUBECONFIG} is older than a day.", f"{KUBECONFIG} 超过一天未更新时告警。"),),
    yields_to=("clock-skew", "cni-conf-dir-mismatch"),
)
