"""Pictures of a diagnosis as SVG: the cluster with its sessions, and the start against the probe's window."""

from __future__ import annotations

import math
from typing import Final

from tortie.doctor.answer.labels import label
from tortie.doctor.answer.markup import escaped
from tortie.doctor.picture.timeline import Start
from tortie.doctor.picture.topology import Edge, Member, Topology
from tortie.doctor.words import Language, Words
from tortie.model.measure import cut_to_ems

WIDTH: Final = 720
NODES_DRAWN: Final = 24
_BOX: Final = (168, 58)
_WORDS: Final = (70, 16)  # what the words on an edge take
Point = tuple[float, float]

_TEXTS: Final = {
    "registered": Words("registered", "注册为"),
    "foreign": Words("nobody's InternalIP", "不是任何节点的 InternalIP"),
    "more": Words("and {count} more nodes", "另有 {count} 个节点"),
    "kill": Words("killed at {seconds:g} s", "{seconds:g} 秒时被杀"),
    "budget": Words("liveness window {seconds:g} s", "存活探测窗口 {seconds:g} 秒"),
    "log": Words("log shows {seconds:g} s of start-up", "日志显示启动进行了 {seconds:g} 秒"),
    "probe": Words("probe", "探测"),
}


def _say(key: str, language: Language, **values: object) -> str:
    return _TEXTS[key].to(language).format(**values)


def draw_topology(seen: Topology, culprits: frozenset[str], language: Language) -> str:
    """Members around a circle, foreign addresses too; empty when there is nothing to see: boxes alone are a list."""
    members = sorted(seen.nodes, key=lambda member: _dull(member, seen, culprits))[:NODES_DRAWN]
    height, at = _positions(members)
    written: list[Point] = []
    rows = [_edge(edge, at, written) for edge in seen.edges if edge.one in at and edge.other in at]
    if not rows and not any(map(_is_wrong, members)):
        return ""
    rows += [_member(member, at[member.name], culprits, language) for member in members]
    left = len(seen.nodes) - len(members)
    if left > 0:
        rows.append(f'<text class="note" x="12" y="{height - 10}">{_say("more", language, count=left)}</text>')
    return _svg(height, rows, label("topology", language))


def _dull(member: Member, seen: Topology, culprits: frozenset[str]) -> tuple[int, str]:
    """What matters is drawn first when not all fit."""
    if {member.name, member.internal, member.registered} & culprits or member.foreign:
        return (0, member.name)
    if any(not edge.up and member.name in (edge.one, edge.other) for edge in seen.edges):
        return (1, member.name)
    return (2, member.name)


def _positions(members: list[Member]) -> tuple[int, dict[str, tuple[float, float]]]:
    count = len(members)
    ordered = sorted(members, key=lambda member: (member.foreign, member.name))
    width, height = _BOX
    if count <= 3:
        step = (WIDTH - width - 16) / max(1, count - 1)
        return 110, {member.name: (width / 2 + 8 + step * n, 55.0) for n, member in enumerate(ordered)}
    across = (WIDTH - width) / 2 - 8
    down = max(110.0, count * 17.0)
    total = int(2 * down + height + 40)
    at = {}
    for number, member in enumerate(ordered):
        angle = 2 * math.pi * number / count - math.pi / 2
        at[member.name] = (WIDTH / 2 + across * math.cos(angle), total / 2 + down * math.sin(angle))
    return total, at


def _edge(edge: Edge, at: dict[str, Point], written: list[Point]) -> str:
    """The line, and above it what a session that is down says; `written` are the places of such words so far."""
    (x1, y1), (x2, y2) = at[edge.one], at[edge.other]
    kind = "up" if edge.up else "down"
    line = f'<line class="session {kind}" x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}"/>'
    if edge.up:
        return line
    # Off the middle, where edges cross, and never over another one's words.
    shares = (0.5, 0.36, 0.64) if y1 == y2 else (0.58, 0.42, 0.68, 0.32)
    points = [(x1 * share + x2 * (1 - share), y1 * share + y2 * (1 - share)) for share in shares]
    free = [(x, y) for x, y in points if not any(abs(x - a) < _WORDS[0] and abs(y - b) < _WORDS[1] for a, b in written)]
    x, y = (free or points)[0]
    written.append((x, y))
    text = escaped(cut_to_ems(edge.info, 17))
    return f'{line}<text class="info" x="{x:.0f}" y="{y - 5:.0f}">{text}</text>'


