"""kube-proxy, which programs the service addresses: where it runs, what it complains about, whom it asks."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.causes.datastore.api_evidence import (
    PROXY_ENDS,
    PROXY_LIST,
    PROXY_OFF_SIGNS,
    Trouble,
    troubles,
)
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Pod, Setting, Unit
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit

_SERVER_WORDS: Final = ("server: http", "controlPlaneEndpoint", "control-plane-endpoint", " running at ")
_LOG_LINE: Final = lazily(r"[EWIF]\d{4} \d\d:|\d{4}-\d\d-\d\d[ T]|\w{3} +\d{1,2} \d\d:|[`~]{3}")
_HEADING: Final = lazily(
    r"kube-?proxy.{0,40}(?:\blogs?\b|日志|\bsays\b|\bprints\b|:$|：$)|(?:\blogs?\b|日志).{0,30}kube-?proxy", re.I
)
_WITHOUT_PROXY: Final = lazily(r"--disable-kube-proxy(?!=false)\b|--skip-phases[= ]\S{0,80}addon/kube-proxy")
_CONTROL_PLANE: Final = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
UNIT_DEAD: Final = ("inactive", "failed", "activating", "deactivating")


def proxy_pods(picture: Picture) -> list[Pod]:
    return picture.pods_now("kube-proxy")


def proxy_without_api(picture: Picture) -> list[Hit]:
    """kube-proxy's own complaint that it cannot read Services; kubelet and controllers say the same of themselves."""
    return [hit for hit in picture.hits(PROXY_LIST) if _of_proxy(picture, hit)]


def proxy_ended(picture: Picture) -> list[Hit]:
    """What kube-proxy says when it ends at its start; other programs of Kubernetes end with the same words."""
    return [hit for hit in picture.hits(*PROXY_ENDS) if _of_proxy(picture, hit)]


def _of_proxy(picture: Picture, hit: Hit) -> bool:
    return "kube-proxy" in f"{hit.line} {hit.command}" or _below(picture, hit)


def _below(picture: Picture, hit: Hit) -> bool:
    """Right below a heading that says whose log it is, as people write who do not paste the command."""
    if hit.command or hit.prose:
        return False
    heading = next((line for line in reversed(_above(picture, hit.place)) if not _LOG_LINE.match(line)), "")
    return _HEADING.search(heading) is not None


def _above(picture: Picture, place: Place, count: int = 6) -> list[str]:
    return [
        line.strip()
        for exhibit in picture.exhibits
        if exhibit.source == place.source and exhibit.number(0) < place.first
        for index, line in enumerate(exhibit.lines)
        if place.first - count <= exhibit.number(index) < place.first and line.strip()
    ]


def _named_servers(picture: Picture) -> list[str]:
    """Lines that say where the API server is; kube-proxy's own configuration may be what is wrong."""
    shown = [exhibit for exhibit in picture.exhibits if "kube-proxy" not in exhibit.command]
    return [line for exhibit in shown for line in exhibit.lines if any(word in line for word in _SERVER_WORDS)]


def foreign_servers(picture: Picture) -> list[Trouble]:
    """What kube-proxy asks in vain, where the API servers are listed and run at other addresses.

    A local balancer and an address that a setting names are the API server, too.
    """
    servers = {pod.ip for pod in picture.pods_now("kube-apiserver") if pod.all_ready and pod.ip}
    told = _named_servers(picture)
    lists = {hit.place for hit in proxy_without_api(picture)}
    asked = [one for one in troubles(picture) if one.place in lists and not one.address.startswith("127.")]
    return [one for one in asked if servers and one.address not in servers and not any(one.address in t for t in told)]


def proxies_down(picture: Picture) -> list[Pod | Unit]:
    """kube-proxy pods and units that do not run now; a unit counts where kube-proxy does not run as a pod."""
    pods = [pod for pod in proxy_pods(picture) if pod.status not in ("", "Running") or pod.ready == 0]
    in_pods = any(pod.all_ready for pod in proxy_pods(picture))
    units = {unit.host: unit for unit in picture.of(Unit) if unit.name.removesuffix(".service") == "kube-proxy"}
    dead = [unit for unit in units.values() if unit.active in UNIT_DEAD and not in_pods]
    return [*pods, *dead]


def proxy_switched_off(picture: Picture) -> list[Hit | Place]:
    """In the settings of an installation, or on its command line."""
    typed = [exhibit for exhibit in picture.exhibits if _WITHOUT_PROXY.search(exhibit.command)]
    places = [Place(one.source, *one.command_lines[::-1][:1] * 2) for one in typed if one.command_lines]
    return [*picture.hits(*PROXY_OFF_SIGNS), *places]


def proxy_containers_down(picture: Picture) -> list[Setting]:
    """kube-proxy as a container of its own, beside kubelet: as RKE runs it."""
    shown = [setting for setting in picture.settings("kube-proxy") if setting.scope == "runtime-container"]
    last = {setting.host: setting for setting in shown}
    return [setting for setting in last.values() if setting.value.startswith(("Exited", "Restarting", "Dead"))]


def _shows_proxies(command: str) -> bool:
    """A listing of all pods, or one that was searched for kube-proxy beside the agents, and for nothing else."""
    if "-l " in command or "| head" in command or "| tail" in command:
        return False
    return "grep" not in command or (command.count("grep") == 1 and "proxy" in command and "-v" not in command.split())


def nodes_without_proxy(picture: Picture) -> list[Pod]:
    """Agents on nodes without kube-proxy, where a listing shows kube-proxy on other nodes, or a control plane."""
    proxies = {pod.node for pod in proxy_pods(picture) if pod.node}
    # Of a listing that somebody cut only some of the control plane is left.
    static = all(any(pod.name.startswith(part) for pod in picture.of(Pod)) for part in _CONTROL_PLANE)
    filtered = not any(_shows_proxies(exhibit.command) for exhibit in picture.commands("kubectl", "get", "po"))
    if filtered or not (proxies or (static and not proxy_pods(picture))):
        return []
    return [pod for pod in picture.agents_now() if pod.node not in proxies and (pod.node or not proxies)]
