"""How much of a cluster was looked at. `healthy` is a claim about that much and no more."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import Final

from tortie.doctor.causes.shared import STARTED
from tortie.doctor.causes.underlay.traffic_evidence import pod_pings
from tortie.doctor.diagnosis import Area
from tortie.doctor.judgement.own_failures import loads_passed
from tortie.doctor.judgement.standing import Standing, live, ready, without_bgp
from tortie.doctor.judgement.tallies import tally
from tortie.doctor.judgement.wondering import points_at_nothing, tells, wonders
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Ping, PoolUse, PortTest, Setting, Workload
from tortie.doctor.picture.host_pods import is_agent
from tortie.doctor.picture.picture import Picture
from tortie.doctor.words import Words

# Ready pods of one kind may all be cut off from each other: one area alone proves nothing.
LEAST: Final = 2
WIDE: Final = 3
_ON_THE_NETWORK: Final = ("calico-kube-controllers", "coredns")  # Deployments whose pods need it
_THROUGHPUT: Final = lazily(r"\b(?!0\.?0* )\d+(?:\.\d+)? [KMG]?bits/sec")
_IPERF: Final = lazily(r"\biperf3? .*?-c[ =]?(\S+)")
_API_PORTS: Final = (443, 6443, 16443, 8443)


def _agents(_: Picture, now: Standing) -> bool:
    return (now.agents_shown and now.agents_well) or "agents" in now.told


def _nodes(_: Picture, now: Standing) -> bool:
    return (now.nodes_shown and now.nodes_ready) or "nodes" in now.told


def _sessions(picture: Picture, now: Standing) -> bool:
    return (now.sessions_shown and now.sessions_up) or "sessions" in now.told or _counted_up(picture)


def _counted_up(picture: Picture) -> bool:
    """`calicoctl node status | grep -c Established`: as many as the other nodes."""
    asked = [e for e in picture.commands("node", "status") if _counts_established(e.command)]
    counts = [int(line) for exhibit in asked for line in exhibit.lines[:1] if line.strip().isdecimal()]
    desired = max((load.desired or 0 for load in picture.of(Workload) if is_agent(load.name)), default=0)
    nodes = max(len(picture.nodes_now()), len(picture.agents_now()), desired)
    return bool(counts) and nodes > 1 and all(count >= nodes - 1 for count in counts)


def _counts_established(command: str) -> bool:
    """By grep's own options: those of kubectl before it are others, and `-v` counts the rest."""
    words = command.rpartition("grep ")[2].split()
    options = "".join(takewhile(lambda word: word.startswith("-"), words))
    wanted = next((word for word in words if not word.startswith("-")), "")
    return "c" in options and "v" not in options and wanted.strip("\"';") == "Established"


def _both_ends(picture: Picture, now: Standing) -> bool:
    """Sessions asked from more than one machine: each side confirms the other's address."""
    return _sessions(picture, now) and len({owner for owner, _ in picture.sessions_now()}) > 1


def _addresses(picture: Picture, _: Standing) -> bool:
    """What nodes registered, or how the pools are used, was looked at."""
    return bool(picture.registered() or picture.of(PoolUse) or picture.commands("ipam", "check"))


def _api(picture: Picture, _: Standing) -> bool:
    """The API server answered somebody, or the operator reports that it is served."""
    tests = (test for test in picture.of(PortTest) if test.port in _API_PORTS)
    if any(test.result == "open" or test.result.startswith(("http-2", "http-4")) for test in tests):
        return True
    states = [one for one in picture.of(Setting) if one.scope in ("tigerastatus", "apiservice")]
    return any("available=True" in one.value or one.value == "True" for one in states)


def _events(picture: Picture, _: Standing) -> bool:
    return bool(picture.events() or picture.commands("get", "events") or picture.commands("describe"))


def _pods(picture: Picture, _: Standing) -> bool:
    """Other pods than the agents, which need the network that the agents make."""
    others = [pod for pod in live(picture.pods_now()) if not is_agent(pod.name) and pod.containers is not None]
    counted = tally(picture, "pods")
    loads = [load for load in picture.of(Workload) if load.name in _ON_THE_NETWORK and load.desired]
    deployed = bool(loads) and all(load.ready == load.desired for load in loads)
    return any(ready(pod) for pod in others) or deployed or (counted is not None and not counted.unwell)


def _traffic(picture: Picture, now: Standing) -> bool:
    passed = "traffic" in now.told or any(
        test.result == "open" or test.result.startswith("http-2") for test in picture.of(PortTest)
    )
    return passed or any(ping.ok for ping in picture.of(Ping)) or _carried(picture) or loads_passed(picture)


