"""Keys as text for us, as bytes for etcd."""

from __future__ import annotations

from tortie.store.contract import Damaged, check_key, prefix_end


def key_range(prefix: str) -> tuple[bytes, bytes]:
    """All keys that begin with the prefix, as etcd wants a range: from, and up to but without. NUL means no limit."""
    if prefix:
        check_key(prefix)
    return prefix.encode() or b"\0", prefix_end(prefix) or b"\0"


def text_key(key: bytes) -> str:
    try:
        return key.decode()
    except UnicodeDecodeError:
        raise Damaged(
            f"the key {key!r} in etcd",
            "it is not text, so neither Calico nor Tortie wrote it",
            "delete it with etcdctl, or keep such data in an etcd of its own",
        ) from None
