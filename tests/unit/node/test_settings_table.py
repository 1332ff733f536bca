"""The table of variables against what it must agree with: the model, the command line, the reference page."""

from __future__ import annotations

import typing
from pathlib import Path

import pytest

from tortie.cli.settings import SETTINGS
from tortie.model.fields import Duration
from tortie.model.resources.felix import FelixConfigurationSpec
from tortie.node.settings import NodeSettings, read_node_settings
from tortie.node.settings.felix import FELIX, FIELD_TO_PARAMETER, TYPHA, TYPHA_PREFIXES
from tortie.node.settings.telling import by_variable
from tortie.node.settings.variables import (
    BY_NAME,
    CLUSTER,
    DATAPLANE,
    DATASTORE,
    FELIX_REST,
    LATER,
    NODE,
    TABLE,
    USED,
    Variable,
)

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "environment.md").read_text()

# Section 2.5 of the facts about Calico's node, name by name.
_IN_CALICO = """
NODENAME HOSTNAME CALICO_NODENAME_FILE CALICO_SHUTDOWN_TIMESTAMP_FILE CALICO_STARTUP_LOGLEVEL WAIT_FOR_DATASTORE IP IP6
IP_AUTODETECTION_METHOD IP6_AUTODETECTION_METHOD AUTODETECT_POLL_INTERVAL DISABLE_NODE_IP_CHECK AS
CALICO_NETWORKING_BACKEND CALICO_K8S_NODE_REF CLUSTER_TYPE NO_DEFAULT_POOLS CALICO_IPV4POOL_CIDR CALICO_IPV6POOL_CIDR
CALICO_IPV4POOL_BLOCK_SIZE CALICO_IPV6POOL_BLOCK_SIZE CALICO_IPV4POOL_IPIP CALICO_IPV4POOL_VXLAN CALICO_IPV6POOL_VXLAN
CALICO_IPV4POOL_NAT_OUTGOING CALICO_IPV6POOL_NAT_OUTGOING CALICO_IPV4POOL_NODE_SELECTOR CALICO_IPV6POOL_NODE_SELECTOR
CALICO_IPV4POOL_DISABLE_BGP_EXPORT CALICO_IPV6POOL_DISABLE_BGP_EXPORT CALICO_DISABLE_FILE_LOGGING CALICO_DISABLE_FELIX
CALICO_NETWORKING CALICO_MANAGE_CNI CALICO_CNI_SERVICE_ACCOUNT CNI_TOKEN_REFRESH_INTERVAL CALICO_ROUTER_ID
CALICO_ADVERTISE_CLUSTER_IPS BGP_LOGSEVERITYSCREEN NAMESPACE CALICO_ENDPOINT_STATUS_PATH_PREFIX NODE_USER_ID
KUBERNETES_SERVICE_IPS_PORTS KUBERNETES_APISERVER_ENDPOINTS KUBECONFIG DATASTORE_TYPE ETCD_ENDPOINTS ETCD_DISCOVERY_SRV
ETCD_USERNAME ETCD_PASSWORD ETCD_KEY_FILE ETCD_CERT_FILE ETCD_CA_CERT_FILE K8S_API_ENDPOINT K8S_KEY_FILE K8S_CERT_FILE
K8S_CA_FILE K8S_INSECURE_SKIP_TLS_VERIFY K8S_DISABLE_NODE_POLL K8S_CLIENT_QPS K8S_CLIENT_BURST K8S_CURRENT_CONTEXT
USE_POD_CIDR CALICO_API_GROUP FELIX_HEALTHENABLED FELIX_HEALTHHOST FELIX_HEALTHPORT FELIX_IPV6SUPPORT
FELIX_DEFAULTENDPOINTTOHOSTACTION FELIX_IPINIPMTU FELIX_VXLANMTU FELIX_WIREGUARDMTU FELIX_TYPHAADDR CONFD_TYPHACN
CALICO_TYPHAK8SSERVICENAME TORTIE_STORE TORTIE_CONFIG TORTIE_DEBUG
"""


@pytest.mark.parametrize("name", _IN_CALICO.split())
def test_every_variable_of_calicos_node_is_known_and_taken_without_a_word_about_its_name(name: str) -> None:
    assert name in BY_NAME
    told = [finding for finding in read_node_settings({name: "true"}).warnings if "of this name" in finding.why]
    assert not told


def test_no_name_stands_in_the_table_twice() -> None:
    names = [variable.name for variable in (*TABLE, *FELIX_REST)]
    assert sorted(names) == sorted(set(names))


def kind_of(annotation: object) -> str:
    parts = set(typing.get_args(annotation)) or {annotation}
    parts.discard(type(None))
    kinds: dict[object, str] = {bool: "switch", int: "number", Duration: "seconds"}
    return kinds.get(parts.pop(), "text") if len(parts) == 1 else "text"


