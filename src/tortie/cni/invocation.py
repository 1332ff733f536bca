"""What a runtime calls the plugin with: its variables and its standard input, as the plugin passes them on. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from tortie.cni.errors import ENVIRONMENT, INPUT, CniError

GREETING: Final = b"TORTIE-CNI 1\0"
COMMANDS: Final = ("ADD", "DEL", "CHECK", "GC", "STATUS", "VERSION")
IPAM_PLUGINS: Final = frozenset({"calico-ipam", "tortie-ipam"})
REQUEST_MAX: Final = 1 << 20

_CONTAINER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]*")
_INTERFACE_MAX: Final = 15
_NEEDED: Final = {
    "ADD": ("CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"),
    "CHECK": ("CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"),
    "DEL": ("CNI_CONTAINERID", "CNI_IFNAME"),
    "GC": (),
    "STATUS": (),
    "VERSION": (),
}


class Invocation(NamedTuple):
    plugin: str  # the name that it was called by
    command: str
    container: str
    netns: str  # a path; empty if the runtime has none any more
    ifname: str
    args: Mapping[str, str]  # of CNI_ARGS
    path: str  # where other plugins are
    config: bytes  # standard input
    variables: Mapping[str, str]

    @property
    def is_ipam(self) -> bool:
        """Called for addresses alone, by somebody else's main plugin."""
        return self.plugin in IPAM_PLUGINS

    @property
    def pod(self) -> tuple[str, str]:
        """Namespace and name; empty without Kubernetes."""
        namespace, name = self.args.get("K8S_POD_NAMESPACE", ""), self.args.get("K8S_POD_NAME", "")
        return (namespace, name) if namespace and name else ("", "")

    @property
    def spoken(self) -> str:
        return "/".join(self.pod) if self.pod[1] else f"container {self.container[:12]}"


def read_request(data: bytes) -> Invocation:
    """`CniError` if it is no request, or lacks what its command needs."""
    head, separator, config = data.partition(b"\0\0")
    if not data.startswith(GREETING) or not separator:
        raise CniError(INPUT, "the request is not one of Tortie's CNI plugin", f"it begins with {data[:32]!r}")
    try:
        pairs = [item.split("=", 1) for item in head[len(GREETING) :].decode().split("\0") if "=" in item]
    except UnicodeDecodeError as error:
        raise CniError(ENVIRONMENT, "the variables of the request are not UTF-8 text", str(error)) from None
    variables = dict(pairs)
    given = Invocation(
        variables.get("TORTIE_PLUGIN", "tortie"),
        variables.get("CNI_COMMAND", ""),
        variables.get("CNI_CONTAINERID", ""),
        variables.get("CNI_NETNS", ""),
        variables.get("CNI_IFNAME", ""),
        {},
        variables.get("CNI_PATH", ""),
        config,
        variables,
    )
    _check(given)
    return given._replace(args=_arguments(variables.get("CNI_ARGS", ""), given.command))


def _check(given: Invocation) -> None:
    if given.command not in _NEEDED:
        raise CniError(
            ENVIRONMENT, f"unknown CNI_COMMAND: {given.command or 'none'}", f"known are {', '.join(COMMANDS)}"
        )
    missing = [name for name in _NEEDED[given.command] if not given.variables.get(name)]
    if missing:
        raise CniError(
            ENVIRONMENT, f"required env variables [{','.join(missing)}] missing", f"{given.command} needs them"
        )
    if given.container and not _CONTAINER.fullmatch(given.container):
        raise CniError(
            ENVIRONMENT,
            f"invalid characters in containerID: {given.container!r}",
            "it begins with a letter or digit, and goes on with letters, digits, '_', '.', '-'",
        )
    if given.ifname and (why := _wrong_interface(given.ifname)):
        raise CniError(ENVIRONMENT, f"interface name is invalid: {given.ifname!r}", why)


def _wrong_interface(name: str) -> str:
    if len(name.encode()) > _INTERFACE_MAX:
        return f"the kernel takes at most {_INTERFACE_MAX} bytes"
    if name in (".", "..", "lo"):
        return "no interface of a pod's own can have that name"
    if any(character in "/:%" or character.isspace() or not character.isprintable() for character in name):
        return "it has a slash, a colon, a percent sign, a blank or a control character in it"
    return ""


def _arguments(text: str, command: str) -> dict[str, str]:
    """`K8S_POD_NAME=web;IgnoreUnknown=1`. What nobody here knows is passed over, whether that was asked for or not; and
    whoever deletes is not held up by what makes no sense.
    """
    found = {}
    for item in text.split(";"):
        if not item:
            continue
        name, separator, value = item.partition("=")
        if not separator or not name:
            if command == "DEL":
                continue
            raise CniError(ENVIRONMENT, f"ARGS: invalid pair {item!r}", "CNI_ARGS is NAME=VALUE, separated by ';'")
        found[name] = value
    return found
