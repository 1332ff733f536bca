"""TRT1020: a router id in a reserved range."""

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.catalogue import cause_named
from tortie.doctor.causes.cause import LIKELY, PROVEN, STRONG

ID = "bgp-router-id-invalid"
STATUS = """
[root@f-3 ~]# calicoctl node status
| PEER ADDRESS |   PEER TYPE   | STATE |  SINCE   |              INFO              |
| fd00:4::1    | global        | start | 11:00:00 | Idle Received: Bad BGP         |
|              |               |       |          | identifier                     |
"""
OWN = "[root@f-3 ~]# birdcl6 show status\nRouter ID is 249.183.186.85\nDaemon is up and running\n"
HASH = "        - name: CALICO_ROUTER_ID\n          value: hash\n"


def test_the_id_and_the_refusal() -> None:
    answer = finding(ID, STATUS + OWN)
    assert answer.strength >= PROVEN
    assert answer.culprits[0].name == "249.183.186.85"
    assert answer.value("node") == "f-3"
    assert finding("bgp-peer-misconfigured", STATUS + OWN).state == "ruled-out"


def test_the_routers_own_line() -> None:
    answer = finding(ID, "2021/12/01 02:32:05 BGP: fd00:4::11 bad OPEN, wrong router identifier 241.228.95.65\n")
    assert answer.strength >= STRONG
    assert answer.culprits[0].name == "241.228.95.65"


def test_the_id_in_birds_log() -> None:
    log = (
        "bird: Node_1: Sending OPEN(ver=4,as=64511,hold=240,id=e0000105)\nbird: Node_1: Received: Bad BGP identifier\n"
    )
    assert finding(ID, log).culprits[0].name == "224.0.1.5"


def test_hashed_ids_are_likely_before_they_were_mended() -> None:
    assert finding(ID, STATUS + HASH).strength >= LIKELY
    assert finding(ID, STATUS + HASH + "image: calico/node:v3.26.0\n").state == "cannot-tell"
    assert finding("bgp-peer-misconfigured", STATUS + HASH).strength < LIKELY


def test_a_valid_id_is_another_cause() -> None:
    assert finding(ID, STATUS + OWN.replace("249.", "49.")).state == "ruled-out"
    assert finding("bgp-peer-misconfigured", STATUS + OWN.replace("249.", "49.")).strength >= STRONG


def test_an_id_alone_says_nothing() -> None:
    assert finding(ID, OWN).state == "cannot-tell"


def test_an_established_session_is_over_it() -> None:
    up = STATUS.replace("start", "up   ").replace("Idle Received: Bad BGP        ", "Established                   ")
    up = up.replace("identifier", "          ")
    assert finding(ID, "bird: Node_1: Received: Bad BGP identifier\n" + OWN + up).state == "ruled-out"


def test_an_upgrade_is_not_asked_of_a_release_that_has_it() -> None:
    cause = cause_named(ID)
    assert cause is not None

    def steps(text: str) -> str:
        seen = picture(text)
        return " ".join(step.text.en for step in cause.fix(seen, cause.judge(seen)))

    assert "v3.25" in steps(STATUS + OWN)
    assert "v3.25" not in steps(STATUS + OWN + "image: calico/node:v3.26.0\n")


def test_an_ios_router_has_the_id_as_bytes() -> None:
    log = "%BGP-3-NOTIFICATION: sent to neighbor 2001:db8:20::31 2/3 (BGP identifier wrong) 4 bytes F4C2D311"
    answer = finding("bgp-router-id-invalid", log)
    assert (answer.state, answer.strength >= 0.9) == ("found", True)
    assert "244.194.211.17" in answer.objects
    assert finding("bgp-router-id-invalid", log.replace("F4C2D311", "0AC2D311")).state != "found"
