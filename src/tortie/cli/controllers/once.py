"""`tortie controllers run --once`: look, clean up, say what was done."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from datetime import UTC, datetime
from typing import Final

from tortie.cli.settings import Settings, open_store
from tortie.cli.tables import table
from tortie.controllers.config import GRACE_S, read_config
from tortie.controllers.deeds import Outcome, outcome_document
from tortie.controllers.keeping import CONFIGURATION
from tortie.controllers.looking import Lookout
from tortie.controllers.plan import GONE_S, Patience, Plan
from tortie.controllers.speaking import Silence
from tortie.model.errors import UsageError
from tortie.model.spans import span
from tortie.model.wire import Undecodable, decode
from tortie.store.contract import Store

_ROUNDS: Final = 5
_PAUSE_S: Final = 0.2


def once(*, settings: Settings, grace: str | None, output: str) -> int:
    if output not in ("text", "json"):
        raise UsageError(f"unrecognized output format '{output}'", "there is no such form", "use text or json")
    read_config(os.environ, None, grace)  # what makes no sense is refused before anything is read

    async def session() -> tuple[Plan, Outcome]:
        store = open_store(settings, in_loop=True)
        try:
            return await _once(store, grace)
        finally:
            await store.close()

    plan, outcome = asyncio.run(session())
    if output == "json":
        import json

        sys.stdout.write(json.dumps(outcome_document(plan, outcome), ensure_ascii=False, indent=2) + "\n")
    else:
        sys.stdout.write(_text(plan, outcome, waited=grace is not None))
    return 0


async def _once(store: Store, grace: str | None) -> tuple[Plan, Outcome]:
    config = read_config(os.environ, await _stored(store), grace)
    grace_s = config.grace_s
    patience = Patience(grace_s, min(GONE_S, grace_s) if grace_s > 0 else GONE_S)
    lookout = Lookout(store, Silence(), clock=time.monotonic, today=lambda: datetime.now(UTC))
    whole = Outcome()
    for _ in range(_ROUNDS):
        plan = await lookout.look(patience)
        if plan.locked:
            break
        outcome = await lookout.clean(plan) if not plan.is_idle else Outcome()
        whole = Outcome((*whole.deeds, *outcome.deeds), (*whole.kept, *outcome.kept), outcome.unfinished)
        wait_s = _PAUSE_S if outcome.unfinished or outcome.deeds else _wait_s(plan, patience, grace)
        if wait_s is None:
            break
        if wait_s > 1 and sys.stderr.isatty():
            sys.stderr.write(f"waiting {span(wait_s)} to see whether what looks unused stays so ...\n")
        await asyncio.sleep(wait_s)
    return plan, whole


def _wait_s(plan: Plan, patience: Patience, grace: str | None) -> float | None:
    """Until what waits is ripe. For addresses only if somebody said how long that may take."""
    now = time.monotonic()
    if grace is None:
        plan = plan._replace(memory=plan.memory._replace(suspects={}, empty={}, orphans={}))
    due = plan.next_due(now, patience)
    return None if due is None else due - now + 0.01


async def _stored(store: Store) -> dict[str, object] | None:
    entry = await store.get(CONFIGURATION)
    if entry is None:
        return None
    try:
        spec = decode(entry.value, entry.key).get("spec")
    except Undecodable:
        return None
    return spec if isinstance(spec, dict) else None


def _text(plan: Plan, outcome: Outcome, *, waited: bool) -> str:
    if plan.locked:
        return "datastore is locked, skipping ipam sync\n"
    rows = [[deed.kind, deed.what, deed.node, deed.why] for deed in outcome.deeds]
    text = table(["DONE", "WHAT", "NODE", "WHY"], rows) if rows else "Nothing had to be cleaned up.\n"
    text += "".join(f"kept: {what}: {why}\n" for what, why in outcome.kept)
    for stranger in plan.leaks.strangers:
        text += f"kept: {stranger.ip}: from an unknown source, on node {stranger.node}, which does not exist\n"
    for stuck in plan.stuck:
        text += f"not yet: node {stuck.node}: {stuck.in_use + stuck.strangers} addresses are still in use\n"
    if plan.leaks.candidates:
        text += f"\n{len(plan.leaks.candidates)} addresses may have leaked:\n"
        rows = [[str(leak.ip), leak.handle, leak.node, leak.missing] for leak in plan.leaks.candidates]
        text += table(["IP", "HANDLE", "NODE", "MISSING"], rows)
        if not waited:
            text += "`--grace TIME` waits that long and releases those that are still unused then; "
            text += f"{span(GRACE_S)} is usual.\n"
    return text
