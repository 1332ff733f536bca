"""Verbs of `tortie lab kubectl` that change something: delete, set env, patch, rollout, annotate, cordon and others."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from tortie.lab.failures import LabFailure
from tortie.lab.kubectl.changing import change_edit, change_owner, delete_pod, has_kubelets, is_made, overrule
from tortie.lab.kubectl.finding import Found, NotThere, find
from tortie.lab.kubectl.kinds import (
    DAEMON_SET,
    NODE,
    POD,
    Kind,
    Thing,
    at,
    items_at,
    kind_of,
    name_of,
    namespace_of,
    of_kind,
    owned_by,
    pairs_at,
)
from tortie.lab.kubectl.logs import duration_s
from tortie.lab.kubectl.patching import (
    BadChange,
    metadata_changes,
    patched,
    restarted,
    variable_changes,
    with_metadata,
    with_variables,
)
from tortie.lab.kubectl.times import stamp

if TYPE_CHECKING:
    from tortie.cli.lab.kubectl import Place

_LOOK_S: Final = 0.2
_GONE_S: Final = 60.0
_ROLLED_S: Final = 120.0
_PATCHES: Final = ("strategic", "merge", "json")
_APPS: Final = "apps"


def change(place: Place) -> int:
    return _DONE[place.request.verb](place)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _found(place: Place, words: Sequence[str], things: Sequence[Thing]) -> Found:
    """What there is; the first that there is not ends it, unless nobody minds."""
    found = find(place.request, words, things)
    if found.missing and not place.request.has("ignore-not-found"):
        raise NotThere("\n".join(found.missing))
    return found


def _title(thing: Thing) -> str:
    kind = kind_of(str(thing["kind"]))
    return f"{kind.title if kind else thing['kind']}/{name_of(thing)}"


# delete


def _delete(place: Place) -> int:
    request = place.request
    if request.flag("filename"):
        raise LabFailure("kubectl-use", words="delete -f", fix="kubectl delete pod NAME")
    found = _found(place, request.words, place.things())
    if (
        not found.named
        and not request.flag("selector")
        and not request.flag("field-selector")
        and not request.has("all")
    ):
        raise NotThere("error: resource(s) were provided, but no name was specified")
    kinds = {str(thing["kind"]) for thing in found.things}
    if kinds - {"Pod", "Node"}:
        raise LabFailure(
            "kubectl-use", words=f"delete {request.words[0]}", fix="kubectl delete pod NAME; kubectl delete node NAME"
        )
    for thing in found.things:
        if thing["kind"] == "Node":
            change_edit(place.folder, NODE, "", name_of(thing), {"deleted": stamp(time.time())})
            _say(f'node "{name_of(thing)}" deleted')
            continue
        delete_pod(place.folder, place.keeper, thing)
        _say(f'pod "{name_of(thing)}" deleted')
    if request.flag("wait", "true") != "false":
        _wait_until_gone(place, [thing for thing in found.things if thing["kind"] == "Pod"])
    if not found.things and not found.missing:
        _say("No resources found")
    return 0


def _wait_until_gone(place: Place, pods: Sequence[Thing]) -> None:
    """As kubectl does: the command ends when they have ended."""
    wanted = {at(pod, "metadata", "uid") for pod in pods}
    deadline = time.monotonic() + (duration_s(place.request.flag("timeout")) or _GONE_S)
    if not has_kubelets(place.folder):
        return  # an agent that is a plain process is the same pod again
    while wanted & {at(pod, "metadata", "uid") for pod in of_kind(place.things(), POD)}:
        if time.monotonic() > deadline:
            names = ", ".join(name_of(pod) for pod in pods)
            raise NotThere(f"error: timed out waiting for the condition on pods/{names}")
        time.sleep(_LOOK_S)


# set env, patch, rollout


def _owner(place: Place, words: Sequence[str]) -> Thing:
    found = _found(place, words, place.things())
    if not found.things:
        raise NotThere("error: one or more resources must be specified as <resource> <name> or <resource>/<name>")
    if any(target.kind.group != _APPS for target in found.targets):
        kind = found.targets[0].kind
        raise LabFailure(
            "kubectl-use",
            words=f"{place.request.verb} {kind.singular}",
            fix="ds/calico-node, deploy/calico-kube-controllers",
        )
    return found.things[0]


def _set(place: Place) -> int:
    request = place.request
    if not request.words or request.words[0] != "env":
        fix = "kubectl set env ds/calico-node NAME=value OTHER-"
        raise LabFailure("kubectl-use", words=" ".join(("set", *request.words[:1])), fix=fix)
    targets = [word for word in request.words[1:] if "=" not in word and not word.endswith("-")]
    others = [word for word in request.words[1:] if word not in targets]
    owner = _owner(place, targets)
    if request.has("list") or not others:
        _list_variables(owner)
        return 0
    containers = [each for each in request.flag("container").split(",") if each not in ("", "*")]
    changes = variable_changes(others)
    ours = owner["kind"] == DAEMON_SET.name and has_kubelets(place.folder)
    overruled = ours and overrule(place.keeper, [name for name, _ in changes])
    changed = change_owner(place.folder, owner, lambda each: with_variables(each, changes, containers))
    if overruled and not changed:  # only in the DaemonSet: on the node it was something else
        when = stamp(time.time())
        changed = change_owner(place.folder, owner, lambda each: restarted(each, when))
    if changed:
        _say(f"{_title(owner)} env updated")
    return 0


def _list_variables(owner: Thing) -> None:
    for container in items_at(owner, "spec", "template", "spec", "containers"):
        _say(f"# {str(owner['kind']).lower()}s {name_of(owner)}, container {container.get('name')}")
        for variable in items_at(container, "env"):
            value, source = variable.get("value", ""), variable.get("valueFrom")
            if source:
                path = at(source, "fieldRef", "fieldPath")
                _say(
                    f"# {variable.get('name')} from field path {path}"
                    if path
                    else f"# {variable.get('name')} from {source}"
                )
            else:
                _say(f"{variable.get('name')}={value}")


def _patch(place: Place) -> int:
    request = place.request
    how, text = request.flag("type", "strategic"), request.flag("patch")
    if how not in _PATCHES:
        raise BadChange(f"error: --type must be one of {list(_PATCHES)}, not {how!r}".replace("'", '"'))
    if not text:
        raise BadChange("error: must specify --patch or --patch-file containing the contents of the patch")
    patch = _parsed(text)
    found = _found(place, request.words, place.things())
    if found.things and found.things[0]["kind"] == "Node":
        return _patch_node(place, found.things[0], patch, how)
    owner = _owner(place, request.words)
    changed = change_owner(place.folder, owner, lambda each: patched(each, patch, how, _json_patch))
    _say(f"{_title(owner)} patched" + ("" if changed else " (no change)"))
    return 0


def _json_patch(document: Thing, operations: list[Any]) -> Thing:
    from tortie.cli.patches import json_patch

    return json_patch(document, operations)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        import yaml

        try:
            return yaml.safe_load(text)
        except yaml.YAMLError as error:
            reason = str(error).split("\n", 1)[0]
            raise BadChange(f'error: unable to parse "{text}": {reason}') from None


def _patch_node(place: Place, node: Thing, patch: Any, how: str) -> int:
    """What of a node is not its kubelet's: whether it takes pods, labels, annotations."""
    if how == "json" or not isinstance(patch, dict) or set(patch) - {"spec", "metadata"}:
        fix = "kubectl annotate, label, cordon, uncordon"
        raise LabFailure("kubectl-use", words="patch node", fix=fix)
    changes: dict[str, Any] = dict(pairs_at(patch, "metadata"))
    if at(patch, "spec", "unschedulable") is not None:
        changes["unschedulable"] = bool(at(patch, "spec", "unschedulable"))
    change_edit(place.folder, NODE, "", name_of(node), changes)
    _say(f"{_title(node)} patched")
    return 0


