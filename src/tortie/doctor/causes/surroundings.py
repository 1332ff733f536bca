"""What stands around the cluster, as the evidence shows it: packet filter, cloud, datastore, operator. Pure."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from tortie.doctor.picture.facts import FilterRule, Node, Setting, Unit
from tortie.doctor.picture.owner import owner
from tortie.doctor.picture.picture import Picture, remembered
from tortie.doctor.reading.exhibit import Exhibit

# Prefixes of providerID, and names that only this cloud gives to its machines.
_PROVIDERS: Final = {
    "aws": "aws", "azure": "azure", "gce": "gcp", "openstack": "openstack", "alicloud": "alibaba",
    "qcloud": "tencent", "tencentcloud": "tencent", "huaweicloud": "huawei",
}  # fmt: skip
_NAMES: Final = (
    ("aws", r"ip-\d+-\d+-\d+-\d+\.(?:[a-z0-9-]+\.compute|ec2)\.internal|i-[0-9a-f]{17}"),
    ("azure", r"aks-.{0,60}-vmss[0-9a-z]{6}"),
    ("gcp", r"gke-.*|.{0,200}\.c\.[a-z0-9-]{1,63}\.internal"),
    ("alibaba", r"(?:cn|ap|us|eu)-[a-z]+\.(?:i-)?[0-9a-z.-]+|i[zZ][0-9a-zA-Z]{18,}"),
)
_LABELS: Final = (
    ("aws", "eks.amazonaws.com/"), ("azure", "kubernetes.azure.com/"), ("gcp", "cloud.google.com/"),
    ("alibaba", "alibabacloud.com/"), ("tencent", "cloud.tencent.com/"), ("huawei", "cce.huaweicloud.com/"),
)  # fmt: skip
# What people and commands say. A word belongs to one cloud alone.
_WORDS: Final = (
    ("aws", r"\b(?:AWS|EC2|aws|ec2|EKS)\b|amazonaws\.com"),
    ("azure", r"\b(?:Azure|azure|AKS)\b"),
    ("gcp", r"\b(?:GCP|GCE|GKE|gcp|gce|[Gg]oogle [Cc]loud|gcloud)\b"),
    ("openstack", r"\b[Oo]pen[Ss]tack\b"),
    ("alibaba", r"阿里云|\b(?:[Aa]liyun|[Aa]libaba [Cc]loud|ACK)\b|\bECS\b"),
    ("tencent", r"腾讯云|\b[Tt]encent ?[Cc]loud\b"),
    ("huawei", r"华为云|\b[Hh]uawei ?[Cc]loud\b"),
)
# Addresses and names that only this cloud gives to its machines. 169.254.169.254 is everybody's.
_OWN_ADDRESSES: Final = {
    "168.63.129.16": "azure",
    "100.100.100.200": "alibaba", "100.100.2.136": "alibaba", "100.100.2.138": "alibaba",
    "183.60.83.19": "tencent", "183.60.82.98": "tencent", "metadata.tencentyun.com": "tencent",
    "100.125.1.250": "huawei",
    "metadata.google.internal": "gcp",
    "169.254.169.253": "aws", "169.254.169.123": "aws", "fd00:ec2::254": "aws",
}  # fmt: skip
_FIREWALL_WORDS: Final = (
    ("ufw", r"\[UFW BLOCK\]|Status: active|\bufw status\b|\bufw-(?:user|before|after)-"),
    ("firewalld", r"\bfirewall-cmd\b|inet firewalld|FWDI_|IN_public|firewalld"),
)
_NOT_RUNNING: Final = {"firewalld": r"^not running$|FirewallD is not running", "ufw": r"^Status: inactive"}
_MARKS: Final = ("ufw", "UFW", "irewall", "FWDI_", "IN_public", "running", "Status: ")  # of all of these words
_LONGEST: Final = 400


@remembered
def firewall_of(picture: Picture) -> str:
    """firewalld, ufw, nftables, iptables; `off` where a person says so; empty where nothing shows it."""
    active = [unit.name.removesuffix(".service") for unit in picture.of(Unit) if unit.active == "active"]
    for name in ("firewalld", "ufw", "nftables", "iptables"):
        if name in active:
            return name
    off = bool(picture.said("firewall-off"))
    rules = [rule for rule in picture.of(FilterRule) if rule.refuses and not rule.chain.startswith("cali")]
    for rule in rules:
        if named := next((name for name in ("firewalld", "ufw") if name in f"{rule.table} {rule.chain}".lower()), ""):
            return named
    dead = [unit.name.removesuffix(".service") for unit in picture.of(Unit) if unit.active in ("inactive", "failed")]
    for name, words in _FIREWALL_WORDS:
        if name not in dead and not off and _says(picture, words) and not _says(picture, _NOT_RUNNING[name]):
            return name
    if rules:
        return "nftables" if any(rule.table.startswith(("inet ", "ip ")) for rule in rules) else "iptables"
    return "off" if off else ""


@remembered
def cloud_of(picture: Picture) -> str:
    """aws, azure, gcp, openstack, alibaba, tencent, huawei; empty where nothing shows one."""
    for setting in picture.of(Setting):
        if setting.name.lower() == "providerid" and (found := _PROVIDERS.get(setting.value.partition("://")[0])):
            return found
    for node in picture.of(Node):
        if found := _of_node(node):
            return found
    for statement in picture.said("cloud"):
        for name, words in _WORDS:
            if _compiled(words).search(statement.text):
                return name
    return _by_address(picture)


def _by_address(picture: Picture) -> str:
    """By what only one cloud's machines ask for names, time and themselves: in routes and resolv.conf."""
    for exhibit in picture.exhibits:
        text = "" if exhibit.prose else exhibit.text
        if named := [address for address in _OWN_ADDRESSES if address in text]:
            words = {word.strip(",;()[]\"'") for word in text.split()}
            found = next((_OWN_ADDRESSES[address] for address in named if {address, f"{address}/32"} & words), "")
            if found:
                return found
    return ""


def _of_node(node: Node) -> str:
    keys = [key for key, _ in (*node.labels, *node.annotations)]
    for name, mark in _LABELS:
        if any(mark in key for key in keys):
            return name
    return next((name for name, pattern in _NAMES if _compiled(pattern).fullmatch(node.name)), "")


def keeps_in_etcd(picture: Picture) -> bool:
    """Calico's own etcd; a cluster that keeps it in Kubernetes has CRDs."""
    kind = picture.value("DATASTORE_TYPE", "env").lower() or picture.value("datastore_type").lower()
    if kind:
        return kind.startswith("etcd")
    endpoints = picture.value("ETCD_ENDPOINTS", "env") or picture.value("etcd_endpoints", "configmap")
    return "://" in endpoints


def _says(picture: Picture, words: str) -> bool:
    pattern = re.compile(words, re.MULTILINE)
    texts = (f"{exhibit.command}\n{_shown(exhibit)}" for exhibit in picture.exhibits)
    return any(pattern.search(text) for text in texts if any(mark in text for mark in _MARKS))


def _shown(exhibit: Exhibit) -> str:
    return "\n".join([line[:_LONGEST] for line in exhibit.lines[:_LONGEST]])


@cache
def _compiled(words: str) -> re.Pattern[str]:
    return re.compile(words)


def has_operator(picture: Picture) -> bool:
    """The operator writes the agents' DaemonSet: what is changed there is undone."""
    return owner(picture).way == "operator"
