"""What a start would write, for clusters in every state, without a datastore."""

from __future__ import annotations

import json
from ipaddress import ip_address, ip_interface
from typing import Any

import pytest

from tortie.model.keys import IPAM_CONFIG
from tortie.model.release import DATA_MODEL
from tortie.model.wire import Document
from tortie.node.picture import NODES, POOLS, Picture, key_of, read_picture, wanted_keys
from tortie.node.registration import Intent, NewPool, Stamp, Write, operations, own_record_unreadable, plan
from tortie.store.contract import ABSENT, Entry, Put, Snapshot

STAMP = Stamp(lambda: "2026-11-16T00:00:00Z", lambda: "11111111-2222-3333-4444-555555555555")
INTENT = Intent(
    "n1",
    ip_interface("10.0.0.1/24"),
    None,
    interfaces=(("eth0", (ip_address("10.0.0.1"),)),),
    machine="aaaa",
    cluster_types=("k8s", "bgp"),
)
POOL: Document = {
    "kind": "IPPool",
    "apiVersion": "projectcalico.org/v3",
    "metadata": {"name": "default-ipv4-ippool"},
    "spec": {
        "cidr": "192.168.0.0/16",
        "blockSize": 26,
        "ipipMode": "Never",
        "vxlanMode": "Never",
        "nodeSelector": "all()",
    },
}


def picture_of(stored: dict[str, Any], name: str = "n1", earlier: str = "") -> Picture:
    """A datastore that holds these documents (or bytes), by key."""
    entries = {
        key: Entry(key, value if isinstance(value, bytes) else json.dumps(value).encode(), revision)
        for revision, (key, value) in enumerate(sorted(stored.items()), start=10)
    }
    listings = {
        prefix: tuple(entry for key, entry in entries.items() if key.startswith(prefix)) for prefix in (NODES, POOLS)
    }
    wanted = {key: entries[key] for key in wanted_keys(name) if key in entries}
    return read_picture(name, Snapshot(wanted, listings, 99), earlier_name=earlier)


def node(name: str, **spec: Any) -> Document:
    return {"kind": "Node", "apiVersion": "projectcalico.org/v3", "metadata": {"name": name, "uid": "u"}, "spec": spec}


def after(stored: dict[str, Any], writes: tuple[Write, ...]) -> dict[str, Any]:
    """The datastore afterwards, as documents where they can be read."""
    result = dict(stored)
    for operation in operations(writes):
        assert isinstance(operation, Put)
        assert (operation.key in stored) == (operation.expecting is not ABSENT), "every write expects what was read"
        result[operation.key] = json.loads(operation.value)
    return result


def test_an_empty_cluster_gets_everything_in_calicos_order() -> None:
    writes = plan(picture_of({}), INTENT._replace(pools=(NewPool(POOL, "said"),)), STAMP)
    assert [write.what for write in writes] == [
        "Node(n1)",
        "IPPool(default-ipv4-ippool)",
        "ClusterInformation(default)",
        "Tier(default)",
        "Tier(kube-admin)",
        "Tier(kube-baseline)",
        "FelixConfiguration(default)",
        "FelixConfiguration(node.n1)",
        "BGPConfiguration(default)",
        "IPAMConfiguration(default)",
        "KubeControllersConfiguration(default)",
    ]
    assert {write.action for write in writes} == {"create"}
    stored = after({}, writes)
    assert stored[key_of("Node", "n1")] == {
        "kind": "Node",
        "apiVersion": "projectcalico.org/v3",
        "metadata": {
            "name": "n1",
            "uid": "11111111-2222-3333-4444-555555555555",
            "creationTimestamp": "2026-11-16T00:00:00Z",
            "annotations": {"tortie/machine": "aaaa"},
        },
        "spec": {
            "bgp": {"ipv4Address": "10.0.0.1/24"},
            "interfaces": [{"name": "eth0", "addresses": ["10.0.0.1"]}],
        },
        "status": {},
    }
    cluster = stored[key_of("ClusterInformation", "default")]["spec"]
    assert cluster == {
        "clusterGUID": "11111111222233334444555555555555",
        "clusterType": "k8s,bgp",
        "calicoVersion": DATA_MODEL,
        "datastoreReady": True,
    }
    felix = stored[key_of("FelixConfiguration", "default")]["spec"]
    assert (felix["logSeverityScreen"], felix["reportingInterval"]) == ("Info", "0s")
    assert stored[key_of("FelixConfiguration", "node.n1")]["spec"]["defaultEndpointToHostAction"] == "Return"
    assert stored[key_of("Tier", "kube-admin")]["spec"] == {"order": 1000, "defaultAction": "Pass"}
    bgp = stored[key_of("BGPConfiguration", "default")]["spec"]
    assert bgp == {"logSeverityScreen": "Info", "serviceLoadBalancerAggregation": "Enabled"}
    ipam = stored[key_of("IPAMConfiguration", "default")]["spec"]
    assert (ipam["strictAffinity"], ipam["autoAllocateBlocks"]) == (False, True)


