"""TRT7006: the sysctl itself decides."""

from __future__ import annotations

from tests.support.doctor import finding


def test_the_sysctl_is_off() -> None:
    text = """
    Since the hardening playbook pods on this machine reach nothing, calico-node is 1/1.
    [root@sec-4 ~]# sysctl net.ipv4.ip_forward net.ipv4.conf.all.forwarding
    net.ipv4.ip_forward = 0
    net.ipv4.conf.all.forwarding = 0
    """
    answer = finding("sysctl-forwarding-off", text)
    assert answer.strength >= 0.9
    assert "net.ipv4.ip_forward" in answer.objects


def test_read_from_proc() -> None:
    text = """
    [root@sec-4 ~]# cat /proc/sys/net/ipv4/ip_forward
    0
    $ kubectl exec web-0 -- ip neigh
    169.254.1.1 dev eth0  INCOMPLETE
    """
    assert finding("sysctl-forwarding-off", text).strength >= 0.9


def test_on_is_no_fault() -> None:
    text = "[root@sec-4 ~]# sysctl net.ipv4.ip_forward\nnet.ipv4.ip_forward = 1"
    assert finding("sysctl-forwarding-off", text).state == "ruled-out"


def test_inside_a_pod_it_is_meant_to_be_off() -> None:
    text = "$ kubectl exec web-0 -- sysctl net.ipv4.ip_forward\nnet.ipv4.ip_forward = 0"
    assert finding("sysctl-forwarding-off", text).state == "cannot-tell"
    text = '2022-02-02 [INFO][1] dataplane_linux.go 361: Disabling IPv4 forwarding ContainerID="1f"'
    assert finding("sysctl-forwarding-off", text).state == "cannot-tell"


def test_the_running_value_counts_more_than_a_file() -> None:
    text = """
    [root@sec-4 ~]# sysctl net.ipv4.ip_forward
    net.ipv4.ip_forward = 1
    [root@sec-4 ~]# grep -rn ip_forward /etc/sysctl.d
    /etc/sysctl.d/10-old.conf:3:net.ipv4.ip_forward = 0
    """
    assert finding("sysctl-forwarding-off", text).state == "ruled-out"


def test_one_host_of_several_asked_at_once() -> None:
    text = """
$ ansible all -m command -a "sysctl -n net.ipv4.conf.all.forwarding net.ipv4.ip_forward"
wk1 | CHANGED | rc=0 >>
1
1
wk2 | CHANGED | rc=0 >>
0
0
"""
    answer = finding("sysctl-forwarding-off", text)
    assert answer.strength >= 0.9
    assert "wk2" in answer.objects


def test_a_pod_that_is_run_to_read_it_has_its_own() -> None:
    text = """
    $ kubectl run t --rm -it --image=busybox --restart=Never -- cat /proc/sys/net/ipv4/ip_forward
    0
    """
    assert finding("sysctl-forwarding-off", text).state != "found"


def test_a_file_of_this_host_beside_a_running_value_of_another() -> None:
    text = """
    Pods of lark-2 cannot reach pods of other nodes since the network service was restarted.
    lark-2:~ # cat /etc/sysctl.d/70-yast.conf
    net.ipv4.ip_forward = 0
    lark-3:~ # sysctl net.ipv4.ip_forward
    net.ipv4.ip_forward = 1
    """
    answer = finding("sysctl-forwarding-off", text)
    assert answer.state == "found"
    assert {"/etc/sysctl.d/70-yast.conf", "lark-2"} <= set(answer.objects)
    assert finding("sysctl-forwarding-off", text.replace("= 0", "= 1")).state == "ruled-out"


COUNTERS = """
    Pods of finch-2 answer nobody on other nodes any more.
    $ kubectl exec web-0 -- ping -c 3 10.44.2.7
    3 packets transmitted, 0 received, 100% packet loss, time 2004ms
    [root@finch-2 ~]# nstat -az | egrep 'IpForwDatagrams|IpInAddrErrors'
    IpInAddrErrors                  512                0.0
    IpForwDatagrams                 {}                  0.0
"""


def test_a_kernel_that_forwarded_nothing() -> None:
    answer = finding("sysctl-forwarding-off", COUNTERS.format(0))
    assert (answer.state, answer.strength >= 0.8) == ("found", True)
    assert "finch-2" in answer.objects
    assert finding("sysctl-forwarding-off", COUNTERS.format(88123)).state != "found"
