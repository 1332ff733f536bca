"""BGP speakers that we did not write, as the router beside a cluster's nodes: FRR, GoBGP and BIRD 1.6.

They are told the same things, and each is asked by its own tool, so that a test can go through all three.
"""

from __future__ import annotations

from tests.support.foreign.bird16 import Bird16
from tests.support.foreign.frr import Frr
from tests.support.foreign.gobgp import GoBgp
from tests.support.foreign.speaker import PATIENCE_S, Learnt, Neighbours, Speaker

SPEAKERS: dict[str, type[Speaker]] = {"frr": Frr, "gobgp": GoBgp, "bird-1.6": Bird16}

__all__ = ["PATIENCE_S", "SPEAKERS", "Bird16", "Frr", "GoBgp", "Learnt", "Neighbours", "Speaker"]
