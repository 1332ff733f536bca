"""What people set in the DaemonSet counts more than what a fault has given to a node, if it can be run at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from tests.support.topologies import planned

from tortie.lab.client import KeeperClient
from tortie.lab.kubectl.changing import change_owner, overrule
from tortie.lab.kubectl.kinds import Thing
from tortie.lab.kubectl.patching import BadChange, strategic
from tortie.lab.kubelet.template import daemonset
from tortie.lab.registry import LabFolder


class Keeper:
    def __init__(self, **overlays: dict[str, str | None]) -> None:
        self.overlays = overlays

    def ask(self, do: str, **message: Any) -> dict[str, Any]:
        if do == "status":
            return {"machines": [{"name": name, "overlay": each} for name, each in self.overlays.items()]}
        assert do == "overlay"
        self.overlays[message["machine"]] = message["settings"]
        return {}


def test_only_what_was_named_is_overruled() -> None:
    keeper = Keeper(one={}, two={"IP": "10.77.0.2", "FELIX_HEALTHPORT": "9098"}, three={"NODENAME": "other"})
    assert overrule(cast(KeeperClient, keeper), ["IP", "IP_AUTODETECTION_METHOD"])
    assert keeper.overlays == {"one": {}, "two": {"FELIX_HEALTHPORT": "9098"}, "three": {"NODENAME": "other"}}
    assert not overrule(cast(KeeperClient, keeper), ["IP"])


def test_a_template_that_no_kubelet_could_run_is_refused(tmp_path: Path) -> None:
    folder = LabFolder(str(tmp_path))
    owner = daemonset(planned(), "", 1)
    written = json.dumps(owner)
    (tmp_path / "daemonset.json").write_text(written)

    def with_probe(probe: Any) -> Callable[[Thing], Thing]:
        patch = {"spec": {"template": {"spec": {"containers": [{"name": "calico-node", "livenessProbe": probe}]}}}}
        return lambda before: cast(Thing, strategic(before, patch))

    with pytest.raises(BadChange) as caught:
        change_owner(folder, owner, with_probe({"httpGet": None}))
    assert str(caught.value) == (
        'The DaemonSet "calico-node" is invalid: spec.template.spec.containers[0].livenessProbe: '
        "Required value: must specify a handler type"
    )
    with pytest.raises(BadChange) as caught:
        change_owner(folder, owner, with_probe([]))
    assert str(caught.value).startswith(
        'Error from server (BadRequest): DaemonSet in version "v1" cannot be handled as a DaemonSet: json: cannot'
    )
    assert (tmp_path / "daemonset.json").read_text() == written
