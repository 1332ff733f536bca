"""TRT4004: kubelet is dead for another reason than swap; the API keeps showing what it last reported."""

from __future__ import annotations

from functools import cached_property
from typing import Final

from tortie.doctor.causes.agent.start_evidence import hosts_of
from tortie.doctor.causes.cause import HINT, POSSIBLE, PROVEN, STRONG, Cause, Finding, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.kubelet.node_evidence import NODE_SIGNS, STOPPED_POSTING, answers, known_as, not_ready, silent
from tortie.doctor.causes.kubelet.trt4002_cgroup_driver_mismatch import DIFFERENT
from tortie.doctor.causes.kubelet.trt4003_kubelet_swap_on import SWAP_ON
from tortie.doctor.picture.facts import Condition, Ping, Unit
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign

FAILED_TO_RUN: Final = Sign("kubelet-failed-to-run", "failed to run Kubelet: <rest>")
UNIT_FAILED: Final = Sign("kubelet-unit-failed", "kubelet.service: Main process exited, code=exited, status=<n_code>")
NO_CONFIG: Final = Sign("kubelet-no-config", "failed to load kubelet config file")
EXPIRED: Final = Sign("kubelet-cert-expired", "bootstrap client certificate (in <path> )?is expired")
# Units of distributions that have kubelet inside of a program of their own. A server has the unit of an agent as
# well, which never ran: it counts on a node that is not ready.
AGENTS: Final = ("rke2-agent", "k3s-agent", "k0sworker", "snap.microk8s.daemon-kubelet")
DEAD: Final = ("inactive", "failed", "activating", "deactivating")


