"""Says what a look has found, each thing once, in Calico's words where Calico says the same."""

from __future__ import annotations

from collections.abc import Hashable

from tortie.controllers.plan import Plan
from tortie.controllers.speaking import Speaker
from tortie.model.spans import span


class Narrator:
    def __init__(self, log: Speaker) -> None:
        self._log = log
        self._said: set[Hashable] = set()
        self._locked = False

    def tell(self, plan: Plan) -> None:
        if plan.locked:
            if not self._locked:
                self._log.warning("datastore is locked, skipping ipam sync")
            self._locked = True
            return
        self._locked = False
        still: set[Hashable] = set()
        for node in plan.memory.missing:
            if self._is_new(still, ("missing", node)):
                self._log.info("Calico Node referenced in IPAM data does not exist", node=node)
        for leak in plan.leaks.candidates:
            if self._is_new(still, ("candidate", leak.suspect)):
                self._log.info("Candidate IP leak", **leak.evidence())
        for leak in plan.leaks.confirmed:
            text = "Confirmed IP leak, its node does not exist"
            self._log.info(text if leak.node_gone else f"Confirmed IP leak after {span(leak.age_s)}", **leak.evidence())
        for suspect in plan.leaks.resurrected:
            self._log.info("Leaked IP has been resurrected", ip=str(suspect.ip), handle=suspect.handle)
        for stranger in plan.leaks.strangers:
            if self._is_new(still, ("stranger", stranger)):
                self._log.warning(
                    "IP allocation on node is from an unknown source. "
                    "Will be unable to cleanup block until it is removed.",
                    ip=str(stranger.ip),
                    node=stranger.node,
                    owner=stranger.owner,
                )
        for stuck in plan.stuck:
            if self._is_new(still, ("stuck", stuck)):
                self._log.info(
                    "Can't cleanup node yet - IPs still in use on this node",
                    node=stuck.node,
                    inUse=stuck.in_use,
                    unknown=stuck.strangers,
                )
        self._said = still

    def _is_new(self, still: set[Hashable], thing: Hashable) -> bool:
        still.add(thing)
        return thing not in self._said
