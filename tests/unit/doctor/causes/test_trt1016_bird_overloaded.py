"""TRT1016: BIRD answers late, and the host is not to blame."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

from tests.support.doctor import finding

from tortie.doctor.causes.cause import LIKELY

ID = "bird-overloaded"

LATE = """
  Warning  Unhealthy  20s (x31 over 40m)  kubelet  Readiness probe failed: calico/node is not ready: BIRD is not ready: Error executing command: read unix @->/var/run/calico/bird.ctl: i/o timeout
"""


def test_slow_loops_and_thousands_of_links() -> None:
    text = (
        LATE
        + """
    $ kubectl -n kube-system logs calico-node-h7h7h | grep 'loop cycle' | tail -2
    bird: I/O loop cycle took 7312 ms for 6 events
    bird: I/O loop cycle took 8120 ms for 5 events
    [root@h-7 ~]# ip -o link | wc -l
    4211
    """
    )
    answer = finding(ID, text)
    assert answer.strength >= LIKELY
    assert {"bird", "4211"} <= set(answer.objects)


def test_bird_near_a_whole_core() -> None:
    text = (
        LATE
        + """
    [root@h-7 ~]# ps aux | grep bird
    root       137 98.7  0.0   9800   840 ?        R    May21 901:59 bird -R -s /var/run/calico/bird.ctl -d -c /etc/calico/confd/config/bird.cfg
    """
    )
    assert finding(ID, text).strength >= LIKELY


def test_the_late_socket_alone_is_a_candidate() -> None:
    answer = finding(ID, LATE)
    assert answer.state == "found"
    assert answer.strength < LIKELY


def test_a_socket_that_is_not_there_is_not_slow() -> None:
    text = "BIRD is not ready: Error querying BIRD: unable to connect to BIRDv4 socket: dial unix /var/run/calico/bird.ctl: connect: connection refused"
    assert finding(ID, text).state == "ruled-out"


def test_the_client_takes_seconds_while_the_container_is_quick() -> None:
    text = (
        LATE
        + """
    [root@h-7 ~]# ip -4 addr show dev kube-ipvs0 | grep -c inet
    3904
    [root@h-7 ~]# time crictl exec 5ab0c birdcl -s /var/run/calico/bird.ctl show status
    real    0m6.120s
    user    0m0.020s
    sys     0m0.010s
    [root@h-7 ~]# time crictl exec 5ab0c true
    real    0m0.120s
    """
    )
    answer = finding(ID, text)
    assert answer.strength >= LIKELY
    assert "kube-ipvs0" in answer.objects


def test_pidstat_shows_a_busy_bird() -> None:
    text = (
        LATE
        + """
    [root@h-7 ~]# pidstat -p 771 2 1
    09:12:01 AM   UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command
    09:12:03 AM     0       771   90.00    9.50    0.00    0.00   99.50     3  bird
    """
    )
    assert finding(ID, text).strength >= LIKELY


def test_a_person_says_that_bird_is_slow() -> None:
    text = LATE + "\nbird 进程一直占用 100% CPU，birdcl show protocols 要 9 秒才返回，节点整体负载不高。\n"
    assert finding(ID, text).strength >= LIKELY


def test_a_container_that_is_slow_to_enter_says_nothing_about_bird() -> None:
    text = (
        LATE
        + """
    [root@h-7 ~]# time docker exec 5ab0c birdcl -s /var/run/calico/bird.ctl show status
    real    0m6.120s
    [root@h-7 ~]# time docker exec 5ab0c true
    real    0m5.720s
    """
    )
    assert finding(ID, text).strength < LIKELY


def test_nobody_takes_callers_off_the_queue_of_the_socket() -> None:
    probe = "Readiness probe failed: calico/node is not ready: BIRD is not ready: Error querying BIRD: unable to connect to BIRDv4 socket: dial unix /var/run/calico/bird.ctl: connect: resource temporarily unavailable"
    top = "\n   PID USER      PR  NI    VIRT    RES    SHR S  %CPU %MEM     TIME+ COMMAND\n 18812 root      20   0  412352 391120   1328 R 100.0  0.3  92:11.40 bird\n"
    assert finding("bird-overloaded", probe).strength < 0.8
    assert finding("bird-overloaded", probe + top).strength >= 0.9
