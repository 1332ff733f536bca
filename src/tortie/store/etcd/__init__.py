"""etcd as the datastore: the one that Calico shares, over native gRPC.

How the files hang together: `keyvalues` turns the contract into etcd's requests, `client` knows users, fail-over and
what may be repeated, `search` the way from endpoint to endpoint. Beneath them are two clients. That of programs with an
event loop: `store` and `watch`, `messages` by protobuf's library, `connection` on grpclib. That of commands, which ask
a few times and end: `direct`. Both share `config` (where etcd is), `tls` (how to trust it), `refusal`, `trouble` and
`diagnosis` (what went wrong, in words).
"""

from __future__ import annotations

from tortie.model.light import TYPE_CHECKING, Any
from tortie.store.etcd.config import EtcdConfig

if TYPE_CHECKING:
    from tortie.store.etcd.direct.store import DirectStore
    from tortie.store.etcd.store import EtcdStore

__all__ = ["DirectStore", "EtcdConfig", "EtcdStore"]


def __getattr__(name: str) -> Any:
    """Each client brings its own modules, and nobody needs both."""
    if name == "EtcdStore":
        from tortie.store.etcd.store import EtcdStore

        return EtcdStore
    if name == "DirectStore":
        from tortie.store.etcd.direct.store import DirectStore

        return DirectStore
    raise AttributeError(name)
