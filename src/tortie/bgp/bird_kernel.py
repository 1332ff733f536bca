"""What goes between BIRD and this machine's kernel: links, addresses, learnt routes, own routes, and routes to others.

BIRD writes routes to pods that need no tunnel. A route into a tunnel is the dataplane's: upstream BIRD cannot say
which device a route shall take. Next hops are resolved over what `direct` and `learn` bring; without them every route
would be unreachable although its session is up.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.bgp import bird_words as words
from tortie.bgp.plan import Plan
from tortie.model.network import IP, Family

SCAN_TIME_S: Final = 2
# A metric of our own keeps BIRD from writing over the routes of others. It never changes: BIRD would leave every route
# with the old metric behind, so a route's priority decides between neighbours and is not the kernel's metric.
METRIC: Final = 1024
# The protocol of routes that the dataplane writes, to other nodes' blocks among others. Learnt, they would be announced
# as if those blocks were this node's.
DATAPLANE: Final = 80
# Addresses on these links are those of pods and of services, which are not networks of the node.
NOT_DIRECT: Final = ("cali*", "kube-ipvs*")


def kernel_protocols(plan: Plan, families: tuple[Family, ...]) -> Iterator[str]:
    yield f"protocol device {{\n  scan time {SCAN_TIME_S};\n}}\n"
    yield _direct(plan, families)
    for family in families:
        yield _programming_filter(plan, family)
        yield _kernel(family)
        yield _static(plan, family)


def _direct(plan: Plan, families: tuple[Family, ...]) -> str:
    left_out = [f"-{words.interfaces(pattern)}" for pattern in (*plan.ignored_interfaces, *NOT_DIRECT)]
    channels = "".join(f"  ipv{family};\n" for family in families)
    return f'protocol direct {{\n{channels}  interface {", ".join(left_out)}, "*";\n}}\n'


def _kernel(family: Family) -> str:
    return f"""\
protocol kernel kernel{family} {{
  learn;
  persist;
  scan time {SCAN_TIME_S};
  merge paths on;
  graceful restart;
  metric {METRIC};
  ipv{family} {{
    import where krt_source != {DATAPLANE};
    export filter calico_kernel_programming_v{family};
  }};
}}
"""


def _static(plan: Plan, family: Family) -> str:
    """Own blocks, so that nothing that is sent to an address of nobody leaves the node; services; ways to peers."""
    blocks = [block for block in words.of_family(plan.blocks, family) if block.prefixlen < block.max_prefixlen]
    services = [network for network in words.of_family(plan.services, family) if network not in blocks]
    lines = [f"  route {words.prefix(network)} blackhole;\n" for network in (*blocks, *services)]
    ways: dict[IP, IP] = {}
    for session in plan.sessions:
        if session.reachable_by is not None and session.family == family:
            ways.setdefault(session.peer, session.reachable_by)
    for peer, gateway in sorted(ways.items(), key=lambda way: int(way[0])):
        lines.append(f"  route {words.address(peer)}/{peer.max_prefixlen} via {words.address(gateway)};\n")
    return f"protocol static static{family} {{\n  ipv{family};\n{''.join(lines)}}}\n"


def _programming_filter(plan: Plan, family: Family) -> str:
    services = words.of_family(plan.services, family)
    lines = [f"filter calico_kernel_programming_v{family} {{", "  if source = RTS_DEVICE then reject;"]
    if services:
        lines.append(f"  if net ~ {words.within(services)} then reject;  # services are not the kernel's to route")
    if tunnelled := list(_tunnelled(plan, family)):
        lines += ["  if source = RTS_STATIC then accept;", *tunnelled]
    return "\n".join([*lines, "  accept;", "}", ""])


def _tunnelled(plan: Plan, family: Family) -> Iterator[str]:
    """The dataplane writes all routes of VXLAN pools, and those of IPIP pools that really need the tunnel."""
    always = [pool.cidr for pool in plan.pools if pool.encapsulation == "vxlan"]
    always += [pool.cidr for pool in plan.pools if pool.encapsulation == "ipip" and not pool.cross_subnet]
    across = [pool.cidr for pool in plan.pools if pool.encapsulation == "ipip" and pool.cross_subnet]
    if tunnelled := words.of_family(always, family):
        yield f"  if net ~ {words.within(tunnelled)} then reject;  # the dataplane's"
    if tunnelled := words.of_family(across, family):
        near = words.of_family((own.network for own in plan.networks), family)
        is_near = " || ".join(f"(bgp_next_hop ~ {words.prefix(network)})" for network in near) or "false"
        yield f"  if net ~ {words.within(tunnelled)} then {{"
        yield f"    if !defined(bgp_next_hop) || !({is_near}) then reject;  # the dataplane's"
        yield "  }"
