"""Which addresses a pod wants: its annotations, then its namespace's, then the network's configuration. Pure.

Annotations come with the request: as `io.kubernetes.cri.pod-annotations` of `runtimeConfig`, which containerd and CRI-O
fill in where the configuration asks for that capability; as `args.cni.annotations` and
`args.cni.namespaceAnnotations`; or one by one as `cni.projectcalico.org/...` of `runtimeConfig`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from ipaddress import ip_address, ip_interface
from typing import Any, Final, NamedTuple

from tortie.cni.config import Network
from tortie.cni.errors import CONFIG, ENVIRONMENT, CniError
from tortie.model.network import CIDR, IP

PREFIX: Final = "cni.projectcalico.org/"
CRI_ANNOTATIONS: Final = "io.kubernetes.cri.pod-annotations"
_BROADCAST: Final = ip_address("255.255.255.255")
_SHOWN: Final = 200  # characters of what makes no sense

Annotations = Mapping[str, str]


class Wishes(NamedTuple):
    v4: bool = True
    v6: bool = False
    pools4: tuple[str, ...] = ()  # names or CIDRs; none: all
    pools6: tuple[str, ...] = ()
    given: tuple[IP, ...] = ()  # just these, out of IPAM
    bypassing: tuple[IP, ...] = ()  # just these, and IPAM is not asked
    floating: tuple[IP, ...] = ()
    mac: str = ""
    sources: tuple[CIDR, ...] = ()  # what else the pod may send from

    @property
    def has6(self) -> bool:
        """Whether an address of IPv6 will come of it."""
        exact = self.given or self.bypassing
        return any(ip.version == 6 for ip in exact) if exact else self.v6


def annotations_in(network: Network) -> tuple[Annotations, Annotations]:
    """Of the pod and of its namespace."""
    pod = {name: value for name, value in network.runtime.items() if name.startswith(PREFIX)}
    for more in (network.args.get("annotations"), network.runtime.get(CRI_ANNOTATIONS)):
        if isinstance(more, dict):
            pod |= more
    namespace = network.args.get("namespaceAnnotations")
    return pod, namespace if isinstance(namespace, dict) else {}


def pool_wishes(pod: Annotations, namespace: Annotations, network: Network) -> Wishes:
    """Calico's order: what the pod says, what its namespace says, what the configuration says."""
    ipam = network.ipam
    v4, v6 = _switch(ipam, "assign_ipv4", True), _switch(ipam, "assign_ipv6", False)
    families = _texts(pod, "ipFamilies") or _texts(namespace, "ipFamilies")
    if families:
        if unknown := [family for family in families if family not in ("IPv4", "IPv6")]:
            raise _wrong("ipFamilies", unknown[0], "it is neither IPv4 nor IPv6")
        v4, v6 = "IPv4" in families, "IPv6" in families
    given, bypassing = _addresses(pod, "ipAddrs"), _addresses(pod, "ipAddrsNoIpam", of_a_pod=True)
    if given and bypassing:
        raise _wrong("ipAddrs", pod[f"{PREFIX}ipAddrs"], "ipAddrsNoIpam is given as well, and only one can be meant")
    if bypassing and not network.addresses_without_ipam:
        raise CniError(
            CONFIG,
            "requested feature is not enabled: ip_addrs_no_ipam",
            f"the pod has the annotation {PREFIX}ipAddrsNoIpam",
            "set feature_control.ip_addrs_no_ipam in the network's configuration, or use ipAddrs",
        )
    floating = tuple(_ip("floatingIPs", text) for text in _texts(pod, "floatingIPs"))
    if floating and not network.floating_ips:
        raise CniError(
            CONFIG,
            "requested feature is not enabled: floating_ips",
            f"the pod has the annotation {PREFIX}floatingIPs",
            "set feature_control.floating_ips in the network's configuration",
        )
    return Wishes(
        v4,
        v6,
        _texts(pod, "ipv4pools") or _texts(namespace, "ipv4pools") or _list(ipam, "ipv4_pools"),
        _texts(pod, "ipv6pools") or _texts(namespace, "ipv6pools") or _list(ipam, "ipv6_pools"),
        given,
        bypassing,
        floating,
        _mac(str(pod.get(f"{PREFIX}hwAddr") or "")),
        tuple(_cidr("allowedSourcePrefixes", text) for text in _texts(pod, "allowedSourcePrefixes")),
    )


