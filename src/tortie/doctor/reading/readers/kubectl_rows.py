"""Rows of kubectl tables with a header, as facts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tortie.doctor.picture.facts import (
    Event,
    Fact,
    Node,
    Pod,
    Pool,
    Registered,
    ResourceCondition,
    Setting,
    Version,
    Workload,
)
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.reading.readers.kubectl_words import KINDS, bare_name, some
from tortie.doctor.reading.readers.rows import is_address
from tortie.doctor.reading.readers.times import age_s, event_ages, is_cut

Row = dict[str, str]
INTERNAL: Final = "INTERNAL"  # not the API's word: the heading of a column, below which any address may stand
ANNOTATION: Final = "projectcalico.org/IPv4Address"


def pod_row(place: Place, row: Row, namespace: str) -> Iterator[Fact]:
    ready, _, of = row.get("READY", "").partition("/")
    if not (ready.isdecimal() and of.isdecimal() and row.get("STATUS")):
        return
    restarts = row.get("RESTARTS", "").split(" ")[0]
    last = row.get("RESTARTS", "").partition("(")[2].partition(" ago")[0]
    yield Pod(
        place, bare_name(row.get("NAME", "")), row.get("NAMESPACE", namespace), int(ready), int(of), row["STATUS"],
        int(restarts) if restarts.isdecimal() else None, age_s(row.get("AGE", "")),
        some(row.get("IP", "")), some(row.get("NODE", "")), restarted_s=age_s(last),
    )  # fmt: skip


def node_row(place: Place, row: Row) -> Iterator[Fact]:
    shortened = "STATUS" not in row and "INTERNAL-IP" in row  # awk left the name and the address
    if "Ready" not in row.get("STATUS", "") and row.get("STATUS") != "Unknown" and not shortened:
        return
    name = bare_name(row.get("NAME", ""))
    internal, external = some(row.get("INTERNAL-IP", "")), some(row.get("EXTERNAL-IP", ""))
    addresses = tuple(pair for pair in (("InternalIP", internal), ("ExternalIP", external)) if pair[1])
    labels = tuple(tuple(p.split("=", 1)) for p in row.get("LABELS", "").split(",") if "=" in p)
    yield Node(
        place, name, row.get("STATUS", ""), some(row.get("ROLES", "")), row.get("AGE", ""), row.get("VERSION", ""),
        internal, addresses, labels=labels, os_image=row.get("OS-IMAGE", ""), kernel=row.get("KERNEL-VERSION", ""),  # type: ignore[arg-type]
        runtime=row.get("CONTAINER-RUNTIME", ""), arch=some(row.get("ARCH", "")),
    )  # fmt: skip
    for component, column in (("kubelet", "VERSION"), ("kernel", "KERNEL-VERSION")):
        if row.get(column):
            yield Version(place, component, row[column], name)
    runtime, _, version = row.get("CONTAINER-RUNTIME", "").partition("://")
    if version:
        yield Version(place, runtime, version, name)


def compares(names: Sequence[str]) -> bool:
    """Custom columns that set each node's own address beside the one that Calico has; the first one names it."""
    internal, calico = (sum(word in name for name in names) for word in ("INTERNAL", "CALICO"))
    return internal == calico == 1 and "INTERNAL" not in names[0] and "CALICO" not in names[0]


def compared_row(place: Place, row: Row) -> Iterator[Fact]:
    name = next(iter(row.values()), "")
    internal = next((cell for column, cell in row.items() if "INTERNAL" in column), "")
    address, _, length = next((cell for column, cell in row.items() if "CALICO" in column), "").partition("/")
    if not is_address(internal):
        return
    annotations = ((ANNOTATION, f"{address}/{length}" if length else address),) if is_address(address) else ()
    yield Node(place, name, addresses=((INTERNAL, internal),), annotations=annotations)
    if annotations:
        yield Registered(place, name, address, int(length) if length.isdecimal() else None, "annotation")


def event_row(place: Place, row: Row) -> Iterator[Fact]:
    reason = row.get("REASON", "")
    if not re.match(r"[A-Z]\w+$", reason):
        return
    ages = event_ages(row.get("LAST_SEEN", row.get("AGE", "")))
    thing = row.get("OBJECT") or (f"{row['KIND'].lower()}/{row.get('NAME', '')}" if "KIND" in row else "")
    source, _, host = row.get("SOURCE", "").partition(",")
    count = row.get("COUNT", "")
    message = row.get("MESSAGE", "")
    yield Event(
        place, reason, message, row.get("TYPE", ""), thing, source.strip(), host.strip(), ages.last_s,
        int(count) if count.isdecimal() else ages.times, age_s(row.get("FIRST_SEEN", "")) or ages.over_s,
        cut=is_cut(message),
    )  # fmt: skip


