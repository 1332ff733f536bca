"""What holds for every cluster: both ends of a session agree, and the order of the telling changes nothing."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.support.speakers import StoreEntry, block, default, key, node, own, peer, planned, pool, stored, told

from tortie.bgp.plan import Plan, Secret, Session
from tortie.bgp.sessions import plan, wanted_secrets

NAMES = [f"n{number}" for number in range(8)]
SELECTORS = ["all()", "rack == 'r1'", "rack in {'r1', 'r2'}", "has(role)", "!has(role)", "role == 'rr' && rack != 'r2'"]
FAMILIES = (4, 6)

names = st.sampled_from(NAMES)
as_numbers: st.SearchStrategy[int | str] = st.sampled_from([0, 64512, 65001, 65002, "1.10"])
ports = st.sampled_from([None, 179, 1790, 1791])
selectors = st.sampled_from(SELECTORS)
seldom = st.integers(0, 4).map(lambda number: number == 0)


def given_only(spec: dict[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in spec.items() if value is not None}


def address(name: str, family: int) -> str:
    number = int(name[1:])
    # Texts of different lengths, so that their order is not that of the numbers.
    return f"10.0.0.{7 + number}" if family == 4 else f"fd00::{7 + number:x}"


@st.composite
def nodes(draw: st.DrawFn) -> list[StoreEntry]:
    """Each with addresses of its own, perhaps of one family only."""
    found = []
    for name in draw(st.lists(names, min_size=2, unique=True)):
        labels = {
            label: value
            for label, values in (("rack", ["r1", "r2"]), ("role", ["rr"]))
            if (value := draw(st.sampled_from(["", *values])))
        }
        families = draw(st.sampled_from([(4,), (6,), (4, 6), (4, 6), ()]))
        found.append(
            node(
                name,
                f"{address(name, 4)}/24" if 4 in families else "",
                f"{address(name, 6)}/64" if 6 in families else "",
                asn=draw(as_numbers),
                reflector=draw(st.sampled_from(["244.0.0.1", "244.0.0.2"])) if draw(seldom) else "",
                **labels,
            )
        )
    return found


@st.composite
def settings(draw: st.DrawFn) -> list[StoreEntry]:
    spec = given_only(
        {
            "nodeToNodeMeshEnabled": draw(st.sampled_from([None, True, True, False])),
            "asNumber": draw(as_numbers) or None,
            "listenPort": draw(ports),
        }
    )
    nodes_own = [own(name, listenPort=port) for name in NAMES if (port := draw(ports)) and draw(seldom)]
    return [default(**spec), *nodes_own]


@st.composite
def peers_inside(draw: st.DrawFn, number: int) -> StoreEntry:
    """A BGPPeer between nodes of the cluster, which says nothing that the other end would have to know."""
    local = draw(st.sampled_from([{}, {"node": draw(names)}, {"nodeSelector": draw(selectors)}]))
    family = draw(st.sampled_from(FAMILIES))
    remote = draw(st.sampled_from([{"peerSelector": draw(selectors)}, {"peerIP": address(draw(names), family)}]))
    return peer(f"p{number}", **local, **remote)


NUMBERS = st.none() | st.integers(-1, 70_000)


@st.composite
def any_peers(draw: st.DrawFn, number: int) -> StoreEntry:
    ips = ["10.0.0.9", "10.0.0.9:1790", "192.0.2.1", "[fd00::9]:179", "fd00::1:1", "fe80::1", "0.0.0.0", "nonsense"]
    spans = st.sampled_from([None, None, "90s", "-1s", "999999h", "1h30m", "0"])
    spec = {
        "node": draw(st.none() | names),
        "nodeSelector": draw(st.none() | selectors),
        "peerIP": draw(st.none() | st.sampled_from(ips)),
        "peerSelector": draw(st.none() | selectors),
        "asNumber": draw(st.sampled_from([None, 64512, 65001, "1.10", -1])),
        "localASNumber": draw(st.sampled_from([None, None, 65100])),
        "keepOriginalNextHop": draw(st.none() | st.booleans()),
        "nextHopMode": draw(st.sampled_from([None, "Auto", "Self", "Keep"])),
        "password": draw(st.sampled_from([None, None, {}, {"secretKeyRef": {"name": "s", "key": "k"}}])),
        "sourceAddress": draw(st.sampled_from([None, "UseNodeIP", "None", ""])),
        "maxRestartTime": draw(spans),
        "keepaliveTime": draw(spans),
        "numAllowedLocalASNumbers": draw(NUMBERS) if draw(seldom) else None,
        "ttlSecurity": draw(NUMBERS) if draw(seldom) else None,
        "reachableBy": draw(st.sampled_from([None, None, "10.0.0.253", "fd00::253"])),
        "filters": draw(st.lists(st.sampled_from(["f", "g", "missing"]), max_size=2)) if draw(seldom) else None,
        "localWorkloadSelector": draw(selectors) if draw(seldom) else None,
        "reversePeering": draw(st.sampled_from([None, "Auto", "Manual"])),
    }
    return peer(f"p{number}", **given_only(spec))


OTHERS = [
    stored("BGPFilter", "f", importV4=[{"action": "Reject"}]),
    stored("BGPFilter", "g", exportV4=[{"action": "Perhaps"}]),
    pool("p", "10.244.0.0/16", ipipMode="Always"),
    pool("p", "10.244.0.1/16"),
    block("n0", "10.244.1.0/26"),
    block("n0", "10.244.1.0/26", b'{"state":"pending"}'),
    default(nodeMeshPassword={"secretKeyRef": {"name": "s", "key": "k"}}),
    default(prefixAdvertisements=[{"cidr": "10.0.0.0/8", "communities": ["gold"]}]),
    (key("BGPConfiguration", "default"), b"{"),
    (key("Node", "n0"), b"{"),
    (key("Node", "n1"), None),
    ("/calico/ipam/v2/host/n0/ipv4/block/x", b"{}"),
]

junk = st.tuples(
    st.sampled_from(["Node", "BGPConfiguration", "BGPPeer", "BGPFilter", "IPPool"]).map(lambda kind: key(kind, "n0")),
    st.none()
    | st.binary(max_size=30)
    | st.sampled_from([b"{}", b"[]", b'{"spec":[]}', b'{"spec":{"bgp":{}}}', b'"x"']),
)


@st.composite
def tellings(draw: st.DrawFn) -> list[StoreEntry]:
    """Anything that a store may tell, some of it twice and differently."""
    entries = draw(nodes()) + draw(settings())
    entries += [draw(any_peers(number)) for number in range(draw(st.integers(0, 4)))]
    entries += draw(st.lists(st.sampled_from(OTHERS), max_size=4))
    entries += draw(st.lists(junk, max_size=3))
    return draw(st.permutations(entries))


def every_plan(entries: list[StoreEntry]) -> dict[str, Plan]:
    return {name: planned(name, *entries) for name in told("", *entries).speakers}


def towards(plans: dict[str, Plan], one: str, other: str, family: int) -> Session | None:
    found = [
        session for session in plans[one].sessions if session.peer_node == other and session.peer.version == family
    ]
    assert len(found) <= 1, found
    return found[0] if found else None


def agree(plans: dict[str, Plan]) -> None:
    """A session stands at both ends, and each end expects what the other one is."""
    for one in plans:
        for other in plans:
            for family in FAMILIES:
                there, back = towards(plans, one, other, family), towards(plans, other, one, family)
                assert (there is None) == (back is None), (one, other, there, back)
                if there is None or back is None:
                    continue
                assert (there.peer, there.source) == (back.source, back.peer)
                assert (there.peer_as, there.local_as) == (back.local_as, back.peer_as)
                assert there.peer_port == plans[other].listen_port
                assert not (there.passive and back.passive), "nobody would call"
                assert (there.kind == "mesh") == (back.kind == "mesh")
                if there.kind == "mesh":
                    assert there.passive != back.passive


@given(nodes(), settings())
def test_the_mesh_stands_at_both_ends_and_one_of_them_calls(cluster: list[StoreEntry], given: list[StoreEntry]) -> None:
    plans = every_plan(cluster + given)
    agree(plans)
    for made in plans.values():
        assert not made.refusals
        assert all(session.kind == "mesh" for session in made.sessions)


@given(nodes(), settings(), st.data())
def test_peerings_between_nodes_stand_at_both_ends(
    cluster: list[StoreEntry], given: list[StoreEntry], data: st.DataObject
) -> None:
    asked = [data.draw(peers_inside(number)) for number in range(data.draw(st.integers(1, 3)))]
    agree(every_plan(cluster + given + asked))


@given(tellings(), st.randoms(use_true_random=False))
def test_the_order_of_the_telling_changes_nothing(entries: list[StoreEntry], random: Any) -> None:
    """What is told of one key keeps its order; keys may come in any."""
    by_key: dict[str, list[StoreEntry]] = {}
    for entry in entries:
        by_key.setdefault(entry[0], []).append(entry)
    turns = [where for where, _ in entries]
    random.shuffle(turns)
    shuffled = [by_key[where].pop(0) for where in turns]
    for name in ("n0", "n1"):
        assert told(name, *shuffled) == told(name, *entries)
        assert list(told(name, *shuffled).speakers) == list(told(name, *entries).speakers)
        assert planned(name, *shuffled) == planned(name, *entries)


@given(tellings(), st.sampled_from(["", "hash", "192.0.2.1", "nonsense"]), st.booleans())
def test_whatever_the_store_tells_there_is_a_plan(entries: list[StoreEntry], router_id: str, has_ipip: bool) -> None:
    for name in (*NAMES[:3], "stranger"):
        cluster = told(name, *entries)
        wanted = wanted_secrets(name, cluster)
        secrets = dict.fromkeys(wanted, Secret("s3cret"))
        made = plan(name, cluster, secrets=secrets, router_id=router_id, has_ipip=has_ipip)
        assert [session.name for session in made.sessions] == sorted({session.name for session in made.sessions})
        places = [(session.peer, session.peer_port) for session in made.sessions]
        assert len(places) == len(set(places))
        for session in made.sessions:
            assert set(session.filters) <= set(made.filters)
            assert session.peer_as > 0
            assert 0 < session.peer_port < 65536
            assert session.peer not in [network.ip for network in made.networks]
            assert session.name.endswith(f"_port_{session.peer_port}") or "_port_" not in session.name
            assert session.kind == "mesh" or session.resource in cluster.peers
        assert all(refusal.what and refusal.why and refusal.fix for refusal in made.refusals)
        assert int(made.router_id)
        # The secrets that were asked for are all that sessions need.
        unread = plan(name, cluster, secrets={}, router_id=router_id)
        assert wanted or unread.sessions == made.sessions
        assert all("has not been read" not in refusal.why for refusal in made.refusals)
