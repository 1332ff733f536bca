"""Answers that are numbers."""

from __future__ import annotations

from tortie.doctor.picture.facts import Number
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers.numbers import read


def answers(command: str, *lines: str) -> list[tuple[str, int]]:
    found = read(Exhibit("e", 1, lines, "w-1", command))
    return [(fact.command, fact.value) for fact in found if isinstance(fact, Number)]


def test_one_number() -> None:
    assert answers("iptables-save | grep -c KUBE-SVC", "0") == [("iptables-save | grep -c KUBE-SVC", 0)]


def test_several_commands() -> None:
    assert answers(
        "kubectl get nodes --no-headers | wc -l; kubectl get ipamblocks --no-headers | wc -l", "23", "64"
    ) == [
        ("kubectl get nodes --no-headers | wc -l", 23),
        ("kubectl get ipamblocks --no-headers | wc -l", 64),
    ]


def test_files_with_their_counts() -> None:
    assert answers("grep -c cali /tmp/a /tmp/b", "/tmp/a:3", "/tmp/b:0") == [
        ("grep -c cali /tmp/a /tmp/b /tmp/a", 3),
        ("grep -c cali /tmp/a /tmp/b /tmp/b", 0),
    ]


def test_warnings_beside_the_number_and_other_commands() -> None:
    assert answers("iptables -S | grep -c cali", "0", "# Warning: iptables-legacy tables present") == [
        ("iptables -S | grep -c cali", 0)
    ]
    assert answers("cat /etc/hosts", "12") == []
