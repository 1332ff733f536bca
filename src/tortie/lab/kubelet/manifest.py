"""Whether a pod could be run at all, judged before anybody relies on it, with Kubernetes's own words for what is wrong.

As kubelet and the API server do it: what is not of the right type cannot be read, what is may still say nonsense. Only
what a lab uses of a pod is looked at. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

from tortie.lab.kubelet.objects import Object
from tortie.lab.kubelet.probes import KINDS


class BadManifest(ValueError):
    """Nobody can run it; says why."""


class Unreadable(BadManifest):
    """Something in it is of another type than it has to be."""


class Invalid(BadManifest):
    """It can be read. `problems`: what it must not say, one by one."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
        self.problems = problems


class _Struct(NamedTuple):
    name: str
    fields: Mapping[str, _Type]


class _List(NamedTuple):
    of: _Type


_Type = _Struct | _List | Literal["string", "int32", "int or string", "map"]

_LARGEST: Final = 2**31 - 1
_GO: Final = {"int or string": "intstr.IntOrString", "map": "map[string]string"}
_NUMBERS: Final = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)
_HEADER: Final = _Struct("HTTPHeader", {"name": "string", "value": "string"})
_HTTP_GET: Final = _Struct(
    "HTTPGetAction",
    {
        "host": "string",
        "port": "int or string",
        "path": "string",
        "scheme": "string",
        "httpHeaders": _List(_HEADER),
    },
)
_PROBE: Final = _Struct(
    "Probe",
    {
        "exec": _Struct("ExecAction", {"command": _List("string")}),
        "httpGet": _HTTP_GET,
        "tcpSocket": _Struct("TCPSocketAction", {"host": "string", "port": "int or string"}),
        "grpc": _Struct("GRPCAction", {"port": "int32", "service": "string"}),
        "terminationGracePeriodSeconds": "int32",
        **dict.fromkeys(_NUMBERS, "int32"),
    },
)
_FIELD: Final = _Struct("ObjectFieldSelector", {"fieldPath": "string"})
_VARIABLE: Final = _Struct(
    "EnvVar", {"name": "string", "value": "string", "valueFrom": _Struct("EnvVarSource", {"fieldRef": _FIELD})}
)
_CONTAINER: Final = _Struct(
    "Container",
    {
        "name": "string",
        "image": "string",
        "command": _List("string"),
        "args": _List("string"),
        "env": _List(_VARIABLE),
        "ports": _List(_Struct("ContainerPort", {"name": "string", "containerPort": "int32"})),
        **{f"{kind}Probe": _PROBE for kind in KINDS},
    },
)
_POD: Final = _Struct(
    "Pod",
    {
        "metadata": _Struct(
            "ObjectMeta", {"name": "string", "namespace": "string", "labels": "map", "annotations": "map"}
        ),
        "spec": _Struct(
            "PodSpec",
            {
                "containers": _List(_CONTAINER),
                "initContainers": _List(_CONTAINER),
                "restartPolicy": "string",
                "serviceAccountName": "string",
                "terminationGracePeriodSeconds": "int32",
            },
        ),
    },
)

_TEMPLATE: Final = _Struct("PodTemplateSpec", _POD.fields)
_OWNER: Final = _Struct("Owner", {"spec": _Struct("OwnerSpec", {"template": _TEMPLATE})})

_LABEL_PATTERN: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAME_PATTERN: Final = rf"{_LABEL_PATTERN}(\.{_LABEL_PATTERN})*"
_LABEL_RULE: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    f"an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL_PATTERN}')"
)
_NAME_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_NAME_PATTERN}')"
)
_HEADER_PATTERN: Final = "[-A-Za-z0-9]+"
_HEADER_RULE: Final = (
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for "
    f"validation is '{_HEADER_PATTERN}')"
)
_SCHEMES: Final = ("HTTP", "HTTPS")
_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc")
_POLICIES: Final = ("Always", "OnFailure", "Never")


def plain(document: Any) -> Any:
    """As Go reads it: what is null is not there, and halves of a character are none."""
    if isinstance(document, dict):
        return {_text(key): plain(value) for key, value in document.items() if value is not None}
    if isinstance(document, list):
        return [plain(each) for each in document]
    return _text(document) if isinstance(document, str) else document


