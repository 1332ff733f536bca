"""TRT2006: etcd's latency or changes of its leader make requests time out now and then."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Final

from tortie.doctor.causes.cause import HINT, LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.datastore.endpoint_evidence import configured, members, silent_members
from tortie.doctor.causes.datastore.etcd_evidence import (
    RESTLESS_TERM,
    Server,
    leaders_in_turn,
    servers_down,
    slow_disks,
    statuses,
)
from tortie.doctor.causes.shared import API_DEADLINE
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Event, LogLine
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

TIMED_OUT: Final = Sign("trt2006-timed-out", "etcdserver: request timed out")
LEADER_CHANGED: Final = Sign("trt2006-leader-changed", "etcdserver: leader changed")
TOO_LONG: Final = Sign("trt2006-too-long", "(apply request|read-only range request|request) … took too long")
TOOK_LONG: Final = Sign("trt2006-took-long", "apply request took too long")
SLOW_DISK: Final = Sign("trt2006-slow-disk", "leader is overloaded likely from slow disk")
HEARTBEAT: Final = Sign("trt2006-heartbeat", "failed to send out heartbeat on time")
SLOW_SYNC: Final = Sign("trt2006-slow-sync", "slow fdatasync")
SLOW_COMMIT: Final = Sign("trt2006-slow-commit", "waiting for ReadIndex response took too long")
VERIFYING: Final = Sign("trt2006-verifying", "Error verifying datastore: <rest>")
VERIFY: Final = Sign("trt2006-verify", "Failed to verify datastore")
REACH: Final = Sign("trt2006-reach", "Failed to reach apiserver")
CHECK: Final = Sign("trt2006-check", "[-]etcd failed")  # how the API server's own health check says it
ELECTED: Final = Sign("trt2006-elected", "elected leader <leader> at term <n>")
OWN: Final = (TIMED_OUT, LEADER_CHANGED)
DISK: Final = (SLOW_DISK, SLOW_SYNC, TOO_LONG, TOOK_LONG, HEARTBEAT, SLOW_COMMIT)
APART_S: Final = 60.0
LONG_AGO_S: Final = 12 * 3600.0
OFTEN: Final = 5  # restarts of a control-plane pod that lost its lease again and again
LARGE_MB: Final = 500.0  # a smaller store gains nothing from defragmentation
_QUOTED: Final = 80
_TOOK: Final = lazily(r"\btook(?: too long)?[\"': (]{1,6}(\d{1,4}(?:\.\d{1,12})?)s\b")


class Seen:
    """What etcd says of itself, what its clients say, and who restarted for it."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.own, self.disk = picture.hits(*OWN), picture.hits(*DISK)
        self.context, self.deadline = picture.hits(VERIFYING, VERIFY, REACH, CHECK), picture.hits(API_DEADLINE)
        self.members = picture.pods_now("etcd-")
        self.said = picture.said("etcd-disk-slow")
        self.told = picture.said("control-plane-restless")
        control = picture.pods_now("kube-controller-manager", "kube-scheduler", "etcd-", "kube-apiserver")
        self.restless = [pod for pod in control if (pod.restarts or 0) >= OFTEN]

    @cached_property
    def down(self) -> list[Server]:
        return servers_down(self.picture)

    @cached_property
    def late(self) -> list[Hit]:
        return [*(hit for hit in self.context if "deadline" in hit.text), *self.deadline]

    @cached_property
    def turns(self) -> list[Hit]:
        return leaders_in_turn(self.picture)

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        controllers = self.picture.pods_now("calico-kube-controllers")
        return culprits(
            Culprit("program", "etcd"),
            named("pod", *(pod.name for pod in self.members)),
            named("node", *(pod.node for pod in self.members)),
            named("address", *(pod.ip for pod in self.members)),
            named("pod", *(pod.name for pod in controllers)),
        )

    @property
    def evidence(self) -> tuple[object, ...]:
        said = (*self.disk[:2], *self.said[:1], *self.told[:1], *self.own[:2], *self.context[:2])
        return (*said, *self.members[:2], *self.restless[:2])

    def intermittent(self, hits: list[Hit]) -> bool:
        """It succeeds between: errors with pauses, rare events, or a program that is ready now."""
        lines = {line.place: line.time for line in self.picture.of(LogLine) if line.time is not None}
        times = sorted(time for hit in hits if (time := lines.get(hit.place)) is not None)
        paused = any(later - earlier > APART_S for earlier, later in pairwise(times))
        if paused or self.turns or any(map(_rare, self.picture.of(Event))):
            return True
        clients = self.picture.pods_now("calico-kube-controllers", "etcd-", "kube-apiserver")
        return any(pod.all_ready for pod in clients)

    @cached_property
    def never(self) -> bool:
        """Nothing succeeds: quorum is lost rather than slow."""
        dead = self.picture.hits("trt2001-no-leader", "trt2001-kubectl-refused")
        return bool(dead) and not self.intermittent(self.own)

    @property
    def once(self) -> bool:
        """It was said once, and everybody who asks etcd is ready and has never been restarted."""
        asking = self.picture.pods_now("calico-kube-controllers", "calico-node", "canal", "calico-typha")
        calm = bool(asking) and all(pod.all_ready and not pod.restarts for pod in asking)
        return calm and len({hit.place for hit in self.own}) == 1

    @property
    def long_ago(self) -> bool:
        """Only events of another day tell of it."""
        ages = {event.place: event.age_s for event in self.picture.of(Event) if event.age_s is not None}
        return all((ages.get(hit.place) or 0.0) > LONG_AGO_S for hit in self.own)


