"""What plugins of a chain are told and what their answers mean, as runtimes have it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tortie.lab.chain import (
    TRY_LATER,
    UNKNOWN,
    Attachment,
    NoNetwork,
    PluginFailed,
    addresses_of,
    cache_name,
    cached,
    first_network,
    from_cache,
    outer_interface,
    previous_of_end,
    result_of,
    told_to,
    variables,
)

POD = Attachment("c" * 64, "/proc/7/fd/1024", "web-1", "default", "u-1")


def conflist(*types: str, name: str = "net", version: str = "1.0.0") -> bytes:
    plugins = [{"type": kind, "own": kind} for kind in types]
    return json.dumps({"name": name, "cniVersion": version, "plugins": plugins}).encode()


def test_the_first_file_by_name_that_can_be_used_counts() -> None:
    files = {
        "99-last.conflist": conflist("last"),
        "20-later.conflist": conflist("later"),
        "10-broken.conflist": b"{",
        "11-empty.conflist": b'{"name": "x", "plugins": []}',
        "12-list.json": b"[]",
        "05-readme.txt": b"no configuration",
    }
    assert [plugin["type"] for plugin in first_network(files, "/etc/cni/net.d").plugins] == ["later"]


def test_a_single_plugin_is_a_list_of_one() -> None:
    network = first_network({"10.conf": b'{"name": "n", "cniVersion": "0.3.1", "type": "ptp"}'}, "/x")
    assert (network.name, network.version, len(network.plugins)) == ("n", "0.3.1", 1)


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({}, "no file there ends in"),
        ({"a.conflist": b"{"}, "a.conflist"),
        ({"a.conflist": b'{"plugins": [{"type": "x"}]}'}, "no name"),
        ({"a.conflist": b'{"name": "n", "plugins": [{}]}'}, "no type"),
    ],
)
def test_no_network_says_why(files: dict[str, bytes], why: str) -> None:
    with pytest.raises(NoNetwork) as failure:
        first_network(files, "/x")
    assert why in failure.value.why


def test_a_plugin_reads_its_own_part_with_name_version_and_what_came_before() -> None:
    network = first_network({"a.conflist": conflist("one", "two")}, "/x")
    first = json.loads(told_to(network, network.plugins[0], None))
    assert first == {"type": "one", "own": "one", "name": "net", "cniVersion": "1.0.0"}
    second = json.loads(told_to(network, network.plugins[1], {"ips": []}))
    assert second["prevResult"] == {"ips": []}


def test_the_variables_of_the_specification() -> None:
    assert variables("ADD", POD, ("/a", "/b")) == {
        "CNI_COMMAND": "ADD",
        "CNI_CONTAINERID": "c" * 64,
        "CNI_NETNS": "/proc/7/fd/1024",
        "CNI_IFNAME": "eth0",
        "CNI_PATH": "/a:/b",
        "CNI_ARGS": "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web-1;"
        f"K8S_POD_INFRA_CONTAINER_ID={'c' * 64};K8S_POD_UID=u-1",
    }


@pytest.mark.parametrize(("version", "told"), [("0.3.1", False), ("0.4.0", True), ("1.0.0", True), ("1.1.0", True)])
def test_del_is_told_the_result_from_some_version_on(version: str, told: bool) -> None:
    network = first_network({"a.conflist": conflist("one", version=version)}, "/x")
    assert (previous_of_end(network, {"ips": []}) is not None) is told


def test_what_is_kept_until_del_comes_back() -> None:
    network = first_network({"a.conflist": conflist("one", "two")}, "/x")
    raw = cached(network, POD, {"ips": [1]})
    assert from_cache(raw) == (network, {"ips": [1]})
    document = json.loads(raw)
    assert (document["kind"], document["containerId"], document["ifName"]) == ("cniCacheV1", "c" * 64, "eth0")
    assert cache_name("net", POD) == f"net-{'c' * 64}-eth0"
    for broken in (b"", b"{", b"[]", b'{"kind": "other"}', b'{"kind": "cniCacheV1"}'):
        assert from_cache(broken) is None


@pytest.mark.parametrize(
    ("code", "stdout", "stderr", "number", "told"),
    [
        (1, b'{"code": 11, "msg": "not yet", "details": "no agent"}', b"", TRY_LATER, "not yet: no agent"),
        (1, b'{"code": 0, "msg": "bad"}', b"", UNKNOWN, "bad"),
        (2, b"", b"panic", UNKNOWN, "it ended with exit code 2 and no error message: panic"),
        (-9, b"", b"", UNKNOWN, "it was ended by signal 9"),
        (1, b"[]", b"", UNKNOWN, "it ended with exit code 1 and no error message: []"),
        (0, b"", b"", UNKNOWN, "its result is no JSON"),
        (0, b"[]", b"", UNKNOWN, "its result is not an object"),
    ],
)
def test_a_plugin_that_fails_is_quoted(code: int, stdout: bytes, stderr: bytes, number: int, told: str) -> None:
    with pytest.raises(PluginFailed) as failure:
        result_of("ptp", "ADD", code, stdout, stderr)
    assert failure.value.number == number
    assert failure.value.told.startswith(told)


def test_del_needs_no_answer() -> None:
    assert result_of("ptp", "DEL", 0, b"", b"") is None


@pytest.mark.parametrize(
    ("result", "addresses", "interface"),
    [
        (
            {
                "ips": [{"address": "fd00::1/128"}, {"address": "10.0.0.1/32"}],
                "interfaces": [{"name": "cali1"}, {"name": "eth0", "sandbox": "/x"}],
            },
            ("10.0.0.1", "fd00::1"),
            "cali1",
        ),
        ({"ip4": {"ip": "10.0.0.1/24"}, "ip6": {"ip": "fd00::1/64"}}, ("10.0.0.1", "fd00::1"), ""),
        ({"ips": None, "interfaces": None}, (), ""),
    ],
)
def test_what_a_result_says(result: dict[str, Any], addresses: tuple[str, ...], interface: str) -> None:
    assert (addresses_of(result), outer_interface(result)) == (addresses, interface)
