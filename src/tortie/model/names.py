"""The names Calico makes out of other names. All pure; hashes are imported only where one is needed."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tortie.model.errors import UsageError

NAME_MAX: Final = 252  # one below what Kubernetes allows a name


def escape_segment(name: str) -> str:
    """A name as one segment of a v1 key: `%` becomes `%25`, then `/` becomes `%2f`."""
    return name.replace("%", "%25").replace("/", "%2f")


def unescape_segment(segment: str) -> str:
    return segment.replace("%2f", "/").replace("%25", "%")


class EndpointName(NamedTuple):
    """A WorkloadEndpoint's name: four segments joined by `-`, the dashes within a segment doubled.

    The workload is the pod for `k8s`, the container's id for `cni`, and the word itself for `libnetwork`.
    """

    node: str
    orchestrator: str
    workload: str
    endpoint: str

    def __str__(self) -> str:
        return _joined(self)

    def belongs_to(self, node: str, orchestrator: str = "", workload: str = "") -> bool:
        """What a list by `endpoint_name_prefix` has to ask again, because the prefix of `pod` also finds `pod-1`."""
        wanted = (node, orchestrator, workload)
        return all(want in ("", have) for want, have in zip(wanted, self, strict=False))


def parse_endpoint_name(name: str) -> EndpointName | None:
    """None when the name was not composed by these rules, as a person may have chosen it freely."""
    parts = re.split(r"(?<!-)-(?!-)", name)
    if len(parts) != len(EndpointName._fields) or not all(map(_is_doubled, parts)):
        return None
    return EndpointName(*(part.replace("--", "-") for part in parts))


def endpoint_name_prefix(node: str, orchestrator: str = "", workload: str = "") -> str:
    """What the names of a node's, or one workload's, endpoints begin with; others may begin with it too."""
    return _joined([segment for segment in (node, orchestrator, workload) if segment]) + "-"


def host_interface(namespace: str, pod: str, prefix: str = "cali") -> str:
    """The host's end of a pod's veth: the prefix and 11 hexadecimal digits of SHA-1 over `namespace.pod`."""
    import hashlib

    return prefix + hashlib.sha1(f"{namespace}.{pod}".encode(), usedforsecurity=False).hexdigest()[:11]


def cidr_name(cidr: str) -> str:
    """A CIDR as the name of a Kubernetes object: dots, colons and the slash become `-`. There is no way back."""
    return cidr.replace(".", "-", 3).replace(":", "-", 7).replace("/", "-", 1)


def block_affinity_name(node: str, cidr: str) -> str:
    """`node-cidr`; where that is too long the node is cut, and a piece of SHA-256 keeps the name unique."""
    import hashlib

    block = cidr_name(cidr)
    name = f"{node}-{block}"
    if len(name) <= NAME_MAX:
        return name
    digest = hashlib.sha256(f"{node}+{block}".encode()).hexdigest()[:11]
    return f"{node[: NAME_MAX - len(block) - len(digest) - 2]}-{block}-{digest}"


def convert_uid(uid: str) -> str:
    """The v3 UID of an object whose Kubernetes UID is given, and the other way round.

    Every byte's bits are reversed, except in bytes 6 and 8, which hold a UUID's version and variant.
    """
    try:
        given = bytes.fromhex(uid.replace("-", ""))
    except ValueError:
        given = b""
    if len(given) != 16:
        raise UsageError(
            f"the UID {uid!r}", "a UID has 32 hexadecimal digits, like aa844ac0-87c8-440a-b270-307cdba8fd25"
        )
    digits = bytes(byte if at in (6, 8) else int(f"{byte:08b}"[::-1], 2) for at, byte in enumerate(given)).hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def hostname_hash(node: str) -> str:
    """The label `projectcalico.org/hostname-hash`: base32 of SHA3-256, unpadded, as names outgrow a label."""
    import base64
    import hashlib

    return base64.b32encode(hashlib.sha3_256(node.encode()).digest()).decode().rstrip("=")


def vtep_mac(node: str, *, ipv6: bool = False) -> str:
    """The MAC of a node's VXLAN device where none is configured: `66` and five bytes of SHA-1 over its name."""
    import hashlib

    name = f"{node}-v6" if ipv6 else node
    return (b"\x66" + hashlib.sha1(name.encode(), usedforsecurity=False).digest()[:5]).hex(":")


def handle_name(handle_id: str) -> str:
    """An IPAM handle as the name of a Kubernetes object, which knows no capitals; its spec keeps the id as it is."""
    return handle_id.lower()


def unique_id(prefix: str, content: str) -> str:
    """Calico's short id of a long text: base64url of SHA-224 over `prefix:content`, unpadded, behind the prefix."""
    import base64
    import hashlib

    digest = hashlib.sha224(f"{prefix}:{content}".encode()).digest()
    return f"{prefix}:{base64.urlsafe_b64encode(digest).decode().rstrip('=')}"


def _joined(segments: list[str] | EndpointName) -> str:
    for segment in segments:
        if not segment or segment.startswith("-") or segment.endswith("-"):
            raise UsageError(
                f"{segment!r} in the name of a workload endpoint", "a segment is not empty and has no dash at its ends"
            )
    return "-".join(segment.replace("-", "--") for segment in segments)


def _is_doubled(part: str) -> bool:
    """Dashes stand in pairs, and none at the ends."""
    return bool(part) and part == part.strip("-") and "-" not in part.replace("--", "")
