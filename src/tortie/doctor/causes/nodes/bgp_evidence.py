"""What BGP's causes ask of a picture: who complains about whom, which sessions are down, whose output something is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

from tortie.doctor.causes.cause import Finding, ruled_out
from tortie.doctor.causes.shared import ADDRESS_IN_USE_BY, ADDRESS_IN_USE_OLD, BGP_NOT_ESTABLISHED, STARTED
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Event, Node, Ping, Pod, Pool, PortTest, Session
from tortie.doctor.picture.host_pods import is_agent
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.places import exhibit_at
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words
from tortie.model.tuples import NamedTuple

BGP_PORT: Final = 179
NODE_NAME: Final = Sign("bgp-node-name", "Determined node name: <name>")
NODE_BUILT: Final = Sign("bgp-node-built", 'Building new node resource Name="<name>"')
NODE_USED: Final = Sign("bgp-node-used", "Using node name: <name>")
ESTABLISHED_COUNT: Final = Sign("bgp-established-count", "with BGP peering established = <n>")
BIND_FAILED: Final = Sign(
    "bgp-bind-failed", "Socket error: bind: (Cannot assign requested address|Address not available)"
)
UNKNOWN_CONNECT: Final = Sign("bgp-unknown-connect", "Unexpected connect from unknown address <ip>")
SESSION_UP: Final = Sign("bgp-session-up", "State changed to up")
MD5_KERNEL: Final = Sign("bgp-md5-kernel", "MD5 Hash (failed|NOT found|mismatch|found)( for)?<rest>")
MD5_BIRD: Final = Sign("bgp-md5-bird", "Kernel MD5 auth failed")
MD5_ROUTER: Final = Sign("bgp-md5-router", "(no|invalid|missing|wrong|bad) MD5 digest")  # the other end's log
# The kernel's counters, where its log is silent: in a namespace, or with tracepoints in place of messages.
MD5_COUNTED: Final = Sign("bgp-md5-counted", "TcpExtTCPMD5(NotFound|Unexpected|Failure) <n>")
SECRET_REF: Final = Sign("trt1011-secret-ref", "secretKeyRef")
NO_PEERS: Final = Sign("trt1012-no-peers", "No IPv4 peers found.")
MESH_OFF: Final = Sign("trt1012-mesh-off", "nodeToNodeMeshEnabled:( )?false")
MESH_OFF_JSON: Final = Sign("trt1012-mesh-off-json", '"nodeToNodeMeshEnabled":( )?false')
SHARED_SIGNS: Final = (
    BGP_NOT_ESTABLISHED, NODE_NAME, NODE_BUILT, NODE_USED, ESTABLISHED_COUNT, BIND_FAILED, UNKNOWN_CONNECT, SESSION_UP,
    ADDRESS_IN_USE_BY, ADDRESS_IN_USE_OLD, STARTED, MD5_KERNEL, MD5_BIRD, MD5_ROUTER,
    MD5_COUNTED, SECRET_REF,
)  # fmt: skip

_IPV4 = lazily(r"(?:\d{1,3}\.){3}\d{1,3}")
_POD_NAME = lazily(r"[a-z-]+-[a-z0-9]{5}")
_FILTERED = ("timed out", "host is unreachable", "no route to host")


T = TypeVar("T")
_answers: WeakKeyDictionary[Picture, dict[str, Any]] = WeakKeyDictionary()


def remembered(question: Callable[[Picture], T]) -> Callable[[Picture], T]:
    """Ask a picture once: judging begins when it is complete, and a bundle makes some answers dear."""

    @wraps(question)
    def answer(picture: Picture) -> T:
        known = _answers.setdefault(picture, {})
        key = f"{question.__module__}.{question.__name__}"
        if key not in known:
            known[key] = question(picture)
        result: T = known[key]
        return result

    return answer


class Complaint(NamedTuple):
    """A node's own word that it has no session with these peers."""

    place: Place
    node: str  # who complains; empty when nothing says
    peers: tuple[str, ...]


class Peer(NamedTuple):
    """A peer that is not established, as a complaint or a table has it."""

    address: str
    seen_from: str
    place: Place
    info: str = ""
    state: str = ""


def is_address(text: str) -> bool:
    if ":" in text:
        return "x" not in text
    return bool(_IPV4.fullmatch(text)) and all(int(part) < 256 for part in text.split("."))


def peers_named(hit: Hit) -> tuple[str, ...]:
    """The addresses of a complaint; old releases glue the next line's year to the last one (10.0.0.662020)."""
    named = []
    for text in hit.value("peers").replace("\n", "").split(","):
        address = text.strip().rstrip(".:")
        last = address.rpartition(".")[2]
        if len(last) > 4 and last.isdecimal():
            address = address[:-4]
        if is_address(address):
            named.append(address)
    return tuple(dict.fromkeys(named))


