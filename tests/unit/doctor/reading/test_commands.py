"""Where a command line really ran, and which programs it used."""

from __future__ import annotations

import pytest

from tortie.doctor.reading.commands import effective, plausible, programs, spoken, typed_bare, unfinished, words


@pytest.mark.parametrize(
    ("command", "host", "pod", "inner"),
    [
        ("ip a", "", "", "ip a"),
        ("sudo ip a", "", "", "ip a"),
        ("sudo -u root timeout 3 nc -vz 10.0.0.1 179", "", "", "nc -vz 10.0.0.1 179"),
        ('ssh w-9 "dmesg -T | tail -2"', "w-9", "", "dmesg -T | tail -2"),
        ("ssh -i k -p 22 root@w-9 free -m | sed -n 2p", "w-9", "", "free -m | sed -n 2p"),
        ("ssh w-9", "", "", "ssh w-9"),
        ("kubectl -n ns exec p-1 -c calico-node -- birdcl show protocols", "", "p-1", "birdcl show protocols"),
        ("kubectl exec -it -n ns pod/p-1 -- sh -c 'ip r | head'", "", "p-1", "ip r | head"),
        ("kubectl exec -it p-1 /bin/bash", "", "p-1", "/bin/bash"),
        ("docker exec -it c1 ip route", "", "c1", "ip route"),
        ("A=b C=d ./calicoctl get nodes", "", "", "./calicoctl get nodes"),
    ],
)
def test_effective(command: str, host: str, pod: str, inner: str) -> None:
    assert effective(command) == (host, pod, inner)


def test_words_keep_quoted_text_together_and_survive_open_quotes() -> None:
    assert words("grep -E 'a b|c' x | wc -l") == ["grep", "-E", "a b|c", "x", "|", "wc", "-l"]
    assert words('echo "open')[0] == "echo"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("sudo ./calicoctl node status | grep mesh", ["calicoctl", "grep"]),
        ("microk8s kubectl get pods -A", ["kubectl"]),
        ("kubectl get nodes --no-headers | wc -l; kubectl get ippool", ["kubectl", "wc", "kubectl"]),
        ("for p in 1 2; do nc -z h $p && echo ok; done", ["for", "nc", "echo", "done"]),
        ("", []),
    ],
)
def test_programs(command: str, expected: list[str]) -> None:
    assert programs(command) == expected


def test_a_command_without_prompt_needs_its_second_word() -> None:
    assert typed_bare("kubectl logs -n kube-system calico-node-abcde")
    assert typed_bare("calicoctl node status")
    assert typed_bare("ping 10.0.0.7")
    assert typed_bare("cat /etc/hosts")
    assert not typed_bare("kubectl exec [POD] [COMMAND] is DEPRECATED and will be removed in a future version.")
    assert not typed_bare("docker and containerd both run")
    assert not typed_bare("ip-masq-agent 1/1 Running")
    assert not typed_bare("calicoctl shows that all peers are up")
    assert not typed_bare("ping 10.0.0.7 works")


def test_people_are_heard() -> None:
    assert spoken("ping from node 2 to the master works")
    assert not spoken("grep -e to -e from file")
    assert plausible("/opt/cni/bin/calico -v")
    assert not plausible("Install the manifest")


def test_unfinished() -> None:
    assert unfinished("docker run \\")
    assert unfinished("kubectl patch x -p '{")
    assert unfinished("kubectl get pods |")
    assert not unfinished('echo "it\'s"')
