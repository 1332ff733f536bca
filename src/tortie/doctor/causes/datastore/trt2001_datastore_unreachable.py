"""TRT2001: the etcd or API server that Calico is rightly pointed at does not answer at its real address."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import (
    HINT,
    LIKELY,
    POSSIBLE,
    PROVEN,
    STRONG,
    Cause,
    Do,
    Finding,
    cannot_tell,
    do,
    found,
    ruled_out,
)
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.datastore.api_evidence import (
    API_PORTS,
    COMMON_PORTS,
    ETCD_PORTS,
    VIP_SIGNS,
    Trouble,
    alive_otherwise,
    answered,
    direct_answers,
    kubectl_answers,
    kubernetes_endpoints,
    troubles,
    vip_troubles,
    vips,
)
from tortie.doctor.causes.datastore.api_trust import NO_SAN, UNKNOWN_CA, WRONG_NAME, refusals
from tortie.doctor.causes.datastore.endpoint_evidence import configured, healthy_endpoints, misfit
from tortie.doctor.causes.datastore.etcd_evidence import Server, brief_elections, leaders_in_turn, servers_down
from tortie.doctor.picture.facts import Ping, Pod, PortTest, Unit
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.service_addresses import service_addresses
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

UNAVAILABLE: Final = Sign("trt2001-unavailable", "etcd cluster is unavailable or misconfigured")
RETRY: Final = Sign("trt2001-retry", "Hit error connecting to datastore - retry")
INITIALISE: Final = Sign("trt2001-initialise", "Failed to initialize Calico datastore")
SKIPPING: Final = Sign("trt2001-skipping", "Skipping datastore connection test")
KUBECTL_REFUSED: Final = Sign("trt2001-kubectl-refused", "The connection to the server <server> was refused")
UNHEALTHY: Final = Sign("trt2001-unhealthy", "is unhealthy: failed to (commit proposal|connect)")
UNREACHABLE_MEMBER: Final = Sign("trt2001-unreachable-member", "failed to check the health of member <member>")
NO_LEADER: Final = Sign("trt2001-no-leader", "etcdserver: no leader")
MAY_BE_UNHEALTHY: Final = Sign("trt2001-may-be-unhealthy", "cluster may be unhealthy: failed to list members")
ANSWERED: Final = ("x509", "Unauthorized", "forbidden", "lookup ", "proxyconnect")  # answered, or never asked
NO_KUBECONFIG: Final = "localhost:8080"  # whom kubectl asks where nobody told it about a cluster
_ELSEWHERE: Final = ("image", "pull", "registry", "/v2/", "webhook")  # whose servers listen at such ports, too
_SERVER: Final = Words("The API server", "API server")


class Seen:
    """Who asked etcd or the API server at a real address, and what came of it."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.real = _real(picture)
        hits = picture.hits(UNAVAILABLE, RETRY, INITIALISE)
        self.own = [hit for hit in hits if not any(word in hit.line for word in ANSWERED)]
        members = picture.hits(UNHEALTHY, UNREACHABLE_MEMBER, NO_LEADER, MAY_BE_UNHEALTHY)
        members = [hit for hit in members if hit.place not in brief_elections(picture)]
        refused = [hit for hit in picture.hits(KUBECTL_REFUSED) if hit.value("server") != NO_KUBECONFIG]
        refused = [hit for hit in refused if not _answered_since(picture, hit)]
        self.health = [*members, *refused]
        self.down = servers_down(picture)
        self.tested = [trouble for trouble in self.real if trouble.tried]
        self.said = picture.said("etcd-down")
        self.addresses = list(dict.fromkeys(trouble.address for trouble in self.real))

    @cached_property
    def dead(self) -> list[Ping]:
        return [ping for ping in self.picture.of(Ping) if not ping.ok and ping.address in self.addresses]

    @cached_property
    def vip(self) -> list[Trouble]:
        return vip_troubles(self.picture)

    @cached_property
    def etcd(self) -> bool:
        named_so = "".join((*(hit.text for hit in self.own), *(each.name for each in self.down)))
        return "etcd" in named_so or any(trouble.port in ETCD_PORTS for trouble in self.real)

    @cached_property
    def api_only(self) -> bool:
        return bool(self.real) and all(trouble.port in API_PORTS for trouble in self.real)

    @property
    def dropped(self) -> bool:
        return all(trouble.how != "refused" for trouble in self.real)

    @cached_property
    def servers(self) -> list[str]:
        return [server for hit in self.health if (server := hit.value("server") or hit.value("member"))]

    @cached_property
    def shown(self) -> tuple[str, ...]:
        sockets = list(dict.fromkeys(f"{trouble.address}:{trouble.port}" for trouble in self.real))
        return tuple(sockets[:3] or [each.name for each in self.down[:3]] or self.servers[:2])

    @cached_property
    def server(self) -> str:
        """The machine to look at first."""
        asked = [t.host if t.address.startswith("127.") else t.address for t in self.real]
        hosts = [each.node if isinstance(each, Pod) else each.host for each in self.down]
        sockets = [server.partition("://")[2] or server for server in self.servers]
        known = (*asked, *hosts, *(socket.rpartition(":")[0] for socket in sockets))
        return next(filter(None, known), "")

    @property
    def unit(self) -> str:
        units = (each.name.removesuffix(".service") for each in self.down if isinstance(each, Unit))
        return next(units, "")

    @property
    def endpoints(self) -> str:
        """All of etcd that were configured, else those that were asked."""
        asked = (f"{trouble.address}:{trouble.port}" for trouble in self.real if trouble.port in ETCD_PORTS)
        return ",".join(configured(self.picture) or dict.fromkeys(asked))


