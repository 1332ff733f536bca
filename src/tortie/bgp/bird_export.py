"""What this node tells its neighbours: the order of questions that a route has to pass, as Calico asks them.

Blocks go out, the addresses inside them do not, unless a more specific route has a better priority than normal (a
workload that is moving to this node). What no question accepts stays here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.bgp import bird_words as words
from tortie.bgp.bird_filters import PREFERENCE_OF_0
from tortie.bgp.plan import Plan
from tortie.model.network import Family

# Links of Calico's dataplane. Behind them are routes to other nodes, which tell them themselves.
TUNNELS: Final = ("*.calico", "*.cali", "tunl0")
NEVER_LEAVES: Final = "bpf*.cali"


def export_functions(plan: Plan, family: Family) -> Iterator[str]:
    yield _local_preference(plan.normal_priority[family], family)
    yield _communities(plan, family)
    yield _aggregation(plan, family)
    yield _to_peers(plan, family)


def export_statements(same_as: bool, family: Family, filter_calls: list[str]) -> list[str]:
    """The body of a session's export filter."""
    return [
        f"calico_local_pref_v{family}();",
        *filter_calls,
        f"calico_export_to_bgp_peers_v{family}({'true' if same_as else 'false'});",
        "reject;",
    ]


def _local_preference(normal: int, family: Family) -> str:
    """A local route's priority is the kernel's metric; where it has none, the normal one."""
    return f"""\
function calico_local_pref_v{family}() {{
  if source != RTS_BGP then {{
    bgp_local_pref = {PREFERENCE_OF_0 - normal};
    if defined(krt_metric) && (krt_metric > 0) && (krt_metric < {PREFERENCE_OF_0}) then
      bgp_local_pref = {PREFERENCE_OF_0} - krt_metric;
  }}
}}
"""


def _communities(plan: Plan, family: Family) -> str:
    statements = []
    for cidr, communities in plan.advertisements:
        if cidr.version == family and communities:
            added = (words.community(text) for text in communities)
            actions = " ".join(f"{attribute}.add({community});" for attribute, community in added)
            statements.append(f"  if net ~ {words.prefix(cidr)} then {{ {actions} }}\n")
    return f"function calico_communities_v{family}() {{\n{''.join(statements)}}}\n"


def _aggregation(plan: Plan, family: Family) -> str:
    blocks = words.of_family(plan.blocks, family)
    body = ""
    if blocks:
        body = f"""\
  if net ~ {words.exactly(blocks)} then accept;
  if net ~ {words.within(blocks)} then {{
    if defined(bgp_local_pref) && (bgp_local_pref > {PREFERENCE_OF_0 - plan.normal_priority[family]}) then accept;
    reject;
  }}
"""
    return f"function calico_aggr_v{family}() {{\n{body}}}\n"


def _to_peers(plan: Plan, family: Family) -> str:
    kept = words.of_family((pool.cidr for pool in plan.pools if not pool.exported), family)
    exported = words.of_family((pool.cidr for pool in plan.pools if pool.exported), family)
    services = words.of_family(plan.services, family)
    tunnels = " || ".join(f"(ifname ~ {words.interfaces(tunnel)})" for tunnel in TUNNELS)
    lines = [f"function calico_export_to_bgp_peers_v{family}(bool same_as) {{"]
    if kept:
        lines.append(f"  if net ~ {words.within(kept)} then reject;  # disableBGPExport")
    lines.append(f"  if same_as && ({tunnels}) then reject;")
    lines.append(f"  if ifname ~ {words.interfaces(NEVER_LEAVES)} then reject;")
    lines.append(f"  calico_communities_v{family}();")
    lines.append(f"  calico_aggr_v{family}();")
    if services:
        # On a route reflector these are also the services of others.
        lines.append(f"  if net ~ {words.within(services)} then accept;  # services")
    if exported:
        lines.append(f"  if net ~ {words.within(exported)} then accept;")
    return "\n".join([*lines, "}", ""])
