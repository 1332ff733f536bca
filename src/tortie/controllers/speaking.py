"""What the controllers need of a log; the command line gives them the one that nodes have."""

from __future__ import annotations

from typing import Protocol


class Speaker(Protocol):
    level: str

    def debug(self, message: str, **fields: object) -> None: ...

    def info(self, message: str, **fields: object) -> None: ...

    def warning(self, message: str, **fields: object) -> None: ...

    def error(self, message: str, **fields: object) -> None: ...


class Silence:
    """For commands, which tell at the end what they did."""

    level = "panic"

    def debug(self, message: str, **fields: object) -> None: ...

    def info(self, message: str, **fields: object) -> None: ...

    def warning(self, message: str, **fields: object) -> None: ...

    def error(self, message: str, **fields: object) -> None: ...
