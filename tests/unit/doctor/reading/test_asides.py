"""What another cluster printed, or what was before a repair, says nothing of the cluster as it is."""

from __future__ import annotations

import pytest
from tests.support.doctor import picture, source

from tortie.doctor.picture.facts import Pod, Session
from tortie.doctor.reading.asides import lines_then
from tortie.doctor.reading.cut import cut

OWN = """
[root@prod-1 ~]# kubectl get pods -n kube-system
NAME                READY   STATUS             RESTARTS   AGE
calico-node-aaaaa   0/1     CrashLoopBackOff   9          24m
"""
OTHER = """
[root@test-1 ~]# calicoctl node status
| 172.18.0.1   | node-to-node mesh | start | 03:10:11 | Passive |
"""


@pytest.mark.parametrize(
    "announced",
    [
        "For comparison, this is our other cluster:",
        "The staging cluster had a different problem last spring:",
        "对了，我们另外一套测试集群之前也有个怪问题，贴出来参考：",
        "--- STAGING (only for comparison) ---",
    ],
)
def test_what_is_shown_for_comparison_does_not_count(announced: str) -> None:
    seen = picture(f"{OWN}\n{announced}\n{OTHER}")
    assert [pod.name for pod in seen.of(Pod)] == ["calico-node-aaaaa"]
    assert not seen.of(Session)


@pytest.mark.parametrize("back", ["Back to production:", "--- PROD (the one in question) ---", "回到出问题的集群："])
def test_it_ends_where_the_person_turns_back(back: str) -> None:
    assert picture(f"The test cluster, for reference:\n{OTHER}\n{back}\n{OWN}").of(Pod)


def test_it_ends_at_a_prompt_of_the_own_machines() -> None:
    again = OWN.replace("aaaaa", "bbbbb")
    seen = picture(f"{OWN}\nAnother cluster, for comparison:\n{OTHER}\n{again}")
    assert [pod.name for pod in seen.of(Pod)] == ["calico-node-aaaaa", "calico-node-bbbbb"]


@pytest.mark.parametrize(
    "plain",
    [
        "This is our test cluster:",
        "We have another cluster, too.",
        "I compared it with our other cluster. There is no tunnel here:",
        "测试集群里出现了这个问题：",
    ],
)
def test_a_cluster_that_is_only_named_is_the_one_asked_about(plain: str) -> None:
    assert picture(f"{plain}\n{OTHER}").of(Session)


@pytest.mark.parametrize(
    ("past", "present"), [("Before the fix:", "Now:"), ("当时的现象（已经是过去式）：", "现在（早上）的检查：")]
)
def test_what_was_before_a_repair_does_not_count(past: str, present: str) -> None:
    seen = picture(f"{past}\n{OTHER}\n{present}\n{OWN}")
    assert [len(seen.of(Session)), len(seen.of(Pod))] == [0, 1]


def test_the_past_counts_where_nothing_shows_the_present() -> None:
    assert picture(f"At that time:\n{OTHER}").of(Session)


def test_what_crashed_then_is_told_of_then_where_the_present_is_shown_below() -> None:
    text = (
        "The agent crashed every 30 s with\n\npanic: runtime error\n\nand\n\n$ sudo modprobe vxlan\nmodprobe: FATAL: "
        "Module vxlan not found\n\nAfter installing the package it looks like this:\n\n$ lsmod | grep vxlan\n"
        "vxlan 77824 0\n"
    )
    assert lines_then(cut(source(text))) >= {3, 8}
    assert not lines_then(cut(source(text.replace("crashed", "crashes")))) & {3, 8}


def test_then_and_now_in_chinese() -> None:
    text = (
        "当时：这台的 calico-node 起不来：\n2022-01-08 15:02:11.310 [ERROR][52] felix/daemon.go 491: Failed\n\n"
        "现在：把 typha 整个删掉了。跑了三天了，状态如下：\n\n$ kubectl get node\nNAME   STATUS\nm1     Ready\n"
    )
    assert lines_then(cut(source(text))) >= {1, 2}


LOG = """
2026-04-01 10:59:59.000 [FATAL][98] felix/int_dataplane.go 1035: Kernel's RPF check is set to 'loose'.
"""
NOW = """
[root@m1 ~]# kubectl get pods -n kube-system
NAME                READY   STATUS    RESTARTS   AGE
calico-node-aaaaa   {}   24m
"""


def test_what_was_then_counts_as_long_as_it_is_not_over() -> None:
    story = "Yesterday the agent crashed with this:\n" + LOG + "\nNow:\n"
    assert picture(story + NOW.format("0/1     CrashLoopBackOff   9")).hits("rpf-loose-fatal")
    assert not picture(story + NOW.format("1/1     Running   0")).hits("rpf-loose-fatal")


MOMENTS = """
1) the swap of kib-1, planned. While it was off:

14:12
NAME    STATUS     ROLES    AGE   VERSION
kib-1   NotReady   <none>   29d   v1.24.3
kib-2   Ready      <none>   29d   v1.24.3

2) it is on again since 16:21. 17:05:

calico-node-fqr5k   1/1   Running   1   29d   10.3.0.89    kib-1
calico-node-j8mdm   1/1   Running   0   9d    10.3.0.111   kib-2
both nodes Ready
"""


def test_what_stands_below_an_earlier_clock_is_told_of_then() -> None:
    assert lines_then(cut(source(MOMENTS))) == {3, 4, 5, 6}


@pytest.mark.parametrize("last", ["14:12", "13:05:", "it was at 17:05 that it came back"])
def test_one_clock_or_an_earlier_one_heads_no_present(last: str) -> None:
    assert not lines_then(cut(source(MOMENTS.replace("2) it is on again since 16:21. 17:05:", last))))
