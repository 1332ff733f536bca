"""The proof that a lab is as it was: a fingerprint of each machine before the first fault, compared after the last.

Only of what has no other owner: routes of BIRD, interfaces of pods and the agent's own tables come and go on their own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from tortie.host.kernel_settings import read_setting
from tortie.host.links import PATIENCE_S, observe
from tortie.host.mounts import mounts, of_folder
from tortie.lab.failures import PHRASES, Phrase, Said, at, in_words, phrase
from tortie.lab.faults.doing_network import nft_tables
from tortie.lab.faults.hands import SWITCH, Hands, program
from tortie.lab.notes import read_note
from tortie.lab.observe import ask_agents
from tortie.lab.status import lab_status
from tortie.lab.words import Language
from tortie.model.network import Interface

Fingerprint = dict[str, Any]

_ASK_S: Final = 3.0
_LOCAL_TABLE: Final = 255
_OWN_PROTOCOLS: Final = ("static", "boot")
_AGENTS_LINKS: Final = ("tunl0", "vxlan.calico", "vxlan-v6.calico", "wireguard.cali", "wg-v6.cali", "kube-ipvs0")
_AGENTS_TABLES: Final = (" calico",)
_SETTINGS: Final = ("rp_filter", "forwarding", "arp_ignore", "accept_redirects")
_SINGLE: Final = (
    "net/ipv4/ip_forward",
    "net/ipv6/conf/all/forwarding",
    "net/ipv6/conf/all/disable_ipv6",
    "net/ipv4/tcp_mtu_probing",
)
_SHOWN_MAX: Final = 8


def fingerprints(hands: Hands) -> dict[str, Fingerprint]:
    """Of every machine that can be entered, and of the place where the cables end."""
    status = hands.keeper.ask("status")
    told = {each["name"]: each for each in status["machines"]}
    helpers = status.get("helpers", ())
    found: dict[str, Fingerprint] = {SWITCH: hands.inside(SWITCH, _network)}
    folder = os.path.realpath(hands.folder.path)
    for machine in hands.plan.machines:
        look = partial(_node, folder) if machine.name in hands.kubelets else _network
        taken: Fingerprint = hands.inside(machine.name, look)
        facts = told.get(machine.name, {})
        taken["keeper"] = {key: facts.get(key) for key in ("limit", "overlay", "halted") if facts.get(key)}
        taken["helpers"] = sorted(name for name in helpers if name.startswith(f"{machine.name}/"))
        found[machine.name] = taken
    return found


def _node(folder: str) -> Fingerprint:
    """With its mounts, but only the lab's: those of the machine around it come and go on their own in there, too."""
    own = sorted({f"{mount.place} {mount.source}" for mount in of_folder(folder, mounts())})
    return {**_network(), "mounts": own}


def _network() -> Fingerprint:
    """Of the namespaces of the calling process."""
    network = observe(PATIENCE_S)
    own = [link for link in network.interfaces if _is_own(link)]
    names = {link.index: link.name for link in network.interfaces}
    return {
        "links": {link.name: _link(link) for link in own},
        "routes": sorted(
            f"{route.destination} via {route.gateway} dev {names.get(route.interface or 0, '-')} table {route.table}"
            for route in network.routes
            if route.protocol in _OWN_PROTOCOLS and route.table != _LOCAL_TABLE
        ),
        "rules": sorted(
            json.dumps(rule, sort_keys=True)
            for family in ("-4", "-6")
            for rule in json.loads(program("ip", "-j", family, "rule") or "[]")
        ),
        "tables": sorted(table for table in nft_tables() if not table.endswith(_AGENTS_TABLES)),
        "settings": {path: value for path in _paths(own) if (value := read_setting(path)) is not None},
    }


def _is_own(link: Interface) -> bool:
    return not link.name.startswith("cali") and link.name not in _AGENTS_LINKS


def _link(link: Interface) -> list[Any]:
    addresses = [str(address.cidr) for address in link.addresses if not address.cidr.ip.is_link_local]
    return [link.kind, link.mtu, "up" in link.flags, bool(link.master), addresses]


def _paths(links: list[Interface]) -> Iterator[str]:
    yield from _SINGLE
    for name in ("all", "default", *(link.name for link in links)):
        for setting in _SETTINGS:
            yield f"net/ipv4/conf/{name}/{setting}"


