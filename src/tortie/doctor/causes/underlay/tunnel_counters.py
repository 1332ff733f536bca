"""What a tunnel's counters and people's own words say: packets leave, and nothing ever comes in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Ping, Statement
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.model.tuples import NamedTuple

_DEVICES: Final = {"ipip": ("tunl0",), "vxlan": ("vxlan.calico", "vxlan-v6.calico")}
_LONGEST: Final = 300  # characters of a line that are looked at
# `7: tunl0@NONE: <…`, `tunl0: flags=`, `tunl0     Link encap:`
_HEAD: Final = lazily(r"^(?:\d+: )?(?P<name>[\w.-]{1,32})(?:@[\w.-]+)?:? +(?:<|flags=|Link encap:)")
# ip -s link: the numbers stand below `RX: bytes packets errors`.
_TITLE: Final = lazily(r"^\s*(?P<way>RX|TX):\s+bytes\s+packets\b")
_NUMBERS: Final = lazily(r"^\s*\d+\s+(?P<packets>\d+)(?:\s+\d+)+\s*$")
_IFCONFIG: Final = lazily(r"^\s*(?P<way>RX|TX) packets[: ](?P<packets>\d+)\b")
_PROC: Final = lazily(
    r"^\s*(?P<name>[\w.-]{1,32}):\s*\d+\s+(?P<rx>\d+)(?:\s+\d+){6}\s+\d+\s+(?P<tx>\d+)(?:\s+\d+){6}\s*$"
)
_NETSTAT: Final = lazily(
    r"^(?P<name>[\w.-]{1,32})\s+\d+\s+(?:0\s+)??(?P<rx>\d+)\s+\d+\s+\d+\s+\d+\s+(?P<tx>\d+)\s+\d+\s+\d+\s+\d+\s+[A-Z]{2,8}\s*$"
)
_NAMED: Final = lazily(r"(?P<way>rx|tx)_packets\b\s*[:=]?\s*(?P<packets>\d+)\s*$")
_RULE: Final = "Allow IPIP packets"
_BY_RULE: Final = lazily(
    r"^\s{0,8}(?:\[(?=\d)|(?=\d))(?P<count>\d{1,12}[KMG]?)(?::\d|\s).{10,400}?"
    r"Allow IPIP packets (?P<way>to other|from) Calico hosts"
)
_RULE_LENGTH: Final = 600
_SENT_ENOUGH: Final = 5  # fewer may be from before the other end was there
_OF: Final = {
    "ipip": lazily(
        r"(?a:\bproto(?:col)?(?: number)?[ =]?\\?(?:4|ipip|ipencap)\b|\bipip\b|\btunl0\b)"
        r"|协议号?[ 为是]?4(?!\d)|ip\[9\]",
        re.IGNORECASE,
    ),
    "vxlan": lazily(r"(?<!\d)(?:4789|8472)(?!\d)|(?a:\bvxlan\b)", re.IGNORECASE),
}
_THERE: Final = lazily(
    r"\b(?:other|receiv(?:er|ing)|destination|target|peer|remote|far|second)\b"
    r"|\bon (?:the )?[\w-]{0,40}\d|对端|对方|接收|目标|目的|对面|另一|另外一|\d ?上",
    re.IGNORECASE,
)
_HERE: Final = lazily(
    r"\b(?:send(?:er|ing)|source|src|this (?:node|host|side)|both)\b|源端|源节点|发送|发起|本端|本机|两端|两边",
    re.IGNORECASE,
)


class Count(NamedTuple):
    """Packets that one tunnel's device of one host has sent and received."""

    place: Place
    host: str
    device: str
    sent: int
    received: int


def counts(picture: Picture, kind: str) -> list[Count]:
    devices = _DEVICES[kind]
    shown = (
        one for one in picture.exhibits if not one.prose and any(d in one.text or d in one.command for d in devices)
    )
    return [count for exhibit in shown for count in _counts(exhibit, devices)]


def met_by_rules(picture: Picture) -> list[Count]:
    """Felix' own rules count what goes to other hosts in IPIP, and what comes from them; both have to be shown."""
    met = [
        (match["way"] == "to other", match["count"], exhibit.place(index), exhibit.host)
        for exhibit in picture.exhibits
        if _RULE in exhibit.text
        for index, line in enumerate(exhibit.lines)
        if (match := _BY_RULE.match(line[:_RULE_LENGTH]))
    ]
    sent = [(place, host, int(count.rstrip("KMG"))) for leaves, count, place, host in met if leaves]
    came = [count for leaves, count, _, _ in met if not leaves]
    if not came or any(int(count.rstrip("KMG")) for count in came):
        return []
    return [Count(place, host, "tunl0", number, 0) for place, host, number in sent if number >= _SENT_ENOUGH]


def one_way(picture: Picture, kind: str) -> list[Count]:
    """Devices that sent and never received. Where another one received any, some packets do come through."""
    known = counts(picture, kind)
    return [] if any(one.received for one in known) else [one for one in known if one.sent]


def _counts(exhibit: Exhibit, devices: tuple[str, ...]) -> Iterator[Count]:
    device = next((name for name in devices if name in exhibit.command), "")
    title, found = "", dict[str, int]()
    for index, raw in enumerate(exhibit.lines):
        line = raw[:_LONGEST]
        place = exhibit.place(index)
        if row := (_PROC.match(line) or _NETSTAT.match(line)):
            if row["name"] in devices:
                yield Count(place, exhibit.host, row["name"], int(row["tx"]), int(row["rx"]))
            continue
        if head := _HEAD.match(line):
            device, title, found = head["name"], "", {}
            continue
        if titled := _TITLE.match(line):
            title = titled["way"].lower()
            continue
        counted = _NUMBERS.match(line) if title else (_IFCONFIG.match(line) or _NAMED.search(line))
        if counted and device in devices:
            found[title or counted["way"].lower()] = int(counted["packets"])
            if len(found) == 2:
                yield Count(place, exhibit.host, device, found["tx"], found["rx"])
                found = {}
        title = ""


def told_silent(picture: Picture, kind: str) -> list[Statement]:
    """Somebody says that a capture of such packets at the other end shows nothing."""
    wanted = _OF[kind]
    homes = {pod.name: pod.node for pod in picture.pods_now() if pod.node}
    lost = [ping for ping in picture.of(Ping) if not ping.ok]
    senders = {ping.host for ping in lost if ping.host} | {homes[ping.pod] for ping in lost if ping.pod in homes}
    return [
        said
        for said in picture.said("capture-silent")
        if wanted.search(said.text)
        and _THERE.search(said.text)
        and not _HERE.search(said.text)
        and not any(_names(said.text, host) for host in senders)
    ]


def _names(text: str, host: str) -> bool:
    """Whether a sentence names a host, or by the number that its name ends with: `on 61` is kub-61."""
    number = host[len(host.rstrip("0123456789")) :]
    own = {word.strip(".,:;`") for word in text.split()}
    return host in text or bool(number and number in own and f"on {number}" in text.lower())
