"""`tortie ipam release` and `repair`: taking back addresses that nobody uses, and setting records right."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from tortie import __version__
from tortie.cli.ipam.forms import in_loop, parse_ip, read_json, refuse_form
from tortie.cli.ipam.repairing import Done, carry_out, describe
from tortie.cli.program import as_called
from tortie.cli.settings import Settings
from tortie.ipam.affinity import release_node
from tortie.ipam.allocator import Allocator
from tortie.ipam.block import Holding, same_handle
from tortie.ipam.census import Census, take_census
from tortie.ipam.check import check
from tortie.ipam.problems import ReleaseAddress
from tortie.ipam.report import Wishes, common, read_wishes, repair_document, same_age, same_repair
from tortie.ipam.request import Expected, Released
from tortie.ipam.usage import Users
from tortie.model.errors import TortieError, UsageError
from tortie.model.network import IP, Network
from tortie.model.release import DATA_MODEL
from tortie.model.wire import to_json
from tortie.store.contract import Store

_TIMEOUT_S = 30.0
_LEFT_ALONE = 4
_EXAMPLE = "tortie ipam release --ip=10.244.1.5"


class Refused(TortieError):
    """It would take an address away from somebody, or nobody can tell."""

    code = "refused"


def release(
    *,
    settings: Settings,
    ips: tuple[str, ...],
    handle: str | None,
    node: str | None,
    reports: tuple[str, ...],
    force: bool,
    output: str,
) -> int:
    refuse_form(output, "text", "json")
    if sum(map(bool, (ips, handle, node, reports))) != 1:
        what = "it is not clear what to release"
        raise UsageError(what, "one of --ip, --handle, --node and --from-report says it", f"for example: {_EXAMPLE}")
    if reports:
        return repair(settings=settings, files=reports, force=force, output=output)
    addresses = tuple(parse_ip(ip, _EXAMPLE) for ip in ips)

    if node:
        return _release_node(settings, node, force=force, output=output)

    async def work(store: Store) -> Released:
        census = await take_census(store)
        held = _held(census, addresses, handle)
        if not force:
            _refuse_used(census, list(held))
        allocator = Allocator(store, "", clock=_now)
        if handle:
            return await allocator.release_handle(handle, timeout_s=_TIMEOUT_S)
        wanted = [
            Expected(ip, held[ip].attribute.handle, held[ip].sequence) if ip in held else Expected(ip)
            for ip in addresses
        ]
        return await allocator.release_ips(wanted, timeout_s=_TIMEOUT_S)

    return _tell(in_loop(settings, work), handle, output)


def _held(census: Census, addresses: Sequence[IP], handle: str | None) -> dict[IP, Holding]:
    if handle:
        everything = (holding for block in census.blocks.values() for holding in block.holdings())
        return {each.ip: each for each in everything if same_handle(each.attribute.handle, handle)}
    found = {}
    for ip in addresses:
        for cidr, block in census.blocks.items():
            if ip in cidr and (holding := block.holding(ip)) and not holding.attribute.released_at:
                found[ip] = holding
    return found


def _refuse_used(census: Census, ips: list[IP]) -> None:
    users = Users(census)
    for ip in ips:
        if using := users.of(ip):
            raise Refused(
                f"IP address {ip} is in use",
                f"by {', '.join(use.owner for use in using)}; released, it could be given to somebody else as well",
                "delete the pod instead; or --force, if you know that it is gone",
            )


def _release_node(settings: Settings, node: str, *, force: bool, output: str) -> int:
    async def work(store: Store) -> tuple[Released, list[Network], int]:
        census = await take_census(store)
        if node in census.nodes and not force:
            raise Refused(
                f"the node {node} exists",
                "blocks are taken from nodes that are gone; one that lives would lose its routes",
                "tortie delete node first; or --force, if it is to begin anew",
            )
        own = [each.cidr for each, _ in census.affinities.values() if each.owner == node and not each.virtual]
        released = await release_node(store, node, clock=_now, timeout_s=_TIMEOUT_S)
        held = sum(census.blocks[cidr].size - census.blocks[cidr].free for cidr in own if cidr in census.blocks)
        return released, own, held - len(released.released)

    released, blocks, held = in_loop(settings, work)
    if output == "json":
        return _tell(released, None, output, blocks=list(map(str, blocks)), addressesStillHeld=held)
    _tell(released, None, output)
    each = ", ".join(map(str, blocks[:5])) + (", ..." if len(blocks) > 5 else "")
    sys.stdout.write(f"Gave up {len(blocks)} blocks of {node}{': ' if blocks else ''}{each}\n")
    if held > 0:
        text = f"{held} addresses in them are still held; `tortie ipam check` says which are leaked\n"
        sys.stdout.write(as_called(text))
    return 0


def _tell(released: Released, handle: str | None, output: str, **more: object) -> int:
    """Nothing to take back is what was wanted, except of addresses that somebody names one by one."""
    failed = [f"IP address {ip} is not assigned" for ip in released.not_held]
    failed += [f"IP address {ip} was kept: {why}" for ip, why in released.kept]
    if output == "json":
        body = {
            "apiVersion": "tortie/v1",
            "kind": "IPAMReleased",
            "released": list(map(str, released.released)),
            "notAssigned": list(map(str, released.not_held)),
            "kept": [{"ip": str(ip), "why": why} for ip, why in released.kept],
            **more,
        }
        sys.stdout.write(to_json(body) + "\n")
    else:
        for ip in released.released:
            sys.stdout.write(f"Successfully released IP address {ip}\n")
        if handle and not released.released and not failed:
            sys.stdout.write(f"No addresses need to be released: the handle {handle} holds none.\n")
        for text in failed:
            sys.stderr.write(f"{text}\n")
    return 1 if failed else 0


def repair(*, settings: Settings, files: tuple[str, ...], force: bool, output: str) -> int:
    refuse_form(output, "text", "json")
    wishes = [read_wishes(read_json(file), file) for file in files]
    notes: list[str] = []

    async def work(store: Store) -> tuple[list[Done], bool]:
        census = await take_census(store)
        notes.extend(_judge(census, wishes, force=force))
        still = {same_repair(each.repair) for each in check(census, _now()).problems if each.repair is not None}
        wanted = common(wishes)
        agreed = [each for each in wanted if same_repair(each) in still]
        past = [Done(each, "a fresh check does not find this any more") for each in wanted if each not in agreed]
        allocator = Allocator(store, "", clock=_now)

        async def release(addresses: Sequence[Expected]) -> Released:
            return await allocator.release_ips(addresses, timeout_s=_TIMEOUT_S)

        return [*await carry_out(store, census, agreed, release), *past], census.cluster.is_locked

    done, locked = in_loop(settings, work)
    for note in notes:
        sys.stderr.write(f"WARNING: {note}\n")
    _tell_repairs(done, output, locked=locked)
    return _LEFT_ALONE if any(each.why_not for each in done) else 0


def _judge(census: Census, wishes: list[Wishes], *, force: bool) -> list[str]:
    """What --force has to overrule; raises where it cannot, or is not given."""
    cluster, notes = census.cluster, []
    for each in wishes:
        if each.guid != cluster.guid:
            raise Refused(
                f"Cluster does not match the provided report ({each.source}): mismatched cluster GUID",
                f"the report is of {each.guid or 'none'}, this is {cluster.guid or 'none'}; --force does not help",
                "use the datastore that the report was made of; `tortie config show` says which one this is",
            )
        if ours := _other_version(each, cluster.version):
            what = f"The provided report ({each.source}) was produced by a different version ({each.version})"
            notes.append(what)
            if not force:
                fix = "check again with this version, or --force"
                raise Refused(what, f"this is {ours}, which may see other things", fix)
    if str(cluster.revision or "") not in {each.cluster_revision for each in wishes}:
        raise Refused(
            "The provided reports are all stale",
            "ClusterInformation was written since, for example because the datastore was locked or unlocked",
            "check again, now that it is as it shall be, and pass that report as well",
        )
    if not cluster.is_locked:
        notes.append("Data store is not locked")
        if not force:
            why = "somebody may be about to use what looks unused"
            raise Refused("Data store is not locked", why, "tortie datastore lock, check again; or --force")
    return notes


def _other_version(wishes: Wishes, cluster: str) -> str:
    """Which version would be right; "" if it is. A report may be calicoctl's, of the cluster's age or of ours."""
    if not wishes.is_calicos:
        return "" if wishes.version == __version__ else __version__
    known = [version for version in (cluster, DATA_MODEL) if version]
    return "" if same_age(wishes.version, known) else known[0]


def _tell_repairs(done: list[Done], output: str, *, locked: bool) -> None:
    carried = [each for each in done if not each.why_not]
    if output == "json":
        body = {
            "apiVersion": "tortie/v1",
            "kind": "IPAMRepaired",
            "done": [repair_document(each.repair) for each in carried],
            "notDone": [{**repair_document(each.repair), "whyNot": each.why_not} for each in done if each.why_not],
        }
        sys.stdout.write(to_json(body) + "\n")
        return
    for each in done:
        sys.stdout.write(f"{_past(each)}\n")
    addresses = sum(isinstance(each.repair, ReleaseAddress) for each in carried)
    if not done:
        sys.stdout.write("No addresses need to be released.\n")
    elif addresses:
        sys.stdout.write(f"Released {addresses} IPs successfully\n")
    if len(carried) > addresses:
        sys.stdout.write(f"Repaired {len(carried) - addresses} records\n")
    if locked:
        sys.stdout.write("You may now unlock the data store.\n")


def _past(done: Done) -> str:
    text = describe(done.repair)
    return f"  left alone: {text}: {done.why_not}" if done.why_not else f"  done: {text}"


def _now() -> datetime:
    return datetime.now(UTC)
