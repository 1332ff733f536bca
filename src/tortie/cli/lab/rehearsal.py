"""A start of an agent for nobody, in the process that all agents are forked from.

Much of what an agent needs is made at its first use: types of resources are analysed, patterns compiled, functions
warmed up by the interpreter. What is made before the fork is in memory once, for all agents, and none of them spends
time on it: measured at 50 nodes, 1.4 MB for each. The rehearsal has a network, a root and a store of its
own, and leaves nothing but what Python remembers. It takes half a second, so a small lab does without.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from tortie.health.probe import NoAnswer, ask_unix
from tortie.host.namespaces import Inside
from tortie.lab.fabric import Fabric
from tortie.lab.launch import die_with
from tortie.lab.planning import plan
from tortie.lab.registry import LabFolder
from tortie.lab.surroundings import environment_of
from tortie.lab.topology import from_flags

_LONGEST_S: Final = 3.0
_LOOK_S: Final = 0.02
_AGAIN_S: Final = 1.0


def rehearse(command: Callable[[Sequence[str]], int], folder: LabFolder, path: str) -> None:
    """In the lab's folder, so that whoever is killed here leaves nothing elsewhere."""
    scratch = LabFolder(os.path.join(folder.path, "rehearsal"))
    fabric = Fabric()
    try:
        stage = plan(from_flags(nodes=1), "rehearsal")
        node = stage.nodes[0]
        fabric.apply(stage)
        place = fabric.places[node.name].namespaces
        os.makedirs(scratch.machine(node.name))
        with _other_surroundings(environment_of(node, stage, scratch, path)), Inside(place):
            signal.pthread_sigmask(signal.SIG_SETMASK, ())  # `Inside` lets none in, and the agent has to hear its end
            signal.signal(signal.SIGTERM, lambda *_: None)  # until the agent listens for it
            prompter = _fork_prompter(scratch.agent_socket(node.name))
            try:
                command(("node", "run", "--root", scratch.machine(node.name)))
            finally:
                os.kill(prompter, signal.SIGKILL)
                os.waitpid(prompter, 0)
    finally:
        fabric.close()
        shutil.rmtree(scratch.path, ignore_errors=True)


def _fork_prompter(socket: str) -> int:
    """Tells the agent to stop once it is ready, and again until it does."""
    agent = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            die_with(agent)
            until = time.monotonic() + _LONGEST_S
            while time.monotonic() < until and not _is_ready(socket):
                time.sleep(_LOOK_S)
            while True:
                os.kill(agent, signal.SIGTERM)
                time.sleep(_AGAIN_S)
        finally:
            os._exit(0)
    return pid


def _is_ready(socket: str) -> bool:
    with suppress(NoAnswer):
        ask_unix(socket, "/status", 1.0)  # that is rehearsed, too
        return ask_unix(socket, "/readiness", 1.0).status in (200, 204)
    return False


@contextmanager
def _other_surroundings(environment: Mapping[str, str]) -> Iterator[None]:
    """The environment, arguments and output of the agent, and ours again afterwards."""
    before, argv, output = dict(os.environ), sys.argv, os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    sys.stdout.flush()
    os.dup2(nowhere, 1)
    os.close(nowhere)
    os.environ.clear()
    os.environ.update(environment)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(output, 1)
        os.close(output)
        sys.argv = argv
        os.environ.clear()
        os.environ.update(before)
