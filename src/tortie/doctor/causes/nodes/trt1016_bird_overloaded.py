"""TRT1016: BIRD's main loop takes seconds, so its control socket answers late."""

from __future__ import annotations

import re
from typing import Final

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
from tortie.doctor.causes.nodes.bgp_evidence import exhibit_at, node_at
from tortie.doctor.picture.facts import Load, Number, Process, Setting, Statement
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

SOCKET_LATE: Final = Sign("trt1016-socket-late", "read unix @->/var/run/<path>bird<file>.ctl: i/o timeout")
SOCKET_LATE_PLAIN: Final = Sign("trt1016-socket-late-plain", "bird.ctl: i/o timeout")
LIVE_LATE: Final = Sign("trt1016-live-late", "bird is not live: <rest>")
LOOP: Final = Sign("trt1016-loop", "I/O loop cycle took <n> ms for <n2> events")
NETLINK: Final = Sign("trt1016-netlink", "Kernel dropped some netlink messages")
GONE: Final = Sign("trt1016-socket-gone", "bird.ctl: connect: (connection refused|no such file or directory)")
SLOW_MS: Final = 3000.0  # a cycle this long eats most of a probe's time
MANY_LINKS: Final = 1000
BUSY_PERCENT: Final = 80.0
SLOW_ANSWER_S: Final = 2.0
_LINKS = re.compile(r"\bip\s+(?:-\S+\s+)*(?:a|ad|addr|address|l|li|link)\b|/sys/class/net")
_LINK_NAMED = re.compile(r"\b(?:dev|show|sh|s)\s+([a-z][\w.-]*\d)\b")


def judge(picture: Picture) -> Finding:
    late = picture.hits(SOCKET_LATE, SOCKET_LATE_PLAIN)
    late += [hit for hit in picture.hits(LIVE_LATE) if "timed out" in hit.text or "timeout" in hit.text]
    loops = [hit for hit in picture.hits(LOOP) if float(hit.value("n")) >= SLOW_MS]
    netlink = picture.hits(NETLINK)
    busy: list[Process | Statement] = [
        p for p in picture.of(Process) if _is_bird(p.command) and (p.cpu or 0) >= BUSY_PERCENT
    ]
    busy += picture.said("bird-busy")
    slow: list[Setting | Statement] = [*_slow_answers(picture), *picture.said("bird-answers-late")]
    links = _many_links(picture)
    strained = _strained(picture)
    agents = picture.agents_now()
    well = bool(agents) and all(pod.all_ready and not pod.restarts for pod in agents)
    causes = [*loops, *netlink, *busy, *links, *slow]
    if not late and not loops and not (slow and (busy or links)):
        if picture.hits(GONE):
            return ruled_out(
                Words("the socket is absent or refused, not slow", "套接字不存在或被拒绝，而不是慢"),
                picture.hits(GONE)[:1],
            )
        return cannot_tell(Words("how fast BIRD's socket answers", "BIRD 套接字应答的快慢"))
    if late and (halted := _stopped(picture)):
        node = node_at(picture, halted[0].place, halted[0].host)
        why = Words(
            f"BIRD{' on ' + node if node else ''} stands still (state T), so its socket answers nobody.",
            f"{node + ' 上的 ' if node else ''}BIRD 处于停止状态（T），控制套接字无人应答。",
        )
        return found(STRONG, why, ("bird", node, "bird.ctl"), (*halted[:1], *late[:2]), node=node, state="T")
    if well and not causes:
        return ruled_out(Words("agents are ready and did not restart", "calico-node 已就绪且未重启"))
    if late and (loops or (busy and links) or (slow and (busy or links))):
        strength = PROVEN
    elif (slow and (busy or links)) or (late and (busy or links or netlink or slow)):
        strength = STRONG
    elif loops:
        strength = STRONG if len(loops) > 1 or links or busy else LIKELY
    else:
        strength = POSSIBLE  # a slow host or a throttled container answers late as well
    if strained and not (busy or links):
        strength = POSSIBLE
    cycle = max((float(hit.value("n")) for hit in loops), default=0.0)
    parts = _reasons(cycle, links, busy, slow)
    why = Words(
        "BIRD's control socket answers too late" + (f": {', '.join(p.en for p in parts)}." if parts else "."),
        "BIRD 控制套接字应答过慢" + (f"：{'，'.join(p.zh for p in parts)}。" if parts else "。"),
    )
    first = (late or loops or slow)[0]
    node = node_at(picture, first.place, "" if isinstance(first, Statement) else first.host)
    counted = [str(number.value) for number in links]
    named = [name for number in links for name in _LINK_NAMED.findall(number.command)]
    objects = ("bird", *named, node, *counted, "bird.ctl", "ignoredInterfaces")
    evidence = (*links[:1], *busy[:1], *slow[:1], *loops[:2], *netlink[:1], *late[:2])
    return found(strength, why, objects, evidence, node=node)


def _stopped(picture: Picture) -> list[Process]:
    """Processes of BIRD that somebody has stopped, by the state in a row of `ps`."""
    got = []
    for process in picture.of(Process):
        exhibit = exhibit_at(picture, process.place) if _is_bird(process.command) else None
        if exhibit and any(
            process.command in line and re.search(r"\s[?\w/]+\s+T[a-zA-Z<+]*\s", line) for line in exhibit.lines
        ):
            got.append(process)
    return got


