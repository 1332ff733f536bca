"""Pulls that people tried by hand, with docker, crictl or another program, and what was answered."""

from __future__ import annotations

from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Statement
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.model.tuples import NamedTuple

# Options stand before the image; `kubeadm config images pull` names none.
_PULL: Final = lazily(
    r"\b(?:docker|crictl|nerdctl|podman|ctr)\b[^|;&\n]{0,120}?\bpull(?:\s+-\S+)*\s+[\"']?([\w][\w./:@-]{2,200})"
)
_FAILED: Final = (
    "error response from daemon", "error: ", "fata[", "ctr: ", "level=fatal", "level=error", "unknown blob",
    "pulling image failed", "failed to pull", "toomanyrequests", "pull access denied", "manifest unknown",
    "client.timeout exceeded", "trying and failing to pull",
)  # fmt: skip
_DONE: Final = ("status: downloaded newer", "status: image is up to date", "image is up to date for", "done: ")
# A sentence on images of the network, not of an application.
_OURS: Final = lazily(r"calico|tigera|\bcni\b|cni-plugin|flannel|canal|pause|网络插件", 2)


class Pull(NamedTuple):
    """One try that failed, and the line that says so."""

    place: Place
    image: str
    line: str


def failed_by_hand(picture: Picture) -> list[Pull]:
    """The last try of each image, where it failed: a registry that answered later is at fault no more."""
    last: dict[str, Pull | None] = {}
    for exhibit in picture.commands("pull"):
        asked = _PULL.search(exhibit.command)
        if asked is None:
            continue
        lines = [(index, line) for index, line in enumerate(exhibit.lines[:200])]
        failed = [one for one in lines if any(word in one[1].lower() for word in _FAILED)]
        done = any(word in line.lower() for _, line in lines for word in _DONE)
        if done or failed:
            last[asked[1]] = None if done else Pull(exhibit.place(failed[-1][0]), asked[1], failed[-1][1])
    return [pull for pull in last.values() if pull]


def told(picture: Picture) -> list[Statement]:
    """People's own word that images of the network could not be pulled."""
    return [said for said in picture.said("image-not-pulled") if _OURS.search(said.text)]
