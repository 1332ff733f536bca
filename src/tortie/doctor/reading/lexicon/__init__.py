"""The words of people for what they saw, English and Chinese; readers/statements.py says what the kinds mean."""

from __future__ import annotations

from typing import Final

from tortie.doctor.reading.lexicon import (
    cluster,
    complaints,
    history,
    machines,
    paths,
    performance,
    plain_words,
    relief,
    traffic,
    troubles,
)
from tortie.doctor.reading.lexicon.rule import ANY_CHINESE, Rule, lowered, simple

RULES: Final[tuple[Rule, ...]] = (
    *machines.RULES,
    *traffic.RULES,
    *paths.RULES,
    *cluster.RULES,
    *history.RULES,
    *complaints.RULES,
    *performance.RULES,
    *plain_words.RULES,
    *troubles.RULES,
    *relief.RULES,
)

# One observation, several names that causes ask for.
ALIASES: Final = {
    "ip-changed": ("address-changed",),
    "hostname-changed": ("host-renamed",),
    "cloned-vm": ("vm-cloned",),
    "proxy-used": ("behind-proxy",),
    "new-nodes-only": ("new-nodes-fail",),
}

__all__ = ["ALIASES", "ANY_CHINESE", "RULES", "Rule", "lowered", "simple"]
