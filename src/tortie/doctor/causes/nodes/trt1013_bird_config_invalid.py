"""TRT1013: BIRD rejects the configuration that was rendered for it, so it never runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import culprits, named
from tortie.doctor.causes.nodes.bgp_evidence import agent_asked, node_at
from tortie.doctor.causes.steps import Step
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign

REFUSED: Final = Sign("trt1013-line", "<file>.cfg, line <n>: <rest>")
REFUSED_NEW: Final = Sign("trt1013-line-new", "/etc/calico/confd/config/<file>:<n>:<n_column> <rest>")
CHECK_FAILED: Final = Sign("trt1013-check", "Config check failed")
NO_BACKEND: Final = Sign("bgp-no-backend", "None of the BGP backend processes \\(BIRD or GoBGP\\) are running")
NOT_YET: Final = Sign("trt1013-not-yet", "Unable to open configuration file <rest>")
TEMPLATES: Final = Sign("trt1013-templates", "/etc/calico/confd/templates")
NO_ROUTER_ID: Final = Sign("trt1013-no-router-id", "router id ;")
FOLDER: Final = "/etc/calico/confd/config/"
BEFORE, AFTER = 5, 3  # lines shown around the one that is refused


class Seen:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        hits = picture.hits(REFUSED, REFUSED_NEW)
        self.lines = [hit for hit in hits if "bird" in hit.value("file") or "bird" in hit.line]
        self.checks = picture.hits(CHECK_FAILED)
        self.stopped = picture.hits(NO_BACKEND)


def line_refused(seen: Seen) -> Finding | None:
    if not seen.lines:
        return None
    first = seen.lines[0]
    name, number = first.value("file").rpartition("/")[2], first.value("n")
    file = name if name.endswith(".cfg") else f"{name}.cfg"
    reason = first.value("rest").strip()
    node = node_at(seen.picture, first.place, first.host)
    who = culprits(named("file", file), named("message", f"line {number}", reason), named("node", node),
                   named("file", FOLDER + file))  # fmt: skip
    strength = PROVEN if len(seen.lines) > 1 or seen.stopped or seen.checks else STRONG
    evidence = (*seen.lines[:2], *seen.checks[:1], *seen.stopped[:1])
    return found(strength, who, evidence, file=file, line=number, reason=reason, node=node, path=FOLDER + file)


def check_failed(seen: Seen) -> Finding | None:
    if not seen.checks:
        return None
    evidence = (*seen.checks[:2], *seen.stopped[:1])
    return found(STRONG if seen.stopped else POSSIBLE, named("file", "bird.cfg"), evidence)


def bird_runs(seen: Seen) -> Finding | None:
    sessions = seen.picture.sessions()
    return ruled_out(sessions[:1]) if sessions else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    line, pod = finding.value("line"), agent_asked(picture, finding.evidence)
    if line.isdecimal():
        yield do("read-line", first=max(1, int(line) - BEFORE), last=int(line) + AFTER, agent_pod=pod)
    else:
        yield do("check", agent_pod=pod)
    if _without_router_id(picture):
        yield from ways.set_agent_env(picture, "CALICO_ROUTER_ID", "hash")
    elif picture.hits(TEMPLATES):
        yield do("template")
    else:
        yield do("find")
        yield do("correct")


def _without_router_id(picture: Picture) -> bool:
    """An IPv6-only host has no address to take the router id from."""
    ips = picture.internal_ips().values()
    return bool(picture.hits(NO_ROUTER_ID)) or (bool(ips) and all(":" in ip for ip in ips))


CAUSE = Cause(
    module=__name__,
    id="bird-config-invalid",
    code="TRT1013",
    severity="medium",
    explains=("bgp-down", "bird-not-ready", "not-ready", "traffic-dead"),
    signs=(REFUSED, REFUSED_NEW, CHECK_FAILED, NO_BACKEND, NOT_YET, TEMPLATES, NO_ROUTER_ID),
    look=Seen,
    rules=(line_refused, check_failed, bird_runs),
    fix=fix,
    prevents={
        "try-template": lambda picture, _: bool(picture.hits(TEMPLATES)),
        "one-change": lambda picture, _: not picture.hits(TEMPLATES),
    },
)
