"""What a node's own iptables shows of the rules that Calico and kube-proxy wrote: nothing, where it is of the other
backend. And which backend the system's alternatives choose for it.
"""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.causes.kernel.whose_node import elsewhere
from tortie.doctor.causes.underlay.traffic_evidence import agents_fine, counted
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Node, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.places import exhibit_at
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.model.tuples import NamedTuple

# The plain program, whose backend is the system's choice; `iptables-legacy` and `iptables-nft` have theirs in the name.
_PLAIN: Final = lazily(r"(?<![\w./-])(?:/\S{1,40}/)?ip6?tables(?:-save)?(?![\w-])")
_LISTS: Final = lazily(r"\s-[nvxt46]*[LS][nvx]*(?!\w)|\s--list|iptables-save")
# A chain that is asked for by name; both write into these three.
_OF_CHAIN: Final = lazily(r"\s(?:-[nvx]*[LS][nvx]*|--list(?:-rules)?)\s{1,4}(?P<chain>[A-Z][\w-]+)")
_CHAIN_SHOWN: Final = lazily(r"^(?:Chain |-P |:)(?:FORWARD|PREROUTING|POSTROUTING)\b")
# kubelet has a few chains of its own, in the backend of the node's tool.
_OF_KUBE_PROXY: Final = lazily(r"KUBE-(?:FORWARD|SERVICES|NODEPORTS?|SVC-|SEP-|EXTERNAL-|PROXY-|LOAD-)")
_BOTH_USE: Final = ("FORWARD", "PREROUTING", "POSTROUTING", "OUTPUT")
_ASKED: Final = lazily(r"\|\s{0,3}(?:sudo )?e?grep\s(?P<words>[^|;&]{1,80})")
# `update-alternatives --display`, its `--query`, and the link itself.
_CHOSEN: Final = lazily(
    r"(?:link currently points to|^Value:|iptables\s{1,4}->|^)\s{0,4}/\S{1,40}/(?:ip|x)tables-(?P<backend>nft|legacy)"
    r"(?:-multi)?\s*$"
)
_ASKS_CHOICE: Final = ("alternatives", "readlink", "realpath", "ls -l", "which ")
_CURE: Final = lazily(r"(?:update-)?alternatives --set iptables \S{0,60}iptables-legacy\b")
_HELPED: Final = lazily(
    r"\b(?:went away|helped|fixed|solved|cured|resolved|worked|works since|gone after|was gone|made it work)\b"
    r"|解决|修复|恢复|好了|正常了"
)
_NOT_HELPED: Final = lazily(
    r"\b(?:not|n't|never|no) (?:\w{1,12} )?(?:help|fix|solve|cure|resolve|work)|没用|无效|没有?解决|未解决|没好"
)
_NFT_SYSTEM: Final = lazily(
    r"\b(?:Debian(?: GNU/Linux)? (?:1[0-9]|buster|bullseye|bookworm|trixie)"
    r"|(?:CentOS|Red Hat|RHEL|Rocky|Alma|Oracle)[\w ]{0,24}? (?:[89]|10)(?![\d.]\d)"
    r"|Ubuntu (?:21\.10|2[2-9]\.)|Fedora(?: Linux)? (?:3[2-9]|4\d))",
    re.IGNORECASE,
)
_DROPS: Final = lazily(r"^(?:Chain FORWARD \(policy DROP|-P FORWARD DROP|:FORWARD DROP)")
NEAR: Final = 6  # lines between a command that was told and what it did


class View(NamedTuple):
    """A listing of a node's own iptables without one rule of that kind."""

    place: Place
    host: str
    word: str  # cali or KUBE


def views_without(picture: Picture) -> list[View]:
    """Looked for in vain: in a whole listing, or by a count or a search that came back empty."""
    views = [
        View(exhibit.place(0), exhibit.host, word)
        for exhibit in picture.exhibits
        if _of_own_tool(exhibit) and not elsewhere(picture, exhibit.host)
        for word in _missing(exhibit)
    ]
    none = [
        View(exhibit.place(0), exhibit.host, word)
        for word in ("cali", "KUBE")
        for command, number, exhibit in counted(picture, word)
        if number == 0 and "exec" not in exhibit.command and _PLAIN.search(command)
    ]
    of_kube_proxy = kube_proxy_runs(picture) or any(number for _, number, _ in counted(picture, "KUBE"))
    shown = {exhibit.host for exhibit in picture.exhibits if _of_own_tool(exhibit) and "cali-" in exhibit.text}
    # Where Calico's rules are, the tool reads its backend; those of kube-proxy are missing for another reason.
    return [one for one in (*views, *none) if one.word == "cali" or (of_kube_proxy and one.host not in shown)]


def kube_proxy_runs(picture: Picture) -> bool:
    """It is shown, or told, to run: eBPF needs none, and whoever has removed it looks for its rules in vain."""
    pods = picture.pods_now("kube-proxy")
    told = any("kube-proxy" in said.text.lower() for said in picture.said("agents-well"))
    return all(pod.all_ready for pod in pods) if pods else told


