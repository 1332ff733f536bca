"""TRT3007: `localhost` is resolved to nothing or to a foreign address, so the health endpoint cannot be used."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.causes.agent.start_evidence import culprits, sick_names
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
from tortie.doctor.picture.facts import Listener, PortTest
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign
from tortie.doctor.words import Words

LOOKUP: Final = Sign("localhost-lookup", "lookup localhost")
CANNOT_ASSIGN: Final = Sign("localhost-cannot-assign", "listen tcp <where>: bind: cannot assign requested address")
DIALLED: Final = Sign("localhost-dialled", 'localhost:<port>/<path>(")?: dial tcp <rest>')
LITERAL: Final = Sign("localhost-literal", '127.0.0.1:<port>/<path>(")?: dial tcp <rest>')
HEALTH_PORTS: Final = ("9099", "9098")
_ADDRESS: Final = re.compile(r"^(?:\[(?P<v6>[0-9a-fA-F:.]+)\]|(?P<v4>[\d.]+)):(?P<port>\d+)\b")
_SERVER: Final = re.compile(r"lookup localhost on \[?([0-9a-fA-F.:]+?)\]?:53", re.I)


def judge(picture: Picture) -> Finding:
    lookups = [hit for hit in picture.hits(LOOKUP) if "localhost." not in hit.line.partition("lookup ")[2][:11]]
    foreign = [(hit, ip) for hit in picture.hits(CANNOT_ASSIGN) if (ip := _foreign(hit.value("where")))]
    dialled = [(hit, ip) for hit in picture.hits(DIALLED) if (ip := _foreign(hit.value("rest")))]
    hosts, shown = _hosts_file(picture)
    servers = [match[1] for hit in lookups if (match := _SERVER.search(hit.line))]
    addresses = [ip for _, ip in (*foreign, *dialled)]
    everything = [*lookups[:2], *(hit for hit, _ in foreign[:2]), *(hit for hit, _ in dialled[:2])]
    objects = [
        "localhost", *addresses, "/etc/hosts", *servers, *culprits(picture, *everything), *sick_names(picture),
        "FELIX_HEALTHHOST",
    ]  # fmt: skip
    evidence = [*shown, *everything]
    if lookups:
        asked = (f" from {servers[0]}", f"（向 {servers[0]} 查询）") if servers else ("", "")
        why = Words(
            f"The host does not resolve `localhost` itself and gets no answer{asked[0]}, so the health endpoint "
            f"cannot be "
            "opened or asked.",
            f"主机未能自行解析 `localhost`{asked[1]}，健康端点无法监听或访问。",
        )
        return found(PROVEN if hosts is False else STRONG, why, objects, evidence)
    real = [ip for ip in addresses if ip != "::1"]
    if real:
        why = Words(
            f"`localhost` is resolved to {real[0]} instead of 127.0.0.1; Felix's health endpoint cannot be used.",
            f"`localhost` 被解析为 {real[0]} 而不是 127.0.0.1，Felix 的健康端点无法使用。",
        )
        return found(PROVEN if hosts is False else STRONG, why, objects, evidence)
    if dialled:
        v4 = _answers_on_v4(picture)
        why = Words(
            "`localhost` leads to ::1, where nothing listens" + (", while Felix answers on 127.0.0.1." if v4 else "."),
            "`localhost` 指向 ::1，而该地址无人监听" + ("；Felix 在 127.0.0.1 上正常应答。" if v4 else "。"),
        )
        sure = STRONG if v4 else LIKELY if hosts is False else POSSIBLE
        return found(sure, why, objects, (*evidence, *v4))
    if hosts is False:
        why = Words(
            "/etc/hosts has no line that maps localhost to 127.0.0.1.",
            "/etc/hosts 中没有把 localhost 指向 127.0.0.1 的行。",
        )
        return found(POSSIBLE, why, objects, shown)
    odd = [(hit, ip) for hit in picture.hits(LITERAL) if (ip := _foreign(hit.value("rest")))]
    if odd:
        # Nothing is resolved where an address stands: the line was edited, or comes from another host.
        ip = odd[0][1]
        why = Words(
            f"the probe's URL is 127.0.0.1 itself; that it dialled {ip} does not fit: this line may be another host's",
            f"探测的 URL 就是 127.0.0.1；却连接了 {ip}，二者不符，该行可能来自另一台主机",
        )
        return ruled_out(why, [odd[0][0]])
    if hosts:
        return ruled_out(
            Words("/etc/hosts maps localhost to 127.0.0.1", "/etc/hosts 已把 localhost 指向 127.0.0.1"), shown
        )
    return cannot_tell(Words("how localhost is resolved on the node is not shown", "没有节点上 localhost 的解析结果"))


def _foreign(where: str) -> str:
    """The address of `1.2.3.4:9099…` when it is a health port and not 127.0.0.1."""
    match = _ADDRESS.match(where)
    address = (match["v6"] or match["v4"]) if match else ""
    return address if match and match["port"] in HEALTH_PORTS and not address.startswith("127.") else ""


def _hosts_file(picture: Picture) -> tuple[bool | None, list[Place]]:
    """Whether the hosts file, or getent, maps localhost to 127.0.0.1; None when neither was shown."""
    for exhibit in (*picture.commands("/etc/hosts"), *picture.commands("getent", "localhost")):
        lines = [line.split("#")[0].split() for line in exhibit.lines]
        cut_out = "grep" in exhibit.command and "localhost" not in exhibit.command
        if cut_out or not exhibit.command.removeprefix("sudo ").startswith(
            ("cat", "getent", "grep", "head", "less", "more", "ssh")
        ):
            continue
        good = any(words[:1] == ["127.0.0.1"] and "localhost" in words[1:] for words in lines)
        return good, [exhibit.place(0, len(exhibit.lines))]
    return None, []


def _answers_on_v4(picture: Picture) -> list[Listener | PortTest | Hit]:
    listening: list[Listener | PortTest | Hit] = [
        item for item in picture.of(Listener) if item.port == 9099 and item.address.startswith("127.")
    ]
    tried = [
        item
        for item in picture.of(PortTest)
        if item.port == 9099 and item.address.startswith("127.") and item.result.startswith(("open", "http"))
    ]
    return [*listening[:1], *tried[:1]]


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    return (
        Step(
            Words("Put the line back at the top of the node's hosts file", "在该节点的 hosts 文件首行恢复此条目"),
            "grep -q '^127.0.0.1.*\\blocalhost\\b' /etc/hosts || sed -i '1i 127.0.0.1 localhost' /etc/hosts",
        ),
        Step(
            Words("Files must be asked before DNS", "解析顺序须先查文件再查 DNS"),
            "grep ^hosts: /etc/nsswitch.conf; getent hosts localhost",
        ),
        Step(
            Words("Restart the agent on that node", "重启该节点上的 calico-node"),
            f"kubectl -n {picture.namespace} delete pod <calico-node pod of that node>",
            "disruptive",
        ),
        Step(
            Words(
                "Where the hosts file is not yours: name the address in Felix and in both probes (`host: 127.0.0.1`)",
                "若无法修改 hosts 文件：在 Felix 与两个探测中直接写地址（`host: 127.0.0.1`）",
            ),
            f"kubectl -n {picture.namespace} set env ds/calico-node FELIX_HEALTHHOST=127.0.0.1",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="localhost-misresolved",
    code="TRT3007",
    severity="high",
    name=Words("localhost is misresolved", "localhost 解析错误"),
    what=Words(
        "`localhost` resolves to nothing or not to 127.0.0.1, so Felix or Typha cannot open its health endpoint, or "
        "kubelet "
        "cannot reach it.",
        "`localhost` 解析不到或不是 127.0.0.1，Felix 或 Typha 无法监听健康端点，或 kubelet 无法访问它。",
    ),
    explains=(
        "killed-by-liveness",
        "crash-loop",
        "restarts",
        "not-ready",
        "felix-not-ready",
        "typha-down",
        "log-errors",
    ),
    look_alikes=(
        ("port-9099-conflict", Words("`address already in use`", "`address already in use`")),
        ("loopback-down", Words("the address dialled is 127.0.0.1", "所连地址是 127.0.0.1")),
    ),
    signs=(LOOKUP, CANNOT_ASSIGN, DIALLED, LITERAL),
    judge=judge,
    ask=Ask(
        "getent hosts localhost; cat /etc/hosts /etc/resolv.conf",
        Words("anything but 127.0.0.1 is this cause", "结果不是 127.0.0.1，就是此原因"),
    ),
    fix=fix,
    verify=(Step(Words("It prints 127.0.0.1", "输出 127.0.0.1"), "getent ahostsv4 localhost | head -1"),),
    prevent=(Words("Keep the line in provisioning templates.", "在装机模板中保留该条目。"),),
    yields_to=("loopback-down",),
)
