"""Router ids: which ones are shown, which of them routers refuse, and who complains."""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.nodes.bgp_evidence import node_at, remembered
from tortie.doctor.picture.facts import Session
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.signs import Hit, Sign
from tortie.model.tuples import NamedTuple

IDENTIFIER: Final = Sign("trt1012-identifier", "Bad BGP identifier")
# The other end's log, with the id that it does not take.
WRONG_ID: Final = Sign("trt1020-wrong-id", "bad OPEN, wrong router identifier <ip>")
WRONG_ID_HEX: Final = Sign("trt1020-wrong-id-hex", "2/3 \\(BGP identifier wrong\\) <n> bytes <id>")
OPEN_SENT: Final = Sign("trt1020-open-sent", "Sending OPEN\\(ver=<n>,as=<n_as>,hold=<n_hold>,id=<id>\\)")
ROUTER_ID: Final = "CALICO_ROUTER_ID"
_FIRST_MULTICAST: Final = 224


class RouterId(NamedTuple):
    place: Place
    address: str
    node: str = ""
    refused: bool = False  # a peer's own word

    @property
    def reserved(self) -> bool:
        """No router may have it by the letter of BGP; BIRD takes it, many routers do not."""
        first = int(self.address.partition(".")[0])
        return first >= _FIRST_MULTICAST or first in (0, 127)


@remembered
def router_ids(picture: Picture) -> list[RouterId]:
    """Of Calico's nodes, as BIRD, its configuration, its log and its peers tell them."""
    told: list[tuple[Place, str, str, bool]] = [
        (s.place, s.value, s.host, False)
        for s in (*picture.settings("router-id", "bird"), *picture.settings(ROUTER_ID, "env"))
    ]
    told += [(hit.place, _dotted(hit.value("id")), hit.host, False) for hit in picture.hits(OPEN_SENT)]
    told += [(hit.place, hit.value("ip"), "", True) for hit in picture.hits(WRONG_ID)]
    told += [(hit.place, _dotted(hit.value("id")), "", True) for hit in picture.hits(WRONG_ID_HEX)]
    return [
        RouterId(place, address, "" if refused else node_at(picture, place, host), refused)
        for place, address, host, refused in told
        if _is_ipv4(address)
    ]


def refusals(picture: Picture) -> list[Session | Hit]:
    """Sessions and messages that end over an identifier."""
    down = [session for session in picture.sessions_down() if "bad bgp identifier" in session.info.lower()]
    return [*down, *picture.hits(IDENTIFIER), *picture.hits(WRONG_ID, WRONG_ID_HEX)]


def _dotted(number: str) -> str:
    """BIRD's log has it as eight hexadecimal digits."""
    try:
        return ".".join(str(byte) for byte in bytes.fromhex(number)) if len(number) == 8 else ""
    except ValueError:
        return ""


def _is_ipv4(address: str) -> bool:
    parts = address.split(".")
    return len(parts) == 4 and all(part.isdecimal() and int(part) < 256 for part in parts)