def _member(member: Member, at: tuple[float, float], culprits: frozenset[str], language: Language) -> str:
    x, y = at
    width, height = _BOX
    wrong = _is_wrong(member)
    classes = ["member"]
    if member.foreign:
        classes.append("foreign")
    if {member.name, member.registered} & culprits or wrong:
        classes.append("culprit")
    elif member.ready is False or member.agent is False:
        classes.append("sick")
    lines = [(member.name, "name")]
    if member.foreign:
        lines.append((_say("foreign", language), "note"))
    elif member.internal:
        lines.append((member.internal, "address"))
    if wrong:
        lines.append((f"{_say('registered', language)} {member.registered}", "bad"))
    top = y - 7.5 * (len(lines) - 1)
    texts = "".join(
        f'<text class="{kind}" x="{x:.0f}" y="{top + 15 * n + 4:.0f}">{escaped(cut_to_ems(text, 13.5))}</text>'
        for n, (text, kind) in enumerate(lines)
    )
    box = f'<rect x="{x - width / 2:.0f}" y="{y - height / 2:.0f}" width="{width}" height="{height}" rx="9"/>'
    return f'<g class="{" ".join(classes)}"><title>{escaped(member.name)}</title>{box}{texts}</g>'


def _is_wrong(member: Member) -> bool:
    return bool(member.registered and member.internal and member.registered != member.internal)


def draw_window(start: Start, language: Language) -> str:
    """Seconds from left to right: what the log shows above, the probes and the kill below."""
    if start.window is None or start.seconds <= 0:
        return ""
    kill = start.window.kill_after_s
    span = max(start.seconds, kill) * 1.12 or 1.0
    left, right, height = 16, WIDTH - 16, 150

    def x(seconds: float) -> float:
        return left + (right - left) * seconds / span

    rows = [f'<line class="axis" x1="{left}" y1="112" x2="{right}" y2="112"/>']
    step = _step(span)
    tick = 0.0
    while tick <= span:
        rows.append(f'<line class="axis" x1="{x(tick):.1f}" y1="112" x2="{x(tick):.1f}" y2="118"/>')
        rows.append(f'<text class="tick" x="{x(tick):.1f}" y="134">{tick:g} s</text>')
        tick += step
    bar = max(3.0, x(start.seconds) - left)
    rows.append(f'<rect class="log" x="{left}" y="38" width="{bar:.1f}" height="18" rx="4"/>')
    shown = round(start.seconds, 1)
    rows.append(f'<text class="left" x="{left}" y="30">{escaped(_say("log", language, seconds=shown))}</text>')
    for number in range(start.window.failures):
        at = x(start.window.initial_delay_s + number * start.window.period_s)
        rows.append(f'<circle class="probe" cx="{at:.1f}" cy="94" r="5"/>')
    end = x(kill)
    rows.append(f'<line class="kill" x1="{end:.1f}" y1="34" x2="{end:.1f}" y2="112"/>')
    anchor = "left" if end < WIDTH / 2 else "right"
    shift = 8 if anchor == "left" else -8
    text = escaped(_say("budget", language, seconds=kill))
    rows.append(f'<text class="{anchor} bad" x="{end + shift:.1f}" y="74">{text}</text>')
    return _svg(height, rows, label("window", language))


def _step(span: float) -> float:
    rough = span / 6
    size = 10 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    return float(next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough))


def _svg(height: int, rows: list[str], title: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escaped(title)}">'
        f"<title>{escaped(title)}</title>{''.join(rows)}</svg>"
    )
