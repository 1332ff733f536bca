"""Which datastore is meant: flags over the environment over the file, each value with its source, no secret told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.cli import Tortie, assert_three_lines

from tortie.cli.settings import SETTINGS, default_store_path, read_settings
from tortie.model.errors import Invalid, UsageError

HEADER = "apiVersion: projectcalico.org/v3\nkind: CalicoAPIConfig\nmetadata:\nspec:\n"
SECRET = "hunter2"


@pytest.fixture
def shell(tmp_path: Path) -> Tortie:
    return Tortie(tmp_path, NOTHING="set")


def shown(shell: Tortie, *words: str, **variables: str) -> dict[str, tuple[str, str]]:
    shell.variables = variables or {"NOTHING": "set"}
    ran = shell("config", "show", "-o", "json", *words)
    assert ran.code == 0, ran
    return {row["setting"]: (row["value"], row["source"]) for row in ran.json["settings"]}


def test_nothing_said_means_the_embedded_store_in_its_usual_place(shell: Tortie) -> None:
    assert shown(shell) == {
        "datastoreType": ("embedded", "default"),
        "store": (default_store_path(shell.environment), "default"),
    }


def test_a_flag_wins_over_a_variable_and_a_variable_over_the_file(shell: Tortie) -> None:
    file = shell.file("calicoctl.cfg", HEADER + "  etcdEndpoints: http://file:1\n  etcdUsername: file\n")
    variable = {"ETCD_ENDPOINTS": "http://variable:1"}
    assert shown(shell, "-c", file)["etcdEndpoints"] == ("http://file:1", f"file {file}")
    assert shown(shell, "-c", file, **variable)["etcdEndpoints"] == (
        "http://variable:1",
        "environment variable ETCD_ENDPOINTS",
    )
    found = shown(shell, "-c", file, "--etcd-endpoints", "http://flag:1", **variable)
    assert found["etcdEndpoints"] == ("http://flag:1", "flag --etcd-endpoints")
    assert found["etcdUsername"] == ("file", f"file {file}")


def test_every_variable_is_read_with_calico_in_front_too_and_that_one_wins(shell: Tortie) -> None:
    for setting in SETTINGS:
        if setting.variable and setting.name not in ("datastoreType", "store"):
            plain = shown(shell, DATASTORE_TYPE="embedded", **{setting.variable: "plain"})
            both = shown(
                shell,
                DATASTORE_TYPE="embedded",
                **{setting.variable: "plain", f"CALICO_{setting.variable}": "calico"},
            )
            assert plain[setting.name][1].startswith(f"environment variable {setting.variable}")
            assert both[setting.name][1].startswith(f"environment variable CALICO_{setting.variable}")
    assert shown(shell, CALICO_DATASTORE_TYPE="embedded")["datastoreType"][0] == "embedded"


def test_an_empty_variable_is_as_good_as_none(shell: Tortie) -> None:
    assert shown(shell, ETCD_ENDPOINTS="", DATASTORE_TYPE="", TORTIE_STORE="/x")["datastoreType"][0] == "embedded"


@pytest.mark.parametrize(
    ("words", "variables", "expected"),
    [
        ([], {"ETCD_ENDPOINTS": "http://a:1"}, "etcdv3"),
        ([], {"TORTIE_STORE": "/x"}, "embedded"),
        ([], {"TORTIE_STORE": "/x", "ETCD_ENDPOINTS": "http://a:1", "DATASTORE_TYPE": "etcdv3"}, "etcdv3"),
        ([], {"TORTIE_STORE": "/x", "ETCD_ENDPOINTS": "http://a:1", "DATASTORE_TYPE": "embedded"}, "embedded"),
        (["--store", "/x"], {"ETCD_ENDPOINTS": "http://a:1"}, "embedded"),
        (["--store", "/x"], {"ETCD_ENDPOINTS": "http://a:1", "DATASTORE_TYPE": "etcdv3"}, "embedded"),
        (["--etcd-endpoints", "http://a:1"], {"TORTIE_STORE": "/x", "DATASTORE_TYPE": "embedded"}, "etcdv3"),
        (["--datastore-type", "etcdv3", "--store", "/x"], {}, "etcdv3"),
    ],
)
def test_the_strongest_word_decides_which_store_it_is(
    shell: Tortie, words: list[str], variables: dict[str, str], expected: str
) -> None:
    """Who passes --store must never end up in the etcd that a forgotten variable names."""
    assert shown(shell, *words, **variables)["datastoreType"][0] == expected


def test_a_variable_that_names_a_store_wins_over_a_file_that_names_another(shell: Tortie) -> None:
    file = shell.file("calicoctl.cfg", HEADER + "  datastoreType: kubernetes\n  kubeconfig: /home/ann/.kube/config\n")
    found = shown(shell, "-c", file, TORTIE_STORE="/x")
    assert found["datastoreType"] == ("embedded", "because of environment variable TORTIE_STORE")
    assert found["kubeconfig"][1] == f"file {file}; not used by this version"


@pytest.mark.parametrize(
    ("variables", "what"),
    [
        ({"TORTIE_STORE": "/x", "ETCD_ENDPOINTS": "http://a:1"}, "two datastores are configured"),
        ({"DATASTORE_TYPE": "etcd"}, "unknown datastore type 'etcd'"),
        ({"DATASTORE_TYPE": "kubernetes"}, "the Kubernetes datastore is not supported by this version"),
    ],
)
def test_contradictions_and_unknown_types_are_refused(shell: Tortie, variables: dict[str, str], what: str) -> None:
    shell.variables = variables
    for words in (["config", "show"], ["get", "nodes"]):
        ran = shell(*words)
        assert_three_lines(ran, 2)
        assert what in ran.stderr
        assert all(f"environment variable {name}" in ran.stderr for name in variables)


def test_etcd_without_an_endpoint_is_refused(shell: Tortie) -> None:
    shell.variables = {"DATASTORE_TYPE": "etcdv3"}
    ran = shell("get", "nodes")
    assert_three_lines(ran, 2)
    assert "no etcd endpoint is configured" in ran.stderr


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        (HEADER + f"  etcdPasswrd: {SECRET}\n", 5, "did you mean etcdPassword?"),
        (HEADER + f"  etcdPassword: [{SECRET}]\n", 5, "a list is not a setting"),
        (HEADER + f"  etcdPassword: {{a: {SECRET}}}\n", 5, "a dict is not a setting"),
        (HEADER + f"  etcdPassword: {SECRET}\n  etcdPassword: {SECRET}\n", 6, "stands here twice"),
        (HEADER.replace("spec", "sepc") + f"  etcdPassword: {SECRET}\n", 4, "did you mean spec?"),
        (HEADER.replace("spec:", f"spec: {SECRET}"), 4, "a mapping of fields is needed here"),
        (HEADER.replace("v3", "v1"), 1, "projectcalico.org/v3"),
        (HEADER.replace("CalicoAPIConfig", "Config"), 2, "CalicoAPIConfig"),
        (SECRET, 1, "is not a configuration"),
        (HEADER + f"  etcdPassword: '{SECRET}\n", 6, "found unexpected end of stream"),
        (json.dumps({"apiVersion": "projectcalico.org/v3", "kind": "x"}, indent=1), 3, "CalicoAPIConfig"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line_and_without_its_secrets(
    shell: Tortie, text: str, line: int, why: str
) -> None:
    file = shell.file("calicoctl.cfg", text)
    for words in (["config", "show"], ["get", "nodes"]):
        ran = shell(*words, "-c", file)
        assert_three_lines(ran, 2)
        assert f"{file}, line {line}:" in ran.stderr
        assert why in ran.stderr
        assert SECRET not in ran.stderr
        assert SECRET not in shell(*words, "-c", file, "-o", "json").stderr


def test_a_file_that_is_not_there_is_an_error_when_it_was_named(shell: Tortie) -> None:
    ran = shell("config", "show", "-c", "/nowhere/calicoctl.cfg")
    assert_three_lines(ran, 2)
    assert "cannot read config file: /nowhere/calicoctl.cfg" in ran.stderr


def test_a_file_may_be_json_and_hold_numbers_and_certificates(shell: Tortie) -> None:
    spec = {
        "etcdEndpoints": "http://a:1,http://b:1",
        "etcdUsername": 7,
        "etcdCert": "BEGIN\nCERT\n",
        "etcdKey": "BEGIN",
    }
    body = {"apiVersion": "projectcalico.org/v3", "kind": "CalicoAPIConfig", "metadata": {}, "spec": spec}
    file = shell.file("calicoctl.cfg", json.dumps(body))
    values = {name: value for name, (value, _) in shown(shell, "-c", file).items()}
    assert values == {
        "datastoreType": "etcdv3",
        "etcdEndpoints": "http://a:1,http://b:1",
        "etcdUsername": "7",
        "etcdCert": "BEGIN …",
        "etcdKey": "(hidden)",
    }


def test_no_form_of_config_show_tells_a_secret(shell: Tortie) -> None:
    secrets = {setting.variable: SECRET for setting in SETTINGS if setting.secret and setting.variable}
    shell.variables = secrets | {"ETCD_ENDPOINTS": f"http://root:{SECRET}@a:1,https://root:{SECRET}@b:1"}
    for form in ("ps", "json", "yaml"):
        ran = shell("config", "show", "-o", form)
        assert ran.code == 0
        assert "etcdPassword" in ran.stdout
        assert "@a:1" in ran.stdout
        assert SECRET not in ran.stdout


def test_the_table_names_setting_value_and_source(shell: Tortie) -> None:
    shell.variables = {"TORTIE_STORE": "/x"}
    assert shell("config", "show").stdout == (
        "SETTING         VALUE      SOURCE\n"
        "datastoreType   embedded   because of environment variable TORTIE_STORE\n"
        "store           /x         environment variable TORTIE_STORE\n"
    )


def test_users_without_root_keep_their_store_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert default_store_path({"HOME": "/home/u"}) == "/home/u/.local/state/tortie/store.db"
    assert default_store_path({"HOME": "/home/u", "XDG_STATE_HOME": "/s"}) == "/s/tortie/store.db"


def test_settings_are_read_the_same_without_the_command_line(tmp_path: Path) -> None:
    settings = read_settings({"store": "/x"}, {"TORTIE_CONFIG": ""})
    assert (settings.get("store"), settings.source("store"), settings.get("etcdKey")) == ("/x", "flag --store", "")
    with pytest.raises(UsageError):
        read_settings({}, {"DATASTORE_TYPE": "sqlite", "TORTIE_CONFIG": ""})
    (tmp_path / "cfg").write_text("kind: x\n")
    with pytest.raises(Invalid):
        read_settings({}, {}, str(tmp_path / "cfg"))


def test_a_variable_may_name_the_file_and_a_flag_wins_over_it(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text(f"{HEADER}  store: /{name}.db\n")
    environment = {"TORTIE_CONFIG": str(tmp_path / "one")}
    assert read_settings({}, environment).values["store"] == ("/one.db", f"file {tmp_path / 'one'}")
    assert read_settings({}, environment, str(tmp_path / "two")).get("store") == "/two.db"
    with pytest.raises(UsageError, match="cannot read config file"):
        read_settings({}, {"TORTIE_CONFIG": str(tmp_path / "none")})


def test_a_file_of_variables_wins_over_the_environment_and_is_named_as_the_source() -> None:
    environment = {
        "TORTIE_STORE": "/x",
        "ETCD_USERNAME": "ann",
        "CALICO_ETCD_ENDPOINTS": "http://b:1",
        "TORTIE_CONFIG": "",
    }
    file = {"ETCD_ENDPOINTS": ("http://a:1", "file /etc/node.env, line 3")}
    settings = read_settings({}, environment, env_file=file)
    assert settings.values["datastoreType"] == ("etcdv3", "because of file /etc/node.env, line 3")
    assert settings.values["etcdEndpoints"] == ("http://a:1", "file /etc/node.env, line 3")
    assert settings.values["etcdUsername"] == ("ann", "environment variable ETCD_USERNAME")
    flagged = read_settings({"store": "/y"}, environment, env_file=file)
    assert flagged.values["datastoreType"] == ("embedded", "because of flag --store")


def test_an_empty_variable_in_the_file_takes_it_out_of_the_environment() -> None:
    environment = {"TORTIE_STORE": "/x", "ETCD_ENDPOINTS": "http://a:1", "TORTIE_CONFIG": "/nowhere"}
    file = {"TORTIE_STORE": ("", "file /etc/node.env, line 1"), "TORTIE_CONFIG": ("", "file /etc/node.env, line 2")}
    settings = read_settings({}, environment, env_file=file)
    assert settings.values == {
        "datastoreType": ("etcdv3", "because of environment variable ETCD_ENDPOINTS"),
        "etcdEndpoints": ("http://a:1", "environment variable ETCD_ENDPOINTS"),
    }


def test_two_datastores_in_one_file_are_refused_by_their_lines() -> None:
    file = {"TORTIE_STORE": ("/x", "file /e, line 1"), "ETCD_ENDPOINTS": ("http://a:1", "file /e, line 2")}
    with pytest.raises(UsageError, match="file /e, line 2 names etcd, file /e, line 1 names an embedded store"):
        read_settings({}, {"TORTIE_CONFIG": ""}, env_file=file)


@pytest.mark.parametrize("name", ["ETCD_ENDPOINTS", "ETCD_USERNAME", "ETCD_PASSWORD"])
def test_what_is_not_utf8_is_not_sent_and_no_defect(shell: Tortie, name: str) -> None:
    shell.variables = {"ETCD_ENDPOINTS": "http://127.0.0.1:1", "ETCD_USERNAME": "ann", "ETCD_PASSWORD": SECRET}
    shell.variables[name] += "\udcff"
    ran = shell("get", "nodes")
    assert_three_lines(ran, 2)
    assert f"environment variable {name} has bytes that are not UTF-8" in ran.stderr
    assert SECRET not in ran.stderr
