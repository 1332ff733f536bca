"""TRT2011: proxy variables send requests for the API through an HTTP proxy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from ipaddress import ip_address, ip_interface, ip_network
from typing import Final

from tortie.doctor.causes.cause import HINT, LIKELY, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import culprits, named
from tortie.doctor.causes.datastore.api_evidence import (
    NO_PROXY,
    NO_PROXY_SHORT,
    PROXY_VARIABLE,
    PROXY_VARIABLE_PLAIN,
    VIP_SIGNS,
    direct_answers,
    service_range,
    vip_troubles,
    vips,
)
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.ways import drain_node, set_agent_env
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Setting
from tortie.doctor.picture.host_pods import is_agent
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.signs import Hit, Sign

PROXY_CONNECT: Final = Sign("trt2011-proxyconnect", "proxyconnect tcp: <rest>")
TUNNEL_FAILED: Final = Sign("trt2011-tunnel", "Tunnel Connection Failed")
TUNNEL_FORBIDDEN: Final = Sign("trt2011-tunnel-forbidden", "Tunnel or SSL Forbidden")
SERVICE_UNAVAILABLE: Final = Sign("trt2011-unavailable", 'https://<ip_asked>(:443)?/<path>(")?: Service Unavailable')
FORBIDDEN_BY_PROXY: Final = Sign("trt2011-forbidden", 'https://<ip_asked>(:443)?/<path>(")?: Forbidden')
GATEWAY: Final = Sign(
    "trt2011-gateway",
    'https://<ip_asked>(:443)?/<path>(")?: (Bad Gateway|Gateway Timeout|Proxy Authentication Required)',
)
INTERCEPTED: Final = (PROXY_CONNECT, TUNNEL_FAILED, TUNNEL_FORBIDDEN, SERVICE_UNAVAILABLE, FORBIDDEN_BY_PROXY, GATEWAY)
ELSEWHERE: Final = (
    "pull",
    "image",
    "/v2/",
    "registry",
    "helm",
    "metrics.k8s.io",
    "unable to connect to the server",
)  # kubectl
VARIABLES: Final = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy")
UNITS: Final = ("containerd", "docker", "kubelet", "crio")
_ASKED: Final = lazily(r"https://\[?((?:\d{1,3}\.){3}\d{1,3})[]:/]")
_BY_NAME: Final = lazily(r"https?://(?!\d)[\w.-]+\.[a-z]{2,}(?::\d+)?(/[\w./-]*|)", re.IGNORECASE)
_SHOWN_FILE: Final = lazily(r"(?:sudo )?(?:cat|grep|tail|head|less|more|egrep)\b.{0,200}? (/[\w./@+-]+)\s*(?:[(#].*)?$")
_OF_UNIT: Final = lazily(r"/etc/(?:default|sysconfig)/([\w@.-]+)$|/etc/systemd/system/([\w@-]+)\.service(?:\.d/|$)")
_ENVIRONMENT: Final = lazily(r"/etc/(?:default|sysconfig)/[\w@.-]+$|/etc/environment$")
_LONGEST: Final = 60  # of the name of a proxy
_ALWAYS: Final = ("localhost", "127.0.0.1")


class Seen:
    """What proxies said in the API's place, which variables are set, and whom NO_PROXY excepts."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        hits = picture.hits(*INTERCEPTED)
        hits = [hit for hit in hits if not any(word in hit.line.lower() for word in ELSEWHERE)]
        self.connects = [hit for hit in hits if not _of_another(hit.line)]
        settings = [setting for name in VARIABLES for setting in picture.settings(name) if setting.value]
        self.variables: list[Setting | Hit] = [*settings] or [*picture.hits(PROXY_VARIABLE, PROXY_VARIABLE_PLAIN)]
        self.failing = vip_troubles(picture)

    @cached_property
    def vip(self) -> str:
        asked = [hit.value("ip_asked") for hit in self.connects if hit.value("ip_asked")]
        asked += [match[1] for hit in self.connects if (match := _ASKED.search(hit.line))]
        return (*vips(self.picture), *asked, "")[0]

    @cached_property
    def dialled(self) -> list[str]:
        """Proxies that a line names by itself."""
        rests = [hit.value("rest") for hit in self.connects if hit.value("rest")]
        names = [rest.split("dial tcp ")[-1].split(": ")[0] for rest in rests]
        return [name for name in names if len(name) < _LONGEST]

    @cached_property
    def proxy(self) -> str:
        value = _value(self.variables[0]) if self.variables else ""
        bare = value.split("//")[-1].rstrip("/").split("@")[-1]
        return bare or (*self.dialled, "")[0]

    @cached_property
    def exceptions(self) -> list[str]:
        """NO_PROXY where the first variable is set; another machine may have another one."""
        set_to = [s for name in ("NO_PROXY", "no_proxy") for s in self.picture.settings(name)]
        items: list[Setting | Hit] = [*set_to] or [*self.picture.hits(NO_PROXY)] or [*self.picture.hits(NO_PROXY_SHORT)]
        if self.variables and items:
            at = self.variables[0].place
            items = [min(items, key=lambda item: (item.place.source != at.source, abs(item.place.first - at.first)))]
        parts = [part.strip().strip("\"'") for item in items for part in _listed(item).split(",")]
        return [part for part in parts if part]

    @property
    def lacking(self) -> bool:
        return bool(self.variables and self.vip) and not covers(self.exceptions, self.vip)

    @cached_property
    def bypass(self) -> list[Exhibit]:
        """Asked without the proxy, it answered."""
        asked = [exhibit for exhibit in self.picture.exhibits if "--noproxy" in exhibit.command]
        return [e for e in asked if any("ok" in line or "200" in line for line in e.lines[-3:])]

    @cached_property
    def carriers(self) -> list[str]:
        """Who carries the variables."""
        shown = (exhibit for exhibit in self.picture.exhibits if "proxy" in exhibit.text.lower())
        said = " ".join(f"{exhibit.command} {' '.join(exhibit.lines[:3])}" for exhibit in shown)
        return [name for name in (*UNITS, "http-proxy.conf") if name in said]

    @cached_property
    def file(self) -> str:
        """The file that sets the variables, where somebody showed it by its name."""
        for item in self.variables:
            for exhibit in self.picture.commands("/"):
                last = exhibit.number(len(exhibit.lines) - 1) if exhibit.lines else 0
                inside = exhibit.source == item.place.source and exhibit.number(0) <= item.place.first <= last
                if exhibit.lines and inside and (match := _SHOWN_FILE.match(exhibit.command)):
                    return match[1]
        return ""

    @property
    def unit(self) -> str:
        """Whose variables they are: an environment file is named after its unit."""
        units = [name for name in self.carriers if name in UNITS]
        match = _OF_UNIT.match(self.file)
        return (match[1] or match[2]) if match else (*units, "containerd")[0]

    @property
    def node(self) -> str:
        return next((item.host for item in self.variables if item.host), "")


