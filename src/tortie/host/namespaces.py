"""Namespaces of the kernel, made, entered and left by the calling thread; held as descriptors, never as mounts.

A namespace lives as long as a process is in it or somebody holds a descriptor of it, and then takes its links with it.
All of this is about one thread, except `user_namespace` and entering a user or mount namespace, which the kernel
allows only in a process with a single thread.
"""

from __future__ import annotations

import errno
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Final, Literal, NamedTuple, NoReturn

from tortie.model.errors import TortieError

Kind = Literal["user", "mnt", "net", "uts", "pid"]
Returnable = Literal["net", "uts"]  # a thread may leave them again as if nothing had been
Namespaces = Mapping[Kind, int]  # descriptors

# In the order in which they have to be entered: the first gives the right to enter the others.
_FLAGS: Final[dict[Kind, int]] = {
    "user": 0x10000000,
    "mnt": 0x00020000,
    "net": 0x40000000,
    "uts": 0x04000000,
    "pid": 0x20000000,
}
_COOKIE: Final = 71  # of a socket: a number of its network namespace that is never used again
_OWNER: Final = 0xB701  # of a namespace: a descriptor of the user namespace that it belongs to

# Those that programs handle.
_HANDLED: Final = frozenset(
    {
        *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT),
        *(signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGCHLD),
    }
)

MAX_USER_NAMESPACES: Final = "user.max_user_namespaces"
UNPRIVILEGED_CLONE: Final = "kernel.unprivileged_userns_clone"  # Debian's kernels
APPARMOR: Final = "kernel.apparmor_restrict_unprivileged_userns"  # Ubuntu's


def new_namespaces(*kinds: Returnable) -> Namespaces:
    """Makes namespaces and holds them; the thread is where it was before. The descriptors are the caller's to close."""
    made: dict[Kind, int] = {}
    try:
        with _Home(kinds):
            _call("unshare", sum(_FLAGS[kind] for kind in kinds))
            for kind in kinds:
                made[kind] = _own(kind)
    except BaseException as error:
        close(made)
        if isinstance(error, OSError):
            raise _forbidden("make a namespace for a machine of the lab", error) from None
        raise
    return made


def close(descriptors: Namespaces) -> None:
    for descriptor in descriptors.values():
        with suppress(OSError):
            os.close(descriptor)


class Inside:
    """The calling thread is in other namespaces for the length of a `with` block, and for sure not after it.

    Should the kernel not let it return, the process ends: it would go on to change the wrong machine. Signals wait
    until the block is over, so keep it short, and start no thread or process in it: they would begin life in there,
    with their ears closed. Nothing may be awaited inside, or other work of the event loop would run there, too.
    """

    def __init__(self, namespaces: Namespaces) -> None:
        assert all(kind in ("net", "uts") for kind in namespaces), "there is no way back from the others"
        self._namespaces = namespaces
        self._home = _Home(tuple(namespaces))

    def __enter__(self) -> None:
        self._home.__enter__()
        try:
            enter(self._namespaces)
        except BaseException:
            self._home.__exit__(None, None, None)
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._home.__exit__(kind, error, at)


class _Home:
    """Notes where the thread is, and takes it back there at the end of the block.

    Signals are held up meanwhile: an exception that a handler raises could come where nothing takes the thread back.
    """

    def __init__(self, kinds: tuple[Kind, ...]) -> None:
        self._kinds = kinds
        self._descriptors: dict[Kind, int] = {}
        self._blocked_before: set[int] = set()

    def __enter__(self) -> None:
        self._blocked_before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        try:
            signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)  # raises what came just before, and blocks all the same
            for kind in self._kinds:
                self._descriptors[kind] = _own(kind)
        except BaseException as error:
            close(self._descriptors)
            signal.pthread_sigmask(signal.SIG_SETMASK, self._blocked_before)
            if isinstance(error, OSError):
                raise _forbidden("note the way back from another namespace", error) from None
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            for name, descriptor in self._descriptors.items():
                # Who was not allowed to leave is not allowed to enter its own either.
                if not os.path.samestat(os.fstat(descriptor), os.stat(f"/proc/thread-self/ns/{name}")):
                    _call("setns", descriptor, _FLAGS[name])
        except BaseException as lost:
            _die(lost)
        close(self._descriptors)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._blocked_before)


def _die(lost: BaseException) -> NoReturn:
    try:
        os.write(2, f"tortie: cannot leave another namespace ({lost}); ending here rather than in it\n".encode())
    finally:
        os._exit(70)


def enter(namespaces: Namespaces) -> None:
    """For good. Of a `pid` namespace only children started from now on are members."""
    for kind, flag in _FLAGS.items():
        if kind in namespaces:
            try:
                _call("setns", namespaces[kind], flag)
            except OSError as error:
                raise _forbidden(f"enter a {kind} namespace", error) from None


