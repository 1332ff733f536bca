"""Who is asked for a change, and from which release on: one table of owners and ways. Pure.

A hand is who holds an installation: the tool that wrote it and would write it again. Sections are those of ways.txt.
What no row names is done as for the hand behind it, and what the platform would undo is said.
"""

from __future__ import annotations

from typing import Final

from tortie.doctor.picture.owner import Owner, owner
from tortie.doctor.picture.picture import Picture, version_numbers
from tortie.model.tuples import NamedTuple

Release = tuple[int, ...]


class Way(NamedTuple):
    """One row. `since` is the first release of Calico that knows it, `until` the first that does not."""

    wish: str
    hand: str
    sections: tuple[str, ...]
    since: Release = ()
    until: Release = ()

    def fits(self, release: Release | None) -> bool:
        """A release that nobody named is taken for a recent one."""
        if release is None:
            return not self.until
        return release >= self.since and (not self.until or release < self.until)


class Chosen(NamedTuple):
    way: Way
    owner: Owner
    hands: tuple[str, ...]

    @property
    def shown(self) -> str:
        """Where the evidence names the owner: first who installed it, then the platform that keeps it."""
        if self.way.hand in ("manifest", "canal") or not self.owner.evidence:
            return ""
        return str(self.owner.evidence[0 if self.way.hand == "operator" else -1])

    @property
    def keeper(self) -> str:
        """The platform that would undo what is done behind its back, where the way is not its own."""
        return "" if self.hands[0] in (self.way.hand, "manifest", "canal", "operator") else self.hands[0]

    @property
    def kept(self) -> str:
        """Where the evidence names that platform."""
        return str(self.owner.evidence[-1]) if self.owner.evidence else ""


def _way(wish: str, hand: str, *sections: str, since: Release = (), until: Release = ()) -> Way:
    return Way(wish, hand, sections or (f"{wish} {hand}",), since, until)


# kubernetes-internal-ip and cidr= came later than the others; what stands in for them is chosen in methods.py.
WAYS: Final = (
    # An environment variable of calico-node
    _way("env", "manifest"),
    _way("env", "operator"),
    _way("env", "rke2-calico", "env operator"),
    _way("env", "rke2-canal"),
    # How the agent finds its address
    _way("autodetection", "manifest"),
    _way("autodetection", "operator"),
    _way("autodetection", "rke2-calico"),
    _way("autodetection", "rke2-canal", since=(3, 22)),
    _way("autodetection", "rke2-canal", "autodetection manifest", until=(3, 22)),
    _way("autodetection", "kubespray", "autodetection manifest", "autodetection kubespray"),
    _way("autodetection", "kops"),
    _way("autodetection", "microk8s"),
    _way("autodetection", "kubekey", "autodetection manifest", "autodetection kubekey"),
    # A key of the ConfigMap
    _way("config-map", "manifest"),
    _way("config-map", "canal"),
    _way("config-map", "operator"),
    _way("config-map", "rke2-calico", "config-map operator"),
    _way("config-map", "rke2-canal"),
    _way("config-map", "microk8s"),
    # MTU of pods and tunnels
    _way("mtu", "manifest"),
    _way("mtu", "canal"),
    _way("mtu", "operator"),
    _way("mtu", "rke2-calico"),
    _way("mtu", "rke2-canal"),
    _way("mtu", "kubespray", "mtu manifest", "mtu kubespray"),
    _way("mtu", "kops"),
    _way("mtu", "rke"),
    _way("mtu", "microk8s"),
    _way("mtu", "kubekey", "mtu manifest", "mtu kubekey"),
    # ... found by the agent itself
    _way("mtu-auto", "manifest", since=(3, 17)),
    _way("mtu-auto", "manifest", "mtu by-hand", until=(3, 17)),
    _way("mtu-auto", "operator", since=(3, 17)),
    _way("mtu-auto", "operator", "mtu operator", until=(3, 17)),
    _way("mtu-auto", "canal", "mtu canal"),
    _way("mtu-auto", "rke2-canal", "mtu rke2-canal"),
    _way("mtu-auto", "rke2-calico", "mtu rke2-calico"),
    _way("mtu-auto", "microk8s", "mtu microk8s"),
    _way("mtu-auto", "kops", "mtu kops"),
    _way("mtu-auto", "rke", "mtu rke"),
    # Limits of the agent's container
    _way("limits", "manifest"),
    _way("limits", "operator", since=(3, 25)),
    _way("limits", "operator", "limits operator-components", until=(3, 25)),
    _way("limits", "microk8s"),
    # Something in the DaemonSet that has no setting of its own
    _way("edit", "manifest"),
    _way("edit", "operator"),
    _way("edit", "rke2-calico"),
    _way("edit", "rke2-canal"),
    _way("edit", "microk8s"),
    # The files of a release
    _way("apply", "manifest"),
    _way("apply", "operator"),
    _way("apply", "rke2-calico", "apply rke2"),
    _way("apply", "rke2-canal", "apply rke2"),
    _way("apply", "rke"),
    _way("apply", "kops"),
    _way("apply", "kubespray"),
    _way("apply", "microk8s"),
    # Probes
    _way("probe", "manifest"),
    _way("probe", "operator"),
    _way("probe", "rke2-calico", "probe operator"),
    _way("probe", "kubespray", "probe manifest", "probe kubespray"),
    _way("probe", "microk8s", "edit microk8s"),
    # A pool
    _way("pool", "manifest"),
    _way("pool", "operator"),
    _way("pool", "rke2-calico"),
)  # fmt: skip
# Who is behind a platform that does not know a wish itself.
_BEHIND: Final = {"openshift": "operator", "eks": "operator", "aks": "operator", "gke": "operator"}


def hands(whose: Owner) -> tuple[str, ...]:
    """Who may hold the installation, the one that has the last word first."""
    way = whose.way or _BEHIND.get(whose.platform, "manifest")
    last = ("operator",) if way == "operator" else ("canal", "manifest") if way == "canal" else ("manifest",)
    if whose.platform == "rke2":  # its own charts; canal is what it installs unless told otherwise
        return ("rke2-calico" if way == "operator" else "rke2-canal", *last)
    return (whose.platform, *last) if whose.platform else last


def choose(picture: Picture, wish: str) -> Chosen:
    """The way that fits owner and release; there is one for a manifest, always."""
    whose = owner(picture)
    release = release_of(picture)
    order = hands(whose)
    found = [
        way
        for hand in (*order, "manifest")
        for way in WAYS
        if way.wish == wish and way.hand == hand and way.fits(release)
    ]
    return Chosen(found[0], whose, order)


def release_of(picture: Picture) -> Release | None:
    """Calico's, as far as the evidence says."""
    return picture.version("calico")


def kubernetes_of(picture: Picture) -> Release | None:
    shown = [numbers for node in picture.nodes_now().values() if (numbers := version_numbers(node.version))]
    return picture.version("kubernetes") or (min(shown) if shown else None)
