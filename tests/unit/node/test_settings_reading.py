"""A whole reading: everything at once, secrets kept, stray bytes refused, and nothing heavy loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tortie.cli.report import as_json, as_text
from tortie.node.settings import (
    Reading,
    changes,
    early_endpoints,
    listing,
    parse_env_file,
    read_node_settings,
    refusal,
)
from tortie.node.settings.variables import BY_NAME, TABLE, USED

SECRETS = sorted(name for name, variable in BY_NAME.items() if variable.secret)
ANYTHING = st.text(st.characters(exclude_categories=()), max_size=60)  # also the halves that stand for stray bytes
PLAUSIBLE = st.sampled_from(
    [
        "none",
        "autodetect",
        "true",
        "false",
        "10.0.0.0/16",
        "fd00::/48",
        "9099",
        "interface=(",
        "cidr=,",
        "1e999",
        "-",
        "'",
        '"',
    ]
)


def words(reading: Reading) -> str:
    """All that a person may get to see of it."""
    error = refusal(reading)
    told = [str(finding) for finding in (*reading.refused, *reading.warnings)]
    if error:
        told += [str(error), as_text(error), as_json(error), repr(error.problems)]
    return "\n".join([*told, repr(reading), repr(listing(reading))])


def test_everything_that_is_wrong_is_said_at_the_same_time() -> None:
    file = parse_env_file("nonsense here\nCALICO_IPV4POOL_IPIP=sometimes\n", "/etc/node.env")
    reading = read_node_settings({"IP": "10.0.0", "AS": "x", "FELIX_HEALTHPORT": "0", "NODNAME": "a"}, file)
    assert [finding.variable for finding in reading.refused] == [
        "",
        "IP",
        "AS",
        "CALICO_IPV4POOL_IPIP",
        "FELIX_HEALTHPORT",
    ]
    assert [finding.variable for finding in reading.warnings] == ["NODNAME"]
    error = refusal(reading)
    assert error is not None
    assert error.exit_code == 2
    assert "5 settings" in error.what
    for text in (
        "file /etc/node.env, line 1: is not NAME=value",
        "IP=10.0.0: ",
        "AS=x: ",
        "CALICO_IPV4POOL_IPIP=sometimes (file /etc/node.env, line 2): is not a mode",
        "FELIX_HEALTHPORT=0: is not a port; right would be: a number from 1 to 65535",
    ):
        assert text in error.why


@pytest.mark.parametrize("name", SECRETS)
def test_no_secret_appears_in_any_text(name: str) -> None:
    environment = {name: "hunter2", name.lower(): "hunter2", f"{name}S": "hunter2", f"{name}_FILE": "hunter2"}
    for file in (None, parse_env_file(f"{name}=hunter2\n{name}=hunter2 # x\n{name} hunter2\n", "/etc/node.env")):
        reading = read_node_settings(environment, file)
        assert "hunter2" not in words(reading)
        assert any(row.variable == name and row.value == "…" for row in listing(reading))


def test_a_password_in_a_url_is_not_shown_either() -> None:
    environment = {"ETCD_ENDPOINTS": "http://root:hunter2@a:1", "ETCD_DISCOVERY_SRV": "http://root:hunter2@b"}
    reading = read_node_settings(environment)
    assert "http://…@a:1" in str(reading.refused)
    assert "hunter2" not in str(reading.refused) + as_text(refusal(reading) or pytest.fail("contradicts"))
    assert "hunter2" not in repr(listing(reading))


def test_a_long_or_unprintable_value_fits_on_one_line() -> None:
    reading = read_node_settings({"IP": "x" * 5000, "AS": "1\n2\x1b[31m\udc80"})
    assert all(len(str(finding)) < 600 and str(finding).isprintable() for finding in reading.refused)
    assert "1\\n2\\x1b[31m\\x80" in str(reading.refused[1])
    as_text(refusal(reading) or pytest.fail("both are wrong")).encode()


NOT_TEXT = "k8s,\udcff"  # what Python makes of a byte in the environment that is not UTF-8


def garbled(name: str, how: str) -> Reading:
    if how == "environment":
        return read_node_settings({name: NOT_TEXT})
    return read_node_settings({}, parse_env_file(f"{name}={NOT_TEXT}\n", "/etc/node.env"))


@pytest.mark.parametrize("how", ["environment", "file"])
@pytest.mark.parametrize("name", sorted(name for name, variable in BY_NAME.items() if variable.use == USED))
def test_what_is_not_utf8_is_refused_where_it_is_used(name: str, how: str) -> None:
    reading = garbled(name, how)
    (finding,) = reading.refused
    assert finding.variable == name
    assert "not UTF-8" in finding.why
    assert finding.value == ("…" if BY_NAME[name].secret else "k8s,\\xff")
    assert NOT_TEXT not in [setting.value for setting in reading.settings.others.values()]
    assert reading.settings.cluster_type.value == ()
    words(reading).encode()


@pytest.mark.parametrize("name", ["KUBECONFIG", "K8S_API_TOKEN", "FELIX_IPTABLESBACKEND", "CALICO_CNI_SERVICE_ACCOUNT"])
@pytest.mark.parametrize("how", ["environment", "file"])
def test_what_is_not_utf8_is_a_warning_where_nothing_uses_it(name: str, how: str) -> None:
    reading = garbled(name, how)
    (finding,) = reading.warnings
    assert (reading.refused, finding.variable) == ((), name)
    assert "not UTF-8" in finding.why
    words(reading).encode()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, (True, "localhost", 9099)),
        ({"FELIX_HEALTHENABLED": "false"}, (False, "localhost", 9099)),
        ({"felix_HealthEnabled": "No"}, (False, "localhost", 9099)),
        ({"FELIX_HEALTHENABLED": "ture"}, (True, "localhost", 9099)),
        ({"FELIX_HEALTHPORT": "9199", "FELIX_HEALTHHOST": "0.0.0.0"}, (True, "0.0.0.0", 9199)),
        ({"FELIX_HEALTHHOST": "::"}, (True, "::", 9099)),
        ({"FELIX_HEALTHPORT": " 9199 "}, (True, "localhost", 9199)),
        ({"FELIX_HEALTHPORT": "99999", "FELIX_HEALTHHOST": "a b"}, (True, "localhost", 9099)),
        ({"FELIX_HEALTHPORT": "٣"}, (True, "localhost", 9099)),
        ({"FELIX_HEALTHPORT": "", "felix_healthport": "9199"}, (True, "localhost", 9199)),
    ],
)
def test_the_health_port_is_known_before_anything_else(
    environment: dict[str, str], expected: tuple[bool, str, int]
) -> None:
    assert early_endpoints(environment) == expected


FELIX_NAMES = st.sampled_from(["FELIX_HEALTHENABLED", "FELIX_HEALTHHOST", "FELIX_HEALTHPORT", "felix_healthport"])


@given(st.dictionaries(FELIX_NAMES, st.one_of(ANYTHING, PLAUSIBLE)))
def test_the_early_answer_is_the_late_one_whenever_that_is_not_refused(environment: dict[str, str]) -> None:
    enabled, host, port = early_endpoints(environment)
    reading = read_node_settings(environment)
    if not reading.refused:
        late = reading.settings
        assert (enabled, host, port) == (late.health_enabled.value, late.health_host.value, late.health_port.value)


def loaded_by(statement: str) -> set[str]:
    script = f"{statement}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, check=True)
    return set(json.loads(done.stdout))


def test_the_early_answer_loads_nothing() -> None:
    """The interpreter is started without site, so that what it loads by itself is little and known."""
    source = str(Path(__file__).parents[3] / "src")
    script = (
        f"import sys\nsys.path.insert(0, {source!r})\nbefore = set(sys.modules)\n"
        "from tortie.node.settings.early import early_endpoints\nearly_endpoints({'FELIX_HEALTHPORT': '1'})\n"
        "print(' '.join(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-S", "-I", "-c", script], capture_output=True, timeout=60, check=True)
    allowed = {"tortie", "tortie.node", "tortie.node.settings", "tortie.node.settings.early", "__future__"}
    assert set(done.stdout.decode().split()) <= allowed


def test_a_whole_reading_loads_nothing_heavy() -> None:
    loaded = loaded_by(
        "from tortie.node.settings import listing, read_node_settings, refusal\n"
        "reading = read_node_settings({'IP': 'x'})\nrefusal(reading), listing(reading)"
    )
    heavy = {"asyncio", "msgspec", "yaml", "dataclasses", "inspect", "logging", "http", "socket", "subprocess", "ssl"}
    assert loaded & heavy == set()


NAMES = st.one_of(st.sampled_from(sorted(BY_NAME)), ANYTHING.filter(lambda text: "=" not in text))


@settings(max_examples=300)
@given(st.dictionaries(NAMES, st.one_of(ANYTHING, PLAUSIBLE), max_size=12), st.one_of(st.none(), ANYTHING))
def test_no_soup_of_characters_is_more_than_findings(environment: dict[str, str], content: str | None) -> None:
    file = None if content is None else parse_env_file(content, "/etc/node.env")
    reading = read_node_settings(environment, file)
    early_endpoints(environment)
    for finding in (*reading.refused, *reading.warnings):
        assert str(finding).isprintable()
        assert finding.source
        assert finding.why
    for row in listing(reading):
        assert "".join(row).isprintable()
    error = refusal(reading)
    if error:
        as_text(error).encode()
        as_json(error).encode()
    changes(reading.settings, read_node_settings({}).settings)
    for family in (4, 6):
        reading.settings.address(family)
        reading.settings.pool(family)


@settings(max_examples=200)
@given(st.sampled_from(sorted(BY_NAME)), ANYTHING)
def test_each_variable_alone_survives_anything(name: str, text: str) -> None:
    reading = read_node_settings({name: text})
    assert {finding.variable for finding in reading.refused} <= {name}


@pytest.mark.parametrize("letter", ["(", "[", "1", "a", ",", "\\", "!", "'", "0x"])
@pytest.mark.parametrize("length", [4096, 131000])
def test_a_value_as_long_as_the_kernel_allows_ends_in_a_finding(letter: str, length: int) -> None:
    """A parser that needs the square or more of the length would hang here until the test is ended."""
    text = (letter * length)[:length]
    reading = read_node_settings(dict.fromkeys((variable.name for variable in TABLE), text))
    assert len(as_text(refusal(reading) or pytest.fail("no variable can mean this"))) < 30_000
