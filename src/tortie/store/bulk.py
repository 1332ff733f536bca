"""Many resources at once: which may be written side by side, and which have to wait for others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tortie.model.keys import ResourceKey, resource_prefix
from tortie.model.kinds import BY_NAME, Kind
from tortie.model.light import Final
from tortie.model.policy_names import possible_names

# Kind, name, namespace.
Identity = tuple[Kind, str, str | None]

# Others are judged by these, so they are there before them, and go after them.
_FIRST: Final = ("ClusterInformation", "IPAMConfiguration", "Tier", "BGPFilter", "IPPool", "Node")
# These are judged by each other: one after the other, so that whoever comes second sees the first.
_ALONE: Final = frozenset(("ClusterInformation", "IPAMConfiguration", "IPPool", "Node", "KubeControllersConfiguration"))
# One command's share of what is under way; after each such portion the progress is seen.
_PORTION: Final = 1000


def keys_of(identities: Iterable[Identity]) -> dict[str, list[str]]:
    """The keys under which these may stand, by prefix; with what the name of a policy depends on."""
    found: dict[str, dict[str, None]] = {}
    for kind, name, namespace in identities:
        keys = found.setdefault(resource_prefix(kind, namespace), {})
        keys.update((str(ResourceKey(kind, candidate, namespace)), None) for candidate in possible_names(kind, name))
        if kind.name.endswith("Policy"):
            cluster = ResourceKey(BY_NAME["ClusterInformation"], "default")
            found.setdefault(resource_prefix(cluster.kind, None), {})[str(cluster)] = None
    return {prefix: list(keys) for prefix, keys in found.items()}


def portions(identities: Sequence[Identity], *, deleting: bool = False) -> Iterator[list[int]]:
    """The places of those that may be written together, portion after portion.

    Among those that depend on nothing the order is that of the files. No resource is twice in a portion.
    """
    ranks = {name: place for place, name in enumerate(_FIRST)}
    order = sorted(range(len(identities)), key=lambda place: ranks.get(identities[place][0].name, len(ranks)))
    if deleting:
        order = [place for place in order if identities[place][0].name not in ranks] + [
            place for place in reversed(order) if identities[place][0].name in ranks
        ]
    portion: list[int] = []
    seen: set[Identity] = set()
    before: Kind | None = None
    for place in order:
        identity = identities[place]
        kind = identity[0]
        apart = kind != before and (kind.name in ranks or (before is not None and before.name in ranks))
        if portion and (apart or kind.name in _ALONE or identity in seen or len(portion) == _PORTION):
            yield portion
            portion, seen = [], set()
        portion.append(place)
        seen.add(identity)
        before = kind
    if portion:
        yield portion