def test_felixs_parameters_are_those_of_the_model_with_the_same_kinds_of_values() -> None:
    """A selector says which nodes a configuration is for; in a node's own environment it has no meaning."""
    hints = typing.get_type_hints(FelixConfigurationSpec)
    fields = {name.upper(): kind_of(hints[name]) for name in FelixConfigurationSpec.__struct_fields__}
    del fields["NODESELECTOR"]
    here = {name: kind for kind, names in FELIX.items() for name in names}
    assert {FIELD_TO_PARAMETER.get(name, name): kind for name, kind in fields.items()}.items() <= here.items()
    assert set(FIELD_TO_PARAMETER) <= set(fields)


def test_the_variables_of_the_datastore_are_those_by_which_the_command_line_opens_it() -> None:
    read = {setting.variable for setting in SETTINGS if setting.variable}
    here = {variable.name for variable in DATASTORE}
    assert here - read == {"K8S_DISABLE_NODE_POLL"}
    assert read <= here
    assert {setting.variable for setting in SETTINGS if setting.variable and setting.secret} == {
        variable.name for variable in DATASTORE if variable.secret
    }
    assert all(f"CALICO_{name}" in BY_NAME for name in read)


def test_every_field_of_the_settings_has_its_variable() -> None:
    """So that nothing the agent uses is missing from `explain`, or from what a new reading changes."""
    settings = read_node_settings({}).settings
    told = by_variable(settings)
    pools = {"pool4", "pool6", "others"}
    assert len(told) == len(NodeSettings._fields) - len(pools) + 7 + 6
    assert set(told) <= set(BY_NAME)
    in_use = {v.name for v in TABLE if v.use == USED} - {v.name for v in DATASTORE}
    assert in_use - set(told) == {
        *("CALICO_NETWORKING", "TORTIE_CONFIG", "TORTIE_DEBUG", "TORTIE_HURRY", "TORTIE_LAB", "TORTIE_LAB_DIR"),
        "TORTIE_ROOT",
    }


@pytest.mark.parametrize("variable", [each for each in NODE if each.default], ids=lambda each: each.name)
def test_a_default_means_the_same_written_out(variable: Variable) -> None:
    """The page shows defaults in the form a person would write; that form has to be right."""
    by_default, written = read_node_settings({}), read_node_settings({variable.name: variable.default})
    assert not written.refused
    before, after = by_variable(by_default.settings), by_variable(written.settings)
    if variable.name in before:
        assert after[variable.name].value == before[variable.name].value


def row(variable: Variable) -> str:
    default = f"`{variable.default}`" if variable.default else "unset"
    use = "" if variable.use == USED else f"*{variable.use}*: "
    return f"| `{variable.name}` | {variable.kind} | {default} | {variable.reader} | {use}{variable.effect} |"


TYPHAS = {f"{prefix}{name}" for prefix in TYPHA_PREFIXES for name, _, _ in TYPHA}


@pytest.mark.parametrize("variable", [v for v in TABLE if v.name not in TYPHAS], ids=lambda each: each.name)
def test_the_reference_has_the_row_of_the_table(variable: Variable) -> None:
    assert row(variable) in PAGE.splitlines()


def test_the_reference_has_no_row_that_the_table_has_not() -> None:
    rows = {line for line in PAGE.splitlines() if line.startswith("| `") and line.count("|") == 6}
    assert rows == {row(variable) for variable in TABLE if variable.name not in TYPHAS}


@pytest.mark.parametrize(("name", "default", "effect"), TYPHA)
def test_the_reference_has_typhas_variables(name: str, default: str, effect: str) -> None:
    shown = f"`{default}`" if default else "unset"
    assert f"| `<prefix>{name}` | {shown} | {effect} |" in PAGE.splitlines()
    assert all(f"`{prefix}`" in PAGE for prefix in TYPHA_PREFIXES)
    assert {variable.name for variable in CLUSTER} >= TYPHAS


@pytest.mark.parametrize("variable", FELIX_REST, ids=lambda each: each.name)
def test_the_reference_names_every_parameter_of_felix(variable: Variable) -> None:
    assert variable.use == (USED if variable.name in DATAPLANE else LATER)
    assert f" {variable.name.removeprefix('FELIX_')} " in " ".join(PAGE.split())


@pytest.mark.parametrize(("field", "parameter"), FIELD_TO_PARAMETER.items())
def test_the_reference_tells_fields_and_parameters_of_felix_apart(field: str, parameter: str) -> None:
    assert f"| {field} | {parameter} |" in PAGE.splitlines()
