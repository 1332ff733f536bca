"""What the policy of FORWARD drops by itself: packets that neither Calico nor kube-proxy accepts, as its counter shows.

Traffic of pods is accepted by Calico's own rules. What a node forwards for a NodePort to a pod of another node is not
always: where kube-proxy does not know the network of pods, it depends on the policy, and Docker sets that to DROP.
"""

from __future__ import annotations

from typing import Final

from tortie.doctor.picture.facts import FilterRule, PortTest
from tortie.doctor.picture.picture import Picture

_NODE_PORTS: Final = range(30000, 32768)
_CALICO: Final = ("cali-FORWARD", "felix-FORWARD")  # the latter before 2.x
_FAILED: Final = ("timeout", "unreachable", "closed")


def growing(picture: Picture) -> tuple[FilterRule, FilterRule] | None:
    """Two listings of one host, the later one with more dropped packets."""
    every = [rule for rule in picture.of(FilterRule) if rule.chain == "FORWARD" and rule.table in ("", "filter")]
    if not any(rule.verdict in _CALICO for rule in every) or any(_takes_all(rule) for rule in every):
        return None
    counts = [rule for rule in every if rule.policy and rule.packets is not None]
    for index, first in enumerate(counts):
        for later in counts[index + 1 :]:
            same = (later.host, later.place.source) == (first.host, first.place.source)
            if same and first.verdict == later.verdict == "DROP" and (later.packets or 0) > (first.packets or 0):
                return first, later
    return None


def _takes_all(rule: FilterRule) -> bool:
    """Nothing comes to the policy behind such a rule."""
    return not rule.policy and rule.verdict in ("ACCEPT", "DROP", "REJECT") and rule.of_all


def node_ports_hang(picture: Picture) -> list[PortTest]:
    """Asked from outside of pods; one that some node answers is there, so that the way to it is what fails."""
    tests = [test for test in picture.of(PortTest) if test.port in _NODE_PORTS and not test.pod]
    served = {test.port for test in tests if test.result == "open" or test.result.startswith("http-")}
    return [test for test in tests if test.result in _FAILED and test.port in served]
