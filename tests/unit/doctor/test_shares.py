"""Much evidence is read by several processes: with the same outcome as by one, whatever is among it."""

from __future__ import annotations

import gzip
import io
import os
import random
import tarfile
from pathlib import Path

import pytest

from tortie.doctor import crew, shares
from tortie.doctor.causes.catalogue import all_signs
from tortie.doctor.examine import picture_of
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading import large
from tortie.doctor.reading.sources import open_sources
from tortie.model.errors import UsageError

QUIET = "2023-01-01 00:00:00.000 [INFO][9] felix/summary.go 100: Summarising 12 dataplane reconciliation loops\n"
LOUD = "2023-01-01 00:00:00.000 [FATAL][9] felix/int_dataplane.go 1035: Kernel's RPF check is set to 'loose'.\n"
NODE = "[root@{0} ~]# uptime\n 10:00 up 1 day,  load average: 0.10, 0.10, 0.10\n[root@{0} ~]# nproc\n8\n"


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is large here."""
    monkeypatch.setattr(shares, "PAYS_FROM", 1)
    monkeypatch.setattr(shares, "_BATCH", 2000)
    monkeypatch.setattr(large, "RANGE", 100_000)
    monkeypatch.setattr(large, "SHARED_FROM", 200_000)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    chance = random.Random(3)
    top = tmp_path / "evidence"
    for number in range(30):
        below = top / "nodes" / f"w{number}"
        below.mkdir(parents=True)
        (below / "load.txt").write_text(NODE.format(f"w{number}"))
    for number in range(4):
        lines = [LOUD if chance.random() < 0.002 else QUIET for _ in range(1000 * (number + 1) ** 2)]
        (top / f"log-{number}.log").write_text("".join(lines))
    (top / "core").write_bytes(b"\x7fELF\x00\x01")
    (top / "old.log.gz").write_bytes(gzip.compress((QUIET * 2000 + LOUD).encode()))
    (top / "link").symlink_to("/etc/passwd")
    with tarfile.open(top / "more.tar", "w") as archive:
        info = tarfile.TarInfo("nodes/w99/load.txt")
        info.size = len(NODE.format("w99"))
        archive.addfile(info, io.BytesIO(NODE.format("w99").encode()))
    return top


def read(folder: Path, workers: int, monkeypatch: pytest.MonkeyPatch) -> Picture:
    monkeypatch.setattr(crew, "usable_cores", lambda: workers)
    return picture_of(open_sources([str(folder)], io.BytesIO(), (sign.needle for sign in all_signs())))


def test_several_processes_see_what_one_sees(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, three = read(folder, 1, monkeypatch), read(folder, 3, monkeypatch)
    monkeypatch.setattr(shares, "PAYS_FROM", 1 << 40)
    apart = read(folder, 1, monkeypatch)
    for picture in (three, apart):
        assert picture.exhibits == one.exhibits
        assert picture._facts == one._facts
        assert picture._hits == one._hits
        assert sorted(picture.skipped) == sorted(one.skipped)
    assert len(one.commands("nproc")) == 31
    assert [skipped.name for skipped in one.skipped] == ["evidence/link", "evidence/core"]
    hits = one.hits(*[sign for sign in all_signs() if "rpf check" in sign.needle])
    lines = (folder / "log-3.log").read_text().splitlines()
    assert all(hit.line == lines[hit.place.first - 1] for hit in hits if hit.place.source.endswith("log-3.log"))
    assert {hit.place.source for hit in hits} >= {"evidence/log-3.log", "evidence/old.log.gz"}


def test_workers_that_die_change_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = read(folder, 1, monkeypatch)
    us, count, understood = os.getpid(), iter(range(1000)), shares.understood

    def dying(*arguments: object) -> object:
        if os.getpid() != us and next(count) == 5:
            os._exit(9)
        return understood(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(shares, "understood", dying)
    three = read(folder, 3, monkeypatch)
    assert three.exhibits == one.exhibits
    assert three._hits == one._hits


def test_a_log_that_vanishes_is_said_to_have_vanished(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = shares._jobs

    def vanishing(files: object) -> list[shares.Job]:
        found = list(jobs(files))  # type: ignore[arg-type]
        (folder / "log-3.log").unlink()
        return found

    monkeypatch.setattr(shares, "_jobs", vanishing)
    picture = read(folder, 2, monkeypatch)
    assert [skipped.name for skipped in picture.skipped].count("evidence/log-3.log") == 1
    assert len(picture.commands("nproc")) == 31


def test_a_missing_file_is_a_usage_error(folder: Path) -> None:
    with pytest.raises(UsageError):
        picture_of(open_sources([str(folder), str(folder / "nothing")], io.BytesIO()))
