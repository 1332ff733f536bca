"""calicoctl's flags of `tortie node run`: what they set, what a dry run tells, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.cli import Tortie, assert_three_lines


@pytest.fixture
def tortie(tmp_path: Path) -> Tortie:
    return Tortie(tmp_path, TORTIE_STORE=str(tmp_path / "store.db"), CALICO_DISABLE_FELIX="true")


def dry(tortie: Tortie, *words: str) -> str:
    ran = tortie("node", "run", "--dryrun", "--root", str(tortie.folder), *words)
    assert ran.stderr == ""
    return ran.stdout


def test_a_dry_run_tells_command_and_decisions_and_does_nothing(tortie: Tortie) -> None:
    told = dry(tortie, "--name=n7", "--backend=none", "--as", "64600", "--ip-autodetection-method", "interface=e[tn].*")
    command, _, decisions = told.partition("What it would do:\n\n")
    assert command == (
        "Use the following command to start the node:\n\n"
        "NODENAME=n7 AS=64600 IP_AUTODETECTION_METHOD='interface=e[tn].*' CALICO_NETWORKING_BACKEND=none "
        f"tortie node run --root={tortie.folder}\n\n"
    )
    assert "n7  (NODENAME)" in decisions
    rows = [" ".join(line.split()) for line in decisions.splitlines()]
    for row in ("NODENAME n7 flag --name", "AS 64600 flag --as", "CALICO_NETWORKING_BACKEND none flag --backend"):
        assert row in rows
    assert not tortie.store.exists()
    assert list(tortie.folder.iterdir()) == []


def test_a_dry_run_for_systemd_is_a_unit(tortie: Tortie) -> None:
    method = 'interface=eth.*,"$x%'
    told = dry(
        tortie, "--init-system", "--ip=autodetect", f"--ip-autodetection-method={method}", "--no-default-ippools"
    )
    assert told.startswith("Use the following unit to start the node:\n\n[Service]\nEnvironment=IP=autodetect\n")
    assert 'Environment="IP_AUTODETECTION_METHOD=interface=eth.*,\\"$$x%%"\n' in told
    assert "Environment=NO_DEFAULT_POOLS=true\nExecStart=/usr/bin/env tortie node run" in told
    assert "Use the following command to stop the node:\n\nsystemctl stop tortie-node\n" in told


def test_a_dry_run_hides_passwords(tortie: Tortie) -> None:
    ran = tortie("node", "run", "--dryrun", "--name=n1", "--etcd-endpoints", "http://root:hunter22@127.0.0.1:1")
    assert "--etcd-endpoints=http://…@127.0.0.1:1" in ran.stdout
    assert "hunter22" not in ran.stdout + ran.stderr


def test_what_flags_say_wrongly_is_told_by_their_names(tortie: Tortie) -> None:
    ran = tortie.run("node", "run", "--name=N 7", "--ip=999", "--backend=x", "--root", str(tortie.folder))
    assert ran.code == 2
    for said in (
        "IP=999 (flag --ip)",
        "CALICO_NETWORKING_BACKEND=x (flag --backend)",
        "the node cannot be called 'N 7'",
    ):
        assert said in ran.stderr


@pytest.mark.parametrize(
    "words", [("--node-image=calico/node",), ("--log-dir=/srv/log",), ("--felix-config=/nowhere",)]
)
def test_what_has_no_meaning_is_refused(tortie: Tortie, words: tuple[str, ...]) -> None:
    assert_three_lines(tortie.run("node", "run", *words, "--root", str(tortie.folder)), 2)
    assert not tortie.store.exists()
