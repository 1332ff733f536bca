"""The routes that BIRD knows, as it tells them. Pure."""

from __future__ import annotations

import re
from ipaddress import ip_address, ip_network
from typing import Final, NamedTuple

from tortie.bgp.replies import ROUTE_NOT_FOUND, BirdGarbled, Reply
from tortie.model.network import IP, Network


class Gateway(NamedTuple):
    interface: str
    ip: IP | None = None  # None: the network is on the link itself
    weight: int = 1
    onlink: bool = False


class BirdRoute(NamedTuple):
    table: str  # "" in BIRD 1.6
    network: Network
    kind: str  # unicast, blackhole, unreachable, prohibit
    protocol: str
    gateways: tuple[Gateway, ...] = ()  # of unicast: one, or several
    preferred: bool = False  # among all routes to that network
    not_in_kernel: bool = False  # preferred, but the kernel did not take it
    learnt_from: IP | None = None  # if that is not the gateway
    since: str = ""
    preference: int = 0

    @property
    def leads_somewhere(self) -> bool:
        return self.kind == "unicast" and bool(self.gateways)


# A route of a network that has several repeats no network. BIRD 1.6 has a single gateway in the same line.
_ROUTE: Final = re.compile(
    r"(?P<network>\S*) +(?P<where>[^\[]*?) ?"
    r"\[(?P<protocol>\S+) (?P<since>[^\]]*?)(?: from (?P<from>\S+))?\](?P<mark> [*!])?(?P<info>.*)"
)
_GATEWAY: Final = re.compile(r"(?:via (?P<ip>\S+) on|dev) (?P<interface>\S+)(?P<rest>.*)")
_WEIGHT: Final = re.compile(r" weight (\d+)")
_PREFERENCE: Final = re.compile(r" \((\d+)")
_KINDS: Final = {"prohibited": "prohibit", "multipath": "unicast"}
_ROUTE_LINE, _ROUTE_DETAILS = 1007, (1008, 1012)


def routes_in(reply: Reply) -> tuple[BirdRoute, ...]:
    """Of `show route` in most of its forms, in BIRD's order; empty if there is no route as was asked for.

    Networks must be prefixes of IPv4 or IPv6: no flows, no origin authorizations.
    """
    if reply.code == ROUTE_NOT_FOUND:
        return ()
    reply.check()
    routes: list[BirdRoute] = []
    table = ""
    for code, text in reply.lines:
        if code == _ROUTE_LINE and text.startswith("\t") and routes:
            routes[-1] = routes[-1]._replace(gateways=(*routes[-1].gateways, _gateway(text.strip())))
        elif code == _ROUTE_LINE and text.startswith("Table ") and text.endswith(":"):
            table = text[6:-1]
        elif code == _ROUTE_LINE and text:
            routes.append(_route(text, table, routes[-1].network if routes else None))
        elif code not in (0, _ROUTE_LINE, *_ROUTE_DETAILS):
            raise BirdGarbled(f"{code:04} {text}")
    return tuple(routes)


def _route(text: str, table: str, before: Network | None) -> BirdRoute:
    match = _ROUTE.fullmatch(text)
    if match is None:
        raise BirdGarbled(text)
    where = match["where"]
    gateways = (_gateway(where),) if where.startswith(("via ", "dev ")) else ()
    preference = _PREFERENCE.match(match["info"])
    try:
        network = ip_network(match["network"]) if match["network"] else before
        learnt_from = ip_address(match["from"]) if match["from"] else None
    except ValueError:
        raise BirdGarbled(text) from None
    if network is None:
        raise BirdGarbled(text)
    return BirdRoute(
        table,
        network,
        "unicast" if gateways else _KINDS.get(where, where),
        match["protocol"],
        gateways,
        match["mark"] is not None,
        match["mark"] == " !",
        learnt_from,
        match["since"],
        int(preference[1]) if preference else 0,
    )


def _gateway(text: str) -> Gateway:
    match = _GATEWAY.fullmatch(text)
    if match is None:
        raise BirdGarbled(text)
    weight = _WEIGHT.search(match["rest"])
    try:
        ip = ip_address(match["ip"]) if match["ip"] else None
    except ValueError:
        raise BirdGarbled(text) from None
    return Gateway(match["interface"], ip, int(weight[1]) if weight else 1, " onlink" in match["rest"])
