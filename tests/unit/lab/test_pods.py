"""Pods by name, and where they go."""

from __future__ import annotations

import pytest

from tortie.lab.failures import LabFailure
from tortie.lab.pods import Pod, PodName, Wanted, counted_names, dealt_out, pod_name, wanted_from


def test_a_name_says_its_namespace_only_where_it_is_not_the_usual_one() -> None:
    assert pod_name("web-1") == PodName("default", "web-1")
    assert pod_name("web-1").label == "web-1"
    assert pod_name("other/web-1", "third") == PodName("other", "web-1")
    assert pod_name("web-1", "other").label == "other/web-1"


@pytest.mark.parametrize("text", ["", "Web", "-a", "a-", "a/b/c", "/a", "a/", "a" * 64, "a_b", "a.b"])
def test_what_no_host_may_be_called_no_pod_may_either(text: str) -> None:
    with pytest.raises(LabFailure) as failure:
        pod_name(text)
    assert failure.value.exit_code == 2


def test_numbers_are_put_behind_the_name() -> None:
    assert counted_names(["web"], None) == ["web"]
    assert counted_names(["web", "db"], 2) == ["web-1", "web-2", "db-1", "db-2"]


def test_pods_go_where_the_fewest_are() -> None:
    wanted = [Wanted(pod_name(name)) for name in ("a", "b", "c", "d")]
    dealt = dealt_out([*wanted, Wanted(pod_name("e"), "n1")], ["n1", "n2", "n3"], {"n2": 2})
    assert [each.node for each in dealt] == ["n3", "n1", "n3", "n1", "n1"]


def test_what_is_wanted_is_the_same_on_both_sides() -> None:
    wanted = [Wanted(pod_name("other/a"), "n1"), Wanted(pod_name("b"))]
    assert wanted_from(each.as_json() for each in wanted) == wanted


def test_a_pod_for_programs() -> None:
    pod = Pod(pod_name("web-1"), "n1", "c1", "u1", "running", ("10.0.0.1",), "cali1")
    assert pod.as_json(1.26) == {
        "name": "web-1",
        "namespace": "default",
        "node": "n1",
        "state": "running",
        "addresses": ["10.0.0.1"],
        "interface": "cali1",
        "container": "c1",
        "age_s": 1.3,
    }
