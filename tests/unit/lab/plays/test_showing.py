"""What is shown of commands and answers, and what a recording keeps of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tortie.cli.lab.cast import Cast
from tortie.lab.plays.course import pod_is_fine
from tortie.lab.plays.play import Show
from tortie.lab.plays.recording import picture, read_cast
from tortie.lab.plays.showing import shown, told_lines, typed_lines
from tortie.model.measure import columns

PODS = """\
NAME                READY   STATUS    RESTARTS     AGE   IP          NODE     NOMINATED NODE   READINESS GATES
calico-node-gx445   1/1     Running   0            38s   10.77.0.1   node-1   <none>           <none>
calico-node-sjv67   0/1     Running   2 (3s ago)   31s   10.77.0.3   node-3   <none>           <none>
"""


def test_columns_of_a_table_that_have_no_room_are_left_out_whole() -> None:
    head, *rows = shown(PODS, Show("x", table=True))
    assert head.split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE"]
    assert rows[1].endswith("node-3")
    assert all(columns(line) <= 80 for line in (head, *rows))


def test_a_table_that_fits_is_left_as_it_is() -> None:
    table = "NAME     STATUS\nnode-1   Ready\n"
    assert shown(table, Show("x", table=True)) == ["NAME     STATUS", "node-1   Ready"]


def test_long_lines_are_broken_not_lost() -> None:
    line = "  Warning  Unhealthy  " + "word " * 40
    lines = shown(line, Show("x"))
    assert all(columns(each) <= 80 for each in lines)
    assert lines[1].startswith("      word")
    assert " ".join(" ".join(lines).split()) == " ".join(line.split())


def test_pipes_let_through_what_the_shell_would() -> None:
    output = "a 1\nb 2\na 3\na 4\n"
    assert shown(output, Show("x", grep="^a")) == ["a 1", "a 3", "a 4"]
    assert shown(output, Show("x", grep="^a", tail=1)) == ["a 4"]
    assert shown(output, Show("x", head=2)) == ["a 1", "b 2"]
    assert shown("", Show("x")) == []


def test_what_is_left_out_is_counted() -> None:
    output = "\n".join(str(number) for number in range(100))
    assert shown(output, Show("x", most=3)) == ["0", "1", "2", "… (+97)"]


def test_each_part_of_an_answer_has_its_share() -> None:
    output = "CAUSE\n\n  why\n  1\n  2\n  3\n\nFix\n  $ now\n"
    assert shown(output, Show("x", of_each_part=2)) == ["CAUSE", "", "  why", "  1", "  …", "", "Fix", "  $ now"]


def test_a_long_command_goes_on_in_the_next_line_at_a_pipe() -> None:
    words = ["lab", "kubectl", "describe", "pod", "-n", "kube-system", "calico-node-gx445"]
    lines = typed_lines(words, Show("x", grep="BGP not established", tail=1))
    assert lines == [
        "$ tortie lab kubectl describe pod -n kube-system calico-node-gx445 \\",
        "    | grep -E 'BGP not established' | tail -1",
    ]


def test_what_is_told_is_set_off() -> None:
    assert told_lines("first\nsecond") == ["  first", "  second"]
    assert all(columns(line) <= 80 for line in told_lines("节点重启之后一直不就绪，" * 20))


@pytest.mark.parametrize(
    ("age", "least", "fine"),
    [
        ("9s", 10, False),
        ("10s", 10, True),
        ("14s", 15, False),
        ("15s", 15, True),
        ("20s", 15, True),
        ("99s", 15, True),
        ("100s", 15, True),
        ("2m3s", 15, True),
        ("7s", 5, True),
        ("4s", 5, False),
    ],
)
def test_how_old_a_pod_has_to_be(age: str, least: int, fine: bool) -> None:
    row = f"calico-node-x   1/1     Running   0          {age}   10.77.0.2   node-2   <none>\n"
    assert bool(re.search(pod_is_fine("node-2", least), row)) == fine
    assert not re.search(pod_is_fine("node-1", least), row)
    assert not re.search(pod_is_fine("node-2", least), row.replace("Running   0 ", "Running   1 (2s ago)"))


def recorded(folder: Path) -> str:
    cast = Cast("事件 2：docker 网桥")
    cast.add("\n── 1  故障 ──\n", "1")
    cast.add("\n  节点 <node-2> 未就绪。\n\n", "36")
    cast.add("$ tortie lab break docker-bridge --node node-2\n", "32")
    cast.add(" ✓ 网络  ok\n")
    cast.write(str(folder / "x.cast"))
    return (folder / "x.cast").read_text()


def test_a_recording_is_an_asciicast_and_the_same_every_time(tmp_path: Path) -> None:
    text = recorded(tmp_path)
    header, *events = (json.loads(line) for line in text.splitlines())
    assert (header["version"], header["width"]) == (2, 80)
    assert "timestamp" not in header
    times = [event[0] for event in events]
    assert times == sorted(times)
    assert all(event[1] == "o" for event in events)
    assert recorded(tmp_path) == text


def test_a_recording_is_read_back_and_drawn(tmp_path: Path) -> None:
    recording = read_cast(recorded(tmp_path))
    assert recording.title == "事件 2：docker 网桥"
    assert "$ tortie lab break docker-bridge --node node-2\n ✓ 网络  ok\n" in recording.text
    kinds = {span.kind for line in recording.lines for span in line}
    assert kinds == {"h", "t", "c", ""}
    drawing = ElementTree.fromstring(picture(recording))
    words = "".join(drawing.itertext())
    assert "<node-2>" in words
    assert "$ tortie lab break docker-bridge --node node-2" in words
