"""TRT1006: the owner named by the conflict is no live node."""

from __future__ import annotations

import pytest
from tests.support.doctor import finding, picture

from tortie.doctor.causes.cause import LIKELY, PROVEN
from tortie.doctor.causes.nodes.trt1006_stale_node_entry import CAUSE

ID = "stale-node-entry"

LOG = """
time="2018-02-11T02:20:13Z" level=info msg="Building new node resource" Name="web-new"
time="2018-02-11T02:20:13Z" level=warning msg="Calico node 'web-old' is already using the IPv4 address 10.66.1.5 -  Check the node configuration to remove the IP address conflict."  # noqa: E501
time="2018-02-11T02:20:13Z" level=warning msg=Terminating
"""  # noqa: E501
NODES = """
$ kubectl get nodes
NAME      STATUS   ROLES    AGE   VERSION
ctl       Ready    master   90d   v1.9.2
web-new   Ready    <none>   10m   v1.9.2
"""
BOTH = """
$ calicoctl get nodes
NAME
ctl
web-old
web-new
"""


def test_calico_knows_a_name_that_kubernetes_does_not() -> None:
    answer = finding(ID, LOG + NODES + BOTH)
    assert answer.strength >= PROVEN
    assert answer.objects[:2] == ("web-old", "10.66.1.5")


def test_a_person_renamed_the_host() -> None:
    assert finding(ID, "上周改了主机名之后 calico 就起不来了。\n" + LOG).strength >= LIKELY


def test_the_old_node_is_not_ready_with_the_same_address() -> None:
    text = (
        LOG
        + """
    $ kubectl get nodes -o wide
    NAME      STATUS     ROLES    AGE   VERSION   INTERNAL-IP   EXTERNAL-IP   OS-IMAGE   KERNEL-VERSION   CONTAINER-RUNTIME  # noqa: E501
    ctl       Ready      master   90d   v1.19.2   10.66.1.4     <none>        CentOS 7   3.10.0           docker://18.9.2  # noqa: E501
    web-old   NotReady   <none>   90d   v1.19.2   10.66.1.5     <none>        CentOS 7   3.10.0           docker://18.9.2  # noqa: E501
    web-new   Ready      <none>   10m   v1.19.2   10.66.1.5     <none>        CentOS 7   3.10.0           docker://18.9.2  # noqa: E501
    """  # noqa: E501
    )
    answer = finding(ID, text)
    assert answer.strength >= LIKELY
    assert finding("duplicate-node-ip", text).state == "ruled-out"


def test_a_live_owner_rules_it_out() -> None:
    text = (
        LOG
        + NODES.replace("web-new ", "web-old ")
        + """
    $ kubectl get pod -n kube-system -o wide | grep calico-node
    calico-node-q1q1q   1/1   Running            0   9d    10.66.1.5   web-old   <none>   <none>
    calico-node-w2w2w   0/1   CrashLoopBackOff   5   10m   10.66.1.5   web-new   <none>   <none>
    """
    )
    assert finding(ID, text).state == "ruled-out"


def test_the_conflict_alone_is_a_candidate() -> None:
    assert finding(ID, LOG).strength < LIKELY


def test_the_old_record_is_removed_where_it_lies() -> None:
    relic = NODES + "web-old   NotReady   <none>   90d   v1.9.2\n"
    for text, command in (
        (LOG + NODES + BOTH, "calicoctl delete node web-old"),
        (LOG + relic, "kubectl delete node web-old"),
    ):
        seen = picture(text)
        assert command in [step.command for step in CAUSE.fix(seen, CAUSE.judge(seen))]


ENDED = "Calico node '{}' is already using the IPv4 address 10.0.0.31.\nTerminating\n"
LIST = "{}\nNAME       STATUS     ROLES    AGE   VERSION\nworker-1   Ready      <none>   9d    v1.26.2\nworker-3   NotReady   <none>   3m    v1.26.2\n"  # noqa: E501


def test_a_list_that_was_picked_by_a_word_lacks_others() -> None:
    picked = LIST.format("$ kubectl get nodes | grep worker").replace(
        "NAME       STATUS     ROLES    AGE   VERSION\n", ""
    )
    assert finding(ID, ENDED.format("master-1") + LIST.format("$ kubectl get nodes")).strength >= LIKELY
    assert finding(ID, ENDED.format("master-1") + picked).strength < LIKELY
    assert finding(ID, ENDED.format("worker-9") + picked).strength >= LIKELY


def test_a_longer_name_of_a_living_host_is_no_relic() -> None:
    nodes = LIST.format("$ kubectl get nodes")
    assert finding(ID, ENDED.format("worker-1.corp.local") + nodes).strength < LIKELY
    assert finding(ID, ENDED.format("worker-3.corp.local") + nodes).strength >= LIKELY


def test_the_record_of_a_node_that_has_none_under_its_own_name() -> None:
    log = "Calico node 'web-new.localdomain' is already using the IPv4 address 10.66.1.5.\nTerminating\n"
    recorded = "$ calicoctl get nodes\nNAME\nctl\nweb-new.localdomain\n"
    assert finding(ID, log + NODES + recorded).strength >= LIKELY
    assert finding(ID, log + NODES + recorded + "web-new\n").strength < LIKELY  # it has one: another host starts


@pytest.mark.parametrize(
    "told",
    [
        "The hostname of the device was updated (from `old-iot` to `new-local`).",
        "We renamed the host last week.",
        "上周把主机名从 old-iot 改成了 new-local。",
    ],
)
def test_a_host_that_was_renamed_left_its_record(told: str) -> None:
    log = (
        "startup/startup.go 406: Using NODENAME environment for node name new-local\n"
        "2023-10-31 14:17:51.531 [WARNING][10] startup/startup.go 1152: Calico node 'old-iot' is already using the "
        "IPv4 address 192.168.178.41.\n"
    )
    assert finding("stale-node-entry", f"{told}\n\n$ kubectl logs calico-node-x\n{log}").strength >= 0.8