def _of_another(line: str) -> bool:
    """Somebody asked a server by its name, for nothing that the API serves."""
    urls = list(_BY_NAME.finditer(line))
    return bool(urls) and not any(url[1].startswith("/api") for url in urls) and not _ASKED.search(line)


def _value(item: Setting | Hit) -> str:
    return item.value if isinstance(item, Setting) else item.value("value")


def _listed(item: Setting | Hit) -> str:
    return item.value if isinstance(item, Setting) else item.value("value") + item.value("rest").split(" ")[0]


def covers(exceptions: list[str], address: str) -> bool:
    """Whether NO_PROXY excepts an address, as Go's client reads it: addresses, networks, `*`."""
    for entry in exceptions:
        if entry in ("*", address):
            return True
        try:
            if "/" in entry and ip_address(address) in ip_network(entry, strict=False):
                return True
        except ValueError:
            continue
    return False


def _blamed(seen: Seen, strength: float, say: str = "") -> Finding:
    units = [name for name in seen.carriers if name in UNITS]
    blamed = culprits(
        named("file", seen.file),
        named("setting", "HTTPS_PROXY", "NO_PROXY", "HTTP_PROXY"),
        named("address", seen.proxy, *seen.dialled),
        named("unit", *units),
        named("file", *(name for name in seen.carriers if name not in UNITS)),
        named("address", seen.vip),
    )
    shown = [exhibit.place(0) for exhibit in seen.bypass[:1]]
    no_proxy = seen.picture.hits(NO_PROXY, NO_PROXY_SHORT)[:1]
    known = [entry for entry in seen.exceptions if entry not in _ALWAYS]
    return found(
        strength, blamed, (*seen.variables[:2], *no_proxy, *seen.connects[:2], *shown, *seen.failing[:1]), say=say,
        vip=seen.vip, proxy=seen.proxy, unit=seen.unit, node=seen.node,
        file=seen.file if _ENVIRONMENT.match(seen.file) else "",
        known=",".join((*_ALWAYS, *known)), services=service_range(seen.picture, seen.vip),
        pods=_pods(seen.picture), nodes=_nodes(seen.picture),
    )  # fmt: skip