def counts_elsewhere(picture: Picture, view: View) -> Place | None:
    """The same count on another node, which has such rules in its own tool's backend."""
    for command, number, exhibit in counted(picture, view.word):
        other = bool(exhibit.host and view.host) and exhibit.host != view.host
        if number and other and _PLAIN.search(command) and "exec" not in exhibit.command:
            return exhibit.place(0)
    return None


def _of_own_tool(exhibit: Exhibit) -> bool:
    if exhibit.prose or not exhibit.lines:
        return False
    command = exhibit.command
    if not command:  # only the plain program of the newer kind prints that warning
        return "use iptables-legacy" in exhibit.text
    return "exec" not in command and bool(_PLAIN.search(command) and _LISTS.search(command))


def _missing(exhibit: Exhibit) -> tuple[str, ...]:
    """Which kinds of rules are in no line, of a listing that would have had them."""
    command, text = exhibit.command, exhibit.text
    searched = _ASKED.search(command)
    if searched:
        found = [line for line in exhibit.lines if line.strip() and not _is_warning(line)]
        words = searched["words"].lower()
        counts = "-c" in words.split() or "wc " in command
        return () if found or counts else tuple(word for word in ("cali", "KUBE") if word.lower() in words)
    if "|" in command:
        return ()
    chain = _OF_CHAIN.search(command)
    if chain and chain["chain"] not in _BOTH_USE:
        return ()
    if not any(_CHAIN_SHOWN.match(line.strip()) for line in exhibit.lines):
        return ()
    none = () if "cali-" in text else ("cali",)
    return none if _OF_KUBE_PROXY.search(text) else (*none, "KUBE")


def _is_warning(line: str) -> bool:
    return "tables present, use" in line


def chosen(picture: Picture) -> list[tuple[str, str, Place]]:
    """Host, backend and place of what the system's alternatives point to."""
    found = []
    before = ""
    for exhibit in picture.exhibits:
        # The first line of `--display` reads like something that was typed.
        host = before if exhibit.command.endswith((" - auto mode", " - manual mode")) else exhibit.host
        before = host
        asks = any(word in exhibit.command for word in _ASKS_CHOICE)
        if exhibit.prose or "tables" not in exhibit.command + exhibit.text:
            continue
        for index, line in enumerate(exhibit.lines):
            match = _CHOSEN.search(line[:300])
            if match and (asks or "currently points" in line):
                found.append((host, match["backend"], exhibit.place(index)))
                break
    return found


def legacy_loaded(picture: Picture, host: str) -> Setting | None:
    """A table of the older kind is in the kernel of that node: somebody has used it."""
    modules = (one for one in picture.of(Setting) if one.scope == "module" and one.name.startswith("iptable_"))
    return next((one for one in modules if one.value == "loaded" and one.host in ("", host)), None)


def nft_by_system(picture: Picture) -> bool:
    """Systems whose iptables is of the newer kind unless somebody changed it."""
    texts = [node.os_image for node in picture.of(Node)]
    texts += [
        line[:300] for exhibit in picture.exhibits for line in exhibit.lines if "PRETTY_NAME" in line or exhibit.prose
    ]
    return any(_NFT_SYSTEM.search(text) for text in texts)


def forward_drops(picture: Picture, view: View) -> bool:
    """The same listing drops what nobody accepts: so somebody's acceptance has to be in it."""
    exhibit = exhibit_at(picture, view.place)
    return exhibit is not None and any(_DROPS.match(line.strip()) for line in exhibit.lines)


def legacy_cured(picture: Picture) -> Place | None:
    """Another node, or this one once, was well after its tools had been set to legacy; a person says so."""
    lines: dict[str, list[tuple[int, str, Place]]] = {}
    for exhibit in picture.exhibits:
        for index, line in enumerate(exhibit.lines):
            lines.setdefault(exhibit.source, []).append((exhibit.number(index), line[:400], exhibit.place(index)))
        if exhibit.command and exhibit.command_lines and "alternatives" in exhibit.command:
            at = exhibit.command_lines[0]
            place = Place(exhibit.source, at, at)
            lines.setdefault(exhibit.source, []).append((at, exhibit.command[:400], place))
    for known in lines.values():
        for number, line, place in known:
            if "alternatives --set iptables" not in line or not _CURE.search(line):
                continue
            near = [text for at, text, _ in known if abs(at - number) <= NEAR]
            if any(_HELPED.search(text) for text in near) and not any(_NOT_HELPED.search(text) for text in near):
                return place
    return None


def writers_run(picture: Picture) -> bool:
    """The agents have written their rules: they are ready, as shown or as told."""
    return agents_fine(picture) or (not picture.agents_now() and bool(picture.said("agents-well")))
