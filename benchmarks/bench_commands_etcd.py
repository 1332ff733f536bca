"""How long does a person wait for `tortie` on etcd, next to etcd's own client, a bare client and an empty program?

Reading: `tortie get nodes -o wide` beside `etcdctl get --prefix` of the same keys. Writing: 1,000 GlobalNetworkSets
from one file applied, applied again without a change, and deleted, beside `bare_etcd.py`, which makes the same
transactions with the same bytes (again: it writes them all once more, where Tortie sees that nothing changed and writes
nothing). All on one etcd with its data in memory where the machine allows it; every round runs each program once,
interpreter and all, so that all of them meet the same weather; medians and their ratios are printed. With `--calicoctl`
a real one runs beside.
"""

from __future__ import annotations

import argparse
import asyncio
import compileall
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import tortie
from bench_cli import _node
from table import print_table
from tortie.store.etcd import EtcdConfig, EtcdStore

_COMMAND = str(Path(sys.executable).with_name("tortie"))
_BARE = str(Path(__file__).with_name("bare_etcd.py"))
_NODES = "/calico/resources/v3/projectcalico.org/nodes/"
_SETS = "/calico/resources/v3/projectcalico.org/globalnetworksets/"
# How many nodes, and how many times etcdctl's time they may take.
_READ = ((10, 2.0), (500, 2.0), (5_000, 1.5))
_WRITTEN = 1_000
_WRITE_MAX = 2.0

_SET = """---
apiVersion: projectcalico.org/v3
kind: GlobalNetworkSet
metadata:
  name: set-{number:05}
  labels:
    role: external
    rack: r{rack}
spec:
  nets:
    - 10.{high}.{low}.0/24
    - 172.{high}.{low}.0/24
"""


class Course:
    """Programs that are run one after the other, round after round, and the seconds that each of them took."""

    def __init__(self, endpoint: str) -> None:
        self.seconds: dict[str, list[float]] = {}
        self._environment = {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "PYTHONPATH": os.pathsep.join(sys.path),
            "ETCDCTL_API": "3",
            "DATASTORE_TYPE": "etcdv3",
            "ETCD_ENDPOINTS": endpoint,
            "HOME": "/nonexistent",
        }

    def run(self, name: str, *command: str) -> None:
        before = time.perf_counter()
        ran = subprocess.run(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=self._environment, check=False, text=True
        )
        self.seconds.setdefault(name, []).append(time.perf_counter() - before)
        if ran.returncode:
            sys.exit(f"{' '.join(command)}: {ran.stderr}")

    def median(self, name: str) -> float:
        return statistics.median(self.seconds[name])


async def fill(endpoint: str, count: int) -> None:
    store = EtcdStore(EtcdConfig(endpoints=(endpoint,)))
    for start in range(0, count, 100):
        await store.commit([_node(number) for number in range(start, min(start + 100, count))])
    await store.close()


async def stored_lines(endpoint: str) -> str:
    store = EtcdStore(EtcdConfig(endpoints=(endpoint,)))
    entries = (await store.scan(_SETS)).entries
    await store.close()
    return "".join(f"{entry.key}\t{entry.value.decode()}\n" for entry in entries)


def reading(endpoint: str, port: int, rounds: int, calicoctl: str | None) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for count, limit in _READ:
        asyncio.run(fill(endpoint, count))
        course = Course(endpoint)
        for _ in range(rounds):
            course.run("python", sys.executable, "-c", "pass")
            course.run("etcdctl", "etcdctl", f"--endpoints={endpoint}", "get", "--prefix", _NODES)
            course.run("bare", sys.executable, _BARE, str(port), "read", _NODES)
            course.run("tortie", _COMMAND, "get", "nodes", "-o", "wide")
            if calicoctl:
                course.run("calicoctl", calicoctl, "get", "nodes", "-o", "wide")
        rows.append((f"get nodes -o wide, {count:,}", *_figures(course, "etcdctl", limit)))
    return rows


def writing(endpoint: str, port: int, folder: Path, rounds: int, calicoctl: str | None) -> list[tuple[object, ...]]:
    manifest, lines = str(folder / "sets.yaml"), folder / "sets.lines"
    Path(manifest).write_text("".join(_set(number) for number in range(_WRITTEN)))
    Course(endpoint).run("first", _COMMAND, "apply", "-f", manifest)
    lines.write_text(asyncio.run(stored_lines(endpoint)))
    Course(endpoint).run("last", _COMMAND, "delete", "-f", manifest)
    steps = (("apply new", "apply", "create"), ("apply again", "apply", "update"), ("delete", "delete", "delete"))
    courses = {name: Course(endpoint) for name, *_ in steps}
    for _ in range(rounds):
        for name, _, bare in steps:
            courses[name].run("bare", sys.executable, _BARE, str(port), bare, str(lines))
            courses[name].run("python", sys.executable, "-c", "pass")
        for program, command in (("tortie", _COMMAND), ("calicoctl", calicoctl)):
            for name, verb, _ in steps if command else ():
                courses[name].run(program, str(command), verb, "-f", manifest)
    return [(f"{name}, {_WRITTEN:,}", *_figures(courses[name], "bare", _WRITE_MAX)) for name, *_ in steps]


def _set(number: int) -> str:
    return _SET.format(number=number, rack=number % 40, high=number >> 8, low=number & 255)


def _figures(course: Course, beside: str, limit: float) -> tuple[str, ...]:
    ratio = course.median("tortie") / course.median(beside)
    times = ("python", "etcdctl", "bare", "calicoctl", "tortie")
    shown = [f"{course.median(name) * 1000:.0f} ms" if name in course.seconds else "-" for name in times]
    return (*shown, f"{ratio:.2f}", f"{'PASS' if ratio <= limit else 'FAIL'} (<= {limit:.1f} of {beside})")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="of reading; writing has a third of them")
    parser.add_argument("--calicoctl", help="path of a real one to run beside")
    options = parser.parse_args(argv)
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from tests.support.etcd_server import running_etcd

    compileall.compile_dir(str(Path(tortie.__file__).parent), quiet=1)
    with running_etcd() as etcd, tempfile.TemporaryDirectory(prefix="bench-commands-") as folder:
        rows = reading(etcd.endpoint, etcd.port, options.rounds, options.calicoctl)
        few = max(3, options.rounds // 3)
        rows += writing(etcd.endpoint, etcd.port, Path(folder), few, options.calicoctl)
    print_table(
        f"Commands on etcd: wall time ({options.rounds} interleaved rounds, {few} of writing; medians)",
        ("command", "python -c pass", "etcdctl", "bare client", "calicoctl", "tortie", "ratio", "target"),
        rows,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
