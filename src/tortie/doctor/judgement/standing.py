"""Is it well now? What the newest exhibits say about the agents, the sessions and the nodes, taken together."""

from __future__ import annotations

from typing import NamedTuple

from tortie.doctor.causes.shared import STARTED
from tortie.doctor.diagnosis import Checked
from tortie.doctor.picture.facts import Condition
from tortie.doctor.picture.picture import Picture
from tortie.doctor.words import Words


class Standing(NamedTuple):
    agents_shown: bool
    agents_well: bool  # all that are shown are ready, and none is being restarted
    sessions_shown: bool
    sessions_up: bool
    nodes_shown: bool
    nodes_ready: bool
    checked: tuple[Checked, ...]

    @property
    def well(self) -> bool:
        """Something was shown to be in order, and nothing that was shown is out of order."""
        parts = (
            (self.agents_shown, self.agents_well),
            (self.sessions_shown, self.sessions_up),
            (self.nodes_shown, self.nodes_ready),
        )
        return any(shown for shown, _ in parts) and all(good for shown, good in parts if shown)


def standing(picture: Picture) -> Standing:
    agents = [pod for pod in picture.agents_now() if pod.containers is not None]
    sessions, down = picture.sessions(), picture.sessions_down()
    nodes = [node for node in picture.nodes_now().values() if node.status]
    unready = [node for node in nodes if "NotReady" in node.status]
    unready_conditions = [c for c in picture.of(Condition) if c.kind == "Ready" and c.status in ("False", "Unknown")]
    agents_well = bool(agents) and all(pod.all_ready and pod.status == "Running" for pod in agents)
    checked: list[Checked] = []
    if agents_well:
        text = Words(f"{len(agents)} calico-node pods, all ready", f"{len(agents)} 个 calico-node Pod 全部就绪")
        checked.append(Checked(text, tuple(pod.place for pod in agents[:3])))
    if sessions and not down:
        peers = {(session.host, session.peer) for session in sessions}
        text = Words(f"{len(peers)} BGP sessions, all established", f"{len(peers)} 个 BGP 会话全部 Established")
        checked.append(Checked(text, tuple(session.place for session in sessions[:3])))
    if nodes and not unready:
        text = Words(f"{len(nodes)} nodes, all Ready", f"{len(nodes)} 个节点全部 Ready")
        checked.append(Checked(text, tuple(node.place for node in nodes[:3])))
    started = picture.hits(STARTED)
    if started:
        text = Words("start-up ran to its end", "启动流程完整结束")
        checked.append(Checked(text, tuple(hit.place for hit in started[-1:])))
    return Standing(
        bool(agents), agents_well, bool(sessions), bool(sessions) and not down,
        bool(nodes) or bool(unready_conditions), bool(nodes) and not unready and not unready_conditions, tuple(checked),
    )  # fmt: skip
