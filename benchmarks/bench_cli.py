"""How long does a person wait for `tortie`, next to an interpreter that does nothing?

Every round runs each command once, so that all of them meet the same weather; medians and their ratios are printed.
An editable install is not compiled, so the source is compiled first, as `make setup` does.
"""

from __future__ import annotations

import argparse
import compileall
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import tortie
from table import print_table
from tortie.cli.session import finish
from tortie.model.wire import encode
from tortie.store.contract import Put
from tortie.store.embedded import EmbeddedStore, inline

_COMMAND = str(Path(sys.executable).with_name("tortie"))
_HELP_MAX = 5.0
_FEW_MAX = 8.0
_FEW, _MANY = 10, 5000

# What nobody can do without: the same bytes out of a plain table, and each of them decoded.
_BARE_READ = """
import json, sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
for (value,) in connection.execute("SELECT value FROM entries ORDER BY key"):
    json.loads(value)
"""


def fill(path: str, count: int) -> None:
    """Through the store, a hundred nodes to a commit."""
    store = EmbeddedStore(path, durable=False, offload=inline)
    for start in range(0, count, 100):
        finish(store.commit([_node(number) for number in range(start, min(start + 100, count))]))
    finish(store.close())


def fill_bare(path: str, count: int) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE entries (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID")
    connection.executemany("INSERT INTO entries VALUES (?, ?)", (_node(number)[:2] for number in range(count)))
    connection.commit()
    connection.close()


def _node(number: int) -> Put:
    name = f"node-{number:05}"
    document = {
        "kind": "Node",
        "apiVersion": "projectcalico.org/v3",
        "metadata": {
            "name": name,
            "uid": f"00000000-0000-4000-8000-{number:012}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "rack": f"r{number % 40}"},
            "annotations": {"projectcalico.org/kube-labels": '{"kubernetes.io/os":"linux"}'},
        },
        "spec": {
            "bgp": {"ipv4Address": f"10.{number >> 8}.{number & 255}.1/24"},
            "addresses": [{"address": f"10.{number >> 8}.{number & 255}.1/24", "type": "CalicoNodeIP"}],
            "orchRefs": [{"nodeName": name, "orchestrator": "k8s"}],
        },
        "status": {"podCIDRs": [f"10.244.{number & 255}.0/24"]},
    }
    return Put(f"/calico/resources/v3/projectcalico.org/nodes/{name}", encode(document))


def wait_for(command: Sequence[str], store: str) -> float:
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TORTIE_STORE": store}
    before = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, env=environment, check=True)
    return time.perf_counter() - before


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args(argv)
    compileall.compile_dir(str(Path(tortie.__file__).parent), quiet=1)
    with tempfile.TemporaryDirectory(prefix="bench-cli-") as folder:
        few, many, plain = (os.path.join(folder, name) for name in ("few.db", "many.db", "plain.db"))
        fill(few, _FEW)
        fill(many, _MANY)
        fill_bare(plain, _MANY)
        commands = {
            "python -c pass": ([sys.executable, "-c", "pass"], few),
            "tortie --help": ([_COMMAND, "--help"], few),
            f"tortie get nodes, {_FEW}": ([_COMMAND, "get", "nodes"], few),
            f"tortie get nodes, {_MANY:,}": ([_COMMAND, "get", "nodes"], many),
            f"read and decode {_MANY:,}, bare": ([sys.executable, "-c", _BARE_READ, plain], many),
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(options.rounds):
            for name, (command, store) in commands.items():
                times[name].append(wait_for(command, store))
    nothing, help_, get_few, get_many, bare = (statistics.median(each) for each in times.values())
    limits = (None, _HELP_MAX, _FEW_MAX, (2 * get_few + bare) / nothing, None)
    rows = []
    for name, seconds, limit in zip(times, (nothing, help_, get_few, get_many, bare), limits, strict=True):
        verdict = "" if limit is None else f"{'PASS' if seconds / nothing <= limit else 'FAIL'} (<= {limit:.1f})"
        rows.append((name, f"{seconds * 1000:.0f} ms", f"{seconds / nothing:.1f}", verdict))
    print_table(
        f"Command line: wall time ({options.rounds} interleaved rounds, medians; bytecode compiled)",
        ("command", "median", "against python -c pass", "target"),
        rows,
    )
    print(f"\nThe target of {_MANY:,} nodes is twice the time of {_FEW} plus the bare read-and-decode.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
