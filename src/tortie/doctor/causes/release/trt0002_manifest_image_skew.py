"""TRT0002: manifest and images come from different releases."""

from __future__ import annotations

from tortie.doctor.causes.legacy import (
    LIKELY,
    POSSIBLE,
    PROVEN,
    STRONG,
    Ask,
    Cause,
    Finding,
    Step,
    cannot_tell,
    found,
)
from tortie.doctor.causes.underlay.traffic_evidence import agents_fine, rows
from tortie.doctor.picture.picture import Picture, version_numbers
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

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
PARTS = ("node", "cni")  # they are shipped together and must have one tag


def judge(picture: Picture) -> Finding:
    flags = picture.hits(NO_FLAG)
    entry = picture.hits(NO_SCRIPT, NO_INSTALLER)
    accounts = [hit for hit in picture.hits(NO_ACCOUNT, NO_ACCOUNT_POD) if "cali" in hit.text or "canal" in hit.text]
    images = _images(picture)
    tags = sorted({tag for _, tag, _ in images})
    mixed = _mixed(images)
    facts = [fact for _, _, fact in images]
    names = [image for image, _, _ in images]
    if flags:
        tags = tags or _written(picture)
        flag = flags[0].value("flag")
        why = Words(
            f"The container was started with {flag}, which its image ({', '.join(tags) or 'tag not shown'}) "
            "does not know: the manifest is of another release.",
            f"容器以 {flag} 启动，而其镜像（{'、'.join(tags) or '标签未知'}）不支持该参数：清单来自另一个版本。",
        )
        objects = (flag, *tags, *names[:3], _container(picture))
        return found(PROVEN if images else STRONG, why, objects, (*flags[:1], *facts[:2]), tag=tags[0] if tags else "")
    if entry:
        why = Words(
            "The manifest starts an installer that this image does not contain: the two are of different releases.",
            "清单中启动的安装程序在该镜像中不存在：两者来自不同版本。",
        )
        return found(
            STRONG, why, ("install-cni", *tags, *names[:2]), (*entry[:1], *facts[:2]), tag=tags[0] if tags else ""
        )
    if accounts:
        account = accounts[0].value("account") or accounts[0].value("name")
        why = Words(
            f"The image needs the service account {account}, which the applied manifest did not create.",
            f"镜像需要服务账号 {account}，而已应用的清单没有创建它。",
        )
        return found(
            STRONG,
            why,
            (account, "serviceaccount", *tags, *names[:2]),
            (*accounts[:2], *facts[:2]),
            tag=tags[0] if tags else "",
        )
    if mixed:
        why = Words(
            f"Calico's images are of different releases: {', '.join(mixed)}.",
            f"Calico 各镜像版本不一致：{'、'.join(mixed)}。",
        )
        return found(POSSIBLE if agents_fine(picture) else LIKELY, why, (*mixed, *names[:4]), facts[:3], tag=tags[-1])
    if images and len(tags) == 1:
        return cannot_tell(
            Words("all images are of one release; the manifest's is not shown", "镜像版本一致，但未显示清单版本")
        )
    return cannot_tell(
        Words("images and start-up errors of containers are not shown", "没有镜像标签，也没有容器启动报错")
    )


def _images(picture: Picture) -> list[tuple[str, str, object]]:
    """(image, tag, fact) of Calico's containers, each once."""
    seen: dict[str, tuple[str, str, object]] = {}
    for row in rows(picture, _IMAGE, needle=":v"):
        for match in row.match.re.finditer(row.match.string):
            seen.setdefault(match["image"], (match["image"], match["tag"], row))
    return list(seen.values())


def _written(picture: Picture) -> list[str]:
    """The tag that a command put into the manifest: the last one of a `sed` or `set image` on Calico's images."""
    import re  # rarely needed

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


def _container(picture: Picture) -> str:
    """The container that dies of it, where a description or a log's command names it."""
    bad = [c.name for c in picture.containers() if c.exit_code not in (None, 0) or c.last_exit_code not in (None, 0)]
    return bad[0] if bad else "mount-bpffs" if picture.commands("mount-bpffs") else ""


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    tag = finding.value("tag", "<release>")
    return (
        Step(
            Words("See which release each part is of", "查看各部分所属版本"),
            f"kubectl -n {picture.namespace} get ds calico-node -o yaml | grep -n -e image: -e command -A3",
        ),
        Step(
            Words(
                f"Apply the complete manifest of the images' release ({tag}), with its roles, accounts and CRDs",
                f"应用与镜像一致的完整清单（{tag}），包括角色、账号与 CRD",
            ),
            "kubectl apply --server-side --force-conflicts -f calico.yaml",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="manifest-image-skew",
    code="TRT0002",
    severity="high",
    name=Words("manifest and images differ", "清单与镜像版本不一致"),
    what=Words(
        "Manifest and images come from different releases: a flag, account, CRD or mount of one is unknown to "
        "the other.",
        "清单与镜像来自不同版本：一方的参数、账号、CRD 或挂载在另一方不存在。",
    ),
    explains=(
        "init-crash",
        "init-stuck",
        "crash-loop",
        "not-ready",
        "restarts",
        "pod-not-created",
        "unauthorized",
        "log-errors",
        "sandbox-failed",
    ),
    look_alikes=(
        (
            "rbac-forbidden",
            Words("a typical consequence: a right of the new release is missing", "常见后果：缺少新版本所需的权限"),
        ),
        (
            "crd-missing",
            Words("a typical consequence: a CRD of the new release is missing", "常见后果：缺少新版本所需的 CRD"),
        ),
        ("version-skew", Words("there Calico as a whole does not fit Kubernetes", "整体与 Kubernetes 不匹配")),
    ),
    signs=(NO_FLAG, NO_ACCOUNT, NO_ACCOUNT_POD, NO_SCRIPT, NO_INSTALLER),
    judge=judge,
    ask=Ask(
        "kubectl -n <ns> get ds calico-node -o yaml | grep -n -e image: -e command -A3; kubectl -n <ns> get "
        "sa | grep calico",
        Words("tags unlike the manifest's release", "镜像标签与清单版本不同"),
    ),
    fix=fix,
    verify=(
        Step(Words("One tag everywhere", "所有标签一致"), "kubectl -n <ns> get ds calico-node -o jsonpath='{..image}'"),
    ),
    prevent=(Words("Never change image tags alone.", "不要只修改镜像标签。"),),
)
