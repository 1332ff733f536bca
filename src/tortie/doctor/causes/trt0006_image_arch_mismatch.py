"""TRT0006: the image's variant does not fit the processor, or a layer is corrupt on one node."""

from __future__ import annotations

from tortie.doctor.causes.cause import PROVEN, STRONG, Ask, Cause, Finding, Step, cannot_tell, found
from tortie.doctor.picture.facts import Container, Node
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

FORMAT = Sign("image-exec-format", "exec format error")
FORMAT_PATH = Sign("image-exec-format-path", "exec <path>: exec format error")
NO_MANIFEST = Sign("image-no-manifest", "no matching manifest for <platform>")
NO_PLATFORM = Sign("image-no-platform", "no match for platform in manifest")


def judge(picture: Picture) -> Finding:
    hits = picture.hits(FORMAT)
    manifest = picture.hits(NO_MANIFEST, NO_PLATFORM)
    if not hits and not manifest:
        return cannot_tell(Words("no `exec format error` is shown", "没有 `exec format error`"))
    arches = _arches(picture)
    image, container = _image(picture)
    node = _node(picture, hits, arches)
    arch = arches.get(node, "")
    path = next((hit.value("path") for hit in picture.hits(FORMAT_PATH)), "")
    platform = manifest[0].value("platform") if manifest else ""
    if hits:
        why = Words(
            f"{image or path or 'The program'} is not built for this processor{f' ({arch})' if arch else ''}: "
            "exec format error.",
            f"{image or path or '程序'} 不是为该 CPU 架构{f'（{arch}）' if arch else ''}构建的：exec format error。",
        )
    else:
        why = Words(
            f"{image or 'The image'} has no variant for {platform or 'this platform'}.",
            f"{image or '镜像'} 没有 {platform or '该平台'} 的版本。",
        )
    differ = len(set(arches.values())) > 1
    objects = (image, arch, platform, node, container.name if container else "", path, _pod(picture), *_odd(arches))
    nodes = [n for n in picture.of(Node) if n.name == node]
    evidence = (*nodes[-1:], *((container,) if container else ()), *hits[:2], *manifest[:1])
    return found(PROVEN if hits and (differ or arch) else STRONG, why, objects, evidence, image=image, node=node)


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


def _node(picture: Picture, hits: list[Hit], arches: dict[str, str]) -> str:
    sick = [pod.node for pod in picture.agents_now() if pod.node and not pod.all_ready]
    hosts = [hit.host for hit in hits if hit.host in arches]
    return (sick or hosts or [""])[0]


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

    pattern = re.compile(r"(?<![\w./-])[\w./-]{0,200}?(?:calico|tigera)[\w./-]{0,200}:v?\d[\w.-]*")
    for event in picture.events():
        if match := pattern.search(event.message):
            return match.group()
    for exhibit in picture.exhibits:
        for line in (exhibit.command, *exhibit.lines[:100]):
            if match := pattern.search(line[:500]):
                return match.group()
    return ""


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    image = finding.value("image", "<image>")
    return (
        Step(
            Words("See which architectures the image has", "查看镜像包含哪些架构"),
            f"kubectl get no -L kubernetes.io/arch; crane manifest {image} | grep architecture",
        ),
        Step(
            Words(
                "Use a multi-arch tag (mirror the whole manifest list)",
                "使用多架构标签（镜像同步时保留完整 manifest list）",
            ),
            f"kubectl -n {picture.namespace} edit ds calico-node",
            "disruptive",
        ),
        Step(
            Words(
                "If one node alone fails: its copy is corrupt, pull it again",
                "若仅单个节点失败：本地镜像损坏，删除后重新拉取",
            ),
            f"crictl rmi {image} && crictl pull {image}",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="image-arch-mismatch",
    code="TRT0006",
    severity="medium",
    name=Words("image does not fit the architecture", "镜像架构不符"),
    what=Words(
        "The image's variant does not fit the processor, or a layer is corrupt on one node.",
        "镜像与 CPU 架构不符，或某节点上的镜像层已损坏。",
    ),
    explains=("crash-loop", "init-crash", "image-pull", "not-ready", "restarts", "sandbox-failed", "log-errors"),
    look_alikes=(
        ("image-pull-failed", Words("there the image never arrives", "那时镜像根本没有拉到")),
        (
            "image-broken",
            Words("there it starts and dies by a library or a signal", "那时能启动，随后因缺库或信号而退出"),
        ),
    ),
    signs=(FORMAT, FORMAT_PATH, NO_MANIFEST, NO_PLATFORM),
    judge=judge,
    ask=Ask(
        "kubectl get no -L kubernetes.io/arch; crane manifest <image> | grep architecture",
        Words("the node's architecture must be among the image's", "镜像必须包含该节点的架构"),
    ),
    fix=fix,
    verify=(
        Step(Words("The pods on these nodes run", "这些节点上的 Pod 正常运行"), "kubectl -n <ns> get pod -o wide"),
    ),
    prevent=(
        Words("Mirror whole manifest lists, not one architecture.", "同步完整的 manifest list，而不是单一架构。"),
    ),
)
