"""Everything that all exhibits say, in one place: facts by type, signs by key, and the questions causes ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from tortie.doctor.picture.facts import (
    CalicoNode,
    Container,
    Event,
    Fact,
    HostFile,
    Interface,
    Node,
    Number,
    Pod,
    Pool,
    Probe,
    Registered,
    Session,
    Setting,
    Statement,
    Version,
)
from tortie.doctor.picture.host_pods import is_agent
from tortie.doctor.picture.machine_facts import OF_POD
from tortie.doctor.picture.sides import sessions_by_node
from tortie.doctor.reading.archives import Skipped
from tortie.doctor.reading.exhibit import Exhibit, Input
from tortie.doctor.signs import Hit, Sign

T = TypeVar("T")
P = ParamSpec("P")
N = TypeVar("N", Node, Pod, Pool)

# Calico's own agents go by these names, whoever packaged them.
NAMESPACE = "kube-system"


def remembered(question: Callable[Concatenate[Picture, P], T]) -> Callable[Concatenate[Picture, P], T]:
    """A question that many causes ask: answered once, until something is added. Lists and dicts are given as copies."""

    @wraps(question)
    def asked(picture: Picture, /, *args: P.args, **options: P.kwargs) -> T:
        answers = picture.answers()
        key = (question, args, *options.items())
        if key not in answers:
            answers[key] = question(picture, *args, **options)
        answer = answers[key]
        return answer.copy() if isinstance(answer, (list, dict)) else answer  # type: ignore[return-value]

    return asked


class Picture:
    """Facts are only added; two exhibits that disagree both stay, and the questions below say which one they take."""

    def __init__(self, exhibits: Iterable[Exhibit] = ()) -> None:
        self.exhibits: list[Exhibit] = list(exhibits)
        self.skipped: tuple[Skipped, ...] = ()  # what was handed over and could not be read
        self.inputs: list[Input] = []  # what was read
        self.left_out: dict[str, set[int]] = {}  # by source, lines that were understood and do not count
        self._facts: dict[type, list[object]] = {}
        self._hits: dict[str, list[Hit]] = {}
        self._answers: dict[object, object] = {}
        self._answered_at = (0, 0)
        self._added = 0

    def answers(self) -> dict[object, object]:
        """What was asked before, of this very picture."""
        now = (self._added, len(self.exhibits))
        if self._answered_at != now:
            self._answers, self._answered_at = {}, now
        return self._answers

    def add(self, facts: Iterable[object]) -> None:
        self._added += 1
        for fact in facts:
            if not _names_a_command(fact):
                self._facts.setdefault(type(fact), []).append(fact)

    def add_hits(self, hits: Iterable[Hit]) -> None:
        self._added += 1
        for hit in hits:
            self._hits.setdefault(hit.sign, []).append(hit)

    def facts(self) -> Iterator[Fact]:
        """All of them, those of a type together."""
        for facts in self._facts.values():
            yield from facts  # type: ignore[misc]

    def all_hits(self) -> Iterator[Hit]:
        for hits in self._hits.values():
            yield from hits

    def of(self, kind: type[T]) -> list[T]:
        """All facts of a type, in the order of the evidence."""
        return self._facts.get(kind, [])  # type: ignore[return-value]

    def hits(self, *signs: Sign | str) -> list[Hit]:
        """All hits of these signs. Prose counts: a person quotes what was seen."""
        keys = [sign if isinstance(sign, str) else sign.key for sign in signs]
        return [hit for key in keys for hit in self._hits.get(key, ())]

    @property
    def any_hit(self) -> bool:
        return bool(self._hits)

    def hit(self, *signs: Sign | str) -> Hit | None:
        return next(iter(self.hits(*signs)), None)

    def lines_taken(self) -> dict[str, set[int]]:
        """By source, the numbers of lines that some fact or sign stands on."""
        taken = {source: set(lines) for source, lines in self.left_out.items()}
        everything = [*self._facts.values(), *self._hits.values()]
        for place in (item.place for items in everything for item in items):  # type: ignore[attr-defined]
            taken.setdefault(place.source, set()).update(range(place.first, place.last + 1))
        return taken

    # What was typed

    @remembered
    def commands(self, *words: str) -> list[Exhibit]:
        """Exhibits whose command contains all of these words, as the command line has them. Where none is shown, the
        form of the output stands for it. What does not count is not among them."""
        shown = ((exhibit, exhibit.command or exhibit.form) for exhibit in self.exhibits)
        asked = [exhibit for exhibit, command in shown if command and all(word in command for word in words)]
        return [exhibit for exhibit in asked if self._counts(exhibit)]

    def _counts(self, exhibit: Exhibit) -> bool:
        out = self.left_out.get(exhibit.source)
        return not out or not exhibit.lines or any(exhibit.number(i) not in out for i in range(len(exhibit.lines)))

    @remembered
    def numbers(self, *words: str) -> list[Number]:
        """Answers of commands that only print a number (`wc -l`, `grep -c`), whose command contains all words."""
        return [number for number in self.of(Number) if all(word in number.command for word in words)]

    @remembered
    def said(self, *kinds: str) -> list[Statement]:
        """What people say to have seen."""
        return [statement for statement in self.of(Statement) if statement.kind in kinds]

    # Pods and containers

    @remembered
    def agents(self) -> list[Pod]:
        """Rows about pods of Calico's node agent, oldest exhibit first; one pod may have several."""
        return [pod for pod in self.of(Pod) if is_agent(pod.name)]

    @remembered
    def agents_now(self) -> list[Pod]:
        """Each agent pod as the last exhibit that shows it has it."""
        return [pod for pod in self.pods_now() if is_agent(pod.name)]

    @remembered
    def pods_now(self, *prefixes: str) -> list[Pod]:
        """Each pod: what the exhibits say of it, later ones filling and replacing."""
        pods: dict[str, Pod] = {}
        for pod in self.of(Pod):
            if not prefixes or pod.name.startswith(prefixes):
                pods[pod.name] = _renewed(pods[pod.name], pod) if pod.name in pods else pod
        return list(pods.values())

    @remembered
    def containers(self, name: str = "", *, init: bool | None = None) -> list[Container]:
        return [
            container
            for container in self.of(Container)
            if (not name or container.name == name) and (init is None or container.init == init)
        ]

    def probe(self, kind: str) -> Probe | None:
        """The last definition shown of the agent's probe of this kind; another program's only when there is no such."""
        probes = [probe for probe in self.of(Probe) if probe.kind == kind]
        agent = [probe for probe in probes if not probe.owner or is_agent(probe.owner)]
        return next(reversed(agent or probes), None)

    def events(self, *reasons: str) -> list[Event]:
        return [event for event in self.of(Event) if not reasons or event.reason in reasons]

    # Nodes and addresses

    @remembered
    def nodes_now(self) -> dict[str, Node]:
        """Each Kubernetes node: what the exhibits say of it, later ones filling and replacing."""
        nodes: dict[str, Node] = {}
        for node in self.of(Node):
            nodes[node.name] = _renewed(nodes[node.name], node) if node.name in nodes else node
        return nodes

    @remembered
    def pools_now(self) -> list[Pool]:
        """Each pool, by its range; a grep may show a range without a name."""
        pools: dict[str, Pool] = {}
        for pool in self.of(Pool):
            key = pool.cidr or next((p.cidr for p in pools.values() if p.name == pool.name), pool.name)
            pools[key] = _renewed(pools[key], pool) if key in pools else pool
        return list(pools.values())

    @remembered
    def internal_ips(self) -> dict[str, str]:
        """Node name to InternalIP: of nodes, else of their host-network pods (agents, kube-proxy)."""
        ips = self._by_number()
        ips |= {pod.node: pod.ip or pod.host_ip for pod in self._host_pods() if pod.node}
        ips |= {pod.node: pod.host_ip for pod in self.of(Pod) if pod.node and pod.host_ip}
        ips |= {name: node.internal_ip for name, node in self.nodes_now().items() if node.internal_ip}
        return {name: ip for name, ip in ips.items() if ip}

    def _by_number(self) -> dict[str, str]:
        """`.status.addresses[0]` is the InternalIP on most clusters, and on some it is not. It counts where its column
        is called so, or where it is shown of one node that it is the address it registered, or that its pods have."""
        known = {(pod.node, ip) for pod in self._host_pods() for ip in (pod.ip, pod.host_ip)}
        known |= {(fact.node, fact.address) for fact in self.of(Registered)}
        first = {node.name: ip for node in self.of(Node) for kind, ip in node.addresses[:1] if not kind}
        called = {node.name: ip for node in self.of(Node) for kind, ip in node.addresses[:1] if kind == "INTERNAL"}
        return (first if any(pair in known for pair in first.items()) else {}) | called

    def _host_pods(self) -> Iterator[Pod]:
        for pod in self.of(Pod):
            if is_agent(pod.name) or pod.name.startswith(("kube-proxy", "kube-apiserver", "etcd-")):
                yield pod

    def owner_of(self, ip: str) -> str:
        """The node whose InternalIP this is, or empty."""
        return self._owners().get(ip, "")

    @remembered
    def _owners(self) -> dict[str, str]:
        return {ip: name for name, ip in reversed(self.internal_ips().items())}

    @remembered
    def registered(self) -> list[Registered]:
        """Where the name was cut away (`get nodes -o yaml | grep IPv4Address`) the node that carries the address."""
        nodes = {node.name for node in self.nodes_now().values()}
        return [self._owned(fact, nodes) for fact in self.of(Registered)]

    def _owned(self, fact: Registered, nodes: set[str]) -> Registered:
        link = self.interface_with(fact.address) if not fact.node else None
        return fact._replace(node=link.host) if link is not None and link.host in nodes else fact

    @remembered
    def interfaces(self, host: str = "") -> list[Interface]:
        """Of machines; what a pod shows of its own is no link of its node."""
        links = (link for link in self.of(Interface) if not link.host.startswith(OF_POD))
        return [link for link in links if not host or link.host == host]

    def interface_with(self, ip: str) -> Interface | None:
        """The link that carries an address."""
        return self._carriers().get(ip)

    @remembered
    def _carriers(self) -> dict[str, Interface]:
        links = [link for link in reversed(self.of(Interface)) if not carries_services(link.name)]
        return {a.split("/")[0]: link for link in links for a in link.addresses}

    @remembered
    def calico_nodes(self) -> list[str]:
        return list(dict.fromkeys(node.name for node in self.of(CalicoNode)))

    # Sessions

    def sessions(self) -> list[Session]:
        return self.of(Session)

    @remembered
    def sessions_down(self) -> list[Session]:
        """Sessions that are not up in the last exhibit that shows them from that side."""
        return [session for session in self.sessions_now().values() if session.state != "up"]

    @remembered
    def sessions_now(self) -> dict[tuple[str, str], Session]:
        """Each session as its node saw it last, by node and peer: what one node sees says nothing of another's."""
        return sessions_by_node(self.of(Session), self.exhibits)

    # Settings and versions

    @remembered
    def settings(self, name: str, scope: str = "") -> list[Setting]:
        return [s for s in self.of(Setting) if s.name == name and (not scope or s.scope == scope)]

    def setting(self, name: str, scope: str = "") -> Setting | None:
        """The last value shown."""
        return next(reversed(self.settings(name, scope)), None)

    def value(self, name: str, scope: str = "") -> str:
        setting = self.setting(name, scope)
        return setting.value if setting else ""

    @remembered
    def versions(self, component: str) -> list[Version]:
        return [version for version in self.of(Version) if version.component == component]

    def version(self, component: str) -> tuple[int, ...] | None:
        """The last version shown, as numbers: (3, 20, 0). None when nothing says."""
        numbers = [numbers for version in self.versions(component) if (numbers := version_numbers(version.version))]
        return numbers[-1] if numbers else None

    @property
    @remembered
    def namespace(self) -> str:
        """Where the agent runs, for commands."""
        return next((pod.namespace for pod in self.agents() if pod.namespace), self._namespace_typed())

    def _namespace_typed(self) -> str:
        typed = any("calico-system" in exhibit.command for exhibit in self.exhibits)
        return "calico-system" if typed else NAMESPACE