def test_the_resource_of_ipam_says_what_calicos_ipam_reads_already() -> None:
    config = {"strict_affinity": True, "auto_allocate_blocks": True, "maxBlocksPerHost": 3}
    stored = after({IPAM_CONFIG: config}, plan(picture_of({IPAM_CONFIG: config}), INTENT, STAMP))
    spec = stored[key_of("IPAMConfiguration", "default")]["spec"]
    assert (spec["strictAffinity"], spec["maxBlocksPerHost"]) == (True, 3)
    assert stored[IPAM_CONFIG] == config
    lost = after({IPAM_CONFIG: b"[]"}, plan(picture_of({IPAM_CONFIG: b"[]"}), INTENT, STAMP))
    assert lost[key_of("IPAMConfiguration", "default")]["spec"]["strictAffinity"] is False


def test_what_calicos_controllers_would_write_is_there_without_them() -> None:
    stored = after({}, plan(picture_of({}), INTENT, STAMP))
    written = stored[key_of("KubeControllersConfiguration", "default")]
    assert written["spec"]["controllers"]["node"]["leakGracePeriod"] == "15m0s"
    assert written["spec"]["controllers"]["policyMigration"] == {"enabled": "Enabled"}
    assert written["status"] == {}


def test_a_second_start_writes_nothing() -> None:
    stored = after({}, plan(picture_of({}), INTENT, STAMP))
    again = plan(picture_of(stored), INTENT, STAMP)
    assert {write.action for write in again} == {"keep"}
    assert operations(again) == []


def test_what_others_have_set_stays() -> None:
    felix = {"kind": "FelixConfiguration", "metadata": {"name": "default"}, "spec": {"logSeverityScreen": "Debug"}}
    cluster = {
        "kind": "ClusterInformation",
        "metadata": {"name": "default"},
        "spec": {"calicoVersion": "v3.20.0", "clusterGUID": "abc", "clusterType": "bgp,kdd", "datastoreReady": False},
    }
    own = node("n1", bgp={"ipv4Address": "10.0.0.9/24", "asNumber": 65001, "routeReflectorClusterID": "1.0.0.1"})
    own["metadata"]["labels"] = {"rack": "a"}
    own["spec"]["fieldOfTheFuture"] = {"kept": True}
    stored = {
        key_of("FelixConfiguration", "default"): felix,
        key_of("ClusterInformation", "default"): cluster,
        key_of("Node", "n1"): own,
    }
    result = after(stored, plan(picture_of(stored), INTENT, STAMP))
    changed_felix = result[key_of("FelixConfiguration", "default")]["spec"]
    assert (changed_felix["logSeverityScreen"], changed_felix["reportingInterval"]) == ("Debug", "0s")
    assert result[key_of("ClusterInformation", "default")]["spec"] == {
        "calicoVersion": "v3.20.0",
        "clusterGUID": "abc",
        "clusterType": "bgp,kdd,k8s",
        "datastoreReady": False,
    }
    changed = result[key_of("Node", "n1")]
    assert changed["spec"]["bgp"] == {
        "asNumber": 65001,
        "ipv4Address": "10.0.0.1/24",
        "routeReflectorClusterID": "1.0.0.1",
    }
    assert changed["spec"]["fieldOfTheFuture"] == {"kept": True}
    assert changed["metadata"]["labels"] == {"rack": "a"}
    assert changed["metadata"]["uid"] == "u"


@pytest.mark.parametrize("broken", [b"", b"{", b"[]", b'"text"', b"\xff\xfe", b'{"spec": ', b"null"])
def test_a_default_that_cannot_be_read_is_left_alone_and_stops_nothing(broken: bytes) -> None:
    stored = {key_of("FelixConfiguration", "default"): broken}
    writes = {write.what: write for write in plan(picture_of(stored), INTENT, STAMP)}
    assert writes["FelixConfiguration(default)"].action == "leave"
    assert writes["FelixConfiguration(default)"].operation is None
    assert writes["Node(n1)"].action == "create"


@pytest.mark.parametrize("odd", [{"spec": []}, {"spec": "text"}, {"spec": 3}])
def test_a_default_of_the_wrong_build_is_left_alone(odd: Document) -> None:
    stored = {key_of("FelixConfiguration", "default"): odd, key_of("ClusterInformation", "default"): odd}
    writes = {write.what: write.action for write in plan(picture_of(stored), INTENT, STAMP)}
    assert writes["FelixConfiguration(default)"] == "leave"
    assert writes["ClusterInformation(default)"] == "leave"


