"""`tortie ipam` as people use it, on both stores: looking, checking, releasing, repairing, configuring, splitting."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.address_records import GUID, Records, healthy
from tests.support.cli import Tortie, assert_three_lines, key_of
from tests.support.etcd_server import running_etcd

from tortie.ipam.census import CLUSTER, CONFIGURATION, ENDPOINTS, POOLS, RESERVATIONS
from tortie.model.keys import IPAM_CONFIG, block_key, handle_key, host_affinity_key

ONE, TWO, SIX = "192.168.36.64/26", "192.168.104.0/26", "fd00:10:244::a680/122"
WEB = f"{ENDPOINTS}default/node1-k8s-web-eth0"
SIX_POD = f"{ENDPOINTS}default/node1-k8s-six-eth0"
HANDLE = f"k8s-pod-network.{'a1' * 32}"


@pytest.fixture(scope="module")
def etcd() -> Iterator[str]:
    with running_etcd() as server:
        yield server.endpoint


@pytest.fixture(params=["embedded", "etcd"])
def tortie(request: pytest.FixtureRequest, tmp_path: Path) -> Tortie:
    if request.param == "embedded":
        return Tortie(tmp_path)
    shell = Tortie(tmp_path, DATASTORE_TYPE="etcdv3", ETCD_ENDPOINTS=request.getfixturevalue("etcd"))
    shell.clear()
    return shell


def stored(tortie: Tortie, records: Records) -> None:
    tortie.with_store(records.write)


def broken() -> Records:
    """Something of everything that can be repaired."""
    records = healthy()
    del records[WEB], records[SIX_POD]  # two leaks
    records[handle_key("k8s-pod-network.old")] = {"block": {ONE: 1}, "deleted": False}
    records.change(handle_key(f"k8s-pod-network.{'b2' * 32}"), lambda row: row["block"].update({TWO: 9}))
    del records[host_affinity_key("node2", TWO)]
    records[host_affinity_key("node2", "192.168.9.0/26")] = {"state": "confirmed", "deleted": False}
    return records


def problems(tortie: Tortie) -> list[str]:
    ran = tortie("ipam", "check", "-o", "json")
    found = sorted(problem["kind"] for problem in ran.json["problems"])
    assert ran.code == (3 if found else 0)
    assert ran.json["clean"] is not found
    return found


def test_show_draws_calicoctls_tables(tortie: Tortie) -> None:
    records = healthy()
    del records[f"{RESERVATIONS}odd"]
    stored(tortie, records)
    assert tortie("ipam", "show", "--show-blocks").stdout == (
        "+----------+-----------------------+-----------+------------+--------------+\n"
        "| GROUPING |         CIDR          | IPS TOTAL | IPS IN USE |   IPS FREE   |\n"
        "+----------+-----------------------+-----------+------------+--------------+\n"
        "| IP Pool  | 192.168.0.0/16        |     65536 | 4 (0%)     | 65532 (100%) |\n"
        "| Block    | 192.168.36.64/26      |        64 | 2 (3%)     | 62 (97%)     |\n"
        "| Block    | 192.168.104.0/26      |        64 | 2 (3%)     | 62 (97%)     |\n"
        "| IP Pool  | fd00:10:244::/112     |     65536 | 2 (0%)     | 65534 (100%) |\n"
        "| Block    | fd00:10:244::a680/122 |        64 | 2 (3%)     | 62 (97%)     |\n"
        "+----------+-----------------------+-----------+------------+--------------+\n"
    )
    assert tortie("ipam", "show-blocks") == tortie("ipam", "show", "--show-blocks")
    assert "Block " not in tortie("ipam", "show").stdout
    assert tortie("ipam", "show", "--show-borrowed").stdout == (
        "+---------------+----------------+------------------+-------------+------+------------------+\n"
        "|      IP       | BORROWING-NODE |      BLOCK       | BLOCK OWNER | TYPE |   ALLOCATED-TO   |\n"
        "+---------------+----------------+------------------+-------------+------+------------------+\n"
        "| 192.168.104.1 | node1          | 192.168.104.0/26 | node2       | pod  | default/borrower |\n"
        "+---------------+----------------+------------------+-------------+------+------------------+\n"
    )
    assert tortie("ipam", "show", "--show-configuration").stdout == (
        "+--------------------+-------+\n"
        "|      PROPERTY      | VALUE |\n"
        "+--------------------+-------+\n"
        "| StrictAffinity     | false |\n"
        "| AutoAllocateBlocks | true  |\n"
        "| MaxBlocksPerHost   |     0 |\n"
        "+--------------------+-------+\n"
    )


def test_what_is_reserved_has_a_column_where_something_is(tortie: Tortie) -> None:
    stored(tortie, healthy())
    rows = tortie("ipam", "show", "--show-blocks").stdout.splitlines()
    assert rows[1].split("|")[4:6] == [" IPS IN USE ", " IPS RESERVED "]
    assert "| Block    | 192.168.36.64/26      |        64 | 2 (3%)     | 1 (2%)       | 61 (95%)     |" in rows
    pool = tortie("ipam", "show", "-o", "json").json["pools"][0]
    assert (pool["name"], pool["total"], pool["inUse"], pool["reserved"], pool["free"]) == (
        *("default-ipv4-ippool", 65536, 4, 1, 65531),
    )


def test_one_address_says_whose_it_is(tortie: Tortie) -> None:
    stored(tortie, healthy())
    assert tortie("ipam", "show", "--ip=192.168.36.65").stdout == (
        f"IP 192.168.36.65 is in use\nHandle ID: {HANDLE}\nActive Owner Attributes:\n"
        "  namespace: default\n  node: node1\n  pod: web\n"
    )
    assert tortie("ipam", "show-ip", "192.168.36.99").stdout == "192.168.36.99 is not assigned\n"
    assert tortie("ipam", "show-ip", "10.9.9.9").stdout == "10.9.9.9 is not assigned\n"
    six = tortie("ipam", "show-ip", "fd00:10:244::a681", "-o", "json").json
    assert (six["assigned"], six["block"], six["usedBy"][0]["owner"]) == (True, SIX, "Workload(default/six)")


def test_a_healthy_cluster_is_told_in_calicoctls_words(tortie: Tortie) -> None:
    stored(tortie, healthy())
    ran = tortie("ipam", "check", "--show-all-ips")
    assert (ran.code, ran.stderr) == (0, "")
    lines = ran.stdout.splitlines()
    assert lines[0] == "Checking IPAM for inconsistencies..."
    assert lines[-1] == "Check complete; found 0 problems."
    attributes = f"Main:{HANDLE} Extra:namespace=default,node=node1,pod=web"
    for line in (
        "Found 3 IPAM blocks.",
        " IPAM block 192.168.36.64/26 affinity=host:node1:",
        f"  192.168.36.65 allocated; attrs {attributes}",
        "IPAM blocks record 6 allocations.",
        "  192.168.0.0/16",
        "Found 2 active IP pools.",
        "  fd00:10:244::a680 belongs to Node(node1)",
        "Found 2 node tunnel IPs.",
        "  192.168.36.65 belongs to Workload(default/web)",
        "Found 4 workload IPs.",
        "Workloads and nodes are using 6 IPs.",
        "  node1 has 5 allocations",
        "Node with most allocations has 5; median is 1",
        "Found 0 IPs that are allocated in IPAM but not actually in use.",
        "Found 0 handles with no matching IPs (and 6 handles with matches).",
    ):
        assert line in lines


def test_an_empty_store_is_clean_and_shown_empty(tortie: Tortie) -> None:
    assert tortie("ipam", "check").code == 0
    assert tortie("ipam", "show").code == 0
    assert problems(tortie) == []
    assert tortie("ipam", "show", "-o", "json").json["pools"] == []


def test_problems_are_shown_counted_and_written_for_nobody_else_to_read(tortie: Tortie) -> None:
    stored(tortie, broken())
    report, repairs = tortie.folder / "report.json", tortie.folder / "repairs.json"
    ran = tortie("ipam", "check", "--show-problem-ips", "--report", str(report), "--repair-file", str(repairs))
    assert ran.code == 3
    assert f"  192.168.36.65 leaked; attrs Main:{HANDLE} Extra:namespace=default,node=node1,pod=web\n" in ran.stdout
    assert "Found 2 IPs that are allocated in IPAM but not actually in use.\n" in ran.stdout
    assert "Found 1 handles with no matching IPs (and 6 handles with matches).\n" in ran.stdout
    assert ran.stdout.endswith("\nCheck complete; found 6 problems.\n")
    for path in (report, repairs):
        assert os.stat(path).st_mode & 0o777 == 0o600
    written = json.loads(report.read_text())
    assert written["clusterGUID"] == GUID
    assert written["datastoreLocked"] is False
    (web,) = written["allocations"]["192.168.36.65"]
    assert (web["handle"], web["pod"], web["inUse"], web["owners"]) == (HANDLE, "web", False, None)
    assert [handle["ID"] for handle in written["leakedHandles"]] == ["k8s-pod-network.old"]
    assert sorted(repair["action"] for repair in json.loads(repairs.read_text())["repairs"]) == [
        *("confirm-affinity", "count-handle", "delete-affinity", "delete-handle", "release-address", "release-address"),
    ]


def test_damaged_records_are_told_and_hide_nothing_else(tortie: Tortie) -> None:
    records = healthy()
    records[block_key("192.168.9.0/26")] = b"\xff\x00"
    records[handle_key("odd")] = b'{"block":7}'
    records[f"{POOLS}odd"] = b'{"spec":{"cidr":"nowhere"}}'
    records[f"{ENDPOINTS}default/odd"] = b"[]"
    records[CLUSTER] = b'{"spec":{"datastoreReady":"maybe"}}'
    stored(tortie, records)
    assert problems(tortie) == ["unreadable"] * 5
    ran = tortie("ipam", "show", "--show-blocks")
    assert ran.code == 0
    assert "192.168.36.64/26" in ran.stdout
    assert "5 records cannot be read" in ran.stderr


def test_an_address_is_released_once_and_its_handle_with_it(tortie: Tortie) -> None:
    stored(tortie, broken())
    ran = tortie("ipam", "release", "--ip=192.168.36.65", "--ip", "fd00:10:244::a681")
    assert (ran.code, ran.stdout, ran.stderr) == (
        *(
            0,
            "Successfully released IP address 192.168.36.65\nSuccessfully released IP address fd00:10:244::a681\n",
            "",
        ),
    )
    assert handle_key(HANDLE) not in tortie.entries()
    again = tortie("ipam", "release", "--ip=192.168.36.65")
    assert (again.code, again.stderr) == (1, "IP address 192.168.36.65 is not assigned\n")


def test_what_a_pod_uses_is_not_taken_from_it(tortie: Tortie) -> None:
    stored(tortie, healthy())
    assert_three_lines(tortie("ipam", "release", "--ip=192.168.36.65"), 1)
    assert_three_lines(tortie("ipam", "release", f"--handle={HANDLE}"), 1)
    assert_three_lines(tortie("ipam", "release", "--node=node1"), 1)
    assert problems(tortie) == []
    assert tortie("ipam", "release", "--ip=192.168.36.65", "--force").code == 0
    assert problems(tortie) == ["not-allocated"]


def test_a_handle_is_released_as_often_as_one_likes(tortie: Tortie) -> None:
    records = healthy()
    del records[WEB]
    stored(tortie, records)
    assert tortie("ipam", "release", f"--handle={HANDLE}", "-o", "json").json["released"] == ["192.168.36.65"]
    ran = tortie("ipam", "release", f"--handle={HANDLE}")
    assert (ran.code, ran.stdout) == (0, f"No addresses need to be released: the handle {HANDLE} holds none.\n")
    assert problems(tortie) == []


def test_a_node_that_is_gone_gives_up_its_blocks(tortie: Tortie) -> None:
    records = healthy()
    records.claim("gone", "192.168.9.0/26")
    records.claim("gone", "192.168.9.64/26")
    records.hold("192.168.9.64/26", "k8s-pod-network.lost", namespace="default", node="gone", pod="lost")
    stored(tortie, records)
    ran = tortie("ipam", "release", "--node=gone")
    assert ran.code == 0
    assert "Gave up 2 blocks of gone: 192.168.9.0/26, 192.168.9.64/26\n1 addresses in them are still held" in ran.stdout
    assert not [key for key in tortie.entries() if "/host/gone" in key]
    assert problems(tortie) == ["leaked"]
    assert tortie("ipam", "release", "--node=gone").stdout == "Gave up 0 blocks of gone\n"


def test_everything_that_can_be_repaired_is(tortie: Tortie) -> None:
    stored(tortie, broken())
    assert tortie("datastore", "lock").stdout == "Datastore locked.\n"
    path = str(tortie.folder / "repairs.json")
    assert tortie("ipam", "check", "--repair-file", path).code == 3
    ran = tortie("ipam", "repair", path)
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout.count("  done: ") == 6
    assert "Released 2 IPs successfully\nRepaired 4 records\nYou may now unlock the data store.\n" in ran.stdout
    assert problems(tortie) == []
    assert tortie("datastore", "migrate", "unlock").stdout == "Datastore unlocked.\n"
    assert problems(tortie) == []


def test_a_report_is_of_this_cluster_this_version_and_this_moment(tortie: Tortie) -> None:
    stored(tortie, broken())
    path = tortie.folder / "report.json"
    tortie("ipam", "check", "--report", str(path))
    good = json.loads(path.read_text())
    ran = tortie("ipam", "release", f"--from-report={path}")
    assert_three_lines(ran, 1)
    assert "Data store is not locked" in ran.stderr
    for field, value, forced in (
        ("clusterGUID", "another", 1),
        ("clusterInformationRevision", "1", 1),
        ("version", "v3.20.0", 0),
    ):
        path.write_text(json.dumps({**good, field: value}))
        assert_three_lines(tortie("ipam", "release", f"--from-report={path}"), 1)
        assert tortie("ipam", "release", f"--from-report={path}", "--force").code == forced
    tortie("datastore", "lock")
    path.write_text(json.dumps(good))
    ran = tortie("ipam", "release", f"--from-report={path}")
    assert "The provided reports are all stale" in ran.stderr


def test_only_what_all_reports_name_is_released(tortie: Tortie) -> None:
    stored(tortie, broken())
    tortie("datastore", "lock")
    first, second = tortie.folder / "first.json", tortie.folder / "second.json"
    tortie("ipam", "check", "--report", str(first))
    document = json.loads(first.read_text())
    del document["allocations"]["192.168.36.65"]
    document["leakedHandles"] = []
    second.write_text(json.dumps(document))
    ran = tortie("ipam", "release", "--from-report", str(first), "--from-report", str(second), "-o", "json")
    assert [each["ip"] for each in ran.json["done"]] == ["fd00:10:244::a681"]
    assert ran.json["notDone"] == []


def test_what_changed_meanwhile_is_left_alone(tortie: Tortie) -> None:
    """The pod is back, the handle was written again: the file is older than that."""
    records = broken()
    stored(tortie, records)
    path = str(tortie.folder / "repairs.json")
    tortie("ipam", "check", "--repair-file", path)
    records.endpoint("web", "node1", "a1" * 32, "192.168.36.65")
    tortie.put(WEB, records[WEB])
    tortie.put(handle_key("k8s-pod-network.old"), {"block": {ONE: 1}, "deleted": False})
    ran = tortie("ipam", "repair", path, "--force", "-o", "json")
    assert ran.code == 4
    left = {(each["action"], each.get("ip") or each.get("handle")) for each in ran.json["notDone"]}
    assert left == {("release-address", "192.168.36.65"), ("delete-handle", "k8s-pod-network.old")}
    assert problems(tortie) == ["handle-orphaned"]


def test_settings_are_kept_in_both_places_or_in_none(tortie: Tortie) -> None:
    ran = tortie("ipam", "configure", "--strictaffinity=true", "--max-blocks-per-host=4")
    assert ran.stdout == ("Successfully set StrictAffinity to: true\nSuccessfully set MaxBlocksPerHost to: 4\n")
    assert ran.stderr == "StrictAffinity: it was false\nMaxBlocksPerHost: it was 0\n"
    expected = {
        **{"strict_affinity": True, "auto_allocate_blocks": True, "maxBlocksPerHost": 4},
        "kubeVirtVMAddressPersistence": "Enabled",
    }
    assert json.loads(tortie.entries()[IPAM_CONFIG]) == expected
    spec = tortie("get", "ipamconfiguration", "default", "-o", "json").json["spec"]
    assert spec == {
        **{"strictAffinity": True, "autoAllocateBlocks": True, "maxBlocksPerHost": 4},
        "kubeVirtVMAddressPersistence": "Enabled",
    }
    assert_three_lines(tortie("ipam", "configure", "--strictaffinity=false"), 2)
    assert json.loads(tortie.entries()[IPAM_CONFIG]) == expected
    changed = tortie("ipam", "configure", "--strictaffinity=0", "--max-blocks-per-host=0", "-o", "json").json
    assert (changed["before"]["strictAffinity"], changed["after"]["strictAffinity"]) == (True, False)
    assert problems(tortie) == []


@pytest.mark.parametrize("value", [b"garbage", b"null", b'{"maxBlocksPerHost":"abc"}', b'{"ipCooldownSeconds":"x"}'])
def test_settings_that_cannot_be_read_are_set_anew(tortie: Tortie, value: bytes) -> None:
    records = healthy()
    records[IPAM_CONFIG] = records[CONFIGURATION] = value
    stored(tortie, records)
    ran = tortie("ipam", "configure", "--strictaffinity=true")
    assert ran.code == 0
    assert "Successfully set StrictAffinity to: true\n" in ran.stdout
    assert "StrictAffinity: before: cannot be read\n" in ran.stderr
    assert f"The value of {IPAM_CONFIG} could not be read: " in ran.stdout
    shown = tortie("ipam", "show", "--show-configuration")
    assert shown.code == 0
    assert "cannot be read" not in shown.stderr
    again = tortie("ipam", "configure", "--strictaffinity=true", "-o", "json").json
    assert again["before"] == again["after"]
    assert "unreadable" not in again


def test_settings_that_cannot_be_read_are_told_to_programs_too(tmp_path: Path) -> None:
    tortie = Tortie(tmp_path)
    records = healthy()
    records[IPAM_CONFIG] = b"[]"
    stored(tortie, records)
    told = tortie("ipam", "configure", "--strictaffinity=true", "--max-blocks-per-host=4", "-o", "json").json
    assert told["before"] is None
    assert told["after"]["maxBlocksPerHost"] == 4
    assert told["unreadable"]


def test_a_lock_that_cannot_be_read_is_written_anew(tmp_path: Path) -> None:
    tortie = Tortie(tmp_path)
    records = healthy()
    records[CLUSTER] = b"null"
    stored(tortie, records)
    assert tortie("datastore", "unlock").code == 0
    assert tortie("get", "clusterinformations", "-o", "json").json["items"][0]["spec"]["datastoreReady"] is True


def test_configure_keeps_what_a_newer_calico_wrote(tortie: Tortie) -> None:
    tortie.put(IPAM_CONFIG, {"auto_allocate_blocks": True, "new": 1})
    tortie.put(key_of("ipamconfigurations", "default"), {"metadata": {"name": "default"}, "spec": {"new": 2}})
    assert tortie("ipam", "configure", "--strictaffinity=true", "--ip-cooldown-seconds=30").code == 0
    assert json.loads(tortie.entries()[IPAM_CONFIG])["new"] == 1
    assert json.loads(tortie.entries()[key_of("ipamconfigurations", "default")])["spec"]["new"] == 2
    assert "IPCooldownSeconds" in tortie("ipam", "show", "--show-configuration").stdout


def test_a_pool_is_split_only_while_the_datastore_is_locked(tortie: Tortie) -> None:
    stored(tortie, healthy())
    assert_three_lines(tortie("ipam", "split", "4", "--name=default-ipv4-ippool"), 1)
    tortie("datastore", "lock")
    ran = tortie("ipam", "split", "4", "--name=default-ipv4-ippool")
    assert ran.stdout.splitlines()[:2] == [
        "IP Pool default-ipv4-ippool was successfully split into 4 smaller pools.",
        "Created split-default-ipv4-ippool-0 with CIDR 192.168.0.0/18.",
    ]
    pools = {
        pool["metadata"]["name"]: pool["spec"]["cidr"] for pool in tortie("get", "ippools", "-o", "json").json["items"]
    }
    assert pools == {
        "default-ipv6-ippool": "fd00:10:244::/112",
        "split-default-ipv4-ippool-0": "192.168.0.0/18",
        "split-default-ipv4-ippool-1": "192.168.64.0/18",
        "split-default-ipv4-ippool-2": "192.168.128.0/18",
        "split-default-ipv4-ippool-3": "192.168.192.0/18",
    }
    assert problems(tortie) == []
    assert tortie("ipam", "split", "2", "--cidr", "fd00:10:244::/112").code == 0
    assert problems(tortie) == []


def test_a_split_into_many_goes_on_where_it_stopped(tortie: Tortie) -> None:
    """More pools than one commit takes; some are there already, as after a crash."""
    stored(tortie, healthy())
    tortie("datastore", "lock")
    pool = json.loads(tortie.entries()[f"{POOLS}default-ipv4-ippool"])
    child = {
        **pool,
        "metadata": {"name": "split-default-ipv4-ippool-0"},
        "spec": {**pool["spec"], "cidr": "192.168.0.0/24"},
    }
    tortie.put(f"{POOLS}split-default-ipv4-ippool-0", child)
    assert tortie("ipam", "split", "256", "--name", "default-ipv4-ippool").code == 0
    names = [key for key in tortie.entries(POOLS) if "split-" in key]
    assert len(names) == 256
    assert f"{POOLS}default-ipv4-ippool" not in tortie.entries(POOLS)
    assert problems(tortie) == []


@pytest.mark.parametrize(
    "words",
    [
        ("show", "--ip=nonsense"),
        ("show", "--ip=10.0.0.1", "--show-blocks"),
        ("show", "-o", "yaml"),
        ("check", "-o", "yaml"),
        ("release",),
        ("release", "--ip=10.0.0.1", "--handle=x"),
        ("release", "--ip=10.0.0.256"),
        ("release", "--from-report=/nowhere"),
        ("repair",),
        ("configure",),
        ("configure", "--strictaffinity=perhaps"),
        ("configure", "--max-blocks-per-host=-1"),
        ("configure", "--kubevirt-ip-persistence=on"),
        ("configure", "--ip-cooldown-seconds=100000"),
        ("split", "3", "--name=p"),
        ("split", "1", "--name=p"),
        ("split", "x", "--name=p"),
        ("split", "2"),
        ("split", "2", "--name=p", "--cidr=10.0.0.0/8"),
        ("split", "2", "--cidr=10.0.0.1/8"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_is_refused_with_reason_and_remedy(tmp_path: Path, words: tuple[str, ...]) -> None:
    tortie = Tortie(tmp_path)
    assert_three_lines(tortie("ipam", *words), 2)
    assert not tortie.store.exists()


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"allocations":7}', '{"kind":"IPAMRepairs","repairs":[{}]}'])
def test_a_file_that_is_no_report_is_refused(tmp_path: Path, content: str) -> None:
    tortie = Tortie(tmp_path)
    assert_three_lines(tortie("ipam", "repair", tortie.file("f.json", content)), 2)


def test_a_report_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    tortie = Tortie(tmp_path)
    assert_three_lines(tortie("ipam", "check", "--report", str(tmp_path / "no" / "r.json")), 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == []


def test_completion_offers_words_and_choices(tmp_path: Path) -> None:
    tortie = Tortie(tmp_path)
    assert "show-blocks" in tortie("__complete", "ipam", "sho").stdout
    assert "--from-report" in tortie("__complete", "ipam", "release", "--fr").stdout
    assert tortie("__complete", "ipam", "configure", "--strictaffinity", "").stdout == "true\nfalse\n"
