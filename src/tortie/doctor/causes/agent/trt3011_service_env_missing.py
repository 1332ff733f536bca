"""TRT3011: the pod was created before kubelet knew the services, so its KUBERNETES_SERVICE_* variables are missing."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final

from tortie.doctor.causes.agent.speakers import of_another
from tortie.doctor.causes.agent.start_evidence import as_culprits, hosts_of, node_of, sick_names
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Finding, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.host_pods import is_agent
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Sign

MUST_BE_DEFINED: Final = Sign(
    "service-env-undefined", "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"
)
NOT_READ: Final = Sign("service-env-not-read", "services have not yet been read at least once")
# install-cni wrote what it found in them into the plugin's configuration: nothing.
NO_HOST: Final = Sign("service-env-no-host", 'Get (")?https:///api/<rest>')
NO_ROOT: Final = Sign("service-env-no-root", '"k8s_api_root": "https://:"')
WANT_UP: Final = Sign("service-env-want-up", "/etc/service/enabled/<service>: <list>, want up")
DEFINED: Final = Sign("service-env-defined", "KUBERNETES_SERVICE_HOST=<ip>")
VARIABLE: Final = "KUBERNETES_SERVICE_HOST"
_FAILED: Final = lazily(r"\s*(?:error|unable|the connection|OCI runtime|[EW]\d{4} )", re.I)  # exec itself


class Seen:
    """Whether the container has the variables, and what of it does not run."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        undefined = [hit for hit in picture.hits(MUST_BE_DEFINED) if "calicoctl" not in hit.command]
        self.undefined = [hit for hit in undefined if not of_another(picture, hit)]
        self.unread, self.down = picture.hits(NOT_READ), picture.hits(WANT_UP)
        self.written = picture.hits(NO_HOST, NO_ROOT)
        self.absent, self.asked = _absent(picture)

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        pods = [pod for place in self.asked for pod in _pods_asked(self.picture, place)]
        names = [*hosts_of(self.picture, *self.undefined[:2], *self.written[:2], *self.down[:2], *self.unread[:1])]
        return culprits(
            named("setting", VARIABLE, "KUBERNETES_SERVICE_PORT"),
            named("pod", *pods),
            as_culprits([*names, *sick_names(self.picture)]),
            named("program", *(hit.value("service") for hit in self.down[:2])),
        )

    def found(self, strength: float) -> Finding:
        evidence = (*self.unread[:1], *self.asked[:1], *self.undefined[:2], *self.written[:2], *self.down[:2])
        pods = [one.name for one in self.culprits if one.kind == "pod" and is_agent(one.name)]
        node = node_of(self.picture, self.culprits)
        return found(strength, self.culprits, evidence, agent_pod=next(iter(pods), ""), node=node)


def variables_there(seen: Seen) -> Finding | None:
    defined = seen.picture.hits(DEFINED)
    elsewhere = (seen.undefined or seen.written) and not seen.picture.commands(
        "env"
    )  # something else than the container printed them
    return ruled_out(defined[:1]) if defined and not seen.absent and not elsewhere else None


def variables_missing(seen: Seen) -> Finding | None:
    if seen.undefined or seen.written:
        strength = PROVEN if seen.absent or seen.unread or seen.down else STRONG
    elif seen.absent:
        strength = STRONG if seen.down or seen.unread else LIKELY
    elif seen.unread and seen.down:
        strength = LIKELY
    else:
        return None
    return seen.found(strength)


def bird_runs(seen: Seen) -> Finding | None:
    sessions = seen.picture.sessions()
    well = sessions and not seen.picture.sessions_down()
    return ruled_out(sessions[:1]) if seen.down and not seen.unread and well else None


def half_shown(seen: Seen) -> Finding | None:
    return seen.found(POSSIBLE) if seen.unread or seen.down else None


def _absent(picture: Picture) -> tuple[bool, list[Place]]:
    """Somebody asked the container for the variables, and the answer does not have them."""
    for exhibit in picture.exhibits:
        command = exhibit.command
        asked = "KUBERNETES" in command and (("env" in command and "exec" in command) or ".Config.Env" in command)
        if not asked or any(_FAILED.match(line) for line in exhibit.lines):  # nobody has looked
            continue
        if not any(f"{VARIABLE}=" in line for line in exhibit.lines):  # of several pods, the one without them
            return True, [exhibit.place(0)]
    return False, []


def _pods_asked(picture: Picture, place: Place) -> list[str]:
    asked = [exhibit.command.split() for exhibit in picture.exhibits if exhibit.place(0) == place]
    return [word for words in asked for word in words if word.startswith(("calico-node-", "canal-"))]


def _bird_not_watched(picture: Picture, finding: Finding) -> bool:
    """The probe that would have restarted such a pod is not there, as far as is shown."""
    del finding
    probe = picture.probe("liveness")
    return probe is None or "-bird-live" not in probe.action


CAUSE = Cause(
    module=__name__,
    id="service-env-missing",
    code="TRT3011",
    severity="medium",
    explains=("bird-not-ready", "bgp-down", "not-ready", "traffic-dead", "crash-loop", "log-errors", "sandbox-failed"),
    signs=(MUST_BE_DEFINED, NOT_READ, NO_HOST, NO_ROOT, WANT_UP, DEFINED),
    look=Seen,
    rules=(variables_there, variables_missing, bird_runs, half_shown),
    prevents={"live": _bird_not_watched},
)
