"""What the controllers tell of their configuration, as Calico's own would for the same environment and resource."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tortie.controllers.running import new_document, status_of
from tortie.model.controllers_defaults import DEFAULT_SPEC
from tortie.model.resource import stored_form, validate

RECONCILERS = ("policy", "workloadEndpoint", "serviceAccount", "namespace")
MIGRATION = {"policyMigration": {"enabled": "Enabled"}}
NODE = {
    "syncLabels": "Enabled",
    "hostEndpoint": {"autoCreate": "Disabled", "createDefaultHostEndpoint": "Enabled"},
    "leakGracePeriod": "15m0s",
}


def running(**fields: Any) -> dict[str, Any]:
    usual = {"logSeverityScreen": "Info", "healthChecks": "Enabled", "etcdV3CompactionPeriod": "10m0s"}
    return {**usual, **fields}


def test_the_default_resource_keeps_the_rules_and_is_spelled_as_it_is_stored() -> None:
    document = new_document("default", "u", "2026-11-16T00:00:00Z")
    assert validate(document) == []
    assert json.dumps(stored_form(document)["spec"]) == json.dumps(DEFAULT_SPEC)


def test_with_the_default_resource_and_no_variables() -> None:
    reconcilers = {name: {"reconcilerPeriod": "5m0s"} for name in RECONCILERS}
    controllers = {"node": NODE, **reconcilers, "loadBalancer": {"assignIPs": "AllServices"}, **MIGRATION}
    expected = {"runningConfig": running(controllers=controllers)}
    assert json.dumps(status_of({}, DEFAULT_SPEC)) == json.dumps(expected)


def test_the_environment_comes_first_and_is_told() -> None:
    given = {
        "AUTO_HOST_ENDPOINTS": "enabled",
        "COMPACTION_PERIOD": "1m0s",
        "ENABLED_CONTROLLERS": "policy,namespace,serviceaccount,workloadendpoint,node",
        "HEALTH_ENABLED": "false",
        "LOG_LEVEL": "warn",
        "RECONCILER_PERIOD": "1m30s",
        "SYNC_NODE_LABELS": "false",
    }
    automatic = {"autoCreate": "Enabled", "createDefaultHostEndpoint": "Enabled"}
    node = {"syncLabels": "Disabled", "hostEndpoint": automatic, "leakGracePeriod": "15m0s"}
    reconcilers = {name: {"reconcilerPeriod": "1m30s"} for name in RECONCILERS}
    expected = {
        "runningConfig": {
            "logSeverityScreen": "Warning",
            "healthChecks": "Disabled",
            "etcdV3CompactionPeriod": "1m0s",
            "controllers": {"node": node, **reconcilers, **MIGRATION},
        },
        "environmentVars": given,
    }
    assert json.dumps(status_of({**given, "HOME": "/root"}, DEFAULT_SPEC)) == json.dumps(expected)


@pytest.mark.parametrize(
    ("environment", "spec", "controllers"),
    [
        ({}, {}, MIGRATION),
        ({"ENABLED_CONTROLLERS": "node"}, {}, {"node": {"syncLabels": "Enabled"}, **MIGRATION}),
        (
            {"AUTO_HOST_ENDPOINTS": "disabled"},
            {"controllers": {"node": NODE}},
            {"node": {"syncLabels": "Enabled", "leakGracePeriod": "15m0s"}, **MIGRATION},
        ),
        (
            {"ENABLED_CONTROLLERS": "loadbalancer"},
            {"controllers": {"loadBalancer": {"assignIPs": "RequestedServicesOnly"}, "node": NODE}},
            {"loadBalancer": {"assignIPs": "RequestedServicesOnly"}, **MIGRATION},
        ),
        (
            {},
            {"controllers": {"policy": {}, "policyMigration": {"enabled": "Disabled"}}},
            {"policy": {}, "policyMigration": {"enabled": "Disabled"}},
        ),
        ({}, {"controllers": "nonsense"}, MIGRATION),
    ],
)
def test_only_what_is_named_runs(
    environment: dict[str, str], spec: dict[str, Any], controllers: dict[str, Any]
) -> None:
    assert status_of(environment, spec)["runningConfig"]["controllers"] == controllers
