"""calicoctl's flags of `node run`: each is a variable of the node's environment, and wins over it.

What has no meaning for a node that is no container is refused, so that nobody believes it to be in force.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from tortie.cli.grammar import Option
from tortie.model.errors import UsageError

if TYPE_CHECKING:
    from tortie.node.settings import EnvFile
    from tortie.node.settings.setting import Given

LOG_DIR: Final = "/var/log/calico"
# Parameter, flag, variable.
_VARIABLES: Final = (
    ("name", "--name", "NODENAME"),
    ("as_number", "--as", "AS"),
    ("ip", "--ip", "IP"),
    ("ip6", "--ip6", "IP6"),
    ("ip_method", "--ip-autodetection-method", "IP_AUTODETECTION_METHOD"),
    ("ip6_method", "--ip6-autodetection-method", "IP6_AUTODETECTION_METHOD"),
    ("backend", "--backend", "CALICO_NETWORKING_BACKEND"),
)

_GROUP: Final = "As calicoctl has them; they win over the environment"
RUN_FLAGS: Final = (
    Option(("--name",), "name", "Name of the node; NODENAME.", "NAME", group=_GROUP),
    Option(("--as",), "as_number", "AS number of the node; AS.", "NUMBER", group=_GROUP),
    Option(("--ip",), "ip", "IPv4 address, or autodetect; IP.", "IP", group=_GROUP),
    Option(("--ip6",), "ip6", "IPv6 address, or autodetect; IP6.", "IP", group=_GROUP),
    Option(
        ("--ip-autodetection-method",),
        "ip_method",
        "How IPv4 is autodetected: first-found, can-reach=…, interface=…; IP_AUTODETECTION_METHOD.",
        "METHOD",
        group=_GROUP,
    ),
    Option(
        ("--ip6-autodetection-method",),
        "ip6_method",
        "The same for IPv6; IP6_AUTODETECTION_METHOD.",
        "METHOD",
        group=_GROUP,
    ),
    Option(
        ("--backend",),
        "backend",
        "Who carries packets between nodes; CALICO_NETWORKING_BACKEND.",
        "NAME",
        choices=("bird", "none"),
        group=_GROUP,
    ),
    Option(("--no-default-ippools",), "no_default_pools", "Create no pool; NO_DEFAULT_POOLS.", group=_GROUP),
    Option(
        ("--felix-config",),
        "felix_config",
        "Felix's file of settings; the environment wins over it.",
        "FILE",
        group=_GROUP,
    ),
    Option(("--dryrun",), "dryrun", "Show the command and what it would decide, and do nothing.", group=_GROUP),
    Option(
        ("--init-system",),
        "init_system",
        "With --dryrun: as a unit of systemd. The agent never detaches.",
        group=_GROUP,
    ),
    Option(
        ("--log-dir",), "log_dir", f"Refused unless {LOG_DIR}: the log goes to standard output.", "DIR", group=_GROUP
    ),
    Option(("--node-image",), "node_image", "Refused: the node is no container.", "IMAGE", group=_GROUP),
)


def refuse_meaningless(flags: Mapping[str, Any]) -> None:
    if image := flags.get("node_image"):
        why = "`tortie node run` is the node itself and starts no container"
        raise UsageError(f"--node-image={image} has no meaning here", why, "leave it out")
    folder = flags.get("log_dir")
    if folder and os.path.normpath(folder) != LOG_DIR:
        why = "the agent writes no files of its own: its log goes to standard output"
        raise UsageError(f"--log-dir={folder} has no meaning here", why, "leave it out, and redirect the output")
    if flags.get("init_system") and not flags.get("dryrun"):
        sys.stderr.write("note: --init-system changes nothing: the agent stays in the foreground in any case\n")


def given_by(flags: Mapping[str, Any]) -> dict[str, Given]:
    """Variables that the flags set."""
    from tortie.node.settings.setting import Given

    found = {
        name: Given(flags[parameter], f"flag {flag}") for parameter, flag, name in _VARIABLES if flags.get(parameter)
    }
    if flags.get("no_default_pools"):
        found["NO_DEFAULT_POOLS"] = Given("true", "flag --no-default-ippools")
    return found


def with_flags(file: EnvFile | None, flags: Mapping[str, Any], environment: Mapping[str, str]) -> EnvFile | None:
    """The file of variables with the flags over it, and with Felix's file below the environment."""
    given = given_by(flags)
    felix = _felix(flags, {*environment, *(file.entries if file else ())})
    if not given and felix is None:
        return file
    from tortie.node.settings import EnvFile

    below = file or EnvFile("", {})
    entries = {**(felix.entries if felix else {}), **below.entries, **given}
    return EnvFile(
        below.path,
        entries,
        (*below.refused, *(felix.refused if felix else ())),
        (*below.warnings, *(felix.warnings if felix else ())),
    )


def _felix(flags: Mapping[str, Any], stronger: set[str]) -> EnvFile | None:
    path = flags.get("felix_config")
    if not path:
        return None
    from tortie.node.settings.felixfile import load_felix_file

    file = load_felix_file(path)
    names = {name.upper() for name in stronger}
    return file._replace(entries={name: given for name, given in file.entries.items() if name not in names})
