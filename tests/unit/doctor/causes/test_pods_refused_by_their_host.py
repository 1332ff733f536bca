"""A machine refuses what its own pods send to it (TRT8008), a table takes pods' routes (TRT7009), host endpoints."""

from __future__ import annotations

from tests.support.doctor import finding

VIP = """
kubectl -n calico-system logs calico-kube-controllers-7f9d6c5b8-pw2xd --tail=1
2024-01-20 16:44:10.019 [ERROR][1] client.go 290: Error getting cluster information error=Get "https://10.43.0.1:443/apis/crd.projectcalico.org/v1/clusterinformations/default": dial tcp 10.43.0.1:443: connect: no route to host
"""  # noqa: E501
REACHED = "root@oc-1:~# curl -sk https://10.43.0.1:443/readyz\nok\n"
INPUT = """
root@oc-1:~# iptables -S INPUT
-P INPUT ACCEPT
-A INPUT -m comment --comment "cali:Cz_u1IQiXIMmKD4c" -j cali-INPUT
-A INPUT -p tcp -m tcp --dport 22 -j ACCEPT
{}
"""
REJECT = "-A INPUT -j REJECT --reject-with icmp-host-prohibited"


def test_input_refuses_pods_of_the_machine() -> None:
    answer = finding("host-firewall-blocks-pods", VIP + REACHED + INPUT.format(REJECT))
    assert answer.strength >= 0.8
    assert answer.rule == "input-refused"


def test_where_the_host_gets_no_answer_either_another_machine_refuses() -> None:
    assert finding("host-firewall-blocks-pods", VIP + INPUT.format(REJECT)).strength < 0.8


def test_a_rule_for_one_port_is_not_it() -> None:
    narrow = INPUT.format("-A INPUT -p tcp -m tcp --dport 25 -j REJECT --reject-with icmp-host-prohibited")
    assert finding("host-firewall-blocks-pods", VIP + REACHED + narrow).strength < 0.8


RULES = """
Pods on different nodes cannot reach each other.
root@vps-a:~# ip rule
0:      from all lookup local
5210:   from all fwmark 0x80000/0xff0000 lookup main
5270:   from all lookup 52
32766:  from all lookup main
32767:  from all lookup default
root@vps-a:~# ip route show table 52
{}
100.64.0.3 dev tailscale0
root@vps-a:~# ip route | grep tunl0
10.244.31.0/26 via 100.64.0.3 dev tunl0 proto bird onlink
"""


def test_a_table_of_a_vpn_has_a_route_for_pods() -> None:
    answer = finding("policy-routing-override", RULES.format("10.244.0.0/16 dev tailscale0"))
    assert answer.strength >= 0.9
    assert "5270" in answer.objects
    assert finding("policy-routing-override", RULES.format("10.9.0.0/16 dev tailscale0")).strength < 0.8
    assert finding("policy-routing-override", RULES.format("default dev tailscale0")).strength < 0.8


POLICY = """
apiVersion: projectcalico.org/v3
kind: GlobalNetworkPolicy
metadata:
  name: log-some
spec:
  types:
  - Ingress
  ingress:
  - action: Log
---
$ kubectl get nodes
Unable to connect to the server: dial tcp 10.31.0.20:6443: i/o timeout
NAME   STATUS     ROLES    AGE   VERSION
w1     NotReady   <none>   80d   v1.20.7
"""
PATCH = (
    "calicoctl patch kubecontrollersconfiguration default "
    '--patch=\'{"spec": {"controllers": {"node": {"hostEndpoint": {"autoCreate": "%s"}}}}}\'\n'
)


def test_endpoints_that_are_made_for_every_host() -> None:
    assert finding("policy-blocks-host", PATCH % "Enabled" + POLICY).strength >= 0.8
    assert finding("policy-blocks-host", PATCH % "Disabled" + POLICY).strength < 0.8
