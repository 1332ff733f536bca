"""TRT1008: the node's name fails validation: capitals, an underscore, a line break."""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.legacy import LIKELY, PROVEN, STRONG, Ask, Cause, Finding, Step, cannot_tell, found, ruled_out
from tortie.doctor.causes.nodes.bgp_evidence import NODE_BUILT, NODE_NAME, NODE_USED
from tortie.doctor.causes.nodes.node_names import NAME_SIGNS, NODENAME_FILE, STORED_NAME
from tortie.doctor.causes.shared import STARTED, TERMINATING
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

FIELD: Final = Sign("trt1008-field", "error with field (Metadata.)?Name = '<list_name>' \\(")
RULE: Final = Sign("trt1008-rule", "name must consist of lower case alphanumeric characters")
SUBDOMAIN: Final = Sign("trt1008-subdomain", "a lowercase RFC 1123 subdomain must consist of")
LINE_BREAK: Final = Sign("trt1008-line-break", 'nodes "<name>\\n" not found')
NAMES: Final = (NODE_NAME, NODE_BUILT, NODE_USED)


def judge(picture: Picture) -> Finding:
    breaks = [hit for hit in picture.hits(LINE_BREAK) if "\\n" in hit.text]
    rules = picture.hits(FIELD, RULE)
    named = [hit for hit in picture.hits(*NAMES) if hit.value("name") and not _valid(hit.value("name"))]
    if not rules and not breaks:
        if named and picture.hits(SUBDOMAIN, TERMINATING):
            name = named[0].value("name")
            return _found(LIKELY if picture.hits(TERMINATING) else STRONG, picture, name, tuple(named[:1]))
        valid = picture.hits(*NAMES)
        if valid and picture.hits(STARTED):
            return ruled_out(Words("the node registered under its name", "节点已用该名字注册"), valid[:1])
        return cannot_tell(Words("the start-up log with the node's name", "含节点名的启动日志"))
    if breaks:
        name = breaks[0].value("name")
        return _found(STRONG, picture, name.removesuffix("\\n"), tuple(breaks[:1]), line_break=True)
    name = next((hit.value("list_name") for hit in rules if hit.value("list_name")), "")
    name = name or (named[0].value("name") if named else "")
    strength = PROVEN if picture.hits(TERMINATING) or named else STRONG
    return _found(strength, picture, name, (*named[:1], *rules[:1], *picture.hits(TERMINATING)[:1]))


def _found(
    strength: float, picture: Picture, name: str, evidence: tuple[object, ...], *, line_break: bool = False
) -> Finding:
    stored = picture.hits(STORED_NAME)
    shown = repr(name)[1:-1] + ("\\n" if line_break else "")
    fault = _fault(name) if not line_break else Words("ends with a line break", "末尾带换行")
    why = Words(f'The node name "{shown}" is refused: it {fault.en}.', f"节点名“{shown}”不被接受：{fault.zh}。")
    file = NODENAME_FILE if line_break or stored else ""
    objects = (name, "NODENAME", file)
    return found(strength, why, objects, (*stored[:1], *evidence), name=name, line_break="yes" if line_break else "")


def _valid(name: str) -> bool:
    return (
        all(c.isdigit() or ("a" <= c <= "z") or c in "-." for c in name) and name[:1].isalnum() and name[-1:].isalnum()
    )


def _fault(name: str) -> Words:
    if any("A" <= c <= "Z" for c in name):
        return Words("has capitals", "含有大写字母")
    if "_" in name:
        return Words("has an underscore", "含有下划线")
    return Words("is not made of lower-case letters, digits, - and .", "只能由小写字母、数字、- 和 . 组成")


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    name = finding.value("name", "<name>")
    restart = Step(
        Words("Restart the agent on that host", "重启该主机上的 calico-node"),
        f"kubectl -n {picture.namespace} delete pod <calico-node pod of that host>",
        "disruptive",
    )
    if finding.value("line_break"):
        write = Step(
            Words("Write the file without a line break", "重写该文件，不带换行"), f"printf %s {name} > {NODENAME_FILE}"
        )
        return write, restart
    right = name.lower().replace("_", "-")
    field = '{"name":"NODENAME","value":null,"valueFrom":{"fieldRef":{"fieldPath":"spec.nodeName"}}}'
    patch = '{"spec":{"template":{"spec":{"containers":[{"name":"calico-node","env":[' + field + "]}]}}}}"
    return (
        Step(
            Words("Take the name from Kubernetes, which has it in lower case", "名字取自 Kubernetes（小写）"),
            f"kubectl -n {picture.namespace} patch ds calico-node -p '{patch}'",
            "disruptive",
        ),
        Step(
            Words(
                "Without Kubernetes: set the name where the agent is started",
                "非 Kubernetes 部署：在启动参数中设置名字",
            ),
            f"NODENAME={right}",
        ),
        Step(
            Words("Drop a stored copy of the bad name", "清除已存储的错误名字"), f"rm -f {NODENAME_FILE}", "disruptive"
        ),
        restart,
    )


CAUSE = Cause(
    id="nodename-invalid",
    code="TRT1008",
    severity="medium",
    name=Words("the node name is not valid", "节点名不合法"),
    what=Words(
        "The name has capitals, an underscore or a trailing line break; start-up ends on this machine only.",
        "名字含大写、下划线或末尾换行；只有这台机器启动失败。",
    ),
    explains=("start-terminated", "crash-loop", "not-ready"),
    look_alikes=(("nodename-mismatch", Words("the names are valid and differ", "名字合法，只是彼此不同")),),
    signs=(FIELD, RULE, SUBDOMAIN, LINE_BREAK, *NAMES, *NAME_SIGNS, STARTED, TERMINATING),
    judge=judge,
    ask=Ask(
        "hostname; od -c /var/lib/calico/nodename | tail -2",
        Words("capitals, _ or \\n are refused", "大写、下划线或 \\n 都不被接受"),
    ),
    fix=fix,
    verify=(Step(Words("The node is listed", "节点已列出"), "calicoctl get nodes"),),
    prevent=(Words("Lower-case host names; no hand-written nodename file.", "主机名用小写；不要手写 nodename 文件。"),),
)