def _text(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def check_pod(pod: Any) -> Object:
    """The pod, of a file of its own. BadManifest if it cannot be run."""
    found = plain(pod)
    if problem := _misfit(found, _POD):
        raise Unreadable(problem)
    if not found.get("metadata", {}).get("name"):
        raise Invalid(["name is needed for the pod"])
    if problems := [*_named(found["metadata"]), *_spec_problems(found.get("spec", {}), "spec")]:
        raise Invalid(problems)
    return dict(found)


def check_template(owner: Any) -> Object:
    """A DaemonSet or Deployment, as far as its pods are concerned. BadManifest if they cannot be run."""
    found = plain(owner)
    if problem := _misfit(found, _OWNER):
        raise Unreadable(problem)
    template = found.get("spec", {}).get("template", {})
    template.setdefault("metadata", {})
    if problems := [*_spec_problems(template.get("spec", {}), "spec.template.spec")]:
        raise Invalid(problems)
    return dict(found)


def _misfit(value: Any, wanted: _Type, path: str = "", parent: str = "") -> str:
    """What Go's decoder says of the first thing that is of another type; "" when everything fits."""
    match wanted:
        case _Struct(name, fields):
            fits = isinstance(value, dict)
            below = (
                [(value[key], kind, f"{path}.{key}".strip("."), name) for key, kind in fields.items() if key in value]
                if fits
                else []
            )
        case _List(kind):
            fits = isinstance(value, list)
            below = [(each, kind, path, parent) for each in value] if fits else []
        case _:
            fits, below = _FITS[wanted](value), []
    if not fits:
        return _cannot(value, wanted, path, parent)
    return next((said for each in below if (said := _misfit(*each))), "")


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST


_FITS: Final[dict[str, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "int32": _is_int,
    "int or string": lambda value: isinstance(value, str) or _is_int(value),
    "map": lambda value: isinstance(value, dict) and all(isinstance(each, str) for each in value.values()),
}


def _go(kind: _Type) -> str:
    match kind:
        case _Struct(name, _):
            return f"v1.{name}"
        case _List(of):
            return f"[]{_go(of)}"
    return _GO.get(kind, kind)


def _cannot(value: Any, wanted: _Type, path: str, parent: str) -> str:
    match value:
        case bool():
            what = "bool"
        case int() | float():
            what = f"number {json.dumps(value)}" if wanted == "int32" else "number"
        case str():
            what = "string"
        case list():
            what = "array"
        case _:
            what = "null" if value is None else "object"
    place = f"struct field {parent}.{path} of type" if parent else "value of type"
    return f"json: cannot unmarshal {what} into Go {place} {_go(wanted)}"


def _named(metadata: Object) -> Iterator[str]:
    if not re.fullmatch(_NAME_PATTERN, metadata["name"]):
        yield f"metadata.name: Invalid value: {_shown(metadata['name'])}: {_NAME_RULE}"
    namespace = metadata.get("namespace") or "default"
    if not re.fullmatch(_LABEL_PATTERN, namespace):
        yield f"metadata.namespace: Invalid value: {_shown(namespace)}: {_LABEL_RULE}"


def _spec_problems(spec: Object, path: str) -> Iterator[str]:
    if not spec.get("containers"):
        yield f"{path}.containers: Required value"
    names: set[str] = set()
    for field in ("containers", "initContainers"):
        for number, container in enumerate(spec.get(field) or ()):
            yield from _container_problems(container, f"{path}.{field}[{number}]", names)
    yield from _not_among(spec, "restartPolicy", _POLICIES, path)
    yield from _not_below(spec, "terminationGracePeriodSeconds", 0, path)


def _container_problems(container: Object, path: str, names: set[str]) -> Iterator[str]:
    name = container.get("name")
    if not name:
        yield f"{path}.name: Required value"
    elif not re.fullmatch(_LABEL_PATTERN, name):
        yield f"{path}.name: Invalid value: {_shown(name)}: {_LABEL_RULE}"
    elif name in names:
        yield f"{path}.name: Duplicate value: {_shown(name)}"
    names.add(name or "")
    for number, variable in enumerate(container.get("env") or ()):
        if not variable.get("name"):
            yield f"{path}.env[{number}].name: Required value"
    for number, port in enumerate(container.get("ports") or ()):
        yield from _port_problems(port.get("containerPort", 0), f"{path}.ports[{number}].containerPort")
    for kind in KINDS:
        probe = container.get(f"{kind}Probe")
        if probe is not None:
            yield from _probe_problems(probe, f"{path}.{kind}Probe", container)


def _probe_problems(probe: Object, path: str, container: Object) -> Iterator[str]:
    handlers = [each for each in _HANDLERS if each in probe]
    if not handlers:
        yield f"{path}: Required value: must specify a handler type"
    for each in handlers[1:]:
        yield f"{path}.{each}: Forbidden: may not specify more than 1 handler type"
    if "exec" in probe and not probe["exec"].get("command"):
        yield f"{path}.exec.command: Required value"
    if "httpGet" in probe:
        yield from _get_problems(probe["httpGet"], f"{path}.httpGet", container)
    for field in _NUMBERS:
        yield from _not_below(probe, field, 0, path)
    yield from _not_below(probe, "terminationGracePeriodSeconds", 1, path)


def _get_problems(get: Object, path: str, container: Object) -> Iterator[str]:
    port = get.get("port", 0)
    if isinstance(port, str):
        if port not in {each.get("name") for each in container.get("ports") or () if "containerPort" in each}:
            yield f"{path}.port: Invalid value: {_shown(port)}: must be the name of a port of the container"
    else:
        yield from _port_problems(port, f"{path}.port")
    yield from _not_among(get, "scheme", _SCHEMES, path)
    for header in get.get("httpHeaders") or ():
        if not re.fullmatch(_HEADER_PATTERN, header.get("name", "")):
            yield f"{path}.httpHeaders: Invalid value: {_shown(header.get('name', ''))}: {_HEADER_RULE}"


def _port_problems(port: int, path: str) -> Iterator[str]:
    if not 0 < port < 65536:
        yield f"{path}: Invalid value: {port}: must be between 1 and 65535, inclusive"


def _not_among(thing: Object, field: str, supported: tuple[str, ...], path: str) -> Iterator[str]:
    value = thing.get(field) or supported[0]
    if value not in supported:
        listed = ", ".join(_shown(each) for each in supported)
        yield f"{path}.{field}: Unsupported value: {_shown(value)}: supported values: {listed}"


def _not_below(thing: Object, field: str, least: int, path: str) -> Iterator[str]:
    if thing.get(field, least) < least:
        than = "must be greater than or equal to 0" if least == 0 else "must be greater than 0"
        yield f"{path}.{field}: Invalid value: {thing[field]}: {than}"


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
