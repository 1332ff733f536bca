"""The forms of the journals, which the doctor and people read."""

from __future__ import annotations

from pathlib import Path

from tortie.lab.kubelet.journal import Klog, containerd_line, klog_line, structured
from tortie.lab.kubelet.telling import Telling

AT = 1794843090.0256464  # 2026-11-16 15:31:30


def test_klog() -> None:
    line = klog_line("E", AT, 123, "kubelet.go:2376", "text")
    assert line == "E1116 15:31:30.025646     123 kubelet.go:2376] text"


def test_structured_values() -> None:
    text = structured("Probe failed", pod="a/b", gracePeriod=30, pods=["x", "y"], output='say "no"\n')
    assert text == '"Probe failed" pod="a/b" gracePeriod=30 pods=["x","y"] output="say \\"no\\"\\n"'


def test_containerd() -> None:
    assert containerd_line("info", AT, 'Start "x"') == (
        'time="2026-11-16T15:31:30.025646000Z" level=info msg="Start \\"x\\""'
    )
    assert containerd_line("error", AT, "failed", error="why", id="abc") == (
        'time="2026-11-16T15:31:30.025646000Z" level=error error="why" msg="failed" id=abc'
    )


def test_a_journal_does_not_grow_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"old line\n" * 300_000)
    log = Klog(str(path))
    log.info("a.go:1", "new")
    assert path.stat().st_size < 1.1 * (1 << 20)
    assert path.read_text().endswith("a.go:1] new\n")
    assert path.read_text().startswith("old line\n")


def test_a_journal_that_cannot_be_written_stops_nobody(tmp_path: Path) -> None:
    Klog(str(tmp_path / "no" / "folder")).info("a.go:1", "text")


def test_a_manifest_that_cannot_be_run_in_the_words_of_its_release(tmp_path: Path) -> None:
    path, manifest = tmp_path / "log", "/etc/kubernetes/manifests/web.json"
    for minor in (20, 31):
        Telling(Klog(str(path)), minor).bad_manifest(manifest, "invalid pod: name is needed for the pod")
    old, new = (line.partition("] ")[2] for line in path.read_text().splitlines())
    assert old == f'Can\'t process manifest file "{manifest}": invalid pod: name is needed for the pod'
    assert new == (f'"Could not process manifest file" err="invalid pod: name is needed for the pod" path="{manifest}"')
