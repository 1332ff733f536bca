"""TRT7008: a link manager of the host takes Calico's interfaces into its care, and routes or links vanish."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.kernel.link_addresses import Marks, program_of
from tortie.doctor.causes.kernel.link_downers import put_down
from tortie.doctor.causes.kernel.link_keepers import Shown, begun, routes_counted_away, set_up
from tortie.doctor.causes.underlay.traffic_evidence import agents_fine, compiled, rows, trouble
from tortie.doctor.picture.facts import LogLine
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign
from tortie.model.tuples import NamedTuple

CONNECTING = Sign("nm-connecting", "connecting \\(getting IP configuration\\)")
STATE_CHANGE = Sign("nm-state-change", "device \\(<device>\\): state change: … 'managed'")
ROUTE_DELETED = Sign("nm-route-deleted", "Deleted <ip> dev cali<rest>")
ROUTE_REFUSED = Sign("nm-network-down", "Failed to add route…network is down")
CONF_DIR = "/etc/NetworkManager/conf.d/calico.conf"
DEVICES = ("cali", "tunl", "vxlan.calico", "vxlan-v6.calico", "wireguard.cali")
_NMCLI = (
    r"^(?P<device>(?:cali|tunl|vxlan|wireguard\.cali)[\w.@-]*)\s+\S+\s+"
    r"(?P<state>unmanaged|connecting|connected|disconnected)"
)
_NETWORKCTL = (
    r"(?P<device>(?:cali|tunl|vxlan)[\w.@-]*)\s+(?:ether|tunnel|vxlan|ipip|none)\s+\S+\s+"
    r"(?P<state>configuring|configured|failed|unmanaged)"
)
_STATUS = r"^\s*State:\s+\S+\s+\((?P<state>configuring|configured|unmanaged)\)"
_FILE = r"^\s*Network File:\s+(?P<file>/\S+)"
_DEVICE = r"\b(?P<device>cali[0-9a-f]{11}|cali[\w-]+|tunl0|vxlan(?:-v6)?\.calico)\b"


# Programs that look after links of their own, or only tell what became of one.
_OTHERS = (
    "kernel",
    "felix",
    "calico",
    "kube",
    "containerd",
    "dockerd",
    "crio",
    "systemd",
    "NetworkManager",
    "audit",
)
_DOWN = r"\b(?:tak|bring|shut|put|sett?)(?:e|ing)?s?\b[^.]{0,40}\bdown\b|\bifdown\b"


class Link(NamedTuple):
    """One of Calico's links as a manager lists it."""

    device: str
    state: str
    place: Place
    host: str


class Seen:
    """What NetworkManager and systemd-networkd do with Calico's links, and the routes that are lost."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.connecting = [hit for hit in picture.hits(CONNECTING) if any(name in hit.line for name in DEVICES)]
        self.changes = [hit for hit in picture.hits(STATE_CHANGE) if hit.value("device").startswith(DEVICES)]
        self.listed = [Link(row["device"], row["state"], row.place, row.host) for row in rows(picture, _NMCLI, "nmcli")]
        self.networkd = _networkd(picture)
        self.busy = [link for link in self.networkd if link.state != "unmanaged"]
        self.logged = set_up(picture)
        self.hands_on: list[object] = [*self.connecting, *self.changes, *self.busy, *self.logged]
        self.deleted = picture.hits(ROUTE_DELETED)
        self.lost: list[Hit] = [*self.deleted, *picture.hits(ROUTE_REFUSED)]
        self.said = picture.said("network-lost-sometimes")
        self.host = _host(self.connecting, self.changes, self.listed, self.busy, self.logged)
        self.marks = Marks(picture)

    @cached_property
    def manager(self) -> str:
        if self.connecting or self.changes:
            return "NetworkManager"
        logged = next((program_of(line.program) for line in self.logged), "")
        return logged or ("systemd-networkd" if self.busy else "NetworkManager")

    @cached_property
    def devices(self) -> list[str]:
        changed = [hit.value("device") for hit in self.changes]
        told = [match["device"] for line in self.logged if (match := compiled(_DEVICE).search(line.message))]
        return list(dict.fromkeys([*changed, *(link.device for link in (*self.listed, *self.busy)), *told]))

    @cached_property
    def taken_down(self) -> list[LogLine]:
        """What another service of the host says to do with Calico's links: scripts, agents, older managers."""
        lines = [line for line in self.picture.of(LogLine) if line.program and not line.program.startswith(_OTHERS)]
        about = [line for line in lines if compiled(_DEVICE).search(line.message)]
        return [line for line in about if compiled(_DOWN).search(line.message)]

    @cached_property
    def restarted(self) -> list[Shown]:
        return begun(self.picture)

    @property
    def culprits(self) -> tuple[Culprit, ...]:
        files = [row["file"] for row in rows(self.picture, _FILE, "networkctl", needle="Network File")]
        return culprits(
            Culprit("program", self.manager),
            named("interface", *self.devices[:4]),
            named("file", *files[:2]),
            Culprit("setting", "unmanaged-devices"),
            Culprit("file", CONF_DIR),
            named("node", self.host),
        )


