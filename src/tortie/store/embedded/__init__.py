"""The embedded store: one SQLite file, no daemon, as many processes as like.

Writers queue on a lock file (`turns`), closing it wakes the watchers (`bell`), readers wait for nobody.
"""

from __future__ import annotations

from tortie.store.embedded.offload import in_thread, inline
from tortie.store.embedded.store import EmbeddedStore

__all__ = ["EmbeddedStore", "in_thread", "inline"]
