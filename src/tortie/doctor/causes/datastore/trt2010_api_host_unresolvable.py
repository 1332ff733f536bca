"""TRT2010: the configured API or etcd host is a name the pod cannot resolve."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.way_table import hands
from tortie.doctor.causes.ways import edit_agent, restart_agent, set_config_map
from tortie.doctor.picture.facts import Setting
from tortie.doctor.picture.owner import owner
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.signs import Hit, Sign

LOOKUP_ON: Final = Sign(
    "trt2010-lookup-on",
    "dial tcp: lookup <name> on <ip_dns>:<port>: (no such host|i/o timeout|server misbehaving|read udp … i/o timeout)",
)
LOOKUP: Final = Sign(
    "trt2010-lookup",
    "dial tcp: lookup <name>: (no such host|Temporary failure in name resolution|i/o timeout|Try again)",
)
NAMES: Final = ("KUBERNETES_SERVICE_HOST", "ETCD_ENDPOINTS", "etcd_endpoints", "controlPlaneEndpoint", "server")
ETCD_NAMES: Final = ("ETCD_ENDPOINTS", "etcd_endpoints")
SERVERS: Final = (":6443", ":443/api", ":443", ":2379", "/api", "/version", "/healthz", "/readyz", "/livez", ":8443")
ELSEWHERE: Final = ("pull", "image", "/v2/", "registry", "helm", "webhook")
CALICO: Final = (
    "calico", "felix", "startup", "typha", "tigera", "operator", "install", "datastore", "etcd", "kubelet", "cni",
)  # fmt: skip
_OF_PLUGIN: Final = ("plugin", "sandbox", "kubelet", "networkplugin")
_OF_CALICO: Final = ("calico-", "tigera-operator")
_OF_SERVERS: Final = ("api", "etcd", "master", "k8s", "kube")


class Seen:
    """Failed lookups of the API's or etcd's name, and who knows that name."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.settings = [setting for name in NAMES for setting in picture.settings(name)]
        self.hits = [hit for hit in picture.hits(LOOKUP_ON, LOOKUP) if _of_api(hit, self.settings)]
        self.name = self.hits[0].value("name") if self.hits else ""
        self.dns = self.hits[0].value("ip_dns") if self.hits else ""
        self.config = [setting for setting in self.settings if self.name and self.name in setting.value]

    @cached_property
    def hosts(self) -> list[Exhibit]:
        """Hosts files that know the name."""
        shown = self.picture.commands("/etc/hosts")
        return [exhibit for exhibit in shown if any(self.name in line.split()[1:] for line in exhibit.lines)]

    @cached_property
    def empty(self) -> list[Exhibit]:
        """Questions to a DNS server that does not know it."""
        asked = [e for e in self.picture.exhibits if e.command.startswith(("dig ", "nslookup ", "host "))]
        return [exhibit for exhibit in asked if self.name in exhibit.command and _no_answer(exhibit.lines)]

    @property
    def address(self) -> str:
        """What the hosts file says."""
        lines = (line.split() for exhibit in self.hosts for line in exhibit.lines)
        return next((words[0] for words in lines if self.name in words[1:]), "")

    @property
    def etcd(self) -> str:
        """Endpoints of etcd that have the name, as they are configured."""
        told = [setting.value for setting in self.config if setting.name in ETCD_NAMES]
        return told[-1] if told else ""


def _of_api(hit: Hit, settings: list[Setting]) -> bool:
    name, said = hit.value("name"), f"{hit.line} {hit.command}".lower()
    if name == "localhost" or any(word in said for word in ELSEWHERE):
        return False
    if any(name in setting.value for setting in settings):
        return True
    if f"//{name.lower()}" in said:  # what it is asked for tells whose name it is
        return any(f"//{name.lower()}{tail}" in said for tail in SERVERS)
    return any(word in said for word in CALICO) and any(word in name for word in _OF_SERVERS)


def _no_answer(lines: tuple[str, ...]) -> bool:
    text = "\n".join(lines)
    return not text.strip() or "NXDOMAIN" in text or "can't find" in text or "ANSWER: 0" in text


def started_since(seen: Seen) -> Finding | None:
    """Who cannot resolve it does not start; agents, controllers and the operator that are ready could."""
    pods = [*seen.picture.agents_now(), *seen.picture.pods_now(*_OF_CALICO)]
    by_plugin = any(word in hit.line.lower() for hit in seen.hits for word in _OF_PLUGIN)
    well = bool(seen.picture.agents_now()) and all(pod.all_ready for pod in pods)
    return ruled_out(pods[:1]) if seen.hits and well and not by_plugin else None


def unresolved(seen: Seen) -> Finding | None:
    if not seen.hits:
        return None
    blamed = culprits(
        named("address", seen.name, seen.dns),
        named("setting", *(setting.name for setting in seen.config)),
        named("resource", *(setting.owner for setting in seen.config)),
        Culprit("resource", "kubernetes-services-endpoint"),
    )
    files = [exhibit.place(0) for exhibit in (*seen.hosts[:1], *seen.empty[:1]) if exhibit.lines]
    right = seen.etcd.replace(seen.name, seen.address) if seen.address else ""
    of_etcd = seen.etcd or "etcd" in seen.name
    return found(
        _strength(seen), blamed, (*seen.config[:1], *seen.hits[:2], *files), name=seen.name, dns=seen.dns,
        address=seen.address, right=right, of="etcd" if of_etcd else "api",
    )  # fmt: skip


def _strength(seen: Seen) -> float:
    if seen.name.startswith("kubernetes.default"):
        return POSSIBLE
    if seen.hosts or seen.empty:
        return PROVEN
    return STRONG if "no such host" in seen.hits[0].text or seen.config else LIKELY


def only_addresses(seen: Seen) -> Finding | None:
    hosts = (setting.value.split("//")[-1].split(":")[0] for setting in seen.settings)
    by_name = any(letter.isalpha() for host in hosts for letter in host)
    return ruled_out(seen.settings[:1]) if seen.settings and not by_name else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield do("look" if finding.value("dns") else "look-anywhere")
    yield do("record")
    if finding.value("of") == "etcd":
        yield from set_config_map(picture, "etcd_endpoints", finding.value("right"))
        return
    if "operator" in hands(owner(picture)):
        yield do("operator")
        return
    yield do("aliases")
    yield from edit_agent(picture)
    yield from restart_agent(picture)


CAUSE = Cause(
    module=__name__,
    id="api-host-unresolvable",
    code="TRT2010",
    severity="high",
    explains=(
        "api-unreachable", "crash-loop", "datastore-error", "init-crash", "operator-degraded", "controllers-failing",
    ),
    signs=(LOOKUP_ON, LOOKUP),
    look=Seen,
    rules=(started_since, unresolved, only_addresses),
    fix=fix,
)  # fmt: skip
