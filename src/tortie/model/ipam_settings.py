"""The settings of IPAM, which Calico keeps twice: as the resource IPAMConfiguration, and under the key that IPAM reads.

For people they are one thing. Whoever writes one of them writes both, in one commit; where they say different things,
what IPAM reads is what holds. Pure.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tortie.model.keys import IPAM_CONFIG as IPAM_CONFIG
from tortie.model.keys import ResourceKey
from tortie.model.kinds import BY_NAME
from tortie.model.wire import Document, Undecodable, decode, encode

KIND: Final = "IPAMConfiguration"
RESOURCE: Final = str(ResourceKey(BY_NAME[KIND], "default"))

_PERSISTENCE: Final = "kubeVirtVMAddressPersistence"


class Setting(NamedTuple):
    in_spec: str
    in_config: str
    default: Any  # while nothing is stored
    left_out: Any  # what its absence from a stored configuration means


# In the order in which Go writes the configuration.
SETTINGS: Final = (
    Setting("strictAffinity", "strict_affinity", False, False),
    Setting("autoAllocateBlocks", "auto_allocate_blocks", True, False),
    Setting("maxBlocksPerHost", "maxBlocksPerHost", 0, 0),
    Setting("ipCooldownSeconds", "ipCooldownSeconds", 0, 0),
    Setting(_PERSISTENCE, _PERSISTENCE, "Enabled", "Enabled"),
)
_IN_CONFIG: Final = frozenset(setting.in_config for setting in SETTINGS)


def readable(value: bytes | None) -> Document | None:
    """The stored configuration; None if there is none, or none that makes sense."""
    try:
        return None if value is None else sound(decode(value, IPAM_CONFIG))
    except Undecodable:
        return None


def sound(config: Document) -> Document | None:
    known = ((config.get(setting.in_config), setting) for setting in SETTINGS)
    return config if all(item is None or type(item) is type(setting.default) for item, setting in known) else None


def differences(spec: Document, config: Document | None) -> dict[str, tuple[Any, Any]]:
    """By the name of each setting that is told differently: what the spec says, and what IPAM reads."""
    found = {}
    for setting in SETTINGS:
        said, read = _said(spec, setting), _read(config, setting)
        if said != read:
            found[setting.in_spec] = (said, read)
    return found


def in_effect(document: Document, config: Document | None) -> Document:
    """The resource with what IPAM reads, if that is stored and makes sense."""
    spec = document.get("spec") or {}
    if config is None or not isinstance(spec, dict):
        return document
    different = {name: read for name, (_, read) in differences(spec, config).items()}
    return {**document, "spec": {**spec, **different}} if different else document


def config_for(spec: Document, value: bytes | None) -> bytes:
    """The configuration that says what the spec says: the stored one if it does, fields that nobody knows included."""
    config = readable(value)
    if value is not None and config is not None and not differences(spec, config):
        return value
    said = {setting.in_config: _said(spec, setting) for setting in SETTINGS}
    unknown = {name: item for name, item in (config or {}).items() if name not in _IN_CONFIG}
    return encode({**{name: item for name, item in said.items() if item}, **unknown})


def _said(spec: Document, setting: Setting) -> Any:
    value = spec.get(setting.in_spec)
    return setting.default if value in (None, "") else value


def _read(config: Document | None, setting: Setting) -> Any:
    if config is None:
        return setting.default
    value = config.get(setting.in_config)
    return setting.left_out if value in (None, "") else value
