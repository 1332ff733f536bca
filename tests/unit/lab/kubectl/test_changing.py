"""What people set in the DaemonSet counts more than what a fault has given to a node."""

from __future__ import annotations

from typing import Any, cast

from tortie.lab.client import KeeperClient
from tortie.lab.kubectl.changing import overrule


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
