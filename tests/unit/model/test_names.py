"""Name mappings against known answers of Calico."""

from __future__ import annotations

import pytest

from tortie.model.errors import UsageError
from tortie.model.names import (
    EndpointName,
    block_affinity_name,
    cidr_name,
    convert_uid,
    endpoint_name_prefix,
    escape_segment,
    handle_name,
    host_interface,
    hostname_hash,
    parse_endpoint_name,
    unescape_segment,
    unique_id,
    vtep_mac,
)


@pytest.mark.parametrize(
    ("name", "segment"), [("50%/x", "50%25%2fx"), ("default/nginx-7c5", "default%2fnginx-7c5"), ("%2f", "%252f")]
)
def test_v1_segment_is_escaped_and_comes_back(name: str, segment: str) -> None:
    assert escape_segment(name) == segment
    assert unescape_segment(segment) == name


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("node-1", "k8s", "pod-name", "eth0"), "node--1-k8s-pod--name-eth0"),
        (("node-1", "k8s", "nginx-7c5", "eth0"), "node--1-k8s-nginx--7c5-eth0"),
        (("node-1", "libnetwork", "libnetwork", "abcdefgh"), "node--1-libnetwork-libnetwork-abcdefgh"),
        (("node-1", "foo", "foo-foo", "abcdefgh"), "node--1-foo-foo--foo-abcdefgh"),
        (("a--b", "cni", "0f3c", "eth0"), "a----b-cni-0f3c-eth0"),
    ],
)
def test_endpoint_name_is_composed_and_split(parts: tuple[str, str, str, str], name: str) -> None:
    assert str(EndpointName(*parts)) == name
    assert parse_endpoint_name(name) == parts


@pytest.mark.parametrize(
    "name",
    [
        "",
        "web",
        "a-b-c",
        "a-b-c-d-e",
        "a---b-k8s-c-eth0",
        "a-k8s--eth0",
        "-a-k8s-b-eth0",
        "a-k8s-b-eth0-",
        "--a-k8s-b-eth0",
        "a-k8s-b-eth0--",
    ],
)
def test_name_that_no_rule_composed_is_not_split(name: str) -> None:
    assert parse_endpoint_name(name) is None


@pytest.mark.parametrize("pod", ["", "-web", "web-"])
def test_segment_that_could_not_be_split_again_is_refused(pod: str) -> None:
    with pytest.raises(UsageError, match="workload endpoint"):
        str(EndpointName("node1", "k8s", pod, "eth0"))


def test_prefix_finds_too_much_and_the_split_tells_it_apart() -> None:
    prefix = endpoint_name_prefix("node1", "k8s", "pod")
    own, other = "node1-k8s-pod-eth0", "node1-k8s-pod--1-eth0"
    assert own.startswith(prefix)
    assert other.startswith(prefix)
    found = [name for name in map(parse_endpoint_name, (own, other)) if name and name.belongs_to("node1", "k8s", "pod")]
    assert list(map(str, found)) == [own]


def test_endpoint_belongs_to_its_node_whatever_runs_there() -> None:
    name = EndpointName("node-1", "k8s", "web", "eth0")
    assert str(name).startswith(endpoint_name_prefix("node-1"))
    assert name.belongs_to("node-1")
    assert not name.belongs_to("node")
    assert not name.belongs_to("node-1", "cni")


@pytest.mark.parametrize(
    ("namespace", "pod", "interface"),
    [
        ("default", "podA", "cali7f94ce7c295"),
        ("default", "nginx", "calic440f455693"),
        ("default", "pod-name", "cali53ff74bc269"),
        ("kube-system", "coredns-0", "cali8c346e38bf4"),
        ("kube-system", "coredns-558bd4d5db-4x7qk", "calicfdc78784da"),
        ("kube-system", "calico-kube-controllers-7946b84856-2fwwq", "cali138e322881e"),
    ],
)
def test_host_interface_is_named_after_its_pod(namespace: str, pod: str, interface: str) -> None:
    assert host_interface(namespace, pod) == interface


def test_host_interface_takes_another_prefix() -> None:
    assert host_interface("default", "nginx", prefix="eni") == "enic440f455693"


@pytest.mark.parametrize(
    ("cidr", "name"),
    [
        ("10.244.166.128/26", "10-244-166-128-26"),
        ("fd80:24e2:f998:72d6::/122", "fd80-24e2-f998-72d6---122"),
        ("::/0", "---0"),
    ],
)
def test_cidr_becomes_a_kubernetes_name(cidr: str, name: str) -> None:
    assert cidr_name(cidr) == name


def test_block_affinity_is_named_after_node_and_block() -> None:
    assert block_affinity_name("node1", "10.244.166.128/26") == "node1-10-244-166-128-26"


def test_long_block_affinity_name_is_cut_and_stays_unique() -> None:
    name = block_affinity_name("h" * 250, "10.244.166.128/26")
    assert len(name) == 252
    assert name.startswith("hhh")
    assert name.endswith("h-10-244-166-128-26-aa6ad1f55de")


def test_block_affinity_name_of_252_characters_is_kept_whole() -> None:
    node = "h" * (252 - len("-10-244-166-128-26"))
    assert block_affinity_name(node, "10.244.166.128/26") == f"{node}-10-244-166-128-26"
    assert block_affinity_name(node + "h", "10.244.166.128/26") != f"{node}h-10-244-166-128-26"


def test_uid_conversion_is_its_own_inverse() -> None:
    kubernetes, v3 = "aa844ac0-87c8-440a-b270-307cdba8fd25", "55215203-e113-4450-b20e-0c3edb15bfa4"
    assert convert_uid(kubernetes) == v3
    assert convert_uid(v3) == kubernetes


@pytest.mark.parametrize("uid", ["", "aa844ac0", "not-a-uid"])
def test_what_is_no_uid_is_refused(uid: str) -> None:
    with pytest.raises(UsageError, match="32 hexadecimal digits"):
        convert_uid(uid)


@pytest.mark.parametrize(
    ("node", "label"),
    [
        ("node-a", "PY3TQE2E3XMTETLM2MJO3UITKPFB27YUJ4T4E5XGPEJON3SM4QAA"),
        ("node1", "7DS2CCNJGGLTHBDQLLFO6SX24SY2YDDEG3W2VN556FA2W4DLLV5A"),
    ],
)
def test_hostname_hash_fits_a_label(node: str, label: str) -> None:
    assert hostname_hash(node) == label


def test_vtep_mac_comes_from_the_node_name() -> None:
    assert vtep_mac("node1") == "66:f9:37:c3:7e:94"
    assert vtep_mac("node1", ipv6=True) == "66:0f:35:f2:60:df"


def test_handle_name_is_lower_case() -> None:
    assert handle_name("k8s-pod-network.AbC1") == "k8s-pod-network.abc1"


def test_unique_id_depends_on_its_prefix() -> None:
    assert unique_id("s", "all()") == "s:5y5I3VdRZfDU01O--xXAPx2yxCQQqMf0M6IWug"
    assert unique_id("n", "all()").removeprefix("n:") != unique_id("s", "all()").removeprefix("s:")
