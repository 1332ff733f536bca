"""On which node something has to be done."""

from __future__ import annotations

from tortie.doctor.causes.kubelet.node_evidence import known_as
from tortie.doctor.causes.underlay.traffic_evidence import agents_fine, trouble
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit


def node_of(picture: Picture, *hosts: str) -> str:
    """The first of these hosts, as the cluster calls it; else the only node whose agent is not well."""
    return next((known_as(picture, host)[0] for host in hosts if host), "") or only_sick(picture)


def only_sick(picture: Picture) -> str:
    nodes = {pod.node for pod in picture.agents_now() if pod.containers is not None and not pod.all_ready}
    return nodes.pop() if len(nodes) == 1 else ""


def elsewhere(picture: Picture, host: str) -> bool:
    """Whether this host is known not to be a node: nodes are shown by names, and none is called so."""
    names = [name.lower() for name in picture.nodes_now() if not name.replace(".", "").isdecimal()]
    return bool(host and names) and host.lower().split(".")[0] not in {name.split(".")[0] for name in names}


def nobody_suffers(picture: Picture) -> bool:
    """Agents are shown, all of them are ready, and nobody tells or shows that anything fails."""
    return agents_fine(picture) and not trouble(picture) and not picture.said("suffers", "complains")


def said_on(picture: Picture, hit: Hit) -> str:
    """The node of a log's line: of the pod whose log it is, else where the log was read. `?` is an unknown one."""
    if "kubectl" in hit.command or "stern" in hit.command:
        return next((pod.node for pod in picture.agents_now() if pod.name in hit.command), "?")
    return hit.host
