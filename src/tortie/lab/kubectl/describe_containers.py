"""Containers and volumes as `kubectl describe` tells them, of a pod or of a template. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tortie.lab.kubectl.kinds import Thing, at, items_at, pairs_at
from tortie.lab.kubectl.tables import NONE
from tortie.lab.kubectl.times import long_date

_PROBES: Final = (("Liveness", "livenessProbe"), ("Readiness", "readinessProbe"), ("Startup", "startupProbe"))
_FIELDS: Final = {
    "spec.nodeName": ("spec", "nodeName"),
    "spec.serviceAccountName": ("spec", "serviceAccountName"),
    "status.hostIP": ("status", "hostIP"),
    "status.podIP": ("status", "podIP"),
    "metadata.name": ("metadata", "name"),
    "metadata.namespace": ("metadata", "namespace"),
    "metadata.uid": ("metadata", "uid"),
}


def container_lines(
    title: str, containers: Sequence[Thing], statuses: Sequence[Thing], pod: Thing | None, space: str = ""
) -> Iterator[str]:
    """`pod` is None for a template, whose fields have no values yet and which stands two blanks further in."""
    known = {str(each.get("name")): each for each in statuses}
    yield f"{space}{title}:" + ("" if containers else f" {NONE}")
    for container in containers:
        name = str(container.get("name", ""))
        yield f"  {' ' if space else ''}{name}:"
        yield from _container(container, known.get(name), pod)


def _container(container: Thing, status: Thing | None, pod: Thing | None) -> Iterator[str]:
    if status is not None:
        yield f"    Container ID:\t{status.get('containerID', '')}"
    yield f"    Image:\t{container.get('image', '')}"
    if status is not None:
        yield f"    Image ID:\t{status.get('imageID', '')}"
    for title, field in (("Port", "containerPort"), ("Host Port", "hostPort")):
        text = ", ".join(_port(port, field) for port in items_at(container, "ports"))
        yield f"    {title}{'s' if ',' in text else ''}:\t{text or NONE}"
    for title, field in (("Command", "command"), ("Args", "args")):
        if words := items_at(container, field):
            yield f"    {title}:"
            yield from (f"      {line}" for word in words for line in str(word).split("\n"))
    if status is not None:
        yield from _state("State", pairs_at(status, "state"))
        if at(status, "lastState", "terminated") is not None:
            yield from _state("Last State", status["lastState"])
        yield f"    Ready:\t{bool(status.get('ready'))}"
        yield f"    Restart Count:\t{status.get('restartCount') or 0}"
    yield from resource_lines(pairs_at(container, "resources"))
    for title, field in _PROBES:
        if container.get(field):
            yield f"    {title}:\t{probe_text(container[field])}"
    if sources := items_at(container, "envFrom"):
        yield "    Environment Variables from:"
        yield from (_source(each) for each in sources)
    yield from _environment(container, pod)
    yield from _mounts(container)


def _port(port: Mapping[str, Any], field: str) -> str:
    name = f" ({port['name']})" if port.get("name") else ""
    return f"{port.get(field, 0)}/{port.get('protocol', 'TCP')}{name}"


def _state(title: str, state: Mapping[str, Any]) -> Iterator[str]:
    if (running := state.get("running")) is not None:
        yield f"    {title}:\tRunning"
        yield f"      Started:\t{long_date(running.get('startedAt'))}"
    elif (ended := state.get("terminated")) is not None:
        yield f"    {title}:\tTerminated"
        for field in ("reason", "message"):
            if ended.get(field):
                yield f"      {field.title()}:\t{ended[field]}"
        yield f"      Exit Code:\t{ended.get('exitCode', 0)}"
        if ended.get("signal"):
            yield f"      Signal:\t{ended['signal']}"
        yield f"      Started:\t{long_date(ended.get('startedAt'))}"
        yield f"      Finished:\t{long_date(ended.get('finishedAt'))}"
    else:
        yield f"    {title}:\tWaiting"
        if reason := (state.get("waiting") or {}).get("reason"):
            yield f"      Reason:\t{reason}"


def resource_lines(resources: Mapping[str, Any]) -> Iterator[str]:
    for title in ("Limits", "Requests"):
        if named := pairs_at(resources, title.lower()):
            yield f"    {title}:"
            yield from (f"      {name}:\t{named[name]}" for name in sorted(named))


def probe_text(probe: Mapping[str, Any]) -> str:
    numbers = (
        f"delay={probe.get('initialDelaySeconds') or 0}s timeout={probe.get('timeoutSeconds') or 1}s "
        f"period={probe.get('periodSeconds') or 10}s #success={probe.get('successThreshold') or 1} "
        f"#failure={probe.get('failureThreshold') or 3}"
    )
    if (command := probe.get("exec")) is not None:
        return f"exec [{' '.join(str(word) for word in items_at(command, 'command'))}] {numbers}"
    if (web := probe.get("httpGet")) is not None:
        host = str(web.get("host") or "")
        host = f"[{host}]" if ":" in host else host
        url = f"{str(web.get('scheme') or 'HTTP').lower()}://{host}:{web.get('port', '')}{web.get('path', '')}"
        return f"http-get {url} {numbers}"
    if (socket := probe.get("tcpSocket")) is not None:
        return f"tcp-socket {socket.get('host', '')}:{socket.get('port', '')} {numbers}"
    return f"unknown {numbers}"


def _source(source: Mapping[str, Any]) -> str:
    kind, ref = ("ConfigMap", source["configMapRef"]) if "configMapRef" in source else ("Secret", source["secretRef"])
    prefix = f" with prefix '{source['prefix']}'" if source.get("prefix") else ""
    return f"      {ref.get('name', '')}\t{kind}{prefix}\tOptional: {_truth(ref.get('optional'))}"


def _truth(value: object) -> str:
    return "true" if value else "false"


def _environment(container: Thing, pod: Thing | None) -> Iterator[str]:
    variables = items_at(container, "env")
    yield "    Environment:" + ("" if variables else f"\t{NONE}")
    for variable in variables:
        name, source = variable.get("name", ""), variable.get("valueFrom")
        if not source:
            first, *others = str(variable.get("value", "")).split("\n")
            yield f"      {name}:\t{first}"
            yield from (f"      \t{line}" for line in others)
        elif field := source.get("fieldRef"):
            yield f"      {name}:\t{_field(field, pod)} ({field.get('apiVersion', 'v1')}:{field.get('fieldPath', '')})"
        elif field := source.get("resourceFieldRef"):
            yield f"      {name}:\t{_resource(container, field)} ({field.get('resource', '')})"
        elif key := source.get("secretKeyRef"):
            yield f"      {name}:\t<set to the key '{key.get('key')}' in secret '{key.get('name')}'>\t{_optional(key)}"
        elif key := source.get("configMapKeyRef"):
            told = f"<set to the key '{key.get('key')}' of config map '{key.get('name')}'>"
            yield f"      {name}:\t{told}\t{_optional(key)}"


def _optional(key: Mapping[str, Any]) -> str:
    return f"Optional: {_truth(key.get('optional'))}"


def _field(field: Mapping[str, Any], pod: Thing | None) -> str:
    path = _FIELDS.get(str(field.get("fieldPath")))
    return str(at(pod, *path) or "") if pod is not None and path else ""


def _resource(container: Thing, field: Mapping[str, Any]) -> str:
    kind, _, name = str(field.get("resource", "")).partition(".")
    found = at(container, "resources", kind, name)
    return str(found) if found is not None else "node allocatable" if kind == "limits" else "0"


def _mounts(container: Thing) -> Iterator[str]:
    mounts = items_at(container, "volumeMounts")
    yield "    Mounts:" + ("" if mounts else f"\t{NONE}")
    for mount in sorted(mounts, key=lambda each: str(each.get("mountPath", ""))):
        flags = ("ro" if mount.get("readOnly") else "rw") + (
            f',path="{mount["subPath"]}"' if mount.get("subPath") else ""
        )
        yield f"      {mount.get('mountPath', '')} from {mount.get('name', '')} ({flags})"


def volume_lines(volumes: Sequence[Thing], space: str = "") -> Iterator[str]:
    if not volumes:
        yield f"{space}Volumes:\t{NONE}"
        return
    yield f"{space}Volumes:"
    for volume in volumes:
        yield f"  {' ' if space else ''}{volume.get('name', '')}:"
        yield from (f"    {line}" for line in _volume(volume))


def _volume(volume: Thing) -> Iterator[str]:
    if (path := volume.get("hostPath")) is not None:
        yield "Type:\tHostPath (bare host directory volume)"
        yield f"Path:\t{path.get('path', '')}"
        yield f"HostPathType:\t{NONE if path.get('type') is None else path['type']}"
    elif (empty := volume.get("emptyDir")) is not None:
        yield "Type:\tEmptyDir (a temporary directory that shares a pod's lifetime)"
        yield f"Medium:\t{empty.get('medium', '')}"
        yield f"SizeLimit:\t{empty.get('sizeLimit') or '<unset>'}"
    elif (secret := volume.get("secret")) is not None:
        yield "Type:\tSecret (a volume populated by a Secret)"
        yield f"SecretName:\t{secret.get('secretName', '')}"
        yield _optional(secret).replace(": ", ":\t")
    elif (config := volume.get("configMap")) is not None:
        yield "Type:\tConfigMap (a volume populated by a ConfigMap)"
        yield f"Name:\t{config.get('name', '')}"
        yield _optional(config).replace(": ", ":\t")
    elif (projected := volume.get("projected")) is not None:
        yield "Type:\tProjected (a volume that contains injected data from multiple sources)"
        for source in items_at(projected, "sources"):
            yield from _projected(source)
    else:
        yield "<unknown>"


def _projected(source: Thing) -> Iterator[str]:
    if (token := source.get("serviceAccountToken")) is not None:
        yield f"TokenExpirationSeconds:\t{token.get('expirationSeconds', 3600)}"
    elif (config := source.get("configMap")) is not None:
        yield f"ConfigMapName:\t{config.get('name', '')}"
        yield _optional(config).replace(": ", ":\t")
    elif source.get("downwardAPI") is not None:
        yield "DownwardAPI:\ttrue"
