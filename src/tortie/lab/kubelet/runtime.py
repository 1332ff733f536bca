"""The container runtime of one node: a process in the node's namespaces that runs containers for whoever asks it.

A loop over a socket and signals, without threads, because it forks. While it is stopped (SIGSTOP) nobody gets an
answer: that is what a stuck runtime is. When it ends, its containers end with it.
"""

from __future__ import annotations

import os
import select
import selectors
import signal
import time
from contextlib import suppress
from typing import Any, Final, NamedTuple

from tortie.lab.kubelet.bell import Bell
from tortie.lab.kubelet.containers import (
    Container,
    Shell,
    code_of,
    kill_family,
    prepare_log,
    read_record,
    reaped,
    write_record,
)
from tortie.lab.kubelet.jobs import Paths, RuntimeJob
from tortie.lab.kubelet.journal import ContainerdLog
from tortie.lab.protocol import Channel, Closed, Message, listening
from tortie.lab.title import show_as

VERSION: Final = "1.6.8"
_OUTPUT_MAX: Final = 16 << 10  # of a probe's command; kubelet cuts there, too


class Refusal(Exception):
    """In the words of gRPC."""

    def __init__(self, code: str, why: str) -> None:
        super().__init__(why)
        self.code = code


class _Stop(NamedTuple):
    """A container that was told to end."""

    id: str
    deadline: float  # then it is killed
    channel: Channel | None


class _Exec:
    """A command that runs in a container for somebody."""

    def __init__(self, container: str, timeout_s: float, channel: Channel) -> None:
        self.container = container
        self.timeout_s = timeout_s
        self.channel = channel
        # A file, as containers have one: Python's own output, open before the fork, is not made for a pipe.
        self._file = os.memfd_create("output")
        self.deadline = time.monotonic() + timeout_s
        self.late = False

    @property
    def path(self) -> str:
        """The number is the same in a child."""
        return f"/proc/self/fd/{self._file}"

    def output(self) -> str:
        """All that it wrote, cut; once."""
        text = os.pread(self._file, _OUTPUT_MAX, 0).decode(errors="replace")
        os.close(self._file)
        return text


