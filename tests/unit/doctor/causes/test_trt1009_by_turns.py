"""TRT1009 by a record that has another address each time it is shown; a new lease and a second card look alike."""

from __future__ import annotations

from tests.support.doctor import finding

ID = "duplicate-nodename"

TABLE = """
$ calicoctl get nodes -o wide
NAME   ASN       IPV4            IPV6
ctl    (64512)   10.4.0.10/24
{name}   (64512)   {address}/24
"""


def shown(name: str, *addresses: str) -> str:
    return "".join(TABLE.format(name=name, address=address) for address in addresses)


def test_the_record_of_machines_that_nobody_named() -> None:
    answer = finding(ID, shown("localhost.localdomain", "10.4.0.12", "10.4.0.13"))
    assert (answer.state, answer.rule, answer.strength >= 0.8) == ("found", "by-turns", True)
    assert "localhost.localdomain" in answer.objects


def test_an_address_that_comes_back() -> None:
    assert finding(ID, shown("wren", "10.4.0.12", "10.4.0.13", "10.4.0.12")).strength >= 0.9


def test_kubernetes_own_record_by_turns() -> None:
    row = """
$ kubectl get nodes -o wide
NAME        STATUS   ROLES    AGE   VERSION    INTERNAL-IP
ctl         Ready    master   9d    v1.19.3    10.4.0.10
localhost   Ready    <none>   9d    v1.19.3    {}
"""
    assert finding(ID, row.format("10.4.0.12") + row.format("10.4.0.13")).strength >= 0.8


def test_a_host_with_a_name_and_a_new_address_is_no_twin() -> None:
    assert finding(ID, shown("wren", "10.4.0.12", "10.4.0.13")).state != "found"


def test_two_cards_of_one_machine_are_no_twins() -> None:
    links = """
[root@wren ~]# ip -br -4 addr
eth0   UP   10.4.0.12/24
eth1   UP   10.5.0.12/24
"""
    assert finding(ID, shown("wren", "10.4.0.12", "10.5.0.12") + links).state != "found"
