"""Certificates of etcd as they are shown: whose they are, which CA each side was given, what openssl says of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tortie.doctor.causes.datastore.api_evidence import ETCD_PORTS
from tortie.doctor.causes.datastore.api_trust import Refusal, command_of, shown_by
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Certificate, Setting
from tortie.doctor.picture.picture import Picture

_CA = lazily(r"(?:^|[^a-z])ca(?:[^a-z]|$)", re.IGNORECASE)
_IP = lazily(r"(?:\d{1,3}\.){3}\d{1,3}")
_SECRET = lazily(r"\bsecrets?[ /](?:(?:-n|--namespace)[ =][\w-]+ )?(\w[\w.-]*)")
_CALICO = ("calico", "datastore", "startup", "felix", "client.go", "etcd")
_FILES = ("ETCD_CA_CERT_FILE", "ETCD_CERT_FILE", "ETCD_KEY_FILE", "etcd_ca_cert_file")
_NOT_TRUSTED = ("18", "19", "20", "21")  # openssl's codes for a chain that does not end at a trusted CA


def asked_by_calico(refusal: Refusal) -> bool:
    said = f"{refusal.hit.line} {refusal.hit.command}".lower()
    return any(word in said for word in _CALICO)


def of_etcd(picture: Picture, cert: Certificate) -> bool:
    said = f"{cert.endpoint} {cert.subject} {command_of(picture, cert)}".lower()
    return "etcd" in said or any(f":{port}" in said for port in ETCD_PORTS)


def names_shown(picture: Picture) -> list[object]:
    """Where the names of a certificate are shown."""
    shown: list[object] = [cert for cert in picture.of(Certificate) if cert.names]
    return shown or [exhibit.place(0) for exhibit in picture.commands("openssl", "Alternative")]


def not_among_names(picture: Picture) -> Certificate | None:
    """What a member serves at an address that its certificate does not name."""
    for cert in picture.of(Certificate):
        host, _, port = cert.endpoint.rpartition(":")
        if cert.names and _IP.fullmatch(host) and port in map(str, ETCD_PORTS) and host not in cert.names:
            return cert
    return None


def files(picture: Picture) -> list[str]:
    """Files that Calico is given, and certificates that somebody looked at."""
    named = [picture.value(name) for name in _FILES] + [cert.endpoint for cert in picture.of(Certificate)]
    return [name for name in dict.fromkeys(named) if name]


# Which CA


def different_cas(picture: Picture) -> Iterator[tuple[Setting, Setting]]:
    """The CA that Calico is given, and the one of etcd, where their fingerprints differ."""
    sides: dict[bool, list[Setting]] = {True: [], False: []}
    for setting in picture.of(Setting):
        side = _side(picture, setting) if setting.scope == "fingerprint" else None
        if side is not None:
            sides[side].append(setting)
    for own in sides[True]:
        for theirs in sides[False]:
            if own.name == theirs.name and own.value != theirs.value:
                yield own, theirs


def _side(picture: Picture, setting: Setting) -> bool | None:
    """True for Calico's CA, False for etcd's; None for a server's own certificate and for anybody else's."""
    command = shown_by(picture, setting.place)
    said = f"{setting.owner} {command}" if setting.owner and not command.count(setting.owner) else command
    about = setting.owner or said
    if "s_client" in said or not _CA.search(f"{about} {said}"):
        return None  # what a server shows first is its own certificate, not its CA's
    if "secret" in said or "calico" in about.lower() or "cni/net.d" in about:
        return True
    return False if "etcd" in said else None


def secret_of(picture: Picture, own: Setting) -> str:
    named = _SECRET.search(shown_by(picture, own.place))
    return named[1] if named else ""


def distrusted(picture: Picture) -> list[Setting]:
    """openssl was told which CA to trust and does not: without -CAfile its verdict means nothing."""
    verdicts = [setting for setting in picture.of(Setting) if setting.scope == "tls"]
    of_members = [each for each in verdicts if any(f":{port}" in each.name for port in ETCD_PORTS)]
    refused = [each for each in of_members if each.value.split(" ")[0] in _NOT_TRUSTED]
    return [each for each in refused if "-CAfile" in shown_by(picture, each.place)]
