"""Small pieces that kubelet's objects are made of: times, names, references. Objects are Kubernetes's JSON as dicts."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Any, Final

Object = dict[str, Any]

ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"  # Kubernetes leaves out vowels and what looks alike


def stamp(at: float) -> str:
    """RFC 3339 in UTC with whole seconds, as the API server keeps times."""
    return datetime.fromtimestamp(int(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds(text: str) -> float:
    """The time that a stamp means."""
    return datetime.fromisoformat(text).timestamp()


def go_duration(length_s: float) -> str:
    """A length of time as Go prints it: 10s, 1m20s, 1h0m0s, 3m5.2s, 250ms, 0s."""
    if length_s == 0:
        return "0s"
    if length_s < 0:
        return "-" + go_duration(-length_s)
    if length_s < 1:
        unit, factor = ("ms", 1e3) if length_s >= 1e-3 else ("µs", 1e6)
        return _plain(round(length_s * factor, 6)) + unit
    whole, rest = divmod(round(length_s, 9), 60)
    minutes = int(whole)
    text = _plain(round(rest, 9)) + "s"
    if minutes:
        text = f"{minutes % 60}m{text}"
    if minutes >= 60:
        text = f"{minutes // 60}h{text}"
    return text


def _plain(number: float) -> str:
    return f"{number:.9f}".rstrip("0").rstrip(".")


def hurried(length_s: int, hurry: int) -> int:
    """A field of whole seconds in a lab that is in a hurry: at least 1, and nothing stays nothing."""
    return max(1, round(length_s / hurry)) if length_s else 0


def letters(count: int, *seed: str) -> str:
    """The end of a name that the API server makes up; the same for the same seed."""
    number = int(made_hex(32, *seed), 16)
    text = ""
    for _ in range(count):
        number, at = divmod(number, len(ALPHABET))
        text += ALPHABET[at]
    return text


def made_hex(count: int, *seed: str) -> str:
    """Up to 64 hexadecimal digits; the same for the same seed."""
    return hashlib.sha256("\0".join(seed).encode()).hexdigest()[:count]


def made_uid(*seed: str) -> str:
    """A UUID of version 4 in form; the same for the same seed."""
    digits = made_hex(32, *seed)
    variant = "89ab"[int(digits[16], 16) % 4]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:32]}"


def pod_text(pod: Object) -> str:
    """As kubelet names a pod in its messages."""
    metadata = pod["metadata"]
    return f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"


def main_containers(pod: Object) -> list[Object]:
    return list(pod["spec"].get("containers") or [])


def init_containers(pod: Object) -> list[Object]:
    return list(pod["spec"].get("initContainers") or [])


def named(pod: Object, container: str) -> Object:
    """The specification of one of the pod's containers."""
    for candidate in main_containers(pod) + init_containers(pod):
        if candidate["name"] == container:
            return candidate
    raise KeyError(container)


def reference(pod: Object, container: str = "") -> Object:
    """What an event is about: the pod, or one container of it."""
    metadata = pod["metadata"]
    about: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": metadata["name"],
        "namespace": metadata["namespace"],
        "uid": metadata["uid"],
    }
    if container:
        init = any(one["name"] == container for one in init_containers(pod))
        about["fieldPath"] = f"spec.{'initContainers' if init else 'containers'}{{{container}}}"
    return about


def node_reference(name: str) -> Object:
    """Kubelet uses the node's name for its uid here."""
    return {"kind": "Node", "name": name, "uid": name}


def condition(thing: Object, kind: str) -> Object | None:
    """One condition of a pod or a node."""
    found = (one for one in thing.get("status", {}).get("conditions") or [] if one["type"] == kind)
    return next(found, None)
