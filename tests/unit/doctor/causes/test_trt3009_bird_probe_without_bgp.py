"""TRT3009: no BGP daemon by the backend, and a probe that asks for it."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

from tests.support.doctor import finding

ID = "bird-probe-without-bgp"
NO_DAEMON = "CALICO_NETWORKING_BACKEND is vxlan - no need to run a BGP daemon"
FAILING = (
    "  Warning  Unhealthy  9s (x61 over 10m)  kubelet  Readiness probe failed: calico/node is not ready: BIRD is not ready: "
    "Error querying BIRD: unable to connect to BIRDv4 socket: dial unix /var/run/bird/bird.ctl: connect: no such file or directory"
)


def test_the_log_and_the_probe() -> None:
    text = f"$ kubectl -n kube-system logs calico-node-zz5k1 | grep BGP\n{NO_DAEMON}\n$ kubectl -n kube-system describe pod calico-node-zz5k1 | tail -1\n{FAILING}"
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "-bird-ready" in answer.objects


def test_the_config_map_and_the_flags() -> None:
    text = """
换成 vxlan 之后 calico-node 每分钟重启一次。
$ kubectl -n kube-system get cm calico-config -o jsonpath='{.data.calico_backend}'
vxlan
$ kubectl -n kube-system describe ds calico-node | grep -e Liveness -e Readiness
    Liveness:   exec [/bin/calico-node -felix-live -bird-live] delay=10s timeout=1s period=10s #success=1 #failure=6
    Readiness:  exec [/bin/calico-node -felix-ready -bird-ready] delay=0s timeout=1s period=10s #success=1 #failure=3
  Warning  Unhealthy  12s  kubelet  Liveness probe failed: calico/node is not ready: bird/confd is not live: exit status 1
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.8
    assert "-bird-live" in answer.objects


def test_backend_bird_rules_it_out() -> None:
    text = f"""
$ kubectl -n kube-system get cm calico-config -o jsonpath='{{.data.calico_backend}}'
bird
{FAILING}
"""
    assert finding(ID, text).state == "ruled-out"


def test_vxlan_without_bird_flags_is_healthy() -> None:
    text = """
$ kubectl -n kube-system get cm calico-config -o jsonpath='{.data.calico_backend}'
vxlan
$ kubectl -n kube-system describe ds calico-node | grep -e Liveness -e Readiness
    Liveness:   exec [/bin/calico-node -felix-live] delay=10s timeout=1s period=10s #success=1 #failure=6
    Readiness:  exec [/bin/calico-node -felix-ready] delay=0s timeout=1s period=10s #success=1 #failure=3
"""
    assert finding(ID, text).state == "ruled-out"


def test_the_socket_alone_is_no_claim() -> None:
    assert finding(ID, FAILING).strength < 0.8


def test_the_backend_is_only_told() -> None:
    told = 'We went from IPIP to VXLAN: set calico_backend: "vxlan" in the config. Since then it is 0/1.\n\n'
    answer = finding(ID, told + FAILING)
    assert (answer.rule, answer.strength >= 0.8) == ("bird-asked", True)
    back = "We tried calico_backend: vxlan, and set it back to bird. It is 0/1 since.\n\n"
    assert finding(ID, back + FAILING).strength < 0.8
