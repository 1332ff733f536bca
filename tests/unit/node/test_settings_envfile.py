"""Files of variables: what systemd and docker read, with the line of everything that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tortie.model.errors import UsageError
from tortie.node.settings import EnvFile, load_env_file, parse_env_file, read_node_settings


def parsed(text: str) -> EnvFile:
    return parse_env_file(text, "/etc/node.env")


def texts(text: str) -> dict[str, str]:
    return {name: given.text for name, given in parsed(text).entries.items()}


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("IP=autodetect", "autodetect"),
        ("  IP=autodetect  ", "autodetect"),
        ("IP = autodetect", "autodetect"),
        ("export IP=autodetect", "autodetect"),
        ('IP="autodetect"', "autodetect"),
        ("IP='autodetect'", "autodetect"),
        ("IP=autodetect\r", "autodetect"),
        ("IP=", ""),
        ('IP=""', ""),
        (r'IP="a\"b\\c\$d\d"', r'a"b\c$d\d'),
        (r"IP='a\b'", r"a\b"),
        (r"IP=interface=eth\d+", r"interface=eth\d+"),
        ("IP=a=b", "a=b"),
        ("IP=a\\\nb", "ab"),
        ("IP=it's", "it's"),
    ],
)
def test_values_as_systemd_and_docker_have_them(line: str, value: str) -> None:
    file = parsed(line)
    assert (file.refused, file.warnings) == ((), ())
    assert texts(line) == {"IP": value}


def test_comments_and_empty_lines_are_passed_over_and_counted() -> None:
    file = parsed("# a\n; b\n\n   # c\nIP=none\nAS=\\\n64512\nNODENAME=a")
    assert {name: given.source for name, given in file.entries.items()} == {
        "IP": "file /etc/node.env, line 5",
        "AS": "file /etc/node.env, line 6",
        "NODENAME": "file /etc/node.env, line 8",
    }
    assert texts("AS=\\\n64512") == {"AS": "64512"}


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("IP=autodetect\nETCD_PASSWORD: hunter2\n", 2, "is not NAME=value"),
        ("\n\n[Service]", 3, "is not NAME=value"),
        ("1P=hunter2", 1, "is not NAME=value"),
        ("=hunter2", 1, "is not NAME=value"),
        ('ETCD_PASSWORD="hunter2', 1, "the value of ETCD_PASSWORD begins with a quote"),
        ("ETCD_PASSWORD='hunter2' # mine", 1, "the value of ETCD_PASSWORD begins with a quote"),
    ],
)
def test_what_is_no_variable_is_refused_with_its_line_and_without_its_content(text: str, line: int, why: str) -> None:
    file = parsed(text)
    (finding,) = file.refused
    assert finding.source == f"file /etc/node.env, line {line}"
    assert why in finding.why
    assert str(finding).startswith(f"file /etc/node.env, line {line}: ")
    assert "hunter2" not in repr(file.refused)
    assert read_node_settings({}, file).refused == file.refused


def test_a_name_alone_leaves_the_environment_as_it_is() -> None:
    reading = read_node_settings({"IP": "autodetect"}, parsed("IP\n"))
    assert reading.settings.ip == ("autodetect", "environment variable IP", "autodetect")


def test_a_variable_set_twice_is_told_and_the_later_one_counts() -> None:
    file = parsed("IP=none\nIP=autodetect\n")
    assert file.entries["IP"].text == "autodetect"
    (finding,) = file.warnings
    assert finding.source == "file /etc/node.env, line 2"
    assert "after line 1; this one counts" in finding.why


def test_a_comment_behind_a_value_is_part_of_it_and_told() -> None:
    reading = read_node_settings({}, parsed("IP=autodetect # by hand\n"))
    assert "is part of the value" in reading.warnings[0].why
    (refused,) = reading.refused
    assert refused.value == "autodetect # by hand"


def test_the_file_wins_over_the_environment_and_its_lines_are_the_sources() -> None:
    environment = {"AS": "64512", "IP": "none", "NODENAME": "a", "felix_healthport": "1111"}
    file = parsed("AS=64513\nIP=\nFELIX_HEALTHPORT=9199\n")
    settings = read_node_settings(environment, file).settings
    assert settings.as_number == (64513, "file /etc/node.env, line 1", "64513")
    assert settings.ip.value is None, "an empty value takes the variable out of the environment"
    assert settings.nodename.source == "environment variable NODENAME"
    assert settings.health_port.value == 9199
    assert file.over(environment) == environment | {"AS": "64513", "IP": "", "FELIX_HEALTHPORT": "9199"}


def test_a_wrong_value_in_a_file_is_refused_with_its_line() -> None:
    (finding,) = read_node_settings({}, parsed("\nAS=many\n")).refused
    assert (finding.variable, finding.source) == ("AS", "file /etc/node.env, line 2")
    assert str(finding).startswith("AS=many (file /etc/node.env, line 2): ")


def test_files_are_read_from_disk_whatever_they_hold(tmp_path: Path) -> None:
    path = tmp_path / "node.env"
    path.write_bytes(b"\xef\xbb\xbfIP=none\r\nNODENAME=\xff\x00\n")
    assert {name: given.text for name, given in load_env_file(str(path)).entries.items()} == {
        "IP": "none",
        "NODENAME": "\udcff\x00",
    }


@pytest.mark.parametrize("name", ["missing.env", ".", "a\0b"])
def test_a_file_that_cannot_be_read_is_an_error_that_names_it(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot read the file of variables") as caught:
        load_env_file(str(tmp_path / name))
    assert caught.value.why
    assert "--env-file" in caught.value.fix
