"""The forms that a person fills in to describe a lab, as typed values: what may stand in its YAML file.

`topology.schema.json` says the same to editors. Only what a field has to be on its own is said here; how fields go
together is in `tortie.lab.rules`.
"""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network
from typing import Final, Literal

from tortie.model.fields import BadField, IPInterface, Name, Shaped
from tortie.model.shape import Part

API_VERSION: Final = "tortie/v1"
KIND: Final = "Lab"

Encapsulation = Literal["None", "IPIP", "IPIPCrossSubnet", "VXLAN", "VXLANCrossSubnet"]


class LabName(Shaped):
    """The name of a lab, of a rack or of a network."""

    form = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
    what = "a name"
    right = "at most 63 lower-case letters, digits and -, beginning and ending with a letter or digit"


class MachineName(str):
    """A node's name in Kubernetes' form, short enough to be a host's name as well."""

    LENGTH_MAX: Final = 63

    @classmethod
    def parse(cls, raw: object) -> MachineName:
        text = Name.parse(raw)
        if len(text) > cls.LENGTH_MAX:
            raise BadField(f"has {len(text)} characters, and is a host's name, too", f"at most {cls.LENGTH_MAX}")
        return cls(text)


class PortName(Shaped):
    """The name of a NIC or a bridge inside a node."""

    form = r"(?!\.{1,2}$)[a-zA-Z0-9_.-]{1,15}"
    what = "the name of a Linux interface"
    right = "at most 15 letters, digits, _ . or -, for example eth1"


class SettingText(str):
    """The value of an environment variable; numbers and booleans need no quotes."""

    @classmethod
    def parse(cls, raw: object) -> SettingText:
        if not isinstance(raw, str | int | float):
            raise BadField("is not the value of an environment variable", "text, a number, or true or false")
        text = str(raw).lower() if isinstance(raw, bool) else str(raw)
        if "\0" in text:
            raise BadField("has a zero byte in it", "leave it out")
        return cls(text)


class ClassicRelease(Shaped):
    """A release of Calico that a node starts like; empty: Tortie's own way."""

    form = r"|v?[23]\.[0-9]{1,2}(\.[0-9]{1,2})?"
    what = "a release of Calico"
    right = "a release such as 3.20, in quotes"


class Addressed(Part, frozen=True, kw_only=True):
    """Whatever has addresses: one is written as `address`, several as `addresses`."""

    address: IPInterface | None = None
    addresses: tuple[IPInterface, ...] = ()

    @property
    def given(self) -> dict[str, IPInterface]:
        """All addresses, by the path under which they stand."""
        listed = {f"addresses[{index}]": address for index, address in enumerate(self.addresses)}
        return ({"address": self.address} if self.address else {}) | listed


class LabNic(Addressed, frozen=True, kw_only=True):
    """A NIC beside eth0. Its network is named, or it is that of its address."""

    name: PortName
    network: LabName = LabName("")


class LabBridge(Addressed, frozen=True, kw_only=True):
    """A bridge inside the node, such as Docker's."""

    name: PortName


class LabNode(Addressed, frozen=True, kw_only=True):
    """The addresses are eth0's; without them the lab chooses."""

    name: MachineName
    rack: LabName = LabName("")
    labels: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    settings: dict[str, SettingText] = {}  # noqa: RUF012
    nics: tuple[LabNic, ...] = ()
    bridges: tuple[LabBridge, ...] = ()


class LabNetwork(Part, frozen=True, kw_only=True):
    """A switch for NICs beside eth0; or other values for one that the lab has anyway: fabric, services, a rack's."""

    name: LabName
    cidr: IPv4Network | None = None
    cidr6: IPv6Network | None = None
    mtu: int = 1500


class LabStore(Part, frozen=True, kw_only=True):
    kind: Literal["embedded", "etcd"] = "embedded"
    members: int = 1
    tls: bool = False


class LabPool(Part, frozen=True, kw_only=True):
    cidr: IPv4Network = IPv4Network("10.244.0.0/16")
    cidr6: IPv6Network | None = None  # with ipv6: a range of the lab's own
    blockSize: int = 26
    blockSize6: int | None = None
    encapsulation: Encapsulation = "None"
    natOutgoing: bool = True


class LabKubelet(Part, frozen=True, kw_only=True):
    """With it nodes run as pods, with probes and restarts."""

    hurry: int = 1


class LabMetadata(Part, frozen=True, kw_only=True):
    name: LabName = LabName("")


class Topology(Part, frozen=True, kw_only=True):
    apiVersion: Literal["tortie/v1"]
    kind: Literal["Lab"]
    metadata: LabMetadata = LabMetadata()
    name: LabName = LabName("")
    nodes: tuple[LabNode, ...]
    racks: tuple[LabName, ...] = ()
    store: LabStore = LabStore()
    ipv6: bool = False
    pool: LabPool = LabPool()
    settings: dict[str, SettingText] = {}  # noqa: RUF012 - of all nodes
    networks: tuple[LabNetwork, ...] = ()
    kubelet: LabKubelet | None = None
    classic: ClassicRelease = ClassicRelease("")

    @property
    def lab_name(self) -> str:
        """Empty when the file leaves it to the command."""
        return self.name or self.metadata.name
