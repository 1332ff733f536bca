"""The columns of `tortie get`, as calicoctl has them, and the table itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tortie.model.kinds import Kind
from tortie.model.light import Any, NamedTuple
from tortie.model.wire import Document

_WIDEST_LIST = 80
TIER_ORDER = 1_000_000  # of a tier that says none


class Column(NamedTuple):
    heading: str
    value: Callable[[Document], object]


class Columns(NamedTuple):
    usual: tuple[Column, ...]
    wide: tuple[Column, ...]
    extra: tuple[Column, ...] = ()  # only by custom-columns

    def named(self) -> dict[str, Column]:
        return {column.heading: column for column in (NAMESPACE, NAME, *self.usual, *self.wide, *self.extra)}


def at(document: Any, path: str) -> Any:
    """The value at a dotted path, None where there is none."""
    for name in path.split("."):
        document = document.get(name) if isinstance(document, dict) else None
    return document


def _field(heading: str, path: str, missing: str = "") -> Column:
    names = path.split(".")

    def value(document: Any) -> object:
        try:
            for name in names:
                document = document.get(name)
        except AttributeError:  # something else stands where an object should be, or nothing
            return missing
        return missing if document is None else document

    return Column(heading, value)


def _items(document: Document, path: str) -> list[Any]:
    """A list, empty where something else was stored: one odd object must not hide the others."""
    found = at(document, path)
    return found if isinstance(found, list) else []


def _count(heading: str, path: str) -> Column:
    return Column(heading, lambda document: len(_items(document, path)))


def _joined(heading: str, path: str, widest: int | None = None) -> Column:
    def value(document: Document) -> str:
        text = ",".join(str(item) for item in _items(document, path))
        return text if widest is None or len(text) <= widest else text[: widest - 3] + "..."

    return Column(heading, value)


def _pairs(heading: str, path: str) -> Column:
    def value(document: Document) -> str:
        found = at(document, path)
        return ",".join(f"{key}={found[key]}" for key in sorted(found)) if isinstance(found, dict) else ""

    return Column(heading, value)


def _peer_node(document: Document) -> object:
    return at(document, "spec.node") or at(document, "spec.nodeSelector") or "(global)"


def _workload(document: Document) -> object:
    return at(document, "spec.workload") or at(document, "spec.pod") or ""


def _nats(document: Document) -> str:
    nats = _items(document, "spec.ipNATs")
    return ",".join(f"{nat.get('externalIP')}->{nat.get('internalIP')}" for nat in nats if isinstance(nat, dict))


NAME = _field("NAME", "metadata.name")
NAMESPACE = _field("NAMESPACE", "metadata.namespace")

_ONLY_NAME = Columns((NAME,), (NAME,))
_POLICY = Columns(
    (NAME, _field("TIER", "spec.tier", "default")),
    (
        NAME,
        _field("TIER", "spec.tier", "default"),
        _field("ORDER", "spec.order", "<nil>"),
        _field("SELECTOR", "spec.selector"),
    ),
)
_NETWORK_SET = Columns((NAME,), (NAME, _joined("NETS", "spec.nets", _WIDEST_LIST)))


def _same(*columns: Column) -> Columns:
    return Columns(columns, columns)


_COLUMNS: dict[str, Columns] = {
    "BGPConfiguration": _same(
        NAME,
        _field("LOGSEVERITY", "spec.logSeverityScreen", "-"),
        _field("MESHENABLED", "spec.nodeToNodeMeshEnabled", "-"),
        _field("ASNUMBER", "spec.asNumber", "-"),
    ),
    "BGPFilter": _same(
        NAME,
        _count("NUMEXPORTV4", "spec.exportV4"),
        _count("NUMIMPORTV4", "spec.importV4"),
        _count("NUMEXPORTV6", "spec.exportV6"),
        _count("NUMIMPORTV6", "spec.importV6"),
    ),
    "BGPPeer": _same(
        NAME, _field("PEERIP", "spec.peerIP"), Column("NODE", _peer_node), _field("ASN", "spec.asNumber", "0")
    ),
    "BlockAffinity": _same(
        NAME, _field("NODE", "spec.node"), _field("CIDR", "spec.cidr"), _field("STATE", "spec.state")
    ),
    "CalicoNodeStatus": Columns(
        (NAME, _field("NODE", "spec.node")), (NAME, _field("NODE", "spec.node"), _joined("CLASSES", "spec.classes"))
    ),
    "ClusterInformation": _same(
        NAME,
        _field("CLUSTERGUID", "spec.clusterGUID"),
        _field("CLUSTERTYPE", "spec.clusterType"),
        _field("CALICOVERSION", "spec.calicoVersion"),
        _field("DATASTOREREADY", "spec.datastoreReady", "<nil>"),
    ),
    "GlobalNetworkPolicy": _POLICY,
    "NetworkPolicy": _POLICY,
    "StagedGlobalNetworkPolicy": _POLICY,
    "StagedNetworkPolicy": _POLICY,
    "StagedKubernetesNetworkPolicy": Columns((NAME,), (NAME, _pairs("PODSELECTOR", "spec.podSelector.matchLabels"))),
    "GlobalNetworkSet": _NETWORK_SET,
    "NetworkSet": _NETWORK_SET,
    "HostEndpoint": Columns(
        (NAME, _field("NODE", "spec.node")),
        (
            NAME,
            _field("NODE", "spec.node"),
            _field("INTERFACE", "spec.interfaceName"),
            _joined("IPS", "spec.expectedIPs"),
            _joined("PROFILES", "spec.profiles"),
        ),
    ),
    "IPAMConfiguration": Columns(
        (
            NAME,
            _field("STRICTAFFINITY", "spec.strictAffinity"),
            _field("AUTOALLOCATEBLOCKS", "spec.autoAllocateBlocks"),
        ),
        (
            NAME,
            _field("STRICTAFFINITY", "spec.strictAffinity"),
            _field("AUTOALLOCATEBLOCKS", "spec.autoAllocateBlocks"),
            _field("MAXBLOCKSPERHOST", "spec.maxBlocksPerHost"),
        ),
    ),
    "IPPool": Columns(
        (NAME, _field("CIDR", "spec.cidr"), _field("SELECTOR", "spec.nodeSelector")),
        (
            NAME,
            _field("CIDR", "spec.cidr"),
            _field("NAT", "spec.natOutgoing", "false"),
            _field("IPIPMODE", "spec.ipipMode", "Never"),
            _field("VXLANMODE", "spec.vxlanMode", "Never"),
            _field("DISABLED", "spec.disabled", "false"),
            _field("DISABLEBGPEXPORT", "spec.disableBGPExport", "false"),
            _field("SELECTOR", "spec.nodeSelector"),
            _field("ASSIGNMENTMODE", "spec.assignmentMode", "<nil>"),
        ),
    ),
    "IPReservation": Columns((NAME,), (NAME, _joined("CIDRS", "spec.reservedCIDRs", _WIDEST_LIST))),
    "Profile": Columns((NAME,), (NAME, _pairs("LABELS", "spec.labelsToApply"))),
    "Tier": _same(NAME, _field("ORDER", "spec.order", str(TIER_ORDER))),
    "WorkloadEndpoint": Columns(
        (
            Column("WORKLOAD", _workload),
            _field("NODE", "spec.node"),
            _joined("NETWORKS", "spec.ipNetworks"),
            _field("INTERFACE", "spec.interfaceName"),
        ),
        (
            NAME,
            Column("WORKLOAD", _workload),
            _field("NODE", "spec.node"),
            _joined("NETWORKS", "spec.ipNetworks"),
            _field("INTERFACE", "spec.interfaceName"),
            _joined("PROFILES", "spec.profiles"),
            Column("NATS", _nats),
        ),
        (_field("ORCHESTRATOR", "spec.orchestrator"),),
    ),
}


def _as_number(default_as: str) -> Callable[[Document], object]:
    """A node that does not speak BGP has none, not even the cluster's."""

    def value(document: Document) -> object:
        bgp = at(document, "spec.bgp")
        return (bgp.get("asNumber") or unsaid) if isinstance(bgp, dict) else ""

    unsaid = f"({default_as})"
    return value


