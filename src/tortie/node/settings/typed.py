"""The settings of a node as values with their types, each with its source. What the agent works with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, cast

from tortie.addressing.decision import AddressSetting, parse_address_setting
from tortie.addressing.methods import Method
from tortie.addressing.pools import PoolSettings
from tortie.model.network import Family, Network
from tortie.node.settings.setting import Finding, Setting
from tortie.node.settings.values import NO_POOL, Backend, Mode


class GivenPool(NamedTuple):
    """What is said about one family's default pool. Its CIDR is None where nothing is said, NO_POOL for none at all."""

    cidr: Setting[Network | str | None]
    block_size: Setting[int]
    ipip: Setting[Mode]
    vxlan: Setting[Mode]
    nat_outgoing: Setting[bool]
    node_selector: Setting[str | None]
    disable_bgp_export: Setting[bool]


class NodeSettings(NamedTuple):
    nodename: Setting[str | None]
    hostname: Setting[str | None]
    nodename_file: Setting[str]
    shutdown_timestamp_file: Setting[str]
    log_level: Setting[str]  # trace, debug, info, warning, error, fatal, panic
    wait_for_datastore: Setting[bool]
    ip: Setting[str | None]
    ip6: Setting[str | None]
    ip_method: Setting[Method]
    ip6_method: Setting[Method]
    autodetect_poll_interval: Setting[float]  # seconds
    disable_node_ip_check: Setting[bool]
    as_number: Setting[int | None]
    backend: Setting[Backend]
    k8s_node_ref: Setting[str | None]
    cluster_type: Setting[tuple[str, ...]]
    no_default_pools: Setting[bool]
    pool4: GivenPool
    pool6: GivenPool
    disable_file_logging: Setting[bool]
    disable_felix: Setting[bool]
    manage_cni: Setting[bool]
    router_id: Setting[str | None]  # hash, or an IPv4 address
    user_id: Setting[int]
    kubernetes_service_host: Setting[str | None]
    health_enabled: Setting[bool]
    health_host: Setting[str]
    health_port: Setting[int]
    metrics_enabled: Setting[bool]
    metrics_host: Setting[str]
    metrics_port: Setting[int]
    ipv6_support: Setting[bool]
    others: Mapping[str, Setting[str]]  # by variable: what is set and has no field above; secrets are `Secret`

    def address(self, family: Family) -> AddressSetting:
        return parse_address_setting((self.ip if family == 4 else self.ip6).value, family)

    def wants_address(self, family: Family) -> bool:
        """IPv4 is looked for unless somebody says no, IPv6 only when somebody says so."""
        told = (self.ip if family == 4 else self.ip6).value
        return told != "none" and (family == 4 or told is not None)

    def method(self, family: Family) -> Method:
        return (self.ip_method if family == 4 else self.ip6_method).value

    def pool(self, family: Family) -> PoolSettings:
        given = self.pool4 if family == 4 else self.pool6
        wanted = given.cidr.value
        return PoolSettings(
            cidr=None if wanted == NO_POOL else cast("Network | None", wanted),
            disabled=wanted == NO_POOL or self.no_default_pools.value,
            block_size=given.block_size.value,
            ipip=given.ipip.value,
            vxlan=given.vxlan.value,
            nat_outgoing=given.nat_outgoing.value,
            node_selector=given.node_selector.value or "",
            disable_bgp_export=given.disable_bgp_export.value,
        )


class Reading(NamedTuple):
    """`refused` is all that cannot be meant; where it is not empty, the settings hold defaults in its place."""

    settings: NodeSettings
    refused: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
