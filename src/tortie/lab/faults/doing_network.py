"""Deeds to the network of a machine: links, addresses, filters, settings of the kernel.

What is to be undone of a link is all that the kernel forgets when it goes down or loses an address: its addresses in
their order, routes through it, and permanent neighbours. Routes of BIRD and of pods have owners that put them back.
"""

from __future__ import annotations

import glob
import json
import os
from typing import Any, Final

from tortie.host import wiring
from tortie.host.kernel_settings import read_setting, write_setting
from tortie.host.links import PATIENCE_S, links
from tortie.host.netlink import Netlink
from tortie.lab.failures import Phrase, at, phrase
from tortie.lab.faults.deed_forms import touched
from tortie.lab.faults.deeds import AddAddress, AddBridge, AddNic, Filter, RemoveAddress, SetKernel, SetLink
from tortie.lab.faults.hands import SWITCH, Hands, program, refuse
from tortie.lab.faults.ledger import Memo
from tortie.lab.wires import port_name

_GONE: Final = ("Cannot find device", "does not exist", "Cannot assign", "not found", "No such")
_THERE: Final = ("File exists", "already assigned")
_OWN_ROUTES: Final = ("boot", "static")  # an administrator's, and the lab's
_LINK_S: Final = 20.0

# Writing one of these sets others, for every link.
_SPREADING: Final = {
    "net/ipv4/ip_forward": ("net/ipv4/conf/*/forwarding", "net/ipv4/conf/*/accept_redirects"),
    "net/ipv4/conf/all/forwarding": ("net/ipv4/conf/*/forwarding", "net/ipv4/conf/*/accept_redirects"),
    "net/ipv6/conf/all/forwarding": ("net/ipv6/conf/*/forwarding",),
    "net/ipv6/conf/all/disable_ipv6": ("net/ipv6/conf/*/disable_ipv6",),
}


class BridgeDoer:
    def look(self, hands: Hands, _tag: str, deed: AddBridge) -> Memo:
        if hands.inside(deed.machine, lambda: deed.link in _names()):
            raise refuse(at(deed.machine, phrase("bridge", link=deed.link)), "link-taken")
        return {}

    def do(self, hands: Hands, _tag: str, deed: AddBridge, _memo: Memo) -> None:
        def work() -> None:
            program("ip", "link", "add", deed.link, "type", "bridge", fails=_THERE)
            if deed.mac:
                program("ip", "link", "set", deed.link, "address", deed.mac)
            program("ip", "link", "set", deed.link, "up")
            _add(deed.link, deed.address)

        hands.inside(deed.machine, work)

    def undo(self, hands: Hands, _tag: str, deed: AddBridge | AddNic, _memo: Memo) -> None:
        hands.inside(deed.machine, lambda: program("ip", "link", "del", deed.link, fails=_GONE))

    def undone(self, hands: Hands, _tag: str, deed: AddBridge | AddNic, _memo: Memo) -> list[Phrase]:
        there = hands.inside(deed.machine, lambda: deed.link in _names())
        return [at(deed.machine, phrase("still-there", what=deed.link))] if there else []


class NicDoer(BridgeDoer):
    """The other end is a port in the switches' place that belongs to no switch."""

    def do(self, hands: Hands, _tag: str, deed: AddNic, _memo: Memo) -> None:  # type: ignore[override]
        port = port_name(deed.machine, deed.link)
        told, descriptors = hands.keeper.way_into(SWITCH)
        try:
            switch = dict(zip(told["namespaces"], descriptors, strict=True))["net"]

            def work() -> None:
                with Netlink() as kernel:
                    made = wiring.even_if_there(wiring.add_veth(deed.link, port, switch))
                    kernel.request_all([made], _soon())
                program("ip", "link", "set", deed.link, "up")
                _add(deed.link, deed.address)

            hands.inside(deed.machine, work)
            hands.inside(SWITCH, lambda: program("ip", "link", "set", port, "up"))
        finally:
            for descriptor in descriptors:
                os.close(descriptor)


