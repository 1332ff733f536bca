"""TRT7003: Felix writes one iptables backend, the host and kube-proxy use the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import (
    LIKELY,
    POSSIBLE,
    PROVEN,
    STRONG,
    Cause,
    Do,
    Finding,
    do,
    found,
    places,
    ruled_out,
)
from tortie.doctor.causes.culprits import Culprit, culprits, named, objects
from tortie.doctor.causes.kernel.backend_evidence import (
    chosen,
    counts_elsewhere,
    forward_drops,
    legacy_cured,
    legacy_loaded,
    nft_by_system,
    views_without,
    writers_run,
)
from tortie.doctor.causes.kernel.whose_node import elsewhere, node_of
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.underlay.traffic_evidence import counted, trouble
from tortie.doctor.picture.facts import FilterRule
from tortie.doctor.picture.host_pods import AGENTS
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.places import exhibit_at
from tortie.doctor.signs import Sign
from tortie.doctor.texts import Text
from tortie.model.tuples import NamedTuple

FELIX_MODE = Sign("backend-felix-mode", 'backendMode="<backend>"')
FELIX_DETECTED = Sign("backend-felix-detected", 'Detected iptables backend… detected="<backend>"')
IPTABLES_VERSION = Sign("backend-iptables-version", "iptables v<version> \\(<backend>\\)")
LEGACY_PRESENT = Sign("backend-legacy-present", "Warning: iptables-legacy tables present")
INCOMPATIBLE = Sign("backend-nft-incompatible", "is incompatible, use 'nft' tool")
UNREADABLE = Sign("backend-table-unreadable", "Table `<table>' is incompatible, use 'nft' tool")
INSERTS_GONE = Sign("backend-inserts-gone", "Detected out-of-sync inserts")
ENV, FIELD = "FELIX_IPTABLESBACKEND", "iptablesBackend"
# kubelet keeps a few KUBE chains of its own in the host's backend; kube-proxy's rules outnumber them by far.
FAR_MORE: Final = 10
NFTABLES_MODE: Final = (3, 29)  # releases that may write nftables themselves


class Side(NamedTuple):
    backend: str  # legacy or nft; empty when nothing says
    evidence: tuple[object, ...]
    host: str = ""


class Rules(NamedTuple):
    """Where such rules were counted."""

    backend: str  # the one that has them; empty when both do, or nothing is counted
    both: bool
    evidence: tuple[object, ...]


class Seen:
    """Which backend Felix, the host, Calico's rules and kube-proxy's rules are in."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.felix, self.host = _felix(picture), _host(picture)
        self.cali, self.kube = _rules(picture, "cali", self.host), _rules(picture, "KUBE", self.host)
        self.warning = picture.hits(LEGACY_PRESENT, INCOMPATIBLE)
        self.trouble = trouble(picture)

    @property
    def culprits(self) -> tuple[Culprit, ...]:
        return culprits(
            Culprit("setting", FIELD),
            named("program", self.felix.backend, self.host.backend),
            named("node", self.host.host),
            Culprit("program", "iptables"),
        )

    @property
    def evidence(self) -> tuple[object, ...]:
        rules = (*self.cali.evidence[:2], *self.kube.evidence[:1])
        return (*self.felix.evidence[:2], *self.host.evidence[:1], *rules, *self.warning[:1], *self.trouble[:1])

    def found(self, strength: float, say: str, felix: str, other: str) -> Finding:
        return found(
            strength, self.culprits, self.evidence, say=say, felix=felix, other=other,
            # Nothing is drained on a guess.
            node=node_of(self.picture, self.host.host) if self.host.host else "",
        )  # fmt: skip


def rules_together(seen: Seen) -> Finding | None:
    if not seen.cali.backend or seen.cali.backend != seen.kube.backend:
        return None
    return ruled_out(seen.evidence, backend=seen.cali.backend)


def rules_apart(seen: Seen) -> Finding | None:
    if seen.cali.backend and seen.kube.backend:
        return seen.found(PROVEN, "rules-apart", seen.cali.backend, seen.kube.backend)
    # What Felix wrote before it changed sides is still there: its log says where it writes now.
    if seen.cali.both and seen.felix.backend and seen.kube.backend not in ("", seen.felix.backend):
        return seen.found(STRONG, "rules-apart", seen.felix.backend, seen.kube.backend)
    return None


