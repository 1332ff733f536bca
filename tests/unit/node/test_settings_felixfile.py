"""Felix's own file: what it sets, with the line; what it cannot mean; and that the environment is stronger."""

from __future__ import annotations

from pathlib import Path

import pytest

from tortie.cli.node.run_flags import given_by, refuse_meaningless, with_flags
from tortie.model.errors import UsageError
from tortie.node.settings import parse_env_file, read_node_settings
from tortie.node.settings.felixfile import load_felix_file, parse_felix_file

TEXT = """\
[global]
# a remark
HealthPort = 9177
LogSeverityScreen: Warning ; behind it
; another
[other]
MTUIfacePattern = "eth0;eth1"   # quoted
Ipv6Support =
"""


def test_each_line_says_what_its_variable_would_say() -> None:
    read = parse_felix_file(TEXT, "/etc/felix.cfg")
    assert {name: tuple(given) for name, given in read.entries.items()} == {
        "FELIX_HEALTHPORT": ("9177", "file /etc/felix.cfg, line 3"),
        "FELIX_LOGSEVERITYSCREEN": ("Warning", "file /etc/felix.cfg, line 4"),
        "FELIX_MTUIFACEPATTERN": ("eth0;eth1", "file /etc/felix.cfg, line 7"),
        "FELIX_IPV6SUPPORT": ("", "file /etc/felix.cfg, line 8"),
    }
    assert read.refused == read.warnings == ()


def test_what_is_no_setting_is_told_with_its_line() -> None:
    read = parse_felix_file("[global]\nHealthPort\nA = 1\na = 2\nsecret words here\n", "f")
    assert [str(each).partition(";")[0] for each in read.refused] == [
        "file f, line 2: is not Parameter = value",
        "file f, line 5: is not Parameter = value",
    ]
    assert "secret" not in str(read.refused)
    assert ["set a second time" in str(each) for each in read.warnings] == [True]
    assert read.entries["FELIX_A"].text == "2"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read Felix's file"):
        load_felix_file(str(tmp_path / "none"))


def test_flags_win_over_file_and_environment_and_keep_their_source(tmp_path: Path) -> None:
    felix = tmp_path / "felix.cfg"
    felix.write_text("HealthPort=9177\nPrometheusMetricsPort=9178\nHealthHost=127.0.0.1\n")
    flags = {"name": "n7", "ip": "10.0.0.7", "no_default_pools": True, "felix_config": str(felix), "ip6": None}
    environment = {"NODENAME": "other", "Felix_HealthPort": "9200", "IP6": "none"}
    file = parse_env_file("IP=10.0.0.9\nAS=64600\nFELIX_HEALTHHOST=127.0.0.2\n", "/e")
    settings = read_node_settings(environment, with_flags(file, flags, environment)).settings
    assert (settings.nodename.value, settings.nodename.source) == ("n7", "flag --name")
    assert (settings.ip.value, settings.ip.source) == ("10.0.0.7", "flag --ip")
    assert (settings.no_default_pools.value, settings.no_default_pools.source) == (True, "flag --no-default-ippools")
    assert (settings.as_number.value, settings.as_number.source) == (64600, "file /e, line 2")
    # Felix's file is the weakest.
    assert (settings.health_port.value, settings.health_port.source) == (9200, "environment variable Felix_HealthPort")
    assert (settings.health_host.value, settings.health_host.source) == ("127.0.0.2", "file /e, line 3")
    assert (settings.metrics_port.value, settings.metrics_port.source) == (9178, f"file {felix}, line 2")


def test_without_flags_nothing_changes() -> None:
    assert with_flags(None, {"name": None, "no_default_pools": False}, {}) is None
    assert given_by({}) == {}


@pytest.mark.parametrize("flags", [{"node_image": "x"}, {"log_dir": "/srv/log"}])
def test_what_has_no_meaning_is_refused(flags: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="has no meaning here"):
        refuse_meaningless(flags)


def test_the_usual_folder_of_logs_is_no_wish() -> None:
    refuse_meaningless({"log_dir": "/var/log/calico/"})
