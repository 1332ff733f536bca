"""A start that is only thought through: every decision here and now, with its reasons, and nothing written."""

from __future__ import annotations

from typing import Any, NamedTuple

from tortie.addressing.choice import Rejected
from tortie.addressing.pools import PoolChoice
from tortie.model.errors import TortieError, UsageError
from tortie.model.network import Family
from tortie.node.decisions import Addressed, Judged
from tortie.node.name import NodeName
from tortie.node.registration import Write
from tortie.node.settings import Reading, listing


class Datastore(NamedTuple):
    where: str
    error: TortieError | None = None
    nodes: int = 0  # registered, without this one
    seconds: float = 0.0  # what the one read took


class Replay(NamedTuple):
    """What Calico of some version would register here."""

    version: str
    addressed: tuple[Addressed, ...]


class Explanation(NamedTuple):
    reading: Reading
    name: NodeName
    datastore: Datastore
    addressed: tuple[Addressed, ...]
    judged: tuple[Judged, ...]
    pools: dict[Family, PoolChoice]
    writes: tuple[Write, ...]
    warnings: tuple[str, ...]
    own_record: str = ""  # why this node's own record cannot be worked with
    replay: Replay | None = None
    obstacles: tuple[str, ...] = ()  # what of the machine itself stands in the way: folders, ports

    @property
    def refused(self) -> list[str]:
        """Why the start would end at once: settings and names that cannot be meant."""
        found = [str(each) for each in self.reading.refused]
        found += [f"{problem.what}: {problem.why}" for problem in self.name.problems]
        error = self.datastore.error
        return [*found, f"{error.what}: {error.why}"] if isinstance(error, UsageError) else found

    @property
    def blocked(self) -> list[str]:
        """Why the node would stay live, but not become ready."""
        error = self.datastore.error
        found = [error.what] if error and not isinstance(error, UsageError) else []
        found += [f"the own Node record cannot be read: {self.own_record}"] if self.own_record else []
        found += [each.decision.failure for each in self.addressed if each.decision.failure]
        found += [each.verdict.what for each in self.judged if each.verdict.blocks]
        return found + list(self.obstacles)

    @property
    def verdict(self) -> str:
        return "refused" if self.refused else "blocked" if self.blocked else "starts"

    @property
    def exit_code(self) -> int:
        return 2 if self.refused else 3 if self.blocked else 4 if self.warnings else 0

    def as_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "apiVersion": "tortie/v1",
            "kind": "StartExplanation",
            "verdict": self.verdict,
            "refused": self.refused,
            "refusedSettings": [each.as_json() for each in self.reading.refused],
            "blocked": self.blocked,
            "warnings": list(self.warnings),
            "name": {"name": self.name.name, "source": self.name.source},
            "settings": [row._asdict() for row in listing(self.reading)],
            "datastore": self._datastore(),
            "address": None,
            "conflicts": [
                {
                    "node": each.conflict.other,
                    "address": str(each.conflict.ip),
                    "judgement": each.verdict.kind,
                    "blocks": each.verdict.blocks,
                    "what": each.verdict.what,
                    "why": each.verdict.why,
                    "fix": each.verdict.fix,
                }
                for each in self.judged
            ],
            "pools": [
                {
                    "family": family,
                    "cidr": str(pool.cidr) if pool.cidr and not pool.random else None,
                    "random": pool.random,
                    "reasons": list(pool.reasons),
                    "skipped": pool.skipped,
                    "rejected": [{"cidr": str(cidr), "reason": reason} for cidr, reason in pool.rejected],
                }
                for family, pool in self.pools.items()
            ],
            "writes": [{"object": each.what, "action": each.action, "why": each.why} for each in self.writes],
        }
        for each in self.addressed:
            body["address" if each.family == 4 else "address6"] = _addressed(each)
        if self.replay:
            told = [{"family": each.family, **_addressed(each)} for each in self.replay.addressed]
            body["calico"] = {"version": self.replay.version, "addresses": told}
        return body

    def _datastore(self) -> dict[str, Any]:
        told: dict[str, Any] = {"where": self.datastore.where, "reachable": self.datastore.error is None}
        if self.datastore.error:
            error = self.datastore.error
            return {**told, "error": {"what": error.what, "why": error.why, "fix": error.fix}}
        return {**told, "otherNodes": self.datastore.nodes, "readSeconds": round(self.datastore.seconds, 3)}


def _addressed(each: Addressed) -> dict[str, Any]:
    decision = each.decision
    told: dict[str, Any] = {
        "chosen": str(decision.address) if decision.address else None,
        "interface": decision.interface,
        "method": each.choice.method if each.choice else decision.source,
        "source": decision.source,
        "changed": decision.changed,
        "confirmed": decision.confirmed,
        "reasons": list(each.choice.reasons) if each.choice else [line.text for line in decision.messages],
        "rejected": _rejected(each.choice.rejected if each.choice else ()),
        "tied": _rejected(each.choice.tied if each.choice else ()),
        "pending": list(each.choice.pending) if each.choice else [],
    }
    return {**told, "failure": decision.failure, "fix": decision.fix} if decision.failure else told


def _rejected(candidates: tuple[Rejected, ...]) -> list[dict[str, str]]:
    return [{"address": each.address, "interface": each.interface, "reason": each.reason} for each in candidates]
