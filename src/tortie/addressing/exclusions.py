"""Which interfaces `first-found` and `skip-interface=` pass over by name, by Calico's release.

The lists are those of the releases themselves. Anchors and Calico's own devices were brought to v3.23 after v3.24.0
had been published, so the lists do not simply grow with the version.
"""

from __future__ import annotations

import functools
from typing import Final

from tortie.addressing.patterns import Patterns
from tortie.addressing.versions import LATEST, CalicoVersion

_NAMES: Final = ("docker", "cbr", "dummy", "virbr", "lxcbr", "veth", "lo", "cali", "tunl", "flannel")
_OWN: Final = (r"^vxlan\.calico.*", r"^vxlan-v6\.calico.*", r"^wireguard\.cali.*", r"^wg-v6\.cali.*")


def _unanchored(*names: str) -> tuple[str, ...]:
    return tuple(name if name == "lo" else f"{name}.*" for name in names)


_ANCHORED: Final = tuple(f"^{pattern}" for pattern in _unanchored(*_NAMES, "kube-ipvs", "cni"))
_NEWEST: Final = (
    *("^docker.*", "^cbr.*", "^dummy.*", "^podman.*", "^virbr.*", "^lxcbr.*", "^veth.*", "^lo", "^br-.*"),
    *("^cali.*", "^tunl.*", "^flannel.*", "^kube-ipvs.*", "^cni.*", *_OWN, "^nodelocaldns.*"),
)

# Each from the release it stands beside.
_GENERATIONS: Final = (
    (CalicoVersion(0, 0, 0), _unanchored(*_NAMES)),
    (CalicoVersion(2, 6, 2), _unanchored(*_NAMES, "kube-ipvs")),
    (CalicoVersion(3, 15, 0), _unanchored(*_NAMES, "kube-ipvs", "cni")),
    (CalicoVersion(3, 23, 4), _ANCHORED),
    (CalicoVersion(3, 23, 5), (*_ANCHORED, *_OWN)),
    (CalicoVersion(3, 24, 0), _unanchored(*_NAMES, "kube-ipvs", "cni")),
    (CalicoVersion(3, 24, 3), _ANCHORED),
    (CalicoVersion(3, 24, 4), (*_ANCHORED, *_OWN)),
    (CalicoVersion(3, 24, 6), (*_ANCHORED, *_OWN, "^nodelocaldns.*")),
    (CalicoVersion(3, 25, 0), _NEWEST),
)


def exclusions(version: CalicoVersion = LATEST) -> tuple[str, ...]:
    """The regular expressions of that release, in its order."""
    return next(patterns for since, patterns in reversed(_GENERATIONS) if version >= since)


def excluded_by(name: str, version: CalicoVersion = LATEST) -> str | None:
    """The first of them that an interface's name matches, or None for an interface that is looked at."""
    return _matcher(exclusions(version)).matching(name)


@functools.cache
def _matcher(patterns: tuple[str, ...]) -> Patterns:
    return Patterns(patterns)
