"""GoBGP."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from typing import Any

from tests.support.birds import eventually
from tests.support.foreign.speaker import PATIENCE_S, Learnt, Speaker, program


class GoBgp(Speaker):
    """It keeps its routes to itself: the kernel does not get them."""

    def speak(self) -> None:
        words = ("-f", "gobgpd.json", "-t", "json", "--api-hosts", "unix://api")
        self._run(program("gobgpd", "gobgpd"), *words, says="api")
        # It takes questions before it has read its configuration, and refuses routes until then.
        eventually(self._knows_its_neighbours, "gobgpd has read its configuration", PATIENCE_S)

    def _knows_its_neighbours(self) -> bool:
        words = (program("gobgp", "gobgpd"), "--target", "unix:api", "neighbor", "--json")
        done = subprocess.run(
            words, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S, check=False
        )
        return done.returncode == 0 and len(json.loads(done.stdout) or ()) == len(self.neighbours.addresses)

    def announce(self, network: str) -> None:
        self._gobgp("global", "rib", "add", network, *self._of_family())

    def withdraw(self, network: str) -> None:
        self._gobgp("global", "rib", "del", network, *self._of_family())

    def learnt(self, network: str) -> set[Learnt]:
        known = json.loads(self._gobgp("global", "rib", "--json", *self._of_family()))
        return {_learnt_by_gobgp(path["attrs"]) for path in known.get(network, ()) if "neighbor-ip" in path}

    def hears_graceful_restart(self, address: str) -> bool:
        (family,) = self._neighbour(address)["afi_safis"]
        return bool(family["mp_graceful_restart"]["state"].get("received"))

    def _neighbour(self, address: str) -> dict[str, Any]:
        return json.loads(self._gobgp("neighbor", address, "--json"))  # type: ignore[no-any-return]

    def _of_family(self) -> tuple[str, ...]:
        return ("-a", f"ipv{self.neighbours.family}")

    def _gobgp(self, *words: str) -> str:
        return self._ask(program("gobgp", "gobgpd"), "--target", "unix:api", *words)

    def _write(self) -> None:
        told = self.neighbours
        family = {
            "config": {"afi-safi-name": f"ipv{told.family}-unicast"},
            "mp-graceful-restart": {"config": {"enabled": True}},
        }
        neighbours = [
            {
                "config": {"neighbor-address": address, "peer-as": told.as_number, "auth-password": told.password},
                "timers": {"config": {"connect-retry": 1}},
                "graceful-restart": {"config": {"enabled": True, "restart-time": 120}},
                "ttl-security": {"config": {"enabled": told.ttl_security, "ttl-min": 255}},
                "route-reflector": {
                    "config": {"route-reflector-client": told.clients, "route-reflector-cluster-id": self.router_id}
                },
                "afi-safis": [family],
            }
            for address in told.addresses
        ]
        document = {"global": {"config": {"as": self.as_number, "router-id": self.router_id}}, "neighbors": neighbours}
        (self.folder / "gobgpd.json").write_text(json.dumps(document, indent=1))


def _learnt_by_gobgp(attributes: Sequence[dict[str, Any]]) -> Learnt:
    by_type = {attribute["type"]: attribute for attribute in attributes}
    reach = by_type.get(14) or by_type[3]  # multiprotocol, or IPv4
    segments = by_type.get(2, {}).get("as_paths") or ()
    communities = by_type.get(8, {}).get("communities", ())
    return Learnt(
        reach["nexthop"],
        tuple(number for segment in segments for number in segment["asns"]),
        frozenset(f"{number >> 16}:{number & 0xFFFF}" for number in communities),
    )
