"""TRT7009: an ip rule ahead of the main table sends answers to pods out of the uplink, or takes pods' marks for its."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.kernel.mark_evidence import MAIN, failing_behind, free_bits, overlapping
from tortie.doctor.causes.kernel.whose_node import elsewhere, node_of
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.underlay.traffic_evidence import Row, remote_routes, rows, trouble
from tortie.doctor.picture.addresses import inside
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

CLOUD_SETUP = Sign("rule-nm-cloud-setup", "nm-cloud-setup")
NM_PRIORITIES: Final = range(30000, 31000)  # nm-cloud-setup uses 30200 and 30400
# Tables that hold nothing but what their owner reaches: Tailscale's, and those of VRFs.
OTHERS_OWN: Final = ("main", "local", "default", "52", "[l3mdev-table]")
_RULE = r"^\s*(?P<priority>\d+):\s+(?P<selector>(?:not )?from .+?)\s+lookup\s+(?P<table>\S+)"


class Seen:
    """The rules, those of them that are asked before the main table, and what makes them."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        listed = rows(picture, _RULE, needle=" lookup ")
        self.shown = [row for row in listed if not elsewhere(picture, row.host)]
        self.ahead = [row for row in self.shown if 0 < int(row["priority"]) < MAIN and _overrides(picture, row)]
        self.unit = next((hit for hit in picture.hits(CLOUD_SETUP) if not hit.prose), None)

    @cached_property
    def trouble(self) -> list[object]:
        return trouble(self.picture)

    @property
    def by_cloud_setup(self) -> bool:
        return self.unit is not None or any(int(row["priority"]) in NM_PRIORITIES for row in self.ahead)

    @cached_property
    def routes(self) -> list[Row]:
        return _table(self.picture, self.ahead[0]["table"])

    @property
    def strength(self) -> float:
        """Of the unit, the symptom, the table and the priority three prove it together."""
        made = self.by_cloud_setup
        certain = [bool(self.unit), bool(self.trouble), bool(self.routes), made]
        if sum(certain) >= 3:
            return PROVEN
        if made or (self.trouble and self.routes):
            return STRONG
        return LIKELY if any(certain) else POSSIBLE

    @property
    def culprits(self) -> tuple[Culprit, ...]:
        first, *others = self.ahead
        selector, table = first["selector"], first["table"]
        return culprits(
            named("unit", "nm-cloud-setup" if self.by_cloud_setup else ""),
            named("rule", first["priority"], f"{selector} lookup {table}", table, selector.removeprefix("from ")),
            named("rule", *(row["priority"] for row in others[:2])),
            named("node", first.host),
            Culprit("program", "ip rule"),
        )


def table_takes_pods(seen: Seen) -> Finding | None:
    """A table that is asked before the main one has a route for other nodes' blocks, and it leads elsewhere."""
    for rule in seen.shown:
        if not 0 < int(rule["priority"]) < MAIN or "fwmark" in rule["selector"] or " to " in rule["selector"]:
            continue
        taken = _taking_pods(seen.picture, rule)
        if taken and rule["selector"].strip() == "from all":
            who = culprits(
                named("rule", rule["priority"], rule["table"], f"from all lookup {rule['table']}"),
                named("node", rule.host), Culprit("program", "ip rule"),
            )  # fmt: skip
            return found(
                STRONG if seen.trouble else LIKELY, who, (rule, *taken[:2], *seen.trouble[:2]), say="rule-ahead",
                priority=rule["priority"], selector=rule["selector"], table=rule["table"], node=_node(seen, rule),
            )  # fmt: skip
    return None


def marks_overlap(seen: Seen) -> Finding | None:
    """The other program is there on many machines: only what fails behind its table speaks for it."""
    overlap = overlapping(seen.picture, seen.shown)
    if overlap is None:
        return None
    rule, behind = overlap
    failing = failing_behind(seen.picture, _table(seen.picture, behind["table"]), behind["table"])
    if not failing and not seen.trouble:
        return None
    who = culprits(
        named(
            "rule", rule["priority"], rule["selector"].removeprefix("from all "), behind["priority"], behind["table"]
        ),
        Culprit("setting", "iptablesMarkMask"),
        named("node", rule.host),
    )
    return found(
        STRONG if failing else POSSIBLE, who, (rule, behind, *(failing or seen.trouble)[:2]),
        priority=rule["priority"], selector=rule["selector"], table=behind["table"],
        node=_node(seen, rule), mask=free_bits(rule),
    )  # fmt: skip


def nothing_ahead(seen: Seen) -> Finding | None:
    return ruled_out(seen.shown[:3]) if seen.shown and not seen.ahead else None


