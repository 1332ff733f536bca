"""Every kind of the projectcalico.org/v3 API: its names, its scope, and the module that holds its type.

Kept free of heavy imports: a command that only lists resources needs nothing else of the model.
"""

from __future__ import annotations

from collections.abc import Iterable

from tortie.model.errors import UsageError
from tortie.model.light import Final, NamedTuple

API_VERSION: Final = "projectcalico.org/v3"


class Kind(NamedTuple):
    name: str  # as in `kind:`
    plural: str  # as in datastore keys
    module: str  # below tortie.model.resources
    aliases: tuple[str, ...] = ()
    namespaced: bool = False

    def __str__(self) -> str:
        return self.name

    def describe(self, name: str, namespace: str | None = None) -> str:
        """The form Calico's messages use: IPPool(name), NetworkPolicy(namespace/name)."""
        return f"{self.name}({namespace}/{name})" if namespace else f"{self.name}({name})"


KINDS: Final = (
    Kind("BGPConfiguration", "bgpconfigurations", "bgp", ("bgpconfig", "bgpconfigs")),
    Kind("BGPFilter", "bgpfilters", "bgp", ("bgpf", "bf")),
    Kind("BGPPeer", "bgppeers", "bgp", ("bgpp", "bp")),
    Kind("BlockAffinity", "blockaffinities", "ipam", ("affinity", "affinities")),
    Kind("CalicoNodeStatus", "caliconodestatuses", "nodestatus", ("nodestatus", "nodestatuses")),
    Kind("ClusterInformation", "clusterinformations", "cluster", ("clusterinfo", "clusterinfos")),
    Kind("FelixConfiguration", "felixconfigurations", "felix", ("felixconfig", "felixconfigs")),
    Kind("GlobalNetworkPolicy", "globalnetworkpolicies", "policies", ("gnp", "gnps")),
    Kind("GlobalNetworkSet", "globalnetworksets", "sets", ("gnetset", "gnetsets")),
    Kind("HostEndpoint", "hostendpoints", "endpoints", ("hep", "heps")),
    Kind("IPAMConfiguration", "ipamconfigurations", "ipam", ("ipamconfig", "ipamconfigs")),
    Kind("IPPool", "ippools", "ippool", ("ipp", "ipps", "pool", "pools")),
    Kind("IPReservation", "ipreservations", "ipam", ("reservation", "reservations")),
    Kind(
        "KubeControllersConfiguration",
        "kubecontrollersconfigurations",
        "cluster",
        ("kubecontrollersconfig", "kubecontrollersconfigs"),
    ),
    Kind("NetworkPolicy", "networkpolicies", "policies", ("policy", "np", "pol", "policies", "pols", "nps"), True),
    Kind("NetworkSet", "networksets", "sets", ("netset", "netsets"), True),
    Kind("Node", "nodes", "node", ("no", "nos")),
    Kind("Profile", "profiles", "policies", ("pro", "pros")),
    Kind("StagedGlobalNetworkPolicy", "stagedglobalnetworkpolicies", "policies", ("sgnp", "sgnps")),
    Kind(
        "StagedKubernetesNetworkPolicy",
        "stagedkubernetesnetworkpolicies",
        "policies",
        ("sknp", "skpol", "sknps", "skpols"),
        True,
    ),
    Kind("StagedNetworkPolicy", "stagednetworkpolicies", "policies", ("snp", "spol", "snps", "spols"), True),
    Kind("Tier", "tiers", "policies"),
    Kind("WorkloadEndpoint", "workloadendpoints", "endpoints", ("wep", "weps"), True),
)

BY_PLURAL: Final = {kind.plural: kind for kind in KINDS}
BY_NAME: Final = {kind.name: kind for kind in KINDS}
_SPOKEN: Final = {
    word: kind for kind in KINDS for word in (kind.name.lower(), kind.plural, kind.name.lower() + "s", *kind.aliases)
}


class UnknownKind(UsageError):
    code = "unknown-kind"

    def __init__(self, word: str) -> None:
        near = nearest(word.lower(), _SPOKEN)
        fix = f"did you mean {_SPOKEN[near].name}?" if near else "`tortie get --help` lists the kinds"
        super().__init__(f"resource type '{word}' is not supported", "no kind of that name or alias exists", fix)


def find_kind(word: str) -> Kind:
    """The kind that a person means: any case, singular, plural or calicoctl's short form."""
    try:
        return _SPOKEN[word.lower()]
    except KeyError:
        raise UnknownKind(word) from None


def spoken_names() -> list[str]:
    """What shell completion offers."""
    return sorted({kind.plural for kind in KINDS})


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """The choice a person most likely meant, or None when nothing is close."""
    import difflib  # only needed once something is wrong

    by_lower = {name.lower(): name for name in choices}
    found = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None
