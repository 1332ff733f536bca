"""TRT7005: found by Felix's own words, ruled out by a strict sysctl or a release without the check."""

from __future__ import annotations

from tests.support.doctor import finding

FATAL = (
    "2021-01-21 10:08:55.349 [FATAL][498] int_dataplane.go 1035: Kernel's RPF check is set to 'loose'.  This would "
    "allow endpoints to spoof their IP address."
)


def test_felix_says_so() -> None:
    answer = finding("rpf-loose", f"$ kubectl logs -n kube-system calico-node-x\n{FATAL}")
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "net.ipv4.conf.all.rp_filter" in answer.objects


def test_nothing_said_is_not_a_verdict() -> None:
    assert finding("rpf-loose", "$ kubectl get nodes\nNAME   STATUS\nw1   Ready").state == "cannot-tell"


def test_the_file_that_sets_it_is_named() -> None:
    text = """
    2020-01-01 01:02:03.004 [FATAL][50] int_dataplane.go 1035: Kernel's RPF check is set to 'loose'.  This would allow
    [root@kr-1 ~]# grep -rn rp_filter /etc/sysctl.d
    /etc/sysctl.d/60-site.conf:7:net.ipv4.conf.all.rp_filter = 2
    """
    answer = finding("rpf-loose", text)
    assert answer.strength >= 0.95
    assert "/etc/sysctl.d/60-site.conf" in answer.objects


def test_where_kubectl_was_typed_is_not_where_it_happened() -> None:
    text = """
    [root@m1 ~]# kubectl get pods -n kube-system -o wide | grep calico-node
    calico-node-4kd7x   1/1   Running            0              3d   10.32.0.1   m1   <none>   <none>
    calico-node-zq8vp   0/1   CrashLoopBackOff   31 (2m ago)    3d   10.32.0.2   w1   <none>   <none>
    [root@m1 ~]# kubectl -n kube-system logs calico-node-zq8vp --tail=1
    2026-04-01 10:59:59.000 [FATAL][98] felix/int_dataplane.go 1035: Kernel's RPF check is set to 'loose'.  This would allow endpoints to spoof their IP address.
    """  # noqa: E501
    objects = finding("rpf-loose", text).objects
    assert "w1" in objects
    assert "m1" not in objects


def test_the_second_half_of_the_message() -> None:
    said = "日志最后一句 Calico requires net.ipv4.conf.all.rp_filter to be set to 0 or 1\n"
    pods = "$ kubectl get pods -A\nkube-system   calico-node-lp2bk   {}   1   6m\n"
    assert finding("rpf-loose", said + pods.format("0/1   CrashLoopBackOff")).strength >= 0.9
    assert finding("rpf-loose", said + pods.format("1/1   Running")).state == "ruled-out"
