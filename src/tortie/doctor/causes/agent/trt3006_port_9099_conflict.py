"""TRT3006: another program holds Felix's health port, so liveness kills a Felix that works."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tortie.doctor.causes.agent.start_evidence import START_SIGNS, culprits, probe_failures, sick_names
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
from tortie.doctor.picture.facts import Listener, Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

IN_USE: Final = Sign("health-port-in-use", "listen tcp <where>: bind: address already in use")
OTHER_BIRD: Final = Sign("another-bird", "I found another BIRD running")
PORTS: Final = ("9099", "9098", "9091")  # Felix health, Typha health, Felix metrics
OURS: Final = ("calico", "felix", "tortie")
# What Felix never answers on its paths; 503 is its own word for "not ready".
_FOREIGN_ANSWER: Final = re.compile(r"(?:statuscode:|reporting|returned) ?(?:40[0-5]|50[02])\b|malformed HTTP", re.I)


def judge(picture: Picture) -> Finding:
    bound = [hit for hit in picture.hits(IN_USE) if hit.value("where").rpartition(":")[2] in PORTS]
    port = bound[0].value("where").rpartition(":")[2] if bound else "9099"
    owners = [listener for listener in picture.of(Listener) if str(listener.port) == port and listener.program]
    foreign = _foreign(picture, port, owners)
    odd = [f for f in probe_failures(picture) if _FOREIGN_ANSWER.search(f.text)]
    objects = [
        port, f":{port}", *(owner.program for owner in foreign), *(owner.host for owner in foreign or owners),
        *culprits(picture, *bound[:2], *(f.hit for f in odd[:1])), *sick_names(picture), "FELIX_HEALTHPORT",
    ]  # fmt: skip
    evidence = (*foreign[:1], *bound[:2], *(f.hit for f in odd[:1]))
    if foreign and (bound or odd):
        return found(PROVEN, _why(port, foreign[0]), objects, evidence, program=foreign[0].program, port=port)
    if foreign:
        failing = probe_failures(picture, "liveness")
        strength = STRONG if failing else LIKELY
        return found(strength, _why(port, foreign[0]), objects, (*evidence, *(f.hit for f in failing[:1])), port=port)
    if owners and bound:
        why = Words(
            f"{port} is held by Calico itself: a second instance runs there",
            f"{port} 由 Calico 自身占用：同机有第二个实例",
        )
        return ruled_out(why, (*owners[:1], *bound[:1]))
    if owners:
        return ruled_out(Words(f"{port} is Felix's own", f"{port} 由 Felix 自己监听"), owners[:1])
    if bound:
        twice = picture.hits(OTHER_BIRD) or picture.said("two-installs")
        why = Words(
            f"Felix cannot open its health port: {port} is already in use. Who holds it is not shown.",
            f"Felix 无法监听健康端口：{port} 已被占用。占用者未给出。",
        )
        return found(POSSIBLE if twice else LIKELY, why, objects, (*bound[:2], *twice[:1]), port=port)
    if odd:
        why = Words(
            f"Something answers on {port} that does not know Felix's paths ({odd[0].text[:60]}).",
            f"{port} 上应答的程序不认识 Felix 的路径（{odd[0].text[:60]}）。",
        )
        return found(POSSIBLE, why, objects, evidence, port=port)
    return cannot_tell(
        Words("Felix's log or the listeners on 9099 are not shown", "没有 Felix 日志，也没有 9099 的监听者")
    )


class _Owner(NamedTuple):
    """Who has the port: a program, or the container for which docker forwards it."""

    place: Place
    program: str
    host: str


def _foreign(picture: Picture, port: str, owners: list[Listener]) -> list[_Owner]:
    published = [
        _Owner(one.place, one.owner, one.host)
        for one in picture.of(Setting)
        if one.scope == "published-port" and one.name == port
    ]
    listening = [
        _Owner(owner.place, owner.program, owner.host)
        for owner in owners
        if not any(word in owner.program.lower() for word in OURS)
    ]
    return [*published, *listening]


def _why(port: str, owner: _Owner) -> Words:
    return Words(
        f"{owner.program} holds port {port}, Felix's health port; liveness asks the wrong program and kills the agent.",
        f"{owner.program} 占用了 Felix 的健康端口 {port}；存活探测问到了别的程序，于是杀掉 calico-node。",
    )


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    port, program = finding.value("port", "9099"), finding.value("program", "the other program")
    return (
        Step(Words("Name the owner of the port", "确认端口的占用者"), f"ss -lntp 'sport = :{port}'"),
        Step(
            Words(
                f"Move {program} to another port in its own configuration and restart it",
                f"在 {program} 的配置中改用其他端口并重启",
            ),
            "",
            "disruptive",
        ),
        Step(
            Words(
                "Where that is impossible, move Felix's port and both probes together",
                "若无法更改，则同时修改 Felix 端口与两个探测",
            ),
            f"kubectl -n {picture.namespace} set env ds/calico-node FELIX_HEALTHPORT=9199",
            "disruptive",
        ),
    )


CAUSE = Cause(
    id="port-9099-conflict",
    code="TRT3006",
    severity="medium",
    name=Words("health port 9099 is taken", "9099 端口被占用"),
    what=Words(
        "Another program in the host's network owns Felix's health port (Typha 9098, metrics 9091).",
        "主机网络中的其他程序占用了 Felix 的健康端口（Typha 为 9098，指标为 9091）。",
    ),
    explains=("killed-by-liveness", "crash-loop", "restarts", "not-ready", "felix-not-ready", "log-errors"),
    look_alikes=(
        ("duplicate-calico-instance", Words("the owner is another calico-felix", "占用者是另一个 calico-felix")),
        (
            "localhost-misresolved",
            Words(
                "`lookup localhost` or `cannot assign requested address`",
                "`lookup localhost` 或 `cannot assign requested address`",
            ),
        ),
        ("loopback-down", Words("127.0.0.1 times out", "127.0.0.1 超时")),
    ),
    signs=(IN_USE, OTHER_BIRD, *START_SIGNS),
    judge=judge,
    ask=Ask("ss -lntp 'sport = :9099'", Words("a foreign owner is this cause", "占用者不是 Calico，就是此原因")),
    fix=fix,
    verify=(
        Step(
            Words("Felix answers", "Felix 有应答"),
            "curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:9099/liveness",
        ),
    ),
    prevent=(
        Words(
            "Register 9091, 9098 and 9099 as taken for programs on the host network.",
            "把 9091、9098、9099 登记为主机网络已占用端口。",
        ),
    ),
)