def addressed(seen: Seen) -> Finding | None:
    """A link of a pod has an address of its own, or the host's default route: nobody but such a program does that."""
    marks, known = seen.marks, seen.marks.manager
    if not marks.any:
        return None
    manager = seen.manager if seen.hands_on and not marks.told else known.name if known else ""
    strength = PROVEN if marks.certain or (seen.hands_on and manager) else STRONG
    if not marks.default_route and not marks.told and agents_fine(seen.picture) and not trouble(seen.picture):
        strength = POSSIBLE  # many a small machine lives with such an address
    host = marks.host or (known.host if known else "")
    who = culprits(named("program", manager), named("interface", *marks.devices[:4]), named("node", host))
    evidence = (*marks.told[:2], *marks.routes[:2], *marks.links[:2], known)
    return found(
        strength, who, evidence, say="default-taken" if marks.default_route else "addressed",
        manager=manager, devices=marks.devices[:2], node=host, device=marks.devices[0] if marks.devices else "",
    )  # fmt: skip


def managed(seen: Seen) -> Finding | None:
    if not seen.hands_on:
        return None
    own_words = seen.connecting or seen.changes or seen.logged or seen.said
    strength = PROVEN if seen.lost else STRONG if own_words else LIKELY
    if strength == LIKELY and agents_fine(seen.picture) and not trouble(seen.picture):
        strength = POSSIBLE  # networkd may have them in its list, and leave their routes alone
    evidence = (*seen.hands_on[:2], *seen.lost[:2], *seen.said[:1])
    return found(strength, seen.culprits, evidence, manager=seen.manager, devices=seen.devices[:2], node=seen.host)


def other_service(seen: Seen) -> Finding | None:
    if not seen.taken_down:
        return None
    line = seen.taken_down[0]
    down = [link for link in seen.picture.interfaces() if link.name.startswith("cali") and link.state == "DOWN"]
    told = (compiled(_DEVICE).search(one.message) for one in seen.taken_down)
    devices = list(dict.fromkeys(match["device"] for match in told if match))
    who = culprits(named("program", line.program), named("interface", *devices[:4]), named("node", line.host))
    evidence = (*seen.taken_down[:2], *down[:1])
    strength = PROVEN if down else STRONG
    return found(strength, who, evidence, manager=line.program, devices=devices[:2], node=line.host)


def fallen(seen: Seen) -> Finding | None:
    """Links of pods are up for a moment; who puts them down says nothing of it."""
    one = put_down(seen.picture)
    if one is None:
        return None
    known = one.only_there or one.running
    manager = known[0][1] if known else ""
    devices = [link.name for link in one.links]
    host = _host(one.links, one.falls)
    who = culprits(named("program", manager), named("interface", *devices), named("node", host))
    evidence = (*one.links, *one.falls, *(place for place, _ in known[:1]))
    strength = LIKELY if one.only_there else POSSIBLE
    return found(strength, who, evidence, manager=manager, devices=devices, node=host)


def swept(seen: Seen) -> Finding | None:
    """When networkd starts, it deletes routes that it did not make, whoever manages the links."""
    gone = [*seen.deleted[:2], *routes_counted_away(seen.picture)]
    moved = seen.picture.said("ip-changed")  # then it is the new address that they lack
    told = [] if gone or moved else seen.picture.said("lost-when-links-restart")
    if not (gone and seen.restarted) and not told:
        return None
    host = next((one.host for one in seen.restarted if one.host), "")
    who = culprits(Culprit("program", "systemd-networkd"), Culprit("setting", "ManageForeignRoutes"),
                   named("node", host))  # fmt: skip
    return found(STRONG if gone else LIKELY, who, (*seen.restarted[:1], *gone, *told[:1]), node=host)


