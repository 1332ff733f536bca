"""What a node leaves on its machine for others to find: folders, its name, and when it was shut down."""

from __future__ import annotations

import os
from contextlib import suppress

from tortie.host.files import write_whole
from tortie.model.errors import TortieError
from tortie.node.log import Log
from tortie.node.paths import Paths
from tortie.node.settings import NodeSettings


class Footprint:
    def __init__(self, name: str, paths: Paths, log: Log) -> None:
        self._name = name
        self._paths = paths
        self._log = log

    def nodename_file(self, settings: NodeSettings) -> str:
        return self._paths.below(settings.nodename_file.value)

    def leave(self, settings: NodeSettings) -> None:
        """The CNI plugin and BIRD's readiness look for these. Raises TortieError with what stands in the way."""
        file = self.nodename_file(settings)
        try:
            for folder in self._paths.folders(
                backend=settings.backend.value, file_logging=not settings.disable_file_logging.value
            ):
                self._make(folder, in_container=bool(settings.kubernetes_service_host.value))
            os.makedirs(os.path.dirname(file), exist_ok=True)
            with suppress(FileNotFoundError):
                os.unlink(self._paths.below(settings.shutdown_timestamp_file.value))
        except OSError as error:
            what, why = f"{error.filename or file} cannot be written", error.strerror or str(error)
            fix = "make the folder writable for the node, or mount it; `tortie node checksystem` shows all of them"
            raise TortieError(what, why, fix) from error
        write_whole(file, self._name.encode())

    def note_shutdown(self, settings: NodeSettings, now: str) -> None:
        """For whoever wonders later; nobody is left to act on a failure."""
        file = self._paths.below(settings.shutdown_timestamp_file.value)
        with suppress(TortieError):
            write_whole(file, now.encode())
            self._log.info(f"Writing shutdown timestamp {now} to {file}")

    def _make(self, folder: str, *, in_container: bool) -> None:
        if os.path.isdir(folder):
            return
        os.makedirs(folder, exist_ok=True)
        if in_container:
            self._log.warning(
                f"Expected {folder} to be mounted into the container but it wasn't present. "
                "Created it, but the host does not see what is put there"
            )
        else:
            self._log.info(f"Created {folder}")
