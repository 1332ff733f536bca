"""Calico's etcdv3 key layout, which the embedded store uses as well."""

from __future__ import annotations

from tortie.model.kinds import API_VERSION, BY_PLURAL, Kind
from tortie.model.light import Final, NamedTuple

ROOT: Final = "/calico/"
RESOURCES: Final = f"{ROOT}resources/v3/{API_VERSION.partition('/')[0]}/"
IPAM: Final = f"{ROOT}ipam/v2/"
IPAM_CONFIG: Final = f"{IPAM}config"


class ResourceKey(NamedTuple):
    kind: Kind
    name: str
    namespace: str | None = None

    def __str__(self) -> str:
        middle = f"{self.namespace}/" if self.kind.namespaced else ""
        return f"{RESOURCES}{self.kind.plural}/{middle}{self.name}"

    def describe(self) -> str:
        return self.kind.describe(self.name, self.namespace)


def resource_prefix(kind: Kind, namespace: str | None = None) -> str:
    """Ends in a slash, so that /a never matches /ab. Without a namespace: all of them."""
    return f"{RESOURCES}{kind.plural}/" + (f"{namespace}/" if kind.namespaced and namespace else "")


def parse_resource_key(key: str) -> ResourceKey | None:
    """None for keys of other families (IPAM, Felix status) and for kinds we do not know."""
    if not key.startswith(RESOURCES):
        return None
    plural, _, rest = key[len(RESOURCES) :].partition("/")
    kind = BY_PLURAL.get(plural)
    if kind is None or not rest:
        return None
    if not kind.namespaced:
        return ResourceKey(kind, rest)
    namespace, _, name = rest.partition("/")
    return ResourceKey(kind, name, namespace) if namespace and name else None


def cidr_segment(cidr: str) -> str:
    """A CIDR as the last part of an IPAM key: its single slash turned into a dash, IPv6 colons kept."""
    return cidr.replace("/", "-", 1)


def block_key(cidr: str) -> str:
    return f"{IPAM}assignment/{_family(cidr)}/block/{cidr_segment(cidr)}"


def host_affinity_key(node: str, cidr: str) -> str:
    return f"{IPAM}host/{node}/{_family(cidr)}/block/{cidr_segment(cidr)}"


def host_affinity_prefix(node: str) -> str:
    return f"{IPAM}host/{node}/"


def virtual_affinity_key(cidr: str) -> str:
    return f"{IPAM}virtual/load-balancer/{_family(cidr)}/block/{cidr_segment(cidr)}"


def handle_key(handle_id: str) -> str:
    return f"{IPAM}handle/{handle_id}"


def _family(cidr: str) -> str:
    return "ipv6" if ":" in cidr else "ipv4"