class Seen:
    """What kubelets, their units and their nodes say; `names` are the nodes that are silent, else those not ready."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        signs = (FAILED_TO_RUN, NO_CONFIG, EXPIRED, UNIT_FAILED)
        self.fatal = [hit for hit in picture.hits(*signs) if not hit.prose]
        self.said = picture.said("kubelet-stopped")
        self.quiet = silent(picture)
        self.gone = not_ready(picture)
        self.posted = [hit for hit in picture.hits(STOPPED_POSTING) if not self.quiet]
        self.names = [name for name in self.quiet if name] or [node.name for node in self.gone]
        units = [unit for unit in picture.of(Unit) if unit.name.startswith("kubelet") or self._is_agent(unit)]
        self.units = {unit.host or str(unit.place): unit for unit in units}
        self.dead = [unit for unit in self.units.values() if unit.active in DEAD]

    def _is_agent(self, unit: Unit) -> bool:
        if not unit.name.startswith(AGENTS):
            return False
        return bool(set(known_as(self.picture, unit.host)) & set(self.names)) if unit.host else bool(self.names)

    @cached_property
    def machine(self) -> tuple[bool | None, list[Place]]:
        """Whether the silent machine answers, and who asked it."""
        ips = self.picture.internal_ips()
        alive, tried = answers(self.picture, *self.names, *(ips.get(name, "") for name in self.names))
        if alive is None and not any(ips.get(name) for name in self.names):
            foreign = {ip for name, ip in ips.items() if name not in self.names}
            pinged = (ping.address for ping in self.picture.of(Ping) if ping.address not in foreign)
            alive, tried = answers(self.picture, *pinged)
        return alive, tried

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        hosts = [unit.host for unit in self.dead] + hosts_of(self.picture, *self.fatal[:2])
        nodes = [name for host in hosts for name in known_as(self.picture, host)] + self.names
        ips = self.picture.internal_ips()
        return culprits(
            named("node", *nodes),
            named("unit", self.unit, "kubelet"),
            named("file", *(hit.value("path") for hit in self.fatal)),
            named("address", *(ips.get(name, "") for name in self.names[:1])),
        )

    @property
    def unit(self) -> str:
        return next((unit.name.removesuffix(".service") for unit in self.dead), "kubelet")

    @cached_property
    def node(self) -> str:
        return next((one.name for one in self.culprits if one.kind == "node"), "")

    @cached_property
    def evidence(self) -> list[object]:
        conditions = [condition for some in self.quiet.values() for condition in some]
        worst = sorted(conditions, key=lambda condition: condition.kind != "Ready")[:2]
        shown = [*self.dead[:1], *self.fatal[:2], *self.said[:1], *self.machine[1]]
        return [*shown, *worst, *self.posted[:1], *self.gone[:1]]

    @cached_property
    def reason(self) -> str:
        told = (FAILED_TO_RUN.key, EXPIRED.key, NO_CONFIG.key)
        return next((_words(hit) for hit in self.fatal if hit.sign in told), "")


def _words(hit: Hit) -> str:
    return (hit.value("rest") or hit.text).strip(" \"'")[:160]


def swap(seen: Seen) -> Finding | None:
    hits = seen.picture.hits(SWAP_ON)
    return ruled_out(hits[:1]) if hits else None


def cgroup_driver(seen: Seen) -> Finding | None:
    hits = seen.picture.hits(DIFFERENT)
    return ruled_out(hits[:1]) if hits else None


def machine_down(seen: Seen) -> Finding | None:
    alive, tried = seen.machine
    silent_node = seen.names or seen.picture.hits(STOPPED_POSTING)
    return ruled_out(tried) if alive is False and silent_node else None


def back(seen: Seen) -> Finding | None:
    """It failed, and every node is Ready again."""
    nodes = seen.picture.nodes_now()
    over = seen.fatal and nodes and not (seen.gone or seen.quiet or seen.dead)
    return ruled_out(list(nodes.values())[:2]) if over else None


def runs_again(seen: Seen) -> Finding | None:
    """It failed, as every kubelet does before its node has joined; the unit of that machine is active now."""
    active = {unit.host: unit for unit in seen.units.values() if unit.active == "active"}
    hosts = {hit.host for hit in seen.fatal}
    over = hosts and hosts <= active.keys() and not (seen.dead or seen.gone or seen.quiet or seen.posted)
    return ruled_out(list(active.values())[:1]) if over else None


def dead(seen: Seen) -> Finding | None:
    if not seen.fatal and not seen.dead:
        return None
    proven = (seen.dead and seen.fatal) or seen.quiet or seen.gone
    return found(
        PROVEN if proven else STRONG, seen.culprits, seen.evidence, node=seen.node, unit=seen.unit, reason=seen.reason
    )


def said_dead(seen: Seen) -> Finding | None:
    if seen.said and (seen.quiet or seen.gone or seen.posted):
        return found(STRONG, seen.culprits, seen.evidence, node=seen.node, unit=seen.unit)
    return None


def active(seen: Seen) -> Finding | None:
    units = [unit for unit in seen.units.values() if unit.active == "active"]
    running = [unit for unit in units if not seen.names or unit.host.lower() in seen.names]
    return ruled_out(running[:1]) if running else None


def silent_but_alive(seen: Seen) -> Finding | None:
    if seen.machine[0] and (seen.quiet or seen.posted):
        return found(STRONG, seen.culprits, seen.evidence, node=seen.node, unit=seen.unit)
    return None


def silent_only(seen: Seen) -> Finding | None:
    """From the API's side alone a stopped kubelet and a machine that is off look the same."""
    if seen.quiet or seen.posted:
        return found(POSSIBLE, seen.culprits, seen.evidence, node=seen.node, unit=seen.unit)
    return None


def reporting(seen: Seen) -> Finding | None:
    def reports(condition: Condition) -> bool:
        own_words = condition.status == "False" and condition.reason == "KubeletNotReady"
        return condition.kind == "Ready" and own_words

    posting = [condition for condition in seen.picture.of(Condition) if reports(condition)]
    return ruled_out(posting[:1]) if posting else None


def node_not_ready(seen: Seen) -> Finding | None:
    return found(HINT, seen.culprits, seen.gone[:1], node=seen.gone[0].name, unit=seen.unit) if seen.gone else None


CAUSE = Cause(
    module=__name__,
    id="kubelet-not-running",
    code="TRT4004",
    severity="high",
    explains=("node-not-ready", "status-stale", "bgp-down", "not-ready", "pod-pending", "terminating-stuck"),
    signs=(FAILED_TO_RUN, UNIT_FAILED, NO_CONFIG, EXPIRED, SWAP_ON, DIFFERENT, *NODE_SIGNS),
    look=Seen,
    rules=(
        swap, cgroup_driver, machine_down, back, runs_again, dead, said_dead, active, silent_but_alive, silent_only,
        reporting, node_not_ready,
    ),
    yields_to=("kubelet-swap-on", "peer-node-down", "cgroup-driver-mismatch", "disk-pressure", "runtime-unresponsive"),
)  # fmt: skip
