"""TRT0002: manifest and images come from different releases."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from tortie.doctor.causes.agent.speakers import of_another
from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Do, Finding, cannot_tell, do, found
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.datastore.api_errors import refusals
from tortie.doctor.causes.release.role_rights import Lack, lacking
from tortie.doctor.causes.shared import PROBE_FAILED
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.underlay.traffic_evidence import agents_fine, rows
from tortie.doctor.causes.ways import apply_release
from tortie.doctor.picture.picture import Picture, version_numbers
from tortie.doctor.signs import Hit, Sign

NO_FLAG = Sign("skew-no-flag", "flag provided but not defined: <flag>")
NO_ACCOUNT = Sign("skew-no-account", 'serviceaccounts "<account>" not found')
NO_ACCOUNT_POD = Sign(
    "skew-no-account-pod", 'error looking up service account <account>: serviceaccount "<name>" not found'
)
NO_SCRIPT = Sign("skew-no-script", "stat /install-cni.sh: no such file or directory")
NO_INSTALLER = Sign("skew-no-installer", "stat /opt/cni/bin/install: no such file or directory")
_IMAGE = (
    r"(?P<image>[\w./-]*calico[/-](?:cni|node|kube-controllers|typha|pod2daemon-flexvol|apiserver)"
    r":(?P<tag>v?\d+\.\d+[\w.-]*))"
)
# A screen may cut off what it says behind that, above all who is forbidden what.
RESYNC = Sign("skew-resync", "Failed to perform")
WAITING = Sign("skew-waiting", "Reporter is not ready.")
PARTS = ("node", "cni")  # they are shipped together and must have one tag


class Seen:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        hits = picture.hits(NO_ACCOUNT, NO_ACCOUNT_POD)
        self.accounts = [hit for hit in hits if "cali" in hit.text or "canal" in hit.text]
        self.images = _images(picture)
        self.names = [image for image, _, _ in self.images]
        self.facts = [fact for _, _, fact in self.images]

    @cached_property
    def lacks(self) -> list[Lack]:
        release = max((version_numbers(tag) for tag in self.tags), default=None) or self.picture.version("calico")
        return lacking(self.picture, release) if release else []

    @cached_property
    def tags(self) -> list[str]:
        return sorted({tag for _, tag, _ in self.images})

    def parts(self, count: int) -> tuple[Culprit, ...]:
        """The releases and the images."""
        return culprits(named("version", *self.tags), named("image", *self.names[:count]))

    @property
    def tag(self) -> str:
        return self.tags[0] if self.tags else ""


def unknown_flag(seen: Seen) -> Finding | None:
    flags = [
        hit for hit in seen.picture.hits(NO_FLAG) if not _typed(seen.picture, hit) and not of_another(seen.picture, hit)
    ]
    if not flags:
        return None
    flag, tags = flags[0].value("flag"), seen.tags or _written(seen.picture)
    who = culprits(
        Culprit("setting", flag), named("version", *tags), named("image", *seen.names[:3]),
        named("container", _container(seen.picture)),
    )  # fmt: skip
    strength = PROVEN if seen.images else STRONG
    return found(strength, who, (*flags[:1], *seen.facts[:2]), flag=flag, tags=tags, tag=tags[0] if tags else "")


def no_installer(seen: Seen) -> Finding | None:
    entry = seen.picture.hits(NO_SCRIPT, NO_INSTALLER)
    if not entry:
        return None
    who = culprits(Culprit("container", "install-cni"), seen.parts(2))
    return found(STRONG, who, (*entry[:1], *seen.facts[:2]), tag=seen.tag)


def no_account(seen: Seen) -> Finding | None:
    if not seen.accounts or agents_fine(seen.picture):  # an account that is made after its DaemonSet is found later
        return None
    account = seen.accounts[0].value("account") or seen.accounts[0].value("name")
    who = culprits(Culprit("user", account), Culprit("resource", "serviceaccount"), seen.parts(2))
    return found(STRONG, who, (*seen.accounts[:2], *seen.facts[:2]), account=account, tag=seen.tag)


def mixed(seen: Seen) -> Finding | None:
    tags = _mixed(seen.images)
    if not tags:
        return None
    strength = POSSIBLE if agents_fine(seen.picture) else LIKELY
    who = culprits(named("version", *tags), named("image", *seen.names[:4]))
    return found(strength, who, seen.facts[:3], tags=tags, tag=seen.tags[-1])


def old_role(seen: Seen) -> Finding | None:
    """The role is of an older release than the images; where a refusal is shown, that one says more."""
    if not seen.lacks or refusals(seen.picture) or agents_fine(seen.picture):
        return None
    stuck, failing = seen.picture.hits(RESYNC), seen.picture.hits(PROBE_FAILED)
    sick = [pod for pod in seen.picture.agents_now() if not pod.all_ready]
    stuck, suffers = stuck or seen.picture.hits(WAITING), stuck or failing or sick
    if not suffers:
        return None
    right = seen.lacks[0].right
    who = culprits(
        named("resource", *(lack.right.resource for lack in seen.lacks), right.group, "ClusterRole"), seen.parts(2)
    )
    strength = LIKELY if stuck or seen.tags else POSSIBLE
    if failing and len(stuck) > 1 and stuck[0].sign == RESYNC.key:
        strength = STRONG
    since = "v" + ".".join(map(str, right.since))
    return found(
        strength, who, (seen.lacks[0].place, *stuck[:1], *suffers[:1]),
        resource=right.resource, since=since, tag=seen.tag,
    )  # fmt: skip


def one_release(seen: Seen) -> Finding | None:
    return cannot_tell() if seen.images and len(seen.tags) == 1 else None


def _images(picture: Picture) -> list[tuple[str, str, object]]:
    """(image, tag, fact) of Calico's containers, each once."""
    seen: dict[str, tuple[str, str, object]] = {}
    for row in rows(picture, _IMAGE, needle=":v"):
        for match in row.match.re.finditer(row.match.string):
            seen.setdefault(match["image"], (match["image"], match["tag"], row))
    return list(seen.values())


