"""The default pools of the release that is played: what it reads, what it refuses, what it says, in its order. Pure.

Everything that is set is judged at every start, whether a pool has to be made or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from ipaddress import ip_network
from typing import Final, NamedTuple

from tortie.addressing.methods import go_cidr
from tortie.addressing.pools import PoolSettings, pool_document
from tortie.model import selector
from tortie.model.network import Family, HostNetwork, Network
from tortie.model.wire import Document
from tortie.node.classic.release import Release
from tortie.node.classic.words import GoError
from tortie.node.classic.words_of_go import Ends, Line, atoi

_PREFERRED: Final = ip_network("192.168.0.0/16")
_OLD_IPV6: Final = ip_network("fd80:24e2:f998:72d6::/64")
_SIZES: Final[Mapping[Family, range]] = {4: range(20, 33), 6: range(116, 129)}
_SIZE: Final[Mapping[Family, int]] = {4: 26, 6: 122}
_OFF: Final = ("false", "0", "no", "n", "f")
_MODES: Final = {
    **dict.fromkeys(("", "off", "never"), "Never"),
    **dict.fromkeys(("crosssubnet", "cross-subnet"), "CrossSubnet"),
    "always": "Always",
}


class Asked(NamedTuple):
    """What the environment says, as far as it is judged before the datastore is asked for pools."""

    cidrs: Mapping[Family, str]
    sizes: Mapping[Family, int]
    selectors: Mapping[Family, str]


class ToMake(NamedTuple):
    """A pool, what it is called in a failure, and what is said when it is made. `refused`: Calico's client does not
    take it."""

    family: Family
    cidr: Network
    document: Document
    said: str
    refused: str = ""


class Machine(NamedTuple):
    """What a choice rests on, beside the environment."""

    network: HostNetwork
    has_ipv6: bool
    random_ula: Callable[[], Network]


def asked_pools(environment: Mapping[str, str], release: Release) -> Asked | None:
    """None where no default pools are wanted; raises `Ends`."""
    cidrs: dict[Family, str] = {family: environment.get(_variable(family, "CIDR"), "") for family in _SIZE}
    if environment.get("NO_DEFAULT_POOLS", "").lower() == "true":
        if any(cidrs.values()):
            both = "CALICO_IPV4POOL_CIDR or CALICO_IPV6POOL_CIDR defined."
            raise Ends(Line("error", f"Invalid configuration with NO_DEFAULT_POOLS defined and {both}"))
        return None
    if not release.pools_have_block_size:
        return Asked(cidrs, dict(_SIZE), {4: "", 6: ""})
    sizes = {family: _size(environment, family) for family in _SIZE}
    selectors = {family: _selector(environment, family) for family in _SIZE}
    return Asked(cidrs, sizes, selectors)


def pools_to_make(
    asked: Asked, environment: Mapping[str, str], release: Release, existing: Sequence[str], machine: Machine
) -> Iterator[Line | ToMake]:
    """Line by line; raises `Ends`. `existing` are the CIDRs of all pools, as they are written."""
    present = set()
    for text in existing:
        pool = go_cidr(text)
        if pool is None and not release.bare:
            yield Line("warning", f"Error parsing CIDR '{text}'. Skipping the IPPool.")
        elif pool is not None:
            present.add(pool.version)
    chosen = ""
    if not asked.cidrs[4]:
        chosen = str(default_pool(machine.network, release))
        if release.free_ipv4_pool:
            yield Line("info", f"Selected default IP pool is '{chosen}'")
    default6 = machine.random_ula() if release.random_ipv6_pool else _OLD_IPV6
    cidrs: dict[Family, Network] = {
        4: _network(4, asked.cidrs[4] or chosen),
        6: _network(6, asked.cidrs[6] or str(default6)),
    }
    talk = _Talk(asked, environment, release)
    if 4 not in present:
        yield from talk.make(4, cidrs[4])
    if 6 in present:
        return
    value, line = _switch(environment, "FELIX_IPV6SUPPORT", default=True)
    yield line
    if not value:
        return
    yield Line("info", f"IPv6 supported on this platform: {_go(machine.has_ipv6)}")
    if machine.has_ipv6:
        yield from talk.make(6, cidrs[6])


def default_pool(network: HostNetwork, release: Release) -> Network:
    """Only this host's own addresses are looked at, and if all is taken the first is taken all the same."""
    candidates = [_PREFERRED, *(ip_network(f"172.{second}.0.0/16") for second in range(16, 32))]
    here = [address.cidr.ip for each in network.interfaces for address in each.addresses if address.cidr.version == 4]
    if not release.free_ipv4_pool:
        return candidates[0]
    return next((pool for pool in candidates if not any(ip in pool for ip in here)), candidates[0])


