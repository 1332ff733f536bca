"""What systemctl, journalctl and crictl print."""

from __future__ import annotations

import pytest

from tortie.lab.kubelet.service_texts import Unit, ago, containers_table, journal, since, unit_of, unit_status

NOW = 1794843090.0


def test_a_unit_that_runs() -> None:
    text = unit_status(Unit("kubelet", True, 42, NOW - 185), "tortie lab kubelet x", ["line"], NOW)
    assert "   Active: active (running) since Mon 2026-11-16 15:28:25 UTC; 3min 5s ago\n" in text
    assert " Main PID: 42 (kubelet)\n" in text
    assert text.endswith("└─42 tortie lab kubelet x\n\nline\n")


def test_a_unit_that_is_started_again_and_again() -> None:
    told = {"pid": 42, "running": False, "age_s": 9.5, "ended_s": 9.0, "exit_code": 255, "signal": None}
    unit = unit_of("kubelet", {**told, "stopped": False, "restarts": 7}, NOW)
    assert unit.word == "activating"
    text = unit_status(unit, "", [], NOW)
    assert "   Active: activating (auto-restart) (Result: exit-code) since " in text
    assert text.partition("auto-restart")[2].partition("\n")[0].endswith("; 9s ago")
    assert "(code=exited, status=255)\n" in text


def test_a_unit_that_was_killed_or_stopped() -> None:
    killed = Unit("containerd", False, 42, NOW - 9, NOW - 3, None, 9)
    assert "(Result: signal)" in unit_status(killed, "", [], NOW)
    assert " Main PID: 42 (code=killed, signal=KILL)\n" in unit_status(killed, "", [], NOW)
    stopped = killed._replace(stopped=True)
    assert stopped.word == "inactive"
    assert "   Active: inactive (dead) since " in unit_status(stopped, "", [], NOW)
    assert unit_of("containerd", {}, NOW).word == "inactive"


def test_the_journal_says_how_it_ended() -> None:
    lines = ["I1116 15:04:05.000000     123 a.go:1] begins", "F1116 15:04:06.000000     123 server.go:274] failed"]
    assert journal("kubelet", lines, "node-1", None) == [
        f"Nov 16 15:04:05 node-1 kubelet[123]: {lines[0]}",
        f"Nov 16 15:04:06 node-1 kubelet[123]: {lines[1]}",
        "Nov 16 15:04:06 node-1 systemd[1]: kubelet.service: Main process exited, code=exited, status=255/n/a",
        "Nov 16 15:04:06 node-1 systemd[1]: kubelet.service: Failed with result 'exit-code'.",
    ]


def test_the_journal_of_containerd() -> None:
    line = 'time="2026-11-16T15:31:30.025646000Z" level=info msg="x"'
    assert journal("containerd", [line], "node-1", 7) == [f"Nov 16 15:31:30 node-1 containerd[7]: {line}"]


@pytest.mark.parametrize(
    ("seconds", "text"), [(9, "9s"), (65, "1min 5s"), (1200, "20min"), (7260, "2h 1min"), (200000, "2 days")]
)
def test_ages_of_systemd(seconds: float, text: str) -> None:
    assert ago(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "Less than a second"), (1, "1 second"), (59, "59 seconds"), (61, "About a minute"), (7300, "2 hours")],
)
def test_ages_of_crictl(seconds: float, text: str) -> None:
    assert since(seconds) == text


def test_containers() -> None:
    base = {"image": "tortie/node:1", "uid": "ab-cd", "pod": "calico-node-x", "container": "calico-node"}
    old = {**base, "id": "1" * 64, "attempt": 0, "state": "CONTAINER_EXITED", "started_at": NOW - 300}
    new = {**base, "id": "2" * 64, "attempt": 1, "state": "CONTAINER_RUNNING", "started_at": NOW - 5}
    assert containers_table([old, new], NOW, every=True).splitlines() == [
        "CONTAINER       IMAGE           CREATED         STATE     NAME          ATTEMPT   POD ID   POD",
        "2222222222222   tortie/node:1   5 seconds ago   Running   calico-node   1         abcd     calico-node-x",
        "1111111111111   tortie/node:1   5 minutes ago   Exited    calico-node   0         abcd     calico-node-x",
    ]
    assert len(containers_table([old, new], NOW, every=False).splitlines()) == 2