def cloud_setup_runs(seen: Seen) -> Finding | None:
    if seen.ahead or seen.unit is None or not seen.trouble:
        return None
    unit: Hit = seen.unit
    return found(POSSIBLE, named("unit", "nm-cloud-setup"), (unit,), made_by="nm-cloud-setup", node=unit.host)


def rule_ahead(seen: Seen) -> Finding | None:
    if not seen.ahead:
        return None
    rule = seen.ahead[0]
    evidence = (seen.unit, *seen.ahead[:2], *seen.routes[:2], *seen.trouble[:2])
    return found(
        seen.strength, seen.culprits, evidence,
        priority=rule["priority"], selector=rule["selector"], table=rule["table"],
        made_by="nm-cloud-setup" if seen.by_cloud_setup else "", node=_node(seen, rule),
    )  # fmt: skip


def _node(seen: Seen, rule: Row) -> str:
    return node_of(seen.picture, rule.host) if rule.host else ""  # nothing is drained on a guess


def _overrides(picture: Picture, row: Row) -> bool:
    """Neither a mark (WireGuard, meshes) nor a pod's own rule: it catches what the host itself sends."""
    selector = row["selector"]
    if "fwmark" in selector or row["table"] in OTHERS_OWN:
        return False
    _, to, target = selector.partition(" to ")
    return not to or _takes_pods(picture, row, target.split()[0])


def _takes_pods(picture: Picture, row: Row, network: str) -> bool:
    """A rule for a network that holds other nodes' blocks, whose table is shown and leads to no tunnel."""
    routes = [route for kind in ("ipip", "vxlan", "bare") for route in remote_routes(picture, kind)]
    blocks = [route.destination.split("/")[0] for route in routes if route.host in ("", row.host) and not route.table]
    table = _table(picture, row["table"])
    tunnels = any(device in line.match.string for line in table for device in (" dev tunl", " dev vxlan", " dev wire"))
    return bool(table) and not tunnels and any(inside(block, network) for block in blocks)


def _taking_pods(picture: Picture, rule: Row) -> list[Row]:
    if rule["table"] in ("main", "local", "default"):
        return []
    return [
        line
        for line in _table(picture, rule["table"])
        if (words := line.match.string.split()) and words[0] != "default"
        and not any(device in line.match.string for device in (" dev tunl", " dev vxlan", " dev wireguard"))
        and _holds_blocks(picture, rule.host, words[0])
    ]  # fmt: skip


def _holds_blocks(picture: Picture, host: str, network: str) -> bool:
    routes = [route for kind in ("ipip", "vxlan", "bare") for route in remote_routes(picture, kind)]
    blocks = [route.destination.split("/")[0] for route in routes if route.host in ("", host) and not route.table]
    return "/" in network and any(inside(block, network) for block in blocks)


def _table(picture: Picture, table: str) -> list[Row]:
    """Routes of that table, when it sends to the uplink and knows no pod."""
    listed = list(rows(picture, rf"^(?!\s*\d+:).*\btable {table}\b", needle=" table ")) + list(
        rows(picture, r"^(?:default|\d+\.\d+\.\d+\.\d+\S*)\s.*\bdev\b", f"show table {table}", f"list table {table}")
    )
    return [] if any(" dev cali" in row.match.string for row in listed) else listed


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    if _marks(picture, finding):
        yield do("other-marks")
        if mask := finding.value("mask"):
            yield from ways.set_felix(picture, "iptablesMarkMask", mask)
        return
    if _cloud_setup(picture, finding):
        yield do("cloud-setup")
        yield do("reboot")
        return
    before = max(1, int(finding.value("priority", "101")) - 1)
    pods = next((pool.cidr for pool in picture.pools_now() if pool.cidr and ":" not in pool.cidr), "")
    yield do("pods-first", before=before, pod_cidr=pods)
    yield do("origin")
    yield do("remove")


def _cloud_setup(_picture: Picture, finding: Finding) -> bool:
    return finding.value("made_by") == "nm-cloud-setup"


def _marks(_picture: Picture, finding: Finding) -> bool:
    return finding.rule == "marks-overlap"


CAUSE = Cause(
    module=__name__,
    id="policy-routing-override",
    code="TRT7009",
    severity="high",
    explains=("traffic-dead", "service-dead", "not-ready", "killed-by-liveness"),
    signs=(CLOUD_SETUP,),
    look=Seen,
    rules=(table_takes_pods, marks_overlap, nothing_ahead, cloud_setup_runs, rule_ahead),
    fix=fix,
    prevents={
        "cloud-setup": _cloud_setup,
        "scripts": lambda picture, finding: not (_cloud_setup(picture, finding) or _marks(picture, finding)),
        "marks": _marks,
    },
)
