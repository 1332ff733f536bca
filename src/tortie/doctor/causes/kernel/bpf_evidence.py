"""What libbpf and Felix say of BPF programs and maps that the kernel does not take."""

from __future__ import annotations

from typing import Final

from tortie.doctor.picture.facts import Document, Setting
from tortie.doctor.picture.picture import Picture, version_numbers
from tortie.doctor.signs import Hit, Sign

LOAD_FAILED: Final = Sign("bpf-load-failed", "libbpf: prog '<program>': BPF program load failed: <rest>")
LOAD_FAILED_OLD: Final = Sign("bpf-load-failed-old", "libbpf: load bpf program failed: <rest>")
OBJECT_FAILED: Final = Sign("bpf-object-failed", "libbpf: failed to load object '<object>'")
MISMATCH: Final = Sign("bpf-map-mismatch", "couldn't reuse pinned map at '<path>': parameter mismatch")
BPF_EVIDENCE: Final = (LOAD_FAILED, LOAD_FAILED_OLD, OBJECT_FAILED, MISMATCH)
_NOT_LET: Final = "operation not permitted"


def refused_loads(picture: Picture) -> tuple[list[Hit], list[Hit]]:
    """Programs that did not load: because nobody may load any here, and for a reason of their own."""
    loads = [hit for hit in picture.hits(LOAD_FAILED, LOAD_FAILED_OLD) if hit.value("rest") and not of_others(hit)]
    forbidden = [hit for hit in loads if _NOT_LET in hit.value("rest").lower()]
    return forbidden, [hit for hit in loads if hit not in forbidden]


def of_others(hit: Hit) -> bool:
    """The log of another pod or program: many of them load BPF by the same library."""
    command = hit.command.lower()
    reads = any(word in command for word in (" logs ", " log ", "journalctl"))
    return reads and not any(word in command for word in ("calico", "canal", "felix", "tortie", "k8s-app"))


def bpf_mode(picture: Picture) -> Setting | None:
    """What says that Felix runs the eBPF dataplane."""
    for name, on in (("bpfEnabled", "true"), ("FELIX_BPFENABLED", "true"), ("linuxDataplane", "bpf")):
        setting = picture.setting(name)
        if setting and setting.value.lower() == on:
            return setting
    return None


def kernel_of(picture: Picture, node: str = "") -> str:
    """The kernel's release of this node; without a node, of all that are shown, when it is the same."""
    known = picture.nodes_now().get(node)
    if known and known.kernel:
        return known.kernel
    own = [shown.version for shown in picture.versions("kernel") if node and shown.host == node]
    if own:
        return own[-1]
    kernels = {shown.version for shown in picture.versions("kernel")}
    kernels |= {other.kernel for other in picture.nodes_now().values() if other.kernel}
    return kernels.pop() if len(kernels) == 1 else ""


def kernels_shown(picture: Picture, node: str = "") -> list[str]:
    """Releases that may be that node's: its own, else all that are shown, each once."""
    if alone := kernel_of(picture, node):
        return [alone]
    shown = [one.version for one in picture.versions("kernel")]
    shown += [one.kernel for one in picture.nodes_now().values() if one.kernel]
    return list(dict.fromkeys(shown))


def too_old(kernel: str) -> bool:
    """Without what the eBPF dataplane needs: that came with 5.3, and Red Hat has it in its 4.18."""
    numbers = version_numbers(kernel)
    ported_back = numbers >= (4, 18) and ".el8" in kernel
    return bool(numbers) and numbers < (5, 3) and not ported_back


def unprivileged(picture: Picture) -> Document | None:
    """The Installation, where it takes the agent's privileges away."""
    for document in picture.of(Document):
        spec = document.body.get("spec")
        given = isinstance(spec, dict) and spec.get("nonPrivileged") == "Enabled"
        if document.kind == "Installation" and given:
            return document
    return None
