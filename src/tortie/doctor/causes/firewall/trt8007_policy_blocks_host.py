"""TRT8007: a global policy selects host endpoints and cuts the node's own traffic."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import HINT, LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.surroundings import keeps_in_etcd
from tortie.doctor.causes.underlay.traffic_evidence import Row, rows, tcp_fails
from tortie.doctor.causes.ways import remove_policy
from tortie.doctor.picture.facts import Document, FilterRule
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign
from tortie.model.tuples import NamedTuple

AUTO_HEP: Final = Sign("policy-auto-hep", "<node>-auto-hep")
# kube-controllers makes an endpoint for every host where this is said; typed, in the resource, or as a patch.
AUTO_CREATE: Final = Sign("policy-auto-create", 'autoCreate(")?: (")?Enabled')
NO_POLICY_PASSED: Final = Sign("policy-host-drop", "Drop if no policies passed packet")
POLICY_COMMANDS: Final = ("gnp", "globalnetworkpolic")
HEP_COMMANDS: Final = ("hep", "hostendpoint")
GLOBAL: Final = Culprit("resource", "GlobalNetworkPolicy")
_POLICY_ROW: Final = r"^(?P<name>[a-z][\w.-]*)\s+(?:\S+\s+)*?(?P<selector>all\(\))?\s*$"
_HEP_ROW: Final = r"^(?P<name>[\w.-]+)\s+(?P<node>[\w.-]+)"
_DROPS: Final = r"(?P<chain>cali-[ft]h-[\w.-]+).*\bDROP\b|\bDROP\b.*(?P<other>cali-[ft]h-[\w.-]+)"
_OF_HOSTS: Final = ("has(kubernetes-host)", "has(node", "has(host", "has(kubernetes.io/hostname")
_SHOWN: Final = 3


class Policy(NamedTuple):
    """A global policy that selects hosts and does not let everything in."""

    name: str
    severe: bool  # allows nothing at all
    shown: Document | Row


class Seen:
    """Host endpoints, policies that select them, their counters, and what no longer works."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.heps = _host_endpoints(picture)
        typed = [one.place(0) for one in picture.commands("autoCreate") if "Enabled" in one.command]
        self.made: list[Hit | Place] = [*picture.hits(AUTO_CREATE), *typed]
        self.names = list(self.heps)[:_SHOWN]
        self.places = list(self.heps.values())
        self.drops: list[Row | FilterRule] = [row for row in _host_drops(picture) if _count(row) > 0]
        self.drops += [] if self.drops else _listed_drops(picture)

    @cached_property
    def policies(self) -> list[Policy]:
        return _policies(self.picture)

    @cached_property
    def unreachable(self) -> list[object]:
        return [*self.picture.said("policy-applied", "api-unreachable"), *tcp_fails(self.picture)]

    @cached_property
    def harm(self) -> list[object]:
        lost = [node for node in self.picture.nodes_now().values() if node.status.startswith("NotReady")]
        return [*self.drops, *self.unreachable, *lost]

    @property
    def chains(self) -> tuple[Culprit, ...]:
        shown = [row for row in self.drops if isinstance(row, Row)]
        texts = [text for row in shown for text in (row.match.string, row.command)]
        texts += [rule.chain for rule in self.drops if isinstance(rule, FilterRule)]
        found_chains = [name for text in texts for name in re.findall(r"cali-[ft]h-?[\w.-]*", text)]
        return named("rule", *list(dict.fromkeys(found_chains))[:_SHOWN])

    @property
    def master(self) -> str:
        """The one machine of the control plane, where the API still answers."""
        nodes = self.picture.nodes_now().values()
        masters = [node.name for node in nodes if "control-plane" in node.roles or "master" in node.roles]
        return masters[0] if len(masters) == 1 else ""


def _host_endpoints(picture: Picture) -> dict[str, object]:
    names: dict[str, object] = {hit.text: hit for hit in picture.hits(AUTO_HEP) if not hit.prose}
    for document in picture.of(Document):
        if document.kind == "HostEndpoint":
            names.setdefault(document.name, document)
    for row in rows(picture, _HEP_ROW, *[f"get {word}" for word in HEP_COMMANDS]):
        if row["name"] not in ("NAME", "No") and ":" not in row.match.string:
            names.setdefault(row["name"], row)
    return names


def _policies(picture: Picture) -> list[Policy]:
    chosen: dict[str, Policy] = {}
    for document in picture.of(Document):
        if document.kind == "GlobalNetworkPolicy":
            spec = document.body.get("spec")
            severe = _cuts(spec if isinstance(spec, dict) else {})
            if severe is not None:
                chosen.setdefault(document.name, Policy(document.name, severe, document))
    for row in rows(picture, _POLICY_ROW, *POLICY_COMMANDS):
        if row["selector"] and row["name"] != "NAME":
            chosen.setdefault(row["name"], Policy(row["name"], False, row))
    return sorted(chosen.values(), key=lambda policy: not policy.severe)


