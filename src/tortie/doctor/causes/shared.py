"""Signs that several causes judge by, each written once."""

from __future__ import annotations

from typing import Final

from tortie.doctor.signs import Sign

# BGP
BGP_NOT_ESTABLISHED: Final = Sign("bgp-not-established", "BGP not established with <peers>")
AUTODETECTED: Final = Sign(
    "autodetected", "Using autodetected IPv4 address on interface <interface>: <cidr>"
)  # first-found, interface=, cidr=
AUTODETECTED_MATCHING: Final = Sign(
    "autodetected-matching", "Using autodetected IPv4 address <cidr> on matching interface <interface>"
)
AUTODETECTED_REACHING: Final = Sign(
    "autodetected-reaching", "Using autodetected IPv4 address <cidr>, detected by connecting to <dest>"
)
ADDRESS_IN_USE_BY: Final = Sign("address-in-use-by", "Calico node '<other>' is already using the IPv4 address <ip>")
# Releases before 2.0: with the end of the sentence, for a name may have dots of its own.
ADDRESS_IN_USE_OLD: Final = Sign(
    "address-in-use-old", "IP address <ip> is already in use by host <other>. Calico requires"
)
TERMINATING: Final = Sign("terminating", "Terminating")
STARTED: Final = Sign("started", "Calico node started successfully")

# The API server and its service address
DIAL_FAILED: Final = Sign(
    "dial-failed",
    "dial tcp <ip>:<port>: (connect: |getsockopt: )?(i/o timeout|connection refused|connection timed out"
    "|operation timed out|no route to host|host is unreachable|network is unreachable)",
)
API_DEADLINE: Final = Sign(
    "api-deadline", "(Get|Post|Put|Patch) (\"|')?https://<ip>:<port>/<path>(\"|')?: context deadline exceeded"
)
UNAUTHORIZED: Final = Sign("unauthorized", "connection is unauthorized: Unauthorized")
FORBIDDEN_USER: Final = Sign(
    "forbidden-user",
    'is forbidden: User "<user>" cannot <verb> resource(s)? "<resource>" in API group "',  # the core group is empty
)

# Probes
PROBE_FAILED: Final = Sign("probe-failed", "(Readiness|Liveness|Startup) probe failed:")

# What only says that something is wrong; symptoms are made of these, and several causes ask for them
DATASTORE_ERROR: Final = Sign("datastore-error", "Hit error connecting to datastore - retry")
ETCD_ERROR: Final = Sign(
    "etcd-error", "etcdserver: (request timed out|leader changed|no leader|mvcc: database space exceeded)"
)
ETCD_UNAVAILABLE: Final = Sign("etcd-unavailable", "etcd cluster is unavailable or misconfigured")
TYPHA_FAILED: Final = Sign("typha-failed", "(Failed to connect|error connecting|connection) to typha")
POOLS_EXHAUSTED: Final = Sign("pools-exhausted", "pools are likely exhausted")
NO_ADDRESSES: Final = Sign("no-addresses", "IPAM allocated only 0")
NONE_ASSIGNED: Final = Sign("none-assigned", "Assigned 0 out of <n> requested")
UNALLOCATED: Final = Sign("unallocated-in-use", "in-use IPs that are not allocated")
OPERATOR_DEGRADED: Final = Sign("operator-degraded", "Could not resolve CalicoNetwork IPPool and kubeadm configuration")

NODENAME_MISSING: Final = Sign("mount-nodename", "stat /var/lib/calico/nodename: no such file or directory")
DNS_FAILED: Final = Sign("dns-failed", "no servers could be reached")

SANDBOX_FAILED: Final = Sign("sandbox-failed-runtime", "failed to setup network for sandbox")  # the runtime's journal
SYMPTOMS: Final = {
    "sandbox-failed": (SANDBOX_FAILED,),
    "service-dead": (DNS_FAILED,),
    "datastore-error": (DATASTORE_ERROR, ETCD_ERROR, ETCD_UNAVAILABLE),
    "typha-down": (TYPHA_FAILED,),
    "no-address": (POOLS_EXHAUSTED, NO_ADDRESSES, NONE_ASSIGNED, UNALLOCATED),
    "operator-degraded": (OPERATOR_DEGRADED,),
    "unauthorized": (UNAUTHORIZED,),
}
# Felix' words for rules of its own that somebody else took away.
JUMP_GONE = Sign("felix-jump-gone", "Detected out-of-sync inserts, marking for resync actualRuleIDs=<rest>")
