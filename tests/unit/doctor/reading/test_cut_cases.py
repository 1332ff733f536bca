"""Whole pastes: a blog post in Chinese, a chat, a bundle of prompts; every line is accounted for."""

from __future__ import annotations

import pytest
from tests.support.doctor import source

from tortie.doctor.reading.cut import cut

POST = """
问题描述：
集群 1.23 版本，安装 calico 后 wk-2 节点的 calico-node 一直 0/1

1、查看 pod 状态
kubectl get pods -n kube-system
NAME                READY   STATUS    RESTARTS   AGE
calico-node-abcde   0/1     Running   0          5m
2、查看日志
kubectl logs calico-node-abcde -n kube-system
2022-03-01 08:00:00.123 [WARNING][75] felix/health.go 211: Reporter is not ready. name="int_dataplane"
bird: BGP: Unexpected connect from unknown address 10.0.0.9 (port 33333)
3、查看防火墙
[root@wk-2 ~]# telnet 10.0.0.1 179
Trying 10.0.0.1...
telnet: connect to address 10.0.0.1: 没有到主机的路由

解决办法：不知道，求助
"""

CHAT = """
hey, calico is broken again on worker 3
Warning  FailedCreatePodSandBox  6m40s  kubelet  Failed to create pod sandbox: rpc error: code = Unknown desc = failed
did you check the kubelet?
Jun 27 10:12:40 km-1 kubelet[4120]: E0627 10:12:40.208722    4120 cni.go:227] Error while adding to cni network: x
and docker ps just hangs there
worker-3 ~ # df -h /
Filesystem      Size  Used Avail Use% Mounted on
/dev/sda1        40G   40G     0 100% /
worker-3 ~ # cat /etc/cni/net.d/10-calico.conflist
{
  "name": "k8s-pod-network"
}
"""

BUNDLE = """
### w-1
$ ip -br a
eth0  UP  10.0.0.5/24
$ ip route | grep cali
$ sysctl net.ipv4.ip_forward
net.ipv4.ip_forward = 0
$ ssh w-2 "sysctl net.ipv4.ip_forward"
net.ipv4.ip_forward = 1
"""


@pytest.mark.parametrize(
    ("text", "commands", "hosts", "prose"),
    [
        (
            POST,
            ["kubectl get pods -n kube-system", "kubectl logs calico-node-abcde -n kube-system", "telnet 10.0.0.1 179"],
            {"wk-2"},
            4,
        ),
        (CHAT, ["df -h /", "cat /etc/cni/net.d/10-calico.conflist"], {"worker-3"}, 3),
        (
            BUNDLE,
            [
                "ip -br a",
                "ip route | grep cali",
                "sysctl net.ipv4.ip_forward",
                'ssh w-2 "sysctl net.ipv4.ip_forward"',
            ],
            {"w-1", "w-2"},
            1,
        ),
    ],
)
def test_a_paste(text: str, commands: list[str], hosts: set[str], prose: int) -> None:
    whole = source(text)
    found = list(cut(whole))
    assert [exhibit.command for exhibit in found if exhibit.command] == commands
    assert hosts <= {exhibit.host for exhibit in found}
    assert sum(exhibit.prose for exhibit in found) == prose
    numbers = [exhibit.number(index) for exhibit in found for index in range(len(exhibit.lines))]
    typed = [number for exhibit in found for number in exhibit.command_lines]
    filled = [number for number, line in enumerate(whole.lines, 1) if line.strip()]
    assert sorted({*numbers, *typed} & set(filled)) == filled
    assert len(numbers) == len(set(numbers))
