"""Is it well now? What the newest exhibits say about the agents, the sessions and the nodes, taken together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.causes.shared import STARTED
from tortie.doctor.diagnosis import Checked
from tortie.doctor.judgement.tallies import tally
from tortie.doctor.picture.facts import (
    CalicoNode,
    Condition,
    Container,
    Event,
    FilterRule,
    Interface,
    LogLine,
    Node,
    Pod,
    Pool,
    PoolUse,
    Probe,
    Registered,
    Route,
    Session,
    Setting,
    Statement,
    Workload,
)
from tortie.doctor.picture.host_pods import is_agent
from tortie.doctor.picture.picture import Picture
from tortie.doctor.words import Words
from tortie.model.tuples import NamedTuple

_REMAINS: Final = ("Evicted", "Failed", "Completed", "OutOfcpu", "OutOfmemory", "NodeLost", "Shutdown", "Terminated")


class Standing(NamedTuple):
    agents_shown: bool
    agents_well: bool  # all that are shown are ready, and none is being restarted
    sessions_shown: bool
    sessions_up: bool
    nodes_shown: bool
    nodes_ready: bool
    checked: tuple[Checked, ...]
    told: frozenset[str] = frozenset()  # agents, nodes, sessions, traffic that were not shown, and are said to be well

    @property
    def well(self) -> bool:
        """Agents or sessions were shown to be in order, and nothing that was shown is out of order.

        Nodes that are Ready prove nothing alone: kubelet says so of nodes whose pods reach nobody.
        """
        return (self.agents_shown or self.sessions_shown) and self.in_order

    @property
    def well_as_told(self) -> bool:
        """The same where the operator or the person says so: enough against a doubt, never against a cause."""
        return self.well or (bool(self.told & {"agents", "sessions"}) and self.in_order)

    @property
    def in_order(self) -> bool:
        parts = (
            (self.agents_shown, self.agents_well),
            (self.sessions_shown, self.sessions_up),
            (self.nodes_shown, self.nodes_ready),
        )
        return all(good for shown, good in parts if shown)


# What only a cluster has; links, settings and loads any machine has.
_CLUSTERED: Final = (
    CalicoNode, Condition, Container, Event, LogLine, Node, Pod, Pool, PoolUse, Probe, Registered, Session, Statement,
    Workload,
)  # fmt: skip


_NO_BGP: Final = '"bgp":"Disabled"'  # as jsonpath prints a part of the Installation
_DEVICES: Final = ("cali", "tunl", "vxlan.calico", "vxlan-v6.calico", "wireguard.cali", "kube-ipvs")
_CHAINS: Final = ("cali-", "felix-", "KUBE-")
_ASKED: Final = ("kubectl", "calicoctl", "oc ", "k3s", "microk8s", "crictl")


def about_a_cluster(picture: Picture) -> bool:
    """Whether anything in it comes from Kubernetes, Calico or a person who has them."""
    return (
        picture.any_hit
        or any(picture.of(kind) for kind in _CLUSTERED)
        or any(link.name.startswith(_DEVICES) for link in picture.of(Interface))
        or any(route.device.startswith(_DEVICES) for route in picture.of(Route))
        or any(rule.verdict.startswith(_CHAINS) or rule.chain.startswith(_CHAINS) for rule in picture.of(FilterRule))
        or any(asked in exhibit.command for exhibit in picture.exhibits if exhibit.lines for asked in _ASKED)
    )


def without_bgp(picture: Picture) -> bool:
    """A cluster that runs without BGP has no BIRD and no sessions."""
    if any(_NO_BGP in line for exhibit in picture.exhibits if not exhibit.prose for line in exhibit.lines):
        return True
    names = ("calico_backend", "CALICO_NETWORKING_BACKEND", "bgp")
    return any(picture.value(name).lower() in ("vxlan", "none", "disabled") for name in names)


def ready(pod: Pod) -> bool:
    return pod.all_ready and pod.status in ("Running", "")


def live(pods: list[Pod]) -> list[Pod]:
    """Without what eviction and the like left behind: records of pods whose successor on that node is there."""
    served = {pod.node for pod in pods if pod.node and ready(pod)}
    return [pod for pod in pods if not (pod.status in _REMAINS and (pod.node in served or not pod.node))]


def standing(picture: Picture) -> Standing:
    agents = [pod for pod in live(picture.agents_now()) if pod.containers is not None]
    sets = [workload for workload in picture.of(Workload) if is_agent(workload.name) and workload.desired is not None]
    sessions, down = picture.sessions(), picture.sessions_down()
    nodes = [node for node in picture.nodes_now().values() if node.status]
    counted_agents = tally(picture, "agents") if not agents and not sets else None
    agents_well = not counted_agents.unwell if counted_agents else _agents_well(agents, sets)
    unready = _unready(picture, nodes)
    counted = tally(picture, "nodes")
    uncounted = counted is None or not counted.unwell
    checked = [
        *(_agents_checked(agents, sets) if agents_well and not counted_agents else ()),
        *(_sessions_checked(sessions) if not down else ()),
        *(_nodes_checked(nodes) if not any("NotReady" in node.status for node in nodes) else ()),
        *_start_checked(picture),
    ]
    shown = {
        "agents": bool(agents or sets or counted_agents),
        "sessions": bool(sessions),
        "nodes": bool(nodes or unready or counted),
    }
    return Standing(
        shown["agents"], agents_well, shown["sessions"], bool(sessions) and not down,
        shown["nodes"], shown["nodes"] and not unready and uncounted, tuple(checked),
        frozenset(area for area in (*shown, "traffic") if not shown.get(area) and _told(picture, area)),
    )  # fmt: skip


def operator_content(picture: Picture) -> bool:
    """The operator's last word: everything that it rolls out is there, and nothing is degraded."""
    states = [one.value for one in picture.of(Setting) if one.scope == "tigerastatus"]
    return bool(states) and all("available=True" in one and "degraded=True" not in one for one in states)