def _pods(picture: Picture) -> str:
    return next((pool.cidr for pool in picture.pools_now() if pool.cidr and ":" not in pool.cidr), "")


def _nodes(picture: Picture) -> str:
    """The network in which the nodes have their addresses, where a link shows it."""
    own = set(picture.internal_ips().values())
    texts = [text for link in picture.interfaces() for text in link.addresses if text.split("/")[0] in own]
    return str(ip_interface(texts[0]).network) if texts and "/" in texts[0] else ""


def through_a_proxy(seen: Seen) -> Finding | None:
    """A proxy's own answer, or the failure to reach it; 503 alone may come from anybody."""
    if not seen.connects:
        return None
    own = seen.connects[0].sign in (PROXY_CONNECT.key, TUNNEL_FAILED.key, TUNNEL_FORBIDDEN.key)
    strength = STRONG if own or seen.bypass else LIKELY if seen.variables and (seen.lacking or not seen.vip) else HINT
    if seen.variables and (seen.lacking or seen.bypass or own):
        strength = PROVEN
    return _blamed(seen, strength, say="not-excepted" if seen.lacking else "through-a-proxy")


def works_without(seen: Seen) -> Finding | None:
    if not seen.failing or not seen.lacking or not (seen.bypass or direct_answers(seen.picture)):
        return None
    return _blamed(seen, STRONG if seen.bypass else HINT)


def excepted(seen: Seen) -> Finding | None:
    fits = seen.variables and seen.vip and not seen.lacking
    return ruled_out(seen.variables[:1], vip=seen.vip) if fits else None


def plain_error(seen: Seen) -> Finding | None:
    return _blamed(seen, HINT) if seen.variables and seen.failing else None


def no_variable(seen: Seen) -> Finding | None:
    shown = seen.picture.commands("systemctl", "Environment")
    return ruled_out((shown[0].place(0),)) if shown and not seen.variables else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    settings = [setting for name in VARIABLES for setting in picture.settings(name)]
    in_pods = [setting for setting in settings if is_agent(setting.owner)]
    if in_pods:
        parts = [finding.value("known"), finding.value("services"), finding.value("pods"), finding.value("nodes")]
        yield from set_agent_env(picture, "NO_PROXY", ",".join([part for part in parts if part] + [".svc"]))
        return
    yield do("look")
    yield do("except-file" if finding.value("file") and finding.value("known") else "except")
    if finding.value("unit") == "docker" and finding.value("node"):
        yield from drain_node(picture, finding.value("node"))
    yield do("restart")


CAUSE = Cause(
    module=__name__,
    id="http-proxy-intercepts",
    code="TRT2011",
    severity="high",
    explains=(
        "sandbox-failed", "api-unreachable", "datastore-error", "no-address", "crash-loop", "init-crash",
        "controllers-failing",
    ),
    signs=(*VIP_SIGNS, *INTERCEPTED, PROXY_VARIABLE, PROXY_VARIABLE_PLAIN, NO_PROXY, NO_PROXY_SHORT),
    look=Seen,
    rules=(through_a_proxy, works_without, excepted, plain_error, no_variable),
    fix=fix,
)  # fmt: skip
