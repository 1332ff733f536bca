"""Wires a pod as a container runtime does: runs the plugins of the node's CNI configuration, in a process of its own
that is in the node's namespaces.

The plugins are called one after the other for ADD, in reverse order for DEL; each is told what the one before it has
said; the result is kept until DEL. A chain that fails is undone. To try again is not the runtime's business: kubelet
does that, and makes another sandbox for it.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from contextlib import suppress
from typing import Any, Final, NamedTuple

from tortie.lab.chain import (
    TRY_LATER,
    UNKNOWN,
    Attachment,
    Command,
    Document,
    Network,
    PluginFailed,
    cache_name,
    cached,
    first_network,
    from_cache,
    is_configuration,
    previous_of_end,
    result_of,
    told_to,
    variables,
)
from tortie.model.errors import TortieError

CONFIGURATION: Final = "etc/cni/net.d"  # below the node's root
RESULTS: Final = "var/lib/cni/results"
_OWN_PLUGINS: Final = "opt/cni/bin"
_PLUGINS: Final = ("/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni")  # of the machine: those of the distribution
_PAUSE_S: Final = 0.2
UNDO_S: Final = 10.0  # to take back what failed, after the time that was given


class Job(NamedTuple):
    """What one process has to do, and where it tells how that went."""

    attachment: Attachment
    root: str  # of the node
    deadline: float
    outcome: str  # a file


class Runtime:
    def __init__(self, root: str, environment: dict[str, str]) -> None:
        self._root = root
        self._environment = environment
        self._path = (os.path.join(root, _OWN_PLUGINS), *_PLUGINS)

    def network(self) -> Network:
        folder = os.path.join(self._root, CONFIGURATION)
        return first_network(configurations(self._root), folder)

    def add(self, attachment: Attachment, deadline: float) -> Document:
        """The result of the last plugin. What a chain that failed has done so far is the caller's to take back."""
        network = self.network()
        result: Document | None = None
        for plugin in network.plugins:
            result = self._run("ADD", network, plugin, attachment, result, deadline)
        assert result is not None
        path = self._cache(network.name, attachment)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(cached(network, attachment, result))
        return result

    def delete(self, attachment: Attachment, deadline: float) -> None:
        """With the configuration that counted when it was added, whatever the folder says now."""
        network, result, path = self._added(attachment)
        previous = previous_of_end(network, result)
        for plugin in reversed(network.plugins):
            self._run("DEL", network, plugin, attachment, previous, deadline)
        with suppress(FileNotFoundError):
            os.unlink(path)

    def undo(self, attachment: Attachment, deadline: float) -> None:
        """What a chain that failed has done so far; a plugin that cannot does not keep the others from it."""
        with suppress(TortieError):
            network = self.network()
            for plugin in reversed(network.plugins):
                with suppress(TortieError):
                    self._run("DEL", network, plugin, attachment, None, deadline)

    def _added(self, attachment: Attachment) -> tuple[Network, Document | None, str]:
        folder = os.path.join(self._root, RESULTS)
        ending = cache_name("", attachment)
        with suppress(FileNotFoundError):
            for name in os.listdir(folder):
                if name.endswith(ending):
                    path = os.path.join(folder, name)
                    with open(path, "rb") as file:
                        found = from_cache(file.read())
                    if found:
                        return *found, path
        network = self.network()
        return network, None, self._cache(network.name, attachment)

    def _cache(self, network: str, attachment: Attachment) -> str:
        return os.path.join(self._root, RESULTS, cache_name(network, attachment))

    def _run(
        self,
        command: Command,
        network: Network,
        plugin: Document,
        attachment: Attachment,
        previous: Document | None,
        deadline: float,
    ) -> Document | None:
        kind = str(plugin["type"])
        environment = self._environment | variables(command, attachment, self._path)
        try:
            done = subprocess.run(
                [self._program(kind, command)],
                input=told_to(network, plugin, previous),
                capture_output=True,
                env=environment,
                timeout=max(0.1, deadline - time.monotonic()),
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise PluginFailed(kind, command, TRY_LATER, "it has not answered in the time that there was") from None
        except OSError as error:
            raise PluginFailed(kind, command, UNKNOWN, f"it cannot be run: {error.strerror}") from None
        return result_of(kind, command, done.returncode, done.stdout, done.stderr)

    def _program(self, kind: str, command: Command) -> str:
        for folder in self._path:
            path = os.path.join(folder, kind)
            if "/" not in kind and os.access(path, os.X_OK):
                return path
        raise PluginFailed(kind, command, UNKNOWN, f'failed to find plugin "{kind}" in path [{" ".join(self._path)}]')


def configurations(root: str) -> dict[str, bytes]:
    """The files of a node that could be a network, by name."""
    folder = os.path.join(root, CONFIGURATION)
    found = {}
    with suppress(FileNotFoundError, NotADirectoryError):
        for name in filter(is_configuration, os.listdir(folder)):
            with suppress(OSError), open(os.path.join(folder, name), "rb") as file:
                found[name] = file.read()
    return found


def attach(job: Job) -> int:
    """The life of a process: one attempt. Its exit code is 0 when the pod has its network."""
    runtime = Runtime(job.root, dict(os.environ))
    try:
        return _tell(job, {"result": runtime.add(job.attachment, job.deadline)})
    except TortieError as error:
        runtime.undo(job.attachment, max(job.deadline, time.monotonic()) + UNDO_S)
        _note(job, _failure(error))
        return _tell(job, _failure(error))


def detach(job: Job) -> int:
    """Again and again, if a plugin asks for that: nothing speaks against a second DEL."""
    runtime = Runtime(job.root, dict(os.environ))
    while True:
        try:
            runtime.delete(job.attachment, job.deadline)
            return _tell(job, {"result": {}})
        except TortieError as error:
            failure = _failure(error)
        if failure["code"] != TRY_LATER or time.monotonic() + _PAUSE_S > job.deadline:
            return _tell(job, failure)
        time.sleep(_PAUSE_S)


def _failure(error: TortieError) -> dict[str, Any]:
    if isinstance(error, PluginFailed):
        return {"plugin": error.plugin, "code": error.number, "why": error.told}
    return {"plugin": "", "code": UNKNOWN, "why": f"{error.what}: {error.why}"}


def _note(job: Job, failure: dict[str, Any]) -> None:
    """Into the node's journal, as containerd would: who comes later has nothing else to go by."""
    from tortie.lab.kubelet.jobs import Paths
    from tortie.lab.kubelet.journal import ContainerdLog

    pod = job.attachment
    found = not failure["plugin"] or failure["why"].startswith("failed to find plugin")
    told = failure["why"] if found else f'plugin type="{failure["plugin"]}" failed (add): {failure["why"]}'
    sandbox = f"&PodSandboxMetadata{{Name:{pod.pod},Uid:{pod.uid},Namespace:{pod.namespace},Attempt:0,}}"
    ContainerdLog(Paths(job.root).runtime_log).add(
        "error",
        f"RunPodSandbox for {sandbox} failed, error",
        error=f'failed to setup network for sandbox "{pod.container}": {told}',
    )


def _tell(job: Job, outcome: dict[str, Any]) -> int:
    """Nobody reads it before this process has ended."""
    with open(job.outcome, "w", encoding="utf-8") as file:
        json.dump(outcome, file)
    return 0 if "result" in outcome else 1
