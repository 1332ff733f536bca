"""How busy disks are: rows of `iostat -x`, of any release and order of its columns."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tortie.doctor.picture.facts import Fact, Setting
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers.host_commands import rows


def busy(exhibit: Exhibit) -> Iterator[Fact]:
    """A device, how much of the time it was busy in percent, and how long its requests took (`await 4188 ms`)."""
    columns: list[str] = []
    for index, line in rows(exhibit):
        cells = line.split()
        if cells[0].rstrip(":") == "Device":
            columns = cells if "%util" in cells else []
        elif columns and len(cells) == len(columns) and all(_number(cell) is not None for cell in cells[1:]):
            row = dict(zip(columns, cells, strict=True))
            waits = [_number(row[name]) or 0.0 for name in ("await", "r_await", "w_await") if name in row]
            owner = f"await {max(waits):g} ms" if waits else ""
            yield Setting(
                exhibit.place(index), "disk-busy", cells[0], f"{_number(row['%util']) or 0.0:g}", owner, exhibit.host
            )


def _number(text: str) -> float | None:
    return float(text.replace(",", ".")) if re.fullmatch(r"\d{1,12}(?:[.,]\d{1,6})?", text) else None
