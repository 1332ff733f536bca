"""TRT1014: another BGP daemon on the host owns TCP 179."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import LIKELY, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.nodes.bgp_evidence import BGP_PORT, node_at, same_host
from tortie.doctor.causes.steps import Step
from tortie.doctor.picture.facts import Listener, Process, Session, Unit
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

NO_SOCKET: Final = Sign("trt1014-no-socket", "No listening socket")
CANNOT_OPEN: Final = Sign("trt1014-cannot-open", "Cannot open listening socket")
IN_USE: Final = Sign("trt1014-in-use", "bind: Address (already )?in use")
BIRD_IN_USE: Final = Sign("trt1014-bird-in-use", "BGP: bind: Address<rest>")
LISTEN_PORT_SINCE: Final = (3, 16)
OTHER_PORT: Final = "178"
PORT: Final = Culprit("port", f"{BGP_PORT}/tcp")
# Units that run a daemon of another name; the first one that is shown, else the first.
UNITS: Final = {"bgpd": ("frr", "quagga", "bgpd", "openbgpd")}
PODS: Final = ("speaker", "kube-router", "cilium-agent")  # these run in pods, not in units


class Seen:
    """Who listens on 179, and what BIRD says about its socket."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.listeners = [listener for listener in picture.of(Listener) if listener.port == BGP_PORT]
        self.down = [s for s in picture.sessions_down() if "no listening socket" in s.info.lower()]
        self.opened = [hit for hit in picture.hits(CANNOT_OPEN, IN_USE, BIRD_IN_USE) if "bird" in hit.line.lower()]
        self.texts = [*picture.hits(NO_SOCKET), *self.opened]
        self.foreign = [one for one in self.listeners if self._is_foreign(one)]

    def _is_foreign(self, listener: Listener) -> bool:
        """On a router a BGP daemon is at home."""
        names = {*self.picture.internal_ips(), *self.picture.nodes_now(), *(pod.node for pod in self.picture.agents())}
        known = {name for name in names if name}
        of_a_node = not (listener.host and known) or any(same_host(listener.host, name) for name in known)
        own = listener.program.startswith("bird") and not ((self.down or self.texts) and self.packaged)
        return bool(listener.program) and not own and of_a_node

    @cached_property
    def packaged(self) -> bool:
        """A BIRD of the machine's own: a unit, or started as packages start it. Calico's runs in a container."""
        units = [
            one for one in self.picture.of(Unit) if one.name.removesuffix(".service") in ("bird", "bird2", "bird6")
        ]
        started = [one for one in self.picture.of(Process) if one.command.startswith(("/usr/sbin/bird", "/sbin/bird"))]
        return bool(started) or any(one.active == "active" for one in units)

    @property
    def bird_listens(self) -> bool:
        return any(listener.program.startswith("bird") for listener in self.listeners)

    @property
    def agents_ready(self) -> bool:
        agents = self.picture.agents_now()
        return bool(agents) and all(pod.all_ready for pod in agents)

    @property
    def some_up(self) -> bool:
        return any(session.state == "up" for session in self.picture.sessions())

    @cached_property
    def node(self) -> str:
        said: list[Session | Hit] = [*self.down, *self.opened]
        return node_at(self.picture, said[0].place, said[0].host) if said else ""


def foreign_listener(seen: Seen) -> Finding | None:
    if not seen.foreign or not (seen.down or seen.texts or not seen.agents_ready):
        return None
    owner = seen.foreign[0]
    node = owner.host or (seen.node if seen.down else "")
    who = culprits(Culprit("program", owner.program), PORT, named("node", node), named("setting", "listenPort"))
    evidence = (owner, *seen.down[:2], *seen.texts[:2])
    return found(PROVEN if seen.down or seen.texts else LIKELY, who, evidence, program=owner.program, node=node)


def bird_listens_now(seen: Seen) -> Finding | None:
    """What BIRD once said about its socket is over: it listens, and sessions stand."""
    said = seen.down or seen.opened
    over = seen.bird_listens and (not seen.opened or (seen.some_up and not seen.down))
    return ruled_out(seen.listeners) if said and over else None


def no_socket(seen: Seen) -> Finding | None:
    if not seen.down and not seen.opened:
        return None
    evidence = (*seen.down[:2], *seen.texts[:2])
    return found(STRONG if seen.opened else LIKELY, culprits(PORT, named("node", seen.node)), evidence, node=seen.node)


def bird_has_it(seen: Seen) -> Finding | None:
    return ruled_out(seen.listeners[:1]) if seen.listeners and not seen.foreign else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    program = finding.value("program")
    yield do("who")
    if program in PODS:
        yield do("stop-pod")
    else:
        yield do("stop", unit=_unit(picture, program))
    version = picture.version("calico")
    if version is None or version >= LISTEN_PORT_SINCE:
        yield do("other-port", other=OTHER_PORT)
        yield from ways.open_port(picture, OTHER_PORT, "tcp")


def _unit(picture: Picture, program: str) -> str:
    names = UNITS.get(program, (program,))
    shown = {unit.name.removesuffix(".service") for unit in picture.of(Unit)}
    return next((name for name in names if name in shown), names[0])


CAUSE = Cause(
    module=__name__,
    id="port-179-conflict",
    code="TRT1014",
    severity="medium",
    explains=("bgp-down", "bird-not-ready", "not-ready", "traffic-dead"),
    signs=(NO_SOCKET, CANNOT_OPEN, IN_USE, BIRD_IN_USE),
    look=Seen,
    rules=(foreign_listener, bird_listens_now, no_socket, bird_has_it),
    fix=fix,
    yields_to=("duplicate-calico-instance",),
)