def _real(picture: Picture) -> list[Trouble]:
    known = vips(picture)
    asked = [t for t in troubles(picture) if t.port in (*ETCD_PORTS, *API_PORTS) and t.address not in known]
    known_as = {endpoint.address for endpoint in kubernetes_endpoints(picture)}
    own = [trouble for trouble in asked if trouble.address in known_as or not _of_others(trouble)]
    return own if configured(picture) else [trouble for trouble in own if not _not_calicos(picture, trouble)]


def _not_calicos(picture: Picture, trouble: Trouble) -> bool:
    """etcd behind the API server, asked from another machine than its own: it need not listen to anybody there."""
    by_api = vip_troubles(picture) or picture.value("DATASTORE_TYPE") == "kubernetes"
    elsewhere = bool(trouble.host) and picture.owner_of(trouble.address) != trouble.host
    return bool(by_api) and trouble.tried and trouble.port in ETCD_PORTS and elsewhere


def _answered_since(picture: Picture, hit: Hit) -> bool:
    """kubectl was refused and served later on, with every agent ready: the server had only been restarted."""
    agents = [pod for pod in picture.agents_now() if pod.place.source == hit.place.source]
    return bool(agents) and all(pod.all_ready and pod.place.first > hit.place.first for pod in agents)


def _of_others(trouble: Trouble) -> bool:
    """A balancer on the own host, the own host's network, or another server at a port that many use."""
    if trouble.address.startswith("127."):
        return trouble.port not in ETCD_PORTS or trouble.own_host_only
    line = trouble.line.lower()
    if trouble.port not in COMMON_PORTS:
        return False
    return any(word in line for word in _ELSEWHERE) or "/api" not in line


def answers_directly(seen: Seen) -> Finding | None:
    """A trial of an address in question that succeeded; from the server itself it says nothing about the path."""
    asked = {(trouble.address, trouble.port) for trouble in seen.real}

    def from_elsewhere(test: PortTest) -> bool:
        return seen.picture.owner_of(test.address) != (test.host or "-")

    tests = [test for test in seen.picture.of(PortTest) if (test.address, test.port) in asked and answered(test)]
    good = next(filter(from_elsewhere, tests), None)
    return ruled_out((good,), address=good.address, port=good.port) if good else None


def configured_elsewhere(seen: Seen) -> Finding | None:
    wrong = misfit(seen.picture)
    return ruled_out(wrong) if wrong else None


def balancer_gone(seen: Seen) -> Finding | None:
    """One address is asked that no node has, and that is gone; the servers behind it answer."""
    gone = [ping.address for ping in seen.dead if not seen.picture.owner_of(ping.address)]
    apart = gone and seen.addresses == gone[:1] and gone[0] not in _masters(seen.picture)
    alive = direct_answers(seen.picture) if apart and seen.api_only else []
    if not alive or not seen.own:
        return None
    blamed = culprits(named("address", gone[0]), Culprit("program", "kube-apiserver"))
    evidence = (*seen.dead[:1], *seen.real[:2], *alive[:1], *seen.own[:1])
    return found(STRONG, blamed, evidence, address=gone[0], other=alive[0].address)


def other_server_answers(seen: Seen) -> Finding | None:
    alive = direct_answers(seen.picture)
    return ruled_out(alive[:1], address=alive[0].address) if alive and seen.api_only else None


def tls_fails(seen: Seen) -> Finding | None:
    refused = refusals(seen.picture, NO_SAN, UNKNOWN_CA, WRONG_NAME)
    return ruled_out((refused[0].hit,)) if refused and not seen.real else None


def no_answer(seen: Seen) -> Finding | None:
    if not (seen.real or seen.health or (seen.down and seen.own)):
        return None
    program = Culprit("program", "etcd" if seen.etcd else "kube-apiserver")
    blamed = culprits(
        named("address", *seen.addresses),
        (_culprit(each) for each in seen.down),
        named("address", *seen.servers),
        program,
        named("port", *dict.fromkeys(f"{trouble.port}/tcp" for trouble in seen.real)),
        named("address", *configured(seen.picture)),
    )
    proof = [*seen.down, *seen.health, *seen.tested, *seen.dead, *seen.said]
    return found(
        _strength(seen), blamed, (*proof[:4], *seen.real[:2], *seen.own[:2]),
        server_kind="etcd" if seen.etcd else _SERVER, shown=seen.shown, store=program.name, server=seen.server,
        port=str(seen.real[0].port) if seen.real else "2379" if seen.etcd else "6443", unit=seen.unit,
        endpoints=seen.endpoints, cut="yes" if seen.real and seen.dropped and not seen.down else "",
        vip=next(iter(vips(seen.picture)), ""),
    )  # fmt: skip


