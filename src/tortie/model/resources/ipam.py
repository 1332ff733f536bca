"""How addresses are handed out: settings, reserved addresses, and which node a block belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from tortie.model.errors import Problem
from tortie.model.fields import BadField, IPInterface, IPNetwork
from tortie.model.resource import Resource, Spec
from tortie.model.resources.checks import outside
from tortie.model.shape import Always


class IPAMConfigurationSpec(Spec, frozen=True, kw_only=True):
    strictAffinity: Always[bool] = False
    maxBlocksPerHost: int = 0
    autoAllocateBlocks: Always[bool] = True
    kubeVirtVMAddressPersistence: Literal["Enabled", "Disabled"] | None = None
    ipCooldownSeconds: int = 0

    def problems(self) -> Iterator[Problem]:
        yield from outside(self, {"maxBlocksPerHost": (0, 1_000_000), "ipCooldownSeconds": (0, 1200)})
        if not self.strictAffinity and not self.autoAllocateBlocks:
            why = "without new blocks, a node has to be allowed to keep to its own"
            yield Problem("autoAllocateBlocks", "false", why, "strictAffinity: true, or autoAllocateBlocks: true")
        if self.maxBlocksPerHost > 0 and not self.strictAffinity:
            why = "a limit of blocks makes no sense while nodes borrow from each other's blocks"
            yield Problem("maxBlocksPerHost", self.maxBlocksPerHost, why, "strictAffinity: true")


class IPAMConfiguration(Resource, frozen=True, kw_only=True):
    spec: IPAMConfigurationSpec = IPAMConfigurationSpec()
    only_names = re.compile("default")
    names_help = "default"


class IPReservationSpec(Spec, frozen=True, kw_only=True):
    reservedCIDRs: tuple[IPInterface, ...] = ()


class IPReservation(Resource, frozen=True, kw_only=True):
    """Addresses that are never handed out from now on; those that are in use stay in use."""

    spec: IPReservationSpec = IPReservationSpec()


class Flag(str):
    """A yes or no that is stored as text, as Calico does here since its first releases."""

    @classmethod
    def parse(cls, raw: object) -> Flag:
        text = str(raw).lower() if isinstance(raw, bool) else raw
        if text not in ("true", "false"):
            raise BadField("is not true or false", "true or false")
        return cls(text)

    @classmethod
    def spelled(cls, raw: object) -> object:
        return str(cls.parse(raw))


class BlockAffinitySpec(Spec, frozen=True, kw_only=True):
    state: Always[Literal["", "pending", "confirmed", "pendingDeletion"]] = ""
    node: str
    type: Literal["", "host", "virtual"] = ""
    cidr: IPNetwork
    deleted: Always[Flag] = Flag("false")

    def problems(self) -> Iterator[Problem]:
        if self.deleted == "true":
            yield Problem("deleted", "true", "only the owner of a block may give it up", "leave it out")


class BlockAffinity(Resource, frozen=True, kw_only=True):
    spec: BlockAffinitySpec
