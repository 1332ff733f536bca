"""Tries over the network: where, what came back, and from where it was tried."""

from __future__ import annotations

import pytest
from tests.support.doctor import picture, source

from tortie.doctor.picture.facts import Fact, Ping, PortTest, Setting
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers import trials


def facts(text: str, command: str = "") -> list[Fact]:
    return list(trials.read(Exhibit("e", 1, source(text).lines, "m1", command)))


@pytest.mark.parametrize(
    ("command", "text", "expected"),
    [
        ("nc -vz 10.0.0.9 179", "Ncat: Version 7.70 ( x )\nNcat: Connection refused.", ("10.0.0.9", 179, "refused")),
        ("nc -vz 10.0.0.9 179", "Ncat: Connection timed out.", ("10.0.0.9", 179, "timeout")),
        ("nc -zv h 5473", "Connection to h 5473 port [tcp/*] succeeded!", ("h", 5473, "open")),
        ("nc -zvw3 10.0.0.9 179", "nc: connect to 10.0.0.9 port 179 (tcp) timed out: Operation now in progress",
         ("10.0.0.9", 179, "timeout")),
        ("nc -zv 10.0.0.9 179", "nc: connect to 10.0.0.9 port 179 (tcp) failed: No route to host",
         ("10.0.0.9", 179, "unreachable")),
        ("nc -zv 10.0.0.9 179", "10.0.0.9 (10.0.0.9:179) open", ("10.0.0.9", 179, "open")),
        ("nc -zv 10.0.0.9 179", "(UNKNOWN) [10.0.0.9] 179 (bgp) : Connection refused", ("10.0.0.9", 179, "refused")),
        ("telnet 10.0.0.9 179", "Trying 10.0.0.9...\ntelnet: connect to address 10.0.0.9: No route to host",
         ("10.0.0.9", 179, "unreachable")),
        ("telnet 10.0.0.9 179", "Trying 10.0.0.9...\nConnected to 10.0.0.9.\nEscape character is '^]'.",
         ("10.0.0.9", 179, "open")),
        ("telnet 10.0.0.9 179", "Trying 10.0.0.9...\n^C", ("10.0.0.9", 179, "timeout")),
        ("timeout 3 bash -c '</dev/tcp/10.0.0.9/443'", "bash: connect: Connection refused",
         ("10.0.0.9", 443, "refused")),
        ("curl -k https://10.96.0.1/version", "curl: (7) Failed to connect to 10.96.0.1 port 443: Connection refused",
         ("10.96.0.1", 443, "refused")),
        ("curl -k https://10.96.0.1:443", "curl: (28) Operation timed out after 5000 milliseconds",
         ("10.96.0.1", 443, "timeout")),
        ("curl https://10.0.0.9:6443/healthz", "curl: (60) SSL certificate problem: unable to get local issuer",
         ("10.0.0.9", 6443, "tls-error")),
        ("curl -sk https://10.0.0.9:6443/healthz", "ok", ("10.0.0.9", 6443, "http-200")),
        ("curl -skI https://10.0.0.9:6443/", "HTTP/2 403\ncontent-type: x", ("10.0.0.9", 6443, "http-403")),
        ("curl -sk -o /dev/null -w '%{http_code}' https://10.0.0.9:6443/", "000", ("10.0.0.9", 6443, "closed")),
        ("openssl s_client -connect 10.0.0.9:2379", "CONNECTED(00000003)\n---", ("10.0.0.9", 2379, "open")),
        ("openssl s_client -connect 10.0.0.9:2379", "140:error\nconnect:errno=111", ("10.0.0.9", 2379, "refused")),
        ("kubectl exec p -- wget -qO- http://10.1.1.1:80",
         "wget: can't connect to remote host (10.1.1.1): Connection refused",
         ("10.1.1.1", 80, "refused")),
    ],
)  # fmt: skip
def test_ports(command: str, text: str, expected: tuple[str, int, str]) -> None:
    tests = [fact for fact in facts(text, command) if isinstance(fact, PortTest)]
    assert [(test.address, test.port, test.result) for test in tests] == [expected]
    assert tests[0].host == "m1"


