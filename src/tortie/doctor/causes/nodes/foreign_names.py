"""Names that belong to another node than the one that uses them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tortie.doctor.causes.nodes.bgp_evidence import NODE_NAME, NODE_USED, same_host
from tortie.doctor.causes.nodes.node_names import Called, by_agent, by_file, own_name
from tortie.doctor.picture.facts import Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.places import exhibit_at
from tortie.doctor.signs import Hit
from tortie.model.tuples import NamedTuple


class Foreign(NamedTuple):
    name: str
    host: str  # that uses it
    by: str  # file, agent: where it has the name from
    source: object  # evidence


def foreign_names(picture: Picture) -> list[Foreign]:
    known = set(picture.nodes_now()) | {pod.node for pod in picture.agents() if pod.node}
    return [*_in_files(picture, known), *_in_settings(picture, known), *_in_logs(picture)]


def _in_files(picture: Picture, known: set[str]) -> Iterator[Foreign]:
    files = [call for call in by_file(picture) if call.host]
    owners = defaultdict(set)
    for call in files:
        owners[call.name].add(call.host)
        if not same_host(call.host, call.name) and any(same_host(call.name, node) for node in known | {call.host}):
            yield Foreign(call.name, call.host, "file", call.source)
    for name, hosts in owners.items():
        if len(hosts) > 1:
            host = next((one for one in sorted(hosts) if not same_host(one, name)), sorted(hosts)[-1])
            yield Foreign(name, host, "file", files[0].source)


def _in_settings(picture: Picture, known: set[str]) -> Iterator[Foreign]:
    recorded = known | set(picture.calico_nodes())
    for call in by_agent(picture):
        host = _where(picture, call)
        if host in known and call.name in recorded and not same_host(call.name, host):
            yield Foreign(call.name, host, "agent", call.source)


def _in_logs(picture: Picture) -> Iterator[Foreign]:
    for hit in picture.hits(NODE_NAME, NODE_USED):
        host = _really(picture, hit)
        if host and not same_host(hit.value("name"), host):
            yield Foreign(hit.value("name"), host, "", hit)


def _really(picture: Picture, hit: Hit) -> str:
    """The node whose agent printed this, by the pod in the command or the prompt of a local command."""
    exhibit = exhibit_at(picture, hit.place)
    if exhibit is None:
        return ""
    for pod in picture.agents():
        if pod.node and pod.name in exhibit.command:
            return pod.node
    local = exhibit.command.startswith(("docker ", "sudo docker", "crictl", "journalctl", "cat "))
    return exhibit.host if local else ""


def _where(picture: Picture, call: Called) -> str:
    """The host whose own settings these are; what kubectl shows from there is the cluster's."""
    exhibit = exhibit_at(picture, call.source.place) if isinstance(call.source, Setting) else None
    if not call.host or exhibit is None or any(tool in exhibit.command for tool in ("kubectl", "calicoctl", " get ")):
        return ""
    return own_name(picture, call.host)
