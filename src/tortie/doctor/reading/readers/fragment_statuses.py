"""The states of a pod's containers, cut out of its YAML: `containerStatuses:` and what stands below it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Fact
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers.yaml_tree import load

_KEY: Final = lazily(r"^(?P<indent>\s*)(?:initContainerStatuses|containerStatuses):\s*$")
_OF_POD: Final = lazily(r"\bpod=(?P<pod>[a-z0-9][a-z0-9.-]*)_(?P<namespace>[a-z0-9-]+)")  # in kubelet's message
_MANY: Final = 400  # lines of one pod's states


def statuses_alone(exhibit: Exhibit) -> Iterator[Fact]:
    if "ontainerStatuses:" not in exhibit.text:
        return
    from tortie.doctor.reading.readers import resource_pods
    from tortie.doctor.reading.readers.resources import Where

    for start, line in enumerate(exhibit.lines):
        if not (key := _KEY.match(line)):
            continue
        stop = _end(exhibit.lines, start, len(key["indent"]))
        lines = exhibit.lines[start:stop]
        tree = load("\n".join(lines))
        named = _OF_POD.search("\n".join(lines))
        if tree is None or not isinstance(tree.body, dict) or not named:
            continue
        metadata = {"name": named["pod"], "namespace": named["namespace"]}
        body: dict[str, object] = {"metadata": metadata, "status": tree.body}
        yield from resource_pods.pod(body, Where(exhibit, tree, start, stop))


def _end(lines: tuple[str, ...], start: int, indent: int) -> int:
    """The first line that is not below the key; a list may stand as far left as its key."""
    for index in range(start + 1, min(len(lines), start + _MANY)):
        line = lines[index]
        depth = len(line) - len(line.lstrip())
        if not line.strip() or depth < indent or (depth == indent and not re.match(r"\s*- ", line)):
            return index
    return min(len(lines), start + _MANY)
