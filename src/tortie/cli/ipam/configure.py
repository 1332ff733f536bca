"""`tortie ipam configure`: the settings of IPAM, in both places where Calico keeps them, in one commit.

IPAM reads `/calico/ipam/v2/config`; the resource IPAMConfiguration is what people see. Apart they would say two things.
"""

from __future__ import annotations

import sys
import uuid
from datetime import UTC, datetime
from typing import Any, NamedTuple

from tortie.cli.ipam.forms import refuse_form
from tortie.cli.ipam.show import spoken
from tortie.cli.session import with_store
from tortie.cli.settings import Settings
from tortie.ipam.census import CONFIGURATION
from tortie.ipam.encoding import write_settings
from tortie.ipam.records import IpamSettings, read_settings
from tortie.model.errors import Invalid, TortieError, UsageError
from tortie.model.keys import IPAM_CONFIG
from tortie.model.kinds import API_VERSION
from tortie.model.resources.ipam import IPAMConfigurationSpec
from tortie.model.wire import Document, Undecodable, decode, encode, to_json
from tortie.store.contract import ABSENT, Conflict, Entry, Put, Store

_ATTEMPTS_MAX = 20
_PERSISTENCE = "kubeVirtVMAddressPersistence"


class Wanted(NamedTuple):
    """What was asked for; None: as it is."""

    strict_affinity: bool | None
    auto_allocate_blocks: bool | None
    max_blocks_per_host: int | None
    cooldown_s: int | None
    persistence: str | None

    def applied_to(self, settings: IpamSettings) -> IpamSettings:
        asked = {name: value for name, value in self._asdict().items() if value is not None and name != "persistence"}
        rest = dict(settings.rest) | ({_PERSISTENCE: self.persistence} if self.persistence else {})
        return settings._replace(**asked, rest=rest)


def configure(
    *,
    settings: Settings,
    strict_affinity: str | None,
    auto_allocate_blocks: str | None,
    max_blocks_per_host: str | None,
    cooldown: str | None,
    persistence: str | None,
    output: str,
) -> int:
    refuse_form(output, "text", "json")
    wanted = Wanted(
        _truth("--strictaffinity", strict_affinity),
        _truth("--auto-allocate-blocks", auto_allocate_blocks),
        _number("--max-blocks-per-host", max_blocks_per_host),
        _number("--ip-cooldown-seconds", cooldown),
        persistence,
    )
    if persistence not in (None, "Enabled", "Disabled"):
        why = "a virtual machine keeps its address over its restarts, or does not"
        raise UsageError(f"--kubevirt-ip-persistence={persistence}", why, "Enabled or Disabled")
    if all(each is None for each in wanted):
        fix = "for example: tortie ipam configure --strictaffinity=true"
        raise UsageError("at least one configuration option must be specified", "nothing is to be changed", fix)
    _tell(with_store(settings, lambda store: _bring(store, wanted)), wanted, output)
    return 0


class Brought(NamedTuple):
    before: IpamSettings  # the defaults, where they could not be read
    after: IpamSettings
    unreadable: str = ""  # why not


async def _bring(store: Store, wanted: Wanted) -> Brought:
    for _ in range(_ATTEMPTS_MAX):
        snapshot = await store.snapshot([IPAM_CONFIG, CONFIGURATION])
        entry, resource = snapshot.get(IPAM_CONFIG), snapshot.get(CONFIGURATION)
        before, unreadable = IpamSettings(), ""
        try:
            before = read_settings(IPAM_CONFIG, entry.value) if entry else before
        except TortieError as error:  # what nobody can read is what has to be replaced
            unreadable = error.why
        after = wanted.applied_to(before)
        _refuse_contradictions(after)
        operations = [
            Put(key, value, there.revision if there else ABSENT)
            for key, value, there in (
                (IPAM_CONFIG, write_settings(after), entry),
                (CONFIGURATION, _resource(resource, after), resource),
            )
            if there is None or there.value != value
        ]
        try:
            if operations:
                await store.commit(operations)
        except Conflict:
            continue
        return Brought(before, after, unreadable)
    what = "the settings of IPAM could not be written"
    raise TortieError(what, f"{_ATTEMPTS_MAX} attempts were overtaken by other writers", "try again")


