"""BIRD's answers and its configuration."""

from __future__ import annotations

from tests.support.doctor import source

from tortie.doctor.picture.facts import Fact, Route, Session, Setting
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers import bird


def facts(text: str, command: str = "") -> list[Fact]:
    return list(bird.read(Exhibit("e", 1, source(text).lines, "m1", command)))


def test_protocols() -> None:
    found = facts(
        """
        BIRD v0.3.3+birdv1.6.8 ready.
        name     proto    table    state  since       info
        static1  Static   master   up     2022-05-18
        Mesh_10_0_0_1 BGP      master   up     08:20:11    Established
        Node_fd00_0_0_0_0_0_0_1 BGP master start 08:20:12 Active        Socket: Connection refused
        """
    )
    one, two = (fact for fact in found if isinstance(fact, Session))
    assert (one.peer, one.state, one.info, one.kind) == ("10.0.0.1", "up", "Established", "node-to-node mesh")
    assert two.peer == "fd00:0:0:0:0:0:0:1"
    assert "Connection refused" in two.info


def test_details_fill_the_session() -> None:
    found = facts(
        """
        peer7    BGP      master   start  10:10:10    Idle
          BGP state:          Idle
            Neighbor address: 10.8.8.8
            Neighbor AS:      64999
            Last error:       BGP Error: Bad peer AS
        """,
        "birdcl show protocols all",
    )
    (session,) = (fact for fact in found if isinstance(fact, Session))
    assert (session.peer, session.info) == ("10.8.8.8", "Idle BGP Error: Bad peer AS")
    settings = {fact.name: fact.value for fact in found if isinstance(fact, Setting)}
    assert settings["neighbor-as"] == "64999"


def test_configuration_never_tells_a_password() -> None:
    found = facts(
        """
        router id 10.1.1.1;
        protocol bgp Mesh_10_0_0_2 from bgp_template {
          neighbor 10.0.0.2 as 64512;
          local as 64512;
          password "geheim";
          passive on;
        }
        """
    )
    settings = {fact.name: (fact.value, fact.owner) for fact in found if isinstance(fact, Setting)}
    assert settings["neighbor"] == ("10.0.0.2 as 64512", "Mesh_10_0_0_2")
    assert settings["router-id"] == ("10.1.1.1", "")
    assert "geheim" not in str(found)


def test_routes_and_status() -> None:
    found = facts("10.7.1.0/26  via 10.0.0.2 on eth0 [Mesh_10_0_0_2 10:00:00] * (100/0) [i]\nRouter ID is 10.0.0.1\n")
    (route,) = (fact for fact in found if isinstance(fact, Route))
    assert (route.via, route.device, route.protocol, route.table) == ("10.0.0.2", "eth0", "Mesh_10_0_0_2", "bird")
    assert any(isinstance(fact, Setting) and fact.name == "router-id" for fact in found)