class AddressDoer:
    def look(self, hands: Hands, _tag: str, deed: AddAddress) -> Memo:
        state = hands.inside(deed.machine, lambda: link_state(deed.link))
        if state is None:
            raise refuse(touched(deed), "no-link-named", link=deed.link)
        if deed.address in state["addresses"]:
            raise refuse(touched(deed), "address-taken", link=deed.link)
        return {}

    def do(self, hands: Hands, _tag: str, deed: AddAddress, _memo: Memo) -> None:
        hands.inside(deed.machine, lambda: _add(deed.link, deed.address))

    def undo(self, hands: Hands, _tag: str, deed: AddAddress, _memo: Memo) -> None:
        hands.inside(deed.machine, lambda: program("ip", "addr", "del", deed.address, "dev", deed.link, fails=_GONE))

    def undone(self, hands: Hands, _tag: str, deed: AddAddress, _memo: Memo) -> list[Phrase]:
        state = hands.inside(deed.machine, lambda: link_state(deed.link))
        there = state is not None and deed.address in state["addresses"]
        return [at(deed.machine, phrase("still-has", link=deed.link, address=deed.address))] if there else []


class LinkDoer:
    """For links that go down or change, and addresses that are taken away: the link as it was is put back."""

    def look(self, hands: Hands, _tag: str, deed: SetLink | RemoveAddress) -> Memo:
        state = hands.inside(deed.machine, lambda: link_state(deed.link))
        if state is None:
            raise refuse(at(deed.machine, phrase("link", link=deed.link)), "no-link")
        if isinstance(deed, RemoveAddress) and deed.address not in state["addresses"]:
            raise refuse(touched(deed), "address-not-there", link=deed.link)
        return {"before": state}

    def do(self, hands: Hands, _tag: str, deed: SetLink | RemoveAddress, _memo: Memo) -> None:
        def work() -> None:
            if isinstance(deed, RemoveAddress):
                program("ip", "addr", "del", deed.address, "dev", deed.link, fails=_GONE)
                return
            if deed.mtu:
                program("ip", "link", "set", deed.link, "mtu", str(deed.mtu))
            program("ip", "link", "set", deed.link, "up" if deed.up else "down")

        hands.inside(deed.machine, work)

    def undo(self, hands: Hands, _tag: str, deed: SetLink | RemoveAddress, memo: Memo) -> None:
        hands.inside(deed.machine, lambda: _restore(deed.link, memo["before"]))

    def undone(self, hands: Hands, _tag: str, deed: SetLink | RemoveAddress, memo: Memo) -> list[Phrase]:
        before, now = memo["before"], hands.inside(deed.machine, lambda: link_state(deed.link))
        if now is None:
            return [at(deed.machine, phrase("gone", what=deed.link))]
        return [
            at(deed.machine, _instead(deed.link, name, was, now[name]))
            for name, was in before.items()
            if was != now[name]
        ]


class FilterDoer:
    def look(self, _hands: Hands, tag: str, _deed: Filter) -> Memo:
        return {"table": f"tortie_fault_{tag}"}

    def do(self, hands: Hands, _tag: str, deed: Filter, memo: Memo) -> None:
        table = f"{deed.family} {memo['table']}"
        text = f"table {table}\ndelete table {table}\n" + deed.rules.replace("{table}", memo["table"]) + "\n"
        hands.inside(deed.machine, lambda: program("nft", "-f", "-", text=text))

    def undo(self, hands: Hands, _tag: str, deed: Filter, memo: Memo) -> None:
        words = ("nft", "delete", "table", deed.family, memo["table"])
        hands.inside(deed.machine, lambda: program(*words, fails=_GONE))

    def undone(self, hands: Hands, _tag: str, deed: Filter, memo: Memo) -> list[Phrase]:
        tables = [each for each in hands.inside(deed.machine, nft_tables) if each.endswith(memo["table"])]
        return [at(deed.machine, phrase("still-there", what=phrase("table", table=table))) for table in tables]


