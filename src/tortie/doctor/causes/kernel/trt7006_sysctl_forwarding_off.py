"""TRT7006: the kernel does not forward packets."""

from __future__ import annotations

from collections.abc import Iterator

from tortie.doctor.causes.cause import (
    LIKELY,
    POSSIBLE,
    PROVEN,
    STRONG,
    Cause,
    Do,
    Finding,
    cannot_tell,
    do,
    found,
    ruled_out,
)
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.kernel.whose_node import elsewhere, node_of, said_on
from tortie.doctor.causes.underlay.pod_gateway import GATEWAY, GATEWAY_SIGNS, asked, unanswered
from tortie.doctor.causes.underlay.traffic_evidence import Row, rows, trouble
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.model.tuples import NamedTuple

KEY, ALL = "net.ipv4.ip_forward", "net.ipv4.conf.all.forwarding"
PREFLIGHT = Sign("forwarding-preflight", "/proc/sys/net/ipv4/ip_forward contents are not set to 1")
FORWARDED = Sign("forwarding-counter", "IpForwDatagrams <n>")
REFUSED = Sign("forwarding-refused", "IpInAddrErrors <n>")  # what is for somebody else and may not go on
_VALUE = r"(?P<key>net\.ipv4\.(?:ip_forward|conf\.[\w.-]+?\.forwarding))\s*[=:]\s*(?P<value>[01])\b"
_FILE = r"^(?P<file>/etc/[\w./-]+):(?:\d+:)?\s*net\.ipv4\.(?:ip_forward|conf\.all\.forwarding)\s*=\s*0\b"

_PRINTED = lazily(r"\b(?:cat|less|more|head|tail) (/etc/[\w./-]+)\s*$")


class Shown(NamedTuple):
    """A value that a host shows."""

    key: str
    value: str
    host: str
    fact: object


