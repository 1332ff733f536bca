"""The range of one node, where host-local keeps the addresses: a file for each, in a folder of that node.

Nobody looks whether the pods of these files still live: whoever kills a node's containers behind the runtime's back
fills the range with addresses of pods that are gone.
"""

from __future__ import annotations

from functools import cached_property
from ipaddress import ip_address
from typing import Final

from tortie.doctor.causes.agent.counting import Count, answers, said
from tortie.doctor.causes.cni.pods_served import served_since
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import HostFile
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

NODE_RANGE_FULL: Final = Sign("ipam-node-range-full", "no IP addresses available in (range set|network): <name>")
FOLDER: Final = "cni/networks"
SLACK: Final = 1.4
SLACK_FEW: Final = 12
_SANDBOXES: Final = lazily(
    r"\b(?:docker|nerdctl|crictl|podman|ctr)\b.{0,60}\b(?:ps|pods)\b|\bget (?:pods?|po)\b.{0,120}(?:nodeName|grep)"
)
_RANGE: Final = lazily(r"((?:\d{1,3}\.){3}\d{1,3})-((?:\d{1,3}\.){3}\d{1,3})")
_TOLD: Final = r"(\d[\d,]{0,5})\s*(?:个\s*)?(?:running |live |运行中的\s*)?(?:pods?|containers?|容器)\b"


class NodeRange:
    """What is known of the range that is full."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        hits = picture.hits(NODE_RANGE_FULL)
        self.hits: list[Hit] = [] if served_since(picture, hits) else hits

    @property
    def node(self) -> str:
        return next((hit.host for hit in self.hits if hit.host), "")

    @cached_property
    def range(self) -> str:
        found = (_RANGE.search(hit.line) for hit in self.hits)
        return next((match[0] for match in found if match), "")

    @cached_property
    def size(self) -> int | None:
        match = _RANGE.search(self.range)
        try:
            return int(ip_address(match[2])) - int(ip_address(match[1])) + 1 if match else None
        except ValueError:
            return None

    @cached_property
    def files(self) -> Count | None:
        """Addresses that have a file, counted or listed."""
        inside = {exhibit.command for exhibit in self.picture.exhibits if FOLDER in exhibit.folder}
        counts = [count for command, count in answers(self.picture) if FOLDER in command or command in inside]
        if counts:
            return counts[-1]
        listed = [file for file in self.picture.of(HostFile) if FOLDER in file.folder and file.name.count(".") == 3]
        return Count(len(listed), listed[0].place) if listed else None

    @cached_property
    def pods(self) -> Count | None:
        """Pods of that node, as its runtime counts them, or a person does."""
        counts = [count for command, count in answers(self.picture) if _SANDBOXES.search(command)]
        return counts[-1] if counts else said(self.picture, _TOLD)

    @property
    def taken(self) -> int | None:
        """A range that is said to be full is."""
        return self.size or (self.files.value if self.files else None)

    @property
    def leaking(self) -> bool:
        """Far more addresses are taken than pods can hold."""
        if not self.hits or self.pods is None or self.taken is None:
            return False
        return self.taken > max(int(self.pods.value * SLACK), self.pods.value + SLACK_FEW)

    @property
    def places(self) -> tuple[object, ...]:
        return tuple(fact for fact in (self.files, self.pods, *self.hits[:2]) if fact is not None)
