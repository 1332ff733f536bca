"""What the controllers shall do: the environment first, then the resource KubeControllersConfiguration, then defaults.

Every variable of calico/kube-controllers is accepted. Some controllers have nothing to do without Kubernetes; they may
be named, and nothing happens. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from tortie.controllers.running import FALSE, TRUE
from tortie.model.controllers_defaults import DEFAULT_SPEC
from tortie.model.effects.rows import Nothing
from tortie.model.effects.table import FIELDS
from tortie.model.errors import UsageError
from tortie.model.fields import Duration

NODE: Final = "node"
CONTROLLERS: Final = (
    *("policy", "namespace", "serviceaccount", "workloadendpoint"),
    *(NODE, "loadbalancer", "migration", "flannelmigration"),
)
LEVELS: Final = ("trace", "debug", "info", "warning", "error", "fatal", "panic")

GRACE_S: Final = 900.0
PERIOD_S: Final = 300.0
METRICS_PORT: Final = 9094

# What Calico's controllers do and these do not: where it is set, Calico's default, what switches it off. The reason is
# in the table of all that has no effect.
_WITHOUT_EFFECT: Final = (
    ("etcdV3CompactionPeriod", "COMPACTION_PERIOD", "10m0s", ("0", "0s")),
    ("controllers.node.syncLabels", "SYNC_NODE_LABELS", "Enabled", ("Disabled", *FALSE)),
    ("controllers.node.hostEndpoint.autoCreate", "AUTO_HOST_ENDPOINTS", "Disabled", ("Disabled", "disabled")),
    ("debugProfilePort", "", None, (0,)),
)


class Unheeded(NamedTuple):
    """A setting that Calico's controllers obey and these do not."""

    text: str
    asked: bool  # somebody set it; otherwise it is Calico's default


class Config(NamedTuple):
    node: bool = True  # whether addresses and nodes are cleaned up at all
    idle: tuple[str, ...] = ()  # named, and without anything to do here
    log_level: str = "info"
    health: bool = True
    metrics_port: int = METRICS_PORT  # 0: no page
    grace_s: float = GRACE_S
    period_s: float = PERIOD_S  # a whole look at least so often
    warnings: tuple[str, ...] = ()
    unheeded: tuple[Unheeded, ...] = ()

    @property
    def scan_every_s(self) -> float:
        return min(self.grace_s / 2, self.period_s) if self.grace_s > 0 else self.period_s


def read_config(environment: Mapping[str, str], spec: Mapping[str, Any] | None, grace: str | None = None) -> Config:
    """`spec` is that of the resource, None if there is none; `grace` what the command line says.

    What the environment says must make sense. What the resource says and makes none is passed over with a warning: it
    can change while the controllers run, and a typo must not end them.
    """
    warnings: list[str] = []
    stored = _Stored(spec or {}, warnings)
    _refuse_nonsense(environment)
    enabled, idle = _enabled(environment.get("ENABLED_CONTROLLERS", ""), None if spec is None else stored.controllers)
    if not enabled and not environment.get("ENABLED_CONTROLLERS"):
        warnings.append("KubeControllersConfiguration default names no node controller: nothing is cleaned up")
    level = environment.get("LOG_LEVEL", "").lower() or stored.level()
    level = "warning" if level == "warn" else level
    if level not in LEVELS:
        warnings.append(f"log level {level!r} is not known, taking info")
        level = "info"
    health = environment.get("HEALTH_ENABLED", "")
    given = duration_s(grace, "--grace") if grace is not None else None
    period = environment.get("RECONCILER_PERIOD", "")
    period_s = duration_s(period, "RECONCILER_PERIOD") if period else stored.seconds("reconcilerPeriod", PERIOD_S)
    port = stored.number("prometheusMetricsPort", METRICS_PORT)
    return Config(
        enabled,
        idle,
        level,
        stored.health if not health else health in TRUE,
        port,
        stored.seconds("leakGracePeriod", GRACE_S) if given is None else given,
        period_s if period_s > 0 else PERIOD_S,
        tuple(warnings),
        tuple(_unheeded(environment, spec, enabled=enabled)),
    )


