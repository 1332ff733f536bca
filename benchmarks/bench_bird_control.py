"""What does it cost to ask BIRD for its sessions: over our kept connection, over a new one, and with `birdc`?

One BIRD with many peers, none of which exists, in a network namespace of its own. Ours read the answer into
typed values; `birdc` only prints it. All take turns, so that they see the same load.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from agents import enter_own_network
from table import print_table
from tortie.bgp.control import BirdUnreachable, ask
from tortie.bgp.conversation import Conversation
from tortie.bgp.replies import sessions_in

_DEADLINE_S = 10.0
_TARGET = 3.0
_DETAILS = "kept connection, all details"
_PROCESS = "birdc, a process"

_HEAD = """
router id 10.0.0.1;
timeformat protocol "%Y-%m-%dT%H:%M:%S";
protocol device { }
template bgp peers { local as 64512; multihop; ipv4 { import all; export all; }; }
"""


@contextmanager
def bird(folder: Path, peers: int) -> Iterator[str]:
    addresses = [f"10.1.{number >> 8}.{number & 255}" for number in range(1, peers + 1)]
    sessions = [f"protocol bgp Mesh_{_named(each)} from peers {{ neighbor {each} as 64512; }}\n" for each in addresses]
    (folder / "bird.conf").write_text(_HEAD + "".join(sessions))
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    process = subprocess.Popen(
        ["bird", "-f", "-c", "bird.conf", "-s", "bird.ctl", "-P", "bird.pid"], cwd=folder, stderr=subprocess.DEVNULL
    )
    try:
        path = str(folder / "bird.ctl")
        _wait_for(path, process)
        yield path
    finally:
        process.kill()
        process.wait()


def _named(address: str) -> str:
    return address.replace(".", "_")


def _wait_for(path: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _DEADLINE_S
    while True:
        try:
            ask(path, "show status")
            return
        except BirdUnreachable as error:
            if time.monotonic() > deadline or process.poll() is not None:
                raise SystemExit(f"BIRD does not answer: {error}") from None
        time.sleep(0.01)


async def measure(path: str, peers: int, rounds: int) -> dict[str, list[float]]:
    """Milliseconds of every way to ask, one after the other, round by round."""
    conversation = Conversation(path)

    async def kept_connection() -> int:
        return len(await conversation.sessions())

    async def new_connection() -> int:
        return len(sessions_in(ask(path, "show protocols")))

    async def details() -> int:
        return len(await conversation.details("Mesh_*"))

    async def birdc() -> int:
        done = subprocess.run(["birdc", "-s", path, "show", "protocols"], stdout=subprocess.PIPE, check=True)  # noqa: ASYNC221
        return done.stdout.count(b" BGP ")

    ways: dict[str, Callable[[], Awaitable[int]]] = {
        "kept connection, sessions": kept_connection,
        "new connection, sessions": new_connection,
        _DETAILS: details,
        _PROCESS: birdc,
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            begin = time.perf_counter()
            seen = await way()
            taken[name].append((time.perf_counter() - begin) * 1000)
            if seen != peers:
                raise SystemExit(f"{name}: {seen} of {peers} peers")
    conversation.close()
    return taken


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=300)
    options = parser.parse_args(argv)
    inside = enter_own_network(sys.argv)
    if inside is not None:
        return inside
    folder = Path(tempfile.mkdtemp(prefix="bench-bird-"))
    try:
        with bird(folder, options.peers) as path:
            taken = asyncio.run(measure(path, options.peers, options.rounds))
    finally:
        shutil.rmtree(folder)
    ranked = {name: sorted(times) for name, times in taken.items()}
    base = ranked[_PROCESS][options.rounds // 2]
    rows = []
    for name, times in ranked.items():
        p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
        ratio = base / p50
        verdict = (
            f"{'PASS' if ratio >= _TARGET else 'FAIL'} (target >= {_TARGET:g})"
            if name == "kept connection, sessions"
            else ""
        )
        shown = "" if name == _DETAILS else f"{ratio:.1f}"  # birdc does not print those here
        rows.append((name, f"{p50:.2f}", f"{p99:.2f}", shown, verdict))
    print_table(
        f"Asking BIRD with {options.peers} peers, milliseconds, {options.rounds} rounds",
        ("what", "p50", "p99", "times as fast as birdc", "verdict"),
        rows,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
