"""A lab that runs: its machines, what runs in them, and how one plan becomes the next. The keeper is its only user."""

from __future__ import annotations

import gc
import json
import os
import resource
import shutil
import signal
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, Protocol

from tortie.host.files import write_whole
from tortie.host.namespaces import Kind
from tortie.lab.certificates import provide
from tortie.lab.changes import Changes, Refused, changes
from tortie.lab.changing import carried_out
from tortie.lab.crew import Crew
from tortie.lab.fabric import Fabric
from tortie.lab.failures import LabFailure
from tortie.lab.hosting import Ground, Hosting
from tortie.lab.launch import Life, Place, become_command, become_program
from tortie.lab.nodes import Nodes, Surroundings
from tortie.lab.plan import LabPlan, Machine
from tortie.lab.plan_json import as_json, from_json
from tortie.lab.pods import dealt_out, wanted_from
from tortie.lab.registry import LabFolder
from tortie.lab.router import router_text
from tortie.lab.seeding import settle
from tortie.lab.surroundings import BIRD_COMMAND, environment_of, etcd_command, network_variables

SWITCH: Final = "switch"  # where the cables end; no machine of the plan
_STORE_S: Final = 30.0
_LOOK_S: Final = 0.02
_KILL_S: Final = 5.0
_SHOWN_MAX: Final = 10  # names in a message
_FILES_WANTED: Final = 65536  # two descriptors for each machine and each pod

Work = Generator[float, None, dict[str, Any]]


class Tell(Protocol):
    def __call__(self, step: str, **facts: object) -> None: ...


class Shipped(NamedTuple):
    """Tortie's own command, passed in because a lab knows nothing of command lines."""

    command: Callable[[Sequence[str]], int]
    preload: Callable[[], None]  # imports what an agent needs, so that all of them share it


