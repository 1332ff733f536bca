"""Rules of a host that give its own packets to other nodes another source address."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.causes.nodes.bgp_addresses import inner_link
from tortie.doctor.causes.nodes.bgp_evidence import missing_peers, node_called, remembered, same_host, unknown_connects
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.addresses import inside
from tortie.doctor.picture.facts import FilterRule, Interface, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit
from tortie.model.tuples import NamedTuple

_OWN: Final = ("cali", "KUBE", "DOCKER", "CNI-", "FLANNEL", "LIBVIRT")
_TRANSLATES: Final = ("MASQUERADE", "SNAT")
# Words that change nothing of which packets are met.
_PLAIN: Final = ("--random-fully", "--random", "--persistent", "random-fully", "ip", "ip6", "meta")
_LINK: Final = ("-o", "oifname", "oif")
_FROM: Final = ("-s", "saddr")
_TO: Final = ("-d", "daddr")


# A packet to BIRD, as tcpdump prints it; people also put one into a sentence.
_CALL: Final = lazily(
    r"\bIP (?P<source>(?:\d{1,3}\.){3}\d{1,3})\.(?P<port>\d{1,5}) > (?P<target>(?:\d{1,3}\.){3}\d{1,3})\.179: "
)


class Translation(NamedTuple):
    """A rule that takes what a node sends to other nodes; `address` is what it puts in, where it is told."""

    place: Place
    host: str
    text: str
    address: str = ""
    link: str = ""  # only what leaves by it
    packets: int | None = None
    zone: str = ""  # firewalld's


@remembered
def translations(picture: Picture) -> list[Translation]:
    return [*_of_rules(picture), *_of_zones(picture)]


def _of_rules(picture: Picture) -> Iterator[Translation]:
    ips = list(picture.internal_ips().values()) or [peer.address for peer in missing_peers(picture)]
    for rule in picture.of(FilterRule):
        if rule.verdict not in _TRANSLATES or rule.chain.startswith(_OWN) or rule.packets == 0:
            continue
        own = picture.internal_ips().get(node_called(picture, rule.host), "") if rule.host else ""
        if _takes(rule.matches, [own] if own else ips, [ip for ip in ips if ip != own]):
            told = _told(rule.matches)
            text = f"{rule.verdict} {rule.matches}".strip()
            yield Translation(rule.place, rule.host, text, told.get("to", ""), told.get("link", ""), rule.packets)


def _of_zones(picture: Picture) -> Iterator[Translation]:
    last: dict[tuple[str, str], Setting] = {}
    for setting in picture.settings("masquerade", "firewalld"):
        last[setting.host, setting.owner] = setting
    for (host, zone), setting in last.items():
        if setting.value == "yes" and zone != "docker":
            yield Translation(setting.place, host, f"firewalld: masquerade {zone}".strip(), zone=zone)


def _words(matches: str) -> Iterator[tuple[bool, str, str]]:
    """(negated, what, value) of each condition; a condition that is none of these has no value."""
    words = [word.strip('"') for word in matches.split()]
    index = 0
    while index < len(words):
        no = words[index] == "!"
        index += no
        name = words[index] if index < len(words) else ""
        index += 1
        if name.startswith("to:"):
            yield no, "to", name[3:]
        elif name not in _PLAIN:
            if index < len(words) and words[index] in ("!=", "=="):
                no, index = no or words[index] == "!=", index + 1
            yield no, name, words[index] if index < len(words) else ""
            index += 1


def _told(matches: str) -> dict[str, str]:
    told: dict[str, str] = {}
    for no, name, value in _words(matches):
        if name in _LINK and not no:
            told["link"] = value
        elif name in ("to", "--to-source"):
            told["to"] = value.partition(":")[0].partition("-")[0]
    return told


def _takes(matches: str, sources: list[str], peers: list[str]) -> bool:
    """Certainly: a condition that is not understood may leave these packets out."""
    return all(_fits(no, name, value, sources, peers) for no, name, value in _words(matches))


def _fits(no: bool, name: str, value: str, sources: list[str], peers: list[str]) -> bool:
    if name in _LINK:
        return inner_link(value) or value == "lo" if no else not inner_link(value) and value != "lo"
    if name in _FROM:
        return any(inside(source, value) != no for source in sources)
    if name in _TO:
        return any(inside(peer, value) != no for peer in peers)
    if name in ("to", "--to-source"):
        return True
    return name in ("-p", "l4proto") and value in ("tcp", "6") and not no


class Call(NamedTuple):
    """A node that is called from an address which a translation may have put in; `link` carries that address."""

    hit: Hit
    translation: Translation
    link: Interface | None
    certain: bool


@remembered
def translated_calls(picture: Picture) -> list[Call]:
    """Strangers that are no node, where a rule translates what nodes send; the certain ones first."""
    calls = []
    for hit in unknown_connects(picture):
        stranger = hit.value("ip")
        if picture.owner_of(stranger):
            continue
        for rule in translations(picture):
            link = _link_there(picture, stranger, rule)
            if not rule.address or rule.address == stranger:
                calls.append(Call(hit, rule, link, rule.address == stranger or link is not None))
    return sorted(calls, key=lambda call: not call.certain)


def _link_there(picture: Picture, address: str, rule: Translation) -> Interface | None:
    """The link of the rule's own host by which its packets leave with that address; a router may have one like it."""
    link = picture.interface_with(address)
    if link is None or inner_link(link.name) or rule.link not in ("", link.name):
        return None
    if link.host and rule.host:
        return link if same_host(link.host, rule.host) else None
    nodes = {*picture.internal_ips().values(), *(one.address for one in picture.registered())}
    return link if any(one.partition("/")[0] in nodes for one in link.addresses) else None


class Rewritten(NamedTuple):
    """One connection to BIRD that was seen with two sources: a node's address, and a stranger's."""

    node: str  # the address of the node that called
    stranger: str
    places: tuple[Place, ...]


@remembered
def rewritten_calls(picture: Picture) -> list[Rewritten]:
    """By captures at two points of the way: who translates in between need not be a node."""
    nodes = {*picture.internal_ips().values(), *(one.address for one in picture.registered())}
    calls: dict[tuple[str, str], dict[str, Place]] = {}
    for exhibit in picture.exhibits:
        for index, line in enumerate(exhibit.lines):
            for call in _CALL.finditer(line) if ".179: " in line else ():
                calls.setdefault((call["port"], call["target"]), {}).setdefault(call["source"], exhibit.place(index))
    return [
        Rewritten(node, stranger, (sources[node], sources[stranger]))
        for sources in calls.values()
        for node in sources if node in nodes
        for stranger in sources if stranger not in nodes
    ]  # fmt: skip
