"""What people did while they looked: a service stopped, a rule flushed, a pod deleted. What is shown below it is after.

Only commands that were really typed count, with their answer: the fix of a page that somebody quotes is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Action, Fact
from tortie.doctor.reading.commands import effective
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.doctor.reading.readers.host_commands import segments

_FAILED: Final = lazily(
    r"^(?:Error|error:|Failed|Unit .* not (?:found|loaded)|sysctl: |iptables: |.*command not found)"
)
_KUBECTL: Final = r"(?:kubectl|oc) (?:-\S+ (?:[\w-]+ )?)?"
# The program and its verb, and what it was done to.
_DOING: Final = tuple(
    (lazily(pattern), verb)
    for pattern, verb in (
        (r"systemctl (?:--\S+ )*(stop|start|restart|reload|disable|enable|mask|unmask) (?:--\S+ )*([\w@.-]+)", ""),
        (r"service ([\w.-]+) (stop|start|restart|reload)\b", "service"),
        (r"(?:ip6?tables(?:-legacy|-nft)?) (?:-t \w+ )?(-F|-X|-Z|--flush)\b ?([\w-]*)", "flush"),
        (r"ip6?tables(?:-legacy|-nft)? (?:-t \w+ )?()(-[PIAD] .{1,200})", "set"),
        (r"nft ()(flush .{1,100}|delete .{1,100})", "flush"),
        (r"sysctl (?:-w )?()([a-z][\w.]+=\S+)", "set"),
        (r"echo ()(\S+) > /proc/sys/\S+", "set"),
        (r"(setenforce|swapoff|swapon|modprobe|rmmod) (\S+)", "program"),
        (r"ufw (disable|enable|allow|deny|reload)\b ?(.{0,80})", ""),
        (r"firewall-cmd ()((?:--(?:permanent|quiet|zone[= ]\S+) ){0,3}--(?:add|remove)-\S+.{0,80}|--reload)", "set"),
        (rf"{_KUBECTL}(delete|apply|edit|patch|cordon|drain|uncordon|label|annotate|scale) (.{{1,160}})", ""),
        (rf"{_KUBECTL}rollout (restart) (.{{1,120}})", ""),
        (rf"{_KUBECTL}set (env|image) (.{{1,160}})", ""),
        (r"calicoctl (apply|delete|patch|replace|create) (.{1,160})", ""),
        (r"calicoctl ipam (release) (.{1,120})", ""),
        (r"ip (?:link|addr|address|route|rule|r|a|l) (add|del|delete|set|replace|flush) (.{1,160})", ""),
        (r"(reboot|shutdown)\b ?(.{0,20})", ""),
        (r"(rm|mv|cp|chmod|chown) (.{0,100}/(?:etc/cni|opt/cni|var/lib/calico|var/lib/cni)\b.{0,100})", ""),
    )
)  # fmt: skip


def read(exhibit: Exhibit) -> Iterator[Fact]:
    if not exhibit.command or exhibit.prose or not exhibit.command_lines:
        return
    inner = effective(exhibit.command).command
    failed = any(_FAILED.match(line) for line in exhibit.lines[:5])
    place = Place(exhibit.source, exhibit.command_lines[0], exhibit.command_lines[-1])
    for segment in segments(inner[:2_000]):
        words = re.sub(r"^(?:sudo|time|nohup)(?: -\S+)* ", "", segment.strip())
        for pattern, kind in _DOING:
            if match := pattern.match(words):
                yield _action(place, match, kind, exhibit.host, failed)
                break


def _action(place: Place, match: re.Match[str], kind: str, host: str, failed: bool) -> Action:
    verb, thing = match[1], match[2]
    if kind == "service":
        verb, thing = thing, verb
    elif kind in ("flush", "set"):
        verb = kind
    return Action(place, verb, thing.strip().removesuffix(".service"), host, failed)
