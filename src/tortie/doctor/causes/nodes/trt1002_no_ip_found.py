"""TRT1002: autodetection looked at the host and found no address it may take."""

from __future__ import annotations

from typing import Final

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
    ruled_out,
)
from tortie.doctor.causes.nodes.address_replay import skipped_by
from tortie.doctor.causes.nodes.bgp_addresses import ADDRESS_SIGNS, inner_link
from tortie.doctor.causes.nodes.bgp_evidence import NODE_BUILT, NODE_NAME, NODE_USED, node_at
from tortie.doctor.causes.nodes.trt1001_autodetect_wrong_interface import method_for
from tortie.doctor.causes.shared import STARTED, TERMINATING
from tortie.doctor.picture.facts import Interface
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

NONE_FOUND: Final = Sign("trt1002-none", "Unable to auto-detect an <family> address: no valid <rest>")
NO_MATCH: Final = Sign(
    "trt1002-regex", "Unable to auto-detect an <family> address using interface regex(es)? [<list_re>]: <rest>"
)
NO_MATCH_BARE: Final = Sign(
    "trt1002-regex-bare", "auto-detect an <family> address using interface regex(es)? <re>: no valid"
)
EXCLUDED: Final = Sign("trt1002-skip", "Unable to auto-detect an <family> address while excluding [<list_re>]: <rest>")
OUTSIDE: Final = Sign(
    "trt1002-cidr", "Unable to auto-detect an <family> address using interface cidr(s)? [<list_re>]: <rest>"
)
UNREACHED: Final = Sign("trt1002-reach", "Unable to auto-detect <family> address by connecting to <dest>: <rest>")
NO_AUTODETECT: Final = Sign("trt1002-couldnt", "Couldn't autodetect an <family> address. If auto-detecting")
OLD_FORM: Final = Sign("trt1002-old", "Couldn't autodetect a management <family> address")
FAILURES: Final = (NO_MATCH, NO_MATCH_BARE, EXCLUDED, OUTSIDE, UNREACHED, NONE_FOUND, NO_AUTODETECT, OLD_FORM)
KEPT: Final = Sign("trt1002-kept", "Autodetection of <family> address failed, keeping existing value: <rest>")
NEAR: Final = 3  # lines; what is said of one look stands together
METHOD: Final = "IP_AUTODETECTION_METHOD"


def judge(picture: Picture) -> Finding:
    hits, kept = _failures(picture)
    if kept and not hits:
        return ruled_out(Words("the address that was stored is kept", "沿用了已存储的地址"), kept[:1])
    if not hits:
        if picture.hits(*ADDRESS_SIGNS):
            return ruled_out(
                Words("an address was detected at start-up", "启动时探测到了地址"), picture.hits(*ADDRESS_SIGNS)[:1]
            )
        return cannot_tell(Words("the start-up log of calico-node", "calico-node 的启动日志"))
    if later := _later(picture, hits[-1]):
        agents = picture.agents_now()
        if agents and all(pod.all_ready for pod in agents):
            return ruled_out(Words("a later start found an address", "之后的启动已探测到地址"), (later,))
    first = hits[0]
    skipped = _overlooked(picture)
    method = picture.setting(METHOD)
    pattern = next((hit.value("list_re") or hit.value("re") or hit.value("dest") for hit in hits if hit.values), "")
    family = first.value("family")
    node = node_at(picture, first.place, first.host)
    ended = picture.hits(TERMINATING)
    strength = PROVEN if ended and (skipped or pattern) else STRONG
    if later:
        strength = POSSIBLE
    elif all(hit.sign in (NO_AUTODETECT.key, OLD_FORM.key) for hit in hits) and not ended:
        strength = LIKELY
    have = ", ".join(_shown(picture, link) for link in skipped[:2])
    how = pattern or (method.value if method else "first-found")
    why = Words(
        f"No {family} address was found with {how}"
        + (f"; the host has {have}, which it passes over." if have else "."),
        f"用 {how} 没有探测到 {family} 地址" + (f"；主机上有 {have}，但被跳过了。" if have else "。"),
    )
    names = [link.name for link in skipped]
    objects = (*names, pattern, METHOD, method.value if method else "", node)
    evidence = (method, *skipped[:2], *hits[:2], *ended[:1])
    return found(
        strength,
        why,
        objects,
        evidence,
        node=node,
        interface=names[0] if names else "",
        family=family,
        regex=_regex(hits),
    )


