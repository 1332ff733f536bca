"""FRR: its BGP daemon, and its daemon for the kernel's routes."""

from __future__ import annotations

import json
from typing import Any

from tests.support.foreign.speaker import Learnt, Speaker, program


class Frr(Speaker):
    """bgpd, and zebra, which writes what it learns into the kernel."""

    def start(self) -> None:
        self._daemon("zebra", "/dev/null", says="zserv.api")
        super().start()

    def speak(self) -> None:
        self._daemon("bgpd", "frr.conf", says="bgpd.vty")

    def _daemon(self, name: str, configuration: str, says: str) -> None:
        files = ("--config_file", configuration, "--pid_file", f"{name}.pid", "--socket", "zserv.api")
        # As root, in a group that FRR insists on: FRR's own user could not reach the folder.
        access = ("--vty_socket", ".", "--vty_port", "0", "--user", "root", "--group", "frrvty")
        self._run(program(name, "frr", "/usr/lib/frr"), *files, *access, says=says)

    def announce(self, network: str) -> None:
        self._configure(f"network {network}")

    def withdraw(self, network: str) -> None:
        self._configure(f"no network {network}")

    def learnt(self, network: str) -> set[Learnt]:
        told = self._show(f"bgp ipv{self.neighbours.family} unicast {network}")
        return {
            Learnt(
                path["nexthops"][0]["ip"],
                tuple(number for segment in path["aspath"]["segments"] for number in segment["list"]),
                frozenset(path.get("community", {}).get("list", ())),
            )
            for path in told.get("paths", ())
        }

    def hears_graceful_restart(self, address: str) -> bool:
        capabilities = self._neighbour(address)["neighborCapabilities"]
        return bool(capabilities.get("gracefulRestart") == "advertisedAndReceived")

    def _neighbour(self, address: str) -> dict[str, Any]:
        return self._show(f"bgp neighbors {address}").get(address, {})  # type: ignore[no-any-return]

    def _show(self, what: str) -> dict[str, Any]:
        return json.loads(self._vtysh(f"show {what} json") or "{}")  # type: ignore[no-any-return]

    def _configure(self, line: str) -> None:
        family = f"address-family ipv{self.neighbours.family} unicast"
        self._vtysh("configure terminal", f"router bgp {self.as_number}", family, line)

    def _vtysh(self, *lines: str) -> str:
        words = (word for line in lines for word in ("-c", line))
        return self._ask(program("vtysh", "frr"), "--vty_socket", ".", *words)

    def _write(self) -> None:
        told = self.neighbours
        general, activated = [], []
        for address in told.addresses:
            general += [f"neighbor {address} remote-as {told.as_number}", f"neighbor {address} timers connect 1"]
            general += [f"neighbor {address} password {told.password}"] if told.password else []
            general += [f"neighbor {address} ttl-security hops 1"] if told.ttl_security else []
            activated += [f"neighbor {address} activate"]
            activated += [f"neighbor {address} route-reflector-client"] if told.clients else []
        lines = [
            "log stdout",
            f"router bgp {self.as_number}",
            f"bgp router-id {self.router_id}",
            "bgp graceful-restart",
            "bgp graceful-restart preserve-fw-state",
            "no bgp default ipv4-unicast",
            "no bgp ebgp-requires-policy",
            "no bgp network import-check",  # what is announced need not be there
            *general,
            f"address-family ipv{told.family} unicast",
            *activated,
        ]
        (self.folder / "frr.conf").write_text("\n".join(lines) + "\n")
