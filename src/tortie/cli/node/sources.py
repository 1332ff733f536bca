"""Where the settings of a node come from: the environment, a file named by a person, and the datastore's flags."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from tortie.cli.settings import SETTINGS, Settings, Value, read_settings
from tortie.node.paths import Paths
from tortie.node.settings import EnvFile, Reading, load_env_file, read_node_settings


class Sources(NamedTuple):
    env_file: str | None
    root: str
    flags: dict[str, Any]  # of the datastore

    def reading(self) -> Reading:
        return read_node_settings(os.environ, self._file())

    def environment(self) -> dict[str, str]:
        """What the file says wins, because a person named it, and because it can be read again."""
        file = self._file()
        return file.over(os.environ) if file else dict(os.environ)

    def datastore(self) -> Settings:
        names = {setting.name for setting in SETTINGS}
        flags = {name: text for name, text in self.flags.items() if name in names and isinstance(text, str)}
        settings = read_settings(flags, self.environment(), self.flags.get("config_file"))
        store = settings.values.get("store")
        if store and store.source == "default" and self.root not in ("", "/"):
            settings.values["store"] = Value(Paths(self.root).store, "default, below --root")
        return settings

    def _file(self) -> EnvFile | None:
        return load_env_file(self.env_file) if self.env_file else None
