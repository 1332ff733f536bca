"""Untrusted input: no secret is repeated, no name or archive does harm, and nothing runs without end."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.doctor_answers import MARKUP, answers, check, check_text, slow
from tests.support.doctor_cases import cases

from tortie.doctor.reading.sources import open_sources

ROOT = Path(__file__).resolve().parents[2]
TEXTS = tuple(case.text for case in cases())

# Secrets

SECRETS = {
    "jwt": (
        "eyJhbGciOiJSUzI1NiIsImtpZCI6IiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJlLW9mLXRoaXM",
        "error=token {} is expired",
    ),
    "bearer": ("Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5", 'Unauthorized: header "Authorization: Bearer {}" was refused'),
    "basic": ("dXNlcjpzM2NyM3RwYXNz", "curl -H 'Authorization: Basic {}' https://10.0.0.1:6443/healthz"),
    "url": ("hunter2hunter2", "dial https://root:{}@10.0.0.5:2379: connection refused"),
    "aws": ("AKIAIOSFODNN7EXAMPLE", "AWS key {} was denied"),
    "github": ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "remote: {} is invalid"),
    "slack": ("xoxb-1234567890-abcdefghij", "webhook {} failed"),
    "bootstrap": ("abcdef.0123456789abcdef", "kubeadm join 10.0.0.1:6443 --token {}"),
    "client key": ("LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo", "    client-key-data: {}"),
    "password": ("s3cr3t-Pa55w0rd", "ETCD_PASSWORD={}"),
    "yaml password": ("corr3ct-h0rse", "  password: {}"),
    "json token": ("0f1e2d3c4b5a69788796a5b4c3d2e1f0", '{{"token": "{}", "a": 1}}'),
    "bird": ("bgpS3cret99", '  password "{}";'),
    "flag": ("hunter22hunter22", "calicoctl --password={} get nodes"),
    "docker auth": ("dXNlcjpwYXNzd29yZDEyMw==", '{{"auths": {{"r.example": {{"auth": "{}"}}}}}}'),
}


@pytest.mark.parametrize("kind", SECRETS)
@slow(8)
@given(st.sampled_from(TEXTS), st.integers(0, 10_000), st.booleans())
def test_no_secret_survives(kind: str, text: str, place: int, beside: bool) -> None:
    """On a line of its own, and at the end of a line that may be quoted."""
    secret, shown = SECRETS[kind]
    rows = text.split("\n")
    at = place % len(rows)
    line = shown.format(secret)
    rows[at : at + 1] = [f"{rows[at]} {line.strip()}"] if beside else [rows[at], line]
    told = check_text("\n".join(rows))
    assert not [form for form, answer in told.items() if secret in answer]


@slow(20)
@given(st.sampled_from(TEXTS), st.integers(0, 10_000))
def test_no_private_key_survives(text: str, place: int) -> None:
    rows = text.split("\n")
    at = place % len(rows)
    body = ["MIIEpAIBAAKCAQEA7bq6Zs0K5vVhE3yG0bq8Rk1c9dJ3fL2sQwErTyUiOpAsDfGh", "Zx9CvBnM1234QwErTyUiOp=="]
    rows[at:at] = ["-----BEGIN RSA PRIVATE KEY-----", *body, "-----END RSA PRIVATE KEY-----"]
    told = check_text("\n".join(rows))
    assert not [form for form, answer in told.items() for line in body if line in answer]


def test_hostile_file_names(tmp_path: Path) -> None:
    folder = tmp_path / f"ev\x1b[31mil\u202e{MARKUP.replace('/', '')}"
    folder.mkdir()
    for case in cases()[:3]:
        (folder / f"{case.name}\n\x07.txt").write_text(case.text, encoding="utf-8")
    (folder / "\x1b[2Jbinary").write_bytes(bytes(range(256)))
    sources = open_sources([str(folder)], io.BytesIO())
    check(answers(sources))


# Archives

BAD_NAMES = ("../../etc/passwd", "/etc/shadow", "nodes/n1/a", "a\x1b")


def tar_of(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def zip_of(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


@slow(60)
@given(
    st.sampled_from((tar_of, zip_of)),
    st.dictionaries(
        st.one_of(
            st.text(min_size=1, max_size=20),
            st.sampled_from(("../../etc/passwd", "/etc/shadow", "nodes/n1/a", "a\x1b")),
        ),
        st.one_of(st.binary(max_size=200), st.sampled_from(TEXTS).map(lambda text: text[:2000].encode())),
        max_size=4,
    ),
    st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=5),
)
def test_damaged_archives(pack: Any, members: dict[str, bytes], damage: list[tuple[int, int]]) -> None:
    try:
        content = bytearray(pack(members))
    except (ValueError, UnicodeError):  # a name that the format cannot hold
        return
    for place, value in damage:
        content[place % len(content)] = value
    check(answers(open_sources(["-"], io.BytesIO(bytes(content)))))


# In processes of their own


def run(*arguments: str, deadline: float) -> subprocess.CompletedProcess[str]:
    """Fails with the last line that was printed when it does not end."""
    try:
        return subprocess.run(
            [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=deadline, check=False
        )
    except subprocess.TimeoutExpired as late:
        printed = late.stdout or b""
        shown = printed.decode(errors="replace") if isinstance(printed, bytes) else printed
        pytest.fail(f"not done after {deadline} s; the last was: {shown.splitlines()[-1:]}")


@pytest.mark.timeout(1000)  # of a machine that is busy; what is endless is so for ever
def test_no_expression_is_endless() -> None:
    done = run("-m", "tests.fuzz.patterns", deadline=900)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert lines[-1] == "done"
    assert len(lines) > 500


LENGTHS = ("-max_len=1024", "-len_control=0")  # from the first run on


@pytest.mark.timeout(1000)
@pytest.mark.parametrize("harness", ["fuzz_reading", "fuzz_archives"])
def test_harness_runs(harness: str, tmp_path: Path) -> None:
    """A short run of the harness that `python -m tests.fuzz.…` starts without end."""
    pytest.importorskip("atheris")
    done = run("-m", f"tests.fuzz.{harness}", "-runs=2000", *LENGTHS, f"-artifact_prefix={tmp_path}/", deadline=900)
    assert done.returncode == 0, done.stderr[-3000:]
