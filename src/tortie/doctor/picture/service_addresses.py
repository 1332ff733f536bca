"""Addresses that Services have taken: what is sent to them no longer reaches the machine whose they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Document, Interface
from tortie.doctor.picture.picture import Picture, carries_services, remembered
from tortie.doctor.reading.exhibit import Place

# NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S), with or without a namespace in front.
_ROW: Final = lazily(
    r"^\s{0,8}(?:\S{1,80}\s{1,40}){1,2}(?:ClusterIP|NodePort|LoadBalancer)\s{1,20}(?:[\d.]{7,15}|None)\s{1,20}"
    r"(\d[\d.,]{6,200})\s{1,20}\d{1,5}[:/]"
)
_MOST: Final = 2000  # lines of a table


@remembered
def service_addresses(picture: Picture) -> dict[str, Place]:
    """externalIPs and balancers' addresses, by tables and manifests, and everything that kube-proxy has on its link."""
    found: dict[str, Place] = {}
    for link in picture.of(Interface):
        for address in link.addresses if carries_services(link.name) else ():
            found.setdefault(address.partition("/")[0], link.place)
    # Only in this mode; iptables answer for the Service's own ports alone.
    given = (*_rows(picture), *_manifests(picture)) if by_ipvs(picture) else ()
    for address, place in given:
        found.setdefault(address, place)
    return found


def by_ipvs(picture: Picture) -> bool:
    if any(link.name.startswith("kube-ipvs") for link in picture.of(Interface)):
        return True
    told = (*picture.settings("mode", "kube-proxy"), *picture.settings("proxy-mode", "flag"))
    return any(setting.value == "ipvs" for setting in told)


def _rows(picture: Picture) -> Iterator[tuple[str, Place]]:
    for exhibit in picture.exhibits:
        if exhibit.prose or "EXTERNAL-IP" not in exhibit.text:
            continue
        for index, line in enumerate(exhibit.lines[:_MOST]):
            if match := _ROW.match(line):
                yield from ((address, exhibit.place(index)) for address in match[1].split(",") if address)


def _manifests(picture: Picture) -> Iterator[tuple[str, Place]]:
    for document in picture.of(Document):
        spec = document.body.get("spec")
        given = spec.get("externalIPs") if document.kind == "Service" and isinstance(spec, dict) else None
        yield from ((str(address), document.place) for address in (given if isinstance(given, list) else ()))
