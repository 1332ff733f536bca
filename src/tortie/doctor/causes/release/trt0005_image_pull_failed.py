"""TRT0005: an image cannot be pulled."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, STRONG, Cause, Do, Finding, do, found, ruled_out
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.release.pulls import failed_by_hand, told
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.ways import edit_agent
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Container, LogLine, Pod
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.texts import Text

FAILED = Sign("image-pull-failed", 'Failed to pull image "<image>": <rest>')
FAILED_CUT = Sign("image-pull-failed-cut", 'Failed to pull image "<image>"')
BACK_OFF = Sign("image-pull-back-off", 'Back-off pulling image "<image>"')
LIMIT = Sign("image-pull-limit", "You have reached your (unauthenticated )?pull rate limit")
PULL_ERROR = Sign("image-pull-error", 'failed to pull and unpack image "<image>"')
# kubelet's journal: `start failed in pod <pod>: ErrImagePull: rpc error: ...`, `with ErrImagePull: "rpc error: ..."`.
START = Sign("image-pull-start", "ErrImagePull: <rest>")
NO_NAME = Sign("image-pull-no-name", 'couldn\'t parse image (name|reference) "<image>": invalid reference format')
STATES = (
    "ErrImagePull", "ImagePullBackOff", "Init:ErrImagePull", "Init:ImagePullBackOff", "InvalidImageName",
    "Init:InvalidImageName",
)  # fmt: skip
# Images without which the network does not start.
NETWORK = ("calico", "tigera", "cni", "flannel", "pause", "typha", "pod2daemon", "flexvol", "tortie", "canal")
TOOLS = ("calico/ctl", "calicoctl")  # of people; nothing waits for them
UNREACHABLE = (
    "i/o timeout", "deadline exceeded", "connection refused", "no route to host", "client.timeout", "unreachable",
    "tls handshake timeout", "connection reset", "eof",
)  # fmt: skip
# What the registry says, and the word for it in the texts.
REASONS = (
    (("invalid reference format",), "spelling"),
    (("toomanyrequests", "429 too many", "rate limit"), "limit"),
    (("no such host", "server misbehaving"), "name"),
    (("x509", "certificate"), "certificate"),
    (("manifest unknown", "not found", "manifest for"), "tag"),
    (("unauthorized", "denied", "authentication required", "403 forbidden"), "credentials"),
    (UNREACHABLE, "unreachable"),
)
ARCHITECTURE = ("no matching manifest", "no match for platform")
SPACE = "no space left"
_SPEC = lazily(r"\bImage:([\w./:@-]{3,200}),Command:")
_AGENT = ("startup", "felix", "confd", "bird", "cni-installer", "monitor-addresses")  # it has its image


class Seen:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.hits = picture.hits(FAILED) or picture.hits(FAILED_CUT, PULL_ERROR) or picture.hits(START, NO_NAME)
        self.held = [pod for pod in picture.pods_now() if pod.status in STATES]
        self.waiting = [container for container in picture.of(Container) if container.reason in STATES]
        self.back_off = picture.hits(BACK_OFF)
        both = (*self.hits, *self.back_off)
        self.network = [hit for hit in both if _network(hit.value("image") or _image_in(hit.line))]

    @property
    def failed(self) -> bool:
        return bool(self.hits or self.held or self.waiting or self.back_off)

    @cached_property
    def running(self) -> list[Pod]:
        """Agents that have their image: what ails them is something else."""
        early = ("Pending", "ContainerCreating", "Init:0", "PodInitializing", *STATES)
        return [pod for pod in self.picture.agents_now() if not pod.all_ready and not pod.status.startswith(early)]

    @cached_property
    def image(self) -> str:
        hits = (*self.network, *self.hits, *self.back_off)
        names = [hit.value("image") or _image_in(hit.line) for hit in hits] + [
            container.image for container in self.waiting
        ]
        return next((name for name in names if name), "")

    @cached_property
    def text(self) -> str:
        return " ".join(hit.line for hit in (self.hits or self.back_off)).lower()

    @property
    def reason(self) -> str:
        return next((word for keys, word in REASONS if any(key in self.text for key in keys)), "")

    @cached_property
    def bystander(self) -> bool:
        """An application's image: the network does not wait for it."""
        concerned = [self.image] if self.image else [pod.name for pod in self.held]
        return bool(concerned) and not any(_network(name) for name in concerned)

    @cached_property
    def pods(self) -> list[Pod]:
        own = [pod for pod in self.held if not self.image or _network(pod.name) or self.bystander]
        return own or self.held

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        image = self.image
        registry = image.split("/")[0] if "." in image.split("/")[0] else ""
        return culprits(
            named("image", image, image.rpartition("/")[2], registry),
            named("pod", *(pod.name for pod in self.pods[:3])),
            named("node", *(pod.node for pod in self.pods[:1])),
        )