def _carried(picture: Picture) -> bool:
    """Throughput that iperf measured to or from a pod; between machines it says nothing of pods."""
    nodes = {*picture.internal_ips().values(), *(pod.ip for pod in picture.agents_now())}
    for exhibit in picture.exhibits:
        target = _IPERF.search(exhibit.command)
        inside = exhibit.pod or "exec" in exhibit.command
        if (inside or (target and target[1] not in nodes)) and any(
            "bits/sec" in line and _THROUGHPUT.search(line) for line in exhibit.lines
        ):
            return True
    return False


def _start(picture: Picture, _: Standing) -> bool:
    return bool(picture.hits(STARTED))


_AREAS: Final[tuple[tuple[Area, Callable[[Picture, Standing], bool]], ...]] = (
    (Area("agents", Words("calico-node on every node shown", "所示节点上的 calico-node")), _agents),
    (Area("nodes", Words("the nodes' state", "节点状态")), _nodes),
    (Area("sessions", Words("BGP sessions", "BGP 会话")), _sessions),
    (Area("addresses", Words("registered addresses and IP pools", "节点注册的地址与地址池")), _addresses),
    (Area("api", Words("the API server's answers", "API Server 的响应")), _api),
    (Area("events", Words("events", "事件")), _events),
    (Area("pods", Words("other pods", "其他 Pod")), _pods),
    (Area("traffic", Words("traffic that was tried", "实际测试的流量")), _traffic),
    (Area("start", Words("a whole start of calico-node", "calico-node 的完整启动过程")), _start),
)


def seen(picture: Picture, now: Standing) -> tuple[tuple[Area, ...], tuple[Area, ...]]:
    """What was seen in order, and what nobody looked at."""
    covers = tuple(area for area, shown in _AREAS if shown(picture, now))
    no_sessions = bool(covers) and not now.sessions_shown and without_bgp(picture)
    missing = (area for area, _ in _AREAS if area not in covers)
    return covers, tuple(area for area in missing if not (area.key == "sessions" and no_sessions))


def carries(picture: Picture, now: Standing, covers: tuple[Area, ...], asked_about: bool) -> bool:
    """Nobody looked at the agents, but what they make was tried and works, other areas are in order, and the person
    only asks whether something is as it should be.
    """
    passed = _passed(picture)
    asks = bool(picture.said("asks-if-normal")) or (asked_about and wonders(picture))
    return bool(passed and covers) and asks and now.in_order and (len(covers) >= WIDE or len(passed) >= LEAST)


def explained(picture: Picture, now: Standing, covers: tuple[Area, ...], asked_about: bool) -> bool:
    """The person asks about something that is as it should be, and what is shown is in order, however little it is.

    Pods or sessions have to be among it: nodes alone say nothing of the network.
    """
    enough = len(covers) >= LEAST or _both_ends(picture, now)
    served = any(area.key in ("agents", "sessions", "pods", "traffic") for area in covers)
    return asked_about and enough and served and now.in_order and _asks(picture)


def _asks(picture: Picture) -> bool:
    return bool(picture.said("asks-if-normal")) or wonders(picture)


def _passed(picture: Picture) -> set[str]:
    """In which ways pods or services were reached: pings, requests that were answered with whatever, names."""
    ways = {"ping" for _ in pod_pings(picture, True)}
    pods = {pod.ip for pod in picture.pods_now() if pod.ip} - set(picture.internal_ips().values())
    pods |= {one.value for one in picture.of(Setting) if one.scope == "service"}
    answered = ("open", "http-2", "http-3", "http-4")
    tests = (test for test in picture.of(PortTest) if test.result.startswith(answered))
    ways |= {"port" for test in tests if test.pod or test.address in pods or ".svc" in test.address}
    names = (one for one in picture.of(Setting) if one.scope == "dns" and "kubernetes" in one.name)
    return ways | {"dns" for one in names if one.value[:1].isdigit() or ":" in one.value}


def calm(picture: Picture, asked_about: bool) -> bool:
    """Who tells of something, and neither says that all is well nor asks whether it is, has a trouble.

    In whatever words, and whichever traffic passes. The same holds where it is asked whether "this" is normal, and
    only what is told can be meant.
    """
    if not tells(picture) or picture.said("says-well", "mended", "traffic-well") or asked_about:
        return True
    return _asks(picture) and not points_at_nothing(picture)


def broad(picture: Picture, now: Standing, covers: tuple[Area, ...]) -> bool:
    """Enough was seen to call the cluster healthy: two areas, or sessions from both of their ends."""
    only_counted = not now.sessions_shown and "sessions" not in now.told
    told = tells(picture) > 1 and not picture.said("says-well", "mended", "traffic-well")
    if told and {area.key for area in covers} == {"agents", "nodes"}:
        return False  # a story beside pods that run: kubelet says both, and neither says what the network carries
    if only_counted and {area.key for area in covers} == {"agents", "sessions"}:
        return False  # a number beside ready agents says little of what they let pass
    return len(covers) >= LEAST or _both_ends(picture, now)