def _failures(picture: Picture) -> tuple[list[Hit], list[Hit]]:
    """Looks that found nothing, and those after which the node goes on with the address that it had."""
    kept = picture.hits(KEPT)
    spared = [
        hit
        for hit in picture.hits(*FAILURES)
        if any(k.place.source == hit.place.source and 0 <= k.place.first - hit.place.first <= NEAR for k in kept)
    ]
    return [hit for hit in picture.hits(*FAILURES) if hit not in spared], kept


def _regex(hits: list[Hit]) -> str:
    """The names that were asked for; other nodes may still need them."""
    asked = [hit.value("list_re") or hit.value("re") for hit in hits if hit.sign in (NO_MATCH.key, NO_MATCH_BARE.key)]
    return ",".join(asked[0].split()) if asked else ""


def _shown(picture: Picture, link: Interface) -> str:
    """The link with its address, and the pattern of first-found that its name falls under."""
    pattern = skipped_by(picture, link.name)
    return f"{link.name} ({link.addresses[0]}" + (f", {pattern})" if pattern else ")")


def _later(picture: Picture, failure: Hit) -> Hit | None:
    """An address that was found after the failure, in the same source."""
    found_after = [
        hit
        for hit in picture.hits(*ADDRESS_SIGNS, STARTED)
        if hit.place.source == failure.place.source and hit.place.first > failure.place.first
    ]
    return found_after[0] if found_after else None


def _overlooked(picture: Picture) -> list[Interface]:
    """Links of the host that have an address and are no software's own."""
    links = picture.of(Interface)
    return [
        link
        for link in links
        if link.name != "lo"
        and not inner_link(link.name)
        and any("." in address and not address.startswith(("127.", "169.254.")) for address in link.addresses)
    ]


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    interface, namespace = finding.value("interface"), picture.namespace
    if finding.value("family").lower() == "ipv4" and not interface and _only_ipv6(picture):
        return (
            Step(
                Words("The host has IPv6 only: say so", "主机只有 IPv6：明确配置"),
                f"kubectl -n {namespace} set env ds/calico-node IP=none IP6=autodetect CALICO_ROUTER_ID=hash",
                "disruptive",
            ),
        )
    names = ",".join(name for name in (finding.value("regex"), f"^{interface}$") if name)
    method = f"interface={names}" if interface else method_for(picture)
    version = picture.version("calico")
    if version and version >= (3, 22):
        method = "kubernetes-internal-ip"
    return (
        Step(Words("See which links have addresses on that host", "查看该主机哪些网卡有地址"), "ip -br -4 addr"),
        Step(
            Words(
                "Choose a method that fits this host and all others; the agents restart",
                "改用适合本机及其他主机的探测方法，calico-node 会滚动重启",
            ),
            f"kubectl -n {namespace} set env ds/calico-node '{METHOD}={method}'",
            "disruptive",
        ),
    )


def _only_ipv6(picture: Picture) -> bool:
    links = [link for link in picture.of(Interface) if link.name != "lo" and link.addresses]
    return bool(links) and not any("." in address for link in links for address in link.addresses)


CAUSE = Cause(
    id="no-ip-found",
    code="TRT1002",
    severity="high",
    name=Words("no usable address was found", "找不到可用地址"),
    what=Words(
        "Autodetection finds nothing: no link matches the pattern, the only link is on the skip list, or the "
        "destination cannot be reached.",
        "自动探测一无所获：没有网卡匹配正则，唯一的网卡在跳过名单里，或目标地址不可达。",
    ),
    explains=("start-terminated", "crash-loop", "not-ready"),
    look_alikes=(
        ("autodetect-method-invalid", Words("the method itself is refused", "方法本身不被接受")),
        ("autodetect-wrong-interface", Words("start-up goes on, with a wrong address", "启动成功，但地址不对")),
    ),
    signs=(*FAILURES, KEPT, *ADDRESS_SIGNS, STARTED, TERMINATING, NODE_NAME, NODE_BUILT, NODE_USED),
    judge=judge,
    ask=Ask(
        "ip -br -4 addr",
        Words(
            f"on that node, next to the value of {METHOD}: no name fits",
            f"在该节点上执行，与 {METHOD} 的值对照：没有一个网卡名匹配",
        ),
    ),
    fix=fix,
    verify=(
        Step(
            Words("It says which address was taken", "会显示采用的地址"),
            "kubectl -n <namespace> logs <calico-node pod> | grep -i autodetected",
        ),
    ),
    prevent=(Words("Choose by address, not by the name of a link.", "按地址选择，不要按网卡名。"),),
)