class Seen:
    """Forwarding as hosts show it: the two global keys are one switch, a pod's own link is a second observation."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        values = _values(picture)
        self.off = [one for one in values if one.value == "0" and (one.key in (KEY, ALL) or ".cali" in one.key)]
        self.on = [one for one in values if one.value == "1" and one.key in (KEY, ALL)]
        self.everywhere = [one for one in self.off if one.key in (KEY, ALL)]
        self.here = [one for one in self.everywhere if not elsewhere(picture, one.host)]
        self.arp, self.trouble = asked(picture), trouble(picture)
        self.file = next((row["file"] for row in rows(picture, _FILE, needle="/etc/")), "") or self._printed()

    def _printed(self) -> str:
        """The file whose whole text was printed."""
        commands = (one.fact.command for one in self.here if isinstance(one.fact, Row))
        return next((match[1] for command in commands if (match := _PRINTED.search(command))), "")


def another_machine(seen: Seen) -> Finding | None:
    """It is off where the evidence was collected, and that is no node."""
    return cannot_tell(host=seen.everywhere[0].host) if seen.everywhere and not seen.here else None


def off(seen: Seen) -> Finding | None:
    if not seen.here:
        return None
    key, _, host, fact = seen.here[0]
    certain = seen.arp or seen.trouble or any(".cali" in one.key for one in seen.off)
    others = [one.fact for one in seen.off if one is not seen.here[0]]
    who = culprits(named("setting", key, KEY, ALL), named("file", seen.file), named("node", host))
    evidence = (fact, *others[:1], *seen.arp[:1], *seen.trouble[:1])
    node = node_of(seen.picture, host) if host else ""
    return found(PROVEN if certain else STRONG, who, evidence, sysctl=key, node=node, file=seen.file)


def on(seen: Seen) -> Finding | None:
    return ruled_out((seen.on[0].fact,), sysctl=seen.on[0].key) if seen.on else None


def preflight(seen: Seen) -> Finding | None:
    hit = seen.picture.hit(PREFLIGHT)
    if hit is None:
        return None
    node = said_on(seen.picture, hit).strip("?")
    return found(LIKELY, culprits(Culprit("setting", KEY), named("node", node)), (hit,), node=node)


def forwards_nothing(seen: Seen) -> Finding | None:
    """The kernel counts what it forwards: nothing, while packets for its pods come in."""
    counted = [hit for hit in seen.picture.hits(FORWARDED) if not elsewhere(seen.picture, hit.host)]
    if not counted or any(hit.value("n") != "0" for hit in counted):
        return None
    refused = [hit for hit in seen.picture.hits(REFUSED) if hit.value("n") != "0" and hit.host == counted[0].host]
    host = counted[0].host
    who = culprits(Culprit("setting", KEY), named("node", host))
    evidence = (*counted[:1], *refused[:1], *seen.trouble[:1])
    node = node_of(seen.picture, host) if host else ""
    return found(STRONG if refused and seen.trouble else LIKELY, who, evidence, sysctl=KEY, node=node)


def off_on_a_link(seen: Seen) -> Finding | None:
    if not seen.off:
        return None
    key, _, host, fact = seen.off[0]
    who = culprits(named("setting", key, KEY), named("node", host))
    return found(LIKELY, who, (fact, *seen.arp[:1]), sysctl=key, node=host)


def no_answer(seen: Seen) -> Finding | None:
    if not unanswered(seen.picture):
        return None
    who = (Culprit("setting", KEY), Culprit("address", GATEWAY))
    return found(POSSIBLE, who, seen.arp[:2], gateway=GATEWAY)


def _values(picture: Picture) -> list[Shown]:
    """The last of each host; a pod's own namespace is never meant.

    What a file says counts only where no running value of that host is shown.
    """
    last: dict[tuple[str, str], Shown] = {}
    written: dict[tuple[str, str], Shown] = {}
    for row in rows(picture, _VALUE, needle="net.ipv4."):
        line = row.match.string
        if _inside_pod(row) or line.lstrip().startswith("#"):
            continue
        in_file = any(word in text for word in ("sysctl.conf", "sysctl.d") for text in (row.command, line))
        (written if in_file else last)[row.host, row["key"]] = Shown(row["key"], row["value"], row.host, row)
    for row in rows(picture, r"^\s*(?P<value>[01])\s*$", "ipv4/ip_forward", "-n net.ipv4.ip_forward"):
        if not _inside_pod(row):
            last[row.host, KEY] = Shown(KEY, row["value"], row.host, row)
    for setting in _settings(picture):
        last.setdefault((setting.host, setting.name), Shown(setting.name, setting.value, setting.host, setting))
    running = {host for host, _ in last}
    return [*last.values(), *(shown for (host, _), shown in written.items() if host not in running)]


def _settings(picture: Picture) -> Iterator[Setting]:
    """The same values where a reader has understood them, without those of pods."""
    in_pods = {
        (exhibit.source, exhibit.number(index))
        for exhibit in picture.exhibits
        if _pods_own(exhibit.command)
        for index in range(len(exhibit.lines))
    }
    for setting in picture.of(Setting):
        known = setting.scope == "sysctl" and setting.name in (KEY, ALL) and setting.value in ("0", "1")
        if known and (setting.place.source, setting.place.first) not in in_pods:
            yield setting


def _inside_pod(row: Row) -> bool:
    return _pods_own(row.command)


def _pods_own(command: str) -> bool:
    inside = "exec" in command or ("kubectl" in command and " run " in command)
    return inside and "calico-node" not in command and "canal" not in command


def fix(_picture: Picture, finding: Finding) -> Iterator[Do]:
    key = finding.value("sysctl")
    yield do("now", sysctl=key if ".cali" in key else KEY)
    yield do("keep")
    yield do("file") if finding.value("file") else do("find")


CAUSE = Cause(
    module=__name__,
    id="sysctl-forwarding-off",
    code="TRT7006",
    severity="medium",
    explains=("traffic-dead", "service-dead"),
    signs=(PREFLIGHT, *GATEWAY_SIGNS, FORWARDED, REFUSED),
    look=Seen,
    rules=(another_machine, off, on, preflight, forwards_nothing, off_on_a_link, no_answer),
    fix=fix,
)
