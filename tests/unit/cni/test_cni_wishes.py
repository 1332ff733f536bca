"""Which addresses a pod wants: annotations of the pod, of its namespace, the configuration, in Calico's order."""

from __future__ import annotations

from ipaddress import ip_address, ip_interface
from typing import Any

import pytest

from tortie.cni.config import Network
from tortie.cni.errors import CniError
from tortie.cni.wishes import PREFIX, Wishes, annotations_in, pool_wishes, wishes_of


def network(**ipam: Any) -> Network:
    return Network("1.0.0", "k8s-pod-network", ipam={"type": "calico-ipam", **ipam})


def annotated(**values: str) -> dict[str, str]:
    return {f"{PREFIX}{name}": value for name, value in values.items()}


def test_without_wishes_one_address_of_ipv4() -> None:
    assert pool_wishes({}, {}, network()) == Wishes()


@pytest.mark.parametrize(
    ("pod", "namespace", "config", "expected"),
    [
        ("", "", [], ()),
        ("", "", ["c"], ("c",)),
        ("", '["n"]', ["c"], ("n",)),
        ('["p"]', '["n"]', ["c"], ("p",)),
        ('["p"]', "", ["c"], ("p",)),
        ('["p1", "10.0.0.0/8"]', "", [], ("p1", "10.0.0.0/8")),
    ],
)
def test_the_pod_comes_before_its_namespace_before_the_configuration(
    pod: str, namespace: str, config: list[str], expected: tuple[str, ...]
) -> None:
    found = pool_wishes(annotated(ipv4pools=pod), annotated(ipv4pools=namespace), network(ipv4_pools=config))
    assert found.pools4 == expected
    found = pool_wishes(annotated(ipv6pools=pod), annotated(ipv6pools=namespace), network(ipv6_pools=config))
    assert found.pools6 == expected


@pytest.mark.parametrize(
    ("ipam", "families"),
    [
        ({}, (True, False)),
        ({"assign_ipv4": "false", "assign_ipv6": "true"}, (False, True)),
        ({"assign_ipv4": "true", "assign_ipv6": "true"}, (True, True)),
        ({"assign_ipv6": True}, (True, True)),
    ],
)
def test_families(ipam: dict[str, Any], families: tuple[bool, bool]) -> None:
    found = pool_wishes({}, {}, network(**ipam))
    assert (found.v4, found.v6) == families
    both = pool_wishes(annotated(ipFamilies='["IPv6"]'), annotated(ipFamilies='["IPv4"]'), network(**ipam))
    assert (both.v4, both.v6) == (False, True)


def test_all_that_a_pod_may_say() -> None:
    pod = annotated(
        ipAddrs='["fd00::7", "10.0.0.7"]',
        floatingIPs='["192.0.2.9"]',
        hwAddr="02-11-22-33-44-5F",
        allowedSourcePrefixes='["8.8.8.0/24"]',
    )
    found = pool_wishes(pod, {}, network()._replace(floating_ips=True))
    assert found.given == (ip_address("10.0.0.7"), ip_address("fd00::7"))
    assert found.floating == (ip_address("192.0.2.9"),)
    assert found.mac == "02:11:22:33:44:5f"
    assert found.sources == (ip_interface("8.8.8.0/24"),)


@pytest.mark.parametrize(
    ("pod", "said"),
    [
        ({"ipv4pools": "p1"}, "no JSON list"),
        ({"ipv4pools": '{"a": 1}'}, "no JSON list of texts"),
        ({"ipAddrs": '["10.0.0.1", "10.0.0.2"]'}, "one of IPv4 and one of IPv6"),
        ({"ipAddrs": '["10.0.0.256"]'}, "10.0.0.256"),
        ({"ipAddrs": '["10.0.0.1"]', "ipAddrsNoIpam": '["10.0.0.1"]'}, "only one can be meant"),
        ({"ipAddrsNoIpam": '["10.0.0.1"]'}, "ip_addrs_no_ipam"),
        ({"floatingIPs": '["10.0.0.1"]'}, "floating_ips"),
        ({"ipFamilies": '["IPv5"]'}, "neither IPv4 nor IPv6"),
        ({"hwAddr": "01:00:5e:00:00:01"}, "group"),
        ({"hwAddr": "x"}, "02:42:ac:11:00:02"),
        ({"allowedSourcePrefixes": '["x"]'}, "'x'"),
    ],
)
def test_annotations_that_make_no_sense_cost_no_address(pod: dict[str, str], said: str) -> None:
    """They are refused before anything is asked of IPAM."""
    with pytest.raises(CniError) as found:
        pool_wishes(annotated(**pod), {}, network())
    assert found.value.number == 7
    assert said in f"{found.value} {found.value.fix}"


def test_where_annotations_come_from() -> None:
    given = network()._replace(
        args={"annotations": {"a": "1"}, "namespaceAnnotations": {"n": "2"}},
        runtime={
            "io.kubernetes.cri.pod-annotations": {"b": "3"},
            f"{PREFIX}ipv4pools": '["x"]',
            "portMappings": [],
        },
    )
    assert annotations_in(given) == ({"a": "1", "b": "3", f"{PREFIX}ipv4pools": '["x"]'}, {"n": "2"})


def test_what_a_runtime_says_beside_annotations() -> None:
    asked = wishes_of(network(), {"IP": "10.0.0.9", "MAC": "02:00:00:00:00:09"})
    assert (asked.given, asked.mac) == ((ip_address("10.0.0.9"),), "02:00:00:00:00:09")
    capable = network()._replace(runtime={"ips": ["10.0.0.8/24"], "mac": "02:00:00:00:00:08"})
    assert wishes_of(capable, {}).given == (ip_address("10.0.0.8"),)
    assert wishes_of(capable, {}).mac == "02:00:00:00:00:08"
    with pytest.raises(CniError) as found:
        wishes_of(network(), {"IP": "nine"})
    assert found.value.number == 4
    with pytest.raises(CniError):
        pool_wishes({}, {}, network(assign_ipv4="maybe"))