def _written(picture: Picture) -> list[str]:
    """The tag that a command put into the manifest: the last one of a `sed` or `set image` on Calico's images."""
    typed = [
        e.command for e in picture.exhibits if "calico" in e.command and re.search(r"\bsed\b|set image", e.command)
    ]
    return [found for command in typed for found in re.findall(r":(v?\d+\.\d+\.\d+)\b", command)[-1:]][-1:]


def _mixed(images: list[tuple[str, str, object]]) -> list[str]:
    """Tags of node and cni when their minor releases differ and each has only one."""
    minors: dict[str, set[tuple[int, ...]]] = {}
    for image, tag, _ in images:
        part = image.rpartition(":")[0].replace("mirrored-calico-", "/").rpartition("/")[2].removeprefix("calico-")
        if part in PARTS:
            minors.setdefault(part, set()).add(version_numbers(tag)[:2])
    single = len(minors) == len(PARTS) and all(len(versions) == 1 for versions in minors.values())
    differ = single and len(set.union(*minors.values())) > 1
    return sorted({tag for _, tag, _ in images}) if differ else []


def _typed(picture: Picture, hit: Hit) -> bool:
    """The person gave the flag, to whatever program; no manifest did."""
    flag = hit.value("flag").strip("-")
    words = (word for exhibit in picture.exhibits for word in exhibit.command.split() if word.startswith("-"))
    return any(word.lstrip("-").partition("=")[0] == flag for word in words)


def _container(picture: Picture) -> str:
    """The container that dies of it, where a description or a log's command names it."""
    bad = [c.name for c in picture.containers() if c.exit_code not in (None, 0) or c.last_exit_code not in (None, 0)]
    return bad[0] if bad else "mount-bpffs" if picture.commands("mount-bpffs") else ""


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield do("look")
    yield do("release", tag=finding.value("tag"))
    yield from apply_release(picture)


CAUSE = Cause(
    module=__name__,
    id="manifest-image-skew",
    code="TRT0002",
    severity="high",
    explains=(
        "init-crash", "init-stuck", "crash-loop", "not-ready", "felix-not-ready", "restarts", "pod-not-created",
        "unauthorized", "log-errors", "sandbox-failed",
    ),
    signs=(NO_FLAG, NO_ACCOUNT, NO_ACCOUNT_POD, NO_SCRIPT, NO_INSTALLER, RESYNC, WAITING, PROBE_FAILED),
    look=Seen,
    rules=(unknown_flag, no_installer, no_account, mixed, old_role, one_release),
    fix=fix,
)  # fmt: skip