def compared(before: Mapping[str, Fingerprint], now: Mapping[str, Fingerprint]) -> list[Phrase]:
    """What differs; machines that have come or gone meanwhile are somebody's wish."""
    return [
        at(machine, difference)
        for machine in before
        if machine in now
        for name in before[machine]
        for difference in _differing(name, before[machine][name], now[machine].get(name))
    ]


def _differing(name: str, before: Any, now: Any) -> Iterator[Phrase]:
    if before == now:
        return
    what: Said = phrase(f"part.{name}") if f"part.{name}" in PHRASES else name  # as another version wrote it down
    if isinstance(before, dict) and isinstance(now, dict):
        for each in sorted({*before, *now}):
            if before.get(each) != now.get(each):
                yield _instead(phrase("of", whole=what, part=each), before.get(each), now.get(each))
        return
    if isinstance(before, list) and isinstance(now, list):
        yield from (phrase("missing", what=what, item=_text(each)) for each in before if each not in now)
        yield from (phrase("new", what=what, item=_text(each)) for each in now if each not in before)
        return
    yield _instead(what, before, now)


def _instead(what: Said, before: Any, now: Any) -> Phrase:
    return phrase("instead", what=what, now=_text(now), before=_text(before))


def _text(value: Any) -> Said:
    if value is None:
        return phrase("nothing")
    return value if isinstance(value, str) else json.dumps(value)


def readiness(hands: Hands, *, soon: bool = False) -> dict[str, bool]:
    """What is ready, by name: agents, or their pods where there are kubelets; sessions; servers.

    `soon`: an agent that is ready is enough, though its kubelet has not asked it yet.
    """
    told = hands.keeper.ask("status")
    nodes = [machine["name"] for machine in told["machines"] if machine["role"] == "node"]
    seen = lab_status(told, ask_agents({node: hands.folder.agent_socket(node) for node in nodes}, "/status", _ASK_S))
    found = {other.name: other.runs is not False for other in seen.others}
    for node in seen.nodes:
        in_pod = node.name in hands.kubelets
        found[node.name] = (_in_pod(hands, node.name) or (soon and node.ready)) if in_pod else node.ready
    for machine in told["machines"]:
        units = machine.get("units") or {}
        if machine["name"] in found and not all(unit.get("running") for unit in units.values()):
            found[machine["name"]] = False
    found |= {f"{pair.a} - {pair.b}": pair.state == "up" for pair in seen.pairs}
    return found


def _in_pod(hands: Hands, node: str) -> bool:
    """Whether the node and its own pod are ready, as its kubelet says."""
    return {item["kind"] for item in _objects(hands, node) if _is_ready(item)} == {"Node", "Pod"}


def pod_of(hands: Hands, node: str) -> str:
    """What tells the node's pod from the one that was there before it; "" without one."""
    uids = (str(item["metadata"].get("uid", "")) for item in _objects(hands, node) if item["kind"] == "Pod")
    return next(uids, "")


def _objects(hands: Hands, node: str) -> list[dict[str, Any]]:
    """The node and its own pod, as its kubelet wrote them down last."""
    noted = read_note(os.path.join(hands.folder.machine(node), "var/lib/kubelet/objects.json"))
    try:
        return [item for item in noted["items"] if _is_node_or_pod(item)]
    except (KeyError, TypeError):
        return []


def _is_node_or_pod(item: dict[str, Any]) -> bool:
    name = str(item["metadata"]["name"])
    return bool(item["kind"] == "Node" or (item["kind"] == "Pod" and name.startswith("calico-node-")))


def _is_ready(item: dict[str, Any]) -> bool:
    conditions = (item.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def not_yet(before: Mapping[str, bool], now: Mapping[str, bool]) -> list[str]:
    """What was ready before and is not now."""
    return [name for name, ready in before.items() if ready and not now.get(name, False)]


def shown(language: Language, remains: Sequence[Said]) -> str:
    more = [phrase("more", count=len(remains) - _SHOWN_MAX)] if len(remains) > _SHOWN_MAX else []
    return "\n".join(in_words(language, each) for each in (*remains[:_SHOWN_MAX], *more))
