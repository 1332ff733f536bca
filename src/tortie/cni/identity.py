"""Who a pod is to the cluster: the names Calico gives it, and its WorkloadEndpoint. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from tortie.cni.config import Network
from tortie.cni.errors import CONFIG, CniError
from tortie.cni.invocation import Invocation
from tortie.cni.wishes import Wishes
from tortie.model.keys import ResourceKey
from tortie.model.kinds import API_VERSION, BY_NAME
from tortie.model.names import EndpointName, host_interface
from tortie.model.network import IP
from tortie.model.wire import Document, decode, encode

DEFAULT_INTERFACE: Final = "eth0"
LINK_DIGITS: Final = 11  # of a container's id in the name of its host interface
_ENDPOINT: Final = BY_NAME["WorkloadEndpoint"]
_PROFILE: Final = BY_NAME["Profile"]
_LABEL_MAX: Final = 63


class Identity(NamedTuple):
    node: str
    network: str
    container: str
    endpoint: str  # the interface in the pod
    namespace: str
    pod: str  # empty: no Kubernetes
    account: str  # its service account; empty if nobody said
    host_interface: str

    @property
    def orchestrator(self) -> str:
        return "k8s" if self.pod else "cni"

    @property
    def handle(self) -> str:
        """What its addresses are kept under. Calico gives two interfaces of one pod the same; so they could not both
        have addresses.
        """
        return handle_of(self.network, self.container, self.endpoint)

    @property
    def old_handles(self) -> tuple[str, ...]:
        """What Calico 2 kept addresses under."""
        return (f"{self.namespace}.{self.pod}",) if self.pod and self.endpoint == DEFAULT_INTERFACE else ()

    @property
    def key(self) -> str:
        name = EndpointName(self.node, self.orchestrator, self.pod or self.container, self.endpoint)
        return str(ResourceKey(_ENDPOINT, str(name), self.namespace))

    @property
    def spoken(self) -> str:
        return f"{self.namespace}/{self.pod}" if self.pod else f"container {self.container[:12]}"

    def attributes(self, now: datetime) -> dict[str, str]:
        """What is kept beside each address."""
        found = {"node": self.node, "timestamp": go_time(now)}
        return found | {"pod": self.pod, "namespace": self.namespace} if self.pod else found


def handle_of(network: str, container: str, interface: str) -> str:
    return f"{network}.{container}" + (f".{interface}" if interface != DEFAULT_INTERFACE else "")


def identify(invocation: Invocation, network: Network, node: str, prefix: str = "cali") -> Identity:
    namespace, pod = invocation.pod
    interface = invocation.ifname or DEFAULT_INTERFACE
    second = interface != DEFAULT_INTERFACE
    if pod:
        # A second interface of the same pod needs a second name.
        name = host_interface(namespace, f"{pod}.{interface}" if second else pod, prefix)
    elif second:
        name = host_interface(invocation.container, interface, prefix)
    else:
        name = prefix + invocation.container[:LINK_DIGITS]
    account = network.args.get("serviceAccount")
    return Identity(
        node, network.name, invocation.container, interface, namespace or "default", pod, str(account or ""), name
    )


def endpoint_value(
    who: Identity, ips: Sequence[IP], mac: str, wishes: Wishes, labels: Mapping[str, str], now: datetime, uid: str
) -> bytes:
    """As Calico would have written it. Nothing of an older one of that name is kept: it was another container's."""
    metadata: Document = {
        "name": who.key.rpartition("/")[2],
        "namespace": who.namespace,
        "uid": uid,
        "creationTimestamp": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "labels": dict(sorted(_labels(who, labels).items())),
    }
    spec: Document = {"orchestrator": who.orchestrator, "node": who.node, "containerID": who.container}
    if who.pod:
        spec["pod"] = who.pod
    spec["endpoint"] = who.endpoint
    if who.account:
        spec["serviceAccountName"] = who.account
    spec["ipNetworks"] = [f"{ip}/{ip.max_prefixlen}" for ip in ips]
    if nats := [(ip, out) for out in wishes.floating for ip in ips if ip.version == out.version]:
        spec["ipNATs"] = [{"internalIP": str(ip), "externalIP": str(out)} for ip, out in nats]
    spec |= {"profiles": profiles(who), "interfaceName": who.host_interface, "mac": mac}
    if wishes.sources:
        spec["allowSpoofedSourcePrefixes"] = [str(source) for source in wishes.sources]
    return encode({"kind": _ENDPOINT.name, "apiVersion": API_VERSION, "metadata": metadata, "spec": spec})


def _labels(who: Identity, given: Mapping[str, str]) -> dict[str, str]:
    own = {"projectcalico.org/namespace": who.namespace, "projectcalico.org/orchestrator": who.orchestrator}
    if who.account and len(who.account) < _LABEL_MAX:
        own["projectcalico.org/serviceaccount"] = who.account
    return {**given, **own}


def profiles(who: Identity) -> list[str]:
    if not who.pod:
        return [who.network]
    return [f"kns.{who.namespace}", *([f"ksa.{who.namespace}.{who.account}"] if who.account else [])]


def labels_in(network: Network) -> dict[str, str]:
    """`args.cni.labels` is a list of `key` and `value`, by the conventions of CNI."""
    listed = network.args.get("labels") or []
    if not isinstance(listed, list):
        raise CniError(CONFIG, f"the field args.cni.labels is {str(listed)[:100]!r}", "it should be a list")
    return {
        str(item["key"]): str(item.get("value", "")) for item in listed if isinstance(item, dict) and item.get("key")
    }


class Endpoint(NamedTuple):
    """What a WorkloadEndpoint in the datastore says of its attachment."""

    node: str
    container: str
    interface: str
    host_interface: str
    ips: frozenset[str]


def endpoint_in(key: str, value: bytes) -> Endpoint:
    """`Undecodable` if it is none."""
    spec = decode(value, key).get("spec") or {}
    listed = spec.get("ipNetworks")
    return Endpoint(
        str(spec.get("node") or ""),
        str(spec.get("containerID") or ""),
        str(spec.get("endpoint") or ""),
        str(spec.get("interfaceName") or ""),
        frozenset(str(ip).partition("/")[0] for ip in (listed if isinstance(listed, list) else ())),
    )


def container_of(key: str, value: bytes) -> str:
    """Which container an endpoint in the datastore is of."""
    return str((decode(value, key).get("spec") or {}).get("containerID") or "")


def profile_of(network: str, now: datetime, uid: str) -> tuple[str, bytes]:
    """For containers without Kubernetes: members of a network reach each other."""
    document: Document = {
        "kind": _PROFILE.name,
        "apiVersion": API_VERSION,
        "metadata": {
            "name": network,
            "uid": uid,
            "creationTimestamp": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        },
        "spec": {
            "ingress": [{"action": "Allow", "source": {"selector": f"has({network})"}, "destination": {}}],
            "egress": [{"action": "Allow", "source": {}, "destination": {}}],
            "labelsToApply": {network: ""},
        },
    }
    return str(ResourceKey(_PROFILE, network)), encode(document)


def go_time(now: datetime) -> str:
    """As Go prints a time in UTC."""
    there = now.astimezone(UTC)
    fraction = f".{there.microsecond:06d}".rstrip("0").rstrip(".") if there.microsecond else ""
    return f"{there:%Y-%m-%d %H:%M:%S}{fraction} +0000 UTC"