def workload_row(place: Place, row: Row, asked: str, namespace: str) -> Iterator[Fact]:
    kind, _, name = row.get("NAME", "").rpartition("/")
    kind = KINDS.get(kind.split(".")[0], "") or asked
    if not kind or kind == "Pod":
        kind = "DaemonSet" if "NODE_SELECTOR" in row else "Deployment" if "AVAILABLE" in row else ""
        kind = kind or ("DaemonSet" if name.startswith(("calico-node", "kube-proxy", "canal")) else "ReplicaSet")
    ready, _, of = row.get("READY", row.get("AVAILABLE", "")).partition("/")
    desired = row.get("DESIRED", of)
    if not (ready.isdecimal() and desired.isdecimal()):
        return
    current = row.get("CURRENT", "")
    yield Workload(
        place, kind, name, row.get("NAMESPACE", namespace), int(desired), int(current) if current.isdecimal() else None,
        int(ready),
    )  # fmt: skip


def endpoints_row(place: Place, row: Row) -> Iterator[Fact]:
    if row.get("NAME") and "ENDPOINTS" in row:
        yield Setting(place, "endpoints", row.get("NAME", ""), some(row["ENDPOINTS"]), row.get("NAMESPACE", ""))


def slice_row(place: Place, row: Row) -> Iterator[Fact]:
    """An EndpointSlice is named like its service, and five characters more."""
    name = bare_name(row.get("NAME", ""))
    addresses = [cell for cell in row.get("ENDPOINTS", "").split(",") if cell and cell[0] != "<"]
    ports = [port for port in row.get("PORTS", "").split(",") if port.isdecimal()]
    ends = [f"{address}:{port}" for address in addresses for port in ports[:1]] or addresses
    service = re.sub(r"-[a-z0-9]{5}$", "", name) if name != "kubernetes" else name
    yield Setting(place, "endpoints", service, ",".join(ends), row.get("NAMESPACE", ""))


def service_row(place: Place, row: Row) -> Iterator[Fact]:
    if "CLUSTER-IP" in row:
        yield Setting(place, "service", bare_name(row.get("NAME", "")), row["CLUSTER-IP"], row.get("NAMESPACE", ""))


def tigera_row(place: Place, row: Row) -> Iterator[Fact]:
    states = [(column.lower(), row.get(column, "")) for column in ("AVAILABLE", "PROGRESSING", "DEGRADED")]
    told = " ".join(f"{name}={state}" for name, state in states if state in ("True", "False", "Unknown"))
    name = bare_name(row.get("NAME", ""))
    if told:
        yield Setting(place, "tigerastatus", name, told)
        degraded = row.get("DEGRADED", "")
        for column, state in states:
            message = row.get("MESSAGE", "") if (column == "degraded") == (degraded == "True") else ""
            if state in ("True", "False", "Unknown"):
                yield ResourceCondition(place, "TigeraStatus", name, column.capitalize(), state, "", message)


def apiservice_row(place: Place, row: Row) -> Iterator[Fact]:
    match = re.match(r"(True|False)(?: \((\w+)\))?$", row.get("AVAILABLE", ""))
    if match:
        name = bare_name(row.get("NAME", ""))
        yield Setting(place, "apiservice", name, row["AVAILABLE"])
        yield ResourceCondition(place, "APIService", name, "Available", match[1], match[2] or "")


def api_row(place: Place, row: Row) -> Iterator[Fact]:
    """A row of `kubectl api-resources`."""
    if re.match(r"[a-z0-9.-]+/v\d|v\d", row.get("APIVERSION", "")):
        yield Setting(place, "api-version", row["APIVERSION"], "present")
        yield Setting(place, "api-resource", row.get("NAME", ""), row["APIVERSION"], row.get("KIND", ""))


def created_row(place: Place, row: Row, asked: str) -> Iterator[Fact]:
    name = row.get("NAME", "")
    scope = asked if asked.startswith(("crd", "clusterrole")) else "crd" if name.count(".") >= 2 else "resource"
    yield Setting(place, scope, bare_name(name), "present")


def pool_row(place: Place, row: Row) -> Iterator[Fact]:
    if "/" in row.get("CIDR", ""):
        disabled = row.get("DISABLED", "").lower()
        yield Pool(
            place, row.get("NAME", ""), row["CIDR"], None, row.get("IPIPMODE", row.get("IPIP", "")),
            row.get("VXLANMODE", row.get("VXLAN", "")), None if not disabled else disabled == "true",
            row.get("SELECTOR", ""), _yes(row.get("NAT") or row.get("NATOUTGOING") or row.get("OUTGOING") or ""),
        )  # fmt: skip


def _yes(word: str) -> bool | None:
    """Of a boolean column: kubectl shows `<none>` for what is left out, and left out it is off."""
    return {"true": True, "false": False, "<none>": False}.get(word.lower())


def top_row(place: Place, row: Row) -> Iterator[Fact]:
    owner = row.get("POD") or row.get("NAME", "")
    for column, value in row.items():
        if column.startswith(("CPU", "MEMORY")) and value[:1].isdecimal():
            yield Setting(place, "top", column.split("(")[0].lower(), value, owner)
