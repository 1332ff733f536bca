"""TRT5012: pods leave the cluster with their own addresses, to which nobody outside has a route back.

That natOutgoing is off is right where the network knows the pods' range. It is only a cause together with pods that do
not reach the outside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from ipaddress import ip_address
from typing import Final

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.datastore.api_evidence import Trouble, bpf_on, kubernetes_endpoints, vip_troubles, vips
from tortie.doctor.causes.ipam.bare_sources import bare_sources, pod_addresses, told
from tortie.doctor.causes.ipam.trial_outcomes import silent, worked
from tortie.doctor.causes.ipam.trt5011_bad_pool_annotation import shown_in
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.ways import patch_pool
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.addresses import inside
from tortie.doctor.picture.facts import Ping, Pod, Pool, PortTest, Setting, Statement
from tortie.doctor.picture.host_pods import on_host_network
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.places import exhibit_at
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.reading.inside_pods import UNNAMED
from tortie.doctor.signs import Sign

UPSTREAM: Final = Sign("nat-upstream", "read udp <ip_pod>:<port_pod>-><ip_server>:53: i/o timeout")
FIELD: Final = "natOutgoing"
_NAMES: Final = (FIELD, "CALICO_IPV4POOL_NAT_OUTGOING", "nat-outgoing")
_OFF: Final = ("false", "disabled", "0")
_MASQUERADED: Final = "cali40masq-ipam-pools"
_OUTSIDE: Final = lazily(
    r"internet|outside|external (?:hosts?|networks?|address|ips?|services?|world)|egress"
    r"|外网|公网|互联网|集群外|出网|上网",
    re.IGNORECASE,
)
_PODS: Final = lazily(r"\bpods?\b|containers?|workloads?|容器|业务", re.IGNORECASE)
_INSIDE: Final = (".svc", ".cluster.local", "localhost")
_SIX: Final = lazily(r"\bping6\b|\s-[a-zA-Z]{0,6}6[a-zA-Z]{0,6}(?=\s|$)|--ipv6\b|--inet6\b")
_FOUR: Final = lazily(r"\s-[a-zA-Z]{0,6}4[a-zA-Z]{0,6}(?=\s|$)|--ipv4\b")
_HIDDEN: Final = 3  # pods with an address outside of every pool; one may be left from a pool that was taken away


class Seen:
    """Pools with and without natOutgoing, and what pods and hosts reach outside of the cluster."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.pools = [pool for pool in picture.pools_now() if pool.cidr and not pool.disabled]
        trials: list[Ping | PortTest] = [*picture.of(Ping), *picture.of(PortTest)]
        outside = [trial for trial in trials if self._is_outside(trial.address)]
        self.bare = [one for one in bare_sources(picture) if self._is_outside(one.target)]
        seen_leaving = {one.target for one in self.bare}
        # What was captured on its way from a pod was tried in one, whatever the prompt says.
        self.from_pods = [
            one for one in outside if one.pod or (one.address in seen_leaving and not one.host and silent(one))
        ]
        self.from_hosts = [one for one in outside if one not in self.from_pods and not one.pod and worked(one)]
        dead = (one for one in picture.said("network-dead", "suffers", "complains"))
        self.said = [one for one in dead if _OUTSIDE.search(one.text) and _PODS.search(one.text)]
        self.lookups = [hit for hit in picture.hits(UPSTREAM) if self._is_outside(hit.value("ip_server"))]

    def _is_outside(self, address: str) -> bool:
        """Neither a pod nor a node nor a service; a name is outside unless it is one of the cluster's."""
        try:
            parsed = ip_address(address)
        except ValueError:
            return "." in address and not any(part in address for part in _INSIDE)
        known = {*self.picture.internal_ips().values(), *vips(self.picture)}
        of_a_pool = any(inside(address, pool.cidr) for pool in self.picture.pools_now())
        return not (parsed.is_loopback or address in known or of_a_pool)

    @cached_property
    def setting(self) -> Setting | None:
        """The field alone, where no pool was shown whole."""
        if any(pool.nat is not None for pool in self.pools):
            return None
        shown = [setting for name in _NAMES for setting in self.picture.settings(name)]
        # Felix keeps the pools with NAT in a set of the kernel's: an empty one says that there is none.
        empty = [setting for setting in self.picture.settings(_MASQUERADED, "ipset") if setting.value == "0"]
        return shown[-1] if shown else empty[-1] if empty else None

    @property
    def setting_off(self) -> bool:
        return self.setting is not None and self.setting.value.strip("\"'").lower() in _OFF

    def _key(self, trial: Ping | PortTest) -> tuple[str, int]:
        """What was tried, and by which family: a name may have addresses of both."""
        return trial.address, family(self.picture, trial)

    @cached_property
    def failed(self) -> list[Ping | PortTest]:
        """Pods' trials that got no answer at all, each address as it was last."""
        last = {self._key(trial): trial for trial in self.from_pods}
        return [trial for trial in last.values() if silent(trial)]

    @cached_property
    def worked(self) -> list[Ping | PortTest]:
        last = {self._key(trial): trial for trial in self.from_pods}
        return [trial for trial in last.values() if worked(trial)]

    @cached_property
    def both(self) -> list[Ping | PortTest]:
        """What a host reaches, and a pod did not."""
        tried = {self._key(trial) for trial in self.failed}
        return [trial for trial in self.from_hosts if self._key(trial) in tried]

    @cached_property
    def service(self) -> list[Trouble]:
        """eBPF leaves the pod's address as it is on its way to an API server outside of the pools."""
        ends = [end for end in kubernetes_endpoints(self.picture) if self._is_outside(end.address)]
        if bpf_on(self.picture) is None or not ends:
            return []
        return [trouble for trouble in vip_troubles(self.picture) if trouble.from_pod and trouble.how == "timeout"]

    @property
    def service_from_host(self) -> list[PortTest]:
        known = vips(self.picture)
        tests = [test for test in self.picture.of(PortTest) if test.address in known and not test.pod]
        return [test for test in tests if worked(test)]

    @cached_property
    def used(self) -> list[Pool]:
        """Pools whose pods were tried: by a pod's address, its annotation, its family; else all there are."""
        tried = {trial.pod for trial in self.failed}
        families = {family(self.picture, trial) for trial in self.failed} - {0}
        pools = [pool for pool in self.pools if not families or _version(pool) in families]
        addresses = [one.source for one in self.bare]
        if not addresses:
            addresses = [pod.ip for pod in self.picture.pods_now() if pod.name in tried and pod.ip]
            addresses += [hit.value("ip_pod") for hit in self.lookups]
            addresses += [] if addresses else self._own_addresses
        if addresses:
            return [pool for pool in pools if any(inside(address, pool.cidr) for address in addresses)]
        return [pool for pool in pools if pool.name in self._annotated] or pools

    @cached_property
    def _own_addresses(self) -> list[str]:
        """As the pods show them that were tried; a list of pods tells nothing of who tried."""
        listed = {pod.ip for pod in self.picture.pods_now()}
        return [address for address in pod_addresses(self.picture) if address not in listed]

    @cached_property
    def _annotated(self) -> set[str]:
        return {name for one in shown_in(self.picture) if one.key.startswith("ipv") for name in one.listed or ()}

    @cached_property
    def concerned(self) -> list[Pool]:
        """Of these pools those without NAT."""
        return [pool for pool in self.used if pool.nat is False]

    @cached_property
    def strangers(self) -> list[Pod]:
        """Pods with addresses outside of every pool, which Felix never masquerades."""
        hosts = set(self.picture.internal_ips().values())
        pods = [pod for pod in self.picture.pods_now() if pod.ip and pod.ip not in hosts and pod.status == "Running"]
        pods = [pod for pod in pods if not on_host_network(pod.name)]
        whole = self.picture.commands("calicoctl", "get", "ip") or self.picture.commands("kubectl", "get", "ippool")
        if not whole or not self.picture.pools_now():
            return []
        return [pod for pod in pods if not any(inside(pod.ip, pool.cidr) for pool in self.picture.pools_now())]

    @cached_property
    def host_fails(self) -> list[Ping | PortTest]:
        """What a pod did not reach, and a host did not either: then the way out is closed for all."""
        tried = {trial.address for trial in self.failed}
        reached = {trial.address for trial in self.from_hosts}
        trials: list[Ping | PortTest] = [*self.picture.of(Ping), *self.picture.of(PortTest)]
        others = [trial for trial in trials if not trial.pod and trial not in self.failed]
        hosts = [trial for trial in others if trial.address in tried and silent(trial)]
        return [trial for trial in hosts if trial.address not in reached]

    @property
    def elsewhere_dead(self) -> list[Statement]:
        """Pods do not even reach each other: then it is not the way out."""
        return self.picture.said("cross-node-dead", "ping-works-tcp-not")

    @cached_property
    def told(self) -> list[Statement]:
        return told(self.picture)

    @cached_property
    def suffered(self) -> list[Statement]:
        return self.picture.said("network-dead", "suffers", "complains")

    @property
    def symptoms(self) -> list[object]:
        seen_leaving = (*self.bare[:1], *self.told[:1]) if self.failed or self.suffered else ()
        return [*seen_leaving, *self.failed[:1], *self.both[:1], *self.service[:1], *self.lookups[:1], *self.said[:1]]

    def found(self, strength: float, evidence: tuple[object, ...]) -> Finding:
        pools = self.concerned or self.used
        name = next((pool.name for pool in pools if pool.name), "") or self._only_name()
        cidr = next((pool.cidr for pool in pools or self.pools), "")
        who = culprits(Culprit("setting", FIELD), named("pool", name), named("cidr", cidr))
        tried = self.failed[0] if self.failed else None
        return found(
            strength, who, (*evidence, *self.symptoms), pool=name, cidr=cidr,
            tried_in=tried.pod if tried and tried.pod != UNNAMED else "", outside=tried.address if tried else "",
        )  # fmt: skip

    def _only_name(self) -> str:
        names = {pool.name for pool in self.pools if pool.name}
        return names.pop() if len(names) == 1 else ""


