"""What kubectl changes in a lab: its DaemonSet and Deployment, and remarks on what the kubelets write."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from tortie.host.files import write_whole
from tortie.lab.client import KeeperClient
from tortie.lab.failures import LabFailure
from tortie.lab.kubectl.cluster import edit_key
from tortie.lab.kubectl.kinds import Kind, Thing, at, name_of, namespace_of
from tortie.lab.kubectl.patching import BadChange, next_generation
from tortie.lab.kubectl.reading import EDITS, OWNERS, read_edits
from tortie.lab.kubelet.jobs import Paths
from tortie.lab.kubelet.manifest import BadManifest, Invalid, check_template
from tortie.lab.notes import read_note
from tortie.lab.protocol import Closed, connected
from tortie.lab.registry import LabFolder, locked

_LOCK_S: Final = 10.0
_ASK_S: Final = 5.0
_END_S: Final = 60.0
_NUMBERS: Final = ("Seconds", "Threshold", "port")
_LARGEST: Final = 65535


def change_owner(folder: LabFolder, owner: Thing, change: Callable[[Thing], Thing]) -> bool:
    """Writes a DaemonSet or Deployment anew, which its kubelets see; whether anything is different now."""
    path = os.path.join(folder.path, OWNERS[str(owner["kind"])])
    with locked(folder, time.monotonic() + _LOCK_S, _nothing):
        before = read_note(path)
        if not before:
            raise LabFailure("no-kubelets", name=folder.name)
        after = change(before)
        _refuse_no_numbers(after.get("spec"))
        _refuse_no_pods(after)
        if after == before:
            return False
        write_whole(path, json.dumps(next_generation(before, after), indent=1).encode(), 0o600)
    return True


def _refuse_no_numbers(value: Any) -> None:
    """As an API server does: kubelets would end over a delay or a port that is none, and so would the next ones."""
    for name, each in value.items() if isinstance(value, dict) else ():
        if name.endswith(_NUMBERS) and not (isinstance(each, int) and 0 <= each <= _LARGEST):
            raise BadChange(f"Error from server (BadRequest): {name}: {json.dumps(each)} is no number that it can have")
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _refuse_no_numbers(each)


def _refuse_no_pods(owner: Thing) -> None:
    kind = str(owner["kind"])
    try:
        check_template(owner)
    except Invalid as error:
        told = error.problems[0] if len(error.problems) == 1 else "".join(f"\n* {each}" for each in error.problems)
        raise BadChange(f'The {kind} "{name_of(owner)}" is invalid: {told}') from None
    except BadManifest as error:
        reason = f'{kind} in version "v1" cannot be handled as a {kind}: {error}'
        raise BadChange(f"Error from server (BadRequest): {reason}") from None


def overrule(keeper: KeeperClient, variables: Collection[str]) -> bool:
    """What a person sets in the DaemonSet counts, also where a fault has given a node something else. Whether it had.

    A fault's value stands for what was wrong in the manifest; to correct that is how people end it.
    """
    found = False
    for machine in keeper.ask("status")["machines"]:
        overlay = machine.get("overlay") or {}
        left = {name: value for name, value in overlay.items() if name not in variables}
        if left != overlay:
            keeper.ask("overlay", machine=machine["name"], settings=left)
            found = True
    return found


def change_edit(folder: LabFolder, kind: Kind, namespace: str, name: str, changes: Mapping[str, Any]) -> None:
    """Remarks on an object; of labels and annotations those that are given."""
    key = edit_key(kind, namespace, name)
    with locked(folder, time.monotonic() + _LOCK_S, _nothing):
        edits = read_edits(folder)
        edit = edits.setdefault(key, {})
        for field, value in changes.items():
            edit[field] = {**edit.get(field, {}), **value} if isinstance(value, Mapping) else value
        write_whole(os.path.join(folder.path, EDITS), json.dumps(edits, indent=1).encode(), 0o600)


def _nothing() -> None:
    pass


def delete_pod(folder: LabFolder, keeper: KeeperClient, pod: Thing) -> None:
    """Its kubelet ends it and makes another; where there is none, the keeper starts the agent anew."""
    node = str(pod["spec"].get("nodeName", ""))
    if is_made(pod):
        made = {"name": name_of(pod), "namespace": namespace_of(pod), "node": ""}
        keeper.ask("pod-delete", deadline=time.monotonic() + _END_S, pods=[made], timeout_s=_END_S / 2)
        return
    if not has_kubelets(folder):
        keeper.ask("restart", deadline=time.monotonic() + _END_S, machine=node)
        return
    channel = connected(Paths(folder.machine(node)).kubelet_socket)
    if channel is None:
        raise LabFailure("kubelet-gone", node=node)
    try:
        channel.send({"do": "delete-pod", "namespace": namespace_of(pod), "name": name_of(pod)})
        answer = channel.receive(time.monotonic() + _ASK_S)
    except Closed:
        answer = None
    finally:
        channel.close()
    if answer is None or "done" not in answer:
        raise LabFailure("kubelet-gone", node=node)


def has_kubelets(folder: LabFolder) -> bool:
    return bool(at(folder.read() or {}, "plan", "hurry"))


def is_made(pod: Thing) -> bool:
    """Whether it is one of `tortie lab pod run`: nobody makes another when it is gone."""
    return not pod["metadata"].get("ownerReferences")
