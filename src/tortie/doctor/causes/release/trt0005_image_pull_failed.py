"""TRT0005: an image cannot be pulled."""

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
from tortie.doctor.picture.facts import Container, Pod
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

FAILED = Sign("image-pull-failed", 'Failed to pull image "<image>": <rest>')
FAILED_CUT = Sign("image-pull-failed-cut", 'Failed to pull image "<image>"')
BACK_OFF = Sign("image-pull-back-off", 'Back-off pulling image "<image>"')
LIMIT = Sign("image-pull-limit", "You have reached your (unauthenticated )?pull rate limit")
PULL_ERROR = Sign("image-pull-error", 'failed to pull and unpack image "<image>"')
STATES = ("ErrImagePull", "ImagePullBackOff", "Init:ErrImagePull", "Init:ImagePullBackOff", "InvalidImageName")
# Images without which the network does not start.
NETWORK = ("calico", "tigera", "cni", "flannel", "pause", "typha", "pod2daemon", "flexvol", "tortie", "canal")
UNREACHABLE = (
    "i/o timeout", "deadline exceeded", "connection refused", "no route to host", "client.timeout", "unreachable",
    "tls handshake timeout", "connection reset", "eof",
)  # fmt: skip
REASONS = (
    (
        ("toomanyrequests", "429 too many", "rate limit"),
        Words("the registry's pull limit is reached", "触发仓库拉取限额"),
    ),
    (("no such host", "server misbehaving"), Words("the registry's name is not resolved", "镜像仓库域名无法解析")),
    (("x509", "certificate"), Words("the registry's certificate is not trusted", "不信任镜像仓库的证书")),
    (("manifest unknown", "not found", "manifest for"), Words("the tag does not exist there", "仓库中没有该标签")),
    (
        ("unauthorized", "denied", "authentication required", "403 forbidden"),
        Words("the registry refuses these credentials", "镜像仓库拒绝访问（无权限）"),
    ),
    (UNREACHABLE, Words("the registry is not reachable", "无法访问镜像仓库")),
)
ARCHITECTURE = ("no matching manifest", "no match for platform")
SPACE = "no space left"


def judge(picture: Picture) -> Finding:
    hits = picture.hits(FAILED) or picture.hits(FAILED_CUT, PULL_ERROR)
    held = [pod for pod in picture.pods_now() if pod.status in STATES]
    waiting = [c for c in picture.of(Container) if c.reason in STATES]
    back_off = picture.hits(BACK_OFF)
    if not hits and not held and not waiting and not back_off:
        return cannot_tell(Words("no failed pull is shown", "没有镜像拉取失败的证据"))
    if any(SPACE in hit.line.lower() for hit in hits):
        return ruled_out(
            Words("the disk is full, not the registry at fault", "是磁盘已满，而不是镜像仓库的问题"), hits[:1]
        )
    if _recovered(picture, held):
        return ruled_out(Words("the pods have started since", "相关 Pod 之后已经启动"), (*picture.agents_now()[:1],))
    return _failed(picture, hits, held, waiting, back_off)


def _recovered(picture: Picture, held: list[Pod]) -> bool:
    agents = [pod for pod in picture.agents_now() if pod.containers is not None]
    return not held and bool(agents) and all(pod.all_ready for pod in agents) and len(picture.pods_now()) == len(agents)


