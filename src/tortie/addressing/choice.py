"""The words of an address choice: what may be known, and what comes out, with the reason for every candidate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tortie.model.network import CIDR, IP, Family, HostNetwork, Network


class Message(NamedTuple):
    """A line for the log, in Calico's words where Calico says the same thing."""

    level: str  # info, warning, error
    text: str


class Surroundings(NamedTuple):
    """Everything that a choice may rest on. Whatever is not known stays empty."""

    network: HostNetwork
    others: Mapping[str, tuple[CIDR, ...]] = {}  # other registered nodes with their addresses of both families
    stored: tuple[CIDR, ...] = ()  # this node's own registered addresses
    pools: tuple[Network, ...] = ()  # where pods have their addresses
    reach: Mapping[tuple[str, Family], IP | str] = {}  # of can-reach: the address the kernel sent from, or why not
    internal_ips: tuple[IP, ...] | None = None  # the node's InternalIPs; None when there is no Kubernetes


class Rejected(NamedTuple):
    address: str  # a CIDR, or "" for an interface that has none of this family
    interface: str
    reason: str


class Choice(NamedTuple):
    """`chosen` is None when nothing suits (`failure` says why) or when `tied` candidates cannot be told apart."""

    family: Family
    method: str  # as a person writes it
    chosen: CIDR | None
    interface: str
    reasons: tuple[str, ...]
    rejected: tuple[Rejected, ...]
    tied: tuple[Rejected, ...] = ()  # two or more, each with what speaks for it
    pending: tuple[str, ...] = ()  # interfaces that may get an address soon; waiting for them could change the choice
    failure: str = ""  # in Calico's words
    fix: str = ""
    messages: tuple[Message, ...] = ()
    supported: bool = True  # False: taken for want of anything better; waiting could change it
