"""Pods and workloads of YAML and JSON: their containers, probes and environment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tortie.doctor.picture.facts import Container, Fact, Pod, Probe, Setting, Workload
from tortie.doctor.reading.readers.times import epoch
from tortie.doctor.reading.readers.values import dicts, get, name_of, number, text

if TYPE_CHECKING:
    from tortie.doctor.reading.readers.resources import Where


def pod(body: dict[str, object], where: Where) -> Iterator[Fact]:
    name, status = name_of(body), get(body, "status")
    statuses = list(dicts(get(status, "containerStatuses")))
    owner = next(dicts(get(body, "metadata", "ownerReferences")), {})
    restarts = [number(text(s.get("restartCount"))) or 0 for s in statuses]
    yield Pod(
        where.of(body), name, text(get(body, "metadata", "namespace")),
        sum(s.get("ready") is True for s in statuses) if statuses else None, len(statuses) or None,
        _status(status, statuses), sum(restarts) if statuses else None, None, text(get(status, "podIP")),
        text(get(body, "spec", "nodeName")), text(get(status, "hostIP")), epoch(text(get(status, "startTime"))),
        f"{text(owner.get('kind'))}/{text(owner.get('name'))}" if owner else "",
    )  # fmt: skip
    yield from containers(get(body, "spec"), name, where, status)


def _status(status: object, statuses: list[dict[str, object]]) -> str:
    """The column that kubectl makes of phase, reason and container states."""
    inits = list(dicts(get(status, "initContainerStatuses")))
    for done, item in enumerate(inits):
        ended = get(item, "state", "terminated")
        if ended is not None and get(ended, "exitCode") in (0, None):
            continue
        reason = text(get(item, "state", "waiting", "reason")) or text(get(ended, "reason"))
        return f"Init:{reason}" if reason and reason != "PodInitializing" else f"Init:{done}/{len(inits)}"
    for item in statuses:
        reason = text(get(item, "state", "waiting", "reason")) or text(get(item, "state", "terminated", "reason"))
        if reason:
            return reason
    return text(get(status, "reason")) or text(get(status, "phase"))


def workload(body: dict[str, object], where: Where) -> Iterator[Fact]:
    kind, name, status = text(body.get("kind")), name_of(body), get(body, "status")
    if status:
        desired = get(status, "desiredNumberScheduled")
        desired = desired if desired is not None else get(body, "spec", "replicas")
        current, ready = get(status, "currentNumberScheduled"), get(status, "numberReady")
        ready = ready if ready is not None else get(status, "readyReplicas") or 0
        yield Workload(
            where.of(body), kind, name, text(get(body, "metadata", "namespace")), number(text(desired)),
            number(text(current)), number(text(ready)),
        )  # fmt: skip
    yield from containers(get(body, "spec", "template", "spec"), name, where, None)


def containers(spec: object, owner: str, where: Where, status: object) -> Iterator[Fact]:
    for key, init in (("initContainers", True), ("containers", False)):
        known = {
            text(s.get("name")): s for s in dicts(get(status, "initContainerStatuses" if init else "containerStatuses"))
        }
        bodies = list(dicts(get(spec, key)))
        if not bodies:  # somebody left only the status; it names its container, too
            for name, said in known.items():
                box = _container({"name": name, "image": said.get("image")}, said, owner, init, where)
                yield box._replace(place=where.of(said))
        for body in bodies:
            name = text(body.get("name"))
            yield _container(body, known.get(name, {}), owner, init, where)
            yield from _probes(body, owner, name, where)
            for item in dicts(body.get("env")):
                yield Setting(where.of(item), "env", text(item.get("name")), env_value(item), name)


def env_value(item: dict[str, object]) -> str:
    """A variable's value, or where it comes from, as describe words it."""
    source = item.get("valueFrom")
    if not isinstance(source, dict):
        return text(item.get("value"))
    if "fieldRef" in source:
        return f"(v1:{text(get(source, 'fieldRef', 'fieldPath'))})"
    for key, word in (("configMapKeyRef", "config map"), ("secretKeyRef", "secret")):
        if key in source:
            return f"<set to the key '{text(get(source, key, 'key'))}' of {word} '{text(get(source, key, 'name'))}'>"
    return ""


def _container(body: dict[str, object], status: dict[str, object], owner: str, init: bool, where: Where) -> Container:
    now, before = _state(status.get("state")), _state(status.get("lastState"))
    command = [text(part) for key in ("command", "args") for part in _items(body.get(key))]
    mounts = tuple(text(mount.get("mountPath")) for mount in dicts(body.get("volumeMounts")))
    ready = status.get("ready")
    return Container(
        where.of(body), owner, text(body.get("name")), init, text(body.get("image")), now[0],
        text(now[1].get("reason")), text(now[1].get("message")), epoch(text(now[1].get("startedAt"))), _code(now[1]),
        before[0], text(before[1].get("reason")), _code(before[1]), epoch(text(before[1].get("startedAt"))),
        epoch(text(before[1].get("finishedAt"))), ready if isinstance(ready, bool) else None,
        number(text(status.get("restartCount"))), _pairs(get(body, "resources", "limits")),
        _pairs(get(body, "resources", "requests")), " ".join(command), mounts,
    )  # fmt: skip


def _state(state: object) -> tuple[str, dict[str, object]]:
    if isinstance(state, dict):
        for key, value in state.items():
            return str(key).capitalize(), value if isinstance(value, dict) else {}
    return "", {}


def _code(state: dict[str, object]) -> int | None:
    code = state.get("exitCode")
    return code if isinstance(code, int) and not isinstance(code, bool) else None


def _pairs(body: object) -> tuple[tuple[str, str], ...]:
    return tuple((str(key), text(value)) for key, value in body.items()) if isinstance(body, dict) else ()


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _probes(body: dict[str, object], owner: str, container: str, where: Where) -> Iterator[Probe]:
    for kind in ("liveness", "readiness", "startup"):
        probe = body.get(f"{kind}Probe")
        if not isinstance(probe, dict):
            continue
        action = " ".join(text(part) for part in _items(get(probe, "exec", "command")))
        http = probe.get("httpGet")
        if isinstance(http, dict):
            scheme, host = text(http.get("scheme")).lower() or "http", text(http.get("host"))
            action = f"{scheme}://{host}:{text(http.get('port'))}{text(http.get('path'))}"
        yield Probe(
            where.key(body, f"{kind}Probe"), kind, action, _float(probe.get("initialDelaySeconds"), 0.0),
            _float(probe.get("timeoutSeconds"), 1.0), _float(probe.get("periodSeconds"), 10.0),
            number(text(probe.get("successThreshold"))) or 1, number(text(probe.get("failureThreshold"))) or 3,
            owner, container,
        )  # fmt: skip


def _float(value: object, default: float) -> float:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else default