class _Talk:
    def __init__(self, asked: Asked, environment: Mapping[str, str], release: Release) -> None:
        self._asked = asked
        self._environment = environment
        self._release = release

    def make(self, family: Family, cidr: Network) -> Iterator[Line | ToMake]:
        nat, line = _switch(self._environment, _variable(family, "NAT_OUTGOING"), default=family == 4)
        yield line
        hidden = False
        if self._release.pools_have_export:
            hidden, line = _switch(self._environment, _variable(family, "DISABLE_BGP_EXPORT"), default=False)
            yield line
        ipip = self._ipip(family)
        vxlan = self._vxlan(family)
        modes = f"IPIP mode: {self._shown(family, ipip)}"
        if self._release.pools_have_vxlan:
            modes += f", VXLAN mode: {vxlan}"
        if self._release.pools_have_export:
            modes += f", DisableBGPExport: {_go(hidden)}"
        yield Line("info", f"Ensure default IPv{family} pool is created. {modes}")
        settings = PoolSettings(
            block_size=self._asked.sizes[family],
            ipip=ipip,  # type: ignore[arg-type] # one of _MODES
            vxlan=vxlan,  # type: ignore[arg-type]
            nat_outgoing=nat,
            node_selector=self._asked.selectors[family],
            disable_bgp_export=hidden,
        )
        said = f"Created default IPv{family} pool ({cidr}) with NAT outgoing {_go(nat)}. {modes}"
        refused = _refused(cidr, ipip, vxlan, self._asked.sizes[family])
        yield ToMake(family, cidr, pool_document(family, cidr, settings), said, refused)

    def _ipip(self, family: Family) -> str:
        text = self._environment.get("CALICO_IPV4POOL_IPIP", "").lower() if family == 4 else ""
        if text not in _MODES:
            raise Ends(Line("error", f"Unrecognized IPIP mode specified in CALICO_IPV4POOL_IPIP '{text}'"))
        return _MODES[text]

    def _vxlan(self, family: Family) -> str:
        knows = self._release.pools_have_vxlan if family == 4 else self._release.pools_have_ipv6_vxlan
        variable = _variable(family, "VXLAN")
        text = self._environment.get(variable, "").lower() if knows else ""
        mode = _MODES.get(text)
        if mode is None or (mode == "CrossSubnet" and not self._release.pools_have_cross_subnet_vxlan):
            # The blank came with IPv6.
            blank = " " if self._release.pools_have_ipv6_vxlan else ""
            raise Ends(Line("error", f"Unrecognized VXLAN mode specified in {variable}{blank}'{text}'"))
        return mode

    def _shown(self, family: Family, mode: str) -> str:
        """v2 shows the word of the environment."""
        if not self._release.bare:
            return mode
        text = self._environment.get("CALICO_IPV4POOL_IPIP", "").lower() if family == 4 else ""
        return text or "off"


def _size(environment: Mapping[str, str], family: Family) -> int:
    text = environment.get(_variable(family, "BLOCK_SIZE"), "")
    try:
        size = atoi(text) if text else _SIZE[family]
    except GoError as error:
        raise Ends(Line("error", "Unable to convert blocksize to int", {"error": error})) from None
    if size not in _SIZES[family]:
        raise Ends(Line("error", f"Invalid blocksize {size} for version {family}"))
    return size


def _selector(environment: Mapping[str, str], family: Family) -> str:
    text = environment.get(_variable(family, "NODE_SELECTOR"), "")
    try:
        selector.parse(text)
    except selector.SelectorError as error:
        raise Ends(Line("error", f"Invalid node selector '{text}' for version {family}: {error.why}")) from None
    return text


def _network(family: Family, text: str) -> Network:
    cidr = go_cidr(text)
    if cidr is None or cidr.version != family:
        raise Ends(Line("error", f"Invalid CIDR specified in {_variable(family, 'CIDR')} '{text}'"))
    return cidr.network


def _refused(cidr: Network, ipip: str, vxlan: str, size: int) -> str:
    if ipip != "Never" and vxlan != "Never":
        return (
            f"error with field IPPool.Spec.VXLANMode = '{vxlan}' (Cannot enable both VXLAN and IPIP on the same IPPool)"
        )
    if cidr.prefixlen > size:
        small = (
            "IP pool size is too small for use with Calico IPAM. It must be equal to or greater than the block size."
        )
        return f"error with field IPPool.Spec.CIDR = '{cidr}' ({small})"
    return ""


def _switch(environment: Mapping[str, str], variable: str, *, default: bool) -> tuple[bool, Line]:
    """Whatever is no clear no means yes, nothing too."""
    told = environment.get(variable)
    value = default if told is None else told.lower() not in _OFF
    how = " (defaulted)" if told is None else ""
    return value, Line("info", f"{variable} is {_go(value)}{how} through environment variable")


def _variable(family: Family, name: str) -> str:
    return f"CALICO_IPV{family}POOL_{name}"


def _go(value: bool) -> str:
    return str(value).lower()