def same_host(one: str, other: str) -> bool:
    """A prompt shows a short name where Kubernetes may have the full one."""
    if not one or not other:
        return False
    one, other = one.lower(), other.lower()
    if one == other:
        return True
    return ("." not in one or "." not in other) and one.split(".")[0] == other.split(".")[0]


@remembered
def _node_names(picture: Picture) -> dict[str, str]:
    """Names as written and in their short form, to the name of the node."""
    names = [*picture.internal_ips(), *picture.nodes_now()]
    full = {name.lower(): name for name in names}
    return {**{name.split(".")[0].lower(): name for name in reversed(names)}, **full}


def node_called(picture: Picture, host: str) -> str:
    """The node that a host's name stands for; the name itself when no node is called that."""
    names, low = _node_names(picture), host.lower()
    node = names.get(low) or names.get(low.split(".")[0], "")
    return node if same_host(node, host) else host


@remembered
def _names_logged(picture: Picture) -> dict[int, str]:
    """Which node an exhibit says to be of."""
    names: dict[int, str] = {}
    for hit in picture.hits(NODE_NAME, NODE_BUILT, NODE_USED):
        exhibit = exhibit_at(picture, hit.place)
        if exhibit is not None:
            names.setdefault(id(exhibit), node_called(picture, hit.value("name")))
    return names


@remembered
def _nodes_of_agents(picture: Picture) -> dict[str, str]:
    return {pod.name: pod.node for pod in picture.agents() if pod.node}


def node_at(picture: Picture, place: Place, host: str = "") -> str:
    """On which node that was said: the pod in the command, the log's own word, the prompt."""
    exhibit = exhibit_at(picture, place)
    if exhibit is None:
        return node_called(picture, host) if host else ""
    if exhibit.command:
        for name, node in _nodes_of_agents(picture).items():
            if name in exhibit.command:
                return node
    if logged := _names_logged(picture).get(id(exhibit)):
        return logged
    words = exhibit.command.split()
    asks_cluster = any(word.endswith(("kubectl", "docker", "k")) for word in words[:3])
    return "" if asks_cluster else node_called(picture, host or exhibit.host) if (host or exhibit.host) else ""


def _event_node(picture: Picture, event: Event) -> str:
    if event.host:
        return node_called(picture, event.host)
    name = event.object.rpartition("/")[2]
    return next((pod.node for pod in picture.of(Pod) if pod.name == name and pod.node), "")


def _complaining_events(picture: Picture) -> dict[tuple[str, int], Event]:
    """By source and line."""
    events = [event for event in picture.of(Event) if "BGP not established" in event.message]
    return {
        (event.place.source, line): event for event in events for line in range(event.place.first, event.place.last + 1)
    }


@remembered
def complaints(picture: Picture) -> list[Complaint]:
    """Current ones only, each once: a pod that is ready now has stopped complaining."""
    agents = picture.agents_now()
    ready = {pod.node for pod in agents if pod.all_ready and pod.node}
    if agents and all(pod.all_ready for pod in agents):
        return []
    events = _complaining_events(picture)
    got: dict[tuple[str, tuple[str, ...]], Complaint] = {}
    for hit in picture.hits(BGP_NOT_ESTABLISHED):
        event = events.get((hit.place.source, hit.place.first)) or events.get((hit.place.source, hit.place.last))
        node = (_event_node(picture, event) if event else "") or node_at(picture, hit.place, hit.host)
        if not node or node not in ready:
            got.setdefault((node, peers_named(hit)), Complaint(hit.place, node, peers_named(hit)))
    return list(got.values())


def is_external(session: Session) -> bool:
    """Somebody configured this peer; it need not be a node."""
    return session.kind.lower().startswith(("global", "node specific")) or session.name.startswith(("Global_", "Node_"))


def session_node(picture: Picture, session: Session) -> str:
    return node_at(picture, session.place, session.host)


@remembered
def missing_peers(picture: Picture) -> list[Peer]:
    """Peers of the mesh without a session, tables first since they also say why."""
    external = {session.peer for session in picture.sessions() if is_external(session)}
    peers = [
        Peer(session.peer, session_node(picture, session), session.place, session.info, session.state)
        for session in picture.sessions_down()
        if session.peer not in external and is_address(session.peer)
    ]
    for complaint in complaints(picture):
        peers += [
            Peer(address, complaint.node, complaint.place) for address in complaint.peers if address not in external
        ]
    return list({(peer.address, peer.seen_from, peer.info): peer for peer in reversed(peers)}.values())[::-1]


def filtered(info: str) -> bool:
    """Words of a socket whose packets were dropped or rejected, or whose peer is not there."""
    return any(word in info.lower() for word in _FILTERED)


def settled(picture: Picture) -> bool:
    """Everything that is shown is well: agents ready, sessions up."""
    agents, sessions = picture.agents_now(), picture.sessions()
    if picture.sessions_down() or not (agents or sessions):
        return False
    if agents:
        return all(pod.all_ready for pod in agents)
    return not picture.hits(BGP_NOT_ESTABLISHED)


