"""TRT3002: the exec probe's own time limit is shorter than the check takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.agent.speakers import is_ours, of_another
from tortie.doctor.causes.agent.start_evidence import (
    START_SIGNS,
    as_culprits,
    hosts_of,
    kills,
    node_of,
    probe_failures,
    settled,
    sick_names,
)
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.kubelet.node_evidence import NODE_SIGNS, overload
from tortie.doctor.causes.surroundings import has_operator
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Probe
from tortie.doctor.picture.host_pods import is_agent
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.texts import Text

COMMAND_TIMED_OUT: Final = Sign("probe-timeout-command", "probe failed: command <list> timed out")
ERRORED: Final = Sign("probe-timeout-errored", "failed to exec in container: timeout <limit> exceeded")
# kubelet's own log; it names the pod on the same line.
LOGGED_OLD: Final = Sign("probe-timeout-logged-old", "failed \\(failure\\): command <list> timed out")
LOGGED: Final = Sign("probe-timeout-logged", 'probeResult="failure" output="command <list> timed out')
GENEROUS_S: Final = 10.0  # what manifests carry since v3.20; a check that misses this is not a matter of the limit
GENEROUS_SINCE: Final = (3, 20)
_SAID: Final = lazily(r"timeoutSeconds\W{0,3}(?: (?:is|to|was|=|set to|from \d+ to))*\W{0,3}(\d{1,3})\b")
ENFORCED: Final = (1, 20)  # kubelet ignored the limit of exec probes before
_REAL: Final = lazily(r"^real\s+(?:(\d+)m)?\s?([\d.]+)s?")


class Seen:
    """Probes that failed: those that gave no reason, and those of which kubelet says that they timed out."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.failures = [failure for failure in probe_failures(picture) if _of_agent(failure.hit)]
        told = [hit for hit in picture.hits(COMMAND_TIMED_OUT, ERRORED) if _of_agent(hit)]
        told += [hit for hit in picture.hits(LOGGED_OLD, LOGGED) if is_ours(hit.line)]
        self.named = [hit for hit in told if not of_another(picture, hit)]
        self.silent = [failure.hit for failure in self.failures if not failure.text]
        self.late = bool(self.named or self.silent)
        self.limit = _limit(picture)
        self.measured, self.where = _measured(picture)

    @cached_property
    def kubernetes(self) -> tuple[int, ...] | None:
        return self.picture.version("kubernetes") or self.picture.version("kubelet")

    @property
    def only_readiness(self) -> bool:
        return all("readiness" in hit.line.lower() for hit in self.silent)

    @property
    def slower(self) -> bool:
        return bool(self.limit and self.measured and self.measured > self.limit.timeout_s)

    def found(self, strength: float) -> Finding:
        hits = [*self.named[:2], *self.silent[:2], *(kills(self.picture)[:1] if self.late else ())]
        seconds = f"{self.limit.timeout_s:g}" if self.limit else "1"
        probes = [f"{self.limit.kind}Probe"] if self.limit else ["livenessProbe", "readinessProbe"]
        blamed = culprits(
            Culprit("setting", f"timeout={seconds}s"),
            as_culprits([*hosts_of(self.picture, *hits), *sick_names(self.picture)]),
            named("setting", *probes),
        )
        return found(
            strength, blamed, (self.limit, *self.where, *hits), say="slower" if self.measured else "late",
            seconds=seconds, measured=f"{self.measured:g}" if self.measured else "", node=node_of(self.picture, blamed),
            assumed="" if self.limit else Text(__name__, "word assumed"),
        )  # fmt: skip


def other_reason(seen: Seen) -> Finding | None:
    return ruled_out([seen.failures[0].hit]) if seen.failures and not seen.late else None


def measured_alone(seen: Seen) -> Finding | None:
    """No failure is shown; somebody saw the check take longer than it may."""
    strict = seen.limit and seen.limit.timeout_s < GENEROUS_S
    return seen.found(LIKELY) if not seen.late and seen.slower and strict else None


def agents_ready(seen: Seen) -> Finding | None:
    pods = settled(seen.picture) if seen.late else []
    return ruled_out(pods[:2]) if pods else None


def not_enforced(seen: Seen) -> Finding | None:
    old = seen.kubernetes and seen.kubernetes < ENFORCED
    return ruled_out(seen.silent[:1]) if seen.silent and not seen.named and old else None


