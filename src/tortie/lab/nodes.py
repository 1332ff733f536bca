"""What the nodes of a lab run: their agent as a plain process, or a container runtime and a kubelet with it as a pod.

The keeper is to them what systemd is to a machine: it starts units, and starts those again that have ended.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final, NamedTuple

from tortie.host.files import write_whole
from tortie.host.mounts import bind, new_mount_namespace, unmount
from tortie.host.namespaces import Kind, enter
from tortie.lab.cgroups import Cgroups
from tortie.lab.crew import Crew, Worker
from tortie.lab.failures import LabFailure
from tortie.lab.kubelet.jobs import KubeletJob, LoadJob, Paths, RuntimeJob
from tortie.lab.launch import Life, Place, become_command
from tortie.lab.plan import LabPlan, Machine
from tortie.lab.programs import agent_container, bird_of, family_of, pod_ready
from tortie.lab.protocol import Closed, connected
from tortie.lab.registry import LabFolder
from tortie.lab.tools import put_tools

_RESTART_S: Final = 10.0  # as kubelet's unit has it
_ASK_S: Final = 2.0
_KILL_S: Final = 5.0
UNITS: Final = ("runtime", "kubelet", "load")
_UNIT_OF: Final = {"kubelet": "kubelet", "containerd": "runtime", "docker": "runtime"}


class Surroundings(NamedTuple):
    """What a lab gives to everything that runs in its machines."""

    command: Callable[..., int]  # Tortie's own
    namespaces: Callable[[str], dict[Kind, int]]  # of a machine, without mounts of its own
    environment: Callable[[Machine], dict[str, str]]
    files_max: tuple[int, int]


class Nodes:
    def __init__(self, folder: LabFolder, crew: Crew, surroundings: Surroundings) -> None:
        self._folder = folder
        self._crew = crew
        self._around = surroundings
        self._plan: LabPlan | None = None
        self._mounts: dict[str, int] = {}
        self._overlays: dict[str, dict[str, str | None]] = {}
        self._stopped: set[str] = set()  # units that somebody stopped; nobody starts them but somebody
        self._restarts: dict[str, int] = {}
        self.halted: set[str] = set()
        self._swaps = _read("/proc/swaps")
        self.cgroups = Cgroups(folder.path)

    @property
    def in_pods(self) -> bool:
        return bool(self._plan and self._plan.hurry)

    def adopt(self, plan: LabPlan) -> None:
        """The plan that counts from now on. What belongs to all nodes is written down."""
        before, self._plan = self._plan, plan
        if not plan.hurry:
            return
        from tortie.lab.kubelet.template import daemonset, deployment

        put_tools(self._folder)
        made = {"daemonset.json": daemonset, "deployment.json": deployment}
        anew = before is None or (before.classic, before.hurry) != (plan.classic, plan.hurry)
        for name, make in made.items():
            path = os.path.join(self._folder.path, name)
            if anew or not os.path.exists(path):
                text = json.dumps(make(plan, plan.classic, plan.hurry, time.time()), indent=1)
                write_whole(path, text.encode(), 0o600)

    def start(self, nodes: Iterable[Machine]) -> list[str]:
        """Whoever does not run. Returns their names."""
        idle = [node for node in nodes if not self.runs(node.name)]
        self.halted.difference_update(node.name for node in idle)
        if not self.in_pods:
            self._crew.start({node.name: self._agent(node) for node in idle})
            return [node.name for node in idle]
        lives: dict[str, Life] = {}
        for node in idle:
            self._furnish(node)
            for unit in UNITS:
                worker = f"{node.name}/{unit}"
                self._stopped.discard(worker)
                if not self._crew.runs(worker):
                    lives[worker] = self._unit(node, unit)
        self._crew.start(lives)
        return [node.name for node in idle]

    def runs(self, name: str) -> bool:
        units = [f"{name}/{unit}" for unit in UNITS[:2]]
        return self._crew.runs(name) or all(self._crew.runs(unit) for unit in units)

    def end(self, names: Iterable[str]) -> None:
        """With everything that runs there."""
        names = list(names)
        workers = [worker for name in names for worker in self._workers(name)]
        self._stopped.update(workers)
        self._crew.kill(workers, _KILL_S)

    def forget(self, names: Iterable[str]) -> None:
        """They have left the lab. Others of the same name, should they come, begin with nothing of theirs."""
        for name in names:
            for worker in [name, *self._workers(name)]:
                self._crew.forget(worker)
            self._stopped = {worker for worker in self._stopped if not _is_of(name, worker)}
            self._restarts = {worker: n for worker, n in self._restarts.items() if not _is_of(name, worker)}
            self.halted.discard(name)
            if self.cgroups.percent(name) is not None:
                self.cgroups.limit(name, None)
            mounts = self._mounts.pop(name, None)
            if mounts is not None:
                os.close(mounts)
            self._overlays.pop(name, None)

    def close(self) -> None:
        for descriptor in self._mounts.values():
            os.close(descriptor)
        self._mounts.clear()
        self.cgroups.close()

    def namespaces(self, name: str) -> dict[Kind, int]:
        own: dict[Kind, int] = {"mnt": self._mounts[name]} if name in self._mounts else {}
        return own | self._around.namespaces(name)

    def environment(self, machine: Machine) -> dict[str, str]:
        """With what a fault has changed in it."""
        environment = self._around.environment(machine)
        for variable, value in self._overlays.get(machine.name, {}).items():
            if value is None:
                environment.pop(variable, None)
            else:
                environment[variable] = value
        return environment

    def overlaid(self, name: str) -> dict[str, str | None]:
        """Variables that are not as the plan has them."""
        return dict(self._overlays.get(name, {}))

    def overlay(self, name: str, settings: Mapping[str, str | None]) -> None:
        """Takes effect at the next start; a kubelet reads it whenever it starts a container."""
        self._overlays[name] = dict(settings)
        if self.in_pods:
            write_whole(Paths(self._folder.machine(name)).overlay, json.dumps(dict(settings)).encode(), 0o600)

    def process(self, name: str, now: float) -> dict[str, Any] | None:
        """The agent's."""
        if not self.in_pods:
            worker = self._crew.get(name)
            return worker.as_json(now) if worker else None
        path = Paths(self._folder.machine(name)).containers
        return agent_container(path, time.time(), self._pid(f"{name}/runtime"))

    def pod_ready(self, name: str) -> bool | None:
        """None where there are no pods."""
        return pod_ready(Paths(self._folder.machine(name)).objects) if self.in_pods else None

    def units(self, name: str, now: float) -> dict[str, Any]:
        if not self.in_pods:
            return {}
        told = {}
        for title, unit in (("kubelet", "kubelet"), ("containerd", "runtime")):
            worker = self._crew.get(f"{name}/{unit}")
            facts = {"stopped": f"{name}/{unit}" in self._stopped, "restarts": self._restarts.get(f"{name}/{unit}", 0)}
            told[title] = {**(worker.as_json(now) if worker else {"pid": None, "running": False}), **facts}
        return told

    def signal(self, name: str, number: int) -> int | None:
        """To the agent; its number, None if there is none."""
        pid = self.program(name, "agent")
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        return pid

    def program(self, name: str, program: str) -> int | None:
        match program:
            case "agent":
                process = self.process(name, time.monotonic())
                return int(process["pid"]) if process and process["running"] else None
            case "bird":
                agent = self.program(name, "agent")
                return bird_of(agent) if agent else None
            case "kubelet" | "runtime":
                return self._pid(f"{name}/{program}")
            case "etcd":
                return self._pid(name)
            case other:
                raise LabFailure("unknown-program", program=other, programs="agent, bird, kubelet, runtime, etcd")

    def restart(self, node: Machine) -> None:
        """The agent starts anew; as a pod it is made anew."""
        if not self.in_pods:
            self._crew.kill([node.name], _KILL_S)
            self.start([node])
            return
        self.start([node])
        channel = connected(Paths(self._folder.machine(node.name)).kubelet_socket)
        if channel is None:
            return  # a kubelet that is not there finds no pod, or makes one when it comes
        try:
            channel.send({"do": "delete-pod", "namespace": "kube-system", "name": "calico-node"})
            channel.receive(time.monotonic() + _ASK_S)
        except Closed:
            pass
        finally:
            channel.close()

    def unit(self, name: str, title: str, action: str) -> dict[str, Any]:
        unit = _UNIT_OF.get(title)
        if not self.in_pods or unit is None:
            raise LabFailure("unknown-unit", unit=title, machine=name)
        worker = f"{name}/{unit}"
        if action in ("stop", "restart"):
            self._stopped.add(worker)
            if unit == "runtime":
                self._crew.signal(worker, signal.SIGCONT)
            self._crew.kill([worker], _KILL_S)
        if action in ("start", "restart"):
            self._start_unit(name, unit)
        return {"pid": self._pid(worker)}

    def limit(self, name: str, percent: float | None) -> dict[str, Any]:
        """What runs there gets so much of one core together."""
        done = self.cgroups.limit(name, percent)
        if done and percent is not None:
            agent = self.program(name, "agent")
            for pid in family_of(agent) if agent else ():
                self.cgroups.join(name, pid)
        return {"limited": done, "percent": self.cgroups.percent(name)}

    def help(self, machine: Machine, name: str, words: Iterable[str], *, starved: bool) -> int:
        """Starts a helper of a fault there."""
        worker = f"{machine.name}/fault-{name}"
        if not self._crew.runs(worker):
            log = os.path.join(self._folder.machine(machine.name), f"fault-{name}.log")
            place = Place(self.namespaces(machine.name), log, self.environment(machine))
            self._crew.start({worker: Life(place, partial(self._become_helper, tuple(words)))})
        pid = self._pid(worker)
        assert pid is not None
        if starved:
            self.cgroups.join(machine.name, pid)
        return pid

    def end_help(self, machine: str, name: str) -> None:
        worker = f"{machine}/fault-{name}"
        self._crew.signal(worker, signal.SIGTERM)  # it puts in order what it has to
        self._crew.wait_end([worker], _KILL_S)
        self._crew.kill([worker], _KILL_S)
        self._crew.forget(worker)

    def uncover(self, name: str, path: str) -> bool:
        """Takes away what lies over a file of the machine in this node's own mounts. Whether something did."""
        if name not in self._mounts:
            return False
        pid = os.fork()
        if pid == 0:
            code = 2
            try:
                enter({"mnt": self._mounts[name]})
                code = 0 if unmount(path) else 1
            finally:
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

    def helpers(self) -> list[str]:
        return [worker for worker in self._crew.names() if "/fault-" in worker and self._crew.runs(worker)]

    def tend(self) -> float | None:
        """Starts units again that have ended; returns after how long there is something to do, None for nothing."""
        if not self._plan or not self._plan.hurry:
            return None
        pause_s, waits = _RESTART_S / self._plan.hurry, []
        for node in self._plan.nodes:
            for unit in UNITS:
                worker = self._crew.get(f"{node.name}/{unit}")
                if not worker or worker.running or f"{node.name}/{unit}" in self._stopped:
                    continue
                left_s = worker.ended_at + pause_s - time.monotonic()
                if left_s > 0:
                    waits.append(left_s)
                else:
                    name = f"{node.name}/{unit}"
                    self._restarts[name] = self._restarts.get(name, 0) + 1
                    self._start_unit(node.name, unit)
        return min(waits, default=None)

    def _workers(self, name: str) -> list[str]:
        return [worker for worker in self._crew.names() if _is_of(name, worker)]

    def _pid(self, worker: str) -> int | None:
        found: Worker | None = self._crew.get(worker)
        return found.pid if found and found.running else None

    def _start_unit(self, name: str, unit: str) -> None:
        assert self._plan
        machine = self._plan.machine(name)
        assert machine
        worker = f"{name}/{unit}"
        self._stopped.discard(worker)
        if not self._crew.runs(worker):
            self._crew.start({worker: self._unit(machine, unit)})

    def _furnish(self, node: Machine) -> None:
        """Folders, and mounts of its own: what `uptime` says in there is about this node."""
        root = self._folder.machine(node.name)
        Paths(root).make()
        if node.name not in self._mounts:
            from tortie.lab.kubelet.load import prepare_load

            load = prepare_load(root)
            self._mounts[node.name] = new_mount_namespace(partial(bind, load, "/proc/loadavg"))

    def _agent(self, node: Machine) -> Life:
        words = ("node", "run", "--root", self._folder.machine(node.name))
        place = self._place(node, self._folder.machine_log(node.name))
        return Life(place, partial(become_command, self._around.command, words))

    def _become_helper(self, words: tuple[str, ...]) -> int:
        return become_command(self._around.command, ("lab", "helper", "--", *words))

    def _unit(self, node: Machine, unit: str) -> Life:
        """Loaded only where there are kubelets, and then before the fork: all nodes share it."""
        from tortie.lab.kubelet.load import run_load
        from tortie.lab.kubelet.process import run_kubelet
        from tortie.lab.kubelet.runtime import run_runtime

        assert self._plan
        root, hurry = self._folder.machine(node.name), self._plan.hurry
        cgroup = self.cgroups.folder(node.name)
        become: Callable[[], int]
        if unit == "runtime":
            job = RuntimeJob(node.name, root, self._around.command, cgroup, hurry, self._around.files_max)
            become, log = partial(run_runtime, job), "containerd"
        elif unit == "kubelet":
            become, log = partial(run_kubelet, self._kubelet_job(node, self._around.environment(node))), "kubelet"
        else:
            become, log = partial(run_load, LoadJob(root, cgroup)), "load"
        return Life(self._place(node, os.path.join(root, f"var/log/{log}.stderr")), become)

    def _kubelet_job(self, node: Machine, environment: Mapping[str, str]) -> KubeletJob:
        assert self._plan
        return KubeletJob(
            self._folder.name,
            self._folder.path,
            node.name,
            self._folder.machine(node.name),
            str(node.address),
            environment,
            self._plan.hurry,
            node.name == self._plan.nodes[0].name,
            self._swaps,
            self._plan.classic,
            labels=node.labels,  # and no CIDR of its own: nobody hands them out here
        )

    def _place(self, node: Machine, log: str) -> Place:
        environment = self.environment(node)
        return Place(self.namespaces(node.name), log, environment, files_max=self._around.files_max)


def _is_of(name: str, worker: str) -> bool:
    return worker == name or worker.startswith(f"{name}/")


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""