def wishes_of(network: Network, args: Mapping[str, str]) -> Wishes:
    """With what the runtime says beside annotations: the variable CNI_ARGS, and the capabilities `ips` and `mac`."""
    pod, namespace = annotations_in(network)
    wishes = pool_wishes(pod, namespace, network)
    asked = (
        tuple(args["IP"].split(",")) if args.get("IP") else _list(network.runtime, "ips") or _list(network.args, "ips")
    )
    if asked and not wishes.given and not wishes.bypassing:
        try:
            ips = tuple(ip_interface(text.strip()).ip for text in asked)
        except ValueError as error:
            raise CniError(
                ENVIRONMENT, f"the address asked for makes no sense: {error}", "CNI_ARGS IP=, or `ips`"
            ) from None
        wishes = wishes._replace(given=_one_of_each("IP", ips))
    mac = args.get("MAC") or network.runtime.get("mac") or network.args.get("mac")
    return wishes._replace(mac=wishes.mac or _mac(str(mac))) if mac else wishes


def _switch(ipam: Mapping[str, Any], field: str, otherwise: bool) -> bool:
    value = ipam.get(field)
    if value is None or value == "":
        return otherwise
    text = str(value).lower()
    if text not in ("true", "false"):
        raise CniError(CONFIG, f"the field ipam.{field} is {value!r}", 'it should be "true" or "false"')
    return text == "true"


def _texts(annotations: Annotations, name: str) -> tuple[str, ...]:
    text = annotations.get(f"{PREFIX}{name}")
    if not text:
        return ()
    try:
        listed = json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError) as error:
        raise _wrong(name, text, f"it is no JSON list: {error}") from None
    if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
        raise _wrong(name, text, "it is no JSON list of texts")
    return tuple(listed)


def _list(document: Mapping[str, Any], field: str) -> tuple[str, ...]:
    value = document.get(field) or ()
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise CniError(CONFIG, f"the field {field} is {value!r}", "it should be a list of texts")
    return tuple(value)


def _addresses(pod: Annotations, name: str, *, of_a_pod: bool = False) -> tuple[IP, ...]:
    """`of_a_pod`: nobody else looks at them, and they go to the kernel as they are."""
    ips = _one_of_each(name, tuple(_ip(name, text) for text in _texts(pod, name)))
    for ip in ips if of_a_pod else ():
        if ip.is_unspecified or ip.is_multicast or ip.is_loopback or ip.is_link_local or ip == _BROADCAST:
            raise _wrong(name, str(ip), "no pod can be reached by such an address")
    return ips


def _one_of_each(name: str, ips: tuple[IP, ...]) -> tuple[IP, ...]:
    if len({ip.version for ip in ips}) < len(ips):
        raise _wrong(name, ", ".join(map(str, ips)), "there can be one of IPv4 and one of IPv6, not more")
    return tuple(sorted(ips, key=lambda ip: ip.version))


def _ip(name: str, text: str) -> IP:
    try:
        return ip_address(text)
    except ValueError as error:
        raise _wrong(name, text, str(error)) from None


def _cidr(name: str, text: str) -> CIDR:
    try:
        return ip_interface(text)
    except ValueError as error:
        raise _wrong(name, text, str(error)) from None


def _mac(text: str) -> str:
    if not text:
        return ""
    digits = text.replace("-", ":").lower().split(":")
    if len(digits) != 6 or not all(len(pair) == 2 and set(pair) <= set("0123456789abcdef") for pair in digits):
        raise _wrong("hwAddr", text, "a MAC looks like 02:42:ac:11:00:02")
    if int(digits[0], 16) & 1:
        raise _wrong("hwAddr", text, "it is a group's address: the first byte of a card's is even")
    return ":".join(digits)


def _wrong(name: str, value: object, why: str) -> CniError:
    what = f"{PREFIX}{name} is {str(value)[:_SHOWN]!r}"
    return CniError(CONFIG, what, why, "correct the annotation; nothing was allocated")
