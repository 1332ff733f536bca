"""What was typed in the shell of a pod was tried from that pod."""

from __future__ import annotations

import pytest
from tests.support.doctor import picture

from tortie.doctor.picture.facts import Ping
from tortie.doctor.reading.cut import cut
from tortie.doctor.reading.exhibit import Source
from tortie.doctor.reading.readers import read

LOST = "2 packets transmitted, 0 packets received, 100% packet loss"


def test_links_of_a_pod_are_none_of_its_node() -> None:
    shown = (
        "4: eth0@if18: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1440 qdisc noqueue state UP",
        "2: tunl0@NONE: <NOARP> mtu 1480",
    )
    lines = ("$ kubectl exec web-1 -- ip a", *shown)
    assert picture("\n".join(lines)).interfaces() == []
    assert len(picture("\n".join(("$ ip a", *shown))).interfaces()) == 2
    assert len(picture("\n".join(("$ kubectl exec calico-node-8xkqj -- ip a", *shown))).interfaces()) == 2


def pinged(*lines: str) -> list[tuple[str, str]]:
    """Pod and host of every ping of a paste."""
    source = Source("paste", lines)
    return [(fact.pod, fact.host) for each in cut(source) for fact in read(each) if isinstance(fact, Ping)]


def test_a_session_begins_with_exec_and_ends_with_exit() -> None:
    assert pinged(
        "$ kubectl exec -it web-1 -- sh", "/ # ping -c2 1.1.1.1", LOST, "/ # exit", "$ ping -c2 1.1.1.1", LOST
    ) == [("web-1", ""), ("", "")]


def test_a_session_ends_where_it_began() -> None:
    assert pinged(
        "[root@m1 ~]# kubectl run -it --rm box --image=busybox", "# ping -c2 1.1.1.1", LOST,
        "[root@m1 ~]# ping -c2 1.1.1.1", LOST,
    ) == [("box", ""), ("", "m1")]  # fmt: skip


@pytest.mark.parametrize(
    ("prompt", "pod"),
    [
        ("/ # ", "?"),
        ("/app $ ", "?"),
        ("dnstools# ", "?"),
        ("root@web-6d5f7c8b9b-x2x4z:/# ", "web-6d5f7c8b9b-x2x4z"),
        ("root@worker-2:/# ", ""),
        ("[root@worker-2 /]# ", ""),
        ("~ # ", ""),
    ],
)
def test_a_prompt_alone_may_tell(prompt: str, pod: str) -> None:
    assert [found for found, _ in pinged(f"{prompt}ping -c2 1.1.1.1", LOST)] == [pod]


def test_pods_on_the_network_of_their_node_try_from_there() -> None:
    assert pinged("$ kubectl exec -it calico-node-8xkqj -- bash", "sh-4.4# ping -c2 1.1.1.1", LOST) == [("", "")]
    assert pinged("$ kubectl exec calico-node-8xkqj -- ping -c2 1.1.1.1", LOST) == [("", "")]


@pytest.mark.parametrize("prompt", ["bash-5.1# ", "bash-4.4$ ", "sh-5.0# "])
def test_a_shell_without_settings_is_a_containers(prompt: str) -> None:
    assert pinged(f"{prompt}ping -c2 1.1.1.1", LOST) == [("?", "")]


def test_tools_of_nodes_are_in_no_image() -> None:
    shell = ("bash-5.1# systemctl is-active kubelet", "active", "bash-5.1# ping -c2 1.1.1.1", LOST)
    assert pinged(*shell) == [("", "")]
    assert pinged("$ oc debug node/w1", "sh-4.4# ping -c2 1.1.1.1", LOST) == [("", "")]
    assert pinged("sh-4.2$ ping -c2 1.1.1.1", LOST) == [("", "")]


@pytest.mark.parametrize(
    "told",
    [
        "From inside the build pod:",
        "I exec'd into the runner and tried:",
        "我进 runner 里看看：",
        "在容器里执行：",
    ],
)
def test_a_person_says_where_it_was_typed(told: str) -> None:
    shell = ("", "$ ping -c2 1.1.1.1", LOST)
    assert pinged(told, *shell) == [("?", "")]
    assert pinged(told, *shell, "", "The same from node w2:", *shell) == [("?", ""), ("", "w2")]


@pytest.mark.parametrize(
    "told",
    [
        "On the node of that pod:",
        "进 master 里看看：",
        "From the container runtime we see nothing. On w2:",
        "From the calico-node pod:",
        "在宿主机上（不是 pod 里）执行：",
        "Addresses are from the pod range, and then:",
    ],
)
def test_a_person_speaks_of_pods_and_means_a_node(told: str) -> None:
    assert [pod for pod, _ in pinged(told, "", "$ ping -c2 1.1.1.1", LOST)] == [""]
