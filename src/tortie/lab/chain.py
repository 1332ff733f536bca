"""A chain of CNI plugins as a container runtime understands it: which configuration counts, what each plugin is told,
and what its answer means.

Pure. The order, the fields and the names of variables are those of the CNI specification and of the library that
runtimes use, so that a plugin cannot tell a lab from them.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from tortie.model.errors import TortieError

Document = dict[str, Any]
Command = Literal["ADD", "DEL", "CHECK"]

INTERFACE: Final = "eth0"
TRY_LATER: Final = 11  # of the specification: the plugin asks to be called again
UNKNOWN: Final = 999  # of the library: it failed, and did not say how

_ENDINGS: Final = (".conf", ".conflist", ".json")
_OLDEST: Final = "0.1.0"
_WITH_RESULT: Final = (0, 4, 0)  # from which on DEL is told what ADD has said
_CACHE_KIND: Final = "cniCacheV1"


class NoNetwork(TortieError):
    """There is no configuration that could be used."""


class PluginFailed(TortieError):
    """What a plugin has said about why it could not."""

    def __init__(self, plugin: str, command: Command, number: int, message: str, details: str = "") -> None:
        self.plugin = plugin
        self.number = number
        self.message = message
        self.details = details
        super().__init__(f"the CNI plugin {plugin} failed ({command}, code {number})", self.told, "")

    @property
    def told(self) -> str:
        return f"{self.message}: {self.details}" if self.details else self.message


class Network(NamedTuple):
    """A list of plugins, by the name that people know it by."""

    name: str
    version: str
    plugins: tuple[Document, ...]
    raw: bytes = b""  # the file itself, which is kept beside a result


class Attachment(NamedTuple):
    """What is wired: one interface of one container."""

    container: str
    netns: str  # a path
    pod: str
    namespace: str
    uid: str
    interface: str = INTERFACE

    @property
    def arguments(self) -> tuple[tuple[str, str], ...]:
        return (
            ("IgnoreUnknown", "1"),
            ("K8S_POD_NAMESPACE", self.namespace),
            ("K8S_POD_NAME", self.pod),
            ("K8S_POD_INFRA_CONTAINER_ID", self.container),
            ("K8S_POD_UID", self.uid),
        )


def is_configuration(file: str) -> bool:
    return file.endswith(_ENDINGS)


def first_network(files: Mapping[str, bytes], folder: str) -> Network:
    """Of the files of a folder the first in the order of their names that can be used; runtimes look no further."""
    wrong = []
    for file in sorted(filter(is_configuration, files)):
        try:
            return _network(file, files[file])
        except ValueError as error:
            wrong.append(f"{file}: {error}")
    why = "; ".join(wrong) or "no file there ends in .conflist, .conf or .json"
    raise NoNetwork(f"{folder} has no network for pods", why, "tortie cni install writes one")


def _network(file: str, raw: bytes) -> Network:
    document = json.loads(raw)
    if not isinstance(document, dict):
        raise ValueError("it is not an object")
    alone = not file.endswith(".conflist") and "plugins" not in document
    plugins = [document] if alone else document.get("plugins")
    if not isinstance(plugins, list) or not plugins:
        raise ValueError("it lists no plugins")
    for plugin in plugins:
        if not isinstance(plugin, dict) or not isinstance(plugin.get("type"), str) or not plugin["type"]:
            raise ValueError("a plugin has no type")
    name = document.get("name")
    if not isinstance(name, str) or not name:
        raise ValueError("it has no name")
    return Network(name, str(document.get("cniVersion") or _OLDEST), tuple(plugins), raw)


def told_to(network: Network, plugin: Document, previous: Document | None) -> bytes:
    """What a plugin reads: its own part, with the name and version of the whole, and what came before it."""
    document = {**plugin, "name": network.name, "cniVersion": network.version}
    if previous is not None:
        document["prevResult"] = previous
    return json.dumps(document, separators=(",", ":")).encode()


def previous_of_end(network: Network, result: Document | None) -> Document | None:
    """What plugins are told about ADD when they have to undo it: the result of the whole chain, each of them."""
    return result if _numbers(network.version) >= _WITH_RESULT else None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdigit() else 0 for part in version.split("."))


def variables(command: Command, attachment: Attachment, path: Sequence[str]) -> dict[str, str]:
    return {
        "CNI_COMMAND": command,
        "CNI_CONTAINERID": attachment.container,
        "CNI_NETNS": attachment.netns,
        "CNI_ARGS": ";".join(f"{name}={value}" for name, value in attachment.arguments),
        "CNI_IFNAME": attachment.interface,
        "CNI_PATH": ":".join(path),
    }


def result_of(plugin: str, command: Command, code: int, stdout: bytes, stderr: bytes) -> Document | None:
    """What a plugin answered; None where it has nothing to say. Raises what it says went wrong."""
    if code != 0:
        raise _failure(plugin, command, code, stdout, stderr)
    if command != "ADD":
        return None
    try:
        document = json.loads(stdout)
    except ValueError as error:
        raise PluginFailed(plugin, command, UNKNOWN, f"its result is no JSON: {error}") from None
    if not isinstance(document, dict):
        raise PluginFailed(plugin, command, UNKNOWN, "its result is not an object")
    return document


def _failure(plugin: str, command: Command, code: int, stdout: bytes, stderr: bytes) -> PluginFailed:
    try:
        told = json.loads(stdout)
        number, message = int(told.get("code") or UNKNOWN), str(told.get("msg") or "")
        if message:
            return PluginFailed(plugin, command, number, message, str(told.get("details") or ""))
    except (ValueError, AttributeError, TypeError):
        pass
    words = (stdout or stderr).decode(errors="replace").strip()
    how = f"it was ended by signal {-code}" if code < 0 else f"it ended with exit code {code} and no error message"
    return PluginFailed(plugin, command, UNKNOWN, how, words)


def cache_name(network: str, attachment: Attachment) -> str:
    """The file below /var/lib/cni/results."""
    return f"{network}-{attachment.container}-{attachment.interface}"


def cached(network: Network, attachment: Attachment, result: Document) -> bytes:
    """What is kept until DEL, in the library's form."""
    document = {
        "kind": _CACHE_KIND,
        "containerId": attachment.container,
        "config": base64.b64encode(network.raw).decode(),
        "ifName": attachment.interface,
        "networkName": network.name,
        "netns": attachment.netns,
        "cniArgs": [list(pair) for pair in attachment.arguments],
        "result": result,
    }
    return json.dumps(document, separators=(",", ":")).encode()


def from_cache(raw: bytes) -> tuple[Network, Document | None] | None:
    """The network as it was at ADD, and its result; None for what cannot be understood."""
    try:
        document = json.loads(raw)
        if document.get("kind") != _CACHE_KIND:
            return None
        network = _network(".conflist", base64.b64decode(document["config"]))
    except (ValueError, KeyError, AttributeError, TypeError):
        return None
    result = document.get("result")
    return network, result if isinstance(result, dict) else None


def addresses_of(result: Document) -> tuple[str, ...]:
    """Without their lengths, IPv4 first; of any version of a result."""
    listed = [str(each.get("address", "")) for each in result.get("ips") or () if isinstance(each, dict)]
    listed += [str((result.get(family) or {}).get("ip", "")) for family in ("ip4", "ip6") if result.get(family)]
    return tuple(sorted((text.partition("/")[0] for text in listed if text), key=lambda text: ":" in text))


def outer_interface(result: Document) -> str:
    """The end of the cable that is not in the container."""
    for interface in result.get("interfaces") or ():
        if isinstance(interface, dict) and not interface.get("sandbox"):
            return str(interface.get("name", ""))
    return ""