def service_address_only(seen: Seen) -> Finding | None:
    working = kubectl_answers(seen.picture) if seen.vip else None
    return ruled_out((working.place(0), seen.vip[0]), address=seen.vip[0].address) if working else None


def not_asked_directly(seen: Seen) -> Finding | None:
    if not seen.vip and not seen.own:
        return None
    vip = seen.vip[0].address if seen.vip else ""
    real = [endpoint.address for endpoint in kubernetes_endpoints(seen.picture)] or _masters(seen.picture)
    strength = POSSIBLE if seen.own else HINT
    evidence = (*seen.vip[:1], *seen.own[:2])
    return found(strength, named("address", vip), evidence, vip=vip, server=real[0] if real else "", port="6443")


def log_ends(seen: Seen) -> Finding | None:
    return cannot_tell() if seen.picture.hits(SKIPPING) and not seen.picture.agents_now() else None


def _strength(seen: Seen) -> float:
    limit = POSSIBLE if _served_otherwise(seen) else PROVEN
    if seen.real and (seen.down or seen.health) and seen.tested:
        return min(limit, PROVEN)
    if seen.down or (seen.real and (seen.health or seen.tested or seen.dead or seen.said)):
        return min(limit, STRONG)
    return min(limit, LIKELY if seen.health else POSSIBLE)


def _served_otherwise(seen: Seen) -> bool:
    """Some answer, or they do so now and then, or the machine is there: a path, not the server."""
    in_turn = leaders_in_turn(seen.picture) and any(trouble.how != "refused" for trouble in seen.real)
    if healthy_endpoints(seen.picture) or in_turn:
        return True
    if seen.real and all(trouble.from_pod for trouble in seen.real):
        return True  # a pod's path may be broken elsewhere
    if any(address in service_addresses(seen.picture) for address in seen.addresses):
        return True  # kube-proxy takes what is sent there; the server never hears of it
    if not seen.api_only or seen.down or seen.health:
        return False
    there = seen.dropped and alive_otherwise(seen.picture, set(seen.addresses))
    return bool(kubectl_answers(seen.picture) or there)


def _culprit(server: Server) -> Culprit:
    if isinstance(server, Pod):
        return Culprit("pod", server.name)
    return Culprit("unit" if isinstance(server, Unit) else "container", server.name)


def _masters(picture: Picture) -> list[str]:
    """Where API servers run."""
    pods = [pod.ip or pod.host_ip or pod.node for pod in picture.pods_now("kube-apiserver")]
    roles = ("master", "control-plane")
    nodes = [node.internal_ip for node in picture.nodes_now().values() if any(role in node.roles for role in roles)]
    return [each for each in (*pods, *nodes) if each]


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    if finding.rule == "balancer-gone":
        yield do("balancer")
        yield do("stuck")
        return
    general = not finding.values
    etcd = _is_etcd(picture, finding)
    if finding.rule == "not-asked-directly":
        yield do("ask-directly")
        return
    if finding.value("cut"):
        yield do("path")
    if etcd or general:
        yield do("members")
    yield do("look-etcd" if etcd or general else "look-api")
    if finding.value("unit") or general:
        yield do("start-unit", unit=finding.value("unit", "etcd"))
    if not finding.value("unit"):
        yield do("repair-pod")
    yield do("stuck")


def _is_etcd(_picture: Picture, finding: Finding) -> bool:
    return finding.value("store") == "etcd"


CAUSE = Cause(
    module=__name__,
    id="datastore-unreachable",
    code="TRT2001",
    severity="high",
    explains=(
        "api-unreachable", "datastore-error", "crash-loop", "controllers-failing", "start-terminated", "init-stuck",
    ),
    signs=(
        *VIP_SIGNS, UNAVAILABLE, RETRY, INITIALISE, SKIPPING, KUBECTL_REFUSED, UNHEALTHY, UNREACHABLE_MEMBER,
        NO_LEADER, MAY_BE_UNHEALTHY, NO_SAN, UNKNOWN_CA, WRONG_NAME,
    ),
    look=Seen,
    rules=(
        answers_directly, configured_elsewhere, balancer_gone, other_server_answers, tls_fails, no_answer,
        service_address_only, not_asked_directly, log_ends,
    ),
    fix=fix,
    prevents={"members": _is_etcd},
    yields_to=("datastore-endpoint-wrong", "datastore-tls-invalid", "clock-skew", "policy-blocks-host"),
)  # fmt: skip