def _rollout(place: Place) -> int:
    request = place.request
    deed = request.words[0] if request.words else ""
    if deed not in ("restart", "status") or len(request.words) < 2:
        fix = "kubectl rollout restart ds/calico-node; kubectl rollout status ds/calico-node"
        raise LabFailure("kubectl-use", words=" ".join(("rollout", *request.words)), fix=fix)
    owner = _owner(place, request.words[1:])
    if deed == "restart":
        when = stamp(time.time())
        change_owner(place.folder, owner, lambda each: restarted(each, when))
        _say(f"{_title(owner)} restarted")
        return 0
    return _rollout_status(place, owner)


def _rollout_status(place: Place, owner: Thing) -> int:
    """Waits until every pod is of the newest template and available."""
    deadline = time.monotonic() + (duration_s(place.request.flag("timeout")) or _ROLLED_S)
    said = ""
    while True:
        now = next(
            each for each in place.things() if each.get("kind") == owner["kind"] and name_of(each) == name_of(owner)
        )
        waits = _waits(now)
        if not waits:
            what = "daemon set" if now["kind"] == DAEMON_SET.name else "deployment"
            _say(f'{what} "{name_of(now)}" successfully rolled out')
            return 0
        if waits != said:
            _say(waits)
            said = waits
        if time.monotonic() > deadline or place.request.flag("watch", "true") == "false":
            raise NotThere("error: timed out waiting for the condition")
        time.sleep(_LOOK_S)


