"""A network's configuration as Calico's `10-calico.conflist` spells it, one plugin's part of it. Pure.

How the datastore is reached, and as whom, is the agent's business: fields about it are accepted and say nothing here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from tortie.cni.errors import CONFIG, DECODING, FIELD, VERSION, CniError

VERSIONS: Final = ("0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0")
OWN_IPAM: Final = frozenset({"calico-ipam", "tortie-ipam"})
_SINCE: Final = {"CHECK": "0.4.0", "GC": "1.1.0", "STATUS": "1.1.0"}
_NAME: Final = re.compile(r"[A-Za-z0-9_.\-]+")

_PAGE: Final = re.compile(r"https?://[!-~]+$")
MTU_MAX: Final = 65535
_QUEUES_MAX: Final = 4096  # of a link, in either direction

_TEXTS: Final = frozenset(
    {
        *("name", "type", "nodename", "nodename_file", "hostname", "ipam_lock_file", "datastore_type", "device_type"),
        *("etcd_endpoints", "etcd_discovery_srv", "etcd_key_file", "etcd_cert_file", "etcd_ca_cert_file"),
        *("etcd_authority", "etcd_scheme", "log_level", "log_file_path", "endpoint_status_dir", "calico_api_group"),
    }
)
_NUMBERS: Final = frozenset(
    {
        *("mtu", "num_queues", "log_file_max_size", "log_file_max_age", "log_file_max_count"),
        *("policy_setup_timeout_seconds", "qps", "burst"),
    }
)
_SWITCHES: Final = frozenset({"nodename_file_optional", "include_default_routes", "require_mtu_file"})
_OBJECTS: Final = frozenset(
    {
        *("ipam", "policy", "kubernetes", "feature_control", "container_settings", "dataplane_options"),
        *("args", "runtimeConfig", "prevResult", "capabilities"),
    }
)
_WORDS: Final = {str: "a text", int: "a whole number", bool: "true or false", dict: "an object", list: "a list"}

Document = Mapping[str, Any]
EMPTY: Final[Document] = MappingProxyType({})


class Network(NamedTuple):
    """What a request is about, as far as it matters here."""

    version: str
    name: str
    mtu: int = 0
    queues: int = 0
    nodename: str = ""
    nodename_file: str = "/var/lib/calico/nodename"
    needs_nodename_file: bool = True
    needs_mtu_file: bool = False
    ipam: Document = EMPTY
    policy: str = ""
    readiness_gates: tuple[str, ...] = ()
    addresses_without_ipam: bool = False
    floating_ips: bool = False
    forwarding: bool = False
    default_routes_too: bool = False
    args: Document = EMPTY  # of `args.cni`
    runtime: Document = EMPTY
    previous: Document | None = None
    attachments: frozenset[tuple[str, str]] | None = None  # those that GC leaves alone: container, interface
    document: Document = EMPTY

    @property
    def ipam_type(self) -> str:
        return str(self.ipam.get("type", ""))

    @property
    def owns_ipam(self) -> bool:
        return self.ipam_type in OWN_IPAM


def version_in(config: bytes) -> str:
    """For errors: the version to answer in, the newest one if the config says none that is known."""
    try:
        version = json.loads(config).get("cniVersion")
    except (ValueError, AttributeError, RecursionError):
        return VERSIONS[-1]
    return version if version in VERSIONS else VERSIONS[-1]


def read_network(config: bytes, command: str) -> Network:
    document = _read(config)
    if command == "DEL":
        return _to_be_left(document)
    version = _version(document, command)
    _check_types(document)
    return _network(version, _name(document), document, command)


def _read(config: bytes) -> Document:
    try:
        document = json.loads(config)
    except (ValueError, RecursionError) as error:
        raise CniError(
            DECODING, "the network configuration is not JSON", str(error), "look at /etc/cni/net.d"
        ) from None
    if not isinstance(document, dict):
        raise CniError(DECODING, "the network configuration is no JSON object", f"it is {type(document).__name__}")
    return document


def _to_be_left(document: Document) -> Network:
    """For DEL only what tells whose attachment it is: a pod must be able to end under a configuration with which none
    could start.
    """
    version, ipam = document.get("cniVersion"), document.get("ipam")
    return Network(
        str(version) if version in VERSIONS else VERSIONS[-1],
        _name(document),
        ipam=ipam if isinstance(ipam, dict) else EMPTY,
        document=document,
    )


def _name(document: Document) -> str:
    given = document.get("name")
    name = given if isinstance(given, str) else ""
    if not _NAME.fullmatch(name):
        why = "it is missing" if not name else "it has other characters than letters, digits, '_', '.', '-'"
        raise CniError(CONFIG, f"invalid network name: {name!r}", why, "set `name` in /etc/cni/net.d")
    return name


def _version(document: Document, command: str) -> str:
    version = document.get("cniVersion", "")
    if version not in VERSIONS:
        raise CniError(
            VERSION,
            f"unsupported CNI version: {version or 'none given, which means 0.2.0'}",
            f"supported are {', '.join(VERSIONS)}",
            "set `cniVersion` in /etc/cni/net.d to one of them",
        )
    since = _SINCE.get(command, VERSIONS[0])
    if VERSIONS.index(version) < VERSIONS.index(since):
        raise CniError(
            VERSION, f"config version {version} does not allow {command}", f"there is {command} since {since}"
        )
    return str(version)


def _check_types(document: Document) -> None:
    for field, value in document.items():
        kind: type | None = None
        if field in _TEXTS:
            kind = str
        elif field in _NUMBERS:
            kind = int
        elif field in _SWITCHES:
            kind = bool
        elif field in _OBJECTS:
            kind = dict
        if kind and value is not None and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
            raise CniError(CONFIG, f"the field {field} is {value!r}", f"it should be {_WORDS[kind]}")


def _network(version: str, name: str, document: Document, command: str) -> Network:
    if (device := document.get("device_type") or "veth") != "veth":
        raise CniError(FIELD, f"device_type {device!r} is not supported", "pods are wired with veth", "leave it out")
    if (document.get("dataplane_options") or {}).get("type") not in (None, "", "linux"):
        raise CniError(
            FIELD, f"dataplane_options {document['dataplane_options']!r} are not supported", "", "leave it out"
        )
    for field, most in (("mtu", MTU_MAX), ("num_queues", _QUEUES_MAX)):
        if not 0 <= (number := document.get(field) or 0) <= most:
            why = "it cannot be negative" if number < 0 else f"the kernel takes at most {most}"
            raise CniError(CONFIG, f"the field {field} is {number}", why)
    features = document.get("feature_control") or {}
    return Network(
        version,
        name,
        mtu=document.get("mtu") or 0,
        queues=document.get("num_queues") or 0,
        nodename=document.get("nodename") or (document.get("kubernetes") or {}).get("node_name") or "",
        nodename_file=document.get("nodename_file") or "/var/lib/calico/nodename",
        needs_nodename_file=not document.get("nodename_file_optional"),
        needs_mtu_file=bool(document.get("require_mtu_file")),
        ipam=document.get("ipam") or {},
        policy=str((document.get("policy") or {}).get("type") or ""),
        readiness_gates=_gates(document.get("readiness_gates")),
        addresses_without_ipam=bool(features.get("ip_addrs_no_ipam")),
        floating_ips=bool(features.get("floating_ips")),
        forwarding=bool((document.get("container_settings") or {}).get("allow_ip_forwarding")),
        default_routes_too=bool(document.get("include_default_routes")),
        args=_object((document.get("args") or {}).get("cni"), "args.cni"),
        runtime=document.get("runtimeConfig") or {},
        previous=document.get("prevResult"),
        attachments=_attachments(document) if command == "GC" else None,
        document=document,
    )


def _attachments(document: Document) -> frozenset[tuple[str, str]]:
    """Without the list nothing is freed: it would be everything. Go writes an empty one as null."""
    given = [document[name] for name in ("cni.dev/valid-attachments", "cni.dev/attachments") if name in document]
    listed: Any = next((each for each in given if each is not None), [] if given else None)
    if not isinstance(listed, list):
        raise CniError(
            CONFIG,
            "GC without cni.dev/valid-attachments",
            "nobody can tell what is still in use, and everything would be freed",
            "let the runtime pass the list; an empty one means that nothing is in use",
        )
    try:
        return frozenset((str(each["containerID"]), str(each["ifname"])) for each in listed)
    except (KeyError, TypeError) as error:
        raise CniError(CONFIG, "cni.dev/valid-attachments cannot be read", f"an item lacks {error}") from None


def _gates(value: Any) -> tuple[str, ...]:
    listed = value or []
    if not isinstance(listed, list) or not all(isinstance(page, str) and _PAGE.match(page) for page in listed):
        raise CniError(
            CONFIG, f"the field readiness_gates is {str(value)[:200]}", "it should be a list of http or https URLs"
        )
    return tuple(listed)


def _object(value: Any, field: str) -> Document:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise CniError(CONFIG, f"the field {field} is {value!r}", "it should be an object")
    return value
