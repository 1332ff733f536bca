"""What an interface or address is, as far as a node's address goes: real, or something that software made up.

Each function answers with the reason against it, "" when there is none.
"""

from __future__ import annotations

import re
from typing import Final

from tortie.addressing.calico import not_global_unicast
from tortie.addressing.exclusions import excluded_by
from tortie.model.network import Address, Family, HostNetwork, Interface, Network

# Kinds that carry somebody's traffic as it comes off a wire; "" is a plain NIC.
_REAL_KINDS: Final = frozenset({"", "bond", "team", "hsr", "ipoib", "dsa", "wwan", "rmnet", "virt_wifi", "netdevsim"})
_STACKED_KINDS: Final = frozenset({"vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec"})
_CABLE_KINDS: Final = frozenset({"veth", "netkit"})

# Names that container runtimes, other networks and VPNs give their devices, beside those that Calico excludes.
_MADE_BY_SOFTWARE: Final = re.compile(
    r"(lxc|lxd|cilium|weave|vethwe|vmnet|vboxnet|zt|tailscale|wg|tun|tap|ppp|kube-bridge|kube-dummy|antrea|ovn|ovs|"
    r"nerdctl|crio|incusbr|mpqemubr|utun|ipsec|vti|gre|sit|ip6tnl|erspan|genev|vxlan|nordlynx|azv|eni[0-9a-f]{8}|"
    r"vb-|ve-|vnet|vif)"
)
# Docker's networks. Other bridges are called br-something as well, and may have the machine's cable in them.
_OF_DOCKER: Final = re.compile(r"br-[0-9a-f]{12}")

_FLAWS: Final = (
    ("dadfailed", "another machine on the link has it, as the kernel found out"),
    ("tentative", "the kernel is still finding out whether it is free"),
    ("deprecated", "deprecated: about to go away"),
    ("temporary", "a temporary address, which changes for privacy"),
    ("secondary", "a secondary address: perhaps a virtual one that moves between machines"),
)


def interface_fault(interface: Interface, network: HostNetwork) -> str:
    """Why a node is not at home on this interface."""
    return _made_up(interface, network) or _port_fault(interface, network) or _state_fault(interface)


def is_real(interface: Interface, network: HostNetwork) -> bool:
    """Whether packets can leave the machine by it; up or not."""
    return not _made_up(interface, network)


def _made_up(interface: Interface, network: HostNetwork, below: frozenset[int] = frozenset()) -> str:
    if "loopback" in interface.flags or interface.name == "lo":
        return "the loopback interface"
    return _name_fault(interface) or _kind_fault(interface, network, below | {interface.index})


def _name_fault(interface: Interface) -> str:
    name = interface.name
    pattern = excluded_by(name)
    # Its flag tells the loopback better than two letters do; and a bridge's ports tell more than its name.
    if pattern and pattern != "^lo" and not (pattern == "^br-.*" and _is_somebodys_bridge(interface)):
        return f"{name} is a name that container networks and tunnels use ({pattern})"
    if _MADE_BY_SOFTWARE.match(name):
        return f"{name} is what containers, tunnels and other networks call their devices"
    return ""


def _is_somebodys_bridge(interface: Interface) -> bool:
    return interface.kind in ("bridge", "openvswitch") and not _OF_DOCKER.fullmatch(interface.name)


def _kind_fault(interface: Interface, network: HostNetwork, below: frozenset[int]) -> str:
    kind = interface.kind
    if kind == "bridge":
        if any(port.master == interface.index and _is_uplink(port, network, below) for port in network.interfaces):
            return ""
        return "a bridge without a real interface as its port: it leads to containers on this machine"
    if kind == "openvswitch":
        # All its devices look alike to the kernel: which bridge the cable is in, only Open vSwitch knows.
        if any(_is_port_of(port, network, "openvswitch") and not port.kind for port in network.interfaces):
            return ""
        return "an Open vSwitch device, and no real interface is a port of it"
    if kind in _CABLE_KINDS:
        here = not interface.parent_elsewhere and network.at(interface.parent) is not None
        return "a virtual cable whose other end is on this machine" if here else ""
    if kind in _STACKED_KINDS:
        parent = None if interface.parent_elsewhere else network.at(interface.parent)
        if parent is None or parent.index in below or not (why := _made_up(parent, network, below)):
            return ""
        return f"built on {parent.name}, which is not real: {why}"
    return "" if kind in _REAL_KINDS else f"a virtual interface ({kind})"


def _is_uplink(port: Interface, network: HostNetwork, below: frozenset[int]) -> bool:
    return port.index not in below and not _made_up(port, network, below)


def _is_port_of(interface: Interface, network: HostNetwork, kind: str) -> bool:
    master = network.at(interface.master) if interface.master is not None else None
    return master is not None and master.kind == kind


def _port_fault(interface: Interface, network: HostNetwork) -> str:
    if interface.master is None or _is_port_of(interface, network, "vrf"):
        return ""
    master = network.at(interface.master)
    return f"a port of {master.name if master else 'another interface'}, which has the traffic"


def _state_fault(interface: Interface) -> str:
    if "up" not in interface.flags:
        return "the interface is down"
    return "" if interface.is_up else f"the interface has no carrier (state {interface.state})"


def address_fault(address: Address, interface: Interface, pools: tuple[Network, ...]) -> str:
    """Why an address of a good interface is not a node's."""
    if why := _own_flaw(address):
        return why
    cidr = address.cidr
    if cidr.network.prefixlen == cidr.max_prefixlen and _has_wider(interface, address):
        return f"a single address beside a network on {interface.name}: looks like a virtual one"
    for pool in pools:
        if cidr.version == pool.version and cidr.ip in pool:
            return f"it lies in the pool {pool}, where pods live"
    return ""


def _own_flaw(address: Address) -> str:
    if why := not_global_unicast(address.cidr.ip):
        return why
    if address.scope in ("link", "host"):
        return f"its scope is {address.scope}: nobody further away is to see it"
    flags = address.flags
    if address.cidr.version == 6 and "secondary" in flags:  # one bit of the kernel's, with two meanings
        flags = flags - {"secondary"} | {"temporary"}
    return next((why for flag, why in _FLAWS if flag in flags), "")


def _has_wider(interface: Interface, address: Address) -> bool:
    return any(
        other.cidr.version == address.cidr.version
        and other.cidr.network.prefixlen < other.cidr.max_prefixlen
        and not _own_flaw(other)
        for other in interface.addresses
    )


def may_get_address(interface: Interface, network: HostNetwork, family: Family) -> bool:
    """A real interface that somebody has switched on, and that has no address of the family to use yet."""
    if "up" not in interface.flags or not is_real(interface, network) or _port_fault(interface, network):
        return False
    if not interface.is_up:
        return True
    there = (address for address in interface.addresses if address.cidr.version == family)
    return all(not_global_unicast(address.cidr.ip) or "tentative" in address.flags for address in there)
