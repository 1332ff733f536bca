"""Routes that BIRD receives and rejects: between reflectors of one cluster id, all that the other one reflects."""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.nodes.reflectors import cluster_ids
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Hit, Sign
from tortie.model.tuples import NamedTuple

IMPORTS: Final = Sign("bird-imports", "Import updates: <n_received> <n_rejected> <rest>")


class OneCluster(NamedTuple):
    cluster: str
    reflectors: tuple[str, ...]
    evidence: tuple[object, ...]


def one_cluster(picture: Picture) -> OneCluster | None:
    """Reflectors that share an id, and most updates of a session rejected."""
    rejected = [hit for hit in picture.hits(IMPORTS) if _most(hit)]
    if not rejected:
        return None
    ids = cluster_ids(picture)
    by_id: dict[str, list[str]] = {}
    for name, cluster in ids.known.items():
        if cluster:
            by_id.setdefault(cluster, []).append(name)
    shared = next(((cluster, names) for cluster, names in by_id.items() if len(names) > 1), None)
    return OneCluster(shared[0], tuple(shared[1]), (*ids.evidence[:2], *rejected[:1])) if shared else None


def _most(hit: Hit) -> bool:
    received, rejected = (int(float(hit.value(name) or 0)) for name in ("n_received", "n_rejected"))
    return rejected > 1 and rejected * 2 > received
