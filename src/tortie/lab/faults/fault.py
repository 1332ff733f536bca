"""A fault: what it breaks, which cause it stands for, and what somebody will see.

Only values and a pure function: from a scene to deeds. Who carries them out is `tortie.lab.faults.doing`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Literal, NamedTuple

from tortie.lab.faults.deeds import Deed
from tortie.lab.plan import LabPlan, Machine
from tortie.lab.words import Pair

Need = Literal[
    "kubelet",  # nodes run as pods, with probes, and have mounts of their own
    "etcd",  # the store is reached over the network
    "three-members",
    "tls",  # the store shows a certificate
    "vxlan",  # pods reach each other through tunnels
    "two-nodes",
    "three-nodes",
    "bgp",
    "cpu-limit",  # the kernel lets us limit the CPU of a group of processes
]


class Scene(NamedTuple):
    """Where a fault is planned: the lab as it is, and the node that is to suffer."""

    plan: LabPlan
    node: Machine
    random: Random  # seeded: the same seed, the same names and numbers
    hurry: int = 1  # how many times faster than in a real cluster the kubelets' clocks tick
    certificates: Mapping[str, str] = {}  # spare ones of a lab with TLS, by the names of their files

    @property
    def others(self) -> tuple[Machine, ...]:
        """The nodes beside the one that suffers."""
        return tuple(node for node in self.plan.nodes if node.name != self.node.name)


class Fault(NamedTuple):
    name: str
    cause: str  # an id of the doctor's catalogue
    code: str  # TRT....
    summary: Pair  # what it does, one line of at most 70 columns
    shows: Pair  # what somebody will see, one or two sentences
    plan: Callable[[Scene], tuple[Deed, ...]]
    needs: tuple[Need, ...] = ()
    spared: bool = False  # Tortie's own node does not fail from it
    everywhere: bool = False  # strikes the whole cluster; a node makes no difference
    incident: int = 0  # its number among the eight, 0 for others
    release: str = "3.20"  # of Calico, whose nodes suffer from it: `tortie lab up --classic RELEASE`