def _slow_answers(picture: Picture) -> list[Setting]:
    """BIRD's own client was timed, and took seconds."""
    timed = [s for s in picture.of(Setting) if s.scope == "elapsed"]
    idle = [s for s in timed if "bird" not in s.name and "exec" in s.name]
    # A container that is slow to enter says nothing about BIRD.
    entry = min((float(s.value) for s in idle), default=0.0)
    asked = [s for s in timed if re.search(r"\bbirdc(?:l)?6?\b", s.name)]
    return [s for s in asked if float(s.value) - entry >= SLOW_ANSWER_S]


def _reasons(
    cycle: float, links: list[Number], busy: list[Process | Statement], slow: list[Setting | Statement]
) -> list[Words]:
    parts = []
    if cycle:
        parts.append(Words(f"one loop took {cycle:.0f} ms", f"一次主循环耗时 {cycle:.0f} ms"))
    if links:
        count = links[0].value
        parts.append(Words(f"the host has {count} links or addresses", f"主机上有 {count} 个网卡或地址"))
    if busy and isinstance(busy[0], Process):
        parts.append(Words(f"bird uses {busy[0].cpu:.0f} % CPU", f"bird 占用 CPU {busy[0].cpu:.0f}%"))
    if slow and isinstance(slow[0], Setting):
        took = float(slow[0].value)
        parts.append(Words(f"birdcl took {took:.1f} s", f"birdcl 耗时 {took:.1f} 秒"))
    return parts


def _is_bird(command: str) -> bool:
    return command.split()[:1] != [] and command.split()[0].rpartition("/")[2] in ("bird", "bird6")


def _many_links(picture: Picture) -> list[Number]:
    return [n for n in picture.of(Number) if n.value >= MANY_LINKS and _LINKS.search(n.command)]


def _strained(picture: Picture) -> bool:
    """The whole host is slow, which says nothing about BIRD."""
    return any(load.cores and load.one > 2 * load.cores for load in picture.of(Load)) or bool(picture.said("load-high"))


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    if finding.value("state") == "T":
        return (
            Step(Words("Let BIRD go on", "让 BIRD 继续运行"), "pkill -CONT -x bird"),
            Step(Words("Find out who stopped it: a debugger, a script", "查明是谁让它停止：调试器、脚本")),
        )
    version = picture.version("calico")
    steps = [
        Step(
            Words("Count links, and time the socket", "统计网卡数并给套接字计时"),
            "ip -o link | wc -l; time birdcl -s /var/run/calico/bird.ctl show protocols | wc -l",
        )
    ]
    if version is None or version >= (3, 25):
        steps.append(
            Step(
                Words("Let BIRD ignore links it has no business with (from v3.25)", "让 BIRD 忽略无关网卡（v3.25 起）"),
                'calicoctl patch bgpconfig default -p \'{"spec":{"ignoredInterfaces":["<pattern>"]}}\'',
                "disruptive",
            )
        )
    else:
        steps.append(
            Step(
                Words("Upgrade to v3.25 or later, which can ignore links", "升级到 v3.25 以上，可忽略无关网卡"),
                risk="disruptive",
            )
        )
    steps += [
        Step(
            Words(
                "Remove links and addresses that nobody uses; with hundreds of nodes use route reflectors, not a mesh",
                "清理无用的网卡与地址；节点数上百时用路由反射器代替 mesh",
            ),
            risk="disruptive",
        ),
        Step(
            Words("Give the agent no CPU limit", "不要限制 calico-node 的 CPU"),
            f"kubectl -n {picture.namespace} set resources ds/calico-node -c calico-node --limits=cpu=0",
            "disruptive",
        ),
    ]
    return tuple(steps)


CAUSE = Cause(
    id="bird-overloaded",
    code="TRT1016",
    severity="medium",
    name=Words("BIRD is overloaded", "BIRD 过载"),
    what=Words(
        "BIRD walks thousands of links, addresses or peers in its main loop and answers its socket seconds late.",
        "BIRD 的主循环要遍历数千网卡、地址或对等体，套接字应答晚了数秒。",
    ),
    explains=("bird-not-ready", "not-ready", "killed-by-liveness", "restarts", "bgp-down", "crash-loop"),
    look_alikes=(
        ("node-overloaded", Words("everything on the host is slow", "整台主机都慢")),
        ("cpu-throttled", Words("a CPU limit is set", "设置了 CPU 限额")),
        ("probe-timeout", Words("bird answers quickly, the probe's limit is short", "bird 应答快，只是探测超时太短")),
    ),
    signs=(SOCKET_LATE, SOCKET_LATE_PLAIN, LIVE_LATE, LOOP, NETLINK, GONE),
    judge=judge,
    ask=Ask(
        "ip -o link | wc -l; time birdcl -s /var/run/calico/bird.ctl show protocols | wc -l",
        Words("thousands of links and an answer that takes seconds", "网卡数以千计，且应答需数秒"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("It takes well under a second", "应远小于一秒"), "time birdcl -s /var/run/calico/bird.ctl show status"
        ),
    ),
    prevent=(Words("Watch the number of links and BIRD's loop time.", "监控网卡数量与 BIRD 循环耗时。"),),
    yields_to=("node-overloaded", "cpu-throttled"),
)
