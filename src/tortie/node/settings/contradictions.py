"""Settings that are right one by one and wrong together. Each finding names both sides."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Final

from tortie.model.network import Family
from tortie.node.settings.setting import HIDDEN, Finding, Given, assigned, finding, shown
from tortie.node.settings.switches import FALSE
from tortie.node.settings.typed import GivenPool, NodeSettings
from tortie.node.settings.values import NO_POOL
from tortie.node.settings.variables import BY_NAME, DATASTORE

_POOL_DETAILS: Final = ("BLOCK_SIZE", "IPIP", "VXLAN", "NAT_OUTGOING", "NODE_SELECTOR", "DISABLE_BGP_EXPORT")
_FAMILIES: Final[tuple[Family, ...]] = (4, 6)


def contradictions(
    settings: NodeSettings, given: Mapping[str, Given]
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """What has to be refused, and what deserves a warning."""
    judge = _Judge(settings, given)
    judge.pools()
    judge.backend()
    judge.addresses()
    judge.ipv6()
    judge.ports()
    judge.datastore()
    return tuple(judge.refused), tuple(judge.warnings)


class _Judge:
    def __init__(self, settings: NodeSettings, given: Mapping[str, Given]) -> None:
        self.settings = settings
        self.given = given
        self.refused: list[Finding] = []
        self.warnings: list[Finding] = []

    def pools(self) -> None:
        for family in _FAMILIES:
            pool = self.settings.pool4 if family == 4 else self.settings.pool6
            cidr = f"CALICO_IPV{family}POOL_CIDR"
            if self.settings.no_default_pools.value and cidr in self.given:
                self._no_default_pools(pool, cidr)
            elif self._without_pool(family, pool, cidr):
                continue
            elif pool.ipip.value != "Never" and pool.vxlan.value != "Never":
                why = f"contradicts {self._told('CALICO_IPV4POOL_VXLAN')}: a pool has one encapsulation"
                self._refuse("CALICO_IPV4POOL_IPIP", why, "set one of the two to Never")
            self._size(family, pool, cidr)

    def _no_default_pools(self, pool: GivenPool, cidr: str) -> None:
        if pool.cidr.value == NO_POOL:
            why = f"says the same as {self._told(cidr)}; Calico ends when both are set"
            self._warn("NO_DEFAULT_POOLS", why, "keep one of the two")
        else:
            why = f"contradicts {self._told(cidr)}: one asks for no pool, the other for one; Calico ends here"
            self._refuse("NO_DEFAULT_POOLS", why, f"leave out NO_DEFAULT_POOLS or {cidr}")

    def _without_pool(self, family: Family, pool: GivenPool, cidr: str) -> bool:
        """Details of a pool that nobody wants."""
        cause = cidr if pool.cidr.value == NO_POOL else "NO_DEFAULT_POOLS"
        if pool.cidr.value != NO_POOL and not self.settings.no_default_pools.value:
            return False
        for detail in _POOL_DETAILS:
            name = f"CALICO_IPV{family}POOL_{detail}"
            if name in self.given:
                self._warn(name, f"has no effect: {self._told(cause)} means that there is no such pool", "leave it out")
        return True

    def _size(self, family: Family, pool: GivenPool, cidr: str) -> None:
        network, size = pool.cidr.value, pool.block_size
        if network is None or isinstance(network, str) or network.prefixlen <= size.value:
            return
        block = f"CALICO_IPV{family}POOL_BLOCK_SIZE"
        told = f"/{size.value}" if size.is_default else self._told(block)
        why = f"the pool is smaller than one of its blocks, {told}"
        self._refuse(cidr, why, f"a larger pool, or {block}={network.prefixlen} or more")

    def backend(self) -> None:
        backend = self.settings.backend.value
        old, named = self.given.get("CALICO_NETWORKING"), self.given.get("CALICO_NETWORKING_BACKEND")
        if old and named and named.text.strip().lower() != backend:
            why = f"contradicts {self._told('CALICO_NETWORKING_BACKEND')}; the old form wins, as in Calico: {backend}"
            self._warn("CALICO_NETWORKING", why, "leave out CALICO_NETWORKING")
        source = "CALICO_NETWORKING" if old else "CALICO_NETWORKING_BACKEND"
        ipip = self.settings.pool4.ipip.value != "Never" and not self.settings.pool(4).disabled
        if backend == "vxlan" and ipip:
            why = f"contradicts {self._told(source)}: without BIRD nothing routes through IPIP tunnels"
            self._warn("CALICO_IPV4POOL_IPIP", why, "CALICO_IPV4POOL_VXLAN=Always, or CALICO_NETWORKING_BACKEND=bird")
        self._encapsulation(ipip)
        if backend == "none":
            for name in ("IP", "IP6", "IP_AUTODETECTION_METHOD", "IP6_AUTODETECTION_METHOD", "AS", "CALICO_ROUTER_ID"):
                if name in self.given:
                    why = f"has no effect: {self._told(source)} leaves addresses and BGP to others"
                    self._warn(name, why, "leave it out, or choose another backend")

    def _encapsulation(self, ipip: bool) -> None:
        vxlan = self.settings.pool4.vxlan.value != "Never" and not self.settings.pool(4).disabled
        for wanted, felix, pool in ((ipip, "FELIX_IPINIPENABLED", "IPIP"), (vxlan, "FELIX_VXLANENABLED", "VXLAN")):
            told = self.given.get(felix)
            if wanted and told and told.text.strip().lower() in FALSE:
                why = f"contradicts {self._told(f'CALICO_IPV4POOL_{pool}')}: Felix would set up no tunnel for the pool"
                self._warn(felix, why, "leave it out; Felix finds out from the pools")

    def addresses(self) -> None:
        if self.settings.backend.value == "none":
            return
        ip, ip6 = self.settings.ip.value, self.settings.ip6.value
        wanted6 = ip6 not in (None, "none") or self._was_refused("IP6")
        if ip == "none" and not wanted6:
            other = self._told("IP6") if "IP6" in self.given else "IP6 is unset"
            backend = self.settings.backend.value
            why = f"no address is looked for: {other}, and the backend {backend} needs one; only a registered one stays"
            self._warn("IP", why, "IP=autodetect, or IP6=autodetect, or CALICO_NETWORKING_BACKEND=none")
        for name, told in (("IP", ip), ("IP6", ip6)):
            method = f"{name}_AUTODETECTION_METHOD"
            if method in self.given and told != "autodetect" and not self._was_refused(name):
                self._unused_method(name, method, told)

    def _unused_method(self, name: str, method: str, told: str | None) -> None:
        if told is not None:
            self._warn(method, f"is not used: {self._told(name)} says which address it is", f"{name}=autodetect")
        elif name == "IP":
            why = "is used only as long as no address is registered: IP is unset, which keeps a registered one"
            self._warn(method, why, "set IP=autodetect, too")
        else:
            self._warn(method, "is not used: IP6 is unset, so that no address is looked for", "set IP6=autodetect, too")

    def ipv6(self) -> None:
        support = "FELIX_IPV6SUPPORT"
        if not self.settings.ipv6_support.value:
            asking = [("IP6", self.settings.ip6.value), ("CALICO_IPV6POOL_CIDR", self.settings.pool6.cidr.value)]
            for name, told in asking:
                if told not in (None, "none"):
                    why = (
                        f"contradicts {self._told(support)}: Felix would not program IPv6, and no default pool is made"
                    )
                    self._warn(name, why, f"{support}=true, or leave out {name}")
        only6 = self.settings.ip.value == "none" and self.settings.wants_address(6)
        if only6 and self.settings.backend.value == "bird" and "CALICO_ROUTER_ID" not in self.given:
            why = "leaves BGP no IPv4 address for its router id: a hash of the node's name is taken, Calico takes none"
            self._warn("IP", why, "set CALICO_ROUTER_ID=hash, too")

    def ports(self) -> None:
        settings = self.settings
        if not settings.health_enabled.value:
            why = "nothing answers probes: who asks for liveness or readiness takes this node for dead"
            self._warn("FELIX_HEALTHENABLED", why, "leave it out, or take the probes away as well")
            return
        same = settings.metrics_enabled.value and settings.health_port.value == settings.metrics_port.value
        if same and _may_meet(settings.health_host.value, settings.metrics_host.value):
            health, metrics = "FELIX_HEALTHPORT", "FELIX_PROMETHEUSMETRICSPORT"
            name, other = (health, metrics) if health in self.given else (metrics, health)
            why = f"is the port of both the health page and the metrics: {self._told(other)}"
            self._refuse(name, why, "two ports; 9099 and 9091 are the defaults")

    def datastore(self) -> None:
        for variable in DATASTORE:
            plain, calico = self.given.get(variable.name), self.given.get(f"CALICO_{variable.name}")
            if plain and calico and plain.text != calico.text:
                # The form with CALICO_ wins, but not out of the environment over a file that a person named.
                names = [variable.name, f"CALICO_{variable.name}"]
                weaker, counts = reversed(names) if _in_file(plain) and not _in_file(calico) else names
                self._warn(weaker, f"differs from {self._told(counts)}, which counts", "keep one of the two")
        endpoints, discovery = self._either("ETCD_ENDPOINTS"), self._either("ETCD_DISCOVERY_SRV")
        if endpoints and discovery:
            why = f"contradicts {self._told(endpoints)}: etcd's members are either listed or looked up"
            self._refuse(discovery, why, "leave out ETCD_DISCOVERY_SRV")
        for old in ("ETCD_AUTHORITY", "ETCD_SCHEME"):
            if old in self.given and not endpoints:
                why = "says nothing any more: where etcd is stands in ETCD_ENDPOINTS, which is unset"
                self._warn(old, why, "ETCD_ENDPOINTS=http://127.0.0.1:2379, for example")

    def _either(self, name: str) -> str | None:
        return next((each for each in (f"CALICO_{name}", name) if each in self.given), None)

    def _was_refused(self, name: str) -> bool:
        """Set, but not to anything: the reading has said so already."""
        return name in self.given and (self.settings.ip if name == "IP" else self.settings.ip6).value is None

    def _told(self, name: str) -> str:
        given = self.given.get(name)
        if given is None:
            return f"{name}={BY_NAME[name].default} (default)"
        return assigned(name, HIDDEN if BY_NAME[name].secret else shown(given.text), given.source)

    def _refuse(self, name: str, why: str, right: str) -> None:
        self.refused.append(self._finding(name, why, right))

    def _warn(self, name: str, why: str, right: str) -> None:
        self.warnings.append(self._finding(name, why, right))

    def _finding(self, name: str, why: str, right: str) -> Finding:
        given = self.given.get(name) or Given(BY_NAME[name].default, "default")
        return finding(name, given, why, right, secret=BY_NAME[name].secret)


def _in_file(given: Given) -> bool:
    return given.source.startswith(("file ", "flag "))


def _may_meet(one: str, other: str) -> bool:
    """Whether two hosts may share an address. A name may stand for any, localhost for those of the loopback."""
    if one == other:
        return True
    addresses = []
    for host in (one, other):
        try:
            addresses.append(ip_address(host))
        except ValueError:
            if host != "localhost":
                return True
    if any(address.is_unspecified for address in addresses):
        return True
    return len(addresses) == 1 and addresses[0].is_loopback
