"""A runtime that is stopped goes on whenever the end is asked for, also in the moment before anybody waits for that."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tortie.host.processes import stat_of
from tortie.lab.faults import holding
from tortie.lab.kubelet.jobs import Paths
from tortie.lab.protocol import Channel, listening

pytestmark = pytest.mark.timeout(60)

POD: dict[str, Any] = {
    "kind": "Pod",
    "metadata": {"name": "calico-node-x", "namespace": "kube-system", "uid": "u2"},
    "status": {"initContainerStatuses": [{"name": "upgrade-ipam", "state": {"running": {}}}]},
}


@pytest.fixture
def runtime() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


def in_a_process(work: Callable[[], int]) -> int:
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            code = work()
        finally:
            os._exit(code)
    return pid


def code_of(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def is_stopped(pid: int) -> bool:
    stat = stat_of(pid)
    return stat is not None and stat.state == "T"


def stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)


def test_a_signal_that_comes_just_before_the_wait_is_not_missed(
    tmp_path: Path, runtime: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    stop(runtime)

    def held(*_: object) -> int:
        os.kill(os.getpid(), signal.SIGTERM)
        return runtime.pid

    monkeypatch.setattr(holding, "_hold", held)
    assert code_of(in_a_process(lambda: holding.hold_init("upgrade-ipam", str(tmp_path)))) == 0
    assert not is_stopped(runtime.pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_nothing_has_appeared_yet(tmp_path: Path, number: signal.Signals) -> None:
    def work() -> int:
        signal.pthread_sigmask(signal.SIG_BLOCK, (number,))
        os.kill(os.getpid(), number)
        return holding.hold_init("upgrade-ipam", str(tmp_path))

    assert code_of(in_a_process(work)) == 0


def test_the_runtime_is_stopped_and_goes_on_at_the_end(tmp_path: Path, runtime: subprocess.Popen[bytes]) -> None:
    paths = Paths(str(tmp_path))
    paths.make()
    Path(paths.runtime_pid).write_text(f"{runtime.pid}\n")
    Path(paths.objects).write_text(json.dumps({"items": [POD]}))
    Path(paths.containers).write_text(json.dumps({"containers": []}))
    with listening(paths.kubelet_socket) as kubelet, subprocess.Popen(["sleep", "600"]) as container:
        pid = in_a_process(lambda: holding.hold_init("upgrade-ipam", str(tmp_path)))
        try:
            _delete_pod(kubelet)
            record = {"id": "c2", "uid": "u2", "container": "upgrade-ipam", "state": "CONTAINER_RUNNING"}
            Path(paths.containers).write_text(json.dumps({"containers": [{**record, "pid": container.pid}]}))
            os.waitid(os.P_PID, runtime.pid, os.WSTOPPED | os.WNOWAIT)
            while is_stopped(container.pid):  # until the time-out of this test
                time.sleep(0.01)
        finally:
            os.kill(pid, signal.SIGTERM)
            container.kill()
        assert code_of(pid) == 0
    assert not is_stopped(runtime.pid)


def _delete_pod(kubelet: socket.socket) -> None:
    kubelet.setblocking(True)
    with closing(Channel(kubelet.accept()[0])) as channel:
        message = channel.receive(time.monotonic() + 30)
        assert message is not None
        assert (message["do"], message["name"]) == ("delete-pod", "calico-node-x")
        channel.send({"done": {}})
