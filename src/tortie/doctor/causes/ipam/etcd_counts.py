"""What the datastore's keys of IPAM say, counted by a person: blocks, and the hosts that own any.

Keys are `/calico/ipam/v2/assignment/ipv4/block/10.77.0.0-26` and `/calico/ipam/v2/host/w3/ipv4/block/10.77.0.0-26`;
in Kubernetes the latter are resources, BlockAffinity.
"""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.agent.counting import Count, answers
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.picture import Picture

_BLOCKS: Final = "ipam/v2/assignment/ipv4/block"
_HOSTS: Final = "ipam/v2/host"
_ONCE: Final = lazily(
    r"\|\s*(?:sort\s+-\w*u|(?:sort\b[^|]*\|\s*)?uniq\b(?!\s+-\w*[du]))[^|]*(?:\|\s*grep \.\s*)?\|\s*wc\s+-l"
)
# The host out of an affinity: of a key its sixth part, of a resource its field.
_OF_HOST: Final = lazily(r"-f\s?[1-9]\b|\$[1-9]\b|spec\.node|sed\b|grep\s+-\w*o|\{\d")
_PART: Final = lazily(r"\bhead\b|\btail\b|grep\s+-\w*v(?!\s*['\"]?\^\$)")  # empty lines between keys count for nothing
_FEW: Final = 4


def blocks_counted(picture: Picture) -> Count | None:
    return _last(picture, _BLOCKS)


def affinities_counted(picture: Picture) -> Count | None:
    found = [count for command, count in answers(picture) if _HOSTS in command and not _ONCE.search(command)]
    return found[-1] if found else None


def owners_counted(picture: Picture) -> Count | None:
    """Hosts that own blocks, each counted once."""
    found = [
        count
        for command, count in answers(picture)
        if (_HOSTS in command or "blockaffinit" in command.lower())
        and _ONCE.search(command) and _OF_HOST.search(command) and not _PART.search(command) and "comm " not in command
    ]  # fmt: skip
    return found[-1] if found else None


def beyond(owners: Count | None, nodes: Count | None) -> bool:
    """Far more hosts own blocks than there are nodes: a host owns none before it is one."""
    return owners is not None and nodes is not None and owners.value > 2 * nodes.value + _FEW


def _last(picture: Picture, path: str) -> Count | None:
    found = [count for command, count in answers(picture) if path in command and not _PART.search(command)]
    return found[-1] if found else None
