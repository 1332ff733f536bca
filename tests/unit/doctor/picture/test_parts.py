"""Parts of the agent, by the commands of old and new releases."""

from __future__ import annotations

import pytest
from tests.support.doctor import picture

from tortie.doctor.picture.facts import Probe, Process

PS = "# ps aux\nUSER   PID %CPU %MEM    VSZ   RSS TTY   STAT START   TIME COMMAND\n"


@pytest.mark.parametrize(
    ("command", "part"),
    [
        ("calico-node -felix", "felix"),
        ("/bin/calico-node -confd", "confd"),
        ("calico component felix", "felix"),
        ("/usr/bin/calico component node monitor-addresses", "monitor-addresses"),
        ("bird -R -s /var/run/calico/bird.ctl -d -c /etc/calico/confd/config/bird.cfg", "bird"),
        ("/usr/bin/kubelet --config=/var/lib/kubelet/config.yaml", ""),
    ],
)
def test_processes(command: str, part: str) -> None:
    (process,) = picture(f"{PS}root  4321  2.3  1.1 187654 9123 ?     Sl   10:00   1:02 {command}\n").of(Process)
    assert process.part == part


@pytest.mark.parametrize(
    ("action", "parts"),
    [
        ("exec [/bin/calico-node -felix-live -bird-live]", {"felix", "bird"}),
        ("exec [/usr/bin/calico component node health --felix-live]", {"felix"}),
        ("exec [/bin/calico-node -bird-ready -felix-ready]", {"felix", "bird"}),
        ("http-get http://localhost:9099/liveness", {"felix"}),
    ],
)
def test_probes(action: str, parts: set[str]) -> None:
    line = f"    Liveness:   {action} delay=10s timeout=10s period=10s #success=1 #failure=6"
    (probe,) = picture(f"$ kubectl describe pod calico-node-x\n{line}\n").of(Probe)
    assert probe.checks == parts


def test_lines_of_bird_below_processes_are_a_log() -> None:
    text = "# pgrep -af calico\n812 calico component node confd\nbird: Graceful restart started\n"
    assert [process.part for process in picture(text).of(Process)] == ["confd"]