class KernelDoer:
    def look(self, hands: Hands, _tag: str, deed: SetKernel) -> Memo:
        path = setting_path(deed.key)
        before = hands.inside(deed.machine, lambda: read_setting(path))
        if before is None:
            raise refuse(at(deed.machine, phrase("sysctl", key=deed.key)), "no-setting")
        patterns = _SPREADING.get(path, ())
        return {"before": before, "along": hands.inside(deed.machine, lambda: _settings(patterns))}

    def do(self, hands: Hands, _tag: str, deed: SetKernel, _memo: Memo) -> None:
        hands.inside(deed.machine, lambda: write_setting(setting_path(deed.key), deed.value))

    def undo(self, hands: Hands, _tag: str, deed: SetKernel, memo: Memo) -> None:
        def work() -> None:
            for path, value in {setting_path(deed.key): memo["before"], **memo["along"]}.items():
                if read_setting(path) not in (None, value):
                    write_setting(path, value)

        hands.inside(deed.machine, work)

    def undone(self, hands: Hands, _tag: str, deed: SetKernel, memo: Memo) -> list[Phrase]:
        wanted = {setting_path(deed.key): memo["before"], **memo["along"]}
        now = hands.inside(deed.machine, lambda: {path: read_setting(path) for path in wanted})
        return [
            at(deed.machine, phrase("is-instead", what=path, now=now[path], before=value))
            for path, value in wanted.items()
            if now[path] not in (None, value)  # a link that has gone took its settings along
        ]


def setting_path(key: str) -> str:
    return key if "/" in key else key.replace(".", "/")


def _settings(patterns: tuple[str, ...]) -> dict[str, str]:
    paths = [path.removeprefix("/proc/sys/") for each in patterns for path in glob.glob(f"/proc/sys/{each}")]
    return {path: value for path in sorted(paths) if (value := read_setting(path)) is not None}


def nft_tables() -> list[str]:
    """`inet tortie_fault_1a2b3c4d`, of the namespace of the calling process."""
    return [line.removeprefix("table ").strip() for line in program("nft", "list", "tables").splitlines()]


def link_state(link: str) -> dict[str, Any] | None:
    """All that can be put back, as `ip` tells it. None when there is no such link."""
    there = {each.name: each for each in links(PATIENCE_S)}
    if link not in there:
        return None
    found = there[link]
    addresses = _told("addr", "show", "dev", link)[0].get("addr_info", [])
    return {
        "up": "up" in found.flags,
        "mtu": found.mtu,
        "addresses": [f"{each['local']}/{each['prefixlen']}" for each in addresses if each.get("scope") != "link"],
        "routes": _routes(link),
        "neighbours": sorted(
            [each["dst"], each["lladdr"]]
            for each in _told("neigh", "show", "dev", link, "nud", "permanent")
            if "lladdr" in each
        ),
    }


def _routes(link: str) -> list[list[str]]:
    """The words that make each of them anew."""
    found = []
    for family in ("-4", "-6"):
        for route in _told(family, "route", "show", "dev", link):
            if route.get("protocol", "boot") in _OWN_ROUTES:
                words = [family, route["dst"], "proto", route.get("protocol", "boot")]
                words += ["via", route["gateway"]] if "gateway" in route else []
                words += ["metric", str(route["metric"])] if route.get("metric") and family == "-4" else []
                found.append(words)
    return sorted(found)


def _restore(link: str, before: dict[str, Any]) -> None:
    now = link_state(link)
    if now is None:
        raise refuse(phrase("link", link=link), "link-lost")
    if now["mtu"] != before["mtu"]:
        program("ip", "link", "set", link, "mtu", str(before["mtu"]))
    program("ip", "link", "set", link, "up" if before["up"] else "down")
    present = (link_state(link) or now)["addresses"]
    if present != before["addresses"]:
        kept = [each for each in before["addresses"] if each in present]
        in_order = before["addresses"][: len(kept)] == kept and present[: len(kept)] == kept
        for address in [] if in_order else kept:
            program("ip", "addr", "del", address, "dev", link, fails=_GONE)
        for address in before["addresses"]:
            _add(link, address)
    for family, destination, *words in before["routes"]:
        program("ip", family, "route", "replace", destination, "dev", link, *words)
    for address, mac in before["neighbours"]:
        program("ip", "neigh", "replace", address, "lladdr", mac, "nud", "permanent", "dev", link)


def _add(link: str, address: str) -> None:
    at_once = ("nodad",) if ":" in address else ()
    program("ip", "addr", "add", address, "dev", link, *at_once, fails=_THERE)


def _told(*words: str) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = json.loads(program("ip", "-j", *words) or "[]")
    return told


def _names() -> set[str]:
    return {link.name for link in links(PATIENCE_S)}


def _soon() -> float:
    import time

    return time.monotonic() + _LINK_S


def _instead(link: str, name: str, before: object, now: object) -> Phrase:
    what = phrase("of", whole=link, part=phrase(f"part.{name}"))
    return phrase("instead", what=what, now=_short(now), before=_short(before))


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
