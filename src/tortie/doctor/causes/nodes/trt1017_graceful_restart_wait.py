"""TRT1017: after a restart BIRD waits for its peers before it installs routes or reports ready."""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.legacy import (
    LIKELY,
    POSSIBLE,
    STRONG,
    Ask,
    Cause,
    Finding,
    Step,
    cannot_tell,
    found,
    ruled_out,
)
from tortie.doctor.causes.nodes.bgp_evidence import listed, missing_peers, node_at, settled
from tortie.doctor.picture.facts import Event, LogLine, Setting, Workload
from tortie.doctor.picture.picture import Picture, is_agent
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

IN_PROGRESS: Final = Sign("trt1017-in-progress", "graceful restart in progress")
RECOVERY: Final = Sign("trt1017-recovery", "Graceful restart recovery in progress")
RECOVERS: Final = Sign("trt1017-recovers", "BIRD recovers from a restart: it keeps its earlier routes")  # Tortie's own
STARTED: Final = Sign("trt1017-started", "Graceful restart started")
DONE: Final = Sign("trt1017-done", "Graceful restart done")
LONGEST_S: Final = 240.0  # BIRD's own limit
NOTICEABLE_S: Final = 30.0


def judge(picture: Picture) -> Finding:
    waiting, started, done = picture.hits(IN_PROGRESS, RECOVERY, RECOVERS), picture.hits(STARTED), picture.hits(DONE)
    gap = _gap(picture, started, done)
    healed = picture.said("heals-by-itself")
    held = [state for state in picture.settings("waiting", "bird") if state.value == "wait"]
    agents = picture.agents_now()
    ready = bool(agents) and all(pod.all_ready for pod in agents)
    seen = bool(waiting or held) and not ready
    if gap > NOTICEABLE_S and (healed or seen or not settled(picture)):
        why = Words(
            f"BIRD waited {gap:.0f} s for its peers after the restart, and installed no routes until then.",
            f"BIRD 重启后等待对端 {gap:.0f} 秒，期间没有下发路由。",
        )
        strength = STRONG if healed or held else POSSIBLE if missing_peers(picture) else LIKELY
        named = ("graceful restart", "nodeMeshMaxRestartTime")
        return found(strength, why, named, (*started[-1:], *done[-1:], *held[:1], *waiting[:1], *healed[:1]))
    if held and not missing_peers(picture) and (healed or _still(picture, held) or picture.hits(RECOVERY)):
        return _holding(picture, held, (*waiting[:1], *picture.settings("wait-timer", "bird")[-1:], *healed[:1]))
    counted = [one for one in picture.of(Workload) if is_agent(one.name) and one.desired is not None]
    if settled(picture) and agents and all(one.ready == one.desired for one in counted[-1:]):
        well = Words("the agents shown are ready by now", "所示 calico-node 现已就绪")
        return ruled_out(well, (*done[:1], *agents[:1]))
    if not waiting:
        if done and started:
            return ruled_out(Words("the graceful restart is done", "平滑重启已完成"), done[-1:])
        return cannot_tell(Words("what BIRD logs about a graceful restart", "BIRD 关于平滑重启的日志"))
    if done and done[-1].place > waiting[-1].place and not _pending(started, done):
        if missing_peers(picture):
            return ruled_out(Words("it is done, and peers are still missing", "已完成，但对端仍然缺失"), done[-1:])
        return ruled_out(Words("the graceful restart is done", "平滑重启已完成"), done[-1:])
    lasting = _lasting(picture)
    peers = list(dict.fromkeys(peer.address for peer in missing_peers(picture)))
    node = node_at(picture, waiting[0].place, waiting[0].host)
    why = Words(
        "BIRD restarted and waits for its peers, up to four minutes"
        + (f"; {listed(peers)} has not come." if peers else "; it heals by itself."),
        "BIRD 重启后正在等待对端，最长四分钟" + (f"；{listed(peers)} 一直没有上来。" if peers else "；会自行恢复。"),
    )
    # Longer than BIRD ever waits: then it is restarted again and again, and something else is the cause.
    strength = POSSIBLE if lasting > 2 * LONGEST_S else STRONG
    objects = ("graceful restart", *peers[:3], node, "nodeMeshMaxRestartTime")
    evidence = (*started[-1:], *waiting[:2], *missing_peers(picture)[:2])
    return found(strength, why, objects, evidence, peer=peers[0] if peers else "")


