"""IPPool: a range from which pods get their addresses, and how packets between its pods travel."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator
from typing import Literal

from tortie.model.errors import Problem
from tortie.model.fields import IPNetwork, Selector
from tortie.model.network import Network
from tortie.model.resource import Condition, Resource, Spec
from tortie.model.resources.checks import misplaced_global, too_long
from tortie.model.shape import Part
from tortie.model.wire import Document

EncapsulationMode = Literal["", "Never", "Always", "CrossSubnet"]
Use = Literal["Workload", "Tunnel", "LoadBalancer"]

_LINK_LOCAL = (ipaddress.ip_network("169.254.0.0/16"), ipaddress.ip_network("fe80::/10"))
_DEFAULT_BLOCK_SIZE = {4: 26, 6: 122}
_BLOCK_SIZES = {4: range(20, 33), 6: range(116, 129)}
_DEFAULT_USES: list[Use] = ["Workload", "Tunnel"]


class IPPoolSpec(Spec, frozen=True, kw_only=True):
    cidr: IPNetwork
    vxlanMode: EncapsulationMode = ""
    ipipMode: EncapsulationMode = ""
    natOutgoing: bool = False
    disabled: bool = False
    disableBGPExport: bool = False
    blockSize: int = 0
    nodeSelector: Selector = Selector("")
    namespaceSelector: Selector = Selector("")
    allowedUses: tuple[Use, ...] = ()
    assignmentMode: Literal["Automatic", "Manual"] | None = None

    @property
    def block_size(self) -> int:
        return self.blockSize or _DEFAULT_BLOCK_SIZE[self.cidr.version]

    @property
    def uses(self) -> tuple[Use, ...]:
        return self.allowedUses or tuple(_DEFAULT_USES)

    def encapsulates(self) -> bool:
        return self.ipipMode in ("Always", "CrossSubnet") or self.vxlanMode in ("Always", "CrossSubnet")

    def problems(self) -> Iterator[Problem]:
        yield from self._size_problems()
        yield from self._encapsulation_problems()
        yield from self._use_problems()
        yield from misplaced_global(self, "nodeSelector", "namespaceSelector")
        yield from too_long(self, "nodeSelector", "namespaceSelector")

    def _size_problems(self) -> Iterator[Problem]:
        version, sizes = self.cidr.version, _BLOCK_SIZES[self.cidr.version]
        if self.block_size not in sizes:
            why = f"a block of an IPv{version} pool is from /{sizes[0]} to /{sizes[-1]}"
            yield Problem("blockSize", self.blockSize, why, f"{_DEFAULT_BLOCK_SIZE[version]} is the default")
        elif self.cidr.prefixlen > self.block_size and not self.disabled:
            why = f"the pool is smaller than one block of /{self.block_size}"
            yield Problem("cidr", self.cidr, why, f"blockSize: {self.cidr.prefixlen} or more, or a larger pool")
        for reserved in _LINK_LOCAL:
            if reserved.version == version and self.cidr.overlaps(reserved):
                yield Problem("cidr", self.cidr, f"overlaps the link-local range {reserved}", "use a routable range")

    def _encapsulation_problems(self) -> Iterator[Problem]:
        ipip = self.ipipMode in ("Always", "CrossSubnet")
        if ipip and self.vxlanMode in ("Always", "CrossSubnet"):
            why = "a pool cannot use IPIP and VXLAN at the same time"
            yield Problem("vxlanMode", self.vxlanMode, why, "set one of ipipMode and vxlanMode to Never")
        if ipip and self.cidr.version == 6:
            yield Problem("ipipMode", self.ipipMode, "IPIP carries no IPv6 pool", "ipipMode: Never, vxlanMode: Always")

    def _use_problems(self) -> Iterator[Problem]:
        if "Tunnel" in self.uses and self.namespaceSelector:
            why = "a pool that serves tunnels serves every namespace"
            yield Problem("namespaceSelector", self.namespaceSelector, why, "leave it out, or allowedUses: [Workload]")
        if "LoadBalancer" not in self.uses:
            return
        if len(self.uses) > 1:
            why = "LoadBalancer cannot be combined with other uses"
            yield Problem("allowedUses", ", ".join(self.uses), why, "make a pool of its own for it")
        if self.encapsulates():
            yield Problem("allowedUses", "LoadBalancer", "such a pool has no encapsulation", "set both modes to Never")
        if self.disableBGPExport:
            yield Problem("disableBGPExport", "true", "a LoadBalancer pool has to be advertised", "leave it out")
        if self.nodeSelector not in ("", "all()"):
            yield Problem("nodeSelector", self.nodeSelector, "a LoadBalancer pool serves all nodes", "all()")


class IPPoolStatus(Part, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...] = ()


class IPPool(Resource, frozen=True, kw_only=True):
    spec: IPPoolSpec
    status: IPPoolStatus | None = None

    @classmethod
    def complete(cls, spec: Document) -> Document:
        network = ipaddress.ip_network(spec["cidr"])
        return spec | {
            "cidr": str(network),
            "vxlanMode": spec.get("vxlanMode") or "Never",
            "ipipMode": spec.get("ipipMode") or "Never",
            "blockSize": spec.get("blockSize") or _DEFAULT_BLOCK_SIZE[network.version],
            "nodeSelector": spec.get("nodeSelector") or "all()",
            "allowedUses": spec.get("allowedUses") or list(_DEFAULT_USES),
            "assignmentMode": spec.get("assignmentMode") or "Automatic",
        }

    def problems_replacing(self, stored: Resource) -> Iterator[Problem]:
        assert isinstance(stored, IPPool)
        before, after = stored.spec, self.spec
        if before.cidr != after.cidr:
            yield Problem("spec.cidr", after.cidr, f"cannot be changed from {before.cidr}", "create a second pool")
        elif before.block_size != after.block_size:
            why = f"cannot be changed from {before.block_size}"
            yield Problem("spec.blockSize", after.block_size, why, "create a second pool and move the pods there")
        if ("LoadBalancer" in before.uses) != ("LoadBalancer" in after.uses):
            why = "a pool cannot change between LoadBalancer and other uses"
            yield Problem("spec.allowedUses", ", ".join(after.uses), why, "create a second pool")


def overlapping(pool: IPPool, others: Iterable[tuple[str, Network]]) -> Iterator[Problem]:
    """Two pools must not share addresses; `others` are those there are already, by name."""
    cidr = pool.spec.cidr
    first, last = int(cidr.network_address), int(cidr.broadcast_address)
    for name, other in others:
        if (
            other.version == cidr.version
            and int(other.network_address) <= last
            and first <= int(other.broadcast_address)
            and name != pool.metadata.name
        ):
            why = f"overlaps with the IPPool {name} ({other})"
            yield Problem("spec.cidr", cidr, why, "choose a range that no other pool has")
