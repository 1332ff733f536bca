"""`tortie node explain`: looks at this machine and the datastore as a start would, and tells what it would do."""

from __future__ import annotations

import sys
import time
from typing import Any

from tortie.addressing.choice import Surroundings
from tortie.addressing.replay import calico_decision
from tortie.addressing.versions import CalicoVersion
from tortie.cli.node.explanation_text import as_text
from tortie.cli.node.sources import Sources, where_is
from tortie.cli.session import with_store
from tortie.host.files import read_text
from tortie.host.ports import describe, holders
from tortie.host.system import try_folder
from tortie.model.errors import TortieError, UsageError
from tortie.model.network import IP, Family
from tortie.model.wire import to_json
from tortie.node.decisions import (
    FAMILIES,
    Addressed,
    can_reach_destinations,
    choose_addresses,
    choose_pools,
    find_conflicts,
    intent_of,
    judge_conflicts,
    notices,
    surroundings_of,
)
from tortie.node.explain import Datastore, Explanation, Replay
from tortie.node.machine import Machine, evidence_about, machine_id
from tortie.node.name import choose_name
from tortie.node.paths import Paths
from tortie.node.picture import EMPTY, NODES, POOLS, Picture, read_picture, wanted_keys
from tortie.node.registration import Stamp, own_record_unreadable, plan
from tortie.node.settings import NodeSettings
from tortie.node.ula import random_ula
from tortie.store.contract import Snapshot, Store

_ASK_S = 5.0


def explain(*, output: str, calico: str | None, env_file: str | None, root: str, **flags: Any) -> int:
    if output not in ("text", "json"):
        raise UsageError(f"unrecognized output format '{output}'", "there is no such form", "use text or json")
    version = CalicoVersion.parse(calico) if calico else None
    explanation = _explanation(Sources(env_file, root, flags), version)
    text = to_json(explanation.as_json()) + "\n" if output == "json" else as_text(explanation)
    sys.stdout.write(text)
    return explanation.exit_code


def _explanation(sources: Sources, version: CalicoVersion | None) -> Explanation:
    reading, paths, machine = sources.reading(), Paths(sources.root), Machine()
    settings = reading.settings
    file = paths.below(settings.nodename_file.value)
    stored_name, obstacles = _stored_name(file, settings)
    name = choose_name(sources.environment(), stored_name, machine.hostname(), file)
    earlier = (stored_name or "").strip()
    earlier = earlier if earlier != name.name else ""
    datastore, picture = _look(sources, name.name, earlier)
    obstacles += _obstacles(paths, settings)
    network = machine.observe()
    surroundings = surroundings_of(network, picture, _ask_kernel(settings, machine))
    addressed = choose_addresses(settings, surroundings)
    identity = machine_id(paths)
    judged = judge_conflicts(
        name.name,
        find_conflicts(settings, name.name, addressed, picture),
        lambda conflict: evidence_about(machine, conflict, network, earlier, identity),
    )
    six = machine.has_ipv6()
    asked = (settings, addressed, network, picture, random_ula)
    pools = {} if datastore.error else choose_pools(*asked, kernel_has_ipv6=six)
    intent = intent_of(settings, name.name, identity, network, addressed, judged, pools)
    own_record = own_record_unreadable(picture)
    known = not (own_record or datastore.error or name.problems)
    writes = plan(picture, intent, Stamp(lambda: "", lambda: "")) if known else ()
    if writes and writes[0].action == "leave":
        own_record = writes[0].why
    warnings = [str(finding) for finding in reading.warnings]
    for messages in (
        name.messages,
        *(each.decision.messages for each in addressed if not each.decision.failure),
        *(pool.messages for pool in pools.values()),
        notices(name.name, addressed, picture, identity),
    ):
        warnings += [message.text for message in messages if message.level != "info"]
    warnings += [f"{write.what} is left as it is: {write.why}" for write in writes if write.action == "leave"]
    replay = _replay(version, settings, surroundings) if version else None
    return Explanation(
        reading,
        name,
        datastore,
        addressed,
        judged,
        pools,
        writes,
        tuple(dict.fromkeys(warnings)),
        own_record,
        replay,
        tuple(obstacles),
    )


def _stored_name(file: str, settings: NodeSettings) -> tuple[str | None, list[str]]:
    try:
        return read_text(file), []
    except TortieError as error:
        return None, [] if settings.nodename.value else [str(error)]


def _obstacles(paths: Paths, settings: NodeSettings) -> list[str]:
    """What on this machine would keep the node from becoming ready, as the start would find out."""
    found = []
    for folder in paths.folders(backend=settings.backend.value, file_logging=not settings.disable_file_logging.value):
        tried = try_folder(folder)
        if tried.trouble:
            found.append(f"{folder} cannot be written: {tried.trouble}")
    strangers = [each for each in holders(settings.health_port.value) if "tortie" not in each.command]
    if settings.health_enabled.value and strangers:
        found.append(f"the health port {settings.health_port.value} is held by {describe(strangers)}")
    return found


def _look(sources: Sources, name: str, earlier: str) -> tuple[Datastore, Picture]:
    """One read, as in a start. Without an answer the decisions are those of a cluster that nobody knows."""
    try:
        settings = sources.datastore()
        where = where_is(settings)
    except TortieError as error:
        return Datastore("", error), EMPTY
    began = time.monotonic()

    async def read(store: Store) -> tuple[str, Snapshot]:
        return store.where, await store.snapshot(wanted_keys(name), [NODES, POOLS], timeout_s=_ASK_S)

    try:
        where, snapshot = with_store(settings, read)
    except TortieError as error:
        return Datastore(where, error), EMPTY
    picture = read_picture(name, snapshot, earlier_name=earlier)
    nodes = len(picture.others) + len(picture.unreadable)
    return Datastore(where, nodes=nodes, seconds=time.monotonic() - began), picture


def _ask_kernel(settings: NodeSettings, machine: Machine) -> dict[tuple[str, Family], IP | str]:
    return {
        (destination, family): machine.reach(destination, family, _ASK_S)
        for destination, family in can_reach_destinations(settings)
    }


def _replay(version: CalicoVersion, settings: NodeSettings, surroundings: Surroundings) -> Replay:
    """By Calico's own table: a registered address is kept, and only what Calico would look for is looked for."""
    addressed = []
    for family in FAMILIES:
        stored = next((cidr for cidr in surroundings.stored if cidr.version == family), None)
        if family == 4 or stored or settings.wants_address(6):
            asked = (settings.address(family), stored, settings.method(family))
            addressed.append(Addressed(family, *calico_decision(family, *asked, surroundings, version)))
    return Replay(str(version), tuple(addressed))