def _rare(event: Event) -> bool:
    return "etcdserver:" in event.message and (event.over_s or 0.0) / max(event.count, 1) > APART_S


def now_and_then(seen: Seen) -> Finding | None:
    if not seen.own or seen.never:
        return None
    return found(
        _strength(seen), seen.culprits, seen.evidence, quote=seen.own[0].text, pair=2 if len(seen.members) == 2 else "",
        restarts=max((pod.restarts or 0 for pod in seen.restless), default=""),
    )  # fmt: skip


def _strength(seen: Seen) -> float:
    if seen.down:
        return POSSIBLE
    if seen.long_ago and not seen.restless and not seen.disk:
        return HINT
    if seen.disk:
        return PROVEN
    if seen.once and not seen.restless:
        return POSSIBLE  # members are replaced and leaders change, also where nothing is slow
    return STRONG if seen.intermittent(seen.own) else LIKELY


def without_success(seen: Seen) -> Finding | None:
    return found(POSSIBLE, seen.culprits, seen.evidence) if seen.own else None


def slow_by_its_own_words(seen: Seen) -> Finding | None:
    if not seen.disk or not (seen.context or seen.deadline or seen.restless or seen.said or seen.told):
        return None
    strength = STRONG if len(seen.disk) > 1 else LIKELY
    return found(strength, seen.culprits, seen.evidence, quote=seen.disk[0].text[:_QUOTED])


def seconds_long(seen: Seen) -> Finding | None:
    """The disk needs a second and more, requests wait as long, and the cluster is told or seen to be unwell."""
    slow = [hit for hit in seen.disk if hit.sign == SLOW_SYNC.key]
    waited = [hit for hit in seen.disk if hit not in slow and _takes_seconds(hit.line)]
    sick = [pod for pod in seen.picture.agents_now() if not pod.all_ready]
    if not slow or not waited or not (sick or seen.picture.said("suffers")):
        return None
    return found(LIKELY, seen.culprits, (slow[0], *waited[:2], *sick[:1]), quote=slow[0].text[:_QUOTED])


def _takes_seconds(line: str) -> bool:
    took = _TOOK.search(line)
    return took is not None and float(took[1]) >= 1.0


