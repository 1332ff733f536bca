"""TRT6001: the token in the CNI plugin's kubeconfig is no longer accepted."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.cni.cni_evidence import (
    CONF_DIR,
    DIRECTORY_SIGNS,
    KUBECONFIG,
    kubeconfigs,
    node_of,
    runtime_conf_dirs,
)
from tortie.doctor.causes.cni.pods_served import served_since
from tortie.doctor.causes.cni.runtimes import restarted
from tortie.doctor.causes.cni.token_evidence import (
    DAY_S,
    MANAGE,
    REFRESHES,
    WROTE,
    clock_by_certificates,
    expiry,
    files_written,
    key_made,
    key_replaced,
    last_wrote,
    now,
    refused_at,
    unmanaged,
    unmonitored,
)
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.shared import FORBIDDEN_USER, UNAUTHORIZED
from tortie.doctor.causes.steps import Step
from tortie.doctor.picture.facts import LogLine
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.texts import Seconds, Text
from tortie.model.tuples import NamedTuple

REFRESH_FAILED: Final = Sign("cni-token-refresh-failed", "Failed to (create|update) CNI token")
EXPIRED: Final = Sign("cni-token-expired-text", "token has expired")
_AGENTS: Final = ("startup", "felix", "confd", "calico-node", "kube-controllers", "typha")
FOREIGN_KEY: Final = Sign("cni-token-foreign-key", "invalid bearer token…error in cryptographic primitive")
_FILE: Final = Culprit("file", f"{CONF_DIR}/{KUBECONFIG}")
_KEY: Final = Culprit("file", "sa.key")


class Reason(NamedTuple):
    """Why the token in the file is not a good one."""

    culprit: Culprit
    places: tuple[object, ...]
    text: Text
    sure: bool = False  # enough by itself


class Seen:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        refused = [hit for hit in picture.hits(UNAUTHORIZED) if "is forbidden" not in hit.line]
        # The agent has a token of its own: where that one is refused, the plugin's file is not the matter.
        agents = {line.place for line in picture.of(LogLine) if line.program in _AGENTS}
        self.refused = [hit for hit in refused if hit.place not in agents]
        self.forbidden = [hit for hit in picture.hits(FORBIDDEN_USER) if "kubeadm-config" not in hit.line]
        self.expiry, self.clock = expiry(picture), now(picture)
        known = self.expiry is not None and self.clock is not None
        # Without a clock it is at least as late as the last refusal; whether a token is good now that does not say.
        self.clock = self.clock or refused_at(picture, self.refused) or clock_by_certificates(picture)
        self.late = self.expiry is not None and self.clock is not None and self.clock.at > self.expiry.at
        self.valid = known and not self.late
        self.node = node_of(self.refused, picture)

    @cached_property
    def reasons(self) -> list[Reason]:
        reasons = (
            _unmanaged(self),
            _unmonitored(self),
            _old(self),
            _silent(self),
            *_other_key(self),
            _renewed(self),
            _told(self),
        )
        return [reason for reason in reasons if reason]

    @property
    def words(self) -> list[Text | str]:
        """The first three reasons, each once; what is not there is empty."""
        told: list[Text | str] = list(dict.fromkeys(reason.text for reason in self.reasons))
        return [*told, "", "", ""][:3]

    @property
    def culprits(self) -> tuple[Culprit, ...]:
        return culprits((reason.culprit for reason in self.reasons), _FILE, named("node", self.node))

    @property
    def evidence(self) -> list[object]:
        return [*(place for reason in self.reasons for place in reason.places), *self.refused[:2]]

    @cached_property
    def age(self) -> float:
        """How long ago the refresher last wrote the file; 0 where that is not known."""
        wrote = last_wrote(self.picture)
        return self.clock.at - wrote.at if self.clock and wrote else 0.0


def _unmanaged(seen: Seen) -> Reason | None:
    setting = unmanaged(seen.picture)
    return Reason(Culprit("setting", MANAGE), (setting,), Text(__name__, "word unmanaged"), True) if setting else None


def _unmonitored(seen: Seen) -> Reason | None:
    process = unmonitored(seen.picture)
    program = Culprit("program", "-monitor-token")
    return Reason(program, (process,), Text(__name__, "word unmonitored"), True) if process else None


def _old(seen: Seen) -> Reason | None:
    """The file is old, and nobody says that it was written since."""
    written = files_written(seen.picture)
    age = seen.clock.at - written[0].at if seen.clock and written else 0.0
    if age <= DAY_S or (seen.picture.hits(WROTE) and seen.age <= DAY_S):
        return None
    return Reason(_FILE, (written[0],), Text(__name__, "word old", (("age", Seconds(age)),)))


def _silent(seen: Seen) -> Reason | None:
    if seen.age <= DAY_S:
        return None
    return Reason(_FILE, (last_wrote(seen.picture),), Text(__name__, "word silent", (("age", Seconds(seen.age)),)))


def _other_key(seen: Seen) -> Iterator[Reason]:
    """Tokens of the old key are worth nothing, whatever their date."""
    if replaced := key_replaced(seen.picture):
        yield Reason(_KEY, replaced, Text(__name__, "word key-replaced"), True)
    elif made := key_made(seen.picture):
        yield Reason(_KEY, (made[0],), Text(__name__, "word key-made"), True)
    if foreign := seen.picture.hits(FOREIGN_KEY):
        yield Reason(_KEY, (foreign[-1],), Text(__name__, "word other-key"))


def _renewed(seen: Seen) -> Reason | None:
    """Who renews certificates by a recipe often renews the signing key, too; the plugin's file is from before that."""
    said = seen.picture.said("certs-renewed")
    if not said or key_made(seen.picture) or _old(seen) is None:
        return None
    return Reason(_FILE, (said[0],), Text(__name__, "word renewed"))


