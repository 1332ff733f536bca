"""Packets that a node forwards for pods: rules that refuse all of them, and what pods suffer by it."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Final

from tortie.doctor.causes.datastore.api_evidence import vip_troubles
from tortie.doctor.causes.shared import DNS_FAILED
from tortie.doctor.causes.underlay.traffic_evidence import trouble
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import FilterRule
from tortie.doctor.picture.picture import Picture
from tortie.doctor.picture.places import exhibit_at

_LINK: Final = lazily(r"-[io] (?:cali\+|tunl0|vxlan\.calico)|[io]ifname \"(?:cali\*|tunl0|vxlan\.calico)\"")
_NETWORK: Final = lazily(r"(?:-[sd]|ip [sd]addr) (?P<network>\d{1,3}(?:\.\d{1,3}){3}/\d{1,2})")
_ACCEPTED = "0x10000"  # the mark of what a policy accepted; a rule of Calico's lets it pass


def closing_rules(picture: Picture, chain: str = "FORWARD") -> list[FilterRule]:
    """Rules of a chain that refuse whatever comes to them, and to which packets come that Calico accepted.

    A policy is another matter: Calico's rules stand before it.
    """
    every = [rule for rule in picture.of(FilterRule) if rule.chain == chain and rule.table in ("", "filter")]
    refusing = [rule for rule in every if rule.refuses and rule.of_all and not rule.policy]
    accepting = [rule for rule in every if rule.verdict == "ACCEPT" and _ACCEPTED in rule.matches]
    return [rule for rule in refusing if not any(_before(picture, one, rule) for one in accepting)]


def closed_chains(picture: Picture) -> list[FilterRule]:
    """Chains of nft that drop what is forwarded, unless a rule of theirs accepts it.

    What Calico accepts in a chain of its own is dropped here all the same. Tables that iptables itself writes are
    another matter: there Calico's rules stand in the same chain.
    """
    every = [rule for rule in picture.of(FilterRule) if rule.hook == "forward" and rule.backend == "nft"]
    dropping = [r for r in every if r.policy and r.refuses and r.table not in ("", "ip filter", "ip6 filter")]
    return [rule for rule in dropping if not any(_lets_pass(one) for one in every if _same_chain(one, rule))]


def of_pods(rule: FilterRule, pools: tuple[str, ...]) -> bool:
    """It takes every packet of pods: all of Calico's links, or all of a network that is a pool or holds one."""
    matches = rule.matches.strip()
    if rule.policy or _LINK.fullmatch(matches):
        return not rule.policy
    match = _NETWORK.fullmatch(matches)
    return match is not None and any(_holds(match["network"], pool) for pool in pools)


def _holds(network: str, pool: str) -> bool:
    try:
        mine, theirs = ip_network(network, strict=False), ip_network(pool, strict=False)
    except ValueError:
        return False
    return mine.prefixlen > 0 and mine.version == theirs.version and mine.overlaps(theirs)


def _same_chain(one: FilterRule, other: FilterRule) -> bool:
    return (one.host, one.table, one.chain) == (other.host, other.table, other.chain)


def _lets_pass(rule: FilterRule) -> bool:
    """Something new, not only what belongs to a connection that was let through before."""
    return not rule.policy and not rule.refuses and "established" not in rule.matches


def _before(picture: Picture, one: FilterRule, other: FilterRule) -> bool:
    """Earlier in the same listing."""
    same = exhibit_at(picture, one.place) is exhibit_at(picture, other.place)
    return same and one.place.first < other.place.first


def harm(picture: Picture) -> list[object]:
    """Traffic of pods that is broken; a rejected packet is `no route to host` to who sent it."""
    rejected = [each for each in vip_troubles(picture) if each.from_pod and each.how == "no-route"]
    return [*trouble(picture), *rejected, *picture.hits(DNS_FAILED)]


def refusing_rules(picture: Picture) -> list[FilterRule]:
    """In the way of everything that is forwarded, and met by packets; Calico accepts what it allows behind them."""
    pools = tuple(pool.cidr for pool in picture.pools_now() if pool.cidr)
    return [
        rule
        for rule in picture.of(FilterRule)
        if rule.refuses and (rule.of_all or of_pods(rule, pools)) and not rule.policy
        and (rule.packets or before_calico(picture, rule))
        and (rule.hook == "forward" or rule.chain == "FORWARD" or rule.chain.endswith("-forward"))
    ]  # fmt: skip


def before_calico(picture: Picture, rule: FilterRule) -> bool:
    """A listing without counters: what stands before Calico's chain takes everything, none comes to that chain."""
    if rule.packets is not None:
        return False
    later = [one for one in picture.of(FilterRule) if one.verdict == "cali-FORWARD" and one.chain == rule.chain]
    here = exhibit_at(picture, rule.place)
    return any(exhibit_at(picture, one.place) is here and one.place.first > rule.place.first for one in later)
