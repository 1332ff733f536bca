"""What the release that is played calls this node, and what it says about that. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from tortie.addressing.choice import Message
from tortie.node.classic.release import Release
from tortie.node.name import choose_name

_RECOMMENDED = (
    "Using auto-detected node name. It is recommended that an explicit value is supplied using the NODENAME "
    "environment variable."
)


def classic_name(
    environment: Mapping[str, str], stored: str | None, os_hostname: str, file: str, release: Release
) -> tuple[str, tuple[Message, ...]]:
    """The sources are the same; a name that cannot be meant is found out only when it is written."""
    chosen = choose_name(environment, stored, os_hostname, file)
    named = f" {chosen.name}" if release.names_nodes else ""
    said = {
        "NODENAME": Message("info", f"Using NODENAME environment for node name{named}"),
        "file": Message("info", f"Using stored node name{named} from {file}"),
        "HOSTNAME": Message("info", f"Using HOSTNAME environment (lowercase) for node name{named}"),
    }.get(chosen.source, Message("warning", _RECOMMENDED))
    if release.bare:
        asked = Message("info", "NODENAME environment not specified - check HOSTNAME")
        return chosen.name, () if chosen.source == "NODENAME" else (asked,)
    messages = [said, Message("info", f"Determined node name: {chosen.name}")]
    if release.names_nodes:
        messages.append(Message("info", f"Starting node {chosen.name} with version {release}"))
    return chosen.name, tuple(messages)
