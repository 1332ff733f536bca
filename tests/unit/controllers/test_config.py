"""What the controllers are told: by the environment, by the resource, or by nobody."""

from __future__ import annotations

from typing import Any

import pytest

from tortie.controllers.config import Config, read_config
from tortie.model.controllers_defaults import DEFAULT_SPEC
from tortie.model.errors import UsageError


def heeded(config: Config) -> Config:
    return config._replace(unheeded=())


def test_without_anything_said() -> None:
    assert heeded(read_config({}, None)) == Config(True, (), "info", True, 9094, 900.0, 300.0)
    held = read_config({}, DEFAULT_SPEC)
    assert held.unheeded == read_config({}, None).unheeded
    idle = ("policy", "workloadendpoint", "serviceaccount", "namespace", "loadbalancer", "policymigration")
    assert heeded(held) == Config(True, idle, "info", True, 9094, 900.0, 300.0)


def test_a_resource_without_the_node_controller_switches_it_off_and_says_so() -> None:
    specs: tuple[dict[str, Any], ...] = ({}, {"controllers": {}}, {"controllers": {"policy": {}}})
    for spec in specs:
        config = read_config({}, spec)
        assert not config.node
        assert config.warnings == (
            "KubeControllersConfiguration default names no node controller: nothing is cleaned up",
        )
        assert read_config({"ENABLED_CONTROLLERS": "node"}, spec).node


def test_what_has_no_effect_here_is_told_and_whether_somebody_asked_for_it() -> None:
    told = [(each.text.partition(" has no effect")[0], each.asked) for each in read_config({}, None).unheeded]
    assert told == [("etcdV3CompactionPeriod 10m0s", False), ("controllers.node.syncLabels Enabled", False)]
    spec = {
        "etcdV3CompactionPeriod": "0s",
        "debugProfilePort": 6060,
        "controllers": {"node": {"syncLabels": "Disabled", "hostEndpoint": {"autoCreate": "Enabled"}}},
    }
    told = [(each.text.partition(" has no effect")[0], each.asked) for each in read_config({}, spec).unheeded]
    assert told == [("controllers.node.hostEndpoint.autoCreate Enabled", True), ("debugProfilePort 6060", True)]
    off = {"AUTO_HOST_ENDPOINTS": "disabled", "SYNC_NODE_LABELS": "false", "COMPACTION_PERIOD": "0"}
    assert read_config(off, None).unheeded == ()
    assert [each.asked for each in read_config({"COMPACTION_PERIOD": "1m"}, spec).unheeded] == [True] * 3


def test_the_resource_is_heard_and_the_environment_beats_it() -> None:
    node = {"leakGracePeriod": "10m0s", "reconcilerPeriod": "1m"}
    spec = {
        "logSeverityScreen": "Warning",
        "healthChecks": "Disabled",
        "prometheusMetricsPort": 0,
        "controllers": {"node": node},
    }
    assert heeded(read_config({}, spec)) == Config(True, (), "warning", False, 0, 600.0, 60.0)
    said = {"LOG_LEVEL": "debug", "HEALTH_ENABLED": "true", "RECONCILER_PERIOD": "2m"}
    assert heeded(read_config(said, spec)) == Config(True, (), "debug", True, 0, 600.0, 120.0)
    assert read_config(said, spec, "5s").grace_s == 5.0


def test_a_whole_look_is_due_twice_in_the_grace_period_and_not_seldom() -> None:
    assert read_config({}, None, "60s").scan_every_s == 30.0
    assert read_config({}, None, "1h").scan_every_s == 300.0
    assert read_config({}, None, "0").scan_every_s == 300.0


def test_controllers_that_need_kubernetes_may_be_named() -> None:
    said = read_config({"ENABLED_CONTROLLERS": "policy,namespace,node"}, None)
    assert (said.node, said.idle) == (True, ("policy", "namespace"))
    assert not read_config({"ENABLED_CONTROLLERS": "policy"}, None).node
    assert read_config({}, {"controllers": {"policy": {}}}).node is False


@pytest.mark.parametrize(
    ("environment", "grace", "words"),
    [
        ({"ENABLED_CONTROLLERS": "typo"}, None, "Invalid controller 'typo' provided."),
        ({"RECONCILER_PERIOD": "often"}, None, "RECONCILER_PERIOD is 'often'"),
        ({"COMPACTION_PERIOD": "often"}, None, "COMPACTION_PERIOD is 'often'"),
        ({"HEALTH_ENABLED": "maybe"}, None, "HEALTH_ENABLED is 'maybe'"),
        ({"SYNC_NODE_LABELS": "Enabled"}, None, "SYNC_NODE_LABELS is 'Enabled'"),
        ({"AUTO_HOST_ENDPOINTS": "true"}, None, "AUTO_HOST_ENDPOINTS is 'true'"),
        ({"LOG_LEVEL": "loud"}, None, "LOG_LEVEL is 'loud'"),
        ({}, "-5s", "--grace is '-5s'"),
    ],
)
def test_what_a_person_says_must_make_sense(environment: dict[str, str], grace: str | None, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_config(environment, None, grace)
    assert refused.value.what == words


def test_a_typo_in_the_resource_is_told_and_changes_nothing() -> None:
    spec = {
        "prometheusMetricsPort": "x",
        "logSeverityScreen": "Loud",
        "controllers": {"node": {"leakGracePeriod": "soon"}},
    }
    said = read_config({}, spec)
    assert heeded(said)._replace(warnings=()) == heeded(read_config({}, None))
    assert len(said.warnings) == 3