def _waits(owner: Thing) -> str:
    """What is still to be waited for, in kubectl's words; "" when nothing is."""
    name, status = name_of(owner), pairs_at(owner, "status")
    if owner["kind"] == DAEMON_SET.name:
        desired, updated = status.get("desiredNumberScheduled", 0), status.get("updatedNumberScheduled", 0)
        available = status.get("numberAvailable", 0)
        begin = f'Waiting for daemon set "{name}" rollout to finish: '
        if updated < desired:
            return begin + f"{updated} out of {desired} new pods have been updated..."
        return begin + f"{available} of {desired} updated pods are available..." if available < desired else ""
    wanted, available = status.get("replicas", 0), status.get("availableReplicas", 0)
    begin = f'Waiting for deployment "{name}" rollout to finish: '
    return (
        begin + f"{available} of {wanted} updated replicas are available..." if available < wanted or not wanted else ""
    )


# annotate, label, cordon, drain


def _mark(place: Place) -> int:
    request = place.request
    what = "annotation" if request.verb == "annotate" else "label"
    field = f"{what}s"
    named = [word for word in request.words if "=" not in word and not word.endswith("-")]
    found = _found(place, named, place.things())
    for thing in found.things:
        words = [word for word in request.words if word not in named]
        present = pairs_at(thing, "metadata", field)
        changes = metadata_changes(words, present, overwrite=request.has("overwrite"), what=what)
        kind = kind_of(str(thing["kind"]))
        assert kind is not None
        _put_marks(place, thing, kind, field, changes)
        _say(f"{_title(thing)} {'annotated' if what == 'annotation' else 'labeled'}")
    return 0


def _put_marks(place: Place, thing: Thing, kind: Kind, field: str, changes: dict[str, str | None]) -> None:
    if kind.group == _APPS:
        change_owner(place.folder, thing, lambda each: with_metadata(each, field, changes))
    else:
        change_edit(place.folder, kind, namespace_of(thing), name_of(thing), {field: changes})


def _cordon(place: Place) -> int:
    for node in _nodes(place):
        _set_schedulable(place, node, place.request.verb == "uncordon")
    return 0


def _nodes(place: Place) -> list[Thing]:
    names = tuple(word.removeprefix("node/") for word in place.request.words)
    if not names:
        raise NotThere(f"error: USAGE: {place.request.verb} NODE [flags]")
    return [*_found(place, (NODE.singular, *names), place.things()).things]


def _set_schedulable(place: Place, node: Thing, schedulable: bool) -> None:
    done = "uncordoned" if schedulable else "cordoned"
    if bool(at(node, "spec", "unschedulable")) != schedulable:
        _say(f"node/{name_of(node)} already {done}")
        return
    change_edit(place.folder, NODE, "", name_of(node), {"unschedulable": not schedulable})
    _say(f"node/{name_of(node)} {done}")


def _drain(place: Place) -> int:
    request = place.request
    for node in _nodes(place):
        name = name_of(node)
        _set_schedulable(place, node, False)
        pods = [pod for pod in of_kind(place.things(), POD) if at(pod, "spec", "nodeName") == name]
        daemons = [_label(pod) for pod in pods if owned_by(pod, "DaemonSet", "calico-node")]
        lonely = [pod for pod in pods if is_made(pod)]
        problems = []
        if daemons and not request.has("ignore-daemonsets"):
            problems.append(
                f"cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore): {', '.join(daemons)}"
            )
        if lonely and not request.has("force"):
            names = ", ".join(_label(pod) for pod in lonely)
            problems.append(f"cannot delete Pods that declare no controller (use --force to override): {names}")
        if problems:
            told = "[" + ", ".join(problems) + "]" if len(problems) > 1 else problems[0]
            raise NotThere(f'error: unable to drain node "{name}" due to error: {told}, continuing command...')
        if daemons:
            sys.stderr.write(f"Warning: ignoring DaemonSet-managed Pods: {', '.join(daemons)}\n")
        for pod in lonely:
            _say(f"evicting pod {_label(pod)}")
            delete_pod(place.folder, place.keeper, pod)
            _say(f"pod/{name_of(pod)} evicted")
        _say(f"node/{name} drained")
    return 0


def _label(pod: Thing) -> str:
    return f"{namespace_of(pod)}/{name_of(pod)}"


_DONE: Final[dict[str, Callable[[Place], int]]] = {
    "delete": _delete,
    "set": _set,
    "patch": _patch,
    "rollout": _rollout,
    "annotate": _mark,
    "label": _mark,
    "cordon": _cordon,
    "uncordon": _cordon,
    "drain": _drain,
}
