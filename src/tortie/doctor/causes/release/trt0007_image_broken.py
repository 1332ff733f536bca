"""TRT0007: the image itself is broken: a library is missing, or it crashes on this processor or in FIPS mode."""

from __future__ import annotations

from tortie.doctor.causes.legacy import (
    LIKELY,
    POSSIBLE,
    STRONG,
    Ask,
    Cause,
    Finding,
    Step,
    cannot_tell,
    found,
    ruled_out,
)
from tortie.doctor.picture.facts import Container
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

LIBRARY = Sign("image-broken-library", "error while loading shared libraries: <library>:")
LIBRARY_CUT = Sign("image-broken-library-cut", "error while loading shared libraries")
MUSL = Sign("image-broken-musl", "Error loading shared library <library>:")
CRNGT = Sign("image-broken-crngt", "CRNGT failed")
GLIBC = Sign("image-broken-glibc", "version '<symbol>' not found \\(required by")
LEVEL = Sign("image-broken-level", "CPU does not support x86-64-v")
LEVEL_GO = Sign("image-broken-level-go", "This program can only be run on")
ILLEGAL = Sign("image-broken-illegal", "SIGILL: illegal instruction")
OWN_WORDS = (LIBRARY, MUSL, CRNGT, GLIBC, LEVEL, LEVEL_GO, ILLEGAL, LIBRARY_CUT)
SEGFAULT = Sign("image-broken-segfault", "segfault at <address> ip <pointer>")
OPCODE = Sign("image-broken-opcode", "trap invalid opcode ip")
KERNEL_SAYS = (SEGFAULT, OPCODE)
PROGRAMS = ("calico", "felix", "bird", "confd", "typha", "kube-controllers", "install")
AT_ONCE_S = 5.0
CRASHED = 139  # 128 + SIGSEGV
ILLEGAL_EXIT = 132  # 128 + SIGILL


def judge(picture: Picture) -> Finding:
    hits = picture.hits(*OWN_WORDS)
    crashed = [c for c in picture.of(Container) if {c.exit_code, c.last_exit_code} & {CRASHED, ILLEGAL_EXIT}]
    kernel = [hit for hit in picture.hits(*KERNEL_SAYS) if _own_program(hit)]
    if not hits and not crashed and not kernel:
        return cannot_tell(Words("no crash of the program itself is shown", "没有程序自身崩溃的证据"))
    dying = crashed or _dying(picture)
    container = dying[-1] if dying else None
    image = container.image if container else _calico_image(picture)
    library = next((hit.value("library") for hit in hits if hit.value("library")), "")
    tag = image.rpartition("/")[2]
    objects = (
        image,
        tag,
        library,
        tag.rpartition(":")[2] or _release(picture),
        container.name if container else "",
        _pod(picture),
    )
    evidence = (*hits[:2], *kernel[:2], *((container,) if container else ()))
    if hits:
        why = Words(
            f"{image or 'The image'} dies by its own fault: {hits[0].text.strip(': ')}.",
            f"{image or '镜像'} 自身有缺陷：{hits[0].text.strip(': ')}。",
        )
        return found(STRONG, why, objects, evidence, image=image)
    running = [pod for pod in picture.agents_now() if pod.all_ready]
    dead = [pod for pod in picture.agents_now() if not pod.all_ready]
    if kernel and (len(kernel) > 1 or crashed):
        how = "an invalid instruction" if kernel[0].sign == OPCODE.key else "a segmentation fault"
        how_zh = "非法指令" if kernel[0].sign == OPCODE.key else "段错误"
        why = Words(
            f"The kernel reports {how} of Calico's own program ({image or _release(picture) or 'this image'})"
            f"{' each time it starts' if len(kernel) > 1 else ''}: the image does not work on these machines.",
            f"内核报告 Calico 程序自身发生{how_zh}（{image or _release(picture) or '该镜像'}）"
            f"{'，每次启动都如此' if len(kernel) > 1 else ''}：该镜像无法在这些机器上运行。",
        )
        sure = any(_at_once(c) for c in crashed) or len(dead) > 1
        return found(STRONG if sure else LIKELY, why, objects, evidence, image=image)
    if running and container and not container.pod:
        return ruled_out(Words("other pods run this image", "其他 Pod 使用同一镜像运行正常"), running[:1])
    code = container.exit_code if container and container.exit_code in (CRASHED, ILLEGAL_EXIT) else None
    code = code or (container.last_exit_code if container else None) or CRASHED
    why = Words(
        f"{container.name if container else 'The container'} ({image}) ends with exit code {code}: it crashes.",
        f"容器 {container.name if container else ''}（{image}）以退出码 {code} 结束，属程序崩溃。",
    )
    return found(POSSIBLE if running else LIKELY, why, (*objects, str(code)), evidence, image=image)


