"""What fixes of this family ask about an installation: its datastore, which of them to restart."""

from __future__ import annotations

from collections.abc import Iterable

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import Do, do
from tortie.doctor.causes.steps import Step
from tortie.doctor.picture.picture import Picture


def uses_etcd(picture: Picture) -> bool | None:
    """Whether Calico keeps its own records in etcd; None where nothing says."""
    if kind := picture.value("DATASTORE_TYPE"):
        return kind.lower().startswith("etcd")
    if any(registered.via == "annotation" for registered in picture.registered()):
        return False  # an annotation of Kubernetes' node is the record itself
    return True if picture.value("ETCD_ENDPOINTS") or picture.value("etcd_endpoints") else None


def restarted(picture: Picture, node: str) -> Iterable[Do | Step]:
    """The agent of that node; where nobody says which, the cause's own step with a hole for the pod."""
    return ways.restart_agent(picture, node) if node else (do("restart"),)