def _pending(started: list[Hit], done: list[Hit]) -> list[Hit]:
    """Restarts that their own log does not call done yet."""
    ended = {hit.place.source: hit.place.first for hit in done}
    return [hit for hit in started if hit.place.first > ended.get(hit.place.source, 0)]


def _still(picture: Picture, held: list[Setting]) -> bool:
    """No later table shows these sessions without the wait."""
    last = {(session.host, session.peer): session.place for session in picture.sessions()}
    return any(last.get((state.host, state.owner), state.place) == state.place for state in held)


def _holding(picture: Picture, held: list[Setting], said: tuple[object, ...]) -> Finding:
    """Sessions stand, and BIRD installs nothing until all of its peers are back or the timer ends."""
    timer = picture.value("wait-timer", "bird")
    peers = list(dict.fromkeys(state.owner for state in held))
    why = Words(
        f"The sessions with {listed(peers)} stand, but BIRD holds its routes back until the graceful restart is over"
        + (f" (timer {timer})." if timer else "."),
        f"与 {listed(peers)} 的会话已建立，但平滑重启结束前 BIRD 不下发路由"
        + (f"（计时 {timer}）。" if timer else "。"),
    )
    node = node_at(picture, held[0].place, held[0].host)
    objects = ("graceful restart", node, timer, "nodeMeshMaxRestartTime", *peers[:3])
    return found(STRONG if said else LIKELY, why, objects, (*held[:2], *said), node=node)


def _gap(picture: Picture, started: list[Hit], done: list[Hit]) -> float:
    times = {(line.place.source, line.place.first): line.time for line in picture.of(LogLine) if line.time}
    begin = times.get((started[-1].place.source, started[-1].place.first)) if started else None
    end = times.get((done[-1].place.source, done[-1].place.first)) if done else None
    return end - begin if begin and end else 0.0


def _lasting(picture: Picture) -> float:
    events = [event for event in picture.of(Event) if "graceful restart in progress" in event.message.lower()]
    return max((event.over_s or 0.0 for event in events), default=0.0)


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    peer = finding.value("peer")
    steps = [
        Step(
            Words("Wait four minutes and look again", "等四分钟再看"),
            f"kubectl -n {picture.namespace} logs <calico-node pod> | grep -i graceful",
        )
    ]
    if peer:
        steps.append(
            Step(
                Words(
                    f"Find out why {peer} never answers; delete its node if it is gone",
                    f"查明 {peer} 为何不应答；若已下线则删除其节点",
                ),
                f"ping -c2 {peer}; kubectl get nodes -o wide",
            )
        )
    steps.append(
        Step(
            Words("Shorten the wait, if routes must come sooner", "若需更快恢复路由，可缩短等待时间"),
            'calicoctl patch bgpconfig default -p \'{"spec":{"nodeMeshMaxRestartTime":"60s"}}\'',
            "disruptive",
        )
    )
    return tuple(steps)


CAUSE = Cause(
    id="graceful-restart-wait",
    code="TRT1017",
    severity="low",
    name=Words("BIRD waits for a graceful restart", "平滑重启等待"),
    what=Words(
        "After a restart BIRD waits up to 240 s for its peers before it installs routes or reports ready.",
        "BIRD 重启后最多等待对端 240 秒，期间不下发路由，也不报告就绪。",
    ),
    explains=("bird-not-ready", "not-ready", "traffic-dead"),
    look_alikes=(
        ("peer-node-down", Words("the wait is over and one machine is away", "等待已结束，某台机器不在线")),
        ("bgp-port-blocked", Words("the wait is over and no session comes up", "等待已结束，会话仍建立不了")),
    ),
    signs=(IN_PROGRESS, RECOVERY, RECOVERS, STARTED, DONE),
    judge=judge,
    ask=Ask(
        "kubectl -n <namespace> logs <calico-node pod> | grep -i graceful",
        Words("started without done: it still waits", "只有 started 没有 done：仍在等待"),
    ),
    fix=fix,
    verify=(Step(Words("The pod is ready", "Pod 已就绪"), "kubectl -n <namespace> get pod -l k8s-app=calico-node"),),
    prevent=(Words("Delete dead nodes from the mesh.", "及时从 mesh 中删除死掉的节点。"),),
    yields_to=(
        "peer-node-down",
        "bgp-port-blocked",
        "bgp-filtered-in-path",
        "bgp-as-mismatch",
        "bgp-auth-mismatch",
        "port-179-conflict",
        "node-ip-changed",
        "duplicate-node-ip",
        "bird-overloaded",
        "bird-config-invalid",
        "autodetect-wrong-interface",
    ),
)
