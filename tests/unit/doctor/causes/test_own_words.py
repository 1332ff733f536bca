# ruff: noqa: E501
"""What Tortie's own node says, and what is over: rules that the lab's evidence needs."""

from __future__ import annotations

from tests.support.doctor import finding

LOG = """
$ kubectl -n kube-system logs calico-node-x7k2p
"""
TABLE = """
[root@n2 ~]# tortie node status
Calico process is running.

IPv4 BGP status
+--------------+-------------------+-------+----------+-------------+
| PEER ADDRESS | PEER TYPE         | STATE | SINCE    | INFO        |
+--------------+-------------------+-------+----------+-------------+
| 10.7.0.1     | node-to-node mesh | start | 15:29:13 | {info} |
+--------------+-------------------+-------+----------+-------------+
"""


def test_a_method_that_tortie_refuses() -> None:
    text = (
        LOG + "  why: -  a setting of this node cannot be meant: IP_AUTODETECTION_METHOD=ens3: no method is called that"
    )
    answer = finding("autodetect-method-invalid", text)
    assert (answer.state, answer.objects[0]) == ("found", "ens3")


def test_a_remark_on_the_method_ends_no_start() -> None:
    text = (
        LOG + "  -  beside that: IP_AUTODETECTION_METHOD=first-found: is used only as long as no address is registered"
    )
    assert finding("autodetect-method-invalid", text).state == "cannot-tell"


def test_an_address_that_is_kept_is_no_trouble() -> None:
    text = (
        LOG
        + """
2026-01-01 10:00:00.000 [WARNING][9] monitor-addresses/x.py 1: Unable to auto-detect an IPv4 address: no valid IPv4 addresses found on the host interfaces
2026-01-01 10:00:00.000 [WARNING][9] monitor-addresses/x.py 1: Autodetection of IPv4 address failed, keeping existing value: 10.7.0.2/24
"""
    )
    assert finding("no-ip-found", text).state == "ruled-out"


def test_tortie_has_asked_the_link_and_nobody_answers() -> None:
    text = (
        LOG
        + """
2026-01-01 10:00:00.000 [WARNING][9] startup/agent.py 201: Calico node 'n2-before' is already using the IPv4 address 10.7.0.2.
2026-01-01 10:00:00.000 [WARNING][9] startup/agent.py 204: n2 cannot register 10.7.0.2: the node n2-before has it: nobody else answers for 10.7.0.2 on this link, so the record of n2-before looks left over
"""
    )
    answer = finding("stale-node-entry", text)
    assert (answer.state, answer.objects[0]) == ("found", "n2-before")


def test_a_conflict_that_a_start_got_over() -> None:
    text = (
        LOG
        + """
2026-01-01 10:00:00.000 [WARNING][9] startup/agent.py 201: Calico node 'n1' is already using the IPv4 address 10.7.0.2.
2026-01-01 10:00:09.000 [INFO][9] startup/agent.py 120: Calico node started successfully
"""
    )
    assert finding("stale-node-entry", text).state == "cannot-tell"


def test_counters_tell_of_signatures_where_a_password_is_configured() -> None:
    counters = """
[root@n1 ~]# nstat -az TcpExtTCPMD5Unexpected
TcpExtTCPMD5Unexpected          23                 0.0
"""
    peer = """
$ tortie get bgppeers -o yaml
spec: {node: n2, peerIP: 10.7.0.1, password: {secretKeyRef: {name: bgp, key: mesh}}}
"""
    table = TABLE.format(info="Connect    ")
    assert finding("bgp-auth-mismatch", table + counters + peer).state == "found"
    assert finding("bgp-auth-mismatch", table + counters).state == "cannot-tell"


def test_strangers_who_have_stopped_calling() -> None:
    call = "bird: BGP: Unexpected connect from unknown address 10.7.0.99 (port 1234)\n"
    up = "bird: Mesh_10_7_0_1: State changed to up\n"
    assert finding("bgp-peer-misconfigured", LOG + up + call).state == "found"
    assert finding("bgp-peer-misconfigured", LOG + call + up).state == "cannot-tell"


def test_a_bird_that_stands_still() -> None:
    text = """
[root@n2 ~]# tortie node status
Error querying BIRD: read unix @->/var/run/calico/bird.ctl: i/o timeout
[root@n2 ~]# ps aux --sort=-%cpu | head -15
USER       PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND
root      3637  0.1  0.0   7844  4900 ?        TLs  16:07   0:00 /usr/sbin/bird -f -c bird.cfg -s bird.ctl -R
"""
    answer = finding("bird-overloaded", text)
    assert (answer.state, answer.rule) == ("found", "standing-still")


def test_a_script_s_closed_is_refused_where_bash_says_so() -> None:
    trial = """
[root@n2 ~]# timeout 3 bash -c '</dev/tcp/10.7.0.1/179' && echo 179 open || echo 179 closed
bash: connect: Connection refused
bash: line 1: /dev/tcp/10.7.0.1/179: Connection refused
179 closed
"""
    assert finding("bgp-port-blocked", TABLE.format(info="Connect    ") + trial).state == "ruled-out"
