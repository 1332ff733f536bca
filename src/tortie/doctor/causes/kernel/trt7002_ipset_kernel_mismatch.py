"""TRT7002: a set in the kernel has a revision that the image's ipset does not understand."""

from __future__ import annotations

from tortie.doctor.causes.kernel.trt7001_kernel_module_missing import BAD_ARGUMENT, NO_SESSION, REVISION, SETS_PANIC
from tortie.doctor.causes.legacy import (
    POSSIBLE,
    PROVEN,
    STRONG,
    Ask,
    Cause,
    Finding,
    Step,
    cannot_tell,
    found,
    ruled_out,
)
from tortie.doctor.causes.underlay.traffic_evidence import rows
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

LISTED = Sign("ipset-list-failed", "Bad return code from 'ipset list <set>'")
UNPARSED = Sign("ipset-unparsed", "Failed to parse ipset <set>")
INCOMPATIBLE = Sign("ipset-incompatible", "ipset v<version>: Kernel and userspace incompatible")
ONE_BY_ONE = (3, 27, 1)  # from here on Felix reads only its own sets, so a foreign one does no harm
NFTABLES = (3, 29)


def judge(picture: Picture) -> Finding:
    revisions, whole = picture.hits(REVISION), picture.hits(INCOMPATIBLE)
    if not revisions and not whole:
        other, panic = picture.hit(NO_SESSION, BAD_ARGUMENT), picture.hit(SETS_PANIC)
        if other:
            why = Words("the kernel does not talk to ipset at all", "内核根本无法与 ipset 通信")
            return ruled_out(why, (other,))
        if panic:
            why = Words("Felix cannot program IP sets; the reason is not shown", "Felix 无法写入 ipset，但没有给出原因")
            return found(POSSIBLE, why, ("ipset",), (panic,))
        return cannot_tell(Words("Felix's ipset errors are not shown", "没有 Felix 的 ipset 报错"))
    settype = next((hit.value("list_type") for hit in revisions), "")
    revision = next((hit.value("n") for hit in revisions), "")
    own = next((hit.value("version") for hit in whole), "")
    installed = [
        row for row in rows(picture, r"^ipset v(?P<version>[\d.]+)", needle="ipset v") if row["version"] != own
    ]
    what_en = f"{settype} with revision {revision}" if settype else "a set of a newer revision"
    what_zh = f"revision 为 {revision} 的 {settype}" if settype else "更新 revision 的集合"
    tool = f"ipset v{own}" if own else "ipset"
    why = Words(
        f"The kernel holds {what_en}, which the image's {tool} does not understand, so Felix cannot list the sets.",
        f"内核中有{what_zh}，镜像内的 {tool} 无法识别，Felix 因此无法列出集合。",
    )
    hits = (*revisions[:1], *whole[:1])
    sets = [hit.value("set") for hit in picture.hits(LISTED, UNPARSED)]
    foreign = [
        row["set"]
        for row in rows(picture, r"^(?P<set>[A-Za-z][\w.:-]+)$", "ipset list -n", "ipset -n", "ipset list -name")
    ]
    objects = (
        *sets[:1],
        settype,
        "ipset",
        *[name for name in foreign if not name.startswith("cali")][:8],
        f"v{own}" if own else "",
        own,
        *[row["version"] for row in installed[:1]],
        *[hit.host for hit in hits if hit.host],
        *[version.version for version in picture.versions("kernel")[:1]],
    )
    return found(PROVEN if installed else STRONG, why, objects, (*installed[:1], *hits, picture.hit(SETS_PANIC)))


def fix(picture: Picture, _finding: Finding) -> tuple[Step, ...]:
    version = picture.version("calico")
    upgrade = Step(
        Words(
            "Upgrade Calico to v3.27.1 or later, which reads its own sets only",
            "将 Calico 升级到 v3.27.1 或更高版本（只读取自己的集合）",
        ),
        "kubectl apply --server-side -f <manifest of that release>",
        "disruptive",
    )
    clear = Step(
        Words(
            "Remove the newer sets: reboot the node (drained), or find and destroy those that Calico did not make",
            "清除较新的集合：排空后重启节点，或找出并销毁不属于 Calico 的集合",
        ),
        "ipset list -n | grep -v ^cali; kubectl drain <node> --ignore-daemonsets && reboot",
        "disruptive",
    )
    if version and version >= NFTABLES:
        nft = Step(
            Words("Or let Felix use nftables, which needs no ipset", "或让 Felix 改用 nftables，不再依赖 ipset"),
            'kubectl patch felixconfiguration default --type merge -p \'{"spec":{"nftablesMode":"Enabled"}}\'',
            "disruptive",
        )
        return (clear, nft)
    return (clear,) if version and version >= ONE_BY_ONE else (upgrade, clear)


CAUSE = Cause(
    id="ipset-kernel-mismatch",
    code="TRT7002",
    severity="high",
    name=Words("ipset and kernel do not fit", "ipset 与内核版本不符"),
    what=Words(
        "A set in the kernel was made in a revision newer than the ipset of the image understands.",
        "内核中的某个集合使用了镜像内 ipset 不支持的新 revision。",
    ),
    explains=("felix-not-ready", "not-ready", "crash-loop", "restarts", "log-errors"),
    look_alikes=(
        ("kernel-module-missing", Words("says 'Cannot open session to kernel'", "报 Cannot open session to kernel")),
        ("version-skew", Words("fails at the API, not at ipset", "失败在 API 而不是 ipset")),
    ),
    signs=(REVISION, INCOMPATIBLE, LISTED, UNPARSED, SETS_PANIC, NO_SESSION, BAD_ARGUMENT),
    judge=judge,
    ask=Ask(
        "ipset --version; kubectl -n <ns> exec <pod> -- ipset --version; uname -r",
        Words("a host newer than the image explains it", "主机版本比镜像新即可解释"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("Both list the sets without an error", "两边都能正常列出集合"),
            "kubectl -n <ns> exec <pod> -- ipset list -n",
        ),
    ),
    prevent=(Words("Try a new kernel on one node first.", "新内核先在一个节点上验证。"),),
)
