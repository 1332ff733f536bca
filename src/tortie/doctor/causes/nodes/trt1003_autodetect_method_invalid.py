"""TRT1003: the autodetection method is written in a way that this release does not understand."""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.legacy import PROVEN, STRONG, Ask, Cause, Finding, Step, cannot_tell, found, ruled_out
from tortie.doctor.causes.nodes.bgp_addresses import ADDRESS_SIGNS
from tortie.doctor.causes.nodes.bgp_evidence import NODE_BUILT, NODE_NAME, NODE_USED, node_at
from tortie.doctor.causes.nodes.trt1001_autodetect_wrong_interface import method_for
from tortie.doctor.causes.shared import TERMINATING
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

INVALID: Final = Sign("trt1003-method", "Invalid IP autodetection method: <rest>")
BAD_CIDR: Final = Sign("trt1003-cidr", 'Invalid CIDR "<text>" for IP autodetection method(: <rest>)?')
BAD_CIDR_BARE: Final = Sign("trt1003-cidr-bare", "for IP autodetection method: cidr=<rest>")
BAD_REGEX: Final = Sign("trt1003-regex", "Invalid interface regex")
NO_KUBERNETES: Final = Sign(
    "trt1003-kubernetes", "Cannot use method 'kubernetes-internal-ip' when not running on a Kubernetes cluster"
)
# Tortie's own words; what it merely remarks on does not end a start.
REFUSED: Final = Sign("trt1003-refused", "cannot be meant: IP_AUTODETECTION_METHOD=<value>: <rest>")
REFUSED_ALONE: Final = Sign("trt1003-refused-alone", "why: IP_AUTODETECTION_METHOD=<value>: <rest>")
FAILURES: Final = (INVALID, REFUSED, REFUSED_ALONE, BAD_CIDR, BAD_CIDR_BARE, BAD_REGEX, NO_KUBERNETES)
METHOD: Final = "IP_AUTODETECTION_METHOD"


def judge(picture: Picture) -> Finding:
    hits = picture.hits(*FAILURES)
    setting = picture.setting(METHOD)
    if not hits:
        accepted = picture.hits(*ADDRESS_SIGNS)
        if accepted:
            return ruled_out(Words("the method was accepted", "探测方法已被接受"), accepted[:1])
        return cannot_tell(Words("the start-up log of calico-node", "calico-node 的启动日志"))
    agents = picture.agents_now()
    after = [hit for hit in picture.hits(*ADDRESS_SIGNS) if hit.place > hits[-1].place]
    if after and agents and all(pod.all_ready for pod in agents):
        return ruled_out(Words("a later start accepted the method", "之后的启动已接受该方法"), after[:1])
    written = next((hit.value("rest") for hit in hits if hit.sign == INVALID.key), "").strip(" .'\"")
    written = written or next((hit.value("value") for hit in hits if hit.value("value")), "")
    written = written or (setting.value if setting else "") or _quoted(hits[0].line)
    ended = picture.hits(TERMINATING)
    why = Words(
        f"{METHOD}={written} is not understood by this release, so the agent ends at start-up.",
        f"该版本不认识 {METHOD}={written}，calico-node 启动即退出。",
    )
    node = node_at(picture, hits[0].place, hits[0].host)
    version = next((v.version for v in picture.versions("calico")), "")
    objects = (written, METHOD, version, node)
    return found(
        PROVEN if ended or setting else STRONG, why, objects, (setting, *hits[:2], *ended[:1]), written=written
    )


def _quoted(line: str) -> str:
    return line.rpartition(": ")[2].strip()


def _meant(picture: Picture, written: str) -> str:
    """The nearest form that can be read, else one that fits the cluster."""
    from tortie.addressing.methods import BadMethod, parse_method

    right = ""
    try:
        parse_method(written)
    except BadMethod as error:
        right = error.right
    too_new = written.startswith(("kubernetes-internal-ip", "cidr="))
    return right if right and right != "agreed" and not too_new else method_for(picture)


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    method = _meant(picture, finding.value("written"))
    return (
        Step(
            Words(
                "Write the method in a form this release knows: first-found, interface=<regex>, "
                "skip-interface=<regex>, can-reach=<destination>, cidr=<network> (from v3.16), "
                "kubernetes-internal-ip (from v3.22)",
                "改成该版本认识的写法：first-found、interface=<正则>、skip-interface=<正则>、can-reach=<目标>、"
                "cidr=<网段>（v3.16 起）、kubernetes-internal-ip（v3.22 起）",
            ),
            f"kubectl -n {picture.namespace} set env ds/calico-node '{METHOD}={method}'",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="autodetect-method-invalid",
    code="TRT1003",
    severity="high",
    name=Words("the autodetection method is not understood", "自动探测方法写错"),
    what=Words(
        "IP_AUTODETECTION_METHOD is a bare name, a bad CIDR or regular expression, or newer than the image.",
        "IP_AUTODETECTION_METHOD 只写了网卡名、CIDR 或正则有误，或该方法比镜像版本新。",
    ),
    explains=("start-terminated", "crash-loop", "not-ready"),
    look_alikes=(("no-ip-found", Words("the method is accepted and finds nothing", "方法被接受，只是没找到地址")),),
    signs=(*FAILURES, *ADDRESS_SIGNS, TERMINATING, NODE_NAME, NODE_BUILT, NODE_USED),
    judge=judge,
    ask=Ask(
        "kubectl -n <namespace> get ds calico-node -o yaml | grep -A1 AUTODETECTION",
        Words("the value must begin with a method's name", "取值必须以方法名开头"),
    ),
    fix=fix,
    verify=(
        Step(
            Words("It says which address was taken", "会显示采用的地址"),
            "kubectl -n <namespace> logs <calico-node pod> | grep -i autodetected",
        ),
    ),
    prevent=(Words("Try a new method on one node first.", "新方法先在一个节点上验证。"),),
)
