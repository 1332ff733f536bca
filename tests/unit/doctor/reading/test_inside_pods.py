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
