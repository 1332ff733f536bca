"""TRT1008: the name is refused: capitals, underscore, line break."""

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.cause import LIKELY, STRONG
from tortie.doctor.causes.nodes.trt1008_nodename_invalid import CAUSE

ID = "nodename-invalid"


def test_capitals() -> None:
    text = """
    2019-04-04 04:04:04.001 [INFO][9] startup.go 264: Building new node resource Name="PRD-Web-03"
    2019-04-04 04:04:04.010 [ERROR][9] startup.go 149: Unable to set node resource configuration error=error with field Metadata.Name = 'PRD-Web-03' (name must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character)
    2019-04-04 04:04:04.010 [WARNING][9] startup.go 1034: Terminating
    """  # noqa: E501
    answer = finding(ID, text)
    assert answer.strength >= LIKELY
    assert answer.objects[0] == "PRD-Web-03"
    assert "大写" in answer.why.zh


def test_an_underscore_said_by_a_person() -> None:
    text = """
    主机名是 gpu_node_2，calico 启动报错：
    Unable to set node resource configuration error=error with field Metadata.Name = 'gpu_node_2' (name must consist of lower case alphanumeric characters, '-' or '.')  # noqa: E501
    """  # noqa: E501
    answer = finding(ID, text)
    assert answer.strength >= LIKELY
    assert "gpu_node_2" in answer.objects


def test_a_line_break_in_the_stored_name() -> None:
    text = """
    2022-04-04 04:04:04.001 [INFO][9] startup/startup.go 420: Using stored node name from /var/lib/calico/nodename
    2022-04-04 04:04:04.010 [ERROR][9] startup/startup.go 158: failed to query node error=resource does not exist: Node(kv-1\\n) with error: nodes "kv-1\\n" not found
    """  # noqa: E501
    answer = finding(ID, text)
    first = CAUSE.fix(picture(text), answer)[0]
    assert not any("lower case" in words.en for words in CAUSE.prevent_for(picture(text), answer))
    assert "printf %s kv-1 > /var/lib/calico/nodename" in first.command
    assert first.risk == "disruptive"
    assert answer.strength >= LIKELY
    assert {"kv-1", "/var/lib/calico/nodename"} <= set(answer.objects)


def test_a_registered_name_rules_it_out() -> None:
    text = """
    2019-04-04 04:04:04.001 [INFO][9] startup.go 284: Determined node name: web-03
    Calico node started successfully
    """
    assert finding(ID, text).state == "ruled-out"


def test_a_node_that_is_not_found_is_something_else() -> None:
    assert finding(ID, 'error=nodes "web-03" not found').state == "cannot-tell"


def test_the_name_of_a_policy_is_refused_in_the_same_words() -> None:
    rule = "error with field Metadata.Name = 'Allow_DNS' (name must consist of lower case alphanumeric characters, '-' or '.'"  # noqa: E501
    assert finding(ID, f"Unable to set node resource configuration error={rule}\n").strength >= STRONG
    assert finding(ID, f"Failed to apply 'NetworkPolicy' resource: [{rule})]\n").state != "found"
