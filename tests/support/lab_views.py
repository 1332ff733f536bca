"""Labs as the pictures get them, from one node to hundreds, in order and out of order."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations

from tortie.lab.graph.picture import LabView, NodeView, SessionState, SessionView

NASTY = (
    "<b>\"&'`|]\\n</b>",
    "\x1b[31mred\x1b[0m\x00",
    "a\nb\tc\r",
    "--> ]]> <!-- #quot; &amp; %% ;;",
    "\u202eback\ud800\uffff",
    '"}; digraph { a -> b }',
    "1. a\\",
    "end",
    "",
)


def lab(
    nodes: int,
    *,
    racks: int = 0,
    names: str = "node-{}",
    name: str = "default",
    members: int = 0,
    broken: Mapping[tuple[int, int], tuple[SessionState, str]] | None = None,
    not_ready: Mapping[int, str] | None = None,
    starting: Collection[int] = (),
    peers: Mapping[str, int] | None = None,
) -> LabView:
    """A full mesh of nodes numbered from 1; with racks there is a router that has a session with each of them."""
    broken, not_ready, per_rack = broken or {}, not_ready or {}, -(-nodes // racks) if racks else nodes
    machines = []
    for number in range(1, nodes + 1):
        rack, place = divmod(number - 1, per_rack)
        machines.append(
            NodeView(
                name=names.format(number),
                address=f"10.77.{rack + 1 if racks else 0}.{place + 1}",
                rack=f"rack-{rack + 1}" if racks else "",
                ready=None if number in starting else number not in not_ready,
                phase="datastore" if number in starting else "running",
                note=not_ready.get(number, ""),
            )
        )
    sessions = []
    for a, b in combinations(range(1, nodes + 1), 2):
        state, detail = broken.get((a, b), ("up", ""))
        sessions.append(SessionView(names.format(a), names.format(b), state, detail=detail))
    machines += [NodeView(f"etcd-{n}", f"10.77.0.{250 + n}", "", True, "", role="store") for n in range(1, members + 1)]
    if racks:
        machines.append(NodeView("router", "10.77.0.254", "", True, "", role="router"))
        sessions += [SessionView(names.format(n), "router", "up", "node") for n in range(1, nodes + 1)]
    sessions += [SessionView(names.format(n), peer, "up", "global") for peer, n in (peers or {}).items()]
    return LabView(name, "etcd" if members else "embedded", tuple(machines), tuple(sessions))


def without(number: int, nodes: int, state: SessionState = "down") -> dict[tuple[int, int], tuple[SessionState, str]]:
    """One node that has no session with anybody."""
    others = (other for other in range(1, nodes + 1) if other != number)
    return {(min(number, other), max(number, other)): (state, "Connect") for other in others}


THREE = lab(3)
RACKS = lab(
    8,
    racks=2,
    members=3,
    broken={(1, 7): ("down", "Connect: No route to host"), (2, 3): ("one-sided", "")},
    not_ready={7: "BIRD is not ready: BGP not established with 10.77.1.1"},
)
CHINESE = lab(
    6,
    names="节点-{}",
    name="演示",
    broken={(2, 5): ("down", "连接被拒绝"), (1, 4): ("one-sided", "")},
    not_ready={5: "BIRD 未就绪：与 10.77.0.2 的 BGP 会话未建立"},
    starting={6},
)
LARGE = lab(
    30,
    broken=without(17, 30) | {(3, 20): ("one-sided", "Hold timer expired"), (8, 9): ("down", "Idle")},
    not_ready={17: "BIRD is not ready: unable to connect to BIRDv4 socket"},
    starting={30},
)
EMPTY = LabView("empty", "embedded", (), ())
LONG = lab(
    5,
    names="ip-10-77-0-{}.eu-central-1.compute.internal",
    name="a-lab-with-a-name-that-is-longer-than-anybody-would-like-to-type-on-any-day-of-the-week",
    broken={(1, 3): ("down", "a reason that is much too long to be read in the middle of a picture")},
    not_ready={1: "a reason that goes on and on, " * 9},
)
MANY = {
    **{f"{number} nodes": lab(number) for number in (*range(1, 10), 12, 13, 17, 20, 23, 24, 25, 50, 60, 61, 100)},
    **{f"{r} racks of {n}": lab(r * n, racks=r) for r, n in ((1, 4), (2, 1), (2, 4), (2, 11), (3, 4), (4, 5), (5, 3))},
    **{f"{r} racks of {n}": lab(r * n, racks=r, members=3) for r, n in ((4, 12), (12, 2))},
    "uneven racks": lab(7, racks=3, starting={7}),
    "six, one alone": lab(6, broken=without(2, 6), not_ready={2: "alone"}),
    "twelve, one alone": lab(12, broken=without(5, 12, "one-sided"), peers={"frr": 3, "gobgp": 4}),
    "none up": lab(13, broken=dict.fromkeys(combinations(range(1, 14), 2), ("down", "Idle"))),
    "240, one alone": lab(240, broken=without(100, 240)),
    "racks, broken": RACKS,
    "Chinese": CHINESE,
    "large, broken": LARGE,
    "long names": LONG,
    "long names, many": lab(60, racks=2, names="节点的名字很长很长很长很长-{}"),
    "long names outside": lab(3, peers={"edge-router-of-the-other-department.example.net": 1}),
    "nothing": EMPTY,
}
