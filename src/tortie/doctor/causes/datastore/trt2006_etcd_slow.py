"""TRT2006: etcd's latency or changes of its leader make requests time out now and then."""

from __future__ import annotations

from itertools import pairwise

from tortie.doctor.causes.datastore.etcd_evidence import RESTLESS_TERM, leaders_in_turn, slow_disks, statuses
from tortie.doctor.causes.datastore.trt2001_datastore_unreachable import servers_down
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
from tortie.doctor.causes.shared import API_DEADLINE
from tortie.doctor.picture.facts import Event, LogLine, Pod
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

TIMED_OUT = Sign("trt2006-timed-out", "etcdserver: request timed out")
LEADER_CHANGED = Sign("trt2006-leader-changed", "etcdserver: leader changed")
TOO_LONG = Sign("trt2006-too-long", "(apply request|read-only range request|request) … took too long")
SLOW_DISK = Sign("trt2006-slow-disk", "leader is overloaded likely from slow disk")
HEARTBEAT = Sign("trt2006-heartbeat", "failed to send out heartbeat on time")
SLOW_SYNC = Sign("trt2006-slow-sync", "slow fdatasync")
SLOW_COMMIT = Sign("trt2006-slow-commit", "waiting for ReadIndex response took too long")
VERIFYING = Sign("trt2006-verifying", "Error verifying datastore: <rest>")
VERIFY = Sign("trt2006-verify", "Failed to verify datastore")
REACH = Sign("trt2006-reach", "Failed to reach apiserver")
ELECTED = Sign("trt2006-elected", "elected leader <leader> at term <n>")
OWN = (TIMED_OUT, LEADER_CHANGED)
DISK = (SLOW_DISK, SLOW_SYNC, TOO_LONG, HEARTBEAT, SLOW_COMMIT)
APART_S = 60.0
LONG_AGO_S = 12 * 3600.0


def _intermittent(picture: Picture, hits: list[Hit]) -> bool:
    """It succeeds between: errors with pauses, rare events, or a program that is ready now."""
    lines = {line.place: line.time for line in picture.of(LogLine) if line.time is not None}
    times = sorted(time for hit in hits if (time := lines.get(hit.place)) is not None)
    if any(later - earlier > APART_S for earlier, later in pairwise(times)):
        return True
    if leaders_in_turn(picture):
        return True
    for event in picture.of(Event):
        if "etcdserver:" in event.message and event.over_s and event.over_s / max(event.count, 1) > APART_S:
            return True
    return any(pod.all_ready for pod in picture.pods_now("calico-kube-controllers", "etcd-", "kube-apiserver"))


def _long_ago(picture: Picture, hits: list[Hit]) -> bool:
    """Only events of another day tell of it."""
    ages = {event.place: event.age_s for event in picture.of(Event) if event.age_s is not None}
    return all((ages.get(hit.place) or 0.0) > LONG_AGO_S for hit in hits)


def _restless(picture: Picture) -> list[Pod]:
    """Control-plane pods that lost their lease often."""
    pods = picture.pods_now("kube-controller-manager", "kube-scheduler", "etcd-", "kube-apiserver")
    return [pod for pod in pods if (pod.restarts or 0) >= 5]