def family(picture: Picture, trial: Ping | PortTest) -> int:
    """4 or 6, by the address or as the tool was told; 0 where nobody knows."""
    try:
        return ip_address(trial.address).version
    except ValueError:
        exhibit = exhibit_at(picture, trial.place)
        command = exhibit.command if exhibit else ""
        return 6 if _SIX.search(command) else 4 if _FOUR.search(command) else 0


def _version(pool: Pool) -> int:
    return 6 if ":" in pool.cidr else 4


def pods_reach_it(seen: Seen) -> Finding | None:
    return ruled_out(seen.worked[-1:]) if seen.worked and not seen.failed else None


def off(seen: Seen) -> Finding | None:
    if not seen.concerned and not seen.setting_off:
        return None
    shown = [_field(seen.picture, pool) for pool in seen.concerned[:1]]
    if seen.setting is not None:
        shown = [seen.setting.place]
    strength = _strength(seen)
    return seen.found(strength, tuple(shown)) if strength else None


def _field(picture: Picture, pool: Pool) -> Place:
    """The field's own line, where the pool is a document."""
    own = [setting for setting in picture.settings(FIELD, "ippool") if setting.owner == pool.name]
    return own[-1].place if own else pool.place


def _strength(seen: Seen) -> float:
    """By what is shown of the way out: a trial of both sides, of one, a sentence."""
    if (seen.elsewhere_dead or seen.host_fails) and not seen.both:
        return POSSIBLE if seen.symptoms else 0.0
    if seen.both or (seen.service and seen.service_from_host):
        return PROVEN
    leaves = seen.bare or seen.told
    if leaves and seen.failed:
        return PROVEN
    if (leaves and seen.suffered) or seen.failed or seen.service or (seen.lookups and seen.said):
        return STRONG
    return LIKELY if seen.said else POSSIBLE if seen.lookups else 0.0


