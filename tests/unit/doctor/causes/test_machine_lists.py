"""Address conflicts that a list of machines decides, or the starts of the others."""

from __future__ import annotations

from tests.support.doctor import finding

from tortie.doctor.causes.cause import LIKELY, PROVEN, STRONG

ID, TWINS, STALE = "node-ip-changed", "duplicate-node-ip", "stale-node-entry"
START = """
=== x-1 ===
2022-02-02 02:02:02.120 [WARNING][9] startup/startup.go 1166: Calico node 'x-2' is already using the IPv4 address 10.33.0.17.
2022-02-02 02:02:02.120 [WARNING][9] startup/utils.go 48: Terminating
"""  # noqa: E501
SECOND = """
=== x-2 ===
2022-02-02 02:02:04.120 [WARNING][9] startup/startup.go 1166: Calico node 'x-3' is already using the IPv4 address 10.33.0.18.
2022-02-02 02:02:04.120 [WARNING][9] startup/utils.go 48: Terminating
"""  # noqa: E501
THIRD = """
=== x-3 ===
2022-02-02 02:02:06.120 [WARNING][9] startup/startup.go 1166: Calico node 'x-1' is already using the IPv4 address 10.33.0.16.
2022-02-02 02:02:06.120 [WARNING][9] startup/utils.go 48: Terminating
"""  # noqa: E501
LIST = """
$ gcloud compute instances list
NAME    ZONE            MACHINE_TYPE   PREEMPTIBLE  INTERNAL_IP  EXTERNAL_IP   STATUS
x-1     europe-west1-b  n1-standard-4               10.33.0.17   35.195.8.8    RUNNING
x-2     europe-west1-b  n1-standard-4               10.33.0.18   35.195.8.9    RUNNING
x-3     europe-west1-b  n1-standard-4               10.33.0.16   35.195.8.7    RUNNING
"""


def test_the_list_shows_that_the_recorded_owner_has_another_address() -> None:
    answer = finding(ID, START + LIST)
    assert answer.strength >= PROVEN
    assert answer.objects[:4] == ("10.33.0.17", "x-2", "x-1", "10.33.0.18")
    assert finding(TWINS, START + LIST).state == finding(STALE, START + LIST).state == "ruled-out"


def test_starts_in_a_circle_have_exchanged_their_addresses() -> None:
    answer = finding(ID, START + SECOND + THIRD)
    assert answer.strength >= STRONG
    assert finding(ID, START + SECOND).strength == LIKELY
    assert finding(ID, START).strength < LIKELY


def test_one_address_that_all_want_is_no_exchange() -> None:
    same = (START + SECOND.replace("x-3", "x-1")).replace("10.33.0.18", "10.33.0.17")
    assert finding(ID, same).strength < LIKELY


def test_a_list_where_the_recorded_owner_has_it_still() -> None:
    both = LIST.replace("10.33.0.18", "10.33.0.17")
    assert finding(ID, START + both).strength < LIKELY
    assert finding(STALE, START + both).strength < LIKELY


def test_an_address_that_is_no_machines_moves_between_them() -> None:
    moved = START.replace("10.33.0.17", "10.33.0.100")
    assert finding(ID, moved + LIST).strength < LIKELY


def test_the_address_of_a_machine_that_is_no_node() -> None:
    other = LIST.replace("x-1 ", "db-1").replace("x-3 ", "x-1 ")
    assert finding(ID, START + other).strength < LIKELY


def test_an_owner_whom_the_whole_list_does_not_know() -> None:
    without = "\n".join(line for line in LIST.splitlines() if not line.startswith("x-2")) + "\n"
    picked = without.replace("instances list", "instances list --filter=name=x-1")
    by_prefix = without.replace("instances list", "instances list --filter=name~x-")
    assert finding(STALE, START + without).strength >= LIKELY
    assert finding(STALE, START + picked).strength < LIKELY
    assert finding(STALE, START + by_prefix).strength < LIKELY


def test_two_nodes_of_one_list_with_one_address_both_have_it() -> None:
    both = LIST.replace("10.33.0.18", "10.33.0.17")
    assert finding(TWINS, START + both).strength >= STRONG
    stopped = both.replace("35.195.8.9    RUNNING", "35.195.8.9    TERMINATED")
    assert finding(TWINS, START + stopped).strength < LIKELY


def test_headings_of_people_name_whose_log_it_is() -> None:
    told = (
        (START + SECOND.replace("x-3", "x-1")).replace("=== x-1 ===", "x-1 日志：").replace("=== x-2 ===", "x-2 日志：")
    )
    answer = finding(ID, "两台机器断电后 calico-node 起不来。\n" + told)
    assert answer.strength >= STRONG
    assert answer.objects[:2] == ("10.33.0.17", "x-2")