def generous(seen: Seen) -> Finding | None:
    if seen.late and seen.limit and seen.limit.timeout_s >= GENEROUS_S:
        return ruled_out((seen.limit,), seconds=f"{seen.limit.timeout_s:g}")
    said = None if seen.limit else _said(seen.picture)
    if seen.late and said and said[0] >= GENEROUS_S:
        return ruled_out((said[1],), seconds=f"{said[0]:g}")
    return None


def host_starved(seen: Seen) -> Finding | None:
    return seen.found(POSSIBLE) if seen.late and overload(seen.picture) else None


def slower_than_allowed(seen: Seen) -> Finding | None:
    return seen.found(PROVEN) if seen.late and seen.slower else None


def limit_shown(seen: Seen) -> Finding | None:
    if not seen.late or not (seen.limit or seen.named):
        return None
    # Releases since then have a generous limit; whoever does not show it may have that.
    calico = seen.picture.version("calico")
    unknown = not seen.limit and not seen.measured and calico is not None and calico >= GENEROUS_SINCE
    return seen.found(POSSIBLE if unknown else STRONG)


def no_reason(seen: Seen) -> Finding | None:
    """A readiness probe restarts nothing: where containers crash beside it, the limit is only a guess."""
    if not seen.late:
        return None
    crashing = not seen.named and not kills(seen.picture) and seen.only_readiness and _crashes(seen.picture)
    return seen.found(LIKELY if _limit_expected(seen) and not crashing else POSSIBLE)


def _crashes(picture: Picture) -> bool:
    return any("CrashLoop" in pod.status or pod.status == "Error" for pod in picture.agents_now())


def _of_agent(hit: Hit) -> bool:
    """Another program's probe is another matter; a line that names nobody counts when the agent is what is shown."""
    other = re.search(r"\b(?:pod/)?((?:coredns|metrics-server|kube-proxy|etcd|kube-[a-z]+)-[a-z0-9-]+)", hit.line)
    return not other or is_agent(other[1])


def _limit(picture: Picture) -> Probe | None:
    """The strictest limit among the agent's exec probes."""
    probes = [probe for kind in ("liveness", "readiness") if (probe := picture.probe(kind))]
    probes = [probe for probe in probes if not probe.action.startswith("http")] or probes
    return min(probes, key=lambda probe: probe.timeout_s, default=None)


def _said(picture: Picture) -> tuple[float, Place] | None:
    """The limit as a person tells it: "timeoutSeconds is 10"."""
    for exhibit in picture.exhibits:
        if exhibit.prose and "timeoutSeconds" in exhibit.text:
            for index, line in enumerate(exhibit.lines):
                if told := _SAID.search(line):
                    return float(told[1]), exhibit.place(index)
    return None


def _limit_expected(seen: Seen) -> bool:
    """No probe is shown, and both releases are ones where the limit is 1 s and enforced."""
    calico = seen.picture.version("calico")
    if seen.picture.said("after-kubernetes-upgrade"):
        return True
    return bool(seen.kubernetes and seen.kubernetes >= ENFORCED and (calico is None or calico < (3, 20)))


def _measured(picture: Picture) -> tuple[float | None, list[Place]]:
    """How long somebody saw the check take, with `time`."""
    for exhibit in picture.exhibits:
        if "time " not in exhibit.command or not re.search(r"-(?:felix|bird)-(?:live|ready)", exhibit.command):
            continue
        for index, line in enumerate(exhibit.lines):
            if real := _REAL.match(line.strip()):
                return 60.0 * int(real[1] or 0) + float(real[2]), [exhibit.place(index)]
    return None, []


def fix(picture: Picture, finding: Finding) -> Iterator[Do]:
    del finding
    if has_operator(picture):
        yield do("operator")
    else:
        yield do("ten-seconds")
        yield do("manifest")


CAUSE = Cause(
    module=__name__,
    id="probe-timeout",
    code="TRT3002",
    severity="medium",
    explains=("restarts", "killed-by-liveness", "not-ready", "crash-loop"),
    signs=(COMMAND_TIMED_OUT, ERRORED, LOGGED_OLD, LOGGED, *START_SIGNS, *NODE_SIGNS),
    look=Seen,
    rules=(
        other_reason, measured_alone, agents_ready, not_enforced, generous, host_starved, slower_than_allowed,
        limit_shown, no_reason,
    ),
    fix=fix,
    yields_to=("node-overloaded", "cpu-throttled", "bird-overloaded"),
)  # fmt: skip