def test_a_loop_over_ports() -> None:
    command = 'for p in 179 5473; do timeout 2 bash -c "</dev/tcp/10.0.0.9/$p" && echo $p open || echo $p closed; done'
    found = [fact for fact in facts("179 closed\n5473 open", command) if isinstance(fact, PortTest)]
    assert [(test.address, test.port, test.result) for test in found] == [
        ("10.0.0.9", 179, "closed"),
        ("10.0.0.9", 5473, "open"),
    ]


def test_a_loop_over_machines() -> None:
    command = "for h in 10.0.0.8 10.0.0.9; do nc -zv -w2 $h 179; done"
    found = facts("Ncat: Connection refused.\nNcat: Connected to 10.0.0.9:179.", command)
    assert [(test.address, test.result) for test in found if isinstance(test, PortTest)] == [
        ("10.0.0.8", "refused"),
        ("10.0.0.9", "open"),
    ]


@pytest.mark.parametrize(
    ("command", "text", "expected"),
    [
        ("ping -c1 10.0.0.9", "PING 10.0.0.9 (10.0.0.9) 56(84) bytes of data.\n\n--- 10.0.0.9 ping statistics ---\n"
         "1 packets transmitted, 0 received, 100% packet loss, time 0ms", ("10.0.0.9", False, None)),
        ("ping 10.0.0.9", "PING 10.0.0.9 (10.0.0.9) 56(84) bytes of data.\n^C", ("10.0.0.9", False, None)),
        ("ping -M do -s 1422 -c2 10.0.0.9", "64 bytes from 10.0.0.9: icmp_seq=1 ttl=64 time=0.1 ms",
         ("10.0.0.9", True, 1422)),
        ("ping -M do -s 1472 -c2 10.0.0.9", "ping: local error: message too long, mtu=1450", ("10.0.0.9", False, 1472)),
        ("ping -c1 10.0.0.9", "connect: Network is unreachable", ("10.0.0.9", False, None)),
        ("ping -c2 10.0.0.9", "From 10.0.0.1 icmp_seq=1 Destination Host Unreachable", ("10.0.0.9", False, None)),
        ("", "PING 10.0.0.9 (10.0.0.9): 56 data bytes\n2 packets transmitted, 2 packets received, 0% packet loss",
         ("10.0.0.9", True, None)),
    ],
)  # fmt: skip
def test_pings(command: str, text: str, expected: tuple[str, bool, int | None]) -> None:
    pings = [fact for fact in facts(text, command) if isinstance(fact, Ping)]
    assert [(ping.address, ping.ok, ping.size) for ping in pings] == [expected]


@pytest.mark.parametrize(
    ("command", "text", "expected"),
    [
        ("getent hosts localhost", "10.9.9.9       localhost.example.org", ("localhost.example.org", "10.9.9.9")),
        ("nslookup kube.local", "** server can't find kube.local: NXDOMAIN", ("kube.local", "NXDOMAIN")),
        ("dig +short api.local", "10.1.1.1", ("api.local", "10.1.1.1")),
        ("nslookup a.b", ";; connection timed out; no servers could be reached", ("a.b", "timeout")),
        ("nslookup a.b", "Server:    10.96.0.10\nAddress 1: 10.96.0.10\n\nName:      a.b\nAddress: 10.2.2.2",
         ("a.b", "10.2.2.2")),
    ],
)  # fmt: skip
def test_names(command: str, text: str, expected: tuple[str, str]) -> None:
    found = [(fact.name, fact.value) for fact in facts(text, command) if isinstance(fact, Setting)]
    assert found == [expected]


def test_two_machines_answer_for_one_address() -> None:
    text = (
        "Unicast reply from 10.0.0.9 [52:54:00:00:00:01]  0.8ms\nUnicast reply from 10.0.0.9 [52:54:00:00:00:02]  0.9ms"
    )
    found = [fact.value for fact in facts(text, "arping -c2 -I eth0 10.0.0.9") if isinstance(fact, Setting)]
    assert found == ["52:54:00:00:00:01", "52:54:00:00:00:02"]


