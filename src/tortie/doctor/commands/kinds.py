"""What a value from evidence may look like, by what it is said to be. Pure.

Every letter that any kind lets in means only itself to a shell, quoted or not, and no kind begins with a dash: so no
value can become an option, a second word or a command, wherever a template puts it. What is not let in leaves a hole.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from ipaddress import ip_address, ip_interface, ip_network
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.words import Words
from tortie.model.tuples import NamedTuple

LONGEST: Final = 253  # a DNS name; a path may be longer
LONGEST_PATH: Final = 1024


class Kind(NamedTuple):
    """`fits` decides about a whole value, `name` is what people call it."""

    fits: Callable[[str], bool]
    name: Words


def _matches(pattern: str, value: str, longest: int = LONGEST) -> bool:
    return len(value) <= longest and bool(re.fullmatch(pattern, value, re.ASCII))


def _like(pattern: str, en: str, zh: str, longest: int = LONGEST) -> Kind:
    return Kind(partial(_matches, pattern, longest=longest), Words(en, zh))


def _parsed(parse: Callable[[str], object], value: str) -> bool:
    if not _matches(r"[0-9A-Fa-f.:/]+", value):
        return False
    try:
        parse(value)
    except ValueError:
        return False
    return True


def _is_path(value: str) -> bool:
    """Absolute, or a plain file name; it never climbs, and it is never the root itself."""
    parts = value.removeprefix("/").split("/")
    named = all(part not in ("", ".", "..") and not part.startswith("-") for part in parts)
    return named and _matches(r"(?:/|[A-Za-z0-9])[A-Za-z0-9._@+/=-]*", value, LONGEST_PATH)


def _network(value: str) -> None:
    """The whole internet is no network of a cluster: `ip route del 0.0.0.0/0` would take the default route."""
    if not ip_network(value).prefixlen:
        raise ValueError(value)


def _is_host(value: str) -> bool:
    return _parsed(ip_address, value) or _matches(_DNS, value)


_DNS = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_ENDPOINT = r"(?:https?://)?[A-Za-z0-9][A-Za-z0-9._-]*(?::[0-9]{1,5})?"
_WORD = r"[A-Za-z0-9][A-Za-z0-9._-]*"

KINDS: Final = {
    "node": _like(_DNS, "name of a node", "节点名"),
    "pod": _like(_DNS, "name of a pod", "Pod 名"),
    "namespace": _like(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?", "namespace", "命名空间", 63),
    "name": _like(_DNS, "name of an object", "对象名"),
    "container": _like(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?", "name of a container", "容器名", 63),
    "workload": _like(r"(?:ds|deploy|sts)/[a-z0-9][a-z0-9.-]*", "workload", "工作负载"),
    "resource": _like(r"[a-z][a-z0-9]*(?:[./][a-z0-9][a-z0-9.-]*)*", "kind of resource", "资源类型"),
    "verb": _like(r"[a-z]+", "verb", "动词", 20),
    "account": _like(r"[a-z0-9][a-z0-9.-]*", "service account", "ServiceAccount 名"),
    "user": _like(r"[A-Za-z0-9][A-Za-z0-9._:@-]*", "user", "用户名"),
    "address": Kind(partial(_parsed, ip_address), Words("IP address", "IP 地址")),
    "cidr": Kind(partial(_parsed, _network), Words("network", "网段")),
    "interface-address": Kind(partial(_parsed, ip_interface), Words("address with its length", "带掩码长度的地址")),
    "host": Kind(_is_host, Words("host name or address", "主机名或地址")),
    "port": Kind(lambda value: _matches(r"[0-9]{1,5}", value) and 0 < int(value) < 65536, Words("port", "端口")),
    "protocol": _like(r"tcp|udp|sctp", "protocol", "协议"),
    "number": _like(r"[0-9]{1,18}", "number", "数字"),
    "pid": Kind(lambda value: _matches(r"[0-9]{1,7}", value) and int(value) > 1, Words("process", "进程号")),
    "quantity": _like(r"[0-9]{1,12}(?:\.[0-9]{1,6})?(?:m|k|Ki|Mi|Gi|Ti|s|ms|h|%)?", "quantity", "数量"),
    "interface": _like(r"[A-Za-z0-9][A-Za-z0-9_.@:+-]{0,14}", "network interface", "网卡名", 15),
    "path": Kind(_is_path, Words("path", "路径")),
    "unit": _like(r"[A-Za-z0-9][A-Za-z0-9_.@:-]*", "systemd unit", "systemd 单元"),
    "file": _like(r"[A-Za-z0-9][A-Za-z0-9._@+-]*", "name of a file", "文件名"),
    "setting": _like(r"[A-Za-z](?:[A-Za-z0-9_./-]*[A-Za-z0-9_])?", "setting", "配置项"),
    "env": _like(r"[A-Z][A-Z0-9_]*", "environment variable", "环境变量名", 63),
    "env-value": _like(
        r"/?[A-Za-z0-9][A-Za-z0-9._:/@%+,=-]*",
        "value of an environment variable", "环境变量的值", LONGEST_PATH,
    ),
    "scalar": _like(r"true|false|[0-9]{1,9}", "true, false or a number", "true、false 或数字"),
    # Words and durations that Calico's resources have as values: Auto, NFT, CrossSubnet, 90s.
    "literal": _like(r"[A-Z][A-Za-z]{1,30}|[0-9]{1,6}(?:ms|s|m|h)?", "literal", "字面值"),
    "sysctl": _like(r"[a-z][a-z0-9_]*(?:[./][A-Za-z0-9_-]+)+", "sysctl", "sysctl 参数"),
    "method": _like(
        r"first-found|kubernetes-internal-ip"
        r"|(?:interface|skip-interface|can-reach|cidr)=[A-Za-z0-9][A-Za-z0-9_.:/,-]*",
        "autodetection method", "自动探测方法",
    ),
    "label": _like(rf"[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?=(?:{_DNS})?", "label", "标签"),
    "image": _like(r"[a-z0-9][a-z0-9._:/-]*(?:@sha256:[0-9a-f]{64})?", "image", "镜像"),
    "version": _like(r"v?[0-9][A-Za-z0-9._+-]*", "version", "版本"),
    "endpoint": _like(_ENDPOINT, "endpoint", "端点"),
    "endpoints": _like(
        rf"{_ENDPOINT}(?:,{_ENDPOINT})*",
        "list of endpoints", "端点列表", LONGEST_PATH,
    ),
    "module": _like(r"[a-z0-9][a-z0-9_-]*", "kernel module", "内核模块"),
    "package": _like(r"[a-z0-9](?:[a-z0-9.+-]*[a-z0-9])?", "package", "软件包"),
    "word": _like(_WORD, "word", "名称"),
}  # fmt: skip
# Letters that a shell takes as they are, in every place. `~`, `#`, `*`, `?`, brackets, quotes and blanks are not among
# them, nor is any letter that a terminal shows as another one.
INERT: Final = lazily(r"[A-Za-z0-9._:/@%+,=-]+", re.ASCII)


def let_in(kind: str, value: str) -> bool:
    """Whether a value may stand in a command as this kind. An unknown kind is a fault of the template."""
    plain = INERT.fullmatch(value) and not value.startswith("-") and ".." not in value.split("/")
    return bool(plain) and KINDS[kind].fits(value)
