"""TRT7007: the kernel's line, or count against maximum."""

from __future__ import annotations

from tests.support.doctor import finding


def test_the_kernel_says_so() -> None:
    text = """
    高峰期随机丢包，dmesg 如下：
    [8214433.120331] nf_conntrack: nf_conntrack: table full, dropping packet
    [8214433.120912] nf_conntrack: nf_conntrack: table full, dropping packet
    """
    answer = finding("conntrack-full", text)
    assert answer.strength >= 0.9
    assert "nf_conntrack_max" in answer.objects


def test_count_has_reached_the_maximum() -> None:
    text = """
    [root@gw-1 ~]# sysctl net.netfilter.nf_conntrack_count net.netfilter.nf_conntrack_max
    net.netfilter.nf_conntrack_count = 262140
    net.netfilter.nf_conntrack_max = 262144
    """
    assert finding("conntrack-full", text).strength >= 0.9


def test_far_below_is_no_fault() -> None:
    text = """
    [root@gw-1 ~]# cat /proc/sys/net/netfilter/nf_conntrack_count /proc/sys/net/netfilter/nf_conntrack_max
    8123
    262144
    """
    assert finding("conntrack-full", text).state == "ruled-out"


def test_nothing_said() -> None:
    assert finding("conntrack-full", "now and then requests time out under load").state == "cannot-tell"


def test_one_of_several_hosts() -> None:
    text = """
$ for h in e1 e2; do ssh $h sysctl -n net.netfilter.nf_conntrack_count net.netfilter.nf_conntrack_max|xargs echo $h;done
e1 20111 262144
e2 65536 65536
"""
    answer = finding("conntrack-full", text)
    assert answer.strength >= 0.9
    assert "e2" in answer.objects


def test_counted_by_conntrack() -> None:
    text = "$ conntrack -C\n262144\n$ sysctl net.netfilter.nf_conntrack_max\nnet.netfilter.nf_conntrack_max = 262144\n"
    assert finding("conntrack-full", text).strength >= 0.9
    assert finding("conntrack-full", text.replace("262144\n$", "8144\n$")).state == "ruled-out"


def test_a_line_of_some_day_beside_agents_that_are_well() -> None:
    line = "[Jan 5 10:11] nf_conntrack: nf_conntrack: table full, dropping packet\n"
    pods = "$ kubectl -n kube-system get pods\ncalico-node-5k2jv   1/1   Running   0   12d\n"
    lost = "$ kubectl exec a -- ping -c2 10.244.7.4\n2 packets transmitted, 0 packets received, 100% packet loss\n"
    assert 0 < finding("conntrack-full", line + pods).strength < 0.8
    assert finding("conntrack-full", line + pods + lost).strength >= 0.9