def test_logs_are_no_tries() -> None:
    assert facts("2024-01-01 10:00:00.1 [ERROR][9] x.go 1: dial tcp 10.0.0.1:443: connect: connection refused") == []


def test_udp_and_unknown_names() -> None:
    assert facts("Connection to 10.0.0.1 4789 port [udp/*] succeeded!", "nc -zvu 10.0.0.1 4789") == []
    (found,) = facts("curl: (6) Could not resolve host: api.local", "curl -k https://api.local:6443/")
    assert isinstance(found, Setting)
    assert (found.scope, found.name, found.value) == ("dns", "api.local", "unresolved")


def _trials(text: str) -> list[tuple[str, int, str]]:
    return [(test.address, test.port, test.result) for test in picture(text).of(PortTest)]


def test_an_exit_code_that_is_echoed_tells_the_result() -> None:
    text = """
    [root@w1 ~]# curl -sk -m 3 https://172.30.8.4:6443/livez; echo rc=$?
    rc=28
    [root@w1 ~]# curl -sk -m 3 https://172.30.8.9:6443/livez; echo " exit code: $?"
    ok exit code: 0
    [root@w1 ~]# nc -z -w2 172.30.8.4 6443; echo $?
    1
    """
    assert _trials(text) == [
        ("172.30.8.4", 6443, "timeout"),
        ("172.30.8.9", 6443, "http-200"),
        ("172.30.8.4", 6443, "closed"),
    ]


def test_a_loop_names_the_target_of_each_answer() -> None:
    text = """
    [root@w1 ~]# for m in 172.30.8.4 172.30.8.9; do curl -sk -m 3 -o /dev/null -w "$m %{http_code} %{errormsg}\\n" \
https://$m:6443/; done
    172.30.8.4 000 Connection timed out after 3001 milliseconds
    172.30.8.9 403
    """
    assert _trials(text) == [("172.30.8.4", 6443, "timeout"), ("172.30.8.9", 6443, "http-403")]


def test_a_loop_with_an_error_between_bodies_keeps_the_order() -> None:
    text = """
    [root@w1 ~]# for m in 172.30.8.4 172.30.8.9 172.30.8.10; do curl -sSk -m 3 https://$m:6443/readyz; echo; done
    ok
    curl: (28) Connection timed out after 3001 milliseconds

    ok
    """
    assert _trials(text) == [
        ("172.30.8.4", 6443, "http-200"),
        ("172.30.8.9", 6443, "timeout"),
        ("172.30.8.10", 6443, "http-200"),
    ]


def test_errors_of_a_chinese_machine() -> None:
    text = """
    [root@w1 ~]# curl -k -m 5 https://172.30.8.4:6443/healthz
    curl: (7) Failed connect to 172.30.8.4:6443; 没有到主机的路由
    """
    assert _trials(text) == [("172.30.8.4", 6443, "unreachable")]


@pytest.mark.parametrize(
    ("command", "printed", "source"),
    [
        ("curl -sk --interface 10.0.0.2 https://10.96.0.1/healthz", "ok", "10.0.0.2"),
        ("curl -sk --interface=eth1 https://10.96.0.1/healthz", "ok", "eth1"),
        ("nc -zv -s 10.0.0.2 10.96.0.1 443", "Connection to 10.96.0.1 443 port [tcp/https] succeeded!", "10.0.0.2"),
        ("curl -sk https://10.96.0.1/healthz", "ok", ""),
    ],
)
def test_the_address_that_a_trial_left_by(command: str, printed: str, source: str) -> None:
    (test,) = [fact for fact in facts(printed, command) if isinstance(fact, PortTest)]
    assert (test.address, test.port, test.source) == ("10.96.0.1", 443, source)