def disk_full(seen: Seen) -> Finding | None:
    return ruled_out(seen.hits[:1]) if any(SPACE in hit.line.lower() for hit in seen.hits) else None


def started_since(seen: Seen) -> Finding | None:
    agents = [pod for pod in seen.picture.agents_now() if pod.containers is not None]
    others = [pod for pod in seen.picture.pods_now() if pod.containers is not None and pod.status != "Completed"]
    over = seen.failed and not seen.held and agents and all(pod.all_ready for pod in (*agents, *others))
    return ruled_out(agents[:1]) if over else None


def failed(seen: Seen) -> Finding | None:
    if not seen.failed:
        return None
    strength = STRONG if seen.hits and seen.reason else LIKELY
    agents = seen.picture.agents_now()
    if (seen.bystander and agents) or any(key in seen.text for key in ARCHITECTURE):
        strength = POSSIBLE  # nobody's network waits for it, or the registry has nothing for this processor
    evidence = (*seen.network[:2], *seen.hits[:1], *seen.back_off[:1], *seen.pods[:1], *seen.waiting[:1])
    return found(
        strength, seen.culprits, evidence, say="failed" if seen.reason else "failed-somehow",
        aside=seen.bystander and bool(agents), image=seen.image,
        what=seen.image or next((pod.name for pod in seen.pods), ""),
        reason=Text(__name__, f"word {seen.reason}") if seen.reason else "",
        pod=next((pod.name for pod in seen.pods), ""),
    )  # fmt: skip


def by_hand(seen: Seen) -> Finding | None:
    """The same pull, typed on a machine."""
    pulls = [pull for pull in failed_by_hand(seen.picture) if _network(pull.image)]
    if not pulls or seen.running or _ready(seen):
        return None
    said = " ".join(pull.line for pull in pulls).lower()
    if SPACE in said:
        return None
    reason = next((word for keys, word in REASONS if any(key in said for key in keys)), "")
    image = pulls[0].image
    return found(
        (STRONG if reason else LIKELY) if not any(key in said for key in ARCHITECTURE) else POSSIBLE,
        culprits(named("image", *(pull.image for pull in pulls[:3]), image.rpartition("/")[2])),
        tuple(pull.place for pull in pulls[:3]),
        say="failed" if reason else "failed-somehow",
        image=image, what=image, reason=Text(__name__, f"word {reason}") if reason else "",
    )  # fmt: skip


def limit_reached(seen: Seen) -> Finding | None:
    """The registry's word of its limit, without the name of an image."""
    hits = seen.picture.hits(LIMIT)
    if not hits or seen.running or _ready(seen):
        return None
    ours = any(_network(hit.line) for hit in hits)
    reason = Text(__name__, "word limit")
    return found(LIKELY if ours else POSSIBLE, (), hits[:2], say="limited", reason=reason)


def said_so(seen: Seen) -> Finding | None:
    """People tell it; those who found a mirror and went on tell it, too."""
    said = told(seen.picture)
    if not said or seen.running or _ready(seen):
        return None
    speaks = any(line.program in _AGENT for line in seen.picture.of(LogLine))
    over = speaks or bool(seen.picture.said("mended"))
    return found(POSSIBLE if over else LIKELY, (), said[:2], say="told")


def _ready(seen: Seen) -> bool:
    """All agents that are shown are ready, and no node waits for one."""
    agents = [pod for pod in seen.picture.agents_now() if pod.containers is not None]
    lost = [node for node in seen.picture.nodes_now().values() if node.status.startswith("NotReady")]
    return bool(agents) and not lost and all(pod.all_ready for pod in agents)


def _image_in(line: str) -> str:
    """The image of a container that kubelet prints whole."""
    match = _SPEC.search(line)
    return match[1] if match else ""


def _network(name: str) -> bool:
    return any(part in name.lower() for part in NETWORK) and not any(tool in name.lower() for tool in TOOLS)


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield do("reason")
    yield do("mirror")
    yield from edit_agent(picture)
    yield do("secret")
    yield do("import")


CAUSE = Cause(
    module=__name__,
    id="image-pull-failed",
    code="TRT0005",
    severity="medium",
    explains=("image-pull", "init-stuck", "pod-pending", "not-ready", "node-not-ready"),
    signs=(FAILED, FAILED_CUT, BACK_OFF, LIMIT, PULL_ERROR, START, NO_NAME),
    look=Seen,
    rules=(disk_full, started_since, failed, by_hand, limit_reached, said_so),
    fix=fix,
    yields_to=("image-arch-mismatch", "disk-pressure", "api-host-unresolvable", "no-default-route", "clock-skew"),
)
