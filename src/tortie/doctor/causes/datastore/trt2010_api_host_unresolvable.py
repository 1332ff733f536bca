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
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import LogLine, Setting
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
CURL: Final = Sign("trt2010-curl", "Could not resolve host: <name>")
KUBECTL: Final = "unable to connect to the server"
NAMES: Final = ("KUBERNETES_SERVICE_HOST", "ETCD_ENDPOINTS", "etcd_endpoints", "controlPlaneEndpoint", "server")
ETCD_NAMES: Final = ("ETCD_ENDPOINTS", "etcd_endpoints")
SERVERS: Final = (":6443", ":443/api", ":443", ":2379", "/api", "/version", "/healthz", "/readyz", "/livez", ":8443")
ELSEWHERE: Final = ("pull", "image", "/v2/", "registry", "helm", "webhook")
CALICO: Final = (
    "calico", "felix", "startup", "typha", "tigera", "operator", "install", "datastore", "etcd", "kubelet", "cni",
)  # fmt: skip
_OF_PLUGIN: Final = ("plugin", "sandbox", "kubelet", "networkplugin")
_OF_CALICO: Final = ("calico-", "tigera-operator")
_OF_MACHINES: Final = ("kubelet", KUBECTL, "kubeadm", "containerd", "dockerd", "curl")
_OF_PODS: Final = ("kubectl logs", "calico", "felix", "typha", "operator", "crictl logs", "docker logs")
_PICKED: Final = lazily(r"\||\bgrep\b|\bgetent\b|\bawk\b|\btail\b")
_TEMPLATE: Final = lazily(r"/etc/cloud/templates/hosts\.[\w-]{1,40}\.tmpl")
_OF_SERVERS: Final = ("api", "etcd", "master", "k8s", "kube")


class Seen:
    """Failed lookups of the API's or etcd's name, and who knows that name."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.settings = [setting for name in NAMES for setting in picture.settings(name)]
        failed = picture.hits(LOOKUP_ON, LOOKUP, CURL)
        self.hits = [hit for hit in failed if _of_api(hit, self.settings)] or self._of_kubectl(failed)
        self.further = list(dict.fromkeys(hit.value("name") for hit in failed))  # names of others that fail as well
        self.name = self.hits[0].value("name") if self.hits else ""
        self.dns = self.hits[0].value("ip_dns") if self.hits else ""
        self.config = [setting for setting in self.settings if self.name and self.name in setting.value]

    def _of_kubectl(self, failed: list[Hit]) -> list[Hit]:
        """A laptop may know less than the cluster; where the hosts file is shown it is the machine's own matter."""
        shown = {exhibit.host for exhibit in self.picture.commands("/etc/hosts")}
        return [hit for hit in failed if KUBECTL in hit.line.lower() and hit.host and hit.host in shown]

    @cached_property
    def by_host(self) -> bool:
        """Who asks is a program of the machine, which looks into its hosts file; a pod has one of its own."""
        said = " ".join(f"{hit.line} {hit.command}".lower() for hit in self.hits)
        return any(word in said for word in _OF_MACHINES) and not any(word in said for word in _OF_PODS)

    @cached_property
    def askers(self) -> list[str]:
        """Machines that ask in vain, by their journals' lines or where the command was typed."""
        wrote = {line.place: line.host for line in self.picture.of(LogLine) if line.host}
        return list(dict.fromkeys(host for hit in self.hits if (host := wrote.get(hit.place) or hit.host)))

    @cached_property
    def without(self) -> list[Exhibit]:
        """Whole hosts files of the machine that asks, without the name."""
        asking = self.askers
        shown = [e for e in self.picture.commands("/etc/hosts") if e.lines and not _PICKED.search(e.command)]
        own = [exhibit for exhibit in shown if not asking or not exhibit.host or exhibit.host in asking]
        return own if self.by_host and not self.hosts else []

    @cached_property
    def rewritten(self) -> Exhibit | None:
        """cloud-init says so in the file that it writes anew at every boot."""
        return next((e for e in self.without if any("manage_etc_hosts" in line for line in e.lines)), None)

    @cached_property
    def template(self) -> str:
        lines = self.rewritten.lines if self.rewritten else ()
        return next((match[0] for line in lines if (match := _TEMPLATE.search(line))), "")

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
    if KUBECTL in said:
        return False  # by itself it may be a laptop's trouble
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
    hosts = seen.askers if seen.by_host else []
    host = next(iter(hosts), "")
    blamed = culprits(
        named("address", seen.name, seen.dns),
        named("file", "/etc/hosts" if seen.without else "", seen.template),
        named("node", *hosts[:4]),
        named("setting", *(setting.name for setting in seen.config)),
        named("resource", *(setting.owner for setting in seen.config)),
        *(() if seen.by_host else (Culprit("resource", "kubernetes-services-endpoint"),)),
    )
    files = [exhibit.place(0) for exhibit in (*seen.hosts[:1], *seen.empty[:1]) if exhibit.lines]
    files += [exhibit.place(0, len(exhibit.lines)) for exhibit in seen.without[:1]]
    right = seen.etcd.replace(seen.name, seen.address) if seen.address else ""
    whose = "etcd" if seen.etcd or "etcd" in seen.name else "api"
    return found(
        _strength(seen), blamed, (*seen.config[:1], *seen.hits[:2], *files), name=seen.name, dns=seen.dns,
        say="not-in-hosts" if seen.without else "", address=seen.address, right=right, of=whose,
        host="machine" if seen.by_host else "", node=host, template=seen.template,
        further=tuple(name for name in seen.further if name not in (seen.name, "localhost"))[:3],
    )  # fmt: skip


def _strength(seen: Seen) -> float:
    if seen.name.startswith("kubernetes.default"):
        return POSSIBLE
    if seen.hosts or seen.empty or seen.without:
        return PROVEN
    return STRONG if "no such host" in seen.hits[0].text or seen.config else LIKELY


def only_addresses(seen: Seen) -> Finding | None:
    hosts = (setting.value.split("//")[-1].split(":")[0] for setting in seen.settings)
    by_name = any(letter.isalpha() for host in hosts for letter in host)
    return ruled_out(seen.settings[:1]) if seen.settings and not by_name else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield do("look" if finding.value("dns") and not finding.value("host") else "look-anywhere")
    if finding.value("host"):
        yield from _on_the_machine(finding)
        return
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


def _on_the_machine(finding: Finding) -> Iterator[Do]:
    """The machine's own programs look into its hosts file first."""
    yield do("hosts-line")
    if finding.value("template"):
        yield do("template")
    yield do("record")


CAUSE = Cause(
    module=__name__,
    id="api-host-unresolvable",
    code="TRT2010",
    severity="high",
    explains=(
        "api-unreachable", "crash-loop", "datastore-error", "init-crash", "operator-degraded", "controllers-failing",
    ),
    signs=(LOOKUP_ON, LOOKUP, CURL),
    look=Seen,
    rules=(started_since, unresolved, only_addresses),
    fix=fix,
)  # fmt: skip
