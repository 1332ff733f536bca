"""The cluster as a whole: what it is, and what its controllers do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from tortie.model.errors import Problem
from tortie.model.fields import Choice, Duration, IPInterface, Name, RegularExpression, Selector
from tortie.model.resource import Resource, Spec, label_problems
from tortie.model.resources.checks import outside, repeated, under
from tortie.model.shape import Part
from tortie.model.wire import Document

Switch = Literal["", "Enabled", "Disabled"]


class ClusterInformationSpec(Spec, frozen=True, kw_only=True):
    clusterGUID: str = ""
    clusterType: str = ""
    calicoVersion: str = ""
    datastoreReady: bool | None = None
    variant: str = ""


class ClusterInformation(Resource, frozen=True, kw_only=True):
    spec: ClusterInformationSpec = ClusterInformationSpec()
    only_names = re.compile("default")
    names_help = "default"


class ControllersLogLevel(Choice):
    names = ("None", "Trace", "Debug", "Info", "Warning", "Error", "Fatal", "Panic")


class Template(Part, frozen=True, kw_only=True):
    """Host endpoints for interfaces of the nodes that it selects."""

    generateName: Name = Name("")
    interfaceCIDRs: tuple[IPInterface, ...] = ()
    interfacePattern: RegularExpression | None = None
    interfaceSelector: RegularExpression | None = None  # the pattern's name in its first release
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    nodeSelector: Selector = Selector("")

    def problems(self) -> Iterator[Problem]:
        if not self.generateName:
            yield Problem("generateName", "", "a template needs a name", "a part of the host endpoints' names")
        if not (self.interfaceCIDRs or self.interfacePattern or self.interfaceSelector):
            why = "a template has to say which interfaces it is for"
            yield Problem("interfaceCIDRs", "", why, "set interfaceCIDRs or interfacePattern")
        yield from label_problems(self.labels, "labels")


class AutoHostEndpointConfig(Part, frozen=True, kw_only=True):
    autoCreate: Switch = ""
    createDefaultHostEndpoint: Switch = ""
    templates: tuple[Template, ...] = ()

    def problems(self) -> Iterator[Problem]:
        for index, template in enumerate(self.templates):
            yield from under(f"templates[{index}]", template.problems())
        names = [template.generateName for template in self.templates if template.generateName]
        yield from repeated("templates", names)


class NodeControllerConfig(Part, frozen=True, kw_only=True):
    reconcilerPeriod: Duration | None = None
    syncLabels: Switch = ""
    hostEndpoint: AutoHostEndpointConfig | None = None
    leakGracePeriod: Duration | None = None


class ReconcilerConfig(Part, frozen=True, kw_only=True):
    reconcilerPeriod: Duration | None = None


class LoadBalancerControllerConfig(Part, frozen=True, kw_only=True):
    assignIPs: Literal["", "AllServices", "RequestedServicesOnly"] = ""


class MigrationControllerConfig(Part, frozen=True, kw_only=True):
    enabled: Switch = ""


class NamedMigrationsConfig(Part, frozen=True, kw_only=True):
    """What replaces `policyMigration` after v3.32."""

    policyNameMigrator: Switch = ""


class ControllersConfig(Part, frozen=True, kw_only=True):
    node: NodeControllerConfig | None = None
    policy: ReconcilerConfig | None = None
    workloadEndpoint: ReconcilerConfig | None = None
    serviceAccount: ReconcilerConfig | None = None
    namespace: ReconcilerConfig | None = None
    loadBalancer: LoadBalancerControllerConfig | None = None
    policyMigration: MigrationControllerConfig | None = None
    migration: NamedMigrationsConfig | None = None


class KubeControllersConfigurationSpec(Spec, frozen=True, kw_only=True):
    logSeverityScreen: ControllersLogLevel | None = None
    healthChecks: Switch = ""
    etcdV3CompactionPeriod: Duration | None = None
    prometheusMetricsPort: int | None = None
    controllers: ControllersConfig = ControllersConfig()
    debugProfilePort: int | None = None

    def problems(self) -> Iterator[Problem]:
        yield from outside(self, {"prometheusMetricsPort": (0, 65535), "debugProfilePort": (0, 65535)})
        if self.controllers.node is not None and self.controllers.node.hostEndpoint is not None:
            yield from under("controllers.node.hostEndpoint", self.controllers.node.hostEndpoint.problems())


class KubeControllersConfigurationStatus(Part, frozen=True, kw_only=True):
    runningConfig: KubeControllersConfigurationSpec | None = None
    environmentVars: dict[str, str] = {}


class KubeControllersConfiguration(Resource, frozen=True, kw_only=True):
    spec: KubeControllersConfigurationSpec = KubeControllersConfigurationSpec()
    status: KubeControllersConfigurationStatus = KubeControllersConfigurationStatus()
    only_names = re.compile("default")
    names_help = "default"

    @classmethod
    def complete(cls, spec: Document) -> Document:
        completed = _with_schema_defaults(_with_defaults(spec, prometheusMetricsPort=9094))
        if (node := completed["controllers"].get("node")) is not None:
            completed["controllers"]["node"] = _with_defaults(node, leakGracePeriod="15m0s")
        return completed

    @classmethod
    def complete_status(cls, status: Document) -> Document:
        running = status.get("runningConfig")
        return status if running is None else status | {"runningConfig": _with_schema_defaults(running)}


def _with_schema_defaults(config: Document) -> Document:
    """Those that Calico's schema names, which hold wherever such a configuration stands."""
    controllers = dict(config.get("controllers") or {})
    for name, defaults in (("loadBalancer", {"assignIPs": "AllServices"}), ("policyMigration", {"enabled": "Enabled"})):
        if controllers.get(name) is not None:
            controllers[name] = _with_defaults(controllers[name], **defaults)
    return _with_defaults(config | {"controllers": controllers}, healthChecks="Enabled")


def _with_defaults(document: Document, **defaults: object) -> Document:
    return document | {name: value for name, value in defaults.items() if document.get(name) in (None, "")}
