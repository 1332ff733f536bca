"""etcd as the datastore: the one that Calico shares, over native gRPC.

How the files hang together: `store` turns the contract into etcd's requests, `watch` into its event streams. Both
send through `client`, which knows users, fail-over and what may be repeated; `connection` is one endpoint's HTTP/2
connection. `config` says where etcd is, `tls` how to trust it, `trouble` puts what went wrong into words.
"""

from tortie.store.etcd.config import EtcdConfig
from tortie.store.etcd.store import EtcdStore

__all__ = ["EtcdConfig", "EtcdStore"]
