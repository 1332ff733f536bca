"""What an installation is told: flags, else the variables that Calico's install-cni knows, else what is usual. Pure.

A container that installs has the machine's folders mounted below /host; where these are there, they are meant.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from tortie.model.errors import UsageError
from tortie.model.kinds import nearest

PLUGINS: Final = ("tortie", "calico", "calico-ipam")
SUFFIXES: Final = (".conflist", ".conf", ".json")  # what runtimes read in the folder

BIN_FOLDER: Final = "/opt/cni/bin"
PLUGIN_SOURCES: Final = ("/usr/lib/cni", "/usr/libexec/cni")  # where distributions have the standard plugins
CONF_FOLDER: Final = "/etc/cni/net.d"
MOUNTED_BIN_FOLDERS: Final = ("/host/opt/cni/bin", "/host/secondary-bin-dir")
MOUNTED_CONF_FOLDER: Final = "/host/etc/cni/net.d"
SERVICE_ACCOUNT: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
KUBECONFIG: Final = "calico-kubeconfig"
TLS_FOLDER: Final = "calico-tls"
TLS_SOURCE: Final = "/calico-secrets"

_TRUE: Final = frozenset({"1", "t", "true", "y", "yes", "on"})
_FALSE: Final = frozenset({"", "0", "f", "false", "n", "no", "off"})
_MTU_RANGE: Final = range(1280, 65536)
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


class Flags(NamedTuple):
    """As the command line has them; empty where nothing was said."""

    bin_folders: tuple[str, ...] = ()
    conf_folder: str = ""
    conf_name: str = ""
    template: str = ""
    mtu: str = ""
    kubeconfig: str = ""
    service_account: str = ""
    plugin_sources: tuple[str, ...] = ()


class InstallSettings(NamedTuple):
    bin_folders: tuple[str, ...]  # where to write; below the root
    conf_folder: str
    conf_folder_seen: str  # the same folder as the runtime sees it, for paths inside of files
    conf_name: str
    old_conf_name: str  # to be removed once the new one is in place; "" for none
    template: str  # the text itself, from the environment
    template_file: str  # else the file that holds it
    mtu: int  # 0: as the node finds it out
    skipped: frozenset[str]  # plugins that are not to be written
    update: bool  # False: plugins that are there stay as they are
    node_name: str
    kubeconfig: str
    service_account: str
    ca_file: str
    skip_tls_verify: bool
    tls_source: str


def read_install_settings(
    flags: Flags, environment: Mapping[str, str], existing: Collection[str] = ()
) -> InstallSettings:
    """`existing`: those of the folders below /host that are there."""
    bins = flags.bin_folders or tuple(path for path in MOUNTED_BIN_FOLDERS if path in existing) or (BIN_FOLDER,)
    conf = flags.conf_folder or (MOUNTED_CONF_FOLDER if MOUNTED_CONF_FOLDER in existing else CONF_FOLDER)
    seen = environment.get("CNI_NET_DIR") or (CONF_FOLDER if conf == MOUNTED_CONF_FOLDER else conf)
    name = flags.conf_name or environment.get("CNI_CONF_NAME") or "10-calico.conflist"
    old = environment.get("CNI_OLD_CONF_NAME", "")
    _check_name(name, "--conf-name" if flags.conf_name else "CNI_CONF_NAME")
    if old:
        _check_name(old, "CNI_OLD_CONF_NAME")
    account = (flags.service_account or SERVICE_ACCOUNT).rstrip("/")
    return InstallSettings(
        tuple(dict.fromkeys(path.rstrip("/") or "/" for path in bins)),
        conf.rstrip("/") or "/",
        seen.rstrip("/") or "/",
        name,
        old if old != name else "",
        "" if flags.template else environment.get("CNI_NETWORK_CONFIG", ""),
        flags.template or environment.get("CNI_NETWORK_CONFIG_FILE", ""),
        _mtu(flags.mtu, "--mtu") if flags.mtu else _mtu(environment.get("CNI_MTU") or "0", "CNI_MTU"),
        _skipped(environment.get("SKIP_CNI_BINARIES", "")),
        _truth(environment, "UPDATE_CNI_BINARIES", default=True),
        environment.get("KUBERNETES_NODE_NAME", "").strip(),
        flags.kubeconfig or environment.get("KUBECONFIG_FILE_NAME") or KUBECONFIG,
        account,
        environment.get("KUBE_CA_FILE") or f"{account}/ca.crt",
        _truth(environment, "SKIP_TLS_VERIFY", default=False),
        environment.get("TLS_ASSETS_DIR") or TLS_SOURCE,
    )


def _check_name(name: str, source: str) -> None:
    if not _NAME.fullmatch(name) or not name.endswith(SUFFIXES):
        raise UsageError(
            f"'{name}' cannot be the name of a CNI configuration",
            f"{source} says so; runtimes read the files of one folder that end in {', '.join(SUFFIXES)}",
            "use a name without folders, for example 10-calico.conflist",
        )


def _mtu(text: str, source: str) -> int:
    number = int(text) if text.strip().isascii() and text.strip().isdigit() else -1
    if number != 0 and number not in _MTU_RANGE:
        raise UsageError(
            f"'{text}' is no MTU",
            f"{source} says so; it is a number from {_MTU_RANGE[0]} to {_MTU_RANGE[-1]}",
            "use 0, and each node takes the one that fits its links and tunnels",
        )
    return number


def _skipped(text: str) -> frozenset[str]:
    """Names of plugins that are none of ours are Calico's own list: its image had more of them."""
    return frozenset(word.strip() for word in text.split(",") if word.strip())


def _truth(environment: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = environment.get(name)
    if text is None or text.strip() == "":
        return default
    if text.strip().lower() in _TRUE | _FALSE:
        return text.strip().lower() in _TRUE
    near = nearest(text, ("true", "false"))
    raise UsageError(
        f"{name} is '{text}'", "it is either true or false", f"did you mean {near}?" if near else "use true or false"
    )
