"""Which nodes' agents fail: what is measured on another host does not explain them."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.picture import Picture, remembered

_TROUBLE: Final = lazily(
    r"CrashLoop|\b0/1\b|not ready|unready|NotReady|restart|crash|kill|down\b|fail|重启|崩溃|未就绪|起不来|异常|被杀",
    re.I,
)


@remembered
def failing(picture: Picture) -> list[str]:
    """Nodes of agents that are not ready or restart; without rows that tell, those of which people say so."""
    sick = [pod for pod in picture.agents_now() if not pod.all_ready or (pod.restarts or 0) > 1]
    nodes = [pod.node for pod in sick if pod.node]
    return list(dict.fromkeys(nodes)) if sick and nodes else _complained_of(picture)


def _complained_of(picture: Picture) -> list[str]:
    """The name nearest before the word of trouble: "a keeps crashing, b is fine" is about a."""
    names = []
    for statement in picture.said("complains", "keeps-restarting"):
        word = _TROUBLE.search(statement.text)
        before = statement.text[: word.start()] if word else ""
        named = [name for name in statement.values if name in before and not name.replace(".", "").isdecimal()]
        if named:
            names.append(max(named, key=before.rfind))
    return list(dict.fromkeys(names))


def elsewhere(picture: Picture, host: str) -> bool:
    """Is this certainly another host than those with failing agents? A name seen nowhere else may be an alias."""
    sick = [name.lower() for name in failing(picture)]
    low = host.lower()
    if not low or not sick or any(_same(low, name) for name in sick):
        return False
    known = {*picture.nodes_now(), *(pod.node for pod in picture.agents_now())}
    if any(_same(low, name.lower()) for name in known if name):
        return True
    return any(_numbered(low) == _numbered(name) for name in sick)


def _same(one: str, other: str) -> bool:
    return one == other or one.split(".")[0] == other.split(".")[0]


def _numbered(name: str) -> str:
    """node-4 and node-9 are two of one series."""
    return re.sub(r"\d+", "#", name.split(".")[0])