def unmanaged(seen: Seen) -> Finding | None:
    links = (*seen.listed, *seen.networkd)
    return ruled_out(links[:2]) if links and all(link.state == "unmanaged" for link in links) else None


def restart_hurts(seen: Seen) -> Finding | None:
    """Pods lose their routes whenever such a program begins anew."""
    told = seen.picture.said("link-manager-hurts")
    if not told:
        return None
    mine = [link for link in seen.listed if link.state != "unmanaged"]
    networkd = "networkd" in told[0].text.lower()
    manager = "systemd-networkd" if networkd else "NetworkManager"
    who = culprits(Culprit("program", manager), named("interface", *(link.device for link in mine[:4])), seen.culprits)
    evidence = (*told[:1], *mine[:2], *seen.lost[:1])
    return found(
        STRONG if mine else POSSIBLE, who, evidence, manager=manager, node=seen.host,
        devices=[link.device for link in mine[:2]],
    )  # fmt: skip


def routes_deleted(seen: Seen) -> Finding | None:
    if not seen.lost:
        return None
    strength = LIKELY if seen.deleted and seen.said else POSSIBLE
    return found(strength, seen.culprits, (*seen.lost[:2], *seen.said[:1]), node=seen.host)


def _networkd(picture: Picture) -> list[Link]:
    """What systemd-networkd does with Calico's links: its list, and its status of one of them."""
    rows_listed = rows(picture, _NETWORKCTL, "networkctl")
    links = [Link(row["device"], row["state"], row.place, row.host) for row in rows_listed]
    for exhibit in picture.exhibits:
        if "networkctl status" not in exhibit.command:
            continue
        head = next((line for line in exhibit.lines if line.lstrip().startswith("●")), "")
        device = compiled(_DEVICE).search(head or exhibit.command)
        for index, line in enumerate(exhibit.lines):
            state, file = compiled(_STATUS).search(line), compiled(_FILE).search(line)
            if device and (state or file):
                word = state["state"] if state else "configured"
                links.append(Link(device["device"], word, exhibit.place(index), exhibit.host))
    return links


def _host(*groups: Sequence[object]) -> str:
    return next((host for group in groups for item in group if (host := getattr(item, "host", ""))), "")


def fix(_picture: Picture, finding: Finding) -> Iterator[Do]:
    if finding.rule == "fallen":
        yield from _leave_alone(finding.value("manager")) if finding.value("manager") else [do("who-runs")]
        return
    if finding.rule == "other-service":
        yield do("other-service")
        return
    if finding.rule == "swept":
        yield do("foreign-routes")
        yield do("networkd-restart")
        return
    if finding.rule == "addressed":
        yield from _fix_addressed(finding)
        return
    if finding.value("manager") not in ("", "NetworkManager"):
        yield from _leave_alone(finding.value("manager"))
        return
    if not finding.value("manager"):
        yield do("who")
    yield do("networkmanager")
    yield do("networkmanager-reload")


def _fix_addressed(finding: Finding) -> Iterator[Do]:
    manager = finding.value("manager")
    if not manager:
        yield do("who-runs")
    else:
        yield from _leave_alone(manager)
    if finding.say == "default-taken":
        yield do("default-back")
    yield do("address-away")


def _leave_alone(manager: str) -> Iterator[Do]:
    if manager in ("connman", "dhcpcd"):
        yield do(manager)
        yield do(f"{manager}-restart")
    elif manager in ("systemd-networkd", "NetworkManager"):
        name = "networkd" if manager == "systemd-networkd" else "networkmanager"
        yield do(name)
        yield do(f"{name}-reload")
    else:
        yield do("other-service")


CAUSE = Cause(
    module=__name__,
    id="networkmanager-interference",
    code="TRT7008",
    severity="high",
    explains=("traffic-dead", "service-dead", "log-errors", "restarts"),
    signs=(CONNECTING, STATE_CHANGE, ROUTE_DELETED, ROUTE_REFUSED),
    look=Seen,
    rules=(addressed, managed, other_service, fallen, swept, unmanaged, restart_hurts, routes_deleted),
    fix=fix,
)