def _refuse_nonsense(environment: Mapping[str, str]) -> None:
    for name in ("HEALTH_ENABLED", "SYNC_NODE_LABELS"):
        if (said := environment.get(name)) and said not in (*TRUE, *FALSE):
            raise UsageError(f"{name} is '{said}'", "it is either so or not", f"{name}=true or {name}=false")
    if (said := environment.get("AUTO_HOST_ENDPOINTS")) and said.lower() not in ("enabled", "disabled"):
        raise UsageError(f"AUTO_HOST_ENDPOINTS is '{said}'", "there is no such way", "use enabled or disabled")
    if said := environment.get("COMPACTION_PERIOD"):
        duration_s(said, "COMPACTION_PERIOD")
    if (said := environment.get("LOG_LEVEL")) and said.lower() not in (*LEVELS, "warn"):
        raise UsageError(f"LOG_LEVEL is '{said}'", "there is no such level", f"use one of {', '.join(LEVELS)}")


def _unheeded(environment: Mapping[str, str], spec: Mapping[str, Any] | None, *, enabled: bool) -> Iterator[Unheeded]:
    """What is set, or holds by default, and has no counterpart here."""
    held = spec if spec is not None else DEFAULT_SPEC
    for path, variable, default, off in _WITHOUT_EFFECT:
        told = environment.get(variable)
        value = told or _at(held, path)
        if value is None or value in off or (path.startswith("controllers.node.") and not enabled):
            continue
        entry = FIELDS["KubeControllersConfiguration"][path]
        why = entry.reason.here if isinstance(entry, Nothing) else ""
        yield Unheeded(f"{variable if told else path} {value} has no effect: {why}", value != default)


def _at(document: Any, path: str) -> Any:
    for name in path.split("."):
        document = document.get(name) if isinstance(document, dict) else None
    return document


def _enabled(named: str, stored: Mapping[str, Any] | None) -> tuple[bool, tuple[str, ...]]:
    """The resource decides by what it names; without one it is as in the one that would be made."""
    if named:
        names = [name.strip() for name in named.split(",") if name.strip()]
        for name in names:
            if name not in CONTROLLERS:
                raise UsageError(
                    f"Invalid controller '{name}' provided.",
                    "ENABLED_CONTROLLERS names it",
                    f"use some of {', '.join(CONTROLLERS)}",
                )
    else:
        names = [NODE] if stored is None else [name.lower() for name in stored]
    return NODE in names, tuple(name for name in names if name != NODE)


class _Stored:
    """The resource's spec, read field by field: one that makes no sense counts as not there."""

    def __init__(self, spec: Mapping[str, Any], warnings: list[str]) -> None:
        self._spec = spec
        self._warnings = warnings
        controllers = spec.get("controllers")
        self.controllers: Mapping[str, Any] = controllers if isinstance(controllers, dict) else {}
        self.health = spec.get("healthChecks") != "Disabled"
        node = self.controllers.get(NODE)
        self._node: Mapping[str, Any] = node if isinstance(node, dict) else {}

    def level(self) -> str:
        return str(self._spec.get("logSeverityScreen") or "info").lower().replace("none", "panic")

    def seconds(self, field: str, default: float) -> float:
        text = self._node.get(field)
        if text in (None, ""):
            return default
        if not isinstance(text, str) or not re.fullmatch(Duration.form, text):
            self._warn(f"controllers.node.{field}", text, default)
            return default
        return max(0.0, Duration(text).seconds)

    def number(self, field: str, default: int) -> int:
        value = self._spec.get(field)
        if value is None:
            return default
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 65535:
            self._warn(field, value, default)
            return default
        return value

    def _warn(self, field: str, value: object, default: object) -> None:
        self._warnings.append(
            f"KubeControllersConfiguration default: spec.{field} is {value!r}, which makes no sense; taking {default}"
        )


def duration_s(text: str, source: str) -> float:
    if not re.fullmatch(Duration.form, text) or text.startswith("-"):
        raise UsageError(f"{source} is '{text}'", "that is no duration", f"for example {source} 15m, 90s or 500ms")
    return Duration(text).seconds
