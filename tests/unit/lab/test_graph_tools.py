"""The drawings for Mermaid and Graphviz, read back by small parsers of the parts of their languages that we write."""

from __future__ import annotations

import re
from itertools import combinations

import pytest
from tests.support.lab_views import LARGE, MANY, NASTY, RACKS, THREE, lab, without

from tortie.lab.graph.dot import dot
from tortie.lab.graph.mermaid import mermaid
from tortie.lab.graph.picture import LabView, agents, everyone, links

LABEL = r'"(?:[^"#<>\\`]|#\d+;|<br/>)*"'
BOX = re.compile(rf"(n\d+|mesh)(?:\({LABEL}\)|\[{LABEL}\]|\[\({LABEL}\)\]|\{{\{{{LABEL}\}}\}}|\(\[{LABEL}\]\)):::(\w+)")
EDGE = re.compile(rf"(n\d+) (---|-\.-|-\.->)(?:\|{LABEL}\|)? (n\d+)")
GROUP = re.compile(rf"subgraph \w+\[{LABEL}\]")
LINK_STYLE = re.compile(r"linkStyle (\d+(?:,\d+)*) stroke:#[0-9a-f]{6},stroke-width:[\d.]+px")
CLASS = re.compile(r"classDef (\w+) fill:#[0-9a-f]{6},stroke:#[0-9a-f]{6},color:#[0-9a-f]{6}")
QUOTED = r'"(?:[^"\\]|\\.)*"'
TOKEN = re.compile(rf"\s+|({QUOTED}|--|[A-Za-z_]\w*|[{{}}\[\]=;,])")


def read_mermaid(text: str) -> tuple[set[str], list[tuple[str, str, str]]]:
    """Machines and edges; fails on any line that is not of the language."""
    first, title, last, kind, *lines = text.splitlines()
    assert (first, last, kind) == ("---", "---", "flowchart TB")
    assert re.fullmatch(rf"title: {QUOTED}", title)
    boxes: dict[str, str] = {}
    edges: list[tuple[str, str, str]] = []
    styled: list[int] = []
    known: set[str] = set()
    depth = 0
    for line in (each.strip() for each in lines):
        if found := BOX.fullmatch(line):
            assert found[1] not in boxes
            boxes[found[1]] = found[2]
        elif found := EDGE.fullmatch(line):
            edges.append((found[1], found[2], found[3]))
        elif found := LINK_STYLE.fullmatch(line):
            styled += [int(number) for number in found[1].split(",")]
        elif found := CLASS.fullmatch(line):
            known.add(found[1])
        elif GROUP.fullmatch(line):
            depth += 1
        else:
            assert line == "end", line
            depth -= 1
    assert depth == 0
    assert sorted(styled) == list(range(len(edges)))
    assert set(boxes.values()) <= known
    assert {end for one, _, other in edges for end in (one, other)} <= set(boxes)
    return set(boxes), edges


def read_dot(text: str) -> tuple[set[str], list[tuple[str, str, dict[str, str]]]]:
    """Machines and edges with their attributes; fails on what is no token or closes what was not opened."""
    position, tokens = 0, []
    while position < len(text):
        found = TOKEN.match(text, position)
        assert found, text[position : position + 40]
        tokens += [found[1]] if found[1] else []
        position = found.end()
    assert tokens[0] == "graph"
    assert tokens[2] == "{"
    assert tokens.count("{") == tokens.count("}")
    assert tokens.count("[") == tokens.count("]")
    machines: set[str] = set()
    edges = []
    for index, token in enumerate(tokens):
        attributes = _attributes(tokens, index)
        if token == "--":
            edges.append((tokens[index - 1], tokens[index + 1], _attributes(tokens, index + 1)))
        elif attributes and tokens[index - 1] != "--" and token not in ("node", "edge"):
            assert token not in machines
            machines.add(token)
    assert {end for one, other, _ in edges for end in (one, other)} <= machines
    return machines, edges


