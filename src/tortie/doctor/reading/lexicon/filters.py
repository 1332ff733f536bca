"""What people say a program of the host did to the network of pods: link managers, firewalls that load their rules."""

from __future__ import annotations

from typing import Final

from tortie.doctor.reading.lexicon.rule import Rule

_PODS: Final = r"(?:pods?|containers?|(?:pod )?routes?)\b"
_LOST: Final = (
    r"(?:los[et]|losing|cut off|unreachable|gone\b|vanish|disappear|breaks?\b|broken\b|no network|"
    r"without (?:a |any )?network|disconnect|dead\b)"
)
_WHEN: Final = r"(?:when(?:ever)?|after|once|as soon as|each time|every time)"
_ANEW: Final = r"(?:restart|reload|updat|upgrad|patch|appl|start(?:s|ed) (?:again|anew))"
_LOST_ZH: Final = r"(?:pods?|容器|路由)[^,;!?]{0,12}(?:断|不通|丢|消失|没了|失联)"

RULES: Final = (
    Rule(
        "lost-when-links-restart",
        "networkd|netplan",
        rf"{_ANEW}\w*~(?:systemd-)?(?:networkd|netplan)\b≈{_PODS}~{_LOST}|"
        rf"(?:networkd|netplan)\b~{_ANEW}\w*≈{_PODS}~{_LOST}|"
        rf"{_PODS}~{_LOST}\w*≈{_WHEN}≈(?:networkd|netplan)\b~{_ANEW}|"
        rf"{_PODS}~{_LOST}\w*≈{_WHEN}~{_ANEW}\w*~(?:systemd-)?(?:networkd|netplan)\b|"
        rf"netplan apply\b≈{_PODS}~{_LOST}|"
        rf"(?:重启|重载|升级|更新)了?~(?:networkd|netplan)≈{_LOST_ZH}|"
        rf"netplan apply≈{_LOST_ZH}",
        False,
    ),
)
