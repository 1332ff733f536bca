"""The command's first step. A probe runs every few seconds on every node, so it goes past everything it can do without.

Only `node check` with its plain flags goes that way; whatever else stands behind it is for the usual parser to judge.
"""

import _signal  # type: ignore[import-not-found] # `signal` itself would bring `enum`, which takes longer than a probe
import os
import sys

TYPE_CHECKING = False  # typing's own name for it would have to be imported
if TYPE_CHECKING:
    from collections.abc import Callable

# The names of programs of Calico, as links to this one: see `tortie.cli.entrypoints`.
CALICOS = ("calico-node", "calico-ipam", "install", "install-cni.sh", "start_runit")
_SWITCHES = ("live", "ready")
_VALUES = ("host", "port", "timeout")
_INTERRUPTED = 130


def entry() -> None:
    # Who had us started without Ctrl-C, as a shell does in the background, meant it.
    interruptible = _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler
    if interruptible:
        _signal.signal(_signal.SIGINT, _leave)
    name = sys.argv[0].rpartition("/")[2]
    if name in CALICOS and sys.stdout is not None:
        _run_as(name, interruptible)
        return
    words = sys.argv[1:]
    # A closed standard output is for the usual way to replace.
    flags = probe_flags(words[2:]) if words[:2] == ["node", "check"] and sys.stdout is not None else None
    if flags is None:
        _go_the_usual_way(interruptible)
        return
    from tortie.cli.node.check import check

    try:
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr] # as the usual way does
        code = check(**flags)  # type: ignore[arg-type]
        sys.stdout.flush()
    except Exception:  # told by the usual way, in the words of every command
        _drop_pending_output()
        _go_the_usual_way(interruptible)
        return
    sys.exit(code)


def _run_as(name: str, interruptible: bool) -> None:
    from tortie.cli.entrypoints import run_as

    def usual(words: list[str]) -> int:
        from tortie.cli.main import perform

        sys.argv = ["tortie", *words]
        codes: list[int] = []
        _go_the_usual_way(interruptible, lambda: codes.append(perform()))
        return codes[0]

    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    code = run_as(name, sys.argv[1:], usual)
    try:
        sys.stdout.flush()
    except OSError:  # nobody listens, but the exit code still tells
        _drop_pending_output()
    sys.exit(code)


def _go_the_usual_way(interruptible: bool, work: "Callable[[], None] | None" = None) -> None:
    """A command may have something to put in order, so Ctrl-C is an exception from its first moment to its last."""
    from tortie.cli.main import entry as usual

    try:
        if interruptible:
            _signal.signal(_signal.SIGINT, _signal.default_int_handler)
        (work or usual)()
    except KeyboardInterrupt:
        _leave()
    finally:
        if interruptible:
            _signal.signal(_signal.SIGINT, _leave)


def _leave(*_: object) -> None:
    """Ctrl-C while nothing has begun, or all is over. In the middle of an import an exception may get lost."""
    try:
        if sys.stderr is not None:  # else descriptor 2 may be anything
            os.write(2, b"interrupted\n")
    finally:
        os._exit(_INTERRUPTED)


def _drop_pending_output() -> None:
    """What could not be written waits in the buffer, and would come first, or fail again, whatever is written next."""
    output = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    sys.stdout.flush()
    os.dup2(output, 1)
    os.close(output)
    os.close(nowhere)


def probe_flags(words: list[str]) -> "dict[str, bool | str | None] | None":
    """The parameters of `check`; None for anything that has to be explained."""
    flags: dict[str, bool | str | None] = dict.fromkeys(_SWITCHES, False) | dict.fromkeys(_VALUES)
    rest = iter(words)
    for word in rest:
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or name not in flags or (equals and name in _SWITCHES):
            return None
        if name in _SWITCHES:
            flags[name] = True
        elif equals:
            flags[name] = value
        else:
            flags[name] = next(rest, None)
            if flags[name] is None:
                return None
    return flags