def user_namespace() -> None:
    """Makes this process root in a user namespace of its own, with own mounts, network and hostname. For good.

    For people who are not root: in there, and only there, they may make namespaces and links. The network and the
    hostname have to belong to the new namespace as well, or `Inside` would not find the way back to them.
    """
    user, group = os.geteuid(), os.getegid()
    try:
        _call("unshare", _FLAGS["user"] | _FLAGS["mnt"] | _FLAGS["net"] | _FLAGS["uts"])
        # A group may be mapped only by who cannot take away groups any more that deny something.
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    except OSError as error:
        names = (MAX_USER_NAMESPACES, UNPRIVILEGED_CLONE, APPARMOR)
        why, fix = why_no_user_namespace(error.errno or 0, {name: get_sysctl(name) for name in names})
        raise TortieError("cannot make a user namespace, which is needed without root", why, fix) from None


def why_no_user_namespace(number: int, settings: Mapping[str, str | None]) -> tuple[str, str]:
    """Which setting of the kernel forbids it, and what to do; `settings` are None where the kernel has none such."""
    if number in (errno.ENOSPC, errno.EUSERS) or settings.get(MAX_USER_NAMESPACES) == "0":
        limit = settings.get(MAX_USER_NAMESPACES)
        return (
            f"{MAX_USER_NAMESPACES} allows {limit or 'no more'}",
            f"sysctl -w {MAX_USER_NAMESPACES}=10000, or run as root",
        )
    if settings.get(UNPRIVILEGED_CLONE) == "0":
        return f"{UNPRIVILEGED_CLONE} is 0", f"sysctl -w {UNPRIVILEGED_CLONE}=1, or run as root"
    if settings.get(APPARMOR) not in (None, "0"):
        return f"{APPARMOR} is {settings[APPARMOR]}", f"sysctl -w {APPARMOR}=0, or run as root"
    if number == errno.EINVAL:
        return "this kernel has none, or the process has several threads", "run as root"
    why = os.strerror(number)
    return f"{why}: a container's seccomp profile or a chroot may forbid it", "run as root, or outside of the container"


class Mark(NamedTuple):
    """By what a network namespace is known."""

    inode: int  # the number in `net:[4026531840]`; the kernel uses it again when the namespace is gone
    cookie: int  # never used again while the machine runs; 0 before Linux 5.14


def mark(net: int) -> Mark:
    """Of the namespace that a descriptor stands for."""
    try:
        with Inside({"net": net}):
            return Mark(inode(net), _cookie())
    except TortieError:
        if os.geteuid() == 0:
            raise
    return Mark(inode(net), _asked_by_a_child(net))


def _asked_by_a_child(net: int) -> int:
    """The cookie of a namespace that belongs to a user namespace of ours: who enters that one cannot come back."""
    import fcntl

    try:
        owner = fcntl.ioctl(net, _OWNER)
    except OSError as error:
        raise _forbidden("enter a net namespace", error) from None
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            enter({"user": owner, "net": net})
            os.write(writing, str(_cookie()).encode())
        finally:
            os._exit(0)
    for descriptor in (owner, writing):
        os.close(descriptor)
    with open(reading, "rb") as answer:
        told = answer.read()
    os.waitpid(child, 0)
    if not told:
        raise TortieError("cannot enter a net namespace", "it belongs to somebody else", "run as root")
    return int(told)


def _cookie() -> int:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as anything:
        try:
            return int.from_bytes(anything.getsockopt(socket.SOL_SOCKET, _COOKIE, 8), sys.byteorder)
        except OSError:
            return 0


def inode(descriptor: int) -> int:
    return os.fstat(descriptor).st_ino


def set_hostname(name: str) -> None:
    """Of the UTS namespace that the thread is in."""
    try:
        socket.sethostname(name)
    except OSError as error:
        raise _forbidden(f"set the hostname {name}", error) from None


def set_sysctl(name: str, value: str) -> None:
    """In the network namespace of the thread, for names that begin with `net.`. Dots in interface names: not meant."""
    path = os.path.join("/proc/sys", *name.split("."))
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write(value)
    except OSError as error:
        fix = "do it as root"
        if error.errno == errno.EROFS:
            fix = "mount /proc/sys writable: containers get it so with --privileged"
        elif error.errno == errno.ENOENT:
            fix = "use a kernel that has this setting"
        raise TortieError(f"cannot set {name} to {value}", os.strerror(error.errno or 0), fix) from None


def get_sysctl(name: str) -> str | None:
    """As `set_sysctl` would find it; None when this kernel, or this namespace, has no such setting."""
    try:
        with open(os.path.join("/proc/sys", *name.split(".")), encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return None


def _own(kind: Kind) -> int:
    """/proc/self would be the process's first thread."""
    return os.open(f"/proc/thread-self/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)


_calls: dict[str, Callable[..., int]] = {}


def _call(name: str, *arguments: int) -> None:
    """A function of the C library that Python 3.11 does not offer; OSError if it fails."""
    import ctypes

    if name not in _calls:
        _calls[name] = getattr(ctypes.CDLL(None, use_errno=True), name)
    if _calls[name](*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _forbidden(what: str, error: OSError) -> TortieError:
    fix = "look at dmesg"
    if error.errno == errno.EPERM:
        fix = "run as root; a container needs CAP_SYS_ADMIN for that"
    elif error.errno == errno.EMFILE:
        fix = "raise the limit of open files: ulimit -n"
    elif error.errno == errno.ENOSPC:
        fix = "raise user.max_net_namespaces and user.max_uts_namespaces"
    return TortieError(f"cannot {what}", error.strerror or str(error), fix)
