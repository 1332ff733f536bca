"""Machines on paper: interfaces and routes for decisions that only think, written as briefly as `ip -br addr`."""

from __future__ import annotations

from ipaddress import ip_address, ip_interface, ip_network

from tortie.model.network import CIDR, Address, HostNetwork, Interface, Route

UP = frozenset({"up", "lower_up"})
NO_CARRIER = frozenset({"up", "no-carrier"})
OFF: frozenset[str] = frozenset()


def address(text: str) -> Address:
    """`10.0.0.1/24 secondary`: flags follow the address, and `scope=link` among them sets the scope."""
    cidr, *words = text.split()
    scope = next((word.removeprefix("scope=") for word in words if word.startswith("scope=")), "global")
    return Address(ip_interface(cidr), scope, frozenset(word for word in words if not word.startswith("scope=")))


def link(
    index: int,
    name: str,
    *addresses: str,
    kind: str = "",
    flags: frozenset[str] = UP,
    master: int | None = None,
    parent: int | None = None,
    elsewhere: bool = False,
) -> Interface:
    return Interface(
        index,
        name,
        kind,
        flags,
        "up" if flags >= UP else "down",
        master=master,
        parent=parent,
        parent_elsewhere=elsewhere,
        addresses=tuple(address(each) for each in addresses),
    )


LOOPBACK = link(1, "lo", "127.0.0.1/8 scope=host", "::1/128 scope=host", flags=UP | {"loopback"})._replace(
    state="unknown"
)


def route(destination: str, interface: int | None = None, via: str = "", src: str = "", metric: int = 0) -> Route:
    return Route(
        ip_network({"default": "0.0.0.0/0", "default6": "::/0"}.get(destination, destination)),
        interface,
        ip_address(via) if via else None,
        ip_address(src) if src else None,
        metric,
    )


def host(*interfaces: Interface, routes: tuple[Route, ...] = ()) -> HostNetwork:
    """A loopback is always there, and the routes that the kernel makes for each address of an interface that is up."""
    everything = sorted((LOOPBACK, *interfaces), key=lambda interface: interface.index)
    connected = tuple(
        Route(each.cidr.network, interface.index, None, each.cidr.ip, protocol="kernel")
        for interface in everything
        for each in interface.addresses
        if "up" in interface.flags and not each.cidr.ip.is_loopback and "secondary" not in each.flags
    )
    return HostNetwork(tuple(everything), (*connected, *routes))


def nodes(*texts: str) -> dict[str, tuple[CIDR, ...]]:
    """Other registered nodes, one for each text."""
    return {f"node-{number}": (ip_interface(text),) for number, text in enumerate(texts, 1)}
