"""What people are told of a reading: refusals, the listing with its sources, and what a second reading changes."""

from __future__ import annotations

import json

import pytest

from tortie.cli.report import as_json
from tortie.node.settings import changes, listing, parse_env_file, read_node_settings, refusal
from tortie.node.settings.variables import TABLE, USED


def test_one_refusal_has_its_own_fix() -> None:
    error = refusal(read_node_settings({"CALICO_NETWORKING_BACKEND": "brid"}))
    assert error is not None
    assert error.fix == "did you mean bird?"
    assert "CALICO_NETWORKING_BACKEND=brid" in error.why


def test_a_refusal_is_also_there_for_programs() -> None:
    file = parse_env_file("\nIP=x\n", "/etc/node.env")
    error = refusal(read_node_settings({"AS": "x"}, file))
    assert error is not None
    problems = json.loads(as_json(error))["problems"]
    assert [(each["field"], each["value"], each.get("file"), each.get("line")) for each in problems] == [
        ("IP", "x", "/etc/node.env", 2),
        ("AS", "x", None, None),
    ]


def test_nothing_wrong_is_no_refusal() -> None:
    assert refusal(read_node_settings({})) is None


def test_a_finding_is_also_there_for_programs() -> None:
    file = parse_env_file("\nETCD_ENDPOINTS=http://root:hunter2@a:1\nETCD_DISCOVERY_SRV=b\n", "/etc/node.env")
    (finding,) = read_node_settings({}, file).refused
    assert json.loads(json.dumps(finding.as_json())) == {
        "variable": "ETCD_DISCOVERY_SRV",
        "value": "b",
        "source": "file /etc/node.env, line 3",
        "why": finding.why,
        "right": "leave out ETCD_DISCOVERY_SRV",
    }


def test_the_listing_shows_what_was_refused_as_somebody_set_it() -> None:
    file = parse_env_file("IP=10.0.0\nCALICO_NETWORKING=maybe\n", "/etc/node.env")
    environment = {
        "CALICO_NETWORKING_BACKEND": "brid",
        "CALICO_IPV4POOL_IPIP": "Always",
        "CALICO_IPV4POOL_VXLAN": "Always",
        "CALICO_ETCD_PASSWORD": "\udcff",
    }
    rows = {row.variable: row for row in listing(read_node_settings(environment, file))}
    assert rows["IP"][1:3] == ("10.0.0", "file /etc/node.env, line 1")
    assert rows["IP"].meaning.startswith("refused, the default is used (unset); ")
    assert rows["CALICO_NETWORKING"][1:3] == ("maybe", "file /etc/node.env, line 2")
    assert rows["CALICO_NETWORKING_BACKEND"][1:3] == ("brid", "environment variable CALICO_NETWORKING_BACKEND")
    assert rows["CALICO_NETWORKING_BACKEND"].meaning.startswith("refused, the default is used (bird); ")
    assert rows["CALICO_IPV4POOL_IPIP"][1:3] == ("Always", "environment variable CALICO_IPV4POOL_IPIP")
    assert rows["CALICO_IPV4POOL_IPIP"].meaning.startswith("refused; "), "it contradicts another, no default is used"
    assert rows["CALICO_ETCD_PASSWORD"][1:3] == ("…", "environment variable CALICO_ETCD_PASSWORD")
    assert not any(row.meaning.startswith("refused") for row in listing(read_node_settings({})))


def test_the_listing_says_what_counts_in_the_place_of_what_was_refused() -> None:
    environment = {"CALICO_NETWORKING_BACKEND": "brid", "CALICO_NETWORKING": "false"}
    rows = {row.variable: row for row in listing(read_node_settings(environment))}
    told = "refused, none is used because of environment variable CALICO_NETWORKING; "
    assert rows["CALICO_NETWORKING_BACKEND"].meaning.startswith(told)


def test_a_short_source_does_not_repeat_the_variables_name() -> None:
    file = parse_env_file("AS=64512\n", "/etc/node.env")
    environment = {"NODENAME": "a", "CALICO_NETWORKING": "false", "felix_healthport": "9199", "FELIX_IPIPMTU": "1440"}
    rows = {row.variable: row.short_source for row in listing(read_node_settings(environment, file))}
    assert rows["NODENAME"] == "environment"
    assert rows["AS"] == "file /etc/node.env, line 1"
    assert rows["IP"] == "default"
    assert rows["CALICO_NETWORKING_BACKEND"] == "because of CALICO_NETWORKING"
    assert rows["FELIX_HEALTHPORT"] == "environment, as felix_healthport"
    assert rows["FELIX_IPINIPMTU"] == "environment, as FELIX_IPIPMTU"
    odd = parse_env_file("AS=64512\n", "/etc/environment variable x")
    row = next(row for row in listing(read_node_settings({}, odd)) if row.variable == "AS")
    assert row.short_source == row.source


