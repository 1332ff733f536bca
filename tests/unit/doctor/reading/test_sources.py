"""Files, folders, archives and pipes are opened; tricks in them are not fallen for, and nothing is dropped silently."""

from __future__ import annotations

import gzip
import io
import os
import socket
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from tortie.doctor.reading import archives, long_texts, sources, special_files
from tortie.doctor.reading.sources import Opened, open_sources
from tortie.model.errors import UsageError

TEXT = b"[root@w1 ~]# uptime\n 10:00 up 1 day,  load average: 0.10, 0.10, 0.10\n"


def opened(*paths: object, stdin: bytes = b"") -> tuple[dict[str, int], dict[str, str]]:
    """Names of sources with their number of lines, and what was skipped why."""
    reading = open_sources([str(path) for path in paths], io.BytesIO(stdin))
    names = {source.name: len(source.lines) for source in reading}
    return names, {skipped.name: skipped.why.en for skipped in reading.skipped}


def tar_of(path: Path, mode: str, *members: tarfile.TarInfo | tuple[str, bytes]) -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                archive.addfile(info, io.BytesIO(member[1]))
    return path


def test_a_folder_is_read_whole_and_a_node_is_known_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "bundle" / "nodes" / "w1").mkdir(parents=True)
    (tmp_path / "bundle" / "nodes" / "w1" / "load.txt").write_bytes(TEXT)
    (tmp_path / "bundle" / "cluster.txt").write_bytes(TEXT)
    reading = list(open_sources([str(tmp_path / "bundle")], io.BytesIO()))
    assert [(source.name, source.host) for source in reading] == [
        ("bundle/cluster.txt", ""),
        ("bundle/nodes/w1/load.txt", "w1"),
    ]


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_tar_archives(tmp_path: Path, mode: str) -> None:
    path = tar_of(tmp_path / "diags", mode, ("a/one.txt", TEXT), ("two.txt", TEXT))
    assert opened(path) == ({"diags/a/one.txt": 2, "diags/two.txt": 2}, {})


def test_zip_from_a_file_and_from_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "d.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("in/one.txt", TEXT)
    assert opened(path)[0] == {"d.zip/in/one.txt": 2}
    piped = Opened(["-"], _Unseekable(path.read_bytes()))
    assert [source.name for source in piped] == ["standard input/in/one.txt"]


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_a_zip_inside_of_a_tar(tmp_path: Path, mode: str) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("in/one.txt", TEXT)
    path = tar_of(tmp_path / "t.tar", mode, ("d.zip", packed.getvalue()), ("two.txt", TEXT))
    assert opened(path)[0] == {"t.tar/d.zip/in/one.txt": 2, "t.tar/two.txt": 2}


class _Unseekable(io.BytesIO):
    def seekable(self) -> bool:
        return False


def test_a_packed_log(tmp_path: Path) -> None:
    (tmp_path / "syslog.gz").write_bytes(gzip.compress(TEXT))
    assert opened(tmp_path / "syslog.gz")[0] == {"syslog.gz": 2}


def test_names_that_climb_out_are_only_shown_and_nothing_is_written(tmp_path: Path) -> None:
    path = tar_of(tmp_path / "evil.tar", "w", ("../../etc/cron.d/x", TEXT), ("/home/x/.ssh/keys", TEXT))
    before = sorted(tmp_path.rglob("*"))
    assert opened(path)[0] == {"evil.tar/etc/cron.d/x": 2, "evil.tar/home/x/.ssh/keys": 2}
    assert sorted(tmp_path.rglob("*")) == before


def test_links_and_devices_in_archives_are_not_followed(tmp_path: Path) -> None:
    link, device = tarfile.TarInfo("link"), tarfile.TarInfo("null")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    device.type = tarfile.CHRTYPE
    names, skipped = opened(tar_of(tmp_path / "t.tar", "w", link, device, ("ok.txt", TEXT)))
    assert names == {"t.tar/ok.txt": 2}
    assert skipped == {"t.tar/link": "not a regular file", "t.tar/null": "not a regular file"}


def test_links_pipes_and_sockets_in_folders_are_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    (folder / "ok.txt").write_bytes(TEXT)
    (folder / "link").symlink_to("/etc/passwd")
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "sock"))
        names, skipped = opened(folder)
    assert list(names) == ["f/ok.txt"]
    assert sorted(skipped) == ["f/link", "f/pipe", "f/sock"]


def test_a_bomb_is_given_up_and_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "RATIO_FROM", 1 << 20)
    path = tar_of(tmp_path / "bomb.tgz", "w:gz", ("zeros.txt", b"a" * (64 << 20)), ("after.txt", TEXT))
    names, skipped = opened(path)
    assert names == {}
    assert all("far more" in why for why in skipped.values())
    assert skipped


def test_the_budget_holds_over_all_archives_of_a_run(tmp_path: Path) -> None:
    reading = Opened([str(tar_of(tmp_path / f"{n}.tar", "w", ("x.txt", TEXT * 5000))) for n in range(3)], io.BytesIO())
    reading._budget = archives.Budget(500_000)
    assert len(list(reading)) == 1
    assert len(reading.skipped) >= 2


