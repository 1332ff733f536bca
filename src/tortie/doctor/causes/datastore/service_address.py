"""What shows the service address of the API server: its own rule, the range it is first of, errors that were cut."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network
from typing import Final

from tortie.doctor.causes.shared import DIAL_FAILED
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

VIP_RULE: Final = Sign("api-vip-rule", "default/kubernetes:https<rest>")
# What a screen or a paste left of an error. Its first letters tell which one it was.
DIAL_CUT: Final = Sign(
    "api-dial-cut",
    "dial tcp <ip>:<port>: (connect: ne|connect: no|connect: connection ref|connect: connection ti|i/o t)",
)
_WHOLE: Final = {
    "ne": "network is unreachable",
    "no": "no route to host",
    "connection ref": "connection refused",
    "connection ti": "connection timed out",
    "i/o t": "i/o timeout",
}
RANGES: Final = ("serviceSubnet", "service-cluster-ip-range", "serviceClusterIPRange", "service-cidr")
# `-d 12.0.0.1/32 …` of iptables-save; `tcp -- anywhere 12.0.0.1 /* default/kubernetes:https …` of iptables -L.
_RULE_FOR: Final = lazily(
    r"-d ((?:\d{1,3}\.){3}\d{1,3})/32 |((?:\d{1,3}\.){3}\d{1,3}) {1,40}/\* ?default/kubernetes:https"
)
_OUTSIDE: Final = ("loadbalancer IP", "external IP")  # addresses that the Service has besides its own
_WAY: Final = ("KUBE-SERVICES", "KUBE-SVC-", "cluster IP", "cali-")


def cut_off(picture: Picture) -> Iterator[tuple[Hit, str]]:
    """Failed connections whose error was cut within its words, with those words."""
    whole = {(hit.place, hit.value("ip")) for hit in picture.hits(DIAL_FAILED)}
    for hit in picture.hits(DIAL_CUT):
        if (hit.place, hit.value("ip")) not in whole:
            left = hit.text.rpartition(": ")[2].lower()
            yield hit, _WHOLE.get(left, "")


def ruled_for(picture: Picture) -> Iterator[str]:
    """The address that the rules of kube-proxy translate for the API server, whichever network it lies in."""
    for hit in picture.hits(VIP_RULE):
        own = any(word in hit.line for word in _WAY) and not any(word in hit.line for word in _OUTSIDE)
        if own and (match := _RULE_FOR.search(hit.line)):
            yield match[1] or match[2]


def first_of_ranges(picture: Picture) -> set[str]:
    """The first address of the configured network of services: the API server always gets that one."""
    told = (setting.value.split(",")[0].strip("\"' ") for name in RANGES for setting in picture.settings(name))
    found = set()
    for value in told:
        try:
            found.add(str(ip_network(value, strict=False)[1]) if "/" in value else "")
        except (ValueError, IndexError):
            continue
    return found - {""}