def judge(picture: Picture) -> Finding:
    own, disk = picture.hits(*OWN), picture.hits(*DISK)
    context = picture.hits(VERIFYING, VERIFY, REACH)
    deadline = picture.hits(API_DEADLINE)
    members, restless, down = picture.pods_now("etcd-"), _restless(picture), servers_down(picture)
    said = picture.said("etcd-disk-slow")
    two = len(members) == 2
    names = [pod.name for pod in members] + [pod.node for pod in members] + [pod.ip for pod in members]
    objects = ("etcd", *names, *(pod.name for pod in picture.pods_now("calico-kube-controllers")))
    evidence = (*disk[:2], *said[:1], *own[:2], *context[:2], *members[:2], *restless[:2])
    if own and not _all_failing(picture, own):
        extra_en = f" It has {len(members)} members, which tolerate no failure." if two else ""
        extra_zh = " etcd 只有两个成员，没有容错能力。" if two else ""
        rest_en = (
            f" Control-plane pods restarted up to {max(p.restarts or 0 for p in restless)} times." if restless else ""
        )
        rest_zh = f" 控制平面 Pod 最多重启了 {max(p.restarts or 0 for p in restless)} 次。" if restless else ""
        why = Words(
            f'Requests fail now and then with "{own[0].text}" and succeed in between: etcd is slow or changes its '
            "leader."
            f"{extra_en}{rest_en}",
            f"请求时而失败（“{own[0].text}”），其间又成功：etcd 过慢或频繁切换 leader。{extra_zh}{rest_zh}",
        )
        if down:
            strength = POSSIBLE
        elif _long_ago(picture, own) and not restless and not disk:
            strength = HINT
        elif disk:
            strength = PROVEN
        else:
            strength = STRONG if _intermittent(picture, own) else LIKELY
        return found(strength, why, objects, evidence)
    if own:
        why = Words("etcd's requests time out without a success in between", "etcd 请求持续超时，其间没有成功")
        return found(POSSIBLE, why, objects, evidence)
    if disk and (context or deadline or restless or said):
        why = Words(
            f"etcd itself reports that it is slow ({disk[0].text[:80]}).", f"etcd 自身报告过慢（{disk[0].text[:80]}）。"
        )
        return found(STRONG if len(disk) > 1 else LIKELY, why, objects, evidence)
    turns, unhealthy = leaders_in_turn(picture), picture.hits("trt2001-unhealthy")
    if turns and (disk or unhealthy) and not down:
        why = Words(
            f"etcd elects one leader after the other ({len(turns)} terms in its log), and requests fail in between.",
            f"etcd 不断重新选举 leader（日志中有 {len(turns)} 个任期），其间请求失败。",
        )
        strength = PROVEN if disk and unhealthy else STRONG
        return found(strength, why, objects, (*turns[:2], *disk[:2], *unhealthy[:2], *evidence))
    late = [hit for hit in context if "deadline" in hit.text] + deadline
    devices, elections = slow_disks(picture), [s for s in statuses(picture) if (s.term or 0) >= RESTLESS_TERM]
    if late and devices and not down:
        first = devices[0]
        terms = elections[0].term if elections else 0
        why = Words(
            f"Requests run into their deadline now and then, and the disk {first.name} under etcd is {first.value} % "
            f"busy ({first.owner}){f'; the leader was elected {terms} times' if terms else ''}.",
            f"请求时而超时，而 etcd 所在磁盘 {first.name} 利用率为 {first.value} %（{first.owner}）"
            f"{f'；leader 已选举 {terms} 次' if terms else ''}。",
        )
        proof = (*devices[:2], *(s.place for s in elections[:1]), *late[:2])
        sure = elections or _intermittent(picture, late)
        return found(STRONG if sure else LIKELY, why, (*(d.name for d in devices), *objects, first.host), proof)
    if disk:
        why = Words("etcd reports slow requests, but nothing fails for it", "etcd 报告有慢请求，但没有因此失败的操作")
        return found(HINT, why, objects, evidence, aside=True)
    if context and (deadline or restless):
        why = Words(
            "the API server answers too late at times; etcd is not asked", "API server 有时响应过慢；没有 etcd 的信息"
        )
        return found(POSSIBLE, why, objects, (*context[:2], *deadline[:1], *restless[:2]))
    healthy = picture.commands("etcdctl", "check perf")
    if healthy and any("PASS" in line for line in healthy[-1].lines) and "FAIL" not in healthy[-1].text:
        return ruled_out(Words("etcd passes its performance check", "etcd 性能检查通过"), (healthy[-1].place(0),))
    return cannot_tell(Words("no message of etcd and no latency is shown", "没有 etcd 的消息或延迟数据"))


def _all_failing(picture: Picture, own: list[Hit]) -> bool:
    """Nothing succeeds: quorum is lost rather than slow."""
    return bool(picture.hits("trt2001-no-leader", "trt2001-kubectl-refused")) and not _intermittent(picture, own)


def fix(_picture: Picture, _finding: Finding) -> tuple[Step, ...]:
    return (
        Step(
            Words("See leader, size and errors of each member", "查看各成员的 leader、库大小与错误"),
            "etcdctl endpoint status --cluster -w table",
        ),
        Step(Words("Measure the disks of the members", "测量成员磁盘性能"), "iostat -x 1 3"),
        Step(
            Words(
                "Compact and defragment, one member at a time, the leader last",
                "压缩并整理碎片，逐个成员进行，leader 最后",
            ),
            "rev=$(etcdctl --endpoints=<member> endpoint status -w json | grep -o '\"revision\":[0-9]*' "
            "| grep -o '[0-9]*$'); etcdctl --endpoints=<member> compact $rev; etcdctl --endpoints=<member> defrag",
            "disruptive",
        ),
        Step(
            Words(
                "Put etcd on a fast disk of its own (SSD), away from busy neighbours, and make the members three or "
                "five",
                "为 etcd 使用独立的高速磁盘（SSD），远离繁忙的负载；成员数设为三或五",
            ),
            risk="disruptive",
        ),
    )


CAUSE = Cause(
    id="etcd-slow",
    code="TRT2006",
    severity="medium",
    name=Words("etcd is slow", "etcd 过慢"),
    what=Words(
        "etcd's latency or changes of its leader make requests of the API server time out now and then.",
        "etcd 延迟高或频繁切换 leader，使 API server 的请求时而超时。",
    ),
    explains=("datastore-error", "controllers-failing", "restarts", "not-ready", "log-errors"),
    look_alikes=(
        ("datastore-unreachable", Words("it never succeeds", "始终不成功")),
        ("etcd-inconsistent", Words("updates conflict for ever", "更新永远冲突")),
        ("liveness-window-too-short", Words("far datastore, but no errors", "数据存储较远，但没有错误")),
    ),
    signs=(*OWN, *DISK, ELECTED, VERIFYING, VERIFY, REACH, API_DEADLINE),
    judge=judge,
    ask=Ask(
        "etcdctl endpoint status --cluster -w table; iostat -x 1 3",
        Words("on the members: latency and disk", "在成员上执行：查看延迟与磁盘"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("No such line in the last hour", "最近一小时没有此类日志"),
            "kubectl -n kube-system logs -l component=etcd --since=1h | grep -c -e 'took too long' -e 'leader changed'",
        ),
    ),
    prevent=(
        Words("Watch fsync latency and leader changes.", "监控 fsync 延迟与 leader 切换次数。"),
        Words("Use an odd number of members.", "使用奇数个成员。"),
    ),
    yields_to=("datastore-unreachable",),
)
