"""What became of a trial: an answer, or none at all. A refusal is an answer; a name that is not known is neither."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.picture.facts import Ping, PortTest

_UNRESOLVED: Final = ("bad address", "unknown host", "not known", "resolve", "resolution")
_SILENT: Final = ("timeout", "unreachable")


def worked(trial: Ping | PortTest) -> bool:
    if isinstance(trial, Ping):
        return trial.ok
    return trial.result in ("open", "refused", "tls-error") or bool(re.fullmatch(r"http-[1-5]\d\d", trial.result))


def silent(trial: Ping | PortTest) -> bool:
    if any(word in trial.text.lower() for word in _UNRESOLVED):
        return False
    return not trial.ok if isinstance(trial, Ping) else trial.result in _SILENT
