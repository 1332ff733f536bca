"""`tortie doctor --here` inside a node of a real lab: healthy as it is, and the cause named when a port is dropped."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.lab import Lab

DROP = """
add table inet fault
add chain inet fault in { type filter hook input priority 0; }
add chain inet fault out { type filter hook output priority 0; }
add rule inet fault in tcp dport 179 drop
add rule inet fault in tcp sport 179 drop
"""


def diagnosis(lab: Lab, node: str) -> tuple[int, dict]:  # type: ignore[type-arg]
    ran = lab("exec", node, "--", "tortie", "doctor", "--here", "-o", "json")
    assert ran.stdout, ran.stderr
    return ran.code, json.loads(ran.stdout)


def test_a_lab_node_asks_the_doctor_about_itself(tmp_path: Path) -> None:
    with Lab(tmp_path) as lab:
        lab.up("--nodes", "3")
        code, answer = diagnosis(lab, "node-1")
        assert (code, answer["verdict"]) == (0, "healthy"), told(answer)
        assert any("2 BGP sessions" in text for text in answer["checked"])

        # Somebody's firewall drops BGP on node-2, and nothing else.
        assert lab("exec", "node-2", "--", "nft", "-f", "-", stdin=DROP).code == 0
        # The old session would live on until its hold time; a node that starts anew needs a new one at once.
        assert lab("stop", "node-1").code == 0
        lab("start", "node-1")
        lab.wait("BIRD shows its sessions again", lambda: _down(lab) == ["10.77.0.2"])
        code, answer = diagnosis(lab, "node-1")
        assert (code, answer["verdict"]) == (3, "cause-found"), told(answer)
        assert answer["causes"][0]["cause"] == "bgp-port-blocked"
        assert "10.77.0.2" in answer["causes"][0]["objects"]

        assert lab("exec", "node-2", "--", "nft", "delete", "table", "inet", "fault").code == 0
        lab.wait("node-2 is a peer again", lambda: _down(lab) == [])
        code, answer = diagnosis(lab, "node-1")
        assert (code, answer["verdict"]) == (0, "healthy"), told(answer)


def told(answer: dict) -> str:  # type: ignore[type-arg]
    return json.dumps({key: answer[key] for key in ("verdict", "causes", "symptoms", "next")}, indent=1)


def _down(lab: Lab) -> list[str]:
    told = lab("exec", "node-1", "--", "tortie", "node", "status", "-o", "json").stdout
    status = json.loads(told) if told.startswith("{") else {"ipv4": []}
    if not status["ipv4"]:
        return ["nothing is known yet"]
    return [peer["peer"] for peer in status["ipv4"] if not peer["established"]]
