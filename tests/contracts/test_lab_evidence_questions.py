"""The lab's collector and the script for real clusters ask the same, and put the answers into the same files."""

from __future__ import annotations

import re
from importlib import resources

from tortie.lab.evidence.questions import ROOT, Around, Question, describe_node, of_cluster, of_node

TOOLS = frozenset({"kubectl", "crictl", "systemctl", "journalctl"})
AROUND = Around({}, TOOLS, has_log=True)

# A machine has these, a node of a lab does not, or shares them with the machine that the lab runs on.
ONLY_THE_SCRIPT = {
    "nodes/H/kernel": "one kernel for all labs of the machine: its messages cannot be told apart",
    "iptables": "nodes of a lab have nftables",
    "firewall-cmd": "no service of the machine's",
    "nmcli": "no service of the machine's",
    "lsmod": "modules are the machine's",
    "timedatectl": "the clock is the machine's",
    "getenforce": "the machine's",
    "cat /etc/resolv.conf": "nodes of a lab ask no name server",
    "docker": "containerd is what a lab's kubelet has",
    "crictl info": "the lab's runtime has no such configuration",
    "grep -n -e SystemdCgroup": "the lab's runtime has no such configuration",
    "grep -n -e cgroupDriver": "the lab's kubelet has no such configuration",
    "calicoctl": "tortie is what a lab has",
    "kubectl get endpoints": "there is no API server",
    "kubectl get nodes -o custom-columns": "`tortie get nodes` tells it",
    ".crd.projectcalico.org": "`tortie get` tells it",
    "tigerastatus": "there is no operator",
}


def script() -> list[tuple[str, str]]:
    """(file, command) as the script runs them; H is the host it runs on."""
    text = resources.files("tortie.doctor").joinpath("collect.sh").read_text(encoding="utf-8")
    asked, part = [], ""
    for line in text.splitlines():
        for section, single, double in re.findall(
            r"section \"?([^\s\";]+)\"?|\brun '((?:[^']|'\\'')*)'|\brun \"((?:[^\"\\]|\\.)*)\"", line
        ):
            if section:
                part = section.replace("$host", "H").replace("$node", "H")
            elif part:
                asked.append((part, single or double))
    return asked


def lab() -> list[tuple[str, str]]:
    def told(folder: str, questions: tuple[Question, ...]) -> list[tuple[str, str]]:
        return [(f"{folder}/{each.part}", each.command.replace(ROOT, "")) for each in questions if not each.silent]

    described = describe_node("N")
    return [
        *told("nodes/H", of_node(AROUND)),
        *told("cluster", of_cluster(AROUND)),
        (described.part.replace("nodes/N", "nodes/H"), described.command),
    ]


def test_the_script_is_read_whole() -> None:
    assert len(script()) > 50
    assert ("nodes/H/ip-addr", "ip addr") in script()


def test_the_same_command_is_in_the_same_file() -> None:
    files = {command: part for part, command in script()}
    both = [(part, command, files[command]) for part, command in lab() if command in files]
    assert len(both) > 30
    assert [each for each in both if each[0] != each[2]] == []


def test_what_the_script_asks_of_a_machine_the_lab_asks_too() -> None:
    known = set(lab())
    missing = []
    for part, command in script():
        plain = command.replace("\\n", "\\n")
        wanted = [plain.replace("$unit", unit) for unit in ("kubelet", "containerd")] if "$unit" in plain else [plain]
        for each in wanted:
            spared = any(word == part or word in each for word in ONLY_THE_SCRIPT)
            if "$" not in each and not spared and not any(each == command for _, command in known):
                missing.append((part, each))
    assert missing == []


def test_files_of_the_lab_are_those_of_the_script() -> None:
    text = resources.files("tortie.doctor").joinpath("collect.sh").read_text(encoding="utf-8")
    files = {re.sub(r"\$\w+", "H", part) for part in re.findall(r'section "?([^\s";]+)', text)}
    assert {part for part, _ in lab()} - files == set()
