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
TERMINATING: Final = Sign("terminating", "Terminating")
STARTED: Final = Sign("started", "Calico node started successfully")

# The API server and its service address
DIAL_FAILED: Final = Sign(
    "dial-failed",
    "dial tcp <ip>:<port>: (connect: |getsockopt: )?(i/o timeout|connection refused|connection timed out"
    "|operation timed out|no route to host|host is unreachable|network is unreachable)",
)
API_DEADLINE: Final = Sign("api-deadline", "Get (\"|')?https://<ip>:<port>/<path>(\"|')?: context deadline exceeded")
UNAUTHORIZED: Final = Sign("unauthorized", "connection is unauthorized: Unauthorized")
FORBIDDEN_USER: Final = Sign(
    "forbidden-user",
    'is forbidden: User "<user>" cannot <verb> resource(s)? "<resource>" in API group "',  # the core group is empty
)
NOT_FOUND_RESOURCE: Final = Sign("not-found-resource", "could not find the requested resource")

# Probes
PROBE_FAILED: Final = Sign("probe-failed", "(Readiness|Liveness|Startup) probe failed:")
LIVENESS_KILL: Final = Sign("liveness-kill", "failed liveness probe, will be restarted")
