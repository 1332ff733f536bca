"""Modules that the kernel is shown not to have: by modprobe, its configuration, a search, or a link that it refuses."""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.underlay.traffic_evidence import compiled, rows
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign

NO_MODULE = Sign("module-not-found", "FATAL: Module <module> not found")
NO_MODULE_BUSYBOX = Sign("module-not-found-busybox", "modprobe: module <module> not found in modules.dep")
UNDETECTED = Sign("module-undetected", "Unable to detect the <module> module as Loaded/Builtin")
NOT_BUILT = Sign("module-not-built", "CONFIG_<option> is not set")
BAD_SYMBOL = Sign("module-unknown-symbol", "<module>: Unknown symbol <symbol>")

PROOFS = (NO_MODULE, NO_MODULE_BUSYBOX, UNDETECTED, NOT_BUILT, BAD_SYMBOL)
NEEDED = (
    "ip_set", "xt_", "ipip", "vxlan", "ip_vs", "iptable_", "ip_tables", "ipt_", "nf_tables", "nf_nat", "nf_conntrack",
    "br_netfilter", "nfnetlink", "tunnel4", "udp_tunnel",
)  # fmt: skip
# Merged into others, or loaded only when possible: their absence means nothing.
MEANINGLESS = ("nf_conntrack_ipv4", "nf_conntrack_ipv6", "nf_conntrack_proto_sctp", "xt_u32", "xt_icmp", "vfio")
OPTIONS = {"IP_SET": "ip_set", "NETFILTER_XT_SET": "xt_set", "NET_IPIP": "ipip", "VXLAN": "vxlan", "IP_VS": "ip_vs"}
# `ip link add vx type vxlan …`; what the command lacks is another error.
_LINK_KIND: Final = lazily(r"\bip\s(?:-\S{1,6}\s)?l(?:ink)?\s{1,4}add\b.{0,200}\btype\s{1,4}(?P<module>vxlan|ipip)\b")
_REFUSED: Final = ("Operation not supported", "Unknown device type")


def missing(picture: Picture) -> tuple[tuple[str, ...], tuple[object, ...]]:
    """Modules shown to be absent, and where."""
    names: dict[str, object] = {}
    for hit in picture.hits(*PROOFS):
        option = hit.value("option").upper()
        name = OPTIONS.get(option, "") if option else hit.value("module").rstrip(".").replace("-", "_")
        if name.startswith(NEEDED) and not name.startswith(MEANINGLESS):
            names.setdefault(name, hit)
    for exhibit in picture.commands("find", "/lib/modules", ".ko"):
        module = compiled(r"-i?name\s+['\"]?\*?(?P<module>[a-z][\w-]+?)\*?\.ko").search(exhibit.command)
        if module and not exhibit.text.strip() and module["module"].startswith(NEEDED):
            names.setdefault(module["module"], exhibit.place(0))
    for row in rows(picture, r"^\s*(?P<module>[a-z][\w-]+)\s+FAIL\s*$", needle="FAIL"):
        if row["module"].startswith(NEEDED) and not row["module"].startswith(MEANINGLESS):
            names.setdefault(row["module"], row)
    for exhibit in picture.commands("add", "type"):
        link = _LINK_KIND.search(exhibit.command[:400])
        index = next((at for at, line in enumerate(exhibit.lines) if any(word in line for word in _REFUSED)), None)
        if link and index is not None:
            names.setdefault(link["module"], exhibit.place(index))
    return tuple(names), tuple(names.values())
