"""The datastore: one contract (`contract.py`), an embedded back end and an etcd one."""