def _attributes(tokens: list[str], index: int) -> dict[str, str]:
    """What stands in brackets behind a token."""
    if tokens[index + 1 : index + 2] != ["["]:
        return {}
    inside = tokens[index + 2 : tokens.index("]", index)]
    assert inside[1::4] == ["="] * len(inside[1::4])
    assert inside[3::4] == [","] * len(inside[3::4])
    return dict(zip(inside[0::4], inside[2::4], strict=True))


def machines_of(view: LabView, drawn: set[str]) -> bool:
    condensed = {"mesh"} if len(agents(view)) > 12 else set()
    return drawn == {f"n{index}" for index in range(len(everyone(view)))} | condensed


@pytest.mark.parametrize("name", MANY)
def test_mermaid_gets_a_flowchart_of_all_machines(name: str) -> None:
    boxes, edges = read_mermaid(mermaid(MANY[name]))
    assert machines_of(MANY[name], boxes)
    assert len(edges) <= 400


@pytest.mark.parametrize("name", MANY)
def test_graphviz_gets_a_graph_of_all_machines(name: str) -> None:
    machines, _ = read_dot(dot(MANY[name]))
    assert machines_of(MANY[name], machines)


def test_all_sessions_of_a_small_mesh_are_edges() -> None:
    twelve = lab(12)
    assert len(read_mermaid(mermaid(twelve))[1]) == len(read_dot(dot(twelve))[1]) == 66


def test_of_a_large_mesh_only_what_is_broken_is_an_edge_and_a_note_tells_the_rest() -> None:
    _, edges = read_mermaid(mermaid(LARGE))
    assert sorted({arrow for _, arrow, _ in edges}) == ["-.-", "-.->"]
    assert len(edges) == len(read_dot(dot(LARGE))[1]) == sum(link.state != "up" for link in links(LARGE))
    for text in (mermaid(LARGE), dot(LARGE)):
        assert '"full mesh: 404 of 435 sessions up"' in text


def test_a_mesh_with_nothing_up_stays_a_drawing_that_can_be_drawn() -> None:
    none_up = lab(30, broken=dict.fromkeys(combinations(range(1, 31), 2), ("down", "Idle")))
    assert len(read_mermaid(mermaid(none_up))[1]) == 200
    assert "235 more that are not up" in mermaid(none_up)
    assert "235 more that are not up" in dot(none_up)


def test_edges_say_their_state() -> None:
    _, edges = read_mermaid(mermaid(RACKS))
    assert ("n0", "-.-", "n6") in edges
    assert ("n1", "-.->", "n2") in edges
    drawn = {(one, other): attributes for one, other, attributes in read_dot(dot(RACKS))[1]}
    assert drawn["n0", "n6"]["label"] == '"Connect: No route to host"'
    assert drawn["n1", "n2"]["dir"] == '"forward"'
    assert drawn["n0", "n1"]["color"] != drawn["n0", "n6"]["color"] != drawn["n1", "n2"]["color"]


def test_racks_are_groups() -> None:
    assert [line.strip() for line in mermaid(RACKS).splitlines() if "subgraph" in line] == [
        'subgraph r0["rack-1"]',
        'subgraph r1["rack-2"]',
        'subgraph stores["store etcd"]',
    ]
    assert dot(RACKS).count("subgraph cluster_") == 3
    assert "subgraph" not in mermaid(THREE) + dot(THREE)


@pytest.mark.parametrize("nasty", NASTY)
def test_no_name_leaves_its_quotes(nasty: str) -> None:
    names = nasty.replace("{", "").replace("}", "") + "{}"
    view = lab(4, racks=2, names=names, name=nasty, broken=without(2, 4), not_ready={1: nasty})
    racked = (node._replace(rack=node.rack and nasty + node.rack) for node in view.nodes)
    view = view._replace(store=nasty, nodes=tuple(racked))
    boxes, edges = read_mermaid(mermaid(view))
    machines, drawn = read_dot(dot(view))
    assert boxes == machines == {f"n{index}" for index in range(5)}
    assert len(edges) == len(drawn) == 6 + 4