def _told(picture: Picture, area: str) -> bool:
    """By the person, or by the operator, which knows of its own pods."""
    return bool(picture.said(f"{area}-well")) or (area == "agents" and operator_content(picture))


def _agents_well(agents: list[Pod], sets: list[Workload]) -> bool:
    sets_well = all(workload.ready == workload.desired for workload in sets)
    return bool(agents or sets) and sets_well and all(ready(pod) for pod in agents)


def _unready(picture: Picture, nodes: list[Node]) -> list[Node | Condition]:
    """Nodes whose row or whose condition says so."""
    rows = [node for node in nodes if "NotReady" in node.status]
    conditions = [c for c in picture.of(Condition) if c.kind == "Ready" and c.status in ("False", "Unknown")]
    return [*rows, *conditions]


def _agents_checked(agents: list[Pod], sets: list[Workload]) -> Iterator[Checked]:
    count = len(agents) or sets[-1].desired
    text = Words(
        "1 calico-node pod, ready" if count == 1 else f"{count} calico-node pods, all ready",
        f"{count} 个 calico-node Pod 全部就绪",
    )
    yield Checked(text, tuple([*(pod.place for pod in agents), *(one.place for one in sets)][:3]))


def _sessions_checked(sessions: list[Session]) -> Iterator[Checked]:
    if sessions:
        peers = {(session.host, session.peer) for session in sessions}
        text = Words(
            "1 BGP session, established" if len(peers) == 1 else f"{len(peers)} BGP sessions, all established",
            f"{len(peers)} 个 BGP 会话全部 Established",
        )
        yield Checked(text, tuple(session.place for session in sessions[:3]))


def _nodes_checked(nodes: list[Node]) -> Iterator[Checked]:
    if nodes:
        text = Words(
            "1 node, Ready" if len(nodes) == 1 else f"{len(nodes)} nodes, all Ready", f"{len(nodes)} 个节点全部 Ready"
        )
        yield Checked(text, tuple(node.place for node in nodes[:3]))


def _start_checked(picture: Picture) -> Iterator[Checked]:
    started = picture.hits(STARTED)
    if started:
        text = Words("start-up ran to its end", "启动流程完整结束")
        yield Checked(text, tuple(hit.place for hit in started[-1:]))
