"""The kinds of objects that a lab has, by all the names that kubectl knows for them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

Thing = dict[str, Any]  # an object of Kubernetes, in the API's own form


class Kind(NamedTuple):
    name: str
    plural: str
    shorts: tuple[str, ...] = ()
    namespaced: bool = True
    group: str = ""
    version: str = "v1"

    @property
    def singular(self) -> str:
        return self.name.lower()

    @property
    def title(self) -> str:
        """How one is called in front of its name: `daemonset.apps`."""
        return f"{self.singular}.{self.group}" if self.group else self.singular

    @property
    def plural_title(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


POD: Final = Kind("Pod", "pods", ("po",))
NODE: Final = Kind("Node", "nodes", ("no",), namespaced=False)
EVENT: Final = Kind("Event", "events", ("ev",))
DAEMON_SET: Final = Kind("DaemonSet", "daemonsets", ("ds",), group="apps")
DEPLOYMENT: Final = Kind("Deployment", "deployments", ("deploy",), group="apps")
CONFIG_MAP: Final = Kind("ConfigMap", "configmaps", ("cm",))
ENDPOINTS: Final = Kind("Endpoints", "endpoints", ("ep",))
NAMESPACE: Final = Kind("Namespace", "namespaces", ("ns",), namespaced=False)
LEASE: Final = Kind("Lease", "leases", group="coordination.k8s.io")

KINDS: Final = (POD, NODE, DAEMON_SET, DEPLOYMENT, EVENT, CONFIG_MAP, ENDPOINTS, NAMESPACE, LEASE)
ALL: Final = (POD, DAEMON_SET, DEPLOYMENT)  # what `get all` means here
_BY_WORD: Final = {
    word: kind for kind in KINDS for word in (kind.singular, kind.plural, kind.title, kind.plural_title, *kind.shorts)
}


def kind_of(word: str) -> Kind | None:
    """By any of its names: ds, daemonset, daemonsets, daemonsets.apps."""
    return _BY_WORD.get(word.lower().removesuffix(".v1.apps").removesuffix(".v1"))


def of_kind(things: Iterable[Thing], kind: Kind) -> list[Thing]:
    return [thing for thing in things if thing.get("kind") == kind.name]


def name_of(thing: Mapping[str, Any]) -> str:
    return str(at(thing, "metadata", "name") or "")


def namespace_of(thing: Mapping[str, Any]) -> str:
    return str(at(thing, "metadata", "namespace") or "")


def at(thing: Any, *path: str) -> Any:
    """What lies there, None where nothing does."""
    for part in path:
        thing = thing.get(part) if isinstance(thing, Mapping) else None
    return thing


def items_at(thing: Any, *path: str) -> list[Any]:
    """A list, empty where there is none."""
    found = at(thing, *path)
    return found if isinstance(found, list) else []


def pairs_at(thing: Any, *path: str) -> dict[str, Any]:
    found = at(thing, *path)
    return found if isinstance(found, dict) else {}


def condition(thing: Mapping[str, Any], kind: str) -> dict[str, Any] | None:
    found = items_at(thing, "status", "conditions")
    return next((each for each in found if each.get("type") == kind), None)


def is_ready(thing: Mapping[str, Any]) -> bool:
    return (condition(thing, "Ready") or {}).get("status") == "True"


def owned_by(thing: Mapping[str, Any], kind: str, name: str) -> bool:
    owners = items_at(thing, "metadata", "ownerReferences")
    return any(each.get("kind") == kind and each.get("name") == name for each in owners)
