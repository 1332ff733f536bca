"""A word is a sign only in its sentence: not inside of another word, not behind a comma, not where it is denied."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.doctor import finding, source

from tortie.doctor.reading.cleaning import decode
from tortie.doctor.reading.cut import cut
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.lexicon import RULES, lowered, simple
from tortie.doctor.reading.readers import statements
from tortie.doctor.reading.readers.statements import sentences

CASES = Path(__file__).parents[3] / "cases"


def said(text: str) -> set[str]:
    exhibit = Exhibit("x", 1, tuple(text.splitlines()), prose=True)
    return {statement.kind for statement in statements.read(exhibit)}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("two-installs", "The third host joined with the network policy controller off, operator and Calico 3.27."),
        ("two-installs", "We have two masters, the tigera operator brings Calico."),
        ("two-installs", "I reinstalled calico on it twice already."),
        ("two-installs", "我们有两套环境，这套是 operator 装的"),
        ("service-dead", "The serviceaccount of the agent cannot list pods."),
        ("load-normal", "We looked at the overload normaliser."),
        ("ip-changed", "交换机那边的 AS 号和邻居地址都对"),
        ("ip-changed", "把探测方式改成了用 node 的 InternalIP"),
    ],
)
def test_a_word_inside_of_another_is_none(kind: str, text: str) -> None:
    assert kind not in said(text)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("etcd-down", "etcd got new certificates, calico is down since."),
        ("etcd-down", "etcd 的证书换过了，现在就是 calico-node 起不来"),
        ("etcd-health-ok", "etcd 上周搬了家，业务正常"),
        ("works-after-restart", "重启之后 pod 访问外网超时，宿主机正常"),
        ("keeps-restarting", "calico-node 都正常，就是 coredns 一直重启"),
        ("all-nodes", "Calico is green on all nodes, but not a single DNS request gets through."),
        ("no-default-route", "发了工单没有人理，网关那边还在查"),
        ("cross-node-dead", "Pods on different nodes talk, pods of the same node don't."),
        ("runtime-broken", "containerd was updated, the browser hangs when I open the console."),
    ],
)
def test_what_is_said_of_something_else_behind_a_comma(kind: str, text: str) -> None:
    assert kind not in said(text)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("kubelet-stopped", "The kubelet did not crash in that night."),
        ("kubelet-stopped", "kubelet 从来没有挂过，但日志里没有挂载失败"),
        ("disk-full", "The disk is not full."),
        ("etcd-down", "etcd was never down."),
        ("runtime-broken", "docker ps does not hang."),
        ("runtime-broken", "containerd 没有卡住"),
        ("suffers", "calico-node 一直没重启过"),
        ("all-nodes", "On all nodes the agents did not fail."),
    ],
)
def test_a_trouble_that_is_denied_is_none(kind: str, text: str) -> None:
    assert kind not in said(text)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("two-installs", "There are two Calico installations, it seems."),
        ("two-installs", "Somebody applied both the operator and the old manifest."),
        ("two-installs", "这个集群装了两套 calico"),
        ("only-workers-fail", "The masters are fine, the workers fail."),
        ("ping-works-port-179-not", "Ping works, but 179 is not reachable."),
        ("firewalld-stop-helps", "After stopping firewalld on c2, everything is reachable."),
        ("sent-not-received", "The packets leave ens5, nothing arrives on the other machine."),
        ("keeps-restarting", "calico-node is 0/1, restarts all the time."),
        ("one-node-only", "One node of nine cannot start pods."),
        ("all-nodes", "After lunch every worker went NotReady."),
        ("works-after-restart", "After restarting the pod, it works for a day."),
        ("works-after-restart", "重启之后，正常了"),
        ("new-nodes-only", "昨天新加的三台机器，calico-node 全是 Crash"),
        ("etcd-member-restored", "etcd 坏了，用备份快照恢复的"),
        ("suffers", "That host lost all the sessions."),
    ],
)
def test_what_belongs_together_across_a_comma_still_does(kind: str, text: str) -> None:
    assert kind in said(text)


def test_a_second_machine_is_no_second_calico() -> None:
    text = """\
Third box added to my rke2 (its own network-policy off, operator install, Calico v3.28.0). The others are fine.

calico-system   calico-node-f4k9x   0/1   Init:CrashLoopBackOff   8 (1m ago)   20m   10.3.0.14   box-three

$ kubectl logs -n calico-system calico-node-f4k9x -c install-cni
2025-01-09 11:02:25.364 [FATAL][1] cni-installer/install.go 478: Unable to create token for CNI kubeconfig \
error=Post "https://10.43.0.1:443/api/v1/namespaces/calico-system/serviceaccounts/calico-cni-plugin/token": \
dial tcp 10.43.0.1:443: i/o timeout
"""
    assert finding("duplicate-calico-instance", text).state != "found"


def test_the_ways_to_say_it_find_what_the_whole_expression_finds() -> None:
    """On every sentence of every case: a way is only left out where it could not match."""
    told = 0
    for path in sorted(CASES.glob("*/evidence.txt")):
        for exhibit in cut(source(decode(path.read_bytes()))):
            for sentence in sentences(exhibit.lines) if exhibit.prose else ():
                low = simple(lowered(sentence.text))
                for rule in RULES:
                    whole = rule.pattern.search(low) is not None
                    assert whole == any(True for _ in rule.matches(low)), (rule.kind, rule.words[:60], sentence.text)
                    told += whole
    assert told > 500
