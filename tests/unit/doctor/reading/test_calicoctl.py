"""calicoctl: status tables in the ways they are pasted, lists, address management, the kernel check."""

from __future__ import annotations

from tests.support.doctor import picture, source

from tortie.doctor.picture.facts import CalicoNode, Fact, Pool, PoolUse, Registered, Session, Setting
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers import calicoctl


def facts(text: str, command: str = "", host: str = "m1") -> list[Fact]:
    return list(calicoctl.read(Exhibit("e", 1, source(text).lines, host, command)))


def test_a_wrapped_info_is_one_session() -> None:
    found = facts(
        """
        Calico process is running.

        IPv4 BGP status
        +--------------+-------------------+-------+----------+--------------------------------+
        | PEER ADDRESS |     PEER TYPE     | STATE |  SINCE   |              INFO              |
        +--------------+-------------------+-------+----------+--------------------------------+
        | 10.9.8.7     | node-to-node mesh | start | 01:02:03 | Connect Socket: Network        |
        |              |                   |       |          | unreachable                    |
        | 10.9.8.6     | node specific     | up    | 2021-01-02 | Established |
        +--------------+-------------------+-------+----------+--------------------------------+

        IPv6 BGP status
        No IPv6 peers found.
        """
    )
    one, two = (fact for fact in found if isinstance(fact, Session))
    assert (one.peer, one.state, one.info) == ("10.9.8.7", "start", "Connect Socket: Network unreachable")
    assert (one.place.first, one.place.last, one.host) == (7, 8, "m1")
    assert (two.kind, two.info) == ("node specific", "Established")
    said = {fact.name: fact.value for fact in found if isinstance(fact, Setting)}
    assert said == {"process": "running", "ipv6-peers": "none"}


def test_greps_and_ports_and_removed_addresses() -> None:
    found = facts(
        "| 10.0.0.1.port.179 | global | start | 05:06:07 | Idle |\n| xx.xx.xx.xx | node-to-node mesh | up | x | |"
    )
    assert [fact.peer for fact in found if isinstance(fact, Session)] == ["10.0.0.1", "xx.xx.xx.xx"]


def test_boxes_lost_in_a_paste() -> None:
    (found,) = facts("10.0.0.1  node-to-node mesh  start  10:11:12  Active Socket: Connection refused")
    assert isinstance(found, Session)
    assert found.info == "Active Socket: Connection refused"


def test_no_backend() -> None:
    found = facts("None of the BGP backend processes (BIRD or GoBGP) are running.")
    assert [(fact.name, fact.value) for fact in found if isinstance(fact, Setting)] == [("bgp-backend", "not running")]


def test_names_of_nodes_need_the_command() -> None:
    text = "NAME\nw1\nw1.example.org\n"
    assert [fact.name for fact in facts(text, "sudo ./calicoctl get nodes") if isinstance(fact, CalicoNode)] == [
        "w1",
        "w1.example.org",
    ]
    assert facts(text, "kubectl get things") == []


def test_wide_nodes_register_addresses() -> None:
    found = facts("NAME   ASN       IPV4           IPV6\nw1     (64512)   10.3.4.5/24\n", "calicoctl get node -o wide")
    assert Registered(found[0].place, "w1", "10.3.4.5", 24, "calicoctl", "", "64512") in found


def test_pools_and_their_use() -> None:
    (pool,) = facts(
        "NAME   CIDR            NAT     IPIPMODE   VXLANMODE   DISABLED   SELECTOR\n"
        "p1     10.50.0.0/16    true    Never      Always      true       zone == 'a'\n"
    )
    assert isinstance(pool, Pool)
    assert (pool.vxlan, pool.disabled, pool.nat, pool.selector) == ("Always", True, True, "zone == 'a'")
    found = facts(
        "| IP Pool  | 10.50.0.0/16 | 65536 | 5 (0%) | 65531 (100%) |\n"
        "| Block | 10.50.1.0/26 | 64 | 64 (100%) | 0 (0%) |"
    )
    assert [(use.grouping, use.used, use.free) for use in found if isinstance(use, PoolUse)] == [
        ("IP Pool", 5, 65531),
        ("Block", 64, 0),
    ]


def test_the_use_of_pools_in_a_quoted_table() -> None:
    (use,) = facts("> | IP Pool  | 10.50.0.0/16 | 65536 | 5 (0%) | 65531 (100%) |")
    assert isinstance(use, PoolUse)
    assert (use.grouping, use.cidr, use.used) == ("IP Pool", "10.50.0.0/16", 5)


def test_resources_become_settings_named_like_their_fields() -> None:
    found = facts("NAME      LOGSEVERITY   MESHENABLED   ASNUMBER\ndefault   Info   false   64700\n")
    values = {fact.name: fact.value for fact in found if isinstance(fact, Setting) and fact.scope == "bgpconfig"}
    assert values == {"logSeverityScreen": "Info", "nodeToNodeMeshEnabled": "false", "asNumber": "64700"}


def test_the_check_of_addresses() -> None:
    found = facts(
        """
        Checking IPAM for inconsistencies...
        Found 12 IPAM blocks.
        IPAM blocks record 300 allocations.
        Found 244 IPs that are allocated in IPAM but not actually in use.
          10.50.3.4 leaked; attrs: pod=a/b
        Check complete; found 244 problems.
        """
    )
    values = {fact.name: fact.value for fact in found if isinstance(fact, Setting)}
    assert values["leaked"] == values["problems"] == "244"
    assert (values["blocks"], values["leaked-ip"]) == ("12", "10.50.3.4")


def test_the_check_of_the_kernel() -> None:
    found = facts(
        "Checking kernel version...\n\t\t5.4.0-1\t\t\tOK\n"
        "Checking kernel modules...\n\t\txt_u32\t\t\t\tFAIL\n\t\tip_set\t\tOK"
    )
    modules = {fact.name: fact.value for fact in found if isinstance(fact, Setting)}
    assert modules == {"xt_u32": "FAIL", "ip_set": "OK"}


def test_other_tables_are_left_alone() -> None:
    assert facts("NAME   READY   STATUS\npod-a  1/1  Running\n", "kubectl get pods") == []


def test_an_established_session_is_up_while_bird_waits() -> None:
    seen = picture("$ calicoctl node status\n| 10.6.0.4 | node-to-node mesh | wait | 07:14:05 | Established |")
    assert [session.state for session in seen.of(Session)] == ["up"]
    assert [(s.value, s.owner) for s in seen.settings("waiting", "bird")] == [("wait", "10.6.0.4")]


def test_a_row_quoted_in_a_sentence() -> None:
    row = "172.19.0.1 | node-to-node mesh | start | Passive"
    assert [session.peer for session in picture(f"on n-4: {row}").of(Session)] == ["172.19.0.1"]
    assert not picture(f"before the change it was {row}").of(Session)
