"""What runtimes send: variables, arguments, configurations of every age; and what is refused, by which number."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tortie.cni.config import read_network, version_in
from tortie.cni.errors import CniError
from tortie.cni.invocation import read_request

VARIABLES = {
    "TORTIE_PLUGIN": "calico",
    "CNI_COMMAND": "ADD",
    "CNI_CONTAINERID": "ab" * 32,
    "CNI_NETNS": "/var/run/netns/cni-1",
    "CNI_IFNAME": "eth0",
    "CNI_ARGS": "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web-1;K8S_POD_UID=",
    "CNI_PATH": "/opt/cni/bin",
}
# From Calico's manifests of v3.9, the oldest form that is still met.
OLD = {
    "name": "k8s-pod-network",
    "cniVersion": "0.3.1",
    "type": "calico",
    "log_level": "info",
    "datastore_type": "kubernetes",
    "nodename": "node-1",
    "mtu": 1440,
    "ipam": {"type": "calico-ipam"},
    "policy": {"type": "k8s"},
    "kubernetes": {"kubeconfig": "/etc/cni/net.d/calico-kubeconfig"},
}


def request(config: bytes = b"{}", /, **changed: str | None) -> bytes:
    variables = {name: value for name, value in {**VARIABLES, **changed}.items() if value is not None}
    head = b"\0".join(f"{name}={value}".encode() for name, value in variables.items())
    return b"TORTIE-CNI 1\0" + head + b"\0\0" + config


def refused(config: dict[str, Any], command: str = "ADD") -> CniError:
    with pytest.raises(CniError) as found:
        read_network(json.dumps(config).encode(), command)
    return found.value


def test_a_request_as_the_plugin_passes_it_on() -> None:
    given = read_request(request(b'{"a":"\0\0"}'))
    assert (given.plugin, given.command, given.ifname, given.is_ipam) == ("calico", "ADD", "eth0", False)
    assert given.args["K8S_POD_NAME"] == "web-1"
    assert given.args["K8S_POD_UID"] == ""
    assert given.config == b'{"a":"\0\0"}'
    assert read_request(request(TORTIE_PLUGIN="calico-ipam")).is_ipam


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"CNI_COMMAND": "PAINT"}, "unknown CNI_COMMAND: PAINT"),
        ({"CNI_COMMAND": None}, "unknown CNI_COMMAND: none"),
        ({"CNI_CONTAINERID": None, "CNI_NETNS": ""}, "required env variables [CNI_CONTAINERID,CNI_NETNS] missing"),
        ({"CNI_CONTAINERID": "../x"}, "invalid characters in containerID"),
        ({"CNI_CONTAINERID": "a\nb"}, "invalid characters in containerID"),
        ({"CNI_IFNAME": "eth0/1"}, "interface name is invalid"),
        ({"CNI_IFNAME": "sixteen-bytes-xx"}, "interface name is invalid"),
        ({"CNI_IFNAME": ".."}, "interface name is invalid"),
        ({"CNI_ARGS": "K8S_POD_NAME"}, "ARGS: invalid pair 'K8S_POD_NAME'"),
    ],
)
def test_variables_that_make_no_sense(changed: dict[str, str | None], said: str) -> None:
    with pytest.raises(CniError) as found:
        read_request(request(**changed))
    assert found.value.number == 4
    assert said in found.value.what


def test_deleting_needs_no_namespace() -> None:
    assert read_request(request(CNI_COMMAND="DEL", CNI_NETNS=None)).netns == ""
    assert read_request(request(CNI_COMMAND="GC", CNI_CONTAINERID=None, CNI_IFNAME=None)).command == "GC"


@pytest.mark.parametrize("data", [b"", b"GET / HTTP/1.1\r\n\r\n", b"TORTIE-CNI 1\0CNI_COMMAND=ADD"])
def test_what_is_no_request(data: bytes) -> None:
    with pytest.raises(CniError) as found:
        read_request(data)
    assert found.value.number == 5


def test_the_configuration_of_an_old_manifest() -> None:
    network = read_network(json.dumps(OLD).encode(), "ADD")
    assert (network.version, network.name, network.mtu, network.nodename) == (
        "0.3.1",
        "k8s-pod-network",
        1440,
        "node-1",
    )
    assert (network.ipam_type, network.owns_ipam, network.policy) == ("calico-ipam", True, "k8s")


def test_every_field_that_calico_knows_is_accepted() -> None:
    everything = {
        **OLD,
        "cniVersion": "1.1.0",
        **{"etcd_endpoints": "http://x:2379", "etcd_discovery_srv": "", "etcd_key_file": "", "etcd_cert_file": ""},
        **{"etcd_ca_cert_file": "", "log_file_path": "/x", "log_file_max_size": 100, "log_file_max_age": 30},
        **{"log_file_max_count": 10, "num_queues": 2, "nodename_file": "/n", "nodename_file_optional": True},
        **{"ipam_lock_file": "/l", "feature_control": {"ip_addrs_no_ipam": True, "floating_ips": True}},
        **{"container_settings": {"allow_ip_forwarding": True}, "include_default_routes": True},
        **{"readiness_gates": ["http://x/ready"], "policy_setup_timeout_seconds": 3, "endpoint_status_dir": "/e"},
        **{"require_mtu_file": True, "qps": 5, "burst": 10, "device_type": "veth", "calico_api_group": "x"},
        **{"hostname": "old", "etcd_authority": "y", "windows_use_single_network": True, "dataplane_options": {}},
    }
    network = read_network(json.dumps(everything).encode(), "ADD")
    assert (network.queues, network.nodename_file, network.needs_nodename_file) == (2, "/n", False)
    assert network.addresses_without_ipam
    assert network.floating_ips
    assert network.forwarding
    assert network.default_routes_too
    assert network.needs_mtu_file
    assert network.readiness_gates == ("http://x/ready",)


@pytest.mark.parametrize(
    ("config", "number", "said"),
    [
        ({**OLD, "cniVersion": "0.2.0"}, 1, "unsupported CNI version: 0.2.0"),
        ({**OLD, "cniVersion": "2.0.0"}, 1, "unsupported CNI version: 2.0.0"),
        ({"name": "x"}, 1, "none given"),
        ({**OLD, "name": "a/b"}, 7, "invalid network name"),
        ({**OLD, "name": None}, 7, "invalid network name"),
        ({**OLD, "mtu": "1500"}, 7, "the field mtu is '1500'"),
        ({**OLD, "mtu": True}, 7, "the field mtu is True"),
        ({**OLD, "mtu": -1}, 7, "the field mtu is -1"),
        ({**OLD, "ipam": []}, 7, "the field ipam is []"),
        ({**OLD, "args": {"cni": 1}}, 7, "the field args.cni"),
        ({**OLD, "device_type": "netkit"}, 2, "device_type 'netkit' is not supported"),
        ({**OLD, "dataplane_options": {"type": "grpc"}}, 2, "are not supported"),
    ],
)
def test_configurations_that_are_refused(config: dict[str, Any], number: int, said: str) -> None:
    error = refused(config)
    assert error.number == number
    assert said in error.what


def test_deleting_needs_only_what_tells_whose_it_is() -> None:
    spoilt = {
        **OLD,
        "cniVersion": 7,
        "mtu": "x",
        "device_type": "netkit",
        "args": {"cni": []},
        "ipam": {"type": "other"},
    }
    network = read_network(json.dumps(spoilt).encode(), "DEL")
    assert (network.name, network.ipam_type, network.document["mtu"]) == ("k8s-pod-network", "other", "x")
    assert refused({**OLD, "name": ["k8s-pod-network"]}, "DEL").number == 7
    assert refused({"cniVersion": "1.0.0"}, "DEL").number == 7
    with pytest.raises(CniError) as found:
        read_network(b"", "DEL")
    assert found.value.number == 6
    given = read_request(request(CNI_COMMAND="DEL", CNI_ARGS="nonsense;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web-1"))
    assert given.pod == ("default", "web-1")


def test_what_is_no_json() -> None:
    for config in (b"", b"{", b"[]", b"null", b"[" * 100_000):
        with pytest.raises(CniError) as found:
            read_network(config, "ADD")
        assert found.value.number == 6
        assert version_in(config) == "1.1.0"


def test_commands_that_a_version_does_not_have() -> None:
    assert refused(OLD, "CHECK").what == "config version 0.3.1 does not allow CHECK"
    assert refused({**OLD, "cniVersion": "1.0.0"}, "GC").number == 1
    assert refused({**OLD, "cniVersion": "1.0.0"}, "STATUS").number == 1
    assert read_network(json.dumps({**OLD, "cniVersion": "0.4.0"}).encode(), "CHECK").version == "0.4.0"


def test_nothing_is_collected_without_a_list_of_what_is_in_use() -> None:
    new = {**OLD, "cniVersion": "1.1.0"}
    assert refused(new, "GC").number == 7
    assert refused({**new, "cni.dev/valid-attachments": [{"containerID": "a"}]}, "GC").number == 7
    listed = {**new, "cni.dev/valid-attachments": [{"containerID": "a", "ifname": "eth0"}]}
    assert read_network(json.dumps(listed).encode(), "GC").attachments == frozenset({("a", "eth0")})
    for empty in ("[]", "null"):
        none = json.dumps({**new, "cni.dev/valid-attachments": "?"}).replace('"?"', empty)
        assert read_network(none.encode(), "GC").attachments == frozenset()
    both = {**listed, "cni.dev/attachments": listed["cni.dev/valid-attachments"], "cni.dev/valid-attachments": None}
    assert read_network(json.dumps(both).encode(), "GC").attachments == frozenset({("a", "eth0")})