class RunningLab:
    def __init__(self, folder: LabFolder, shipped: Shipped, path: str, above: Mapping[Kind, int]) -> None:
        """`path`: where programs are found; `above`: namespaces to be entered before those of any machine."""
        self._folder = folder
        self._shipped = shipped
        self._path = path
        self._above = above
        self._fabric = Fabric()
        self._crew = Crew()
        self._plan: LabPlan | None = None
        self._began = time.monotonic()
        self._began_at = time.time()
        self._loaded = False
        self._gone: list[Machine] = []  # nodes that have left, and of which the store still knows
        self._files_max = _raise_files_limit()
        around = Surroundings(shipped.command, self._bare_namespaces, self._environment, self._files_max)
        self._nodes = Nodes(folder, self._crew, around)
        ground = Ground(folder.machine, self._runtime_place, self._installation, self._write_record)
        self._hosting = Hosting(folder, self._crew, ground)

    def apply(self, raw: dict[str, Any], tell: Tell) -> Work:
        """What is missing is made, what is obsolete removed, what has ended started; the rest notices nothing."""
        plan, before = from_json(raw), self._plan
        self._check_programs(plan)
        change = changes(before, plan) if before else Changes(added=plan.machines)
        if change.refused:
            raise Refused(plan.name, change.refused)
        clock = _Clock()
        self._retire(change, before)
        self._fabric.apply(plan)
        self._plan = plan
        self._nodes.adopt(plan)
        for machine in plan.machines:
            os.makedirs(self._folder.machine(machine.name), exist_ok=True)
        provide(plan, self._folder)
        self._write_record()
        tell("fabric", seconds=clock.lap())
        started = self._start_stores()
        self._load()
        tell("loaded", seconds=clock.lap())
        yield from self._settle_store(plan, before)
        tell("store", seconds=clock.lap())
        started += self._start_router(before)
        started += self._nodes.start(plan.nodes)
        tell("agents", seconds=clock.lap(), started=started)
        return {
            "added": [machine.name for machine in change.added],
            "removed": [machine.name for machine in change.removed],
            "rebuilt": [machine.name for machine in change.rebuilt],
            "changed": [each.name for each in change.changed if each.visible],
            "started": started,
        }

    def _check_programs(self, plan: LabPlan) -> None:
        programs = [("bird", "bird2", "nodes speak BGP with it")]
        programs += [("etcd", "etcd-server", "it is the lab's store")] if plan.stores else []
        for program, package, purpose in programs:
            if shutil.which(program, path=self._path) is None:
                raise LabFailure("no-program", program=program, package=package, purpose=purpose)

    def _retire(self, change: Changes, before: LabPlan | None) -> None:
        """Ends what runs in machines that go or become others, and agents that shall start with other settings."""
        gone = [machine.name for machine in (*change.removed, *change.rebuilt)]
        self._nodes.end([*gone, *(each.name for each in change.changed if each.restart)])
        self._nodes.forget(gone)
        for name in gone:
            shutil.rmtree(self._folder.machine(name), ignore_errors=True)
        self._hosting.leave(gone)
        self._gone += [node for node in before.nodes if node.name in gone] if before else []

    def _load(self) -> None:
        """Once, before the first fork of an agent: what is loaded now is in memory only once."""
        if not self._loaded:
            self._shipped.preload()
            if self._plan and self._plan.stores:
                import tortie.store.etcd  # noqa: F401
            gc.collect()
            gc.freeze()
            self._loaded = True

    def _start_stores(self) -> list[str]:
        assert self._plan
        stores = [machine for machine in self._plan.stores if not self._crew.runs(machine.name)]
        commands = {machine.name: etcd_command(machine, self._plan, self._folder) for machine in stores}
        self._crew.start(
            {each.name: Life(self._place(each), partial(become_program, commands[each.name])) for each in stores}
        )
        return list(commands)

    def _settle_store(self, plan: LabPlan, before: LabPlan | None) -> Generator[float, None, None]:
        """In a process of its own, which can go where the store is, and may wait."""
        log = os.path.join(self._folder.path, "seeding.log")
        place = Place(self._namespaces(plan.stores[0]) if plan.stores else {}, log, self._bare_environment)

        def become() -> int:
            settle(plan, before, self._gone, self._folder.store, _STORE_S)
            return 0

        errand = self._crew.send(Life(place, become))
        try:
            while (ended := self._crew.errand(errand)) is None:
                for store in plan.stores:
                    if not self._crew.runs(store.name):
                        where = self._folder.machine_log(store.name)
                        raise LabFailure("store-ended", machine=store.name, reason=_tail(where), log=where)
                yield _LOOK_S
        finally:
            self._crew.drop(errand)
        if ended.code != 0:
            raise LabFailure("store-slow", seconds=f"{_STORE_S:.0f}", reason=_tail(log), log=self._folder.log)
        os.unlink(log)
        self._gone.clear()

    def _start_router(self, before: LabPlan | None) -> list[str]:
        """Its BIRD learns the nodes' blocks; without racks, or with tunnels, it has nothing to learn."""
        assert self._plan
        router, text = self._plan.router, router_text(self._plan)
        if not text:
            self._crew.kill([router.name], _KILL_S)
            self._crew.forget(router.name)
            return []
        folder = self._folder.machine(router.name)
        write_whole(os.path.join(folder, "bird.cfg"), text.encode(), 0o600)
        if self._crew.runs(router.name):
            if before and router_text(before) != text:
                self._crew.signal(router.name, signal.SIGHUP)  # BIRD reads its configuration again
            return []
        place = self._place(router)._replace(folder=folder)
        self._crew.start({router.name: Life(place, partial(become_program, BIRD_COMMAND))})
        return [router.name]

    def _installation(self, node: str) -> Life:
        """The shipped command, which puts plugins and configuration below the node's root."""
        root = self._folder.machine(node)
        words = ("cni", "install", "--root", root)
        place = self._place(self._machine(node))
        assert self._plan
        environment = network_variables(self._plan) | dict(place.environment)
        place = place._replace(log=os.path.join(root, "install.log"), environment=environment)
        return Life(place, partial(become_command, self._shipped.command, words))

    def _runtime_place(self, node: str) -> Place:
        """Where a container runtime would be: on the node, and nothing of its agent."""
        log = os.path.join(self._folder.machine(node), "runtime.log")
        return Place(self._nodes.namespaces(node), log, self._bare_environment, files_max=self._files_max)

    @property
    def _bare_environment(self) -> dict[str, str]:
        return {"PATH": self._path, "LANG": "C.UTF-8"}

    def _environment(self, machine: Machine) -> dict[str, str]:
        assert self._plan
        return environment_of(machine, self._plan, self._folder, self._path)

    def _bare_namespaces(self, name: str) -> dict[Kind, int]:
        return dict(self._fabric.place(name).namespaces)

    def _namespaces(self, machine: Machine) -> dict[Kind, int]:
        return self._nodes.namespaces(machine.name)

    def _place(self, machine: Machine) -> Place:
        log = self._folder.machine_log(machine.name)
        environment = self._nodes.environment(machine)
        return Place(self._namespaces(machine), log, environment, files_max=self._files_max)

    def _write_record(self) -> None:
        assert self._plan
        record = {
            "name": self._folder.name,
            "pid": os.getpid(),
            "began_at": self._began_at,
            "rootless": bool(self._above),
            "namespaces": [list(mark) for mark in (*self._fabric.marks, *self._hosting.marks)],
            "pods": self._hosting.names,
            "plan": as_json(self._plan),
        }
        write_whole(self._folder.record, json.dumps(record, indent=1).encode(), 0o600)

    def status(self) -> dict[str, Any]:
        now, pods = time.monotonic(), self._hosting.counts()
        machines = [
            {**self._told(machine, now), "pods": pods.get(machine.name, 0)}
            for machine in (self._plan.machines if self._plan else ())
        ]
        return {
            "name": self._folder.name,
            "pid": os.getpid(),
            "store": _store_text(self._plan) if self._plan else "",
            "age_s": now - self._began,
            "hurry": self._plan.hurry if self._plan else 0,
            "classic": self._plan.classic if self._plan else "",
            "helpers": self._nodes.helpers(),
            "cpu_limit": self._nodes.cgroups.available,
            "machines": machines,
        }

    def _told(self, machine: Machine, now: float) -> dict[str, Any]:
        assert self._plan
        worker = self._crew.get(machine.name)
        process = worker.as_json(now) if worker else None
        if machine.role == "node":
            process = self._nodes.process(machine.name, now)
        if process and process.get("exit_code"):
            process["last_words"] = _tail(self._folder.machine_log(machine.name))
        return {
            "name": machine.name,
            "role": machine.role,
            "rack": machine.rack,
            "address": str(machine.address),
            "addresses": [str(address.ip) for nic in machine.nics for address in nic.addresses],
            "has_work": machine.role != "router" or self._plan.router_learns,
            "process": process,
            "units": self._nodes.units(machine.name, now) if machine.role == "node" else {},
            "pod_ready": self._nodes.pod_ready(machine.name) if machine.role == "node" else None,
            "kubelet": machine.role == "node" and self._nodes.in_pods,
            "overlay": self._nodes.overlaid(machine.name),
            "limit": self._nodes.cgroups.percent(machine.name),
            "halted": machine.name in self._nodes.halted,
        }

    def _machine(self, name: str) -> Machine:
        machine = self._plan.machine(name) if self._plan else None
        if machine is None or self._plan is None:
            known = ", ".join(each.name for each in self._plan.machines) if self._plan else "-"
            raise LabFailure("unknown-machine", lab=self._folder.name, machine=name, machines=known)
        return machine

    def way_into(self, name: str) -> tuple[dict[str, Any], tuple[int, ...]]:
        """What somebody needs who wants to go there: environment, and the kinds of the descriptors beside it."""
        if self._plan and not self._plan.machine(name) and self._hosting.get(name):
            return self.way_into_pod(name)
        if name == SWITCH:
            namespaces = {**self._above, **self._bare_namespaces(name)}
            return {"environment": self._bare_environment, "namespaces": list(namespaces)}, tuple(namespaces.values())
        machine = self._machine(name)
        namespaces = {**self._above, **self._namespaces(machine)}
        told = {"environment": self._nodes.environment(machine), "namespaces": list(namespaces)}
        return told, tuple(namespaces.values())

    def way_into_pod(self, label: str) -> tuple[dict[str, Any], tuple[int, ...]]:
        hosted = self._hosting.get(label)
        if hosted is None:
            known = ", ".join(self._hosting.names[:_SHOWN_MAX]) or "-"
            raise LabFailure("unknown-pod", lab=self._folder.name, pod=label, pods=known)
        namespaces = {**self._above, **hosted.namespaces}
        told = {"environment": {**self._bare_environment, "HOME": "/"}, "namespaces": list(namespaces)}
        return told, tuple(namespaces.values())

    def pods(self) -> dict[str, Any]:
        return {"pods": self._hosting.told()}

    def run_pods(self, raw: Sequence[Mapping[str, str]], timeout_s: float, tell: Tell) -> Work:
        nodes = self._plan.nodes if self._plan else ()
        wanted = wanted_from(raw)
        for each in wanted:
            if each.node and self._machine(each.node).role != "node":
                names = [node.name for node in nodes]
                raise LabFailure("not-a-node", machine=each.node, nodes=", ".join(names[:_SHOWN_MAX]), first=names[0])
        if not nodes:
            raise LabFailure("coming-up", name=self._folder.name)
        alive = [node.name for node in nodes if self._nodes.runs(node.name)]
        choice = alive or [node.name for node in nodes]
        wanted = [each._replace(node=each.node or self._hosting.node_of(each.name)) for each in wanted]
        return self._hosting.run(dealt_out(wanted, choice, self._hosting.counts()), timeout_s, tell)

    def delete_pods(self, raw: Sequence[Mapping[str, str]] | None, timeout_s: float) -> Work:
        """None: all of them."""
        names = self._hosting.all_names() if raw is None else [each.name for each in wanted_from(raw)]
        return self._hosting.delete(names, timeout_s)

    def start(self, name: str) -> dict[str, Any]:
        """Whatever the machine runs, if it does not run."""
        machine = self._machine(name)
        if machine.role == "node":
            started = bool(self._nodes.start([machine]))
            return {"started": started, "pid": self._nodes.program(name, "agent")}
        started = not self._crew.runs(name)
        if started:
            started = name in (self._start_stores() if machine.role == "store" else self._start_router(None))
        worker = self._crew.get(name)
        return {"started": started, "pid": worker.pid if worker else None}

    def signal(self, name: str, number: int) -> dict[str, Any]:
        if self._machine(name).role == "node":
            return {"pid": self._nodes.signal(name, number)}
        worker = self._crew.get(name)
        if not worker or not worker.running:
            return {"pid": None}
        self._crew.signal(name, number)
        return {"pid": worker.pid}

    def change(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """What faults, and those who heal them, want of a single machine."""
        return carried_out(self._nodes, self._machine(str(message.get("machine"))), message)

    def tend(self) -> float | None:
        return self._nodes.tend()

    def reap(self) -> None:
        self._crew.reap()

    def end(self, timeout_s: float) -> list[str]:
        """Everything that runs, at once; then the machines. Returns what the kernel does not let go yet."""
        left = self._crew.kill_all(timeout_s)
        self._hosting.close()
        self._nodes.close()
        self._fabric.close()
        return left


class _Clock:
    def __init__(self) -> None:
        self._last = time.monotonic()

    def lap(self) -> float:
        now = time.monotonic()
        self._last, lap = now, now - self._last
        return round(lap, 4)


def _store_text(plan: LabPlan) -> str:
    return f"etcd ({len(plan.stores)})" if plan.stores else "embedded"


def _raise_files_limit() -> tuple[int, int]:
    """What it was before: the machines' processes shall not notice."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES_WANTED if hard == resource.RLIM_INFINITY else min(_FILES_WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return soft, hard


def _tail(path: str, lines: int = 5) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return "\n".join(file.read().splitlines()[-lines:]) or "it wrote nothing"
    except OSError:
        return "it wrote nothing"
