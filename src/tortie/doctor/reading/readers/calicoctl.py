"""What calicoctl prints: sessions, nodes, pools, address management, the check of a machine's kernel.

Settings made here, by scope:
- `calicoctl`: `process` is running or not running; `bgp-backend` is not running; `ipv4-peers`, `ipv6-peers` are none.
- `bgppeer`, `bgpconfig`, `felixconfig`, `hostendpoint`, `globalnetworkpolicy`, `networkpolicy`, `workloadendpoint`,
  `profile`, `node`: one per column of `calicoctl get`, named like the field in YAML (`peerIP`,
  `nodeToNodeMeshEnabled`), owner the resource.
- `ipam-check`: counts of `ipam check` (`blocks`, `allocations`, `leaked`, `problems`, see _FOUND), and `leaked-ip`,
  `problem-ip` for single addresses, owner the rest of their line.
- `ipam-ip`: name an address, value `in use` or `not assigned`; its attributes with the address as owner.
- `ipamconfig`: rows of `ipam show --show-configuration`.
- `module`: name a kernel module, value OK, FAIL or SKIP, owner checksystem.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import CalicoNode, Fact, Pool, PoolUse, Registered, Session, Setting, Version
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.doctor.reading.readers.bird import standing
from tortie.doctor.reading.readers.host_commands import IP, ran, rows
from tortie.doctor.reading.readers.host_tables import Columns, wrapped_rows

_KINDS: Final = ("node-to-node mesh", "node specific", "global")
_STATES: Final = ("up", "start", "down", "stop", "wait", "feed", "flush")
_LOOSE: Final = lazily(
    rf"^({IP}(?:\.port\.\d+)?)\s+(node-to-node mesh|node specific|global)\s+(up|start|down|wait|feed)\s+(\S+)\s*(.*)$"
)
_PAST: Final = lazily(r"当时|昨天|之前|以前|原来|\b(?:was|were|yesterday|before|earlier|back then)\b", re.I)
_SAID: Final = (
    ("Calico process is running.", "process", "running"),
    ("Calico process is not running.", "process", "not running"),
    ("None of the BGP backend processes", "bgp-backend", "not running"),
    ("No IPv4 peers found.", "ipv4-peers", "none"),
    ("No IPv6 peers found.", "ipv6-peers", "none"),
)
_FOUND: Final = (
    (lazily(r"Found (\d+) IPAM blocks"), "blocks"),
    (lazily(r"IPAM blocks record (\d+) allocations"), "allocations"),
    (lazily(r"Found (\d+) active IP pools"), "pools"),
    (lazily(r"Found (\d+) node tunnel IPs"), "tunnel-ips"),
    (lazily(r"Found (\d+) workload IPs"), "workload-ips"),
    (lazily(r"Workloads and nodes are using (\d+) IPs"), "used-ips"),
    (lazily(r"Found (\d+) IPs that are allocated in IPAM but not actually in use"), "leaked"),
    (lazily(r"Found (\d+) in-use IPs that are not in active IP pools"), "in-use-outside-pools"),
    (lazily(r"Found (\d+) in-use IPs that are in active IP pools but have no"), "in-use-unallocated"),
    (lazily(r"Found (\d+) handles with no matching IPs"), "handles-without-ips"),
    (lazily(r"Found (\d+) handles mentioned in blocks with no matching"), "missing-handles"),
    (lazily(r"[Cc]heck complete; found (\d+) problems"), "problems"),
)
_PROBLEM: Final = lazily(rf"^({IP})\s+(leaked|.*(?:not allocated|duplicate|not in active|in use by).*)", re.I)
_MODULE: Final = lazily(r"^(\S+)\s+(OK|FAIL|SKIP)$")
_COLUMNS: Final = {
    "PEERIP": "peerIP",
    "PEERSELECTOR": "peerSelector",
    "NODESELECTOR": "nodeSelector",
    "NODE": "node",
    "ASN": "asNumber",
    "ASNUMBER": "asNumber",
    "MESHENABLED": "nodeToNodeMeshEnabled",
    "LOGSEVERITY": "logSeverityScreen",
    "INTERFACE": "interfaceName",
    "IPS": "expectedIPs",
    "NETWORKS": "ipNetworks",
}
_KIND_OF: Final = (
    (("bgppeer", "bgppeers", "bgpp"), "bgppeer"),
    (("bgpconfig", "bgpconfigs", "bgpconfiguration", "bgpconfigurations"), "bgpconfig"),
    (("felixconfig", "felixconfigs", "felixconfiguration", "felixconfigurations"), "felixconfig"),
    (("hep", "heps", "hostendpoint", "hostendpoints"), "hostendpoint"),
    (("gnp", "gnps", "globalnetworkpolicy", "globalnetworkpolicies"), "globalnetworkpolicy"),
    (("np", "policy", "policies", "networkpolicy", "networkpolicies"), "networkpolicy"),
    (("wep", "weps", "workloadendpoint", "workloadendpoints"), "workloadendpoint"),
    (("profile", "profiles"), "profile"),
    (("node", "nodes", "no"), "node"),
    (("ippool", "ippools", "ipp", "pool"), "ippool"),
)
_KIND: Final = {word: kind for words, kind in _KIND_OF for word in words}
_KEY: Final = lazily(
    r"^/calico/(?:bgp/)?(?:v1/host|resources/v3/projectcalico\.org/nodes)/([A-Za-z0-9][\w.-]{0,252})(?:/|$)"
)
_SELECTS: Final = lazily(r"[=!]=|\bhas\(|\ball\(\)|\bin \{")
_GET: Final = lazily(
    r"\b(?:calicoctl\S{0,40}|calico)\s(?:\S{1,60}\s{1,8}){0,4}?get\s{1,8}"
    r"(?:-\S{1,40}\s{1,8}){0,6}(\w+)"
)


def read(exhibit: Exhibit) -> Iterator[Fact]:
    text = exhibit.text
    if any(kind in text for kind in _KINDS):
        yield from _sessions(exhibit)
    if "IPv" in text or "BGP backend" in text or "Calico process" in text:
        yield from _status_lines(exhibit)
    if "IP Pool " in text or "GROUPING" in text or "Block " in text:
        yield from _pool_use(exhibit)
    if "IPAM" in text or "problems" in text:
        yield from _ipam_check(exhibit)
    if "StrictAffinity" in text or ran(exhibit, "ipam"):
        yield from _ipam_show(exhibit)
    if "Checking kernel" in text or "checksystem" in exhibit.command or "minimum system" in text:
        yield from _checksystem(exhibit)
    if "Cluster Version:" in text:
        yield from _versions(exhibit)
    if "/calico/" in text and "etcdctl" in exhibit.command:
        yield from _keys(exhibit)
    kind = _asked(exhibit)
    if kind or "IPIPMODE" in text or "PEERIP" in text or "MESHENABLED" in text or " ASN " in text:
        yield from _table(exhibit, kind)


def _keys(exhibit: Exhibit) -> Iterator[Fact]:
    """Nodes by the keys of their records: `/calico/v1/host/<name>`, `/calico/resources/v3/.../nodes/<name>`."""
    seen = set()
    for index, line in rows(exhibit):
        match = _KEY.match(line)
        if match and match[1] not in seen:
            seen.add(match[1])
            yield CalicoNode(exhibit.place(index), match[1])


def _asked(exhibit: Exhibit) -> str:
    if "calico" not in exhibit.command:
        return ""
    match = _GET.search(exhibit.command)
    return _KIND.get(match[1].lower(), "") if match else ""


def _sessions(exhibit: Exhibit) -> Iterator[Fact]:
    for first, last, cells in wrapped_rows(enumerate(exhibit.lines)):
        if len(cells) < 3 or cells[1] not in _KINDS or cells[2] not in _STATES:
            continue
        since, info = (*cells[3:5], "", "")[:2]
        said, _, named = cells[0].rpartition(" ")  # a row quoted in a sentence: what stands before it is prose
        if said and _PAST.search(said):
            continue
        peer = re.sub(r"\.port\.\d+$", "", named)
        yield from _session(exhibit, exhibit.place(first, last + 1), peer, cells[1], cells[2], since, info)
    for index, line in rows(exhibit):
        if "|" in line or not line[0].isalnum():
            continue
        match = _LOOSE.match(line)
        if match:
            peer = re.sub(r"\.port\.\d+$", "", match[1])
            yield from _session(exhibit, exhibit.place(index), peer, match[2], match[3], match[4], match[5])


def _session(exhibit: Exhibit, place: Place, peer: str, kind: str, state: str, since: str, info: str) -> Iterator[Fact]:
    if state != standing(state, info):
        yield Setting(place, "bird", "waiting", state, peer, exhibit.host)
    yield Session(place, peer, standing(state, info), info, kind, since, exhibit.host)


def _status_lines(exhibit: Exhibit) -> Iterator[Fact]:
    for index, line in rows(exhibit):
        for words, name, value in _SAID:
            if words in line:
                yield Setting(exhibit.place(index), "calicoctl", name, value, "", exhibit.host)


def _count(cell: str) -> int | None:
    try:
        return int(float(cell.split()[0]))
    except (IndexError, ValueError, OverflowError):
        return None


def _pool_use(exhibit: Exhibit) -> Iterator[Fact]:
    unquoted = (line.lstrip("> ") for line in exhibit.lines)  # a table in an answer to a post
    for first, last, cells in wrapped_rows(enumerate(unquoted)):
        if len(cells) < 5 or cells[0] not in ("IP Pool", "Block"):
            continue
        total, used, free = _count(cells[2]), _count(cells[3]), _count(cells[-1])
        if total is not None and used is not None and free is not None:
            yield PoolUse(exhibit.place(first, last + 1), cells[0], cells[1], total, used, free)


def _ipam_check(exhibit: Exhibit) -> Iterator[Fact]:
    checked = "IPAM" in exhibit.text or "ipam" in exhibit.command
    for index, line in rows(exhibit):
        if not any(word in line for word in ("ound", "IPs", "allocations", "leaked", "allocated")):
            continue
        for pattern, name in _FOUND:
            match = pattern.search(line)
            if match:
                yield Setting(exhibit.place(index), "ipam-check", name, match[1], "", exhibit.host)
                break
        else:
            problem = _PROBLEM.match(line) if checked else None
            if problem:
                name = "leaked-ip" if problem[2].lower().startswith("leaked") else "problem-ip"
                rest = line[len(problem[1]) :].strip()
                yield Setting(exhibit.place(index), "ipam-check", name, problem[1], rest, exhibit.host)


def _ipam_show(exhibit: Exhibit) -> Iterator[Fact]:
    for first, last, cells in wrapped_rows(enumerate(exhibit.lines)):
        if len(cells) == 2 and cells[0] != "PROPERTY" and cells[0]:
            yield Setting(exhibit.place(first, last + 1), "ipamconfig", cells[0], cells[1], "", exhibit.host)
    address = ""
    for index, line in rows(exhibit):
        match = re.match(rf"^(?:IP )?({IP}) is (in use|not assigned|not currently assigned.*)", line)
        if match:
            address = match[1]
            value = "in use" if match[2] == "in use" else "not assigned"
            yield Setting(exhibit.place(index), "ipam-ip", address, value, "", exhibit.host)
        elif address and ": " in line and exhibit.lines[index][:1] in (" ", "\t"):
            name, _, value = line.partition(": ")
            yield Setting(exhibit.place(index), "ipam-ip", name.strip(), value.strip(), address, exhibit.host)


def _checksystem(exhibit: Exhibit) -> Iterator[Fact]:
    for index, line in rows(exhibit):
        match = _MODULE.match(line) if line.endswith(("OK", "FAIL", "SKIP")) else None
        if match and not match[1][0].isdigit():
            yield Setting(exhibit.place(index), "module", match[1], match[2], "checksystem", exhibit.host)


def _versions(exhibit: Exhibit) -> Iterator[Fact]:
    for index, line in rows(exhibit):
        for words, component in (("Cluster Version:", "calico"), ("Client Version:", "calicoctl")):
            if line.startswith(words) and len(line.split()) >= 3 and line.split()[2][:1] in "v123456789":
                yield Version(exhibit.place(index), component, line.split()[2], exhibit.host)


def _table(exhibit: Exhibit, kind: str) -> Iterator[Fact]:
    columns: Columns | None = None
    found = kind
    for index, line in rows(exhibit):
        heading = line.split()
        if "NAME" in heading and line.upper() == line and "|" not in line:
            columns = Columns(exhibit.lines[index])
            found = kind or _kind_by(columns.names)
        elif columns and found and not line.startswith(("Error", "Failed", "error")):
            yield from _row(exhibit, index, found, columns.cells(exhibit.lines[index]))


def _kind_by(names: list[str]) -> str:
    if "CIDR" in names and ("NAT" in names or "SELECTOR" in names):
        return "ippool"
    for name, kind in (("PEERIP", "bgppeer"), ("MESHENABLED", "bgpconfig")):
        if name in names:
            return kind
    return "node" if "ASN" in names and "IPV4" in names else ""


def _row(exhibit: Exhibit, index: int, kind: str, cells: dict[str, str]) -> Iterator[Fact]:
    place, name = exhibit.place(index), cells.get("NAME", "")
    if kind == "ippool" and "/" in cells.get("CIDR", ""):
        yield Pool(
            place,
            name,
            cells["CIDR"],
            None,
            cells.get("IPIPMODE", ""),
            cells.get("VXLANMODE", ""),
            _truth(cells.get("DISABLED", "")),
            cells.get("SELECTOR", ""),
            _truth(cells.get("NAT", "")),
        )
    elif kind == "node":
        if not name or " " in name or (set(cells) - {"NAME", "ASN", "IPV4", "IPV6"}):
            return
        yield CalicoNode(place, name)
        address, _, length = cells.get("IPV4", "").partition("/")
        if address.count(".") == 3:
            asn = cells.get("ASN", "").strip("()")
            yield Registered(place, name, address, int(length) if length.isdecimal() else None, "calicoctl", "", asn)
    elif kind != "ippool":
        owner = name if kind != "workloadendpoint" else cells.get("WORKLOAD", name)
        for column, value in cells.items():
            if column != "NAME" or len(cells) == 1 or kind == "workloadendpoint":
                field = _COLUMNS.get(column, column.lower())
                if kind == "bgppeer" and field == "node" and _SELECTS.search(value):
                    field = "nodeSelector"  # calicoctl puts either of them into one column
                if field.endswith("Selector") and value in ("", "<none>"):
                    continue
                yield Setting(place, kind, field, value, owner, exhibit.host)


def _truth(cell: str) -> bool | None:
    return {"true": True, "false": False}.get(cell.lower())
