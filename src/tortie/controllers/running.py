"""The configuration in force as Calico's controllers tell it, in the status of KubeControllersConfiguration. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tortie.model.controllers_defaults import DEFAULT_SPEC
from tortie.model.kinds import API_VERSION
from tortie.model.resource import stored_form
from tortie.model.wire import Document

KIND: Final = "KubeControllersConfiguration"

ENVIRONMENT: Final = (
    *("AUTO_HOST_ENDPOINTS", "COMPACTION_PERIOD", "ENABLED_CONTROLLERS", "HEALTH_ENABLED", "LOG_LEVEL"),
    *("RECONCILER_PERIOD", "SYNC_NODE_LABELS"),
)
TRUE: Final = ("1", "t", "T", "true", "TRUE", "True")
FALSE: Final = ("0", "f", "F", "false", "FALSE", "False")

# As the environment names them, and as the resource does.
_NAMES: Final = {
    "node": "node",
    "policy": "policy",
    "workloadendpoint": "workloadEndpoint",
    "serviceaccount": "serviceAccount",
    "namespace": "namespace",
    "profile": "namespace",
    "loadbalancer": "loadBalancer",
}
_WITH_RECONCILER: Final = ("policy", "workloadEndpoint", "serviceAccount", "namespace")
_ENABLED: Final = "Enabled"
_DISABLED: Final = "Disabled"


def new_document(name: str, uid: str, created: str) -> Document:
    metadata = {"name": name, "uid": uid, "creationTimestamp": created}
    return {"kind": KIND, "apiVersion": API_VERSION, "metadata": metadata, "spec": DEFAULT_SPEC, "status": {}}


def status_of(environment: Mapping[str, str], spec: Mapping[str, Any]) -> Document:
    """What holds, the environment first, and which variables are set. Everything is spelled as Calico does."""
    given = {name: environment[name] for name in ENVIRONMENT if name in environment}
    level = (given.get("LOG_LEVEL") or str(spec.get("logSeverityScreen") or "info")).lower()
    running: Document = {
        "logSeverityScreen": {"warn": "warning"}.get(level, level).title(),
        "healthChecks": _switch(given.get("HEALTH_ENABLED"), spec.get("healthChecks")),
        "etcdV3CompactionPeriod": given.get("COMPACTION_PERIOD")
        or spec.get("etcdV3CompactionPeriod")
        or DEFAULT_SPEC["etcdV3CompactionPeriod"],
        "controllers": _controllers(given, _part(spec, "controllers")),
    }
    status = {"runningConfig": running, "environmentVars": given}
    document = {**new_document("default", "", ""), "status": {name: item for name, item in status.items() if item}}
    spelled: Document = stored_form(document)["status"]
    return spelled


def _controllers(given: Mapping[str, str], stored: Mapping[str, Any]) -> Document:
    if named := given.get("ENABLED_CONTROLLERS"):
        enabled = {_NAMES[name.strip()] for name in named.split(",") if name.strip() in _NAMES}
    else:
        enabled = {name for name in _NAMES.values() if stored.get(name) is not None}
    found: Document = {}
    if "node" in enabled:
        found["node"] = _node(given, stored)
    for name in _WITH_RECONCILER:
        if name in enabled:
            period = given.get("RECONCILER_PERIOD") or _part(stored, name).get("reconcilerPeriod")
            found[name] = {"reconcilerPeriod": period} if period else {}
    if "loadBalancer" in enabled:
        found["loadBalancer"] = {"assignIPs": _part(stored, "loadBalancer").get("assignIPs") or "AllServices"}
    migration = _part(stored, "policyMigration").get("enabled")
    found["policyMigration"] = {"enabled": _DISABLED if migration == _DISABLED else _ENABLED}
    return found


def _node(given: Mapping[str, str], stored: Mapping[str, Any]) -> Document:
    said = _part(stored, "node")
    found: Document = {"syncLabels": _switch(given.get("SYNC_NODE_LABELS"), said.get("syncLabels"))}
    if automatic := given.get("AUTO_HOST_ENDPOINTS"):
        if automatic.lower() == "enabled":
            found["hostEndpoint"] = {"autoCreate": _ENABLED, "createDefaultHostEndpoint": _ENABLED}
    elif isinstance(endpoint := said.get("hostEndpoint"), dict):
        found["hostEndpoint"] = {
            "autoCreate": _ENABLED if endpoint.get("autoCreate") == _ENABLED else _DISABLED,
            "createDefaultHostEndpoint": endpoint.get("createDefaultHostEndpoint") or _ENABLED,
        } | ({"templates": endpoint["templates"]} if endpoint.get("templates") else {})
    if grace := said.get("leakGracePeriod"):
        found["leakGracePeriod"] = grace
    return found


def _switch(told: str | None, stored: object) -> str:
    """On, unless somebody says off."""
    off = told in FALSE if told is not None else stored == _DISABLED
    return _DISABLED if off else _ENABLED


def _part(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = document.get(name)
    return part if isinstance(part, dict) else {}
