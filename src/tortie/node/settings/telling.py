"""What people are told of a reading: why it is refused, every setting with its source, and what a new one changes."""

from __future__ import annotations

from typing import Final, NamedTuple

from tortie.model.errors import Invalid, Place, Problem, TortieError
from tortie.node.settings.setting import DEFAULT, HIDDEN, Finding, Secret, Setting, shown
from tortie.node.settings.typed import GivenPool, NodeSettings, Reading
from tortie.node.settings.variables import BY_NAME, LATER, TABLE, USED

# Field of NodeSettings, or of one of its pools: the variable it comes from.
_VARIABLES: Final = {
    "nodename": "NODENAME",
    "hostname": "HOSTNAME",
    "nodename_file": "CALICO_NODENAME_FILE",
    "shutdown_timestamp_file": "CALICO_SHUTDOWN_TIMESTAMP_FILE",
    "log_level": "CALICO_STARTUP_LOGLEVEL",
    "wait_for_datastore": "WAIT_FOR_DATASTORE",
    "ip": "IP",
    "ip6": "IP6",
    "ip_method": "IP_AUTODETECTION_METHOD",
    "ip6_method": "IP6_AUTODETECTION_METHOD",
    "autodetect_poll_interval": "AUTODETECT_POLL_INTERVAL",
    "disable_node_ip_check": "DISABLE_NODE_IP_CHECK",
    "as_number": "AS",
    "backend": "CALICO_NETWORKING_BACKEND",
    "k8s_node_ref": "CALICO_K8S_NODE_REF",
    "cluster_type": "CLUSTER_TYPE",
    "no_default_pools": "NO_DEFAULT_POOLS",
    "disable_file_logging": "CALICO_DISABLE_FILE_LOGGING",
    "disable_felix": "CALICO_DISABLE_FELIX",
    "manage_cni": "CALICO_MANAGE_CNI",
    "router_id": "CALICO_ROUTER_ID",
    "user_id": "NODE_USER_ID",
    "kubernetes_service_host": "KUBERNETES_SERVICE_HOST",
    "health_enabled": "FELIX_HEALTHENABLED",
    "health_host": "FELIX_HEALTHHOST",
    "health_port": "FELIX_HEALTHPORT",
    "metrics_enabled": "FELIX_PROMETHEUSMETRICSENABLED",
    "metrics_host": "FELIX_PROMETHEUSMETRICSHOST",
    "metrics_port": "FELIX_PROMETHEUSMETRICSPORT",
    "ipv6_support": "FELIX_IPV6SUPPORT",
}


class Row(NamedTuple):
    variable: str
    value: str
    source: str
    meaning: str

    @property
    def short_source(self) -> str:
        """For a table that has the variable's name in another column already."""
        because = "because of " if self.source.startswith("because of ") else ""
        name = self.source.removeprefix(because).removeprefix("environment variable ")
        if f"{because}environment variable {name}" != self.source:
            return self.source
        if because:
            return f"{because}{name}"
        return "environment" if name == self.variable else f"environment, as {name}"


class Change(NamedTuple):
    variable: str
    before: str
    after: str  # with what stays nevertheless, where taking a variable away does not undo what it did


class RefusedSettings(Invalid):
    """All that cannot be meant, in one error."""

    code = "settings"

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        self.subject = "environment"
        self.problems = [_problem(finding) for finding in findings]
        if len(findings) == 1:
            only = findings[0]
            why = str(only._replace(right=""))
            TortieError.__init__(self, "a setting of this node cannot be meant", why, only.right or "correct it")
        else:
            why = "\n".join(f"-  {finding}" for finding in findings)
            what = f"{len(findings)} settings of this node cannot be meant"
            TortieError.__init__(self, what, why, "see each line")


def refusal(reading: Reading) -> RefusedSettings | None:
    """The error that ends a start, if it has to end. Its exit code is 2."""
    return RefusedSettings(reading.refused) if reading.refused else None


def listing(reading: Reading) -> list[Row]:
    """Every setting that Tortie uses, and whatever else is set; in the order of the reference.

    What was refused stands there as somebody set it, and its meaning says what counts in its place.
    """
    found = by_variable(reading.settings)
    refused = {each.variable: each for each in reading.refused if each.source != DEFAULT and each.variable in BY_NAME}
    names = [variable.name for variable in TABLE]
    names += sorted({*found, *refused}.difference(names))
    rows = []
    for name in names:
        variable = BY_NAME[name]
        setting = found.get(name, Setting("", text=variable.default))
        if name in refused:
            rows.append(_refused_row(refused[name], setting))
        elif not setting.is_default or variable.use == USED:
            rows.append(_row(name, setting))
    return rows


def changes(before: NodeSettings, after: NodeSettings) -> tuple[list[Change], list[Change]]:
    """What a new reading changes: what applies at once, and what waits for the next start.

    `before` is what the agent runs with: at the first change what it started with, then that with each change that
    applied at once. Compared with the last reading instead, a change that waits for the next start would be told once
    and then forgotten.
    """
    old, new = by_variable(before), by_variable(after)
    live: list[Change] = []
    restart: list[Change] = []
    for name in [*old, *(name for name in new if name not in old)]:
        variable = BY_NAME[name]
        one, other = old.get(name), new.get(name)
        if _same(one, other) or variable.use not in (USED, LATER):
            continue
        stays = f" ({variable.stays})" if variable.stays and (other is None or other.is_default) else ""
        change = Change(name, _value(one), _value(other) + stays)
        (live if variable.live else restart).append(change)
    return live, restart


def by_variable(settings: NodeSettings) -> dict[str, Setting[object]]:
    """Every value of the settings under the name of its variable."""
    found: dict[str, Setting[object]] = {name: getattr(settings, field) for field, name in _VARIABLES.items()}
    for family, pool in ((4, settings.pool4), (6, settings.pool6)):
        for field in GivenPool._fields:
            name = f"CALICO_IPV{family}POOL_{field.upper()}"
            if name in BY_NAME:
                found[name] = getattr(pool, field)
    return {**found, **settings.others}


def _same(one: Setting[object] | None, other: Setting[object] | None) -> bool:
    # Two methods of different kinds are equal as tuples when their parameters are.
    return (one and (type(one.value), one.value)) == (other and (type(other.value), other.value))


def _row(name: str, setting: Setting[object]) -> Row:
    variable = BY_NAME[name]
    meaning = variable.effect if variable.use == USED else f"{variable.use}: {variable.effect}"
    return Row(name, _value(setting), setting.source, meaning)


def _refused_row(refused: Finding, setting: Setting[object]) -> Row:
    """Where two settings contradict each other, each is right by itself, and no default is in its place."""
    instead = ""
    if setting.is_default:
        instead = f", the default is used ({_value(setting)})"
    elif setting.source != refused.source:
        instead = f", {_value(setting)} is used {setting.source}"
    meaning = _row(refused.variable, setting).meaning
    return Row(refused.variable, refused.value, refused.source, f"refused{instead}; {meaning}")


def _value(setting: Setting[object] | None) -> str:
    if setting is None or not setting.text:
        return "unset"
    return HIDDEN if isinstance(setting.text, Secret) else shown(setting.text)


def _problem(finding: Finding) -> Problem:
    place, comma, line = finding.source.rpartition(", line ")
    where = Place(place.removeprefix("file "), int(line)) if comma and line.isdigit() else None
    return Problem(finding.variable, finding.value, finding.why, finding.right, where)
