"""Which pods ask which others whether they hear them: one of each node, and both a small and a large packet. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from tortie.lab.evidence.questions import Question

_NODES_MAX: Final = 4
_LARGE: Final = 1400  # fits into every tunnel of a path for 1500
_USUAL: Final = "default"


class Pod(NamedTuple):
    name: str
    namespace: str
    node: str
    addresses: Sequence[str]

    @property
    def label(self) -> str:
        return self.name if self.namespace == _USUAL else f"{self.namespace}/{self.name}"


def of_pods(pods: Sequence[Pod]) -> Iterator[tuple[Pod, tuple[Question, ...]]]:
    """Each pod that asks, with its questions."""
    chosen: dict[str, Pod] = {}
    for pod in sorted(pods, key=lambda pod: (pod.node, pod.namespace, pod.name)):
        if pod.addresses:
            chosen.setdefault(pod.node, pod)
    asking = list(chosen.values())[:_NODES_MAX]
    for pod in asking:
        others = [other.addresses[0] for other in asking if other is not pod]
        if others:
            yield pod, tuple(question for far in others for question in _pings(pod, far))


def _pings(pod: Pod, far: str) -> Iterator[Question]:
    namespace = "" if pod.namespace == _USUAL else f" -n {pod.namespace}"
    for real in (f"ping -c 1 -W 1 {far}", f"ping -c 1 -W 1 -M do -s {_LARGE} {far}"):
        yield Question("traffic", f"kubectl{namespace} exec {pod.name} -- {real}", needs="ping", real=real)
