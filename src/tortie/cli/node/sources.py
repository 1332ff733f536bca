"""Where the settings of a node come from: the environment, a file named by a person, and the datastore's flags."""

from __future__ import annotations

import os
import socket
from typing import Any, NamedTuple

from tortie.cli.node.run_flags import with_flags
from tortie.cli.settings import SETTINGS, Settings, Value, etcd_config, read_settings
from tortie.host.files import read_text
from tortie.model.errors import Invalid, TortieError, UsageError
from tortie.node.name import choose_name
from tortie.node.paths import Paths
from tortie.node.settings import EnvFile, Reading, load_env_file, read_node_settings, refusal


class Sources(NamedTuple):
    env_file: str | None
    root: str
    flags: dict[str, Any]  # of the datastore, and calicoctl's of the node

    def reading(self) -> Reading:
        return read_node_settings(os.environ, self._file())

    def checked(self) -> tuple[Reading, Settings]:
        """All that is wrong with the settings, of the node and of its datastore, in one error."""
        reading = self.reading()
        faults: list[TortieError] = [error] if (error := refusal(reading)) else []
        try:
            datastore = self.datastore()
            where_is(datastore)
        except TortieError as error_there:
            faults.append(error_there)
        faults += self._name_problems(reading)
        if not faults:
            return reading, datastore
        raise faults[0] if len(faults) == 1 and not reading.warnings else _together(faults, reading)

    def _name_problems(self, reading: Reading) -> tuple[TortieError, ...]:
        file = Paths(self.root).below(reading.settings.nodename_file.value)
        try:
            stored = read_text(file)
        except TortieError:
            return ()  # the start waits for it, if it needs it
        return choose_name(self.environment(), stored, socket.gethostname(), file).problems

    def environment(self) -> dict[str, str]:
        """What the file says wins, because a person named it, and because it can be read again."""
        file = self._file()
        return file.over(os.environ) if file else dict(os.environ)

    def datastore(self) -> Settings:
        names = {setting.name for setting in SETTINGS}
        flags = {name: text for name, text in self.flags.items() if name in names and isinstance(text, str)}
        file = self._file()
        settings = read_settings(
            flags, os.environ, self.flags.get("config_file"), env_file=file.entries if file else None
        )
        settings = settings._replace(log_level=str(self.flags.get("log_level") or ""))
        store = settings.values.get("store")
        if store and store.source == "default" and self.root not in ("", "/"):
            settings.values["store"] = Value(Paths(self.root).store, "default, below --root")
        return settings

    def _file(self) -> EnvFile | None:
        return with_flags(load_env_file(self.env_file) if self.env_file else None, self.flags, os.environ)


def where_is(datastore: Settings) -> str:
    """For people, and without the password that a URL may carry; says what is wrong with it otherwise."""
    if datastore.get("datastoreType") == "etcdv3":
        return etcd_config(datastore).where
    return f"embedded store {datastore.get('store')}"


def _together(faults: list[TortieError], reading: Reading) -> UsageError:
    """What is only doubtful is told along: it would be the next thing to be told otherwise."""
    lines = [line if line.startswith("-") else f"-  {line}" for fault in faults for line in _lines(fault)]
    doubts = [f"-  beside that: {finding}" for finding in reading.warnings]
    what = f"{len(lines)} settings of this node cannot be meant" if len(lines) > 1 else faults[0].what
    return UsageError(what, "\n".join(lines + doubts), "see each line")


def _lines(fault: TortieError) -> list[str]:
    if isinstance(fault, Invalid) and len(fault.problems) > 1:
        return fault.why.splitlines()
    return [f"{fault.what}: {fault.why}" + (f"; right would be: {fault.fix}" if fault.fix else "")]
