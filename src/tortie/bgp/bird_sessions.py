"""A node's neighbours as protocols of BIRD, and which of them BIRD could not hold.

What all sessions of one kind share stands in templates. The timers never change while a node runs: a change of a
template's timers would restart every session.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.bgp import bird_words as words
from tortie.bgp.bird_export import export_statements
from tortie.bgp.bird_filters import filter_calls
from tortie.bgp.plan import BGP_PORT, Plan, Refusal, Session
from tortie.model.network import IP, Family

HOLD_S: Final = 90
KEEPALIVE_MAX_S: Final = 65535 // 3  # three of them are the longest hold time
RESTART_MAX_S: Final = 4095  # 12 bits of the message
PASSWORD_BYTES_MAX: Final = 80  # of the kernel's TCP MD5 signatures
AS_MAX: Final = (1 << 32) - 1


def session_protocols(plan: Plan, families: tuple[Family, ...]) -> Iterator[str]:
    """Templates, then the sessions in the plan's order. `Unwritable` for a session that BIRD cannot hold."""
    yield _base_template(plan)
    kinds = {(session.family, session.internal) for session in plan.sessions}
    for family in families:
        for internal in (True, False):
            if (family, internal) in kinds:
                yield _kind_template(family, internal)
    own = {network.version: network.ip for network in plan.networks}
    filtered: dict[tuple[Family, bool, tuple[str, ...]], str] = {}
    for session in plan.sessions:
        if refusal := refusal_of(session, plan):
            raise words.Unwritable(refusal.what, refusal.why, refusal.fix)
        key = (session.family, session.internal, session.filters)
        if session.filters and key not in filtered:
            filtered[key] = _filters(session, plan)
        yield _protocol(session, plan, own.get(session.family), filtered.get(key, ""))


def writable(plan: Plan) -> Plan:
    """The plan without the sessions that BIRD cannot hold; what they were and why is in its refusals."""
    sessions: list[Session] = []
    refusals: list[Refusal] = []
    names: set[str] = set()
    ends: dict[tuple[IP, int], str] = {}
    for session in plan.sessions:
        refusal = refusal_of(session, plan)
        if refusal is None and (session.name in names or (session.peer, session.peer_port) in ends):
            # BIRD takes a lock on the neighbour, so the second session would wait for ever.
            first = ends.get((session.peer, session.peer_port), session.name)
            refusal = Refusal(_left_out(session), f"{first} is a session with it already", "keep one of the two")
        if refusal:
            refusals.append(refusal)
        else:
            sessions.append(session)
            names.add(session.name)
            ends[session.peer, session.peer_port] = session.name
    if not refusals:
        return plan
    return plan._replace(sessions=tuple(sessions), refusals=(*plan.refusals, *refusals))


def refusal_of(session: Session, plan: Plan) -> Refusal | None:
    """Why BIRD cannot hold this session, if so."""
    try:
        words.symbol(session.name)
    except words.Unwritable as error:
        return Refusal(_left_out(session), str(error), error.fix)
    problem = _address_problem(session) or _number_problem(session) or _password_problem(session)
    problem = problem or _filter_problem(session, plan)
    return Refusal(_left_out(session), *problem) if problem else None


def _left_out(session: Session) -> str:
    of = f" of BGPPeer {words.remark(session.resource)}" if session.resource else ""
    return f"the BGP session with {words.remark(str(session.peer))}{of} is left out"


def _filter_problem(session: Session, plan: Plan) -> tuple[str, str] | None:
    for name in session.filters:
        if name not in plan.filters:
            why = f"it names the BGPFilter {words.remark(name)}, which does not exist"
            return why, "create the filter, or take it off the list of the BGPPeer"
    return None


def _address_problem(session: Session) -> tuple[str, str] | None:
    given: tuple[tuple[str, IP | None], ...] = (
        ("the neighbour's address", session.peer),
        ("the source address", session.source),
        ("the gateway of reachableBy", session.reachable_by),
    )
    for what, ip in given:
        if ip is None:
            continue
        if ip.version == 6 and ip.scope_id is not None:
            return f"{what} {words.remark(str(ip))} has a zone", "leave out what follows %"
        if ip.version != session.family:
            return f"{what} {ip} is not of IPv{session.family}", "give both ends addresses of one family"
        if ip.is_link_local and ip.version == 6:
            return f"{what} {ip} means something else on every link", "use an address that is valid on all of them"
        if ip.is_unspecified or ip.is_multicast or (ip.version == 6 and ip.ipv4_mapped is not None):
            return f"{what} {ip} is not one of a machine", "use the address of a machine"
    return None


