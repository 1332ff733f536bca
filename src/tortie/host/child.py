"""A child process under watch: started so that it cannot outlive us, and asked how it is without waiting.

The kernel is told to kill the child when its parent dies (PR_SET_PDEATHSIG). Only the child itself can ask for that,
between fork and exec, and in a process with threads no Python may run there. So a small interpreter is started that
asks, makes sure that the parent is still the same, and becomes the program; the process number stays. It costs some
milliseconds, once. Two limits: the kernel forgets the wish when the program is set-user-id or has capabilities of its
own, and it takes the thread that started the child for the parent. So start children from a thread that stays, as the
main thread does.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Mapping, Sequence

from tortie.model.errors import TortieError

# Its arguments: our process number, LC_CTYPE as given, the folder, the program with its arguments. Without ctypes the
# child runs all the same. What Python changes at its own start is put back: the program shall notice nothing of it.
# Built-in modules instead of those in front of them (ctypes, os, signal), which would take as long to load as Python.
_BECOME = """
import _signal, posix, sys
try:
    try:
        from _ctypes import call_function, dlopen, dlsym
        call_function(dlsym(dlopen(None, 0), "prctl"), (1, _signal.SIGKILL, 0, 0, 0))
    except ImportError:
        import ctypes
        ctypes.CDLL(None).prctl(1, _signal.SIGKILL, 0, 0, 0)
except Exception:
    pass
if posix.getppid() != int(sys.argv[1]):
    posix._exit(1)
for ignored in (_signal.SIGPIPE, _signal.SIGXFSZ):
    _signal.signal(ignored, _signal.SIG_DFL)
posix.unsetenv("LC_CTYPE")
if sys.argv[2]:
    posix.putenv("LC_CTYPE", sys.argv[2])
posix.closerange(3, min(posix.sysconf("SC_OPEN_MAX"), 1 << 16))
try:
    posix.chdir(sys.argv[3])
    posix.execv(sys.argv[4], sys.argv[4:])
except OSError as error:
    sys.stderr.write(f"{sys.argv[4]}: {error.strerror}\\n")
    posix._exit(127)
"""

_STEP_S = 0.02  # where the kernel has no descriptors for processes
_KILL_S = 5.0  # a process in an uninterruptible wait does not die before that is over


class Child:
    def __init__(
        self, name: str, argv: Sequence[str], environment: Mapping[str, str] | None = None, folder: str | None = None
    ) -> None:
        """`folder`: where it runs; None for where we are."""
        self.name = name
        self._argv = tuple(argv)
        self._folder = folder
        self._environment = dict(os.environ if environment is None else environment)
        self._pid = 0
        self._pidfd: int | None = None
        self._ended: str | None = None

    @property
    def pid(self) -> int:
        """0 before the start; after the end, what it was."""
        return self._pid

    def fileno(self) -> int | None:
        """A descriptor that is readable once the child has ended, for an event loop; None where there is none."""
        return self._pidfd

    def start(self, output: int | None = None) -> None:
        """Also again, after it has ended. The child has no input, and shares our output unless it is given another."""
        if self._pid and self.poll() is None:
            raise AssertionError(f"{self.name} runs already")
        program = found(self._argv[0], self._environment)
        locale, folder = self._environment.get("LC_CTYPE", ""), self._folder or "."
        become = ["-I", "-S", "-c", _BECOME, str(os.getpid()), locale, folder]
        self._ended = None
        try:
            self._pid = spawn([sys.executable, *become, program, *self._argv[1:]], self._environment, output)
        except OSError as error:
            raise _unstartable(self.name, error.strerror or str(error)) from None
        self._pidfd = _pidfd_of(self._pid)

    def poll(self) -> str | None:
        """None while it runs, or before the start; else how it ended: `was killed by signal 9`, `exited with ...`."""
        if self._pid and self._ended is None:
            self._ended = self._collected()
            if self._ended is not None:
                self._close_pidfd()
        return self._ended

    def _collected(self) -> str | None:
        try:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
        except ChildProcessError:
            return "has ended, and somebody else was told how"
        if not pid:
            return None
        code = os.waitstatus_to_exitcode(status)
        return f"was killed by signal {-code}" if code < 0 else f"exited with status {code}"

    def stop(self, timeout_s: float) -> str | None:
        """TERM, then KILL for it and what it left behind. Waits at most the time and a little; says how it ended."""
        if not self._pid or self.poll() is not None:
            return self._ended
        self.signal(signal.SIGTERM)
        self._wait(timeout_s)
        return self.kill()

    def kill(self) -> str | None:
        """At once, with what it started; says how it ended, or None when the kernel does not let it die yet."""
        if not self._pid or self.poll() is not None:
            return self._ended
        # Not yet collected, so its number and that of its group are still its own.
        try:
            os.killpg(self._pid, signal.SIGKILL)
        except OSError:
            self.signal(signal.SIGKILL)
        self._wait(_KILL_S)
        return self.poll()

    def signal(self, number: signal.Signals) -> None:
        try:
            if self._pidfd is not None:
                signal.pidfd_send_signal(self._pidfd, number)
            elif self._pid:
                os.kill(self._pid, number)
        except OSError:
            pass  # it has ended meanwhile

    def _wait(self, timeout_s: float) -> None:
        """Until it has ended, without collecting it."""
        deadline = time.monotonic() + timeout_s
        if self._pidfd is not None:
            poll = select.poll()
            poll.register(self._pidfd, select.POLLIN)
            poll.poll(max(0.0, timeout_s) * 1000)
            return
        while self.pid and os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            if time.monotonic() >= deadline:
                return
            time.sleep(_STEP_S)

    def _close_pidfd(self) -> None:
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None


def _pidfd_of(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except OSError:  # an old kernel, or a sandbox that forbids it
        return None


def spawn(argv: Sequence[str], environment: Mapping[str, str], output: int | None) -> int:
    """A process with no input, in a session of its own: Ctrl-C at a terminal is for us, and we stop our children.

    Not by `subprocess`, which is made for more and takes its memory and time in every agent.
    """
    actions: list[tuple[int, int, str, int, int] | tuple[int, int, int]]
    actions = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
    if output is not None:
        actions += [(os.POSIX_SPAWN_DUP2, output, 1), (os.POSIX_SPAWN_DUP2, output, 2)]
    return os.posix_spawn(argv[0], list(argv), environment, file_actions=actions, setsid=True, setsigmask=())


def found(program: str, environment: Mapping[str, str]) -> str:
    """Looked for here, so that what is missing is an error now and not a child that dies at once."""
    folders = [""] if "/" in program else environment.get("PATH", os.defpath).split(os.pathsep)
    for folder in folders:
        path = os.path.join(folder, program)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise _unstartable(program, "there is no such program, or it is not executable")


def _unstartable(name: str, why: str) -> TortieError:
    return TortieError(f"{name} cannot be started", why, "install it, or correct its path")