def _refuse_contradictions(settings: IpamSettings) -> None:
    spec = IPAMConfigurationSpec(
        strictAffinity=settings.strict_affinity,
        autoAllocateBlocks=settings.auto_allocate_blocks,
        maxBlocksPerHost=settings.max_blocks_per_host,
        ipCooldownSeconds=settings.cooldown_s,
    )
    if problems := list(spec.problems()):
        raise Invalid("IPAMConfiguration(default)", problems)


def _resource(entry: Entry | None, settings: IpamSettings) -> bytes:
    """Fields that we do not know stay as they are."""
    try:
        document = decode(entry.value, entry.key) if entry else _new_resource()
    except Undecodable:
        document = _new_resource()
    spec: Any = document.get("spec")
    spec = dict(spec) if isinstance(spec, dict) else {}
    spec |= {
        "strictAffinity": settings.strict_affinity,
        "maxBlocksPerHost": settings.max_blocks_per_host,
        "autoAllocateBlocks": settings.auto_allocate_blocks,
    }
    if settings.cooldown_s or "ipCooldownSeconds" in spec:
        spec["ipCooldownSeconds"] = settings.cooldown_s
    if persistence := settings.rest.get(_PERSISTENCE):
        spec[_PERSISTENCE] = persistence
    return encode({**document, "spec": spec})


def _new_resource() -> Document:
    created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    metadata = {"name": "default", "uid": str(uuid.uuid4()), "creationTimestamp": created}
    return {"kind": "IPAMConfiguration", "apiVersion": API_VERSION, "metadata": metadata}


def _tell(brought: Brought, wanted: Wanted, output: str) -> None:
    before, after, unreadable = brought
    rows = (
        ("StrictAffinity", wanted.strict_affinity, before.strict_affinity),
        ("AutoAllocateBlocks", wanted.auto_allocate_blocks, before.auto_allocate_blocks),
        ("MaxBlocksPerHost", wanted.max_blocks_per_host, before.max_blocks_per_host),
        ("IPCooldownSeconds", wanted.cooldown_s, before.cooldown_s),
        ("KubeVirtVMAddressPersistence", wanted.persistence, before.rest.get(_PERSISTENCE)),
    )
    if output == "json":
        body: Document = {"apiVersion": "tortie/v1", "kind": "IPAMConfigured"}
        body |= {"before": None if unreadable else _named(before), "after": _named(after)}
        body |= {"unreadable": unreadable} if unreadable else {}
        sys.stdout.write(to_json(body) + "\n")
        return
    for name, value, was in rows:
        if value is not None:
            if unreadable:
                sys.stdout.write(f"Successfully set {name} to: {spoken(value)} (before: cannot be read)\n")
                continue
            note = "it was so before" if value == was else f"it was {spoken(was) if was is not None else 'not set'}"
            sys.stdout.write(f"Successfully set {name} to: {spoken(value)} ({note})\n")

    if unreadable:
        sys.stdout.write(f"The value of {IPAM_CONFIG} could not be read: {unreadable}\n")
        sys.stdout.write("What was not asked for has its default now; `tortie ipam show --show-configuration`\n")


def _named(settings: IpamSettings) -> Document:
    return {
        "strictAffinity": settings.strict_affinity,
        "autoAllocateBlocks": settings.auto_allocate_blocks,
        "maxBlocksPerHost": settings.max_blocks_per_host,
        "ipCooldownSeconds": settings.cooldown_s,
        _PERSISTENCE: settings.rest.get(_PERSISTENCE),
    }


def _truth(flag: str, text: str | None) -> bool | None:
    """As Go's ParseBool reads them."""
    if text is None:
        return None
    if text in ("1", "t", "T", "true", "TRUE", "True"):
        return True
    if text in ("0", "f", "F", "false", "FALSE", "False"):
        return False
    raise UsageError(f"{flag}={text}", "it is either so or not", f"{flag}=true or {flag}=false")


def _number(flag: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isascii() or not text.isdigit():
        raise UsageError(f"{flag}={text}", "a whole number from 0 is wanted", f"for example {flag}=4; 0 is the default")
    return int(text)
