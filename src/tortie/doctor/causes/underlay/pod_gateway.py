"""The gateway of every pod, 169.254.1.1, which is nobody's address: the node's kernel answers for it (proxy ARP)."""

from __future__ import annotations

from typing import Final

from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign

GATEWAY: Final = "169.254.1.1"
_DEAD: Final = Sign("pod-gateway-dead", "169.254.1.1…(incomplete|FAILED)")
_ASKED: Final = Sign("pod-gateway-asked", "who-has 169.254.1.1")
_ANSWERED: Final = Sign("pod-gateway-answered", "169.254.1.1 is-at")
GATEWAY_SIGNS: Final = (_DEAD, _ASKED, _ANSWERED)


def asked(picture: Picture) -> list[Hit]:
    """Pods that look for it, whether they are answered or not."""
    return picture.hits(_DEAD, _ASKED)


def unanswered(picture: Picture) -> list[Hit]:
    return [] if picture.hit(_ANSWERED) else asked(picture)
