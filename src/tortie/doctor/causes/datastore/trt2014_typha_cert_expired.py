"""TRT2014: the certificates between Felix and Typha have expired."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.datastore.api_evidence import TYPHA_PORT, agents_well
from tortie.doctor.causes.datastore.api_trust import (
    AFTER,
    BAD_CERTIFICATE,
    BEFORE,
    CLOCK_SIGNS,
    EXPIRED,
    Refusal,
    command_of,
    disagreement,
    expired,
    refusals,
    unsynchronised,
)
from tortie.doctor.causes.datastore.trt2013_typha_unavailable import typha_troubles
from tortie.doctor.causes.shared import DIAL_FAILED
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.way_table import hands
from tortie.doctor.causes.ways import restart_agent
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Certificate
from tortie.doctor.picture.owner import owner
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign

SECRETS: Final = named("resource", "typha-certs", "node-certs")
_SECRET: Final = lazily(r"\bsecrets?[ /]([a-z0-9][a-z0-9.-]*)")


class Seen:
    """Certificates of Typha and its clients: refused, or shown as expired; and clocks that may be wrong."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.after, self.bad = self._refused(AFTER), self._refused(BAD_CERTIFICATE)
        self.late = [cert for cert in expired(picture) if _of_typha(picture, cert)]
        self.refused = self.after or self._refused(EXPIRED) or (self.bad if self.late else [])

    def _refused(self, sign: Sign) -> list[Refusal]:
        return [refusal for refusal in refusals(self.picture, sign) if refusal.server == "typha"]

    @cached_property
    def before(self) -> list[Refusal]:
        return self._refused(BEFORE)

    @property
    def doubt(self) -> bool:
        """A clock may be what is wrong."""
        return bool(unsynchronised(self.picture)) or disagreement(self.picture) is not None

    @property
    def secrets(self) -> tuple[str, ...]:
        """Those from which somebody showed an expired certificate."""
        commands = (command_of(self.picture, cert) for cert in self.late)
        return tuple(dict.fromkeys(name for command in commands for name in _SECRET.findall(command)))


def _of_typha(picture: Picture, cert: Certificate) -> bool:
    said = f"{cert.endpoint} {cert.subject} {' '.join(cert.names)} {command_of(picture, cert)}".lower()
    return "typha" in said or f":{TYPHA_PORT}" in said or "node-certs" in said


def not_yet_valid(seen: Seen) -> Finding | None:
    return ruled_out((seen.before[0].hit,)) if seen.before else None


def has_expired(seen: Seen) -> Finding | None:
    if not seen.refused and not seen.late:
        return None
    address = next((refusal.address for refusal in seen.refused if refusal.address), "")
    strength = PROVEN if seen.late and seen.refused else STRONG if seen.after else LIKELY
    if not seen.refused and agents_well(seen.picture):
        strength = POSSIBLE
    blamed = culprits(
        named("resource", *seen.secrets),
        SECRETS,
        Culprit("service", "calico-typha"),
        named("address", address, f"{address}:{TYPHA_PORT}" if address else ""),
        Culprit("port", f"{TYPHA_PORT}/tcp"),
        named("certificate", *(cert.endpoint for cert in seen.late)),
    )
    return found(
        POSSIBLE if seen.doubt and not seen.late else strength,
        blamed,
        (*seen.late[:2], *(refusal.hit for refusal in seen.refused[:2])),
        address=address,
        end=seen.after[0].hit.value("end") if seen.after else "",
        secret=next((name for name in seen.secrets if "typha" in name), "calico-typha-certs"),
    )


def client_refused(seen: Seen) -> Finding | None:
    blamed = culprits(SECRETS, Culprit("service", "calico-typha"))
    return found(POSSIBLE, blamed, (seen.bad[0].hit,)) if seen.bad else None


def cannot_connect(seen: Seen) -> Finding | None:
    failing = typha_troubles(seen.picture)
    return ruled_out(failing[:1]) if failing else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    """A manifest has no certificates for Typha: there somebody made them by hand."""
    if "operator" in hands(owner(picture)):
        yield do("look-operator")
        yield do("issue-operator")
        return
    if finding.value("address"):
        yield do("look")
    yield do("issue")
    yield do("replace")
    yield do("restart-typha")
    yield from restart_agent(picture)


CAUSE = Cause(
    module=__name__,
    id="typha-cert-expired",
    code="TRT2014",
    severity="high",
    explains=("felix-not-ready", "typha-down", "not-ready", "crash-loop", "restarts"),
    signs=(DIAL_FAILED, AFTER, BEFORE, EXPIRED, BAD_CERTIFICATE, *CLOCK_SIGNS),
    look=Seen,
    rules=(not_yet_valid, has_expired, client_refused, cannot_connect),
    fix=fix,
    yields_to=("clock-skew",),
)
