"""What `lab up --dry-run` prints."""

from __future__ import annotations

import re

from tests.support.topologies import planned

from tortie.lab.changes import changes
from tortie.lab.describe import _TEXTS, describe, describe_changes
from tortie.model.measure import columns


def test_a_small_lab_reads_like_this() -> None:
    text = describe(
        planned(
            """\
            nodes:
            - name: node-1
              bridges: [{name: br-3a10a9384428, address: 172.18.0.1/16}]
            - name: node-2
              settings: {IP: autodetect}
              labels: {role: db}
            """
        )
    )
    assert text == (
        "Lab lab: 2 nodes, store embedded (one file in the lab's folder)\n"
        "\n"
        "MACHINE  ROLE    INTERFACE        ADDRESS         SEGMENT   BLOCK\n"
        "node-1   node    eth0             10.77.0.1/24    fabric    10.244.0.0/26\n"
        "                 br-3a10a9384428  172.18.0.1/16   (bridge)\n"
        "node-2   node    eth0             10.77.0.2/24    fabric    10.244.0.64/26\n"
        "router   router  eth0             10.77.0.254/24  fabric\n"
        "\n"
        "SEGMENT  NETWORK       GATEWAY      MACHINES\n"
        "fabric   10.77.0.0/24  10.77.0.254  3\n"
        "\n"
        "Pool 10.244.0.0/16: blocks of /26, no encapsulation\n"
        "Settings of node-2: IP=autodetect\n"
        "Labels of node-2: role=db\n"
        "Processes: 1 × tortie lab keep, 2 × tortie node run, 2 × bird\n"
    )


def test_racks_and_etcd_are_told() -> None:
    text = describe(planned(nodes=4, racks=2, store="etcd", members=3))
    assert "4 nodes in 2 racks, store etcd (etcd-1, etcd-2, etcd-3)" in text
    assert "4 × tortie node run, 3 × etcd, 5 × bird" in text
    assert "rack-2" in text


def test_chinese_columns_stand_below_each_other() -> None:
    lines = describe(planned(nodes=3), "zh").splitlines()
    assert lines[0] == "实验环境 lab：3 个节点，存储 embedded（实验目录中的一个文件）"
    heading, first = lines[2], lines[3]
    assert columns(heading[: heading.index("网卡")]) == columns(first[: first.index("eth0")])


def test_settings_of_all_nodes_are_told_once() -> None:
    text = describe(planned("nodes: [a]\nsettings: {AS: 64513}"))
    assert "Settings of all nodes: AS=64513" in text


def test_changes_are_told_one_by_one() -> None:
    after = planned("nodes: [node-1, {name: node-3, settings: {AS: 64513}, bridges: [{name: br0}]}, node-4]")
    found = changes(planned(nodes=3), after)
    assert describe_changes(found).splitlines() == [
        "remove node-2 (node, 10.77.0.2)",
        "add node-4 (node, 10.77.0.4)",
        "change node-3: add br0; restart the agent, because of AS",
    ]
    assert describe_changes(found, "zh").splitlines()[0] == "移除 node-2 (节点, 10.77.0.2)"


def test_no_change_and_no_way() -> None:
    assert describe_changes(changes(planned(), planned())) == "Nothing would change.\n"
    assert describe_changes(changes(planned(), planned()), started=["node-2"]) == "start node-2, which has ended\n"
    refused = describe_changes(changes(planned(), planned(store="etcd")))
    assert refused.startswith("Not possible while the lab is up:\n  the store is embedded")
    assert "存储目前是 embedded" in describe_changes(changes(planned(), planned(store="etcd")), "zh")


def test_every_text_has_the_same_values_in_both_languages() -> None:
    for pair in _TEXTS.values():
        assert set(re.findall(r"\{\w+\}", pair.en)) == set(re.findall(r"\{\w+\}", pair.zh)), pair
