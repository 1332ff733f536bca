"""Chats are read turn by turn: what somebody says may be a sentence, a command or its output."""

from __future__ import annotations

import pytest
from tests.support.doctor import picture, source

from tortie.doctor.picture.facts import Node, Ping, Registered
from tortie.doctor.reading.chats import chat
from tortie.doctor.reading.cut import cut

CHAT = """
[14:02] ines:   pods on one node are ok, pods on different nodes cannot reach each other
[14:05] bo:     get nodes?
[14:06] ines:
NAME      STATUS   ROLES    AGE   VERSION    INTERNAL-IP
cow-1     Ready    <none>   3d    v1.26.4    10.8.0.11
[14:07] ines: cow-1:~$ ping -c2 10.8.0.12
2 packets transmitted, 0 received, 100% packet loss, time 1002ms
[14:09] bo: 怪了
"""


def test_sentences_tables_and_commands_are_what_they_are() -> None:
    seen = picture(CHAT)
    assert [node.name for node in seen.of(Node)] == ["cow-1"]
    assert [(ping.address, ping.ok, ping.host) for ping in seen.of(Ping)] == [("10.8.0.12", False, "cow-1")]
    assert seen.said("cross-node-dead")


def test_places_are_those_of_the_lines() -> None:
    assert picture(CHAT).of(Ping)[0].place.first == 7


@pytest.mark.parametrize(
    "turns",
    [
        ["[10:02 ines] restarted it", "[10:03 bo] and now?", "[10:04 ines] the same"],
        ["19:02 @ines: restarted it", "19:03 @bo: and now?", "19:04 @ines: the same"],
        ["[21:03] 小周: 重启了", "[21:04] 老吴：还是不行", "[21:05] 小周: 看下日志"],
        [
            "[2024-05-02 10:02:11] <ines>: restarted it",
            "[2024-05-02 10:02:12] <bo>: ah",
            "[2024-05-02 10:02:13] <bo>: so",
        ],
    ],
)
def test_heads_of_many_habits(turns: list[str]) -> None:
    read = chat(tuple(turns))
    assert len(read.turns) == 3
    assert all(":" not in line and "：" not in line and "]" not in line for line in read.lines)


@pytest.mark.parametrize(
    "lines",
    [
        ["[10:14:02] bird: Mesh_10_0_0_2: State changed to up"] * 3,
        ["[10:14:02] kubelet: started", "[10:14:03] calico-node: ready", "[10:14:04] kubelet: done"],
        ["[10:02] ines: once", "no more of it"],
        ["10:14:02 eth0: link up"] * 4,
    ],
)
def test_logs_are_no_chats(lines: list[str]) -> None:
    assert chat(tuple(lines)).lines == tuple(lines)


def test_a_name_above_annotations_is_the_nodes() -> None:
    seen = picture(
        """
        cow-1
              projectcalico.org/IPv4Address: 100.64.9.2/32
        cow-2
              projectcalico.org/IPv4Address: 10.8.0.12/24
        """
    )
    assert {(one.node, one.address) for one in seen.of(Registered)} == {("cow-1", "100.64.9.2"), ("cow-2", "10.8.0.12")}


def test_a_turn_begins_an_exhibit() -> None:
    told = list(cut(source(CHAT)))
    assert any(one.command == "ping -c2 10.8.0.12" and one.lines for one in told)
    assert any(one.prose and one.lines[0].startswith("pods on one node") for one in told)
