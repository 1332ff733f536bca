"""The eBPF mode as somebody typed it: a patch that turns it on, with no word of it anywhere else."""

from __future__ import annotations

from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place

_PATCH: Final = lazily(r"^(?:sudo )?(?:\S{1,40}/)?(?:kubectl|calicoctl|oc|k)\b.{0,200}?\b(?:patch|apply|edit|set)\b")
_MODE: Final = lazily(
    r"(?i)\\?[\"']?linuxDataplane\\?[\"']? ?: ?\\?[\"']?(bpf|iptables|nftables|vpp)"
    r"|\\?[\"']?bpfEnabled\\?[\"']? ?: ?\\?[\"']?(true|false)|FELIX_BPFENABLED=(true|false)"
)
_ON: Final = ("bpf", "true")


def bpf_ordered(picture: Picture) -> Setting | None:
    """The last such command, if it turns the mode on."""
    last = None
    for exhibit in picture.exhibits:
        if "bpf" not in exhibit.command.lower() and "linuxDataplane" not in exhibit.command:
            continue
        mode = _MODE.search(exhibit.command) if _PATCH.match(exhibit.command) else None
        if mode and "(no change)" not in exhibit.text:
            last = exhibit, next(word for word in mode.groups() if word).lower()
    if not last or last[1] not in _ON:
        return None
    exhibit, word = last
    typed = Place(exhibit.source, exhibit.first, exhibit.first)
    return Setting(typed, "command", "bpfEnabled" if word == "true" else "linuxDataplane", word)
