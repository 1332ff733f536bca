"""What a command imports before it does anything is a good part of the time that a person waits for it."""

from __future__ import annotations

import subprocess
import sys

# Each of them takes longer than all the modules of ours that `tortie get` needs.
HEAVY = {"typing", "re", "json", "enum", "dataclasses", "asyncio", "grpclib", "google.protobuf", "msgspec", "ssl"}

PROGRAM = """
import sys
from tortie.cli.main import main
code = main(sys.argv[1:])
sys.stderr.write(" ".join(sys.modules))
sys.exit(code)
"""


def test_a_table_from_etcd_needs_none_of_the_heavy_modules(etcd_endpoint: str) -> None:
    words = ["get", "globalnetworksets", "-o", "wide", "--etcd-endpoints", etcd_endpoint]
    done = subprocess.run([sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, env={}, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["NAME", "NETS"]), done.stderr
    assert not HEAVY & set(done.stderr.split())