def _told(seen: Seen) -> Reason | None:
    hits = seen.picture.hits(REFRESH_FAILED, EXPIRED)
    return Reason(_FILE, (hits[0],), Text(__name__, "word told", (("message", hits[0].text),))) if hits else None


def still_valid(seen: Seen) -> Finding | None:
    return ruled_out((seen.expiry, seen.clock)) if seen.valid else None


def forbidden(seen: Seen) -> Finding | None:
    other = seen.forbidden and not seen.refused and not seen.late
    return ruled_out(seen.forbidden[:1]) if other else None


def served(seen: Seen) -> Finding | None:
    """A token that was refused, and that is not shown to be a bad one now."""
    running = [] if seen.late else served_since(seen.picture, seen.refused)
    return ruled_out(running[:2]) if running else None


def expired(seen: Seen) -> Finding | None:
    if not seen.late:
        return None
    evidence = (seen.expiry, *seen.evidence, seen.clock)
    strength = PROVEN if seen.refused else STRONG
    return found(
        strength, seen.culprits, evidence, say="expired-and-refused" if seen.refused else "expired",
        node=seen.node, reason=seen.words[0],
    )  # fmt: skip


def not_renewed(seen: Seen) -> Finding | None:
    """Refused, and there is a reason in this very file: not in another one that the runtime might read."""
    elsewhere = [directory for directory in runtime_conf_dirs(seen.picture) if directory.path != CONF_DIR]
    folders = {file.folder for file in kubeconfigs(seen.picture)}
    if not (seen.refused and seen.reasons) or elsewhere or len(folders) > 1:
        return None
    sure = any(reason.sure for reason in seen.reasons) or len(seen.reasons) > 1
    reason, second, third = seen.words
    return found(
        STRONG if sure else LIKELY, seen.culprits, seen.evidence, node=seen.node,
        reason=reason, second=second, third=third,
    )  # fmt: skip


def refused(seen: Seen) -> Finding | None:
    return found(POSSIBLE, seen.culprits, seen.evidence, node=seen.node) if seen.refused else None


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    if unmanaged(picture):  # the agents restart for it, and write the file
        yield from ways.set_agent_env(picture, MANAGE, "true")
    elif _key(picture, finding):
        yield do("other-key")
        yield from ways.restart_agent(picture)
    else:
        yield from restarted(picture, finding.value("node"))
    version = picture.version("calico")
    if version is None or version < REFRESHES:
        yield do("upgrade" if version else "upgrade-if-older")


def _key(picture: Picture, _finding: Finding) -> bool:
    return bool(key_replaced(picture) or key_made(picture) or picture.hits(FOREIGN_KEY))


CAUSE = Cause(
    module=__name__,
    id="cni-token-expired",
    code="TRT6001",
    severity="high",
    explains=("unauthorized", "sandbox-failed", "pod-pending", "terminating-stuck", "no-address", "log-errors"),
    signs=(UNAUTHORIZED, FORBIDDEN_USER, WROTE, REFRESH_FAILED, EXPIRED, FOREIGN_KEY, *DIRECTORY_SIGNS),
    look=Seen,
    rules=(still_valid, forbidden, served, expired, not_renewed, refused),
    fix=fix,
    prevents={"key": _key},
    yields_to=("clock-skew", "cni-conf-dir-mismatch"),
)
