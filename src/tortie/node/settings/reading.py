"""Reads the environment of a node once, whole: typed values with their sources, and everything that is wrong with them.

Pure. Nothing here stops at the first mistake: whoever starts a node hears of all of them at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from ipaddress import ip_address
from typing import Final, TypeVar

from tortie.addressing.decision import parse_address_setting, variable
from tortie.addressing.methods import BadMethod, CanReach, InCIDRs, Method, notes, parse_method
from tortie.model.errors import TortieError
from tortie.model.fields import BadField
from tortie.model.network import Family
from tortie.node.settings import switches, values
from tortie.node.settings import variables as table
from tortie.node.settings.contradictions import contradictions
from tortie.node.settings.envfile import EnvFile
from tortie.node.settings.felix import FELIX_PREFIX, FIELD_TO_PARAMETER
from tortie.node.settings.names import strangers
from tortie.node.settings.setting import Finding, Given, Meant, Secret, Setting, finding, is_text, shown
from tortie.node.settings.switches import switch
from tortie.node.settings.typed import GivenPool, NodeSettings, Reading
from tortie.node.settings.variables import BY_NAME

T = TypeVar("T")
Parser = Callable[[str], Meant[T]]

# For what has no field of its own. Kinds that are not here are text.
_CHECKS: Final[dict[str, Parser[object]]] = {
    table.SWITCH: switch(switches.FELIX_RULE),
    table.GO_SWITCH: switch(switches.GO_RULE),
    table.NUMBER: values.number,
    table.SECONDS: values.seconds,
    table.DURATION: values.duration,
    table.LEVEL: values.level,
    table.CIDR: values.cidr,
}
_LENGTH_MAX: Final = 4096
_TRIMMED: Final = ("NODENAME", "HOSTNAME")  # by Calico, too
_NOT_TEXT: Final = ("has bytes that are not UTF-8, so that it can be neither stored nor sent", "the same in UTF-8")


def read_node_settings(environment: Mapping[str, str], file: EnvFile | None = None) -> Reading:
    """A file that a person names wins over the environment, because it is what is read again while the agent runs."""
    reader = _Reader(environment, file)
    settings = reader.settings()
    refused, doubtful = contradictions(settings, reader.given)
    return Reading(
        settings,
        (*(file.refused if file else ()), *reader.refused, *refused),
        (*(file.warnings if file else ()), *reader.warnings, *doubtful, *strangers(reader.given)),
    )


class _Reader:
    """Looks values up by their variable, and keeps what it finds wrong on the way."""

    def __init__(self, environment: Mapping[str, str], file: EnvFile | None) -> None:
        self.refused: list[Finding] = []
        self.warnings: list[Finding] = []
        self.given: dict[str, Given] = {}  # by name; Felix's under the name of the parameter, in upper case
        self._typed: set[str] = set()
        in_file = file.entries if file else {}
        for name, given in _upper_case_first(in_file):
            self._take(name, given)
        for name, text in _upper_case_first(environment):
            if name not in in_file:
                self._take(name, Given(text, f"environment variable {name}"))

    def _take(self, name: str, given: Given) -> None:
        if not given.text:
            self._empty(name, given)
            return
        known = name
        if name.upper().startswith(FELIX_PREFIX):
            parameter = name.upper().removeprefix(FELIX_PREFIX)
            known = FELIX_PREFIX + FIELD_TO_PARAMETER.get(parameter, parameter)
            if known not in BY_NAME:
                known = name
            elif parameter in FIELD_TO_PARAMETER:
                self._warn(name, given, "this is the name of a field; Felix's parameter has another one", known)
        if known in self.given:
            first = self.given[known]
            if first.text != given.text:
                counts = "" if BY_NAME[known].secret else f", which is {shown(first.text)}"
                self._warn(
                    name, given, f"Felix's names have no case, so this is set twice; {known} counts{counts}", known
                )
            return
        self.given[known] = given

    def _empty(self, name: str, given: Given) -> None:
        known = BY_NAME.get(name)
        if known and known.kind == table.SWITCH and known.default == "false" and "POOL_" in name:
            why = "Calico takes an empty value for true here; Tortie takes it for unset, which is false"
            self._warn(name, given, why, "leave it unset, or set it to true")

    def settings(self) -> NodeSettings:
        read, optional = self._read, self._optional
        return NodeSettings(
            nodename=optional("NODENAME", values.plain),
            hostname=optional("HOSTNAME", values.plain),
            nodename_file=read("CALICO_NODENAME_FILE", values.plain),
            shutdown_timestamp_file=read("CALICO_SHUTDOWN_TIMESTAMP_FILE", values.plain),
            log_level=read("CALICO_STARTUP_LOGLEVEL", values.level),
            wait_for_datastore=read("WAIT_FOR_DATASTORE", _waiting),
            ip=optional("IP", _address(4)),
            ip6=optional("IP6", _address(6)),
            ip_method=read("IP_AUTODETECTION_METHOD", _method(4)),
            ip6_method=read("IP6_AUTODETECTION_METHOD", _method(6)),
            autodetect_poll_interval=read("AUTODETECT_POLL_INTERVAL", values.interval),
            disable_node_ip_check=read("DISABLE_NODE_IP_CHECK", switch(switches.EXACT_RULE, negative=True)),
            as_number=optional("AS", values.as_number),
            backend=self._backend(),
            k8s_node_ref=optional("CALICO_K8S_NODE_REF", values.plain),
            cluster_type=read("CLUSTER_TYPE", values.words),
            no_default_pools=read("NO_DEFAULT_POOLS", switch(switches.CASELESS_RULE, negative=True)),
            pool4=self._pool(4),
            pool6=self._pool(6),
            disable_file_logging=read("CALICO_DISABLE_FILE_LOGGING", switch(switches.CASELESS_RULE, negative=True)),
            disable_felix=read("CALICO_DISABLE_FELIX", switch(switches.ANY_RULE, negative=True)),
            manage_cni=read("CALICO_MANAGE_CNI", switch(switches.KEEP_RULE)),
            router_id=optional("CALICO_ROUTER_ID", values.router_id),
            user_id=read("NODE_USER_ID", values.user_id),
            kubernetes_service_host=optional("KUBERNETES_SERVICE_HOST", values.plain),
            health_enabled=read("FELIX_HEALTHENABLED", switch(switches.FELIX_RULE)),
            health_host=read("FELIX_HEALTHHOST", values.host),
            health_port=read("FELIX_HEALTHPORT", values.port),
            metrics_enabled=read("FELIX_PROMETHEUSMETRICSENABLED", switch(switches.FELIX_RULE)),
            metrics_host=read("FELIX_PROMETHEUSMETRICSHOST", values.host),
            metrics_port=read("FELIX_PROMETHEUSMETRICSPORT", values.port),
            ipv6_support=read("FELIX_IPV6SUPPORT", switch(switches.FELIX_RULE)),
            others=self._others(),
        )

    def _pool(self, family: Family) -> GivenPool:
        stem = f"CALICO_IPV{family}POOL_"
        pool_switch = switch(switches.POOL_RULE)
        return GivenPool(
            cidr=self._optional(f"{stem}CIDR", values.pool_cidr(family)),
            block_size=self._read(f"{stem}BLOCK_SIZE", values.block_size(family)),
            ipip=self._read(f"{stem}IPIP", values.mode) if family == 4 else Setting("Never"),
            vxlan=self._read(f"{stem}VXLAN", values.mode),
            nat_outgoing=self._read(f"{stem}NAT_OUTGOING", pool_switch),
            node_selector=self._optional(f"{stem}NODE_SELECTOR", values.node_selector),
            disable_bgp_export=self._read(f"{stem}DISABLE_BGP_EXPORT", pool_switch),
        )

    def _backend(self) -> Setting[values.Backend]:
        """The old variable wins, as in Calico; `contradictions` says so where both are set and differ."""
        named = self._read("CALICO_NETWORKING_BACKEND", values.backend)
        old = self._optional("CALICO_NETWORKING", values.old_networking)
        if old.value is None:
            return named
        self._typed.discard("CALICO_NETWORKING")  # it has no field of its own, and is kept among the others
        return Setting(old.value, f"because of {old.source}", old.value)

    def _others(self) -> dict[str, Setting[str]]:
        """Checked as far as their kind goes. What Tortie does not use is no reason not to start."""
        found = {}
        for name, given in self.given.items():
            known = BY_NAME.get(name)
            if known is None or name in self._typed:
                continue
            if not is_text(given.text):
                if known.use == table.USED:
                    self._refuse(name, given, *_NOT_TEXT)
                    continue
                self._warn(name, given, *_NOT_TEXT)
            text = Secret(given.text) if known.secret else given.text
            found[name] = Setting[str](text, given.source, text)
            check = _CHECKS.get(known.kind)
            if check is None or len(given.text) > _LENGTH_MAX:
                continue
            try:
                meant = check(given.text.strip())
            except BadField as error:
                self._warn(name, given, str(error), error.right)
            else:
                if meant.why:
                    self._warn(name, given, meant.why, meant.right)
        return found

    def _read(self, name: str, parse: Parser[T]) -> Setting[T]:
        default = BY_NAME[name].default
        found = self._optional(name, parse)
        return Setting(parse(default).value, text=default) if found.value is None else Setting(*found)  # type: ignore[arg-type]

    def _optional(self, name: str, parse: Parser[T]) -> Setting[T | None]:
        """None stands for unset, and for what was refused."""
        self._typed.add(name)
        given = self.given.get(name)
        text = given.text.strip() if given else ""
        if given is None or not text:
            return Setting(None)
        if not is_text(text):
            self._refuse(name, given, *_NOT_TEXT)
            return Setting(None)
        if text != given.text and name not in _TRIMMED:
            self._warn(name, given, "has blanks around it, which Calico would take for a part of the value", text)
        if len(text) > 2 and text[0] == text[-1] and text[0] in "'\"":
            # docker's --env-file leaves them there.
            self._warn(name, given, "has quotes around it, which Calico would take for a part of the value", text[1:-1])
            text = text[1:-1].strip() or text
        if len(text) > _LENGTH_MAX:
            # Longer than any meaning, and long enough to keep a parser busy.
            self._refuse(name, given, f"has {len(text)} characters", f"at most {_LENGTH_MAX}")
            return Setting(None)
        try:
            meant = parse(text)
        except BadField as error:
            self._refuse(name, given, str(error), error.right)
            return Setting(None)
        if meant.why:
            self._warn(name, given, meant.why, meant.right)
        return Setting(meant.value, given.source, given.text)

    def _refuse(self, name: str, given: Given, why: str, right: str) -> None:
        self.refused.append(finding(name, given, why, right, secret=BY_NAME[name].secret))

    def _warn(self, name: str, given: Given, why: str, right: str) -> None:
        known = BY_NAME.get(name)
        self.warnings.append(finding(name, given, why, right, secret=known is not None and known.secret))


def _upper_case_first(entries: Mapping[str, T]) -> list[tuple[str, T]]:
    return sorted(entries.items(), key=lambda entry: not entry[0].isupper())


def _waiting(text: str) -> Meant[bool]:
    meant = switch(switches.EXACT_RULE)(text)
    if meant.value and meant.why:
        return Meant(True, "Calico waits for the datastore only when this is exactly true; Tortie always waits", "true")
    if not meant.value:
        return Meant(False, "Calico would fail without its datastore; Tortie always waits for it", "leave it unset")
    return meant


def _address(family: Family) -> Parser[str]:
    def parse(text: str) -> Meant[str]:
        word = text.lower()
        if word in ("autodetect", "none"):
            why = "" if word == text else f"Calico knows only the lower-case form; Tortie takes it for {word}"
            return Meant(word, why, word if why else "")
        try:
            parse_address_setting(text, family)
        except TortieError as error:
            raise BadField(error.why or error.what, error.fix) from None
        return Meant(text)

    return parse


def _method(family: Family) -> Parser[Method]:
    def parse(text: str) -> Meant[Method]:
        try:
            method = parse_method(text)
        except BadMethod as error:
            raise BadField(error.why or error.what, error.right or error.fix) from None
        other: Family = 6 if family == 4 else 4
        if _versions(method) == {other}:
            right = f"{variable(other)}_AUTODETECTION_METHOD={text}"
            raise BadField(f"names nothing of IPv{family}, so that no address could be found", right)
        return Meant(method, "; ".join(notes(method)))

    return parse


def _versions(method: Method) -> set[int]:
    """The families that a method names, if it names any."""
    if isinstance(method, InCIDRs):
        return {cidr.version for cidr in method.cidrs}
    if isinstance(method, CanReach):
        try:
            return {ip_address(method.destination).version}
        except ValueError:
            return set()
    return set()
