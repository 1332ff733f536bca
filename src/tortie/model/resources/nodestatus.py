"""CalicoNodeStatus: asks a node to report how its BGP goes, and holds the report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from tortie.model.errors import Problem
from tortie.model.fields import IPAddress, Name
from tortie.model.resource import Resource, Spec
from tortie.model.resources.checks import outside, repeated
from tortie.model.shape import Always, Part

StatusClass = Literal["Agent", "BGP", "Routes"]
SessionState = Literal["", "Idle", "Connect", "Active", "OpenSent", "OpenConfirm", "Established", "Close"]


class CalicoNodeStatusSpec(Spec, frozen=True, kw_only=True):
    node: Name
    classes: tuple[StatusClass, ...]
    updatePeriodSeconds: int | None = None

    def problems(self) -> Iterator[Problem]:
        if not self.classes:
            yield Problem("classes", "", "nothing is asked for", "one or more of Agent, BGP, Routes")
        yield from repeated("classes", self.classes)
        if self.updatePeriodSeconds is None:
            yield Problem("updatePeriodSeconds", "", "is required", "for example 10; 0 stops the reports")
        yield from outside(self, {"updatePeriodSeconds": (0, 86400)})


class BGPDaemonStatus(Part, frozen=True, kw_only=True):
    state: Literal["", "Ready", "NotReady"] = ""
    version: str = ""
    routerID: str = ""
    lastBootTime: str = ""
    lastReconfigurationTime: str = ""


class CalicoNodeAgentStatus(Part, frozen=True, kw_only=True):
    birdV4: BGPDaemonStatus = BGPDaemonStatus()
    birdV6: BGPDaemonStatus = BGPDaemonStatus()


class CalicoNodePeer(Part, frozen=True, kw_only=True):
    peerIP: IPAddress | None = None
    type: Literal["", "NodeMesh", "NodePeer", "GlobalPeer"] = ""
    state: SessionState = ""
    since: str = ""


class CalicoNodeBGPStatus(Part, frozen=True, kw_only=True):
    numberEstablishedV4: Always[int] = 0
    numberNotEstablishedV4: Always[int] = 0
    numberEstablishedV6: Always[int] = 0
    numberNotEstablishedV6: Always[int] = 0
    peersV4: tuple[CalicoNodePeer, ...] = ()
    peersV6: tuple[CalicoNodePeer, ...] = ()


class RouteLearnedFrom(Part, frozen=True, kw_only=True):
    sourceType: Literal["", "Kernel", "Static", "Direct", "NodeMesh", "BGPPeer"] = ""
    peerIP: IPAddress | None = None


class CalicoNodeRoute(Part, frozen=True, kw_only=True):
    type: Literal["", "FIB", "RIB"] = ""
    destination: str = ""
    gateway: str = ""
    interface: str = ""
    learnedFrom: RouteLearnedFrom = RouteLearnedFrom()


class CalicoNodeBGPRouteStatus(Part, frozen=True, kw_only=True):
    routesV4: tuple[CalicoNodeRoute, ...] = ()
    routesV6: tuple[CalicoNodeRoute, ...] = ()


class CalicoNodeStatusStatus(Part, frozen=True, kw_only=True):
    lastUpdated: Always[str | None] = None
    agent: CalicoNodeAgentStatus = CalicoNodeAgentStatus()
    bgp: CalicoNodeBGPStatus = CalicoNodeBGPStatus()
    routes: CalicoNodeBGPRouteStatus = CalicoNodeBGPRouteStatus()


class CalicoNodeStatus(Resource, frozen=True, kw_only=True):
    spec: CalicoNodeStatusSpec
    status: CalicoNodeStatusStatus = CalicoNodeStatusStatus()