def test_null_is_as_good_as_nothing() -> None:
    for odd in ({"bgp": None}, None, {"bgp": {"ipv4Address": None}}):
        stored = {key_of("Node", "n1"): {"kind": "Node", "metadata": {"name": "n1", "annotations": None}, "spec": odd}}
        picture = picture_of(stored)
        assert not own_record_unreadable(picture)
        assert after(stored, plan(picture, INTENT, STAMP))[key_of("Node", "n1")]["spec"]["bgp"] == {
            "ipv4Address": "10.0.0.1/24"
        }


@pytest.mark.parametrize(
    "broken",
    [
        b"{",
        b"[]",
        {"metadata": 3, "spec": {}},
        {"metadata": {"name": "n1"}, "spec": []},
        {"metadata": {"name": "n1"}, "spec": {"bgp": "x"}},
        {"metadata": {"name": "n1", "annotations": []}, "spec": {}},
    ],
)
def test_an_own_record_that_cannot_be_read_is_recognised(broken: Any) -> None:
    assert own_record_unreadable(picture_of({key_of("Node", "n1"): broken}))
    assert not own_record_unreadable(picture_of({key_of("Node", "n1"): node("n1")}))
    assert not own_record_unreadable(picture_of({}))


def test_broken_records_of_other_nodes_are_told_by_name_and_do_not_hide_the_good_ones() -> None:
    picture = picture_of(
        {
            key_of("Node", "good"): node("good", bgp={"ipv4Address": "10.0.0.2/24", "ipv6Address": "fd00::2/64"}),
            key_of("Node", "half"): b'{"kind": "Node", "metadata": {"name": "ha',
            key_of("Node", "wrong"): node("wrong", bgp={"ipv4Address": "10.0.0.300/24"}),
            key_of("Node", "text"): node("text", bgp="text"),
            key_of("Node", "bare"): {"kind": "Node", "metadata": {"name": "bare"}},
        }
    )
    assert {other.name: other.addresses for other in picture.others} == {
        "good": (ip_interface("10.0.0.2/24"), ip_interface("fd00::2/64")),
        "bare": (),
    }
    assert set(picture.unreadable) == {"half", "wrong", "text"}


def test_the_record_of_an_earlier_name_gives_up_its_addresses_and_nothing_else() -> None:
    old = node("old", bgp={"ipv4Address": "10.0.0.1/24", "asNumber": 65001}, orchRefs=[{"orchestrator": "k8s"}])
    stored = {key_of("Node", "old"): old}
    result = after(stored, plan(picture_of(stored, earlier="old"), INTENT._replace(retire=("old",)), STAMP))
    assert result[key_of("Node", "old")]["spec"] == {"bgp": {"asNumber": 65001}, "orchRefs": [{"orchestrator": "k8s"}]}
    assert result[key_of("Node", "n1")]["spec"]["bgp"] == {"ipv4Address": "10.0.0.1/24"}


def test_without_networking_addresses_are_none_of_our_business() -> None:
    stored = {key_of("Node", "n1"): node("n1", bgp={"ipv4Address": "10.0.0.9/24"})}
    intent = INTENT._replace(ipv4=None, networking=False, interfaces=(), machine="")
    writes = plan(picture_of(stored), intent, STAMP)
    assert writes[0].action == "keep"


def test_the_kubernetes_reference_joins_others() -> None:
    stored = {key_of("Node", "n1"): node("n1", orchRefs=[{"nodeName": "x", "orchestrator": "other"}])}
    result = after(stored, plan(picture_of(stored), INTENT._replace(k8s_node_ref="kube-n1", as_number=65010), STAMP))
    assert result[key_of("Node", "n1")]["spec"]["orchRefs"] == [
        {"nodeName": "x", "orchestrator": "other"},
        {"nodeName": "kube-n1", "orchestrator": "k8s"},
    ]
    assert result[key_of("Node", "n1")]["spec"]["bgp"]["asNumber"] == 65010


def test_pools_that_make_sense_are_known_whatever_stands_beside_them() -> None:
    picture = picture_of(
        {
            key_of("IPPool", "a"): {"spec": {"cidr": "10.1.0.0/16"}},
            key_of("IPPool", "b"): {"spec": {"cidr": "nonsense"}},
            key_of("IPPool", "c"): b"{",
            key_of("IPPool", "d"): {"spec": None},
            key_of("IPPool", "e"): {"spec": {"cidr": "fd01::/48"}},
        }
    )
    assert [str(pool) for pool in picture.pools] == ["10.1.0.0/16", "fd01::/48"]
    assert picture.unreadable_pools == ("b", "c", "d")