def all_established(picture: Picture) -> Finding | None:
    """Ruled out by sessions that are shown; agents that are ready alone show no session."""
    if not settled(picture) or not picture.sessions():
        return None
    why = Words("the sessions shown are all established", "所示会话均已建立")
    return ruled_out(picture.sessions()[:3])._replace(why=why)


def trouble(picture: Picture) -> bool:
    """BGP is in trouble now."""
    return bool(picture.sessions_down() or complaints(picture))


def node_of(picture: Picture, name: str) -> Node | None:
    return picture.nodes_now().get(node_called(picture, name)) if name else None


def is_ready(node: Node | None) -> bool:
    return node is not None and node.status.split(",")[0] == "Ready"


def is_lost(node: Node | None) -> bool:
    return node is not None and node.status.split(",")[0] in ("NotReady", "Unknown")


def pings(picture: Picture, address: str) -> list[Ping]:
    return [ping for ping in picture.of(Ping) if ping.address == address]


def port_tests(picture: Picture, port: int = BGP_PORT) -> list[PortTest]:
    """A script's own word that a port is closed counts only where nothing tells how."""
    tests = [test for test in picture.of(PortTest) if test.port == port]
    told = {(test.host, test.address) for test in tests if test.result != "closed"}
    return [test for test in tests if test.result != "closed" or (test.host, test.address) not in told]


@remembered
def unknown_connects(picture: Picture) -> list[Hit]:
    """Strangers that call BIRD. They call again and again: none since a session came up means that it is over."""
    last: dict[int, int] = {}
    for hit in picture.hits(SESSION_UP):
        exhibit = id(exhibit_at(picture, hit.place))
        last[exhibit] = max(hit.place.first, last.get(exhibit, 0))
    hits = picture.hits(UNKNOWN_CONNECT)
    return [hit for hit in hits if hit.place.first > last.get(id(exhibit_at(picture, hit.place)), 0)]


def md5_counted(picture: Picture) -> list[Hit]:
    """Packets without a right signature that kernels have counted, where some session has a password at all.

    Counters only grow: without a password that is still configured they tell of what is over.
    """
    counted = [hit for hit in picture.hits(MD5_COUNTED) if int(hit.value("n")) > 0]
    return counted if picture.hits(SECRET_REF) else []


def mesh_off(picture: Picture) -> list[object]:
    told = [s for s in picture.settings("nodeToNodeMeshEnabled") if s.value.lower() == "false"]
    return [*picture.hits(MESH_OFF, MESH_OFF_JSON), *told]


def no_peers(picture: Picture) -> list[Hit]:
    """Nodes without any peer that need one: where every pool has tunnels that know no BGP, nobody does."""
    pools = picture.of(Pool)
    tunnels = bool(pools) and all(pool.vxlan.lower() == "always" for pool in pools)
    return [] if tunnels else picture.hits(NO_PEERS)


def answers(picture: Picture, address: str) -> list[object]:
    """Observations that the machine at an address is alive: a ping answered, another port open."""
    alive: list[object] = [ping for ping in pings(picture, address) if ping.ok]
    alive += [
        test
        for test in picture.of(PortTest)
        if test.address == address
        and test.port != BGP_PORT
        and (test.result in ("open", "refused") or "http" in test.result)
    ]
    return alive


def silent(picture: Picture, address: str) -> list[object]:
    return [ping for ping in pings(picture, address) if not ping.ok]


def conflicts(picture: Picture) -> list[Hit]:
    """Start-ups that ended because another node has the address; none when every agent is ready by now.

    One that went on after it, in the same log, has got its address since.
    """
    agents = picture.agents_now()
    if agents and all(pod.all_ready for pod in agents):
        return []
    last: dict[int, int] = {}
    for hit in picture.hits(STARTED):
        exhibit = id(exhibit_at(picture, hit.place))
        last[exhibit] = max(hit.place.first, last.get(exhibit, 0))
    return [
        hit
        for hit in picture.hits(ADDRESS_IN_USE_BY, ADDRESS_IN_USE_OLD)
        if hit.place.first > last.get(id(exhibit_at(picture, hit.place)), 0)
    ]


def agent_asked(picture: Picture, places: Iterable[Place]) -> str:
    """The agent's pod that a command named whose output is among these places."""
    commands = [exhibit.command for place in places if (exhibit := exhibit_at(picture, place))]
    words = [word.removeprefix("pod/") for command in commands for word in command.split()]
    return next((word for word in words if is_agent(word) and _POD_NAME.fullmatch(word)), "")


def few(things: Iterable[str], most: int = 3) -> tuple[str, ...]:
    """A few names as a value of a sentence, each once."""
    every = tuple(dict.fromkeys(thing for thing in things if thing))
    return every if len(every) <= most else (*every[:most], "…")
