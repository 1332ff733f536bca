"""TRT8002: the balancer answers, the masters behind the service address do not."""

from __future__ import annotations

from tests.support.doctor import finding
from tests.support.fixes import fixes

LOG = """
        $ kubectl -n kube-system logs calico-node-9c5fd -c install-cni
        dial tcp 10.96.0.1:443: connect: no route to host
"""


def test_balancer_yes_masters_no() -> None:
    answer = finding(
        "apiserver-port-blocked",
        LOG
        + """
        [root@w9 ~]# curl -sk -m3 https://10.20.0.100:6443/readyz
        ok
        [root@w9 ~]# curl -sk -m3 https://10.20.0.11:6443/readyz
        curl: (7) Failed to connect to 10.20.0.11 port 6443: No route to host
        [root@w9 ~]# ping -c2 10.20.0.11
        2 packets transmitted, 2 received, 0% packet loss, time 1001ms
        [root@w9 ~]# iptables-save -t nat | grep 'default/kubernetes:https'
        -A KUBE-SEP-XYZ -p tcp -m comment --comment "default/kubernetes:https" -m tcp -j DNAT --to-destination \
        10.20.0.11:6443
        """,
    )
    assert answer.state == "found"
    assert answer.strength >= 0.95
    assert "6443" in answer.objects
    assert "10.20.0.11" in answer.objects


def test_open_on_the_master_itself() -> None:
    answer = finding(
        "apiserver-port-blocked",
        LOG
        + """
        [root@w9 ~]# nc -vz -w3 10.20.0.11 6443
        nc: connect to 10.20.0.11 port 6443 (tcp) failed: Connection timed out
        [root@w9 ~]# nc -vz -w3 10.20.0.11 10250
        Connection to 10.20.0.11 10250 port [tcp/*] succeeded!
        """,
    )
    assert answer.strength >= 0.8


def test_masters_answer() -> None:
    answer = finding(
        "apiserver-port-blocked", LOG + "\n        [root@w9 ~]# curl -k https://10.20.0.11:6443/healthz\n        ok\n"
    )
    assert answer.state == "ruled-out"


def test_the_service_address_alone() -> None:
    assert finding("apiserver-port-blocked", LOG).strength < 0.8


def test_the_fix_names_the_master_and_its_port() -> None:
    commands = fixes(
        "apiserver-port-blocked",
        """
        $ kubectl -n kube-system logs calico-node-x2k4z -c install-cni
        dial tcp 10.96.0.1:443: i/o timeout
        [root@w7 ~]# curl -k -m3 https://172.20.3.8:8443/healthz
        curl: (28) Connection timed out after 3001 milliseconds
        [root@w7 ~]# systemctl is-active ufw
        active
        """,
    )
    assert any(command.startswith("ssh 172.20.3.8 ") and "8443" in command for command in commands)
    assert "ufw allow 8443/tcp" in commands


REJECTED = """
E0101 kubelet: Unable to register node: Post "https://172.20.1.5:6443/api/v1/nodes": dial tcp 172.20.1.5:6443: connect: no route to host
[root@edge-3 ~]# ping -c1 172.20.1.5
1 packets transmitted, 1 received, 0% packet loss, time 0ms
"""  # noqa: E501


def test_no_route_to_a_machine_that_answers_pings_is_a_reject() -> None:
    assert finding("apiserver-port-blocked", REJECTED).strength >= 0.9
    away = REJECTED.replace("1 received, 0%", "0 received, 100%")
    assert finding("apiserver-port-blocked", away).strength < 0.8
    slow = REJECTED.replace("connect: no route to host", "i/o timeout")
    assert finding("apiserver-port-blocked", slow).strength < 0.8


WEB = """
[root@w7 ~]# curl -m3 https://{}
curl: (28) Connection timed out after 3001 milliseconds
"""


def test_a_web_server_out_there_is_no_api_server() -> None:
    for name in ("mirrors.example.com", "registry.npmjs.example", "8.8.4.4"):
        assert finding("apiserver-port-blocked", WEB.format(name)).state != "found"
    lost = "$ wget -qO- -T3 https://mirrors.example.com\nwget: download timed out\n"
    assert finding("apiserver-port-blocked", lost).state != "found"


def test_what_is_called_the_api_server_is_one_at_443_too() -> None:
    for name in ("k8s-api.example.com", "kube-master.corp", "172.20.3.8", "lb.example.com", "8.8.4.4/healthz"):
        assert finding("apiserver-port-blocked", WEB.format(name)).state == "found"
    config = "$ grep server: ~/.kube/config\n    server: https://api.shop.example.com\n"
    assert finding("apiserver-port-blocked", config + WEB.format("api.shop.example.com")).state == "found"