SCAN = """
Nmap scan report for w1.lan (10.11.0.4)
Host is up (0.00042s latency).

PORT      STATE         SERVICE
22/tcp    open          ssh
179/tcp   filtered      bgp
5473/tcp  closed        apsolab-tags
4789/udp  open|filtered vxlan
"""


def test_a_scan_of_ports() -> None:
    got = [(f.address, f.port, f.result) for f in facts(SCAN, "nmap -Pn w1.lan") if isinstance(f, PortTest)]
    assert got == [("10.11.0.4", 22, "open"), ("10.11.0.4", 179, "timeout"), ("10.11.0.4", 5473, "refused")]


def test_rows_of_a_scan_belong_to_the_address_that_was_asked() -> None:
    asked = [f for f in facts("179/tcp filtered bgp", "nmap -p 179 10.11.0.4") if isinstance(f, PortTest)]
    assert [(f.address, f.result) for f in asked] == [("10.11.0.4", "timeout")]
    assert not [f for f in facts("179/tcp filtered bgp", "firewall-cmd --list-ports") if isinstance(f, PortTest)]


def test_an_address_without_scheme_and_port() -> None:
    said = "wget: can't connect to remote host (10.244.5.3): Host is unreachable"
    (test,) = [fact for fact in facts(said, "wget -T3 -O- 10.244.5.3") if isinstance(fact, PortTest)]
    assert (test.address, test.port, test.result) == ("10.244.5.3", 80, "unreachable")


def test_what_a_loop_prints_for_each_turn() -> None:
    said = "10.0.0.10:8443 ok\n10.0.0.11:6443 failed (7)\n10.0.0.12:6443 failed (28)\n10.0.0.13 6443 -> timeout"
    loop = 'for h in 10.0.0.1{0..3}; do echo -n "$h "; curl -sk -m3 https://$h/healthz || echo "failed ($?)"; done'
    got = [(f.address, f.port, f.result) for f in facts(said, loop) if isinstance(f, PortTest)]
    assert got[0] == ("10.0.0.10", 8443, "open")
    assert [(address, port) for address, port, result in got if result != "open"] == [
        ("10.0.0.11", 6443),
        ("10.0.0.12", 6443),
        ("10.0.0.13", 6443),
    ]
    assert got[2][2] == got[3][2] == "timeout"


@pytest.mark.parametrize(
    ("command", "code", "result"),
    [
        ("curl -m 5 -s http://10.9.1.7:8080/", "28", "timeout"),
        ("curl -s http://10.9.1.7:8080/", "7", "refused"),
        ("curl -s -o /dev/null http://10.9.1.7:8080/", "0", "open"),
        ("nc -zw3 10.9.1.7 8080", "1", "closed"),
    ],
)
def test_the_outcome_of_a_silent_command_is_asked_in_the_next_one(command: str, code: str, result: str) -> None:
    for asked in ("echo $?", 'echo "rc=$?"'):
        answer = code if asked == "echo $?" else f"rc={code}"
        tests = picture(f"[root@n1 ~]# {command}\n[root@n1 ~]# {asked}\n{answer}\n").of(PortTest)
        assert [(one.address, one.port, one.result) for one in tests] == [("10.9.1.7", 8080, result)]


def test_an_outcome_belongs_to_no_command_that_printed_something() -> None:
    tests = picture("[root@n1 ~]# curl -s http://10.9.1.7:8080/\nok\n[root@n1 ~]# echo $?\n0\n").of(PortTest)
    assert [one.result for one in tests] == ["http-200"]


def test_a_loop_over_ports_names_them_in_its_answers() -> None:
    tests = picture(
        """
        $ for p in 22 179 10250; do timeout 5 bash -c "</dev/tcp/10.9.1.7/$p" && echo $p ok || echo $p fail; done
        22 ok
        179 fail
        10250: ok
        """
    ).of(PortTest)
    assert [(one.address, one.port, one.result) for one in tests] == [
        ("10.9.1.7", 22, "open"), ("10.9.1.7", 179, "closed"), ("10.9.1.7", 10250, "open"),
    ]  # fmt: skip
