"""The CNI configuration that is installed: a template with its holes filled, looked through before anybody reads it.

Pure. A configuration that is no JSON, or no list of plugins, makes every pod of the machine fail; so such a thing is
refused here, and the one that is there stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tortie.cni.config import VERSIONS
from tortie.model.errors import Invalid, Problem, TortieError
from tortie.model.kinds import nearest
from tortie.model.wire import Document

NETWORK: Final = "k8s-pod-network"
CHAINED: Final = ("portmap", "bandwidth")
_EVERYWHERE: Final = "1.0.0"

# What a template may leave open, and the variable that says what belongs there.
HOLES: Final = {
    "__KUBERNETES_NODE_NAME__": "KUBERNETES_NODE_NAME",
    "__CNI_MTU__": "CNI_MTU",
    "__KUBECONFIG_FILEPATH__": "CNI_NET_DIR",
    "__LOG_LEVEL__": "LOG_LEVEL",
    "__LOG_FILE_PATH__": "LOG_FILE_PATH",
    "__DATASTORE_TYPE__": "DATASTORE_TYPE",
    "__ETCD_ENDPOINTS__": "ETCD_ENDPOINTS",
    "__ETCD_DISCOVERY_SRV__": "ETCD_DISCOVERY_SRV",
    "__ETCD_KEY_FILE__": "TLS_ASSETS_DIR",
    "__ETCD_CERT_FILE__": "TLS_ASSETS_DIR",
    "__ETCD_CA_CERT_FILE__": "TLS_ASSETS_DIR",
    "__SERVICEACCOUNT_TOKEN__": "the token of the service account",
    "__KUBERNETES_SERVICE_HOST__": "KUBERNETES_SERVICE_HOST",
    "__KUBERNETES_SERVICE_PORT__": "KUBERNETES_SERVICE_PORT",
    "__REQUIRE_MTU_FILE__": "REQUIRE_MTU_FILE",
    "__CALICO_API_GROUP__": "CALICO_API_GROUP",
}
_USUAL: Final = {
    "__CNI_MTU__": "0",
    "__LOG_LEVEL__": "warn",
    "__LOG_FILE_PATH__": "/var/log/calico/cni/cni.log",
    "__DATASTORE_TYPE__": "etcdv3",
    "__REQUIRE_MTU_FILE__": "false",
}
# Empty is what Calico means by: there is none.
_MAY_BE_EMPTY: Final = frozenset(
    {name for name in HOLES if name.startswith("__ETCD_")} | {"__CALICO_API_GROUP__", "__LOG_FILE_PATH__"}
)
_SECRET: Final = "__SERVICEACCOUNT_TOKEN__"
_HOLE: Final = re.compile(r"__[A-Z][A-Z0-9_]*?__")


class Filled(NamedTuple):
    text: str
    warnings: tuple[TortieError, ...] = ()
    secret: bool = False  # there is a token in it


def built_in(
    *, mtu: int, node_name: str, kubeconfig: str, chained: Collection[str], versions: Collection[str] = VERSIONS
) -> str:
    """Where no template is given. `chained`: those of `CHAINED` that are there, because a plugin that is named and
    missing makes every pod fail; `versions`: of the specification, those that all of them speak.
    """
    calico: Document = {"type": "calico", "log_level": "info", "ipam": {"type": "calico-ipam"}}
    if node_name:
        calico["nodename"] = node_name
    if mtu:
        calico["mtu"] = mtu
    if kubeconfig:
        calico |= {"policy": {"type": "k8s"}, "kubernetes": {"kubeconfig": kubeconfig}}
    plugins = [calico]
    if "portmap" in chained:
        plugins.append({"type": "portmap", "snat": True, "capabilities": {"portMappings": True}})
    if "bandwidth" in chained:
        plugins.append({"type": "bandwidth", "capabilities": {"bandwidth": True}})
    document: Document = {"name": NETWORK, **_versions(versions), "plugins": plugins}
    return json.dumps(document, indent=2) + "\n"


def _versions(spoken: Collection[str]) -> Document:
    """The highest version that the oldest runtime in use knows; and, for those that choose, the ones above it.

    libcni before 1.2 (containerd 1.6 and 1.7) ends at 1.0.0, refuses the results of later versions and passes over
    `cniVersions`. Later ones take the highest of both fields that they know, and from 1.1.0 on call GC and STATUS.
    """
    ordered = [version for version in VERSIONS if version in spoken]
    everywhere = [version for version in ordered if version <= _EVERYWHERE]
    chosen = everywhere[-1] if everywhere else VERSIONS[0]
    later = [version for version in ordered if version > chosen]
    return {"cniVersion": chosen, **({"cniVersions": [chosen, *later]} if later else {})}


def fill(template: str, values: Mapping[str, str], source: str) -> Filled:
    """Every hole gets its value, as JSON wants it within a text; holes that nobody knows are refused."""
    found = list(dict.fromkeys(_HOLE.findall(template)))
    if unknown := [name for name in found if name not in HOLES]:
        raise Invalid(source, [_unknown_hole(name) for name in unknown])
    warnings = []
    filled = {}
    for name in found:
        value = values.get(name) or _USUAL.get(name, "")
        if not value and name not in _MAY_BE_EMPTY:
            what = f"{name} has no value"
            why = f"{source} asks for it, and {HOLES[name]} is not set; it is left empty"
            fix = "run this inside of the cluster" if name == _SECRET else f"set {HOLES[name]}"
            warnings.append(TortieError(what, why, fix))
        filled[name] = json.dumps(value, ensure_ascii=False)[1:-1]
    text = _HOLE.sub(lambda match: filled[match.group()], template)
    return Filled(text, tuple(warnings), bool(_SECRET in found and values.get(_SECRET)))


def _unknown_hole(name: str) -> Problem:
    near = nearest(name, HOLES)
    return Problem(name, "", "nobody knows what belongs there", f"did you mean {near}?" if near else ", ".join(HOLES))


def read_conflist(text: str, name: str, source: str) -> Document:
    """The configuration as runtimes read it, or why they would not."""
    try:
        document = json.loads(text)
    except ValueError as error:
        line = getattr(error, "lineno", 0)
        why = f"CNI config is not valid JSON: line {line}: {getattr(error, 'msg', error)}"
        raise Invalid(
            source, [Problem("document", "…", why, "JSON has no comments, and no comma before } or ]")]
        ) from None
    if problems := list(_problems(document, is_list=name.endswith(".conflist"))):
        raise Invalid(source, problems)
    result: Document = document
    return result


def _problems(document: Any, *, is_list: bool) -> Iterator[Problem]:
    if not isinstance(document, dict):
        yield Problem("document", "…", "is not a CNI configuration", "an object with name, cniVersion and plugins")
        return
    name = document.get("name")
    if not isinstance(name, str) or not re.fullmatch(r"[a-zA-Z0-9][a-zA-Z0-9_.-]*", name):
        yield Problem("name", name, "a network needs a name of letters, digits, _ . and -", NETWORK)
    if not isinstance(document.get("cniVersion", ""), str):
        yield Problem("cniVersion", document["cniVersion"], "is no text", '"1.0.0"')
    listed = document.get("cniVersions", [])
    if not isinstance(listed, list) or not all(isinstance(version, str) for version in listed):
        yield Problem("cniVersions", "…", "is no list of texts", '["1.0.0", "1.1.0"]')
    if not is_list:
        if "plugins" in document:
            yield Problem("plugins", "…", "a list of plugins has to be in a file *.conflist", "10-calico.conflist")
        else:
            yield from _plugin_problems(document, "")
        return
    plugins = document.get("plugins")
    if not isinstance(plugins, list) or not plugins:
        yield Problem("plugins", "", "a conflist has a list of at least one plugin", '[{"type": "calico", ...}]')
        return
    for index, plugin in enumerate(plugins):
        yield from _plugin_problems(plugin, f"plugins[{index}].")


def _plugin_problems(plugin: Any, where: str) -> Iterator[Problem]:
    if not isinstance(plugin, dict):
        yield Problem(where.rstrip("."), "…", "is not an object", '{"type": "calico", ...}')
        return
    kind = plugin.get("type")
    if not isinstance(kind, str) or not kind or "/" in kind:
        yield Problem(f"{where}type", kind, "names no plugin", "calico")
    mtu = plugin.get("mtu", 0)
    if isinstance(mtu, bool) or not isinstance(mtu, int):
        yield Problem(f"{where}mtu", mtu, "is not a number", "0, without quotes")


def plugins_named(document: Document) -> list[str]:
    """All programs that a runtime will run for it: the plugins and their IPAM plugins."""
    chain: Sequence[Document] = document.get("plugins") or [document]
    named = []
    for plugin in chain:
        ipam = plugin.get("ipam")
        named += [plugin["type"], ipam.get("type") if isinstance(ipam, dict) else None]
    return list(dict.fromkeys(name for name in named if isinstance(name, str) and name))


def ipam_of(document: Any) -> list[str]:
    """The IPAM plugins of a configuration that somebody else wrote; of anything else none."""
    if not isinstance(document, dict):
        return []
    plugins = document.get("plugins") if isinstance(document.get("plugins"), list) else [document]
    ipams = [plugin.get("ipam") for plugin in plugins or () if isinstance(plugin, dict)]
    return [str(ipam.get("type")) for ipam in ipams if isinstance(ipam, dict) and ipam.get("type")]