def _cuts(spec: dict[str, object]) -> bool | None:
    """None: it does not select hosts, or lets all in. True: no rule allows anything."""
    selector = str(spec.get("selector") or "").replace(" ", "")
    if selector not in ("", "all()") and not selector.startswith(_OF_HOSTS):
        return None
    if spec.get("namespaceSelector") or spec.get("doNotTrack"):
        return None
    types = spec.get("types")
    directions = types if isinstance(types, list) and types else _default_types(spec)
    verdicts = [_allows_nothing(spec.get(way.lower())) for way in ("Ingress", "Egress") if way in directions]
    known = [verdict for verdict in verdicts if verdict is not None]
    return any(known) if known else None


def _default_types(spec: dict[str, object]) -> list[str]:
    """Calico's own rule: what a policy has rules for; ingress where it has none at all."""
    egress = ["Egress"] if spec.get("egress") else []
    return [*(["Ingress"] if spec.get("ingress") or not egress else []), *egress]


def _allows_nothing(rules: object) -> bool | None:
    """None: a rule allows everything in this direction."""
    listed = rules if isinstance(rules, list) else []
    allows = [rule for rule in listed if isinstance(rule, dict) and rule.get("action") == "Allow"]
    return None if any(set(rule) <= {"action", "metadata"} for rule in allows) else not allows


def _host_drops(picture: Picture) -> list[Row]:
    direct = list(rows(picture, _DROPS, needle="DROP"))
    return direct + list(
        rows(
            picture,
            r"DROP.*Drop if no (?:policies passed packet|profiles matched)",
            "cali-fh",
            "cali-th",
            needle="DROP",
        )
    )


def _listed_drops(picture: Picture) -> list[FilterRule]:
    """Below the head of such a chain, in a list whose command is not shown."""
    ends = (rule for rule in picture.of(FilterRule) if rule.refuses and rule.of_all and rule.packets)
    return [rule for rule in ends if rule.chain.startswith(("cali-fh-", "cali-th-"))]


def _count(row: Row) -> int:
    first = row.match.string.strip().lstrip("[").replace(":", " ").split()[0]
    if first[:-1].isdecimal() and first[-1] in "KMG":
        return int(first[:-1]) * 1000
    return int(first) if first.isdecimal() else 0


def no_host_endpoints(seen: Seen) -> Finding | None:
    asked = [exhibit for word in HEP_COMMANDS for exhibit in seen.picture.commands("get", word)]
    if not asked or seen.heps or seen.drops:
        return None
    return ruled_out((asked[0].place(0),) if asked[0].lines else ())


def selects_hosts(seen: Seen) -> Finding | None:
    if not seen.policies:
        return None
    policy = seen.policies[0]
    blamed = culprits(named("resource", policy.name), GLOBAL, named("resource", *seen.names), seen.chains)
    evidence = (policy.shown, *(seen.places or seen.made)[:2], *seen.harm[:3])
    return found(
        _strength(seen, policy), blamed, evidence, say="selects-hosts" if policy.severe else "allows-too-little",
        policy=policy.name, master=seen.master,
    )  # fmt: skip


def _strength(seen: Seen, policy: Policy) -> float:
    if not seen.heps and not seen.drops and not seen.made:
        return POSSIBLE if seen.harm else HINT
    if isinstance(policy.shown, Row):  # only its selector is shown, not what it allows
        return STRONG if seen.drops or seen.unreachable else LIKELY if seen.harm else POSSIBLE
    return PROVEN if seen.harm and seen.heps else STRONG if policy.severe or seen.drops else LIKELY


def hosts_dropped(seen: Seen) -> Finding | None:
    if not seen.drops:
        return None
    blamed = culprits(seen.chains, named("resource", *(seen.names or ["HostEndpoint"])))
    return found(
        STRONG if seen.heps or seen.made else LIKELY, blamed, (*seen.drops[:2], *seen.places[:1]), master=seen.master
    )


def policies_not_shown(seen: Seen) -> Finding | None:
    fits = seen.heps and seen.harm
    return found(POSSIBLE, named("resource", *seen.names), seen.places[:1], master=seen.master) if fits else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    if policy := finding.value("policy"):
        yield do("keep-in-etcd" if keeps_in_etcd(picture) else "keep")
        yield from remove_policy(picture, policy, locally=True)
        yield do("narrow")
    else:
        yield do("policies")
    yield do("failsafe")


CAUSE = Cause(
    module=__name__,
    id="policy-blocks-host",
    code="TRT8007",
    severity="critical",
    explains=(
        "api-unreachable", "node-not-ready", "bgp-down", "traffic-dead", "not-ready", "status-stale", "datastore-error",
    ),
    signs=(AUTO_HEP, AUTO_CREATE, NO_POLICY_PASSED),
    look=Seen,
    rules=(no_host_endpoints, selects_hosts, hosts_dropped, policies_not_shown),
    fix=fix,
)  # fmt: skip
