"""TRT7013: eBPF is on and something it needs is missing."""

from __future__ import annotations

from tests.support.doctor import finding

LOG = """
        $ kubectl -n calico-system logs calico-node-rr2tl -c install-cni
        dial tcp 10.96.0.1:443: i/o timeout
"""
FELIX = """
        $ kubectl get felixconfiguration default -o yaml | grep -i bpf
          bpfEnabled: {}
"""
PROXY = """
        $ kubectl -n kube-system logs kube-proxy-7dx2v --tail=1
        E0909 09:09:09.000000       1 proxier.go:1556] Failed to execute iptables-restore: exit status 1 \
        (iptables-restore: line 144 failed)
        # iptables-save | grep -c KUBE-SVC
        0
"""


def test_kube_proxy_still_runs() -> None:
    answer = finding("ebpf-misconfigured", LOG + FELIX.format("true") + PROXY)
    assert answer.state == "found"
    assert answer.strength >= 0.95
    assert "bpfEnabled" in answer.objects
    assert "kube-proxy" in answer.objects


def test_the_health_port_is_taken() -> None:
    answer = finding(
        "ebpf-misconfigured",
        """
        启用 eBPF 之后 calico-node 日志不停报错：
        2022-08-08 08:08:08.888 [ERROR][66] felix/proxy.go 160: BPF Proxy Healthz server failed error=failed to \
        start proxy healthz on 0.0.0.0:10256: listen tcp 0.0.0.0:10256: bind: address already in use
        """
        + FELIX.format("true"),
    )
    assert answer.strength >= 0.9
    assert "10256" in answer.objects


def test_not_in_this_mode() -> None:
    answer = finding("ebpf-misconfigured", LOG + FELIX.format("false") + PROXY)
    assert answer.strength < 0.8


def test_the_mode_alone_is_no_fault() -> None:
    assert finding("ebpf-misconfigured", FELIX.format("true")).strength < 0.8


def test_nobody_tells_where_the_api_server_is() -> None:
    lists = """
        $ kubectl -n calico-system get ds
        NAME          DESIRED   CURRENT   READY   UP-TO-DATE   AVAILABLE   NODE SELECTOR            AGE
        calico-node   1         1         0       1            0           kubernetes.io/os=linux   8m50s
        $ kubectl -n tigera-operator get cm
        NAME               DATA   AGE
        kube-root-ca.crt   1      9m21s
    """
    assert finding("ebpf-misconfigured", LOG + FELIX.format("true") + lists).strength >= 0.9
    there = lists + "    kubernetes-services-endpoint   2   9m\n"
    assert finding("ebpf-misconfigured", LOG + FELIX.format("true") + there).strength < 0.8
    some = lists.replace("get cm", "get cm | head -2")
    assert finding("ebpf-misconfigured", LOG + FELIX.format("true") + some).strength < 0.8
