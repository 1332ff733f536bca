"""What the controllers are told: by the environment, by the resource, or by nobody."""

from __future__ import annotations

import pytest

from tortie.controllers.config import Config, read_config
from tortie.model.errors import UsageError


def test_without_anything_said() -> None:
    assert read_config({}, None) == Config(True, (), "info", True, 9094, 900.0, 300.0)
    assert read_config({}, {}) == read_config({}, None)


def test_the_resource_is_heard_and_the_environment_beats_it() -> None:
    node = {"leakGracePeriod": "10m0s", "reconcilerPeriod": "1m"}
    spec = {
        "logSeverityScreen": "Warning",
        "healthChecks": "Disabled",
        "prometheusMetricsPort": 0,
        "controllers": {"node": node},
    }
    assert read_config({}, spec) == Config(True, (), "warning", False, 0, 600.0, 60.0)
    said = {"LOG_LEVEL": "debug", "HEALTH_ENABLED": "true", "RECONCILER_PERIOD": "2m"}
    assert read_config(said, spec) == Config(True, (), "debug", True, 0, 600.0, 120.0)
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
    assert said._replace(warnings=()) == read_config({}, None)
    assert len(said.warnings) == 3