def test_the_listing_has_what_is_used_and_what_is_set_with_sources() -> None:
    file = parse_env_file("AS=64512\n", "/etc/node.env")
    environment = {
        "CALICO_NETWORKING": "false",
        "KUBECONFIG": "/k",
        "FELIX_VXLANMTU": "1440",
        "FELIX_WIREGUARDMTU": "1440",
        "HOME": "/root",
    }
    rows = {row.variable: row for row in listing(read_node_settings(environment, file))}
    assert {variable.name for variable in TABLE if variable.use == USED} <= set(rows)
    assert rows["AS"][1:3] == ("64512", "file /etc/node.env, line 1")
    assert rows["FELIX_HEALTHPORT"][1:3] == ("9099", "default")
    assert rows["IP"][1:3] == ("unset", "default")
    assert rows["KUBECONFIG"][1:3] == ("/k", "environment variable KUBECONFIG")
    assert rows["KUBECONFIG"].meaning.startswith("needs Kubernetes: ")
    assert rows["FELIX_WIREGUARDMTU"].meaning.startswith("accepted for later parts: ")
    assert rows["FELIX_VXLANMTU"].meaning == "a parameter of Felix that the dataplane obeys"
    assert rows["CALICO_NETWORKING"][1:3] == ("false", "environment variable CALICO_NETWORKING")
    assert rows["CALICO_NETWORKING_BACKEND"][1:3] == ("none", "because of environment variable CALICO_NETWORKING")
    assert "HOME" not in rows
    assert "NODE_USER_ID" not in rows, "neither set nor used"


def changed(before: dict[str, str], after: dict[str, str]) -> tuple[list[str], list[str]]:
    live, restart = changes(read_node_settings(before).settings, read_node_settings(after).settings)
    return [change.variable for change in live], [change.variable for change in restart]


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("CALICO_STARTUP_LOGLEVEL", "info", "debug"),
        ("IP", "autodetect", "10.0.0.1"),
        ("IP6", "none", "autodetect"),
        ("IP_AUTODETECTION_METHOD", "interface=a", "skip-interface=a"),
        ("IP6_AUTODETECTION_METHOD", "first-found", "can-reach=fd00::1"),
        ("AS", "64512", "64513"),
        ("DISABLE_NODE_IP_CHECK", "true", "false"),
    ],
)
def test_some_changes_apply_at_once(name: str, before: str, after: str) -> None:
    assert changed({name: before}, {name: after}) == ([name], [])
    assert changed({name: before}, {}) == ([name], []) or name == "DISABLE_NODE_IP_CHECK" or before == "info"


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("NODENAME", "a", "b"),
        ("CALICO_NETWORKING_BACKEND", "bird", "vxlan"),
        ("CALICO_IPV4POOL_CIDR", "10.0.0.0/16", "none"),
        ("CALICO_IPV6POOL_VXLAN", "Never", "Always"),
        ("FELIX_HEALTHPORT", "9099", "9199"),
        ("ETCD_ENDPOINTS", "http://a:1", "http://b:1"),
        ("ETCD_PASSWORD", "hunter2", "hunter3"),
        ("FELIX_VXLANMTU", "0", "1440"),
    ],
)
def test_other_changes_wait_for_a_restart(name: str, before: str, after: str) -> None:
    assert changed({name: before}, {name: after}) == ([], [name])


def test_what_nothing_here_uses_changes_nothing() -> None:
    assert changed({"KUBECONFIG": "/a", "FELIX_TYPHAADDR": "a:1"}, {"KUBECONFIG": "/b"}) == ([], [])


def test_the_same_meaning_in_other_words_is_no_change() -> None:
    before = {"AUTODETECT_POLL_INTERVAL": "60s", "NO_DEFAULT_POOLS": "true", "AS": "1.0", "IP": "autodetect"}
    after = {"AUTODETECT_POLL_INTERVAL": "1m", "NO_DEFAULT_POOLS": "TRUE", "AS": "65536", "IP": " autodetect"}
    assert changed(before, after) == ([], [])
    assert changed({}, {"FELIX_HEALTHPORT": "9099"}) == ([], [])


def test_a_change_is_told_with_both_values_but_never_a_secret() -> None:
    before, after = {"AS": "1", "ETCD_PASSWORD": "hunter2"}, {"AS": "2", "ETCD_PASSWORD": "hunter3"}
    live, restart = changes(read_node_settings(before).settings, read_node_settings(after).settings)
    assert live == [("AS", "1", "2")]
    assert restart == [("ETCD_PASSWORD", "…", "…")]


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("AS", "64512", "unset (the registered value stays)"),
        ("IP", "10.0.0.1", "unset (the registered value stays)"),
        ("IP6", "autodetect", "unset (the registered value stays)"),
        ("IP_AUTODETECTION_METHOD", "first-found", "agreed"),
        ("NODENAME", "a", "unset (the name in the nodename file stays)"),
        ("CALICO_K8S_NODE_REF", "a", "unset (the registered value stays)"),
        ("CLUSTER_TYPE", "k8s", "unset (words that were added stay)"),
        ("CALICO_IPV4POOL_IPIP", "Always", "Never (a pool that exists stays as it is)"),
        ("FELIX_HEALTHPORT", "9199", "9099"),
    ],
)
def test_what_stays_after_a_variable_is_taken_away_is_told(name: str, before: str, after: str) -> None:
    live, restart = changes(read_node_settings({name: before}).settings, read_node_settings({}).settings)
    assert [*live, *restart] == [(name, before, after)]
