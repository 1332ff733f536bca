"""TRT1017: BIRD waits, and says so."""

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.catalogue import cause_named
from tortie.doctor.causes.cause import LIKELY, STRONG

ID = "graceful-restart-wait"

WAITING = """
$ kubectl -n kube-system describe pod calico-node-g1g1g | tail -1
  Warning  Unhealthy  4s (x9 over 84s)  kubelet, g-1  Readiness probe failed: calico/node is not ready: BIRD is not ready: graceful restart in progress  # noqa: E501
"""  # noqa: E501


def test_it_is_in_progress() -> None:
    answer = finding(ID, WAITING)
    assert answer.strength >= LIKELY
    assert "graceful restart" in answer.objects


def test_words_and_a_log_without_an_end() -> None:
    text = """
    节点重启以后大概四分钟没有路由，之后自己好了。
    bird: Graceful restart started
    Readiness probe failed: BIRD is not ready: graceful restart in progress
    """
    assert finding(ID, text).strength >= LIKELY


def test_a_pod_that_is_ready_again_rules_it_out() -> None:
    text = (
        WAITING
        + """
    $ kubectl -n kube-system get pod calico-node-g1g1g
    NAME                READY   STATUS    RESTARTS   AGE
    calico-node-g1g1g   1/1     Running   0          6m
    """
    )
    assert finding(ID, text).state == "ruled-out"


def test_start_and_end_are_normal() -> None:
    assert finding(ID, "bird: Graceful restart started\nbird: Graceful restart done\n").state == "ruled-out"


def test_days_of_it_have_another_cause() -> None:
    assert finding(ID, WAITING.replace("(x9 over 84s)", "(x9000 over 2d3h)")).strength < LIKELY


def test_minutes_between_start_and_end_that_healed() -> None:
    text = """
    After every reboot the node has no routes for about four minutes, then it recovers by itself.
    $ kubectl -n kube-system logs calico-node-g2g2g --timestamps | grep -i graceful
    2022-05-05T10:00:01.100000000Z bird: Graceful restart started
    2022-05-05T10:04:01.300000000Z bird: Graceful restart done
    $ kubectl -n kube-system get pod calico-node-g2g2g
    NAME                READY   STATUS    RESTARTS   AGE
    calico-node-g2g2g   1/1     Running   0          16m
    """
    assert finding(ID, text).strength >= LIKELY


def test_sessions_that_stand_while_bird_holds_its_routes_back() -> None:
    text = """
    [root@g-3 ~]# birdcl -s /var/run/calico/bird.ctl show protocols
    BIRD v0.3.3+birdv1.6.8 ready.
    name     proto    table    state  since       info
    kernel1  kernel   master   wait   07:14:02
    Mesh_10_6_0_4 BGP      master   wait   07:14:05    Established
    Mesh_10_6_0_5 BGP      master   wait   07:14:06    Established
    [root@g-3 ~]# birdcl -s /var/run/calico/bird.ctl show status
    Router ID is 10.6.0.3
    Graceful restart recovery in progress
      Waiting for 2 protocols to recover
      Wait timer is 64/240
    Daemon is up and running
    """
    answer = finding(ID, text)
    assert answer.strength >= LIKELY
    assert "64/240" in answer.objects


def test_the_same_sessions_up_later_without_a_complaint() -> None:
    text = """
    $ kubectl -n kube-system get pod -l k8s-app=calico-node
    NAME                READY   STATUS    RESTARTS   AGE
    calico-node-g1g1g   1/1     Running   0          6d
    $ calicoctl node status
    | 10.6.0.4     | node-to-node mesh | up    | 2024-01-02 | Established |
    """
    assert finding(ID, text).strength == 0.0


def test_a_session_that_does_not_stand_is_another_matter() -> None:
    text = """
    [root@g-3 ~]# calicoctl node status
    | 10.6.0.4     | node-to-node mesh | start | 07:14:05 | Connect |
    | 10.6.0.5     | node-to-node mesh | start | 07:14:05 | Active Socket: Connection refused |
    """
    assert finding(ID, text).strength < LIKELY


def test_every_session_waits_in_the_last_table() -> None:
    text = """
    $ sudo calicoctl node status
    | 10.0.4.12 | node-to-node mesh | wait | 12:00:10 | Established |
    | 10.0.4.13 | node-to-node mesh | wait | 12:00:11 | Established |
    """
    assert finding(ID, text).strength >= LIKELY
    later = (
        text
        + "$ sudo calicoctl node status\n"
        + "\n".join(f"| 10.0.4.{n} | node-to-node mesh | up | 12:00:10 | Established |" for n in (12, 13))
    )
    assert finding(ID, later).strength < LIKELY


HELD = """
$ kubectl -n kube-system logs calico-node-g4g4g | grep bird
bird: Graceful restart started
bird: Mesh_10_6_0_4: State changed to wait
$ calicoctl node status
| 10.6.0.4     | node-to-node mesh | wait  | 07:14:05 | Established |
| 10.6.0.9     | node-to-node mesh | start | 07:14:02 | Connect     |
"""


def test_one_peer_that_never_comes_holds_the_routes_of_the_others_back() -> None:
    answer = finding(ID, HELD)
    assert answer.strength >= LIKELY
    assert "10.6.0.9" in answer.objects
    seen = picture(HELD)
    cause = cause_named(ID)
    assert cause is not None
    commands = [step.command for step in cause.fix(seen, cause.judge(seen))]
    assert any("logs calico-node-g4g4g" in command for command in commands)
    assert any("ping -c2 10.6.0.9" in command for command in commands)


def test_a_peer_that_an_agent_complains_about_is_more_than_a_wait() -> None:
    complaint = "Readiness probe failed: BIRD is not ready: BGP not established with 10.6.0.9\n"
    assert finding(ID, HELD + complaint).strength < LIKELY


def test_without_a_restart_nothing_waits_for_the_missing_peer() -> None:
    table = HELD[HELD.index("$ calicoctl") :]
    assert finding(ID, table).strength < LIKELY


def test_an_event_of_another_day_is_over() -> None:
    event = "  Warning  Unhealthy  {}  kubelet  Readiness probe failed: calico/node is not ready: BIRD is not ready: graceful restart in progress\n"  # noqa: E501
    assert finding(ID, event.format("20s (x3 over 1m)")).strength >= STRONG
    assert finding(ID, event.format("3d")).state == "ruled-out"
