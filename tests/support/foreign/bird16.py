"""BIRD 1.6, out of a package that is unpacked beside the sources: installed, it would replace BIRD 2."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tests.support.foreign.speaker import Learnt, Neighbours, Speaker, Start, program

FOLDER = Path(__file__).parents[3] / ".tools/bird1/usr/sbin"


class Bird16(Speaker):
    """The BIRD that Calico itself runs, without Calico's additions; another program for each family."""

    def __init__(
        self, start: Start, folder: Path, neighbours: Neighbours, as_number: int = 65001, options: Sequence[str] = ()
    ) -> None:
        self._announced: set[str] = set()
        self._options = options
        super().__init__(start, folder, neighbours, as_number)

    def speak(self) -> None:
        self._run(self._program("bird"), "-f", "-c", "bird.conf", "-s", "bird.ctl", "-P", "bird.pid", says="bird.ctl")

    def announce(self, network: str) -> None:
        self._announced.add(network)
        self._reload()

    def withdraw(self, network: str) -> None:
        self._announced.remove(network)
        self._reload()

    def learnt(self, network: str) -> set[Learnt]:
        told = self._birdc(f"show route {network} all where source = RTS_BGP")
        return {_learnt_by_bird(way) for way in re.split(r"\n(?=\S+ +via |\s+via )", told) if "BGP.next_hop" in way}

    def hears_graceful_restart(self, address: str) -> bool:
        capabilities = re.search(r"Neighbor caps: (.*)", self._birdc(f"show protocols all {self._name(address)}"))
        return capabilities is not None and "restart-able" in capabilities[1].split()

    def _program(self, name: str) -> str:
        return program(name if self.neighbours.family == 4 else f"{name}6", "bird", str(FOLDER))

    def _birdc(self, command: str) -> str:
        return self._ask(self._program("birdc"), "-s", "bird.ctl", *command.split(" "))

    def _reload(self) -> None:
        self._write()
        said = self._birdc("configure")
        assert "Reconfigured" in said or "Reconfiguration in progress" in said, said

    def _name(self, address: str) -> str:
        return f"node_{self.neighbours.addresses.index(address)}"

    def _write(self) -> None:
        told = self.neighbours
        options = [
            *self._options,
            *([f'password "{told.password}";'] if told.password else []),
            *(["ttl security on;"] if told.ttl_security else []),
            *(["rr client;"] if told.clients else []),
        ]
        lines = [
            "log stderr all;",
            f"router id {self.router_id};",
            "protocol device {}",
            'protocol direct { interface "eth0"; }',
            "protocol kernel { export where source = RTS_BGP; merge paths on; }",
            "protocol static announced {",
            *(f"  route {network} blackhole;" for network in sorted(self._announced)),
            "}",
            "template bgp nodes {",
            f"  local as {self.as_number};",
            "  graceful restart;",
            "  connect delay time 1; connect retry time 1; error wait time 1, 2;",
            "  import all;",
            '  export where proto = "announced" || source = RTS_BGP;',
            *(f"  {option}" for option in options),
            "}",
        ]
        lines += [
            f"protocol bgp {self._name(address)} from nodes {{ neighbor {address} as {told.as_number}; }}"
            for address in told.addresses
        ]
        (self.folder / "bird.conf").write_text("\n".join(lines) + "\n")


def _learnt_by_bird(text: str) -> Learnt:
    attributes = dict(re.findall(r"BGP\.(\w+): (.*)", text))
    communities = re.findall(r"\((\d+),(\d+)\)", attributes.get("community", ""))
    return Learnt(
        attributes["next_hop"].split()[0],
        tuple(int(number) for number in attributes["as_path"].split()),
        frozenset(f"{high}:{low}" for high, low in communities),
    )