def _number_problem(session: Session) -> tuple[str, str] | None:
    for what, number in (("the neighbour's", session.peer_as), ("our", session.local_as)):
        if not 0 < number <= AS_MAX:
            return f"{what} AS number {number} does not exist", f"set asNumber to a number from 1 to {AS_MAX}"
    if not 0 < session.peer_port <= 65535:
        return f"the port {session.peer_port} does not exist", "use a port from 1 to 65535"
    if session.ttl_security is not None and not 0 <= session.ttl_security <= 255:
        return f"{session.ttl_security} hops are not possible", "set ttlSecurity to a number from 0 to 255"
    if session.reflects_as is not None and not session.internal:
        why = f"routes are only reflected inside one AS, and the neighbour is in {session.peer_as}"
        return why, "give both the same AS number, or take routeReflectorClusterID off this node"
    return None


def _password_problem(session: Session) -> tuple[str, str] | None:
    if session.password is None:
        return None
    text = session.password.text
    fix = "put another password into the Secret, on both sides"
    if not text:
        return "its password is empty", "put a password into the Secret, or take the password off the BGPPeer"
    if text.rstrip("\r\n") != text:
        return "its password ends with a line break", "write the Secret without one, for example with printf or echo -n"
    if not text.isprintable():
        return "its password has control characters, which BIRD's configuration cannot hold", fix
    if '"' in text:
        return "its password has a quotation mark, which BIRD's configuration cannot hold", fix
    if len(text.encode()) > PASSWORD_BYTES_MAX:
        return f"its password is longer than the {PASSWORD_BYTES_MAX} bytes that TCP MD5 signatures have room for", fix
    return None


def _base_template(plan: Plan) -> str:
    return f"""\
template bgp bgp_template {{
  local port {plan.listen_port} as {plan.as_number};
  multihop;
  graceful restart;
  hold time {HOLD_S};
  connect delay time 1;
  connect retry time 1;
  error wait time 1, 10;
}}
"""


def _kind_template(family: Family, internal: bool) -> str:
    export = "".join(f"      {line}\n" for line in export_statements(internal, family, []))
    return f"""\
template bgp {_kind_name(family, internal)} from bgp_template {{
  ipv{family} {{
    gateway recursive;
    add paths on;
    import all;
    export filter {{
{export}    }};
  }};
}}
"""


def _kind_name(family: Family, internal: bool) -> str:
    return f"{'ibgp' if internal else 'ebgp'}_v{family}"


def _filters(session: Session, plan: Plan) -> str:
    """A session's own filters, instead of those of its template."""
    imported = [*filter_calls(session, plan.filters, "import"), "accept;"]
    calls = filter_calls(session, plan.filters, "export")
    exported = export_statements(session.internal, session.family, calls)
    text = ""
    for direction, statements in (("import", imported), ("export", exported)):
        text += f"    {direction} filter {{\n" + "".join(f"      {line}\n" for line in statements) + "    };\n"
    return text


def _protocol(session: Session, plan: Plan, own: IP | None, filters: str) -> str:
    local = session.source or (own if plan.bind_to_node else None)
    from_address = f"{words.address(local)} " if local else ""
    port = f" port {session.peer_port}" if session.peer_port != BGP_PORT else ""
    lines = [
        f"protocol bgp {words.symbol(session.name)} from {_kind_name(session.family, session.internal)} {{",
        f"  description {words.description(_description(session))};",
        f"  local {from_address}as {session.local_as};",
        f"  neighbor {words.address(session.peer)}{port} as {session.peer_as};",
        *(f"  {option};" for option in _options(session)),
    ]
    if plan.bind_to_node and local:
        lines.append("  strict bind on;")
    channel = filters if session.next_hop == "auto" else f"    next hop {session.next_hop};\n{filters}"
    if channel:
        lines.append(f"  ipv{session.family} {{\n{channel}  }};")
    return "\n".join([*lines, "}", ""])


def _description(session: Session) -> str:
    parts = [f"node {session.peer_node}"] if session.peer_node else []
    if session.resource:
        parts.append(f"BGPPeer {session.resource}")
    return ", ".join(parts) or session.name


def _options(session: Session) -> Iterator[str]:
    if session.passive:
        yield "passive on"
    if session.password is not None:
        yield f'password "{session.password.text}"'  # nothing that `_password_problem` refuses
    if session.ttl_security:
        yield "ttl security on"
        yield f"multihop {session.ttl_security}"
    if session.reflects_as is not None:
        yield "rr client"
        yield f"rr cluster id {session.reflects_as}"
    if session.restart_time_s is not None:
        yield f"graceful restart time {min(max(session.restart_time_s, 0), RESTART_MAX_S)}"
    if session.keepalive_s is not None:
        keepalive_s = min(max(session.keepalive_s, 1), KEEPALIVE_MAX_S)
        yield f"keepalive time {keepalive_s}"
        if 3 * keepalive_s > HOLD_S:
            yield f"hold time {3 * keepalive_s}"
    if session.allowed_local_as:
        yield f"allow local as {session.allowed_local_as}"
