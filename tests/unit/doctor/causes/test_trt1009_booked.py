"""TRT1009: the plugin booked a pod's address for the machine that a clone was made of."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

import pytest
from tests.support.doctor import finding, fixes, picture

from tortie.doctor.judgement.judge import judge

ID = "duplicate-nodename"

ROWS = """\
$ kubectl get po -A -o wide | grep -w 10.9.4.14
infra   agent-vk7tz                    2/2   Running   0   54m   10.9.4.14   vm-18
shop    ledger-7dd8c9b5fd-x2kqn        1/1   Running   0   21m   10.9.4.14   vm-02
"""
ENDPOINT = """\
[root@vm-18 ~]# tail -1 /var/log/calico/cni/cni.log
2026-03-23 09:11:13.497 [INFO][2210] cni-plugin/k8s.go 77: Extracted identifiers for CmdAddK8s ContainerID="fc3a" Namespace="infra" Pod="agent-vk7tz" WorkloadEndpoint="vm--02-k8s-agent--vk7tz-eth0"
"""
ASSIGN = """\
[root@vm-18 ~]# grep AutoAssignArgs /var/log/calico/cni/cni.log
2026-03-23 09:11:13.531 [INFO][2231] ipam/ipam_plugin.go 270: Auto assigning IP ContainerID="fc3a" assignArgs=ipam.AutoAssignArgs{Num4:1, Attrs:map[string]string{"namespace":"infra", "node":"vm-02", "pod":"agent-vk7tz"}}
"""
SHOW = """\
$ calicoctl ipam show --ip=10.9.4.14
IP 10.9.4.14 is in use
Attributes:
  namespace: infra
  node: vm-02
  pod: agent-vk7tz
"""
BLOCK = """\
$ kubectl get ipamblocks 10-9-4-0-26 -o yaml | grep -A4 secondary
    secondary:
      namespace: infra
      node: vm-02
      pod: agent-vk7tz
"""
WEP = "$ calicoctl get wep -n infra -o name\nWorkloadEndpoint/vm--02-k8s-agent--vk7tz-eth0\n"
CLONED = "vm-18 是用 vm-02 的模板克隆出来的虚拟机。\n"


@pytest.mark.parametrize("shown", [ENDPOINT, ASSIGN, SHOW, BLOCK, WEP])
def test_booked_for_another_node(shown: str) -> None:
    answer = finding(ID, ROWS + shown)
    assert (answer.rule, answer.strength >= 0.95) == ("booked", True)
    assert {"vm-18", "vm-02", "/var/lib/calico/nodename"} <= set(answer.objects)
    judged = judge(picture(ROWS + shown))
    assert [one.cause.id for one in judged.causes] == [ID]


def test_by_the_host_of_the_log_alone() -> None:
    answer = finding(
        ID,
        CLONED
        + ENDPOINT
        + "$ kubectl get nodes\nNAME STATUS ROLES AGE VERSION\nvm-02 Ready <none> 9d v1.29.1\nvm-18 Ready <none> 1h v1.29.1\n",
    )
    assert (answer.rule, answer.strength >= 0.9, answer.objects[0]) == ("booked", True, "vm-18")


def test_the_pods_that_were_booked_are_made_anew() -> None:
    assert "kubectl -n infra delete pod agent-vk7tz" in fixes(ID, ROWS + ENDPOINT)
    assert any("rm -f /var/lib/calico/nodename" in command for command in fixes(ID, ROWS + ENDPOINT))
    later = (
        ENDPOINT
        + ENDPOINT.splitlines()[1]
        .replace("agent-vk7tz", "bit-8mm4l")
        .replace("vm--02-k8s-agent--vk7tz", "vm--18-k8s-bit--8mm4l")
        + "\n"
    )
    assert not any("rm -f" in command for command in fixes(ID, ROWS + later))


def test_a_pod_where_it_is_booked_is_none() -> None:
    own = ENDPOINT.replace("vm--02", "vm--18")
    assert finding(ID, ROWS + own).rule != "booked"
    full = ENDPOINT.replace("vm--02", "vm--18.example.net")
    assert finding(ID, ROWS + full).rule != "booked"


def test_a_pod_of_a_stateful_set_was_there_before() -> None:
    moved = "$ kubectl get po -o wide\nweb-0   1/1   Running   0   5m   10.9.4.20   vm-18\nweb-1   1/1   Running   0   5m   10.9.4.21   vm-02\n"
    old = SHOW.replace("agent-vk7tz", "web-0")
    assert finding(ID, moved + old).rule != "booked"


def test_two_pods_with_one_address_alone_say_nothing_of_names() -> None:
    assert finding(ID, ROWS).state != "found"
    assert finding("ipam-inconsistent", ROWS).strength >= 0.95
