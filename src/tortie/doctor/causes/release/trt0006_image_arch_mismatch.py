"""TRT0006: the image's variant does not fit the processor, or a layer is corrupt on one node."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from tortie.doctor.causes.agent.speakers import of_another
from tortie.doctor.causes.cause import PROVEN, STRONG, Cause, Do, Finding, do, found
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.nodes.bgp_evidence import few
from tortie.doctor.causes.release.components import image_of, nodes_of
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.ways import edit_agent
from tortie.doctor.picture.facts import Container, Node
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign

FORMAT = Sign("image-exec-format", "exec format error")
FORMAT_PATH = Sign("image-exec-format-path", "exec <path>: exec format error")
NO_MANIFEST = Sign("image-no-manifest", "no matching manifest for <platform>")
NO_PLATFORM = Sign("image-no-platform", "no match for platform in manifest")


class Seen:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.hits = [hit for hit in picture.hits(FORMAT) if not of_another(picture, hit)]
        self.manifest = picture.hits(NO_MANIFEST, NO_PLATFORM)
        self.arches = _arches(picture)
        self.image, self.container = _image(picture)
        self.nodes = nodes_of(picture, self.hits, self.arches)
        self.node = next(iter(self.nodes), "")

    @property
    def arch(self) -> str:
        return self.arches.get(self.node, "")

    @cached_property
    def component(self) -> str:
        """Calico's name of the image, where the evidence has none."""
        return next((name for hit in self.hits if (name := image_of(self.path, hit.command))), "")

    @property
    def path(self) -> str:
        return next((hit.value("path") for hit in self.picture.hits(FORMAT_PATH)), "")

    @property
    def platform(self) -> str:
        return self.manifest[0].value("platform") if self.manifest else ""

    @cached_property
    def culprits(self) -> tuple[Culprit, ...]:
        return culprits(
            named("image", self.image, self.component if self.component not in self.image else ""),
            named("version", self.arch, self.platform),
            named("node", *self.nodes[:4]),
            named("container", self.container.name if self.container else ""),
            named("file", self.path),
            named("pod", _pod(self.picture)),
            named("version", *(_odd(self.arches) if not self.arch else ())),
        )

    @property
    def evidence(self) -> tuple[object, ...]:
        nodes = [node for node in self.picture.of(Node) if node.name in self.nodes]
        return (*nodes[-2:], self.container, *self.hits[:2], *self.manifest[:1])


def exec_format(seen: Seen) -> Finding | None:
    if not seen.hits:
        return None
    known = len(set(seen.arches.values())) > 1 or seen.arch
    what = seen.image or seen.path
    strength = PROVEN if known else STRONG
    return found(
        strength, seen.culprits, seen.evidence, image=seen.image, node=seen.node, program=what, arch=seen.arch,
        component=seen.component if not seen.image else "", nodes=few(seen.nodes), next=next(iter(seen.nodes[1:]), ""),
    )  # fmt: skip


def no_variant(seen: Seen) -> Finding | None:
    if not seen.manifest:
        return None
    return found(STRONG, seen.culprits, seen.evidence, image=seen.image, node=seen.node, platform=seen.platform)


def _arches(picture: Picture) -> dict[str, str]:
    """Node to architecture, as its label or info says."""
    known = {}
    for name, node in picture.nodes_now().items():
        labels = dict(node.labels)
        arch = node.arch or labels.get("kubernetes.io/arch", "") or labels.get("beta.kubernetes.io/arch", "")
        if arch:
            known[name] = arch
    return known


def _odd(arches: dict[str, str]) -> list[str]:
    """Architectures that only some nodes have, the rare ones first."""
    kinds = list(arches.values())
    return sorted(set(kinds), key=kinds.count) if len(set(kinds)) > 1 else []


def _pod(picture: Picture) -> str:
    return next((pod.name for pod in picture.agents_now() if not pod.all_ready), "")


def _image(picture: Picture) -> tuple[str, Container | None]:
    crashed = [c for c in picture.of(Container) if c.image and (c.exit_code or c.last_exit_code or c.reason in BAD)]
    if crashed:
        return crashed[-1].image, crashed[-1]
    calico = [c for c in picture.of(Container) if "calico" in c.image]
    return (calico[-1].image, None) if calico else (_typed(picture), None)


BAD = ("CrashLoopBackOff", "RunContainerError", "Error")


def _typed(picture: Picture) -> str:
    """An image that an event or a command names."""
    import re  # rarely needed

    pattern = re.compile(
        r"(?<![\w./:-])(?:[\w.-]{1,100}:\d{1,5}/)?[\w./-]{0,200}?(?:calico|tigera)[\w./-]{0,200}:v?\d[\w.-]*"
    )
    for event in picture.events():
        if match := pattern.search(event.message):
            return match.group()
    for exhibit in picture.exhibits:
        for line in (exhibit.command, *exhibit.lines[:100]):
            if match := pattern.search(line[:500]):
                return match.group()
    return ""


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    yield do("look") if finding.value("image") or not finding.value("component") else do("look-at-all")
    yield do("multi-arch")
    yield from edit_agent(picture)
    if not finding.value("next"):
        yield do("again")


CAUSE = Cause(
    module=__name__,
    id="image-arch-mismatch",
    code="TRT0006",
    severity="medium",
    explains=("crash-loop", "init-crash", "image-pull", "not-ready", "restarts", "sandbox-failed", "log-errors"),
    signs=(FORMAT, FORMAT_PATH, NO_MANIFEST, NO_PLATFORM),
    look=Seen,
    rules=(exec_format, no_variant),
    fix=fix,
)
