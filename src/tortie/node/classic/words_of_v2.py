"""What v2 prints as bare text for people, and how: as it is, as a warning, or as an error. Pure.

The other lines are logrus's own there, and by default only errors are shown. Some of what later became one sentence
is several lines here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_WARNING: Final = "WARNING: "
_ERROR: Final = "ERROR: "

# How a message begins, what v2 puts before it, and whether the error follows after a colon.
_BARE: Final[tuple[tuple[str, str, bool], ...]] = (
    ("Skipping datastore connection test", "", False),
    ("Checking datastore connection", "", False),
    ("Datastore connection verified", "", False),
    ("Connection to the datastore is unauthorized", _ERROR, False),
    ("Unable to access datastore to query", _ERROR, False),
    ("Unable to auto-detect", _WARNING, False),
    ("Unable to confirm", _WARNING, False),
    ("Unable to create '", _ERROR, False),
    ("Unable to fetch IP pool list", _ERROR, True),
    ("Unable to set", _ERROR, True),
    ("Unable to write to", _ERROR, False),
    ("Using autodetected", "", False),
    ("Using IPv", "", False),
    ("Using AS number", "", False),
    ("Using node name:", "", False),
    ("IPv4 address ", "", False),
    ("IPv6 address ", "", False),
    ("No AS number", "", False),
    ("The AS number", _ERROR, True),
    ("Autodetection of IP", _WARNING, False),
    ("Environment does not", _ERROR, False),
    ("Invalid IP auto", _ERROR, False),
    ("Invalid CIDR", _ERROR, False),
    ("Invalid configuration with NO_DEFAULT_POOLS", _ERROR, False),
    ("Failed to create default", _ERROR, True),
    ("Created default", "", False),
    ("Terminating", "", False),
)
_NOT_FOUND: Final = re.compile(r"Couldn't autodetect an IPv(?P<family>[46]) address")
_TAKEN: Final = re.compile(r"(?P<whose>Calico node '.*' is already using the IPv[46] address \S+)\.$")
_CHANGED: Final = re.compile(r"(?P<family>IPv[46]) address has changed\.")


def bare_lines(message: str, fields: Mapping[str, object]) -> list[str] | None:
    """None for what is a line of logrus."""
    if found := _NOT_FOUND.match(message):
        return _not_found(found["family"])
    if found := _TAKEN.match(message):
        return [f"{found['whose']}:", " -  Check the node configuration to remove the IP address conflict"]
    if found := _CHANGED.match(message):
        return [
            f"{_WARNING}Calico node '{fields.get('node')}' {found['family']} address has changed:",
            " -  This could happen if multiple nodes are configured with the same name",
            f" -  Original IP: {fields.get('original')}",
            f" -  Updated IP: {fields.get('updated')}",
        ]
    for beginning, mark, tells_why in _BARE:
        if message.startswith(beginning):
            why = fields.get("error")
            return [f"{mark}{message}" + (f": {why}" if tells_why and why is not None else "")]
    return None


def _not_found(family: str) -> list[str]:
    variable = "IP" if family == "4" else "IP6"
    lines = [
        f"{_ERROR}Couldn't autodetect a management IPv{family} address:",
        f"  -  provide an IPv{family} address by configuring one in the node resource, or",
        f"  -  provide an IPv{family} address using the {variable} environment, or",
    ]
    if family == "4":
        return [*lines, "  -  if auto-detecting, use a different autodetection method."]
    return [
        *lines,
        "  -  use a different autodetection method, or",
        "  -  don't request autodetection of an IPv6 address.",
    ]
