"""TRT1014: another BGP daemon on the host owns TCP 179."""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.legacy import (
    LIKELY,
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
from tortie.doctor.causes.nodes.bgp_evidence import BGP_PORT, node_at
from tortie.doctor.picture.facts import Listener
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign
from tortie.doctor.words import Words

NO_SOCKET: Final = Sign("trt1014-no-socket", "No listening socket")
CANNOT_OPEN: Final = Sign("trt1014-cannot-open", "Cannot open listening socket")
IN_USE: Final = Sign("trt1014-in-use", "bind: Address (already )?in use")
BIRD_IN_USE: Final = Sign("trt1014-bird-in-use", "BGP: bind: Address<rest>")
LISTEN_PORT_SINCE: Final = (3, 16)


def judge(picture: Picture) -> Finding:
    listeners = [listener for listener in picture.of(Listener) if listener.port == BGP_PORT]
    foreign = [listener for listener in listeners if listener.program and not listener.program.startswith("bird")]
    down = [s for s in picture.sessions_down() if "no listening socket" in s.info.lower()]
    opened = [hit for hit in picture.hits(CANNOT_OPEN, IN_USE, BIRD_IN_USE) if "bird" in hit.line.lower()]
    texts = [*picture.hits(NO_SOCKET), *opened]
    agents = picture.agents_now()
    if foreign and (down or texts or not (agents and all(pod.all_ready for pod in agents))):
        owner = foreign[0]
        where = owner.host or (node_at(picture, down[0].place, down[0].host) if down else "")
        why = Words(
            f"{owner.program} listens on TCP 179{' of ' + where if where else ''}, so BIRD cannot.",
            f"{where + ' 上 ' if where else ''}TCP 179 被 {owner.program} 占用，BIRD 无法监听。",
        )
        strength = PROVEN if down or texts else LIKELY
        objects = (owner.program, "179", where, "listenPort")
        return found(strength, why, objects, (owner, *down[:2], *texts[:2]), program=owner.program, node=where)
    if down or opened:
        where = (
            node_at(picture, down[0].place, down[0].host) if down else node_at(picture, opened[0].place, opened[0].host)
        )
        if any(listener.program.startswith("bird") for listener in listeners) and not opened:
            return ruled_out(Words("the listener on 179 is bird", "179 端口的监听者就是 bird"), listeners)
        why = Words(
            f"BIRD{' on ' + where if where else ''} has no listening socket: something else has TCP 179.",
            f"{where + ' 上的 ' if where else ''}BIRD 没有监听套接字：TCP 179 已被其他进程占用。",
        )
        return found(STRONG if opened else LIKELY, why, ("179", where), (*down[:2], *texts[:2]), node=where)
    if listeners and all(listener.program.startswith("bird") for listener in listeners if listener.program):
        return ruled_out(Words("the listener on 179 is bird", "179 端口的监听者就是 bird"), listeners[:1])
    return cannot_tell(Words("who listens on TCP 179", "谁在监听 TCP 179"))


def fix(picture: Picture, finding: Finding) -> tuple[Step, ...]:
    program = finding.value("program", "<daemon>")
    version = picture.version("calico")
    steps = [
        Step(Words("See who has the port", "查看端口被谁占用"), "ss -lntp 'sport = :179'"),
        Step(
            Words(
                f"Stop {program} and keep it from starting again, if nobody needs it",
                f"若无人使用，停掉 {program} 并禁止自启",
            ),
            f"systemctl disable --now {program}",
            "disruptive",
        ),
    ]
    if version is None or version >= LISTEN_PORT_SINCE:
        steps.append(
            Step(
                Words(
                    "Or let Calico use another port on all nodes (from v3.16), and open it in the firewalls",
                    "或让 Calico 在所有节点改用其他端口（v3.16 起），并在防火墙放行",
                ),
                'calicoctl patch bgpconfig default -p \'{"spec":{"listenPort":178}}\'',
                "disruptive",
            )
        )
    return tuple(steps)


CAUSE = Cause(
    id="port-179-conflict",
    code="TRT1014",
    severity="medium",
    name=Words("port 179 is taken", "179 端口被占用"),
    what=Words("Another BGP daemon on the host owns TCP 179.", "主机上另一个 BGP 进程占用了 TCP 179。"),
    explains=("bgp-down", "bird-not-ready", "not-ready", "traffic-dead"),
    look_alikes=(
        ("bgp-port-blocked", Words("the state is start, not down", "状态是 start 而不是 down")),
        ("duplicate-calico-instance", Words("the owner is another bird", "占用者是另一个 bird")),
    ),
    signs=(NO_SOCKET, CANNOT_OPEN, IN_USE, BIRD_IN_USE),
    judge=judge,
    ask=Ask("ss -lntp 'sport = :179'", Words("any owner but bird is the culprit", "占用者不是 bird 就是它")),
    fix=fix,
    verify=(Step(Words("bird listens", "监听者为 bird"), "ss -lntp 'sport = :179'"),),
    prevent=(
        Words(
            "One BGP speaker per host, or fixed different ports.", "每台主机只运行一个 BGP 进程，或固定使用不同端口。"
        ),
    ),
    yields_to=("duplicate-calico-instance",),
)
