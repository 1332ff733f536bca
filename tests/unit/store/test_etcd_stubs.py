"""The generated message classes fit their .proto."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tortie.store.etcd

PACKAGE = Path(tortie.store.etcd.__file__).parent


@pytest.mark.parametrize("name", ["rpc_pb2.py", "rpc_pb2.pyi"])
def test_generating_the_stubs_again_changes_nothing(name: str, tmp_path: Path) -> None:
    source = PACKAGE.parents[2]
    subprocess.run(
        [
            *(sys.executable, "-m", "grpc_tools.protoc", f"-I{source}"),
            *(f"--python_out={tmp_path}", f"--pyi_out={tmp_path}", "tortie/store/etcd/rpc.proto"),
        ],
        check=True,
        timeout=60,
    )
    made = tmp_path / "tortie/store/etcd" / name
    assert made.read_bytes() == (PACKAGE / name).read_bytes(), "run `make stubs`"