def _own_program(hit: Hit) -> bool:
    """`calico-node[88012]: segfault at ...`: the program stands before the message."""
    before = hit.line[: max(hit.line.lower().find("segfault at"), hit.line.find("trap invalid opcode"))].lower()
    return any(program in before for program in PROGRAMS)


def _at_once(container: Container) -> bool:
    began, ended = container.last_started, container.last_finished
    return began is not None and ended is not None and ended - began <= AT_ONCE_S


def _release(picture: Picture) -> str:
    """The release that people say they went to, else the last one shown."""
    said = [s.values[2] for s in picture.said("upgraded") if len(s.values) > 2 and s.values[:1] == ("calico",)]
    shown = said or [version.version for version in picture.versions("calico")]
    return "v" + shown[-1].lstrip("v") if shown and shown[-1] else ""


def _dying(picture: Picture) -> list[Container]:
    return [
        c
        for c in picture.of(Container)
        if c.image and (c.reason == "CrashLoopBackOff" or c.exit_code or c.last_exit_code)
    ]


def _calico_image(picture: Picture) -> str:
    images = [c.image for c in picture.of(Container) if "calico" in c.image]
    if images:
        return images[-1]
    import re  # rarely needed

    pattern = re.compile(r"[\w./-]*(?:calico|tigera)[\w./-]*:v?\d[\w.-]*")
    lines = (line[:500] for exhibit in picture.exhibits for line in (exhibit.command, *exhibit.lines[:100]))
    return next((match.group() for line in lines if (match := pattern.search(line))), "")


def _pod(picture: Picture) -> str:
    return next((pod.name for pod in picture.agents_now() if not pod.all_ready), "")


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    return (
        Step(
            Words("Make sure which digest runs", "确认正在运行的镜像摘要"),
            f"kubectl -n {picture.namespace} get pod -l k8s-app=calico-node -o jsonpath='{{..imageID}}'",
        ),
        Step(
            Words(
                f"Use another release than {finding.value('image', 'this one')}: the one before, or the next patch",
                f"换用 {finding.value('image', '该镜像')} 之外的版本：上一个版本或下一个补丁版本",
            ),
            f"kubectl -n {picture.namespace} edit ds calico-node",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="image-broken",
    code="TRT0007",
    severity="medium",
    name=Words("image is broken", "镜像本身有缺陷"),
    what=Words(
        "The image lacks a library, or crashes on this processor or in FIPS mode: every pod with that tag on that "
        "platform dies at once.",
        "镜像缺少库文件，或在该 CPU、FIPS 模式下崩溃：该平台上使用此标签的 Pod 全部立即退出。",
    ),
    explains=("crash-loop", "init-crash", "restarts", "not-ready", "log-errors"),
    look_alikes=(
        ("image-arch-mismatch", Words("there the words are `exec format error`", "那时报 `exec format error`")),
        ("oom-killed", Words("there the exit code is 137 and the reason OOMKilled", "那时退出码 137、原因 OOMKilled")),
    ),
    signs=(*OWN_WORDS, *KERNEL_SAYS),
    judge=judge,
    ask=Ask(
        "kubectl -n <ns> logs -p <pod> | tail -3; kubectl -n <ns> get pod <pod> -o jsonpath='{..imageID}'",
        Words("the last words of the program decide", "程序最后的输出即可确定"),
    ),
    fix=fix,
    verify=(Step(Words("The pods stay up", "Pod 不再重启"), "kubectl -n <ns> get pod -o wide"),),
    prevent=(Words("Try a release on one node before all.", "先在一个节点上试用新版本。"),),
)