def table_unreadable(seen: Seen) -> Finding | None:
    """A rule of nft's own in a table of iptables': that tool reads nothing of it, and Felix writes its rules anew."""
    tables = {hit.value("table"): hit for hit in seen.picture.hits(UNREADABLE)}
    gone = [hit for hit in seen.picture.hits(INSERTS_GONE) if "actualRuleIDs=[]string{}" in hit.line]
    gone = [hit for hit in gone if any(f'table="{name}"' in hit.line for name in tables)]
    if not gone:
        return None
    table = next(name for name in tables if f'table="{name}"' in gone[0].line)
    who = culprits(named("rule", table), Culprit("program", "nft"), named("node", gone[0].host))
    return found(PROVEN, who, (tables[table], gone[0]), table=table)


def one_backend(seen: Seen) -> Finding | None:
    same = seen.felix.backend and seen.felix.backend == seen.host.backend
    return ruled_out(seen.evidence, backend=seen.host.backend) if same else None


def two_backends(seen: Seen) -> Finding | None:
    if not (seen.felix.backend and seen.host.backend):
        return None
    proof = seen.warning or seen.kube.backend == seen.host.backend
    strength = PROVEN if proof else STRONG if seen.trouble else LIKELY
    if seen.kube.backend == seen.felix.backend:
        strength = POSSIBLE  # the rules are together, and only the host's own tool is of the other kind
    return seen.found(strength, "two-backends", seen.felix.backend, seen.host.backend)


def dropped_by_the_other(seen: Seen) -> Finding | None:
    """Calico accepts in one backend what the other one's FORWARD drops: a packet has to pass both."""
    rules = [rule for rule in seen.picture.of(FilterRule) if rule.chain == "FORWARD"]
    sides: dict[str, list[FilterRule]] = {}
    for rule in rules:
        sides.setdefault(_listed_in(seen.picture, rule), []).append(rule)
    for mine, other in (("legacy", "nft"), ("nft", "legacy")):
        calico = next((rule for rule in sides.get(mine, ()) if rule.verdict == "cali-FORWARD"), None)
        drops = next((rule for rule in sides.get(other, ()) if rule.refuses and (rule.policy or rule.of_all)), None)
        absent = all(rule.verdict != "cali-FORWARD" for rule in sides.get(other, ()))
        if calico and drops and absent:
            strength = STRONG if seen.trouble or seen.picture.said("suffers") else LIKELY
            shown = seen.found(strength, "dropped-by-the-other", mine, other)
            return shown._replace(evidence=(drops.place, calico.place, *shown.evidence))
    return None


def _listed_in(picture: Picture, rule: FilterRule) -> str:
    """The backend of a listing: by its command, or by the warning that only nft's tool prints."""
    exhibit = exhibit_at(picture, rule.place)
    if exhibit is None:
        return ""
    if "legacy" in exhibit.command:
        return "legacy"
    return "nft" if "nft" in exhibit.command or "iptables-legacy tables present" in exhibit.text else ""


def host_sees_none(seen: Seen) -> Finding | None:
    """Who is ready has written its rules; a node's own tool that shows none of them reads the other backend."""
    views = [] if _by_nftables(seen.picture) else views_without(seen.picture)
    if not views or seen.felix.backend or not writers_run(seen.picture):
        return None
    view = next((view for view in views if view.word.startswith("cali")), views[0])
    backend = _host_backend(seen.picture, view.host, seen.host)
    other_node = next((place for one in views if (place := counts_elsewhere(seen.picture, one))), None)
    cured, loaded = legacy_cured(seen.picture), legacy_loaded(seen.picture, view.host)
    suffers = seen.trouble or seen.picture.said("suffers") or seen.picture.said("service-dead", "network-dead")
    # Rules in the other backend are shown there, or were made to meet on another node.
    shown = seen.picture.hits(LEGACY_PRESENT) or (backend == "nft" and (other_node or cured or loaded))
    strength = (STRONG if suffers else LIKELY) if shown else POSSIBLE
    if strength == POSSIBLE and suffers and forward_drops(seen.picture, view) and nft_by_system(seen.picture):
        release = seen.picture.version("calico")
        strength = LIKELY if release is None or release < NFTABLES_MODE else POSSIBLE
        backend = backend or "nft"
    told = seen.found(strength, "host-sees-none", "legacy" if backend == "nft" else "", backend)
    node = node_of(seen.picture, view.host) if view.host else ""
    who = culprits(told.culprits, named("node", node))
    return told._replace(
        evidence=places((view.place, *seen.warning[:1], other_node, cured, loaded, *told.evidence)), culprits=who,
        objects=objects(who), values=(*(pair for pair in told.values if pair[0] != "node"), ("node", node),
        ("whose", Text(__name__, "word calico" if view.word.startswith("cali") else "word kube-proxy"))),
    )  # fmt: skip


