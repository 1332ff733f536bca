"""How long does the doctor take over a paste, a bundle, a gigabyte of logs, and against what?

A paste is measured against an interpreter that does nothing, logs against ripgrep with the same needles, and bundles
against each other: twice the nodes should take twice the time. Every answer is looked at, too: it has to be right.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import tortie
from evidence import CAUSE, FATAL, HOSTILE, write_bundle, write_events, write_hostile, write_logs, write_prose
from processes import usage_of
from table import print_table
from tortie.doctor.causes.catalogue import needles

_COMMAND = str(Path(sys.executable).with_name("tortie"))
_PASTE_S, _BUNDLE_S, _BUNDLE_NODES, _MEMORY_MB = 0.35, 5.0, 100, 300
_EVENTS_S, _EVENTS_MB, _HOSTILE_S, _PROSE_S, _PROSE_MB = 2.0, 8.5, 2.0, 20.0, 500
_LOOK_S = 0.02  # how often memory is looked at
_PASTE = f"""The agent of one node never gets ready since we changed the image of our machines:

[root@m1 ~]# kubectl get pods -n kube-system -o wide | grep calico-node
calico-node-4kd7x   1/1   Running            0              3d   10.32.0.1   m1   <none>   <none>
calico-node-zq8vp   0/1   CrashLoopBackOff   31 (2m ago)    3d   10.32.0.2   w1   <none>   <none>
[root@m1 ~]# kubectl -n kube-system logs calico-node-zq8vp --tail=2
2026-04-01 10:59:58.100 [INFO][98] felix/int_dataplane.go 180: Creating internal dataplane driver.
2026-04-01 10:59:59.000 {FATAL}
"""


class Run(NamedTuple):
    seconds: float
    cpu_s: float  # of all its processes; a busy machine disturbs it less
    memory_mb: float  # of all its processes together, shared pages counted once


def run(command: Sequence[str], *, memory: bool = False) -> Run:
    """Output goes nowhere; looking at memory disturbs, so that time is taken without."""
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    most = 0.0
    before = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    ended, status, usage = os.wait4(process.pid, os.WNOHANG if memory else 0)
    while not ended:
        most = max(most, usage_of([process.pid, *_below(process.pid)]).pss_mb)
        time.sleep(_LOOK_S)
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Run(time.perf_counter() - before, usage.ru_utime + usage.ru_stime, most)


def _below(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def told(path: Path) -> str:
    """The cause that the doctor names; what it is measured with has one."""
    answer = subprocess.run([_COMMAND, "doctor", str(path), "-o", "json"], stdout=subprocess.PIPE, check=False)
    causes = json.loads(answer.stdout)["causes"]
    return str(causes[0]["cause"]) if causes else "none"


def judged(value: float, limit: float, unit: str) -> str:
    return f"{'PASS' if value <= limit else 'FAIL'} (<= {limit:g} {unit})"


def pastes(folder: Path, rounds: int) -> None:
    paste = folder / "paste.txt"
    paste.write_text(_PASTE)
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "tortie doctor": [_COMMAND, "doctor", str(paste)],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            times[name].append(run(command).seconds)
    nothing, ours = (statistics.median(each) for each in times.values())
    factor, target = f"{ours / nothing:.1f}", judged(ours, _PASTE_S, "s")
    print_table(
        f"Doctor: a pasted case ({rounds} interleaved rounds, medians; bytecode compiled)",
        ("command", "median", "against python -c pass", "target", "cause"),
        [
            ("python -c pass", f"{nothing * 1000:.0f} ms", "1.0", "", ""),
            ("tortie doctor", f"{ours * 1000:.0f} ms", factor, target, told(paste)),
        ],
    )


def bundles(folder: Path, counts: Sequence[int]) -> None:
    rows = []
    floor = 0.0
    for count in counts:
        bundle = folder / f"bundle-{count}"
        size = write_bundle(bundle, count)
        seconds, cpu_s, _ = run([_COMMAND, "doctor", str(bundle)])
        memory = run([_COMMAND, "doctor", str(bundle)], memory=True).memory_mb
        each = cpu_s / count
        floor = floor or each
        target = judged(seconds, _BUNDLE_S, "s") if count == _BUNDLE_NODES else ""
        rows.append(
            (f"{count:,}", f"{size / 1e6:,.0f} MB", f"{seconds:.1f} s", target, f"{cpu_s:.1f} s",
             f"{each * 1000:.0f} ms", f"{each / floor:.2f}", f"{memory:,.0f} MB", told(bundle))
        )  # fmt: skip
        shutil.rmtree(bundle)
    linear = "against the fewest (1 is linear)"
    header = ("nodes", "evidence", "time", "target", "processors", "each node", linear, "memory", "cause")
    print_table("Doctor: a bundle, one node of it sick", header, rows)


def logs(folder: Path, megabytes: int, rounds: int) -> None:
    patterns = folder / "needles"
    patterns.write_text("".join(f"{needle}\n" for needle in dict.fromkeys(needles())))
    rows = []
    for files in (8, max(8, megabytes)):
        where = folder / f"logs-{files}"
        size = write_logs(where, megabytes, files)
        search = ["rg", "-i", "-F", "-c", "-f", str(patterns), str(where)]
        ours, theirs = [], []
        for _ in range(rounds):
            theirs.append(run(search))
            ours.append(run([_COMMAND, "doctor", str(where)]))
        memory = run([_COMMAND, "doctor", str(where)], memory=True).memory_mb
        peer, seconds = (statistics.median(each.seconds for each in runs) for runs in (theirs, ours))
        cpu = statistics.median(each.cpu_s for each in ours) / statistics.median(each.cpu_s for each in theirs)
        target = f"{'PASS' if seconds <= peer else 'FAIL'} (<= 1)"
        rows.append(
            (f"{files:,}", f"{size / 1e6:,.0f} MB", f"{peer:.2f} s", f"{seconds:.2f} s", f"{seconds / peer:.2f}",
             target, f"{cpu:.2f}", f"{memory:.0f} MB", judged(memory, _MEMORY_MB, "MB"), told(where))
        )  # fmt: skip
        shutil.rmtree(where)
    header = (
        "files",
        "size",
        "rg",
        "tortie doctor",
        "ratio",
        "target",
        "ratio, processors",
        "memory",
        "target",
        "cause",
    )
    print_table(f"Doctor: a folder of logs, searched and judged ({rounds} alternating rounds, medians)", header, rows)


def events(folder: Path, rounds: int) -> None:
    """Against ripgrep, which counts the rows that warn."""
    path = folder / "events.txt"
    size = write_events(path, _EVENTS_MB)
    commands = {"rg -c Warning": ["rg", "-c", "Warning", str(path)], "tortie doctor": [_COMMAND, "doctor", str(path)]}
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            times[name].append(run(command).seconds)
    peer, ours = (statistics.median(each) for each in times.values())
    print_table(
        f"Doctor: kubectl get events -A, {size / 1e6:.1f} MB ({rounds} alternating rounds, medians)",
        ("command", "median", "ratio", "target"),
        [
            ("rg -c Warning", f"{peer * 1000:.0f} ms", "1.0", ""),
            ("tortie doctor", f"{ours:.2f} s", f"{ours / peer:.0f}", judged(ours, _EVENTS_S, "s")),
        ],
    )


def bounds(folder: Path, megabytes: int) -> None:
    """Texts that are made to keep the doctor busy, and so much prose that nobody wrote it."""
    path, rows = folder / "hostile.txt", []
    for name in HOSTILE:
        write_hostile(path, name)
        seconds = run([_COMMAND, "doctor", str(path)]).seconds
        rows.append((f"1 MB of {name}", f"{seconds:.2f} s", judged(seconds, _HOSTILE_S, "s"), "", ""))
    write_prose(path, megabytes)
    seconds = run([_COMMAND, "doctor", str(path)]).seconds
    memory = run([_COMMAND, "doctor", str(path)], memory=True).memory_mb
    rows.append(
        (f"{megabytes} MB of prose", f"{seconds:.1f} s", judged(seconds, _PROSE_S, "s"), f"{memory:.0f} MB",
         judged(memory, _PROSE_MB, "MB"))
    )  # fmt: skip
    print_table("Doctor: hostile texts", ("text", "time", "target", "memory", "target"), rows)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--nodes", type=int, nargs="+", default=[_BUNDLE_NODES, 1000, 5000])
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--prose", type=int, default=64)
    options = parser.parse_args(argv)
    compileall.compile_dir(str(Path(tortie.__file__).parent), quiet=1)
    with tempfile.TemporaryDirectory(prefix="bench-doctor-") as name:
        pastes(Path(name), options.rounds)
        events(Path(name), options.rounds)
        bounds(Path(name), options.prose)
        logs(Path(name), options.megabytes, options.rounds)
        bundles(Path(name), options.nodes)
    print(f"\nEvery cause has to be {CAUSE}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
