"""One command over many hosts: each host's lines are its own."""

from __future__ import annotations

import pytest
from tests.support.doctor import picture, source

from tortie.doctor.picture.facts import Interface, Setting
from tortie.doctor.reading.cut import cut
from tortie.doctor.reading.exhibit import Exhibit


def exhibits(text: str) -> list[Exhibit]:
    return list(cut(source(text)))


def hosts(text: str) -> list[str]:
    return [exhibit.host for exhibit in exhibits(text)]


def test_ansible_names_the_host_above_its_answer() -> None:
    text = """
    [ops@jump ~]$ ansible all -m shell -a 'sysctl -n net.ipv4.ip_forward net.ipv4.conf.all.rp_filter | xargs'
    wk-1 | CHANGED | rc=0 >>
    1 1
    wk-2 | CHANGED | rc=0 >>
    0 2
    """
    got = picture(text)
    forward = {s.host: s.value for s in got.settings("net.ipv4.ip_forward", "sysctl")}
    assert forward == {"wk-1": "1", "wk-2": "0"}
    assert {s.host: s.value for s in got.settings("net.ipv4.conf.all.rp_filter", "sysctl")} == {
        "wk-1": "1",
        "wk-2": "2",
    }
    assert all(exhibit.command.startswith("sysctl -n") for exhibit in got.exhibits)


def test_a_loop_over_ssh_that_prints_each_name() -> None:
    text = """
    $ for n in web-1 web-2; do ssh $n 'hostname; ip -br a show tunl0'; done
    web-1
    tunl0@NONE       UNKNOWN        10.9.1.0/32
    web-2
    tunl0@NONE       UNKNOWN        10.9.2.0/32
    """
    got = picture(text)
    assert {link.host: link.addresses for link in got.of(Interface)} == {
        "web-1": ("10.9.1.0/32",),
        "web-2": ("10.9.2.0/32",),
    }
    first, second = got.exhibits
    assert second.command == "ssh web-2 'hostname; ip -br a show tunl0'"
    assert (first.number(0), second.number(0)) == (2, 4)


def test_a_loop_over_addresses_whose_hosts_say_their_names() -> None:
    text = """
    # for i in 31 32; do ssh root@10.4.0.$i 'hostname; sysctl -n net.ipv4.ip_forward'; done
    alpha
    1
    beta
    0
    """
    got = picture(text)
    assert [s.host for s in got.settings("net.ipv4.ip_forward", "sysctl")] == ["alpha", "beta"]


def test_a_loop_with_the_name_before_each_answer() -> None:
    text = """
    $ for h in a1 a2; do echo -n "$h: "; ssh $h cat /var/lib/calico/nodename; done
    a1: a1
    a2: a1
    """
    assert [(e.host, e.lines) for e in exhibits(text)] == [("a1", ("a1",)), ("a2", ("a1",))]


def test_a_loop_with_one_line_for_each_host() -> None:
    text = """
    $ for h in p q r; do ssh $h getenforce; done
    Enforcing
    Permissive
    Enforcing
    """
    got = picture(text)
    assert [(s.host, s.value) for s in got.of(Setting) if s.scope == "selinux"] == [
        ("p", "Enforcing"),
        ("q", "Permissive"),
        ("r", "Enforcing"),
    ]


def test_pdsh_and_banners() -> None:
    parallel = """
    $ pdsh -w n[1-2] ip -br a show eth0
    n1: eth0  UP  10.0.0.1/24
    n2: eth0  UP  10.0.0.2/24
    """
    assert [(link.host, link.addresses) for link in picture(parallel).of(Interface)] == [
        ("n1", ("10.0.0.1/24",)),
        ("n2", ("10.0.0.2/24",)),
    ]
    banners = """
    === kube-a1 ===
    eth0  UP  10.0.0.1/24
    === srv-2 ===
    eth0  UP  10.0.0.2/24
    """
    assert hosts(banners)[-1] == "srv-2"
    typed = """
    ##### srv-7 #####
    $ ip -br a
    eth0  UP  10.0.0.7/24
    """
    assert [link.host for link in picture(typed).of(Interface)] == ["srv-7"]


@pytest.mark.parametrize(
    "text",
    [
        "$ for p in 179 443; do nc -zv 10.0.0.2 $p; done\nConnection to 10.0.0.2 179 port [tcp/bgp] succeeded!",
        "$ cat report\n=== step1 ===\nsomething\n=== step2 ===\nmore",
        "$ diff -u a b\n--- a1\n+++ b1\n@@ -1 +1 @@",
        "$ for n in $(kubectl get no -o name); do ssh $n uptime; done\nsomething here",
    ],
)
def test_what_is_no_host_stays_whole(text: str) -> None:
    assert hosts(text) == [""]


def test_what_follows_an_answer_of_pdsh_is_nobodys() -> None:
    text = "$ pdsh -w kv[1-2] cat /var/lib/calico/nodename\nkv1: kv1\nkv2: kv1\nThese are clones."
    assert hosts(text) == ["kv1", "kv2", ""]


def test_results_of_a_play_belong_to_the_hosts_that_they_name() -> None:
    text = """
    我们跑 cluster.yml 扩容，卡在这一步：
    TASK [network_plugin/calico : Get pool] ****************
    ok: [fox-1]
    fatal: [fox-2]: FAILED! => {"changed": false, "rc": 1, "stderr": "dial tcp 10.233.0.1:443: i/o timeout"}
    failed: [fox-3 -> crow-1(10.0.0.9)] (item=a) => changed=false
      msg: 'no route to host'

    STDERR:

    dial tcp 10.233.0.1:443: connect: no route to host
    ...ignoring

    post step:
    NAME                READY   STATUS    RESTARTS   AGE   IP          NODE
    calico-node-4vnmz   1/1     Running   0          3m    10.0.0.11   fox-1
    """
    shown = [(e.host, e.lines[0][:8], e.lines[-1][:8]) for e in exhibits(text) if e.host]
    assert [host for host, _, _ in shown] == ["fox-1", "fox-2", "crow-1"]
    assert shown[2] == ("crow-1", "failed: ", "dial tcp")


def test_a_build_server_puts_the_time_in_front() -> None:
    text = """
    09:12:01 TASK [etcd : check] ****
    09:12:02 changed: [fox-1]
    2023-01-05T09:12:04.123Z fatal: [fox-2]: UNREACHABLE! => {"changed": false, "unreachable": true}
    """
    assert hosts(text) == ["", "fox-1", "fox-2"]


def test_what_looks_like_a_result_and_is_none() -> None:
    assert set(hosts("fatal: [main] could not read from remote repository\n[ok]: [fox-1]")) == {""}
    assert set(hosts('fatal: [localhost]: FAILED! => {"msg": "no inventory"}\nok: [127.0.0.1]')) == {""}