def own_address(seen: Seen) -> Finding | None:
    """The pool is not shown with its field; the packet itself says that nobody translated it."""
    known = [pool for pool in seen.used if pool.nat is not None] or seen.setting
    if known or not seen.bare or seen.elsewhere_dead or not (seen.failed or seen.suffered):
        return None
    first = seen.bare[0]
    answer = seen.found(STRONG if seen.failed else LIKELY, (first,))
    more = (("source", first.source), ("target", first.target))
    return answer._replace(values=(*answer.values, *more))


def outside_of_pools(seen: Seen) -> Finding | None:
    """The pool of these pods is gone, and its NAT with it."""
    if len(seen.strangers) < _HIDDEN or not (seen.failed or seen.said):
        return None
    if seen.elsewhere_dead or seen.host_fails:
        return None
    tried = {trial.pod for trial in seen.failed}
    first = next((pod for pod in seen.strangers if pod.name in tried), seen.strangers[0])
    who = culprits(named("address", first.ip), named("pod", first.name), Culprit("setting", FIELD))
    evidence = (first, *seen.pools[:1], *seen.symptoms)
    return found(STRONG if seen.both else LIKELY, who, evidence, address=first.ip, lost=first.name)


def on(seen: Seen) -> Finding | None:
    setting_on = seen.setting is not None and not seen.setting_off
    on_here = [pool for pool in seen.used if pool.nat]
    if seen.concerned or not (on_here or setting_on):
        return None
    return ruled_out(on_here[:1] or (seen.setting,))


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield do("see")
    if finding.rule == "outside-of-pools":
        yield do("pool-again")
        return
    yield from patch_pool(picture, finding.value("pool"), FIELD, "true")
    yield do("route")


CAUSE = Cause(
    module=__name__,
    id="nat-outgoing-off",
    code="TRT5012",
    severity="medium",
    explains=("traffic-dead", "service-dead", "api-unreachable", "log-errors"),
    signs=(UPSTREAM,),
    look=Seen,
    rules=(pods_reach_it, off, own_address, outside_of_pools, on),
    fix=fix,
    yields_to=(
        "sysctl-forwarding-off", "firewalld-interference", "leftover-iptables", "cidr-overlap", "kube-proxy-down",
        "ebpf-misconfigured", "policy-blocks-host", "ipip-blocked-by-cloud", "vxlan-port-blocked",
    ),
)  # fmt: skip
