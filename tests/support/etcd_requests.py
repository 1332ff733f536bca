"""How often etcd was asked, as etcd counts it: what a client says about its own round trips is not evidence."""

from __future__ import annotations

import http.client
import re

_COUNTER = re.compile(r'^grpc_server_started_total\{grpc_method="(\w+)".*\} (\S+)$', re.M)


def requests_served(port: int) -> dict[str, int]:
    """Requests since etcd started, by method: Range, Txn, Status, Watch and so on; those never made are left out."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    finally:
        connection.close()
    return {method: int(float(count)) for method, count in _COUNTER.findall(text) if float(count)}


def requests_since(before: dict[str, int], port: int) -> dict[str, int]:
    now = requests_served(port)
    return {method: made for method, count in now.items() if (made := count - before.get(method, 0))}
