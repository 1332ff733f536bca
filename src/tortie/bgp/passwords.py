"""The passwords of sessions: which secrets are wanted, and whether BIRD can use what they hold. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tortie.bgp.plan import Refusal, Secret
from tortie.model.resources.bgp import BGPPassword

Reference = tuple[str, str]  # the secret's name, and the key in it
Secrets = Mapping[Reference, Secret | str]  # a text says why the secret cannot be read

# The kernel signs TCP segments with no longer key.
_LENGTH_MAX: Final = 80


def reference(wanted: BGPPassword | None) -> Reference | None:
    chosen = wanted.secretKeyRef if wanted else None
    return (chosen.name, chosen.key) if chosen and chosen.name and chosen.key else None


def password(what: str, wanted: BGPPassword | None, secrets: Secrets) -> Secret | Refusal | None:
    """None when none is wanted. Without one that is wanted there is no session: it would be open to anybody."""
    if wanted is None:
        return None
    asked = reference(wanted)
    if asked is None:
        return Refusal(what, "its password names no secret", "set secretKeyRef with a name and a key")
    where = f"the key {asked[1]} of the secret {asked[0]}"
    found = secrets.get(asked, "it has not been read")
    if isinstance(found, str):
        why = f"its password, {where}, cannot be had: {found}"
        return Refusal(what, why, "create the secret, and allow this node to read it")
    if why := _unusable(found.text):
        return Refusal(what, f"its password, {where}, cannot be used: {why}", "choose another, on both sides")
    return found


def _unusable(text: str) -> str:
    if not text:
        return "it is empty"
    if text.endswith("\n"):
        return "it ends with a line break, which both sides would have to have"
    if any(character == '"' or character < " " or "\ud800" <= character <= "\udfff" for character in text):
        return "it has a quotation mark or a control character, which BIRD cannot be told"
    length = len(text.encode())
    return f"it has {length} bytes, and TCP takes {_LENGTH_MAX}" if length > _LENGTH_MAX else ""