class Runtime:
    def __init__(self, job: RuntimeJob) -> None:
        self._job = job
        self._paths = Paths(job.root)
        self._shell = Shell(job.command, job.cgroup, job.files_max)
        self._log = ContainerdLog(self._paths.runtime_log)
        self._containers = {each.id: each for each in read_record(self._paths.containers)}
        self._stops: list[_Stop] = []
        self._execs: dict[int, _Exec] = {}
        self._selector = selectors.DefaultSelector()

    def run(self) -> int:
        bell = Bell()
        listener = listening(self._paths.runtime_socket)
        self._selector.register(listener, selectors.EVENT_READ, listener)
        self._selector.register(bell.fileno(), selectors.EVENT_READ, bell)
        write_record(self._paths.containers, list(self._containers.values()))
        self._log.info(f"starting containerd version={VERSION}")
        self._log.info(f"serving... address={self._paths.runtime_socket}")
        self._log.info("containerd successfully booted in 0.01s")
        while True:
            for key, _ in self._selector.select(self._pause_s()):
                if key.data is bell:
                    over = bell.rung()
                    self._reap()
                    if over:
                        return self._end()
                elif key.data is listener:
                    with suppress(OSError):
                        channel = Channel(listener.accept()[0])
                        self._selector.register(channel, selectors.EVENT_READ, channel)
                else:
                    self._listen_to(key.data)
            self._look_at_clocks()

    def _end(self) -> int:
        self._log.info("Stop CRI service")
        for pid in self._execs:
            kill_family(pid)
        for container in self._containers.values():
            if container.runs:
                kill_family(container.pid)
                container.lost(time.time())
        write_record(self._paths.containers, list(self._containers.values()))
        with suppress(OSError):
            os.unlink(self._paths.runtime_socket)
        return 0

    def _pause_s(self) -> float | None:
        clocks = [stop.deadline for stop in self._stops] + [each.deadline for each in self._execs.values()]
        return max(0.0, min(clocks) - time.monotonic()) if clocks else None

    def _look_at_clocks(self) -> None:
        now = time.monotonic()
        for index, stop in enumerate(self._stops):
            if stop.deadline <= now and (container := self._containers.get(stop.id)) and container.runs:
                self._log.info(f'Kill container "{stop.id}"')
                kill_family(container.pid)
                self._stops[index] = stop._replace(deadline=now + 60.0)
        for pid, exec_ in self._execs.items():
            if exec_.deadline <= now:
                exec_.late, exec_.deadline = True, now + 60.0
                kill_family(pid)

    # requests

    def _listen_to(self, channel: Channel) -> None:
        try:
            for message in channel.arrived():
                if _given_up(channel):
                    raise Closed  # asked long ago, while this process was stopped
                try:
                    done = self._done(channel, message)
                except Refusal as refusal:
                    channel.send({"failure": {"code": refusal.code, "desc": str(refusal)}})
                except (KeyError, TypeError, ValueError) as error:
                    channel.send({"failure": {"code": "InvalidArgument", "desc": repr(error)}})
                except OSError as error:
                    channel.send({"failure": {"code": "Unknown", "desc": _go_error(error)}})
                else:
                    if done is not None:
                        channel.send({"done": done})
        except Closed:
            self._hang_up(channel)

    def _hang_up(self, channel: Channel) -> None:
        for index, stop in enumerate(self._stops):
            if stop.channel is channel:
                self._stops[index] = stop._replace(channel=None)
        with suppress(KeyError, ValueError):
            self._selector.unregister(channel)
        channel.close()

    def _done(self, channel: Channel, message: Message) -> dict[str, Any] | None:
        """The answer; None when it comes later."""
        match message.get("do"):
            case "version":
                return {"runtime": "containerd", "version": VERSION, "pid": os.getpid(), "containers": self._counts()}
            case "list":
                return {"containers": [container.as_json() for container in self._containers.values()]}
            case "run":
                return self._run(message)
            case "stop":
                return self._stop(channel, self._found(message), float(message["grace_s"]))
            case "remove":
                return self._remove(self._found(message))
            case "exec":
                self._exec(channel, message)
                return None
            case other:
                raise Refusal("Unimplemented", f"unknown method {other}")

    def _counts(self) -> dict[str, int]:
        running = sum(container.runs for container in self._containers.values())
        return {"running": running, "exited": len(self._containers) - running}

    def _found(self, message: Message) -> Container:
        container = self._containers.get(str(message["id"]))
        if container is None:
            why = f'an error occurred when try to find container "{message["id"]}": not found'
            raise Refusal("NotFound", why)
        return container

    def _run(self, message: Message) -> dict[str, Any]:
        words = [str(word) for word in message["words"]]
        environment = {str(name): str(value) for name, value in message["environment"].items()}
        container = Container({**message, "id": os.urandom(32).hex()})
        name = f"&ContainerMetadata{{Name:{container.container},Attempt:{container.attempt},}}"
        sandbox = container.uid.replace("-", "")
        self._log.info(
            f'CreateContainer within sandbox "{sandbox}" for {name} returns container id "{container.id}"',
        )
        prepare_log(self._job.root, container)
        container.started_at = time.time()
        container.pid = self._shell.fork(words, environment, container.log)
        self._containers[container.id] = container
        self._write()
        self._log.info(f'StartContainer for "{container.id}" returns successfully')
        return {"id": container.id, "pid": container.pid, "started_at": container.started_at}

    def _stop(self, channel: Channel, container: Container, grace_s: float) -> dict[str, Any] | None:
        if not container.runs:
            return {}
        self._log.info(f'StopContainer for "{container.id}" with timeout {grace_s:g} (s)')
        self._log.info(f'Stop container "{container.id}" with signal terminated')
        self._stops.append(_Stop(container.id, time.monotonic() + grace_s, channel))
        with suppress(ProcessLookupError):
            os.kill(container.pid, signal.SIGTERM if grace_s > 0 else signal.SIGKILL)
        return None

    def _remove(self, container: Container) -> dict[str, Any]:
        if container.runs:
            raise Refusal("Unknown", f'failed to remove container "{container.id}": container is running')
        del self._containers[container.id]
        self._log.info(f'RemoveContainer for "{container.id}" returns successfully')
        self._write()
        return {}

    def _exec(self, channel: Channel, message: Message) -> None:
        container = self._found(message)
        if not container.runs:
            why = f'failed to exec in container: container "{container.id}" is in CONTAINER_EXITED state'
            raise Refusal("Unknown", why)
        words = [str(word) for word in message["words"]]
        environment = {str(name): str(value) for name, value in message["environment"].items()}
        timeout_s = float(message["timeout_s"])
        exec_ = _Exec(container.id, timeout_s, channel)
        self._execs[self._shell.fork(words, environment, exec_.path)] = exec_

    # what has ended

    def _reap(self) -> None:
        for pid, status in reaped():
            if exec_ := self._execs.pop(pid, None):
                self._answer_exec(exec_, *code_of(status))
            for container in self._containers.values():
                if container.pid == pid and container.runs:
                    self._note_end(container, *code_of(status))

    def _note_end(self, container: Container, code: int, number: int | None) -> None:
        container.end(code, number, time.time())
        self._log.info("shim disconnected", id=container.id)
        self._write()
        for stop in [each for each in self._stops if each.id == container.id]:
            self._stops.remove(stop)
            self._log.info(f'StopContainer for "{container.id}" returns successfully')
            if stop.channel:
                with suppress(Closed):
                    stop.channel.send({"done": {}})
        for pid, exec_ in self._execs.items():
            if exec_.container == container.id:
                kill_family(pid)

    def _answer_exec(self, exec_: _Exec, code: int, number: int | None) -> None:
        answer: Message = {"done": {"code": code, "signal": number, "output": exec_.output()}}
        if exec_.late:
            why = f"failed to exec in container: timeout {exec_.timeout_s:g}s exceeded: context deadline exceeded"
            answer = {"failure": {"code": "DeadlineExceeded", "desc": why}}
            told = f"rpc error: code = DeadlineExceeded desc = {why}"
            self._log.add("error", f'ExecSync for "{exec_.container}" failed', error=told)
        with suppress(Closed):
            exec_.channel.send(answer)

    def _write(self) -> None:
        write_record(self._paths.containers, list(self._containers.values()))


def _given_up(channel: Channel) -> bool:
    poll = select.poll()
    poll.register(channel, select.POLLRDHUP)
    return bool(poll.poll(0))


def _go_error(error: OSError) -> str:
    return f"open {error.filename}: {(error.strerror or '').lower()}"


def run_runtime(job: RuntimeJob) -> int:
    """The life of the worker `node-1/runtime`."""
    show_as(("tortie", "lab", "runtime", job.root))
    paths = Paths(job.root)
    paths.make()
    paths.note_pid(paths.runtime_pid)
    return Runtime(job).run()