def _failed(
    picture: Picture, hits: list[Hit], held: list[Pod], waiting: list[Container], back_off: list[Hit]
) -> Finding:
    calico = [hit for hit in (*hits, *back_off) if _network(hit.value("image"))]
    images = [hit.value("image") for hit in (*calico, *hits, *back_off)] + [c.image for c in waiting]
    image = next((name for name in images if name), "")
    text = " ".join(hit.line for hit in (hits or back_off)).lower()
    reason = next((words for keys, words in REASONS if any(key in text for key in keys)), None)
    concerned = [image] if image else [pod.name for pod in held]
    bystander = bool(concerned) and not any(_network(name) for name in concerned)
    pods = [pod for pod in held if not image or _network(pod.name) or bystander] or held
    whose = pods[0].name if pods else "the pod"
    why = Words(
        f"Image {image or 'of ' + whose} cannot be pulled"
        f"{f': {reason.en}' if reason else '; the reason is not shown'}.",
        f"镜像 {image or whose} 拉取失败{f'：{reason.zh}' if reason else '；没有显示原因'}。",
    )
    strength = STRONG if hits and reason else LIKELY
    if (bystander and picture.agents_now()) or any(key in text for key in ARCHITECTURE):
        strength = POSSIBLE  # nobody's network waits for it, or the registry has nothing for this processor
    registry = image.split("/")[0] if "." in image.split("/")[0] else ""
    objects = (image, image.rpartition("/")[2], registry, *(pod.name for pod in pods[:3]), pods[0].node if pods else "")
    evidence = (*calico[:2], *hits[:1], *back_off[:1], *pods[:1], *waiting[:1])
    return found(strength, why, objects, evidence, aside=bystander and not _blocking(picture), image=image)


def _network(name: str) -> bool:
    return any(part in name.lower() for part in NETWORK)


def _blocking(picture: Picture) -> bool:
    """A pull that fails for something else matters when nothing else is shown."""
    return not picture.agents_now()


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    image = finding.value("image", "<image>")
    return (
        Step(
            Words("Read the reason in the registry's own words", "查看仓库返回的具体原因"),
            f"kubectl -n {picture.namespace} describe pod <pod> | grep -A3 'Failed to pull'; crictl pull {image}",
        ),
        Step(
            Words(
                "Use a registry that carries the image (a mirror of your own), in every container of the DaemonSet",
                "改用有该镜像的仓库（自建镜像仓库），DaemonSet 中所有容器一起修改",
            ),
            f"kubectl -n {picture.namespace} edit ds calico-node",
            "disruptive",
        ),
        Step(
            Words(
                "Or give the account a pull secret (limits, private registries)",
                "或为服务账号配置拉取凭据（限额、私有仓库）",
            ),
            f"kubectl -n {picture.namespace} patch sa calico-node "
            """-p '{"imagePullSecrets": [{"name": "<secret>"}]}'""",
        ),
        Step(
            Words("Or load the image on the node beforehand", "或预先导入镜像"),
            "ctr -n k8s.io images import <image>.tar",
        ),
    )


CAUSE = Cause(
    id="image-pull-failed",
    code="TRT0005",
    severity="medium",
    name=Words("image cannot be pulled", "镜像拉取失败"),
    what=Words(
        "An image cannot be pulled: a limit, no way to the registry, a bad mirror, a tag that does not exist.",
        "镜像无法拉取：拉取限额、无法访问仓库、镜像源有误，或标签不存在。",
    ),
    explains=("image-pull", "init-stuck", "pod-pending", "not-ready", "node-not-ready"),
    look_alikes=(
        (
            "image-arch-mismatch",
            Words("there the image is there and does not fit the processor", "那时镜像存在但架构不符"),
        ),
        ("disk-pressure", Words("there the words are `no space left`", "那时报 `no space left`")),
    ),
    signs=(FAILED, FAILED_CUT, BACK_OFF, LIMIT, PULL_ERROR),
    judge=judge,
    ask=Ask(
        "kubectl -n <ns> describe pod <pod> | grep -A3 'Failed to pull'",
        Words("the text after the image says why", "镜像名之后的文字说明原因"),
    ),
    fix=fix,
    verify=(
        Step(Words("The pods leave ImagePullBackOff", "Pod 离开 ImagePullBackOff"), "kubectl -n <ns> get pod -o wide"),
    ),
    prevent=(Words("Mirror the images that you run.", "把所用镜像同步到自己的仓库。"),),
    yields_to=("image-arch-mismatch", "disk-pressure"),
)
