"""TRT2002: the address list or scheme handed to Calico is not where the datastore is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.datastore.api_evidence import VIP_SIGNS, Trouble
from tortie.doctor.causes.datastore.endpoint_evidence import (
    ENDPOINTS,
    HEALTHY,
    URL,
    asked_beside,
    configured,
    elsewhere,
    endpoint_settings,
    etcd_troubles,
    healthy_endpoints,
    members,
    mismatches,
    schemeless,
    strangers,
    two_answers,
    value_of,
)
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.ways import restart_agent, set_config_map
from tortie.doctor.picture.facts import Pod, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

NO_ACCESS: Final = Sign("trt2002-no-access", "Unable to access datastore to query node configuration")
PLAIN_SERVER: Final = Sign("trt2002-plain-server", "server gave HTTP response to HTTPS client")
PLAIN_RECORD: Final = Sign("trt2002-plain-record", "first record does not look like a TLS handshake")
TLS_SERVER: Final = Sign("trt2002-tls-server", "malformed HTTP response")
_UNFILLED: Final = ("#ETCD_ENDPOINTS#", "__ETCD_ENDPOINTS__", "{{", "${")
RETRY: Final = Sign("trt2002-retry", "Hit error connecting to datastore - retry")
INITIALISE: Final = Sign("trt2002-initialise", "Failed to initialize Calico datastore")
MISSING_SCHEME: Final = Sign("trt2002-missing-scheme", "unsupported protocol scheme")
SETTING: Final = Culprit("setting", "etcd_endpoints")
_SCHEMES: Final = {PLAIN_SERVER.key: "http", TLS_SERVER.key: "https"}  # what the server speaks
_SHOWN: Final = 5


class Seen:
    """What Calico is told, where etcd is, and who asked in vain."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.settings = endpoint_settings(picture)
        self.asked = configured(picture)
        self.health = healthy_endpoints(picture)
        self.members = members(picture)
        self.symptoms = picture.hits(NO_ACCESS, MISSING_SCHEME)
        self.moved = picture.said("etcd-moved")
        self.tail = (*self.symptoms[:2], *self.health[:1])

    @cached_property
    def failing(self) -> list[Trouble]:
        beside = asked_beside(self.picture)
        return [trouble for trouble in etcd_troubles(self.picture) if trouble.address not in beside]

    @cached_property
    def other_protocol(self) -> list[Hit]:
        hits = self.picture.hits(PLAIN_SERVER, PLAIN_RECORD, TLS_SERVER)
        return [hit for hit in hits if ":2379" in hit.line or "etcd" in hit.line]

    @property
    def told(self) -> tuple[Culprit, ...]:
        return named("address", *self.asked)

    @property
    def living(self) -> tuple[str, ...]:
        return tuple(self.members)[:_SHOWN]

    @property
    def right(self) -> str:
        """The members as Calico has to be told them."""
        return ",".join(member.url for member in self.members.values())


def no_scheme(seen: Seen) -> Finding | None:
    bare = schemeless(seen.picture)
    if not bare:
        return None
    value = value_of(bare[0])
    known = {f"{answer.host}:{answer.port}": answer.url for answer in seen.health}
    urls = [known.get(endpoint.strip(), "") for endpoint in value.split(",")]
    blamed = culprits(Culprit("setting", "ETCD_ENDPOINTS"), named("address", value))
    return found(
        PROVEN if seen.health else STRONG, blamed, (*bare[:1], *seen.tail), value=value,
        right=",".join(urls) if all(urls) else "", where=_where(bare[0]),
    )  # fmt: skip


def placeholder(seen: Seen) -> Finding | None:
    """An address is left out for privacy, a port never; whoever complains about the scheme has read the template."""
    marks = ("<ETCD_PORT>", *(_UNFILLED if seen.picture.hits(MISSING_SCHEME) else ()))
    template = [setting for setting in seen.settings if any(mark in value_of(setting) for mark in marks)]
    if not template:
        return None
    value = value_of(template[0])
    blamed = culprits(SETTING, named("address", value))
    evidence = (*template[:1], *seen.tail)
    return found(STRONG, blamed, evidence, value=value, right=seen.right, where=_where(template[0]))


def no_member(seen: Seen) -> Finding | None:
    unknown = strangers(seen.picture)
    if not unknown:
        return None
    first = unknown[0]
    blamed = culprits(
        named("address", first.address), SETTING, named("address", *(t.address for t in unknown)), seen.told
    )
    evidence = (*seen.settings[:1], *unknown[:2], seen.members[seen.living[0]], *seen.tail)
    return found(
        PROVEN if seen.settings else STRONG, blamed, evidence,
        address=first.address, port=first.port, members=seen.living, right=seen.right,
    )  # fmt: skip


def other_endpoint(seen: Seen) -> Finding | None:
    """The machine is right; scheme or port are not."""
    wrong = mismatches(seen.picture)
    if not wrong:
        return None
    first = wrong[0]
    dialled = first.shown if isinstance(first.shown, Trouble) else None
    blamed = culprits(
        Culprit("setting", "ETCD_ENDPOINTS"),
        seen.told,
        named("address", dialled.address if dialled else ""),
        named("port", f"{dialled.port}/tcp" if dialled else ""),
    )
    return found(
        STRONG, blamed, (first.shown, *seen.settings[:1], *seen.tail), used=first.used, answers=first.right.url,
        right=_corrected(seen, first.used, first.right.url),
    )  # fmt: skip