def test_archives_in_archives_end_somewhere(tmp_path: Path) -> None:
    inner = TEXT
    for _ in range(4):
        inner = gzip.compress(inner)
    (tmp_path / "deep.gz").write_bytes(inner)
    names, skipped = opened(tmp_path / "deep.gz")
    assert names == {}
    assert list(skipped.values()) == ["an archive inside archives"]


@pytest.mark.parametrize("cut", [20, 200])
def test_damaged_archives_are_said_to_be_damaged(tmp_path: Path, cut: int) -> None:
    path = tar_of(tmp_path / "t.tgz", "w:gz", ("one.txt", os.urandom(3000)), ("two.txt", TEXT))
    path.write_bytes(path.read_bytes()[:cut])
    names, skipped = opened(path)
    assert names == {}
    assert any("damaged" in why or "not text" in why for why in skipped.values())


def test_an_encrypted_zip_is_said_to_be_encrypted(tmp_path: Path) -> None:
    path = tmp_path / "secret.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", TEXT)
    content = bytearray(path.read_bytes())
    content[6] |= 1  # the flag in the local header ...
    content[content.index(b"PK\x01\x02") + 8] |= 1  # ... and in the table
    path.write_bytes(content)
    assert "it is encrypted" in opened(path)[1].values()


def test_binary_files_are_listed_not_read(tmp_path: Path) -> None:
    (tmp_path / "core").write_bytes(b"\x7fELF\x00\x01")
    assert opened(tmp_path / "core") == ({}, {"core": "not text"})


def test_behind_the_bound_of_a_very_long_text_only_known_messages_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "WHOLE_MAX", 400_000)
    monkeypatch.setattr(long_texts, "LONG", 100_000)
    monkeypatch.setattr(long_texts, "WHOLE", 200_000)
    row, known = b"calico-node-x 1/1 Running 0 3d\n", b"Back-off restarting failed container\n"
    path = tmp_path / "table.txt"
    path.write_bytes(row * 10_000 + known + row * 10_000 + known + row)
    reading = Opened([str(path)], io.BytesIO(), ["back-off restarting"])
    (source,) = list(reading)
    assert 6_000 < len(source.lines) < 7_000
    assert source.lines[-2:] == (known.decode().strip(),) * 2
    assert source.numbers[-2:] == (10_001, 20_002)
    assert [each.why.en for each in reading.skipped] == [
        "after the first 0 MB, only lines with a known message were read"
    ]


def test_of_events_that_are_alike_the_first_and_the_last_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_texts, "LONG", 10_000)
    head = "NAMESPACE   LAST SEEN   TYPE      REASON    OBJECT             MESSAGE"
    alike = [
        f"shop        5m          Normal    Pulled    pod/cart-{n:05}      Container image present" for n in range(900)
    ]
    rare = "shop        5m          Warning   Failed    pod/cart-00001      Failed to pull image"
    agents = [
        f"kube-system 5m          Normal    Pulled    pod/calico-node-{n}  Container image present" for n in range(9)
    ]
    lines = [head, *alike[:450], rare, *agents, *alike[450:]]
    path = tmp_path / "events.txt"
    path.write_text("\n".join(lines) + "\n")
    reading = Opened([str(path)], io.BytesIO())
    (source,) = list(reading)
    assert source.lines == (head, *alike[:100], rare, *agents, *alike[-100:])
    assert all(lines[number - 1] == line for number, line in zip(source.numbers, source.lines, strict=True))
    assert "700 events were left out" in reading.skipped[0].why.en


def test_a_pipe_that_somebody_writes_to_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", f"printf 'one\\ntwo\\n' > '{pipe}'"]):
        assert opened(pipe)[0] == {"pipe": 2}


def test_a_pipe_that_nobody_writes_to_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(special_files, "WRITER_WITHIN_S", 0.05)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError) as error:
        opened(tmp_path / "pipe")
    assert error.value.why == "it is a pipe, and nothing was written to it for 0.05 s"
    assert "start the program" in error.value.fix


def test_devices_and_sockets_that_are_named_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as device:
        opened(Path("/dev/zero"))
    assert device.value.why == "it is a terminal or another device, not a file, a folder or an archive"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "sock"))
        with pytest.raises(UsageError) as refused:
            opened(tmp_path / "sock")
    assert refused.value.why.startswith("it is a socket")
    assert opened(Path("/dev/null"))[1] == {}


def test_a_path_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        opened(tmp_path / "nothing")


def test_two_files_of_one_name_keep_their_paths(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "log.txt").write_bytes(TEXT)
    names, _ = opened(tmp_path / "a" / "log.txt", tmp_path / "b" / "log.txt")
    assert sorted(names) == [str(tmp_path / "a" / "log.txt"), str(tmp_path / "b" / "log.txt")]


def test_a_log_with_holes_is_read(tmp_path: Path) -> None:
    """A machine that lost its power leaves runs of zeros in a log."""
    (tmp_path / "syslog").write_bytes(TEXT + b"\x00" * 60 + b"\n" + TEXT)
    assert opened(tmp_path / "syslog") == ({"syslog": 5}, {})