def carries_services(link: str) -> bool:
    """kube-proxy and nodelocaldns put addresses there on every node, whosesoever they are: externalIPs may be a node's.
    That one of them is there says nothing of what the node is or was registered by."""
    return link.startswith(("kube-ipvs", "nodelocaldns", "kube-dummy"))


_NAMES = {
    CalicoNode: ("name",),
    Container: ("pod", "name"),
    HostFile: ("name",),
    Interface: ("name",),
    Node: ("name", "internal_ip"),
    Pod: ("name", "namespace", "node"),
    Registered: ("node", "address", "interface"),
    Session: ("peer",),
}
_SHELL = frozenset(";&|$`'\"\\!{}\n")


def _names_a_command(fact: object) -> bool:
    """No honest node, pod, link or file is called so that a shell would run it, and people copy our commands."""
    fields = _NAMES.get(type(fact))
    return fields is not None and any(not _SHELL.isdisjoint(getattr(fact, field)) for field in fields)


def _renewed(known: N, newer: N) -> N:
    """Everything that the newer fact says, and what only the older one said. A state comes whole from one of them."""
    said = {key: value for key, value in newer._asdict().items() if value not in ("", None, ())}
    if "status" not in said and "place" in said:
        said.pop("place")
    replaced: N = known._replace(**said)
    return replaced


def version_numbers(text: str) -> tuple[int, ...]:
    """The leading numbers of a version: v3.20.0-1 is (3, 20, 0)."""
    digits = text.lstrip("v").split("-")[0].split("+")[0].split(".")
    return tuple(int(part) for part in digits if part.isdecimal())