def columns_of(kind: Kind, default_as: str) -> Columns:
    """`default_as` is the AS number of nodes without their own; it is shown in brackets."""
    if kind.name == "Node":
        wide = (
            NAME,
            Column("ASN", _as_number(default_as)),
            _field("IPV4", "spec.bgp.ipv4Address"),
            _field("IPV6", "spec.bgp.ipv6Address"),
        )
        return Columns((NAME,), wide)
    return _COLUMNS.get(kind.name, _ONLY_NAME)


def rows(columns: Sequence[Column], documents: Iterable[Document]) -> list[list[str]]:
    values = [column.value for column in columns]
    return [
        [cell if type(cell) is str else _cell(cell) for cell in [value(document) for value in values]]
        for document in documents
    ]


def _cell(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def table(headings: Sequence[str], body: Sequence[Sequence[str]], *, padded: bool = False) -> str:
    """Columns three blanks apart and at least five wide with them.

    `padded`: the last one, too, as calicoctl has it; without, no line ends with blanks.
    """
    widths = [max(5, max(map(len, column)) + 3) for column in zip(headings, *body, strict=True)]
    line = "".join(f"{{:<{width}}}" for width in widths).format
    lines = [line(*row) for row in (headings, *body)]
    return "\n".join(lines if padded else map(str.rstrip, lines)) + "\n"