def other_protocol(seen: Seen) -> Finding | None:
    if not seen.other_protocol:
        return None
    hit = seen.other_protocol[0]
    blamed = culprits(Culprit("setting", "ETCD_ENDPOINTS"), seen.told)
    scheme = _SCHEMES.get(hit.sign, "")
    turned = [URL.sub(rf"{scheme}://\2:\3", endpoint) for endpoint in seen.asked] if scheme else []
    evidence = (hit, *seen.settings[:1], *seen.tail)
    return found(LIKELY, blamed, evidence, asked=tuple(seen.asked[:_SHOWN]), right=",".join(turned))


def outdated_hosts_file(seen: Seen) -> Finding | None:
    split = two_answers(seen.picture)
    if not split:
        return None
    stale = [trouble.address for trouble in etcd_troubles(seen.picture)]
    blamed = culprits(Culprit("file", "/etc/hosts"), named("address", *stale), seen.told, SETTING)
    return found(STRONG, blamed, (*split, *seen.settings[:1], *seen.tail))


def healthy_elsewhere(seen: Seen) -> Finding | None:
    if not seen.failing:
        return None
    first = seen.failing[0]
    told = {match[2] for endpoint in seen.asked if (match := URL.match(endpoint))}
    # Where Calico is told of those that answer, too, one of several members is down.
    others = any(answer.host != first.address and answer.host not in told for answer in seen.health)
    if not (seen.moved or seen.picture.said("etcd-health-ok") or others):
        return None
    blamed = culprits(named("address", first.address), SETTING, seen.told)
    evidence = (*seen.moved[:1], *seen.failing[:2], *seen.tail)
    return found(LIKELY, blamed, evidence, address=first.address, port=first.port, right=seen.right)


def retired_members(seen: Seen) -> Finding | None:
    """A single address may be a balancer before the members; a whole list is one of members that were."""
    apart = elsewhere(seen.picture)
    # Whoever only waits in vain may as well ask an etcd of its own that is down, beside the one that was listed.
    waits = seen.symptoms or (seen.picture.hits(RETRY, INITIALISE) if seen.moved else [])
    if not waits or not (len(apart) > 1 or (apart and seen.moved)):
        return None
    evidence = (*seen.settings[:1], seen.members[seen.living[0]], *seen.moved[:1], *waits[:1], *seen.tail)
    return found(
        STRONG,
        culprits(SETTING, seen.told),
        evidence,
        told=tuple(apart[:_SHOWN]),
        members=seen.living,
        right=seen.right,
    )


def living_members(seen: Seen) -> Finding | None:
    hosts = [match[2] for endpoint in seen.asked if (match := URL.match(endpoint))]
    fit = seen.members and seen.asked and all(host in seen.members for host in hosts)
    return ruled_out(seen.settings[:1]) if fit else None


def silent_endpoint(seen: Seen) -> Finding | None:
    if not seen.failing and not seen.symptoms:
        return None
    blamed = culprits(named("address", *(t.address for t in seen.failing[:2])), Culprit("setting", "ETCD_ENDPOINTS"))
    return found(POSSIBLE, blamed, (*seen.failing[:1], *seen.symptoms[:2]))


def _where(item: Setting | Hit) -> str:
    """In the environment itself, or in the ConfigMap that the environment is made of."""
    return "env" if isinstance(item, Setting) and item.scope == "env" else ""


def _corrected(seen: Seen, used: str, right: str) -> str:
    """The whole list with the wrong endpoint replaced; the list of members where nothing shows what is configured."""
    if used in seen.asked:
        return ",".join(right if endpoint == used else endpoint for endpoint in seen.asked)
    return right


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield do("members")
    if finding.rule == "outdated-hosts-file":
        yield do("hosts-file")
        yield from restart_agent(picture)
        return
    yield from _told_anew(picture, finding)


def _told_anew(picture: Picture, finding: Finding) -> Iterable[Do | Step]:
    in_cluster = bool(picture.commands("kubectl") or picture.of(Pod))
    by_hand = bool(picture.commands("docker") or picture.commands("systemctl", "calico"))
    if in_cluster or not by_hand:
        if finding.value("where") == "env":
            yield do("env")
        else:
            yield from set_config_map(picture, "etcd_endpoints", finding.value("right"))
        yield do("controllers")
    if not in_cluster:
        yield do("find-files")
        yield do("correct-files")


CAUSE = Cause(
    module=__name__,
    id="datastore-endpoint-wrong",
    code="TRT2002",
    severity="high",
    explains=(
        "datastore-error", "start-terminated", "crash-loop", "api-unreachable", "controllers-failing",
        "sandbox-failed", "pod-pending", "log-errors",
    ),
    signs=(
        *VIP_SIGNS, NO_ACCESS, HEALTHY, PLAIN_SERVER, PLAIN_RECORD, TLS_SERVER, MISSING_SCHEME, ENDPOINTS, RETRY,
        INITIALISE,
    ),
    look=Seen,
    rules=(
        no_scheme, placeholder, no_member, other_endpoint, other_protocol, outdated_hosts_file, healthy_elsewhere,
        retired_members, living_members, silent_endpoint,
    ),
    fix=fix,
)  # fmt: skip
