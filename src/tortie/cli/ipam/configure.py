"""`tortie ipam configure`: the settings of IPAM, in both places where Calico keeps them, in one commit.

IPAM reads `/calico/ipam/v2/config`; the resource IPAMConfiguration is what people see. Apart they would say two things.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from tortie.cli.ipam.forms import refuse_form
from tortie.cli.ipam.show import spoken
from tortie.cli.program import as_called
from tortie.cli.session import with_store
from tortie.cli.settings import Settings
from tortie.ipam.records import IpamSettings, read_settings
from tortie.model.errors import Invalid, TortieError, UsageError
from tortie.model.ipam_settings import IPAM_CONFIG, KIND, RESOURCE, config_for
from tortie.model.kinds import API_VERSION
from tortie.model.resource import stored_form, validate
from tortie.model.resources.ipam import IPAMConfigurationSpec
from tortie.model.wire import Document, Undecodable, decode, encode, to_json
from tortie.store.contract import Entry, Store
from tortie.store.retry import update_together

_PERSISTENCE = "kubeVirtVMAddressPersistence"
_UNSET = IpamSettings(rest={_PERSISTENCE: "Enabled"})  # as Calico fills in what is not there


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
    brought = Brought(_UNSET, _UNSET)

    def decide(found: Sequence[Entry | None]) -> tuple[bytes, bytes]:
        nonlocal brought
        resource, config = found
        before, unreadable = _UNSET, ""
        try:
            before = read_settings(IPAM_CONFIG, config.value) if config else before
        except TortieError as error:  # what nobody can read is what has to be replaced
            unreadable = error.why
        after = wanted.applied_to(before)
        _refuse_contradictions(after)
        brought = Brought(before, after, unreadable)
        document = _resource(resource, after)
        stored = config.value if config and not unreadable else None
        return _encoded(document, resource), config_for(document["spec"], stored)

    await update_together(store, (RESOURCE, IPAM_CONFIG), decide)
    return brought


def _refuse_contradictions(settings: IpamSettings) -> None:
    spec = IPAMConfigurationSpec(
        strictAffinity=settings.strict_affinity,
        autoAllocateBlocks=settings.auto_allocate_blocks,
        maxBlocksPerHost=settings.max_blocks_per_host,
        ipCooldownSeconds=settings.cooldown_s,
    )
    if problems := list(spec.problems()):
        raise Invalid("IPAMConfiguration(default)", problems)


def _resource(entry: Entry | None, settings: IpamSettings) -> Document:
    """Fields that we do not know stay as they are."""
    document = _decoded(entry) or _new_resource()
    spec: Any = document.get("spec")
    spec = dict(spec) if isinstance(spec, dict) else {}
    spec |= {
        "strictAffinity": settings.strict_affinity,
        "maxBlocksPerHost": settings.max_blocks_per_host,
        "autoAllocateBlocks": settings.auto_allocate_blocks,
    }
    if settings.cooldown_s or "ipCooldownSeconds" in spec:
        spec["ipCooldownSeconds"] = settings.cooldown_s
    if (persistence := settings.rest.get(_PERSISTENCE)) or _PERSISTENCE in spec:
        spec[_PERSISTENCE] = persistence or "Enabled"
    return {**document, "spec": spec}


def _decoded(entry: Entry | None) -> Document:
    try:
        return decode(entry.value, entry.key) if entry else {}
    except Undecodable:
        return {}


def _encoded(document: Document, entry: Entry | None) -> bytes:
    """Spelled as Calico does, unless the rest of it breaks the rules: then it stays as others left it."""
    if entry and encode(document) == encode(_decoded(entry)):
        return entry.value
    whole = document.get("kind") == KIND and isinstance(document.get("metadata"), dict)
    return encode(stored_form(document) if whole and not validate(document, stored=document) else document)


def _new_resource() -> Document:
    created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    metadata = {"name": "default", "uid": str(uuid.uuid4()), "creationTimestamp": created}
    return {"kind": KIND, "apiVersion": API_VERSION, "metadata": metadata}


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
                note = "before: cannot be read"
            else:
                note = "it was so before" if value == was else f"it was {spoken(was) if was is not None else 'not set'}"
            sys.stdout.write(f"Successfully set {name} to: {spoken(value)}\n")
            sys.stderr.write(f"{name}: {note}\n")

    if unreadable:
        sys.stdout.write(f"The value of {IPAM_CONFIG} could not be read: {unreadable}\n")
        text = "What was not asked for has its default now; `tortie ipam show --show-configuration`\n"
        sys.stdout.write(as_called(text))


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
