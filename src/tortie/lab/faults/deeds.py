"""Single deeds that faults are made of. Each can be told as JSON, done, undone, and looked at again.

Plain values. Paths of files are the node's own, `/var/lib/calico/nodename`: they lie below its root. A deed that
cannot be undone does not exist.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

ALL: str = ""  # instead of a machine's name: every node

Program = Literal["agent", "bird", "kubelet", "runtime", "etcd"]
Unit = Literal["kubelet", "containerd"]


class AddBridge(NamedTuple):
    """A bridge without ports inside the node, as docker leaves them."""

    machine: str
    link: str
    address: str  # 172.18.0.1/16
    mac: str = ""


class AddNic(NamedTuple):
    """A second NIC, cabled to a switch that nobody else is at."""

    machine: str
    link: str
    address: str


class AddAddress(NamedTuple):
    machine: str
    link: str
    address: str


class RemoveAddress(NamedTuple):
    machine: str
    link: str
    address: str


class SetLink(NamedTuple):
    """Up or down; its MTU if given. What the kernel forgets with a link that goes down comes back with the undoing."""

    machine: str
    link: str
    up: bool = True
    mtu: int = 0


class Filter(NamedTuple):
    """A table of nftables with a name of its own. In the text `{table}` stands for `inet tortie_fault_...`'s name."""

    machine: str  # "switch" is the place where all cables end
    rules: str  # for example: table inet {table} { chain input { type filter hook input priority 0; ... } }
    family: str = "inet"


class SetKernel(NamedTuple):
    """A sysctl of the machine's own network."""

    machine: str
    key: str
    value: str


class WriteFile(NamedTuple):
    machine: str
    path: str
    text: str
    mode: int = 0o644


class RemoveFile(NamedTuple):
    """A file or a folder, set aside."""

    machine: str
    path: str


class CoverFile(NamedTuple):
    """Another text in the place of a file of the machine itself, for this node alone: a mount in its own namespace."""

    machine: str
    path: str  # /etc/hosts, /proc/swaps
    text: str


class FillDisk(NamedTuple):
    """A small disk in the place of a folder, with what was in it, and full."""

    machine: str
    path: str


class SealFolder(NamedTuple):
    """Nobody can write in it any more, as in the file system of an immutable operating system."""

    machine: str
    path: str


class RunHelper(NamedTuple):
    """A process in the machine for as long as the fault lasts: `tortie lab helper WORDS`."""

    machine: str
    name: str
    words: tuple[str, ...]
    starved: bool = False  # within the machine's limit of CPU


class SendSignal(NamedTuple):
    """To a program of the machine; `undo` is sent to heal it."""

    machine: str
    program: Program
    signal: str  # STOP, KILL
    undo: str = ""  # CONT


class LimitCpu(NamedTuple):
    """What runs in the machine together gets so much of one core."""

    machine: str
    percent: float


class SetVariable(NamedTuple):
    """Of the agents' environment; None takes it away. Takes effect when the agent starts."""

    machine: str
    variable: str
    value: str | None


class RestartNode(NamedTuple):
    """The agent starts anew, with a kubelet: its pod is made anew. Done last, when broken and when healed."""

    machine: str


class RestartUnit(NamedTuple):
    """As systemctl restart does it, when broken and when healed."""

    machine: str
    unit: Unit


class HaltMachine(NamedTuple):
    """Nothing runs there any more, and its cable is pulled."""

    machine: str


class PutResource(NamedTuple):
    """A resource of the datastore, whole, as `tortie apply` would take it."""

    document: dict[str, object]


class PatchResource(NamedTuple):
    """Fields of a resource, merged as `tortie patch` does it."""

    kind: str
    name: str
    patch: dict[str, object]


class RemoveResource(NamedTuple):
    kind: str
    name: str


class PutKey(NamedTuple):
    """One key of the datastore, whatever is in it. None: it is removed."""

    key: str
    value: str | None


class RunPods(NamedTuple):
    """Pods, made one after the other until there are so many or one gets no network; that is no failure."""

    machine: str
    prefix: str
    number: int


Deed = (
    AddBridge
    | AddNic
    | AddAddress
    | RemoveAddress
    | SetLink
    | Filter
    | SetKernel
    | WriteFile
    | RemoveFile
    | CoverFile
    | FillDisk
    | SealFolder
    | RunHelper
    | SendSignal
    | LimitCpu
    | SetVariable
    | RestartNode
    | RestartUnit
    | HaltMachine
    | PutResource
    | PatchResource
    | RemoveResource
    | PutKey
    | RunPods
)
