"""READY, STATUS and RESTARTS out of the states of containers."""

from __future__ import annotations

import pytest
from tests.support.kube_objects import HOUR, NOW, Thing, ago, pod, running, status, terminated, waiting

from tortie.lab.kubectl.pod_state import pod_state

DONE = terminated(0, "Completed", 50, 49)
FAILED = terminated(1, "Error", 50, 40)
UP = status("calico-node", running(HOUR), ready=True)
NOT_YET = status("calico-node", waiting("PodInitializing"))


def _init(first: Thing, second: Thing | None = None, last: Thing | None = None, restarts: int = 0) -> list[Thing]:
    one = status("upgrade-ipam", first, last, restarts=restarts)
    return [one, status("install-cni", second or waiting("PodInitializing"))]


def _starting(init: list[Thing]) -> Thing:
    return pod("p", phase="Pending", init=init, main=[NOT_YET], ready=False, initialized=False)


def _main(*main: Thing, phase: str = "Running", ready: bool = False, metadata: Thing | None = None) -> Thing:
    return pod("p", phase=phase, main=list(main), ready=ready, metadata=metadata)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (_main(UP, ready=True), "1/1 Running 0"),
        (_main(status("calico-node", running(HOUR))), "0/1 Running 0"),
        (_starting(_init(running(HOUR))), "0/1 Init:0/2 0"),
        (_starting(_init(DONE, running(9))), "0/1 Init:1/2 0"),
        (_starting(_init(waiting("PodInitializing"))), "0/1 Init:0/2 0"),
        (_starting(_init(FAILED)), "0/1 Init:Error 0"),
        (
            _starting(_init(waiting("CrashLoopBackOff"), last=FAILED, restarts=4)),
            "0/1 Init:CrashLoopBackOff 4 (40s ago)",
        ),
        (_starting(_init(waiting("ImagePullBackOff"))), "0/1 Init:ImagePullBackOff 0"),
        (_starting(_init({"terminated": {"exitCode": 3}})), "0/1 Init:ExitCode:3 0"),
        (_starting(_init({"terminated": {"exitCode": 137, "signal": 9}})), "0/1 Init:Signal:9 0"),
        (_main(NOT_YET, phase="Pending"), "0/1 PodInitializing 0"),
        (_main(status("calico-node", waiting("ContainerCreating")), phase="Pending"), "0/1 ContainerCreating 0"),
        (
            _main(status("calico-node", waiting("CrashLoopBackOff"), FAILED, restarts=3)),
            "0/1 CrashLoopBackOff 3 (40s ago)",
        ),
        (_main(status("calico-node", FAILED, restarts=1)), "0/1 Error 1"),
        (_main(status("calico-node", DONE)), "0/1 Completed 0"),
        (_main(status("calico-node", terminated(137, "OOMKilled", 9, 8))), "0/1 OOMKilled 0"),
        (_main(status("calico-node", {"terminated": {"exitCode": 2}})), "0/1 ExitCode:2 0"),
        (
            _main(status("calico-node", running(5), FAILED, ready=True, restarts=2), ready=True),
            "1/1 Running 2 (40s ago)",
        ),
        (_main(UP, ready=True, metadata={"deletionTimestamp": ago(3)}), "1/1 Terminating 0"),
        (_main(UP, status("other", DONE), ready=True), "1/1 Running 0"),
        (_main(UP, status("other", DONE), ready=False), "1/1 NotReady 0"),
        (
            {"kind": "Pod", "spec": {"containers": [{}]}, "status": {"phase": "Failed", "reason": "Evicted"}},
            "0/1 Evicted 0",
        ),
        ({"kind": "Pod", "spec": {"containers": [{}]}, "status": {"phase": "Pending"}}, "0/1 Pending 0"),
    ],
)
def test_a_pod_in_one_line(made: Thing, expected: str) -> None:
    state = pod_state(made)
    assert f"{state.ready}/{state.total} {state.status} {state.restarts_text(NOW)}" == expected