def one_leader_after_the_other(seen: Seen) -> Finding | None:
    unhealthy = seen.picture.hits("trt2001-unhealthy")
    if not seen.turns or seen.down or not (seen.disk or unhealthy):
        return None
    evidence = (*seen.turns[:2], *seen.disk[:2], *unhealthy[:2], *seen.evidence)
    strength = PROVEN if seen.disk and unhealthy else STRONG
    return found(strength, seen.culprits, evidence, terms=len(seen.turns))


def busy_disk(seen: Seen) -> Finding | None:
    devices = slow_disks(seen.picture)
    if not seen.late or not devices or seen.down:
        return None
    first = devices[0]
    elections = [status for status in statuses(seen.picture) if (status.term or 0) >= RESTLESS_TERM]
    sure = elections or seen.intermittent(seen.late)
    blamed = culprits(named("disk", *(device.name for device in devices)), seen.culprits, named("node", first.host))
    return found(
        STRONG if sure else LIKELY, blamed, (*devices[:2], *elections[:1], *seen.late[:2]),
        disk=first.name, busy=first.value, waits=first.owner, terms=str(elections[0].term) if elections else "",
    )  # fmt: skip


def slow_without_harm(seen: Seen) -> Finding | None:
    return found(HINT, seen.culprits, seen.evidence, aside=True) if seen.disk else None


def late_answers(seen: Seen) -> Finding | None:
    if not seen.context or not (seen.deadline or seen.restless):
        return None
    evidence = (*seen.context[:2], *seen.deadline[:1], *seen.restless[:2])
    return found(POSSIBLE, seen.culprits, evidence)


def passes_its_check(seen: Seen) -> Finding | None:
    checks = seen.picture.commands("etcdctl", "check perf")
    passed = checks and any("PASS" in line for line in checks[-1].lines) and "FAIL" not in checks[-1].text
    return ruled_out((checks[-1].place(0),)) if passed else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    """Members that are static pods bring their own etcdctl; their pods are named after their machines."""
    pods = picture.pods_now("etcd-")
    pod = pods[0].name if pods else ""
    host = (pods[0].node or pod.removeprefix("etcd-")) if pods else next(iter(members(picture)), "")
    yield do("status-pod", pod=pod) if pods else do("status")
    if not pods and (silent := silent_members(picture)):  # kubelet starts those that are pods
        yield do("member", silent=silent[0])
    if not finding.value("disk"):
        yield do("measure", host=host)
    if _large(picture):
        yield _smaller(picture, pod)
    yield do("disk")
    if _even(picture, finding):
        yield do("third")


def _smaller(picture: Picture, pod: str) -> Do:
    """The API server compacts what is its own; nobody does where Calico keeps its data in etcd itself."""
    if pod:
        return do("defrag-pod", pod=pod)
    url = next((member.url for member in members(picture).values()), "")
    return do("compact" if configured(picture) or not picture.exhibits else "defrag", member=url)


def _large(picture: Picture) -> bool:
    """The store is worth it, or its size is not shown."""
    sizes = [status.megabytes for status in statuses(picture) if status.megabytes is not None]
    return not sizes or max(sizes) >= LARGE_MB


def _even(_picture: Picture, finding: Finding) -> bool:
    return bool(dict(finding.values).get("pair"))


CAUSE = Cause(
    module=__name__,
    id="etcd-slow",
    code="TRT2006",
    severity="medium",
    explains=("datastore-error", "controllers-failing", "others-failing", "restarts", "not-ready", "log-errors"),
    signs=(*OWN, *DISK, ELECTED, VERIFYING, VERIFY, REACH, CHECK, API_DEADLINE),
    look=Seen,
    rules=(
        now_and_then, without_success, slow_by_its_own_words, one_leader_after_the_other, busy_disk, seconds_long,
        slow_without_harm, late_answers, passes_its_check,
    ),
    fix=fix,
    prevents={"odd": _even},
    yields_to=("datastore-unreachable",),
)  # fmt: skip