def _host_backend(picture: Picture, host: str, side: Side) -> str:
    """As the node's tool says, or its warning, or what the system's alternatives chose."""
    if side.backend and host in ("", side.host):
        return side.backend
    picked = next((backend for where, backend, _ in chosen(picture) if where == host), "")
    return picked or ("nft" if picture.hits(LEGACY_PRESENT) else "")


def _by_nftables(picture: Picture) -> bool:
    """Felix can write tables of nftables itself, which no iptables shows."""
    mode = picture.value("nftablesMode") or picture.value("FELIX_NFTABLESMODE")
    return mode.strip("\"'").lower() in ("enabled", "auto") or bool(picture.commands("nft list", "calico"))


def tables_of_both(seen: Seen) -> Finding | None:
    if not (seen.warning and (seen.felix.backend or seen.host.backend or seen.trouble)):
        return None
    return seen.found(POSSIBLE, "tables-of-both", seen.felix.backend, seen.host.backend or "nft")


def _felix(picture: Picture) -> Side:
    """What Felix uses: what its log says last, then what it was told."""
    said = sorted(picture.hits(FELIX_MODE, FELIX_DETECTED), key=lambda hit: hit.place.first)
    for hit in reversed(said):
        if backend := _name(hit.value("backend")):
            return Side(backend, (_told(picture), hit))
    told = _told(picture)
    if told is not None and (backend := _name(getattr(told, "value", ""))):
        return Side(backend, (told,))
    for hit in picture.hits(IPTABLES_VERSION):
        if "exec" in hit.command and (backend := _name(hit.value("backend"))):
            return Side(backend, (hit,))
    return Side("", ())


def _told(picture: Picture) -> object | None:
    return picture.setting(ENV) or picture.setting(FIELD)


def _host(picture: Picture) -> Side:
    for hit in picture.hits(IPTABLES_VERSION):
        on_host = "exec" not in hit.command and not hit.prose and not elsewhere(picture, hit.host)
        if on_host and (backend := _name(hit.value("backend"))):
            return Side(backend, (hit,), hit.host)
    return Side("", ())


def _rules(picture: Picture, word: str, host: Side) -> Rules:
    """The backend in which such rules were counted and the other one has none, or next to none."""
    counts: dict[str, tuple[int, object]] = {}
    for command, number, exhibit in counted(picture, word):
        backend = _counted_in(command, host.backend)
        here = not (host.host and exhibit.host) or exhibit.host == host.host  # another node is shown to compare
        if backend and here and _of_the_host(command, exhibit.command):
            counts[backend] = (number, exhibit.place(0))
    places = tuple(place for _, place in counts.values())
    full = sorted(((number, backend) for backend, (number, _) in counts.items() if number > 0), reverse=True)
    if len(full) == 1:
        return Rules(full[0][1], False, places)
    if len(full) == 2:
        return Rules(full[0][1] if full[0][0] >= FAR_MORE * full[1][0] else "", True, places)
    if len(counts) == 1 and picture.hit(LEGACY_PRESENT):
        return Rules("legacy" if "nft" in counts else "nft", False, places)
    return Rules("", False, places)


def _of_the_host(counting: str, typed: str) -> bool:
    """The agent shares its host's tables, but plain `iptables` in its container is the image's own kind."""
    named = "legacy" in counting or "nft" in counting
    return "exec" not in typed or (named and any(agent in typed for agent in AGENTS))


def _counted_in(command: str, host: str) -> str:
    if "legacy" in command:
        return "legacy"
    return "nft" if "nft" in command else host if "iptables" in command else ""


def _name(text: str) -> str:
    low = text.lower()
    return "nft" if low in ("nft", "nf_tables", "nftables") else "legacy" if low == "legacy" else ""


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    if finding.rule == "host-sees-none" and finding.value("felix") == "legacy":
        yield do("host")  # programs of that time know no other backend
        yield do("reboot")
        return
    if finding.rule == "table-unreadable":
        yield do("own-table")
        return
    value = {"legacy": "Legacy", "nft": "NFT"}.get(finding.value("other"), "Auto")
    yield from ways.set_felix(picture, FIELD, f'"{value}"')
    yield do("reboot")


CAUSE = Cause(
    module=__name__,
    id="iptables-backend-mismatch",
    code="TRT7003",
    severity="high",
    explains=("traffic-dead", "service-dead", "not-ready", "log-errors"),
    signs=(FELIX_MODE, FELIX_DETECTED, IPTABLES_VERSION, LEGACY_PRESENT, INCOMPATIBLE, UNREADABLE, INSERTS_GONE),
    look=Seen,
    rules=(
        rules_together,
        rules_apart,
        table_unreadable,
        one_backend,
        two_backends,
        dropped_by_the_other,
        host_sees_none,
        tables_of_both,
    ),
    fix=fix,
)
