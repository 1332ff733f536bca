"""Small files that are there whole or not at all, whatever happens to the machine or to us.

A file is written beside its place and moved there. The file beside it always has the same name and is locked while
in use: whoever is killed leaves at most that one, and the next writer takes it over.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from typing import Final

from tortie.model.errors import TortieError

_LOCK_WAIT_S: Final = 5.0
_LOCK_POLL_S: Final = 0.01


def write_whole(path: str, data: bytes, mode: int = 0o644) -> None:
    """Readers see the old content or the new one; when this returns the new one survives a power cut.

    On failure the old content stays and nothing is left beside it. Only a disk that fails in the very last step, when
    the folder is written out, leaves the new content with an error.
    """
    target = os.path.realpath(path)  # a link stays a link: what it points to is replaced
    beside = _beside(target)
    try:
        _refuse_other_than_files(f"{path} cannot be written", target)
        descriptor = _open_locked(beside)
        try:
            _fill(descriptor, data, mode)
            os.rename(beside, target)
        except BaseException:
            if _is_same(descriptor, beside):  # still locked, so nobody else has it in use
                os.unlink(beside)
            raise
        finally:
            os.close(descriptor)
        _sync_folder(os.path.dirname(target))
    except OSError as error:
        raise _trouble(f"{path} cannot be written", target, error) from None


def refuse_unwritable(path: str) -> None:
    """Fails as `write_whole` would, as far as that can be known before; what is there stays as it is."""
    target = os.path.realpath(path)
    beside = _beside(target)
    try:
        _refuse_other_than_files(f"{path} cannot be written", target)
        descriptor = _open_locked(beside)
        try:
            if _is_same(descriptor, beside):
                os.unlink(beside)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise _trouble(f"{path} cannot be written", target, error) from None


def _beside(target: str) -> str:
    return os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.new")


def read_text(path: str) -> str | None:
    """The content, or None when there is no such file."""
    what = f"{path} cannot be read"
    try:
        # A pipe in its place would block an open without end; this way it is seen to be none of ours.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _trouble(what, path, error) from None
    try:
        return _text_of(descriptor, path, what)
    finally:
        os.close(descriptor)


def _text_of(descriptor: int, path: str, what: str) -> str:
    _refuse_other_than_files(what, path, os.fstat(descriptor))
    try:
        with open(descriptor, "rb", closefd=False) as file:
            return file.read().decode()
    except OSError as error:
        raise _trouble(what, path, error) from None
    except UnicodeDecodeError as error:
        raise TortieError(what, f"byte {error.start + 1} is not UTF-8 text", f"look at it: od -c {path}") from None


def _refuse_other_than_files(what: str, path: str, status: os.stat_result | None = None) -> None:
    """What is no file is never replaced by one: a device, say, because somebody wanted no file at all."""
    try:
        mode = (status or os.stat(path)).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        why = "it is a folder, as a container runtime makes where a file to be mounted is missing"
        raise TortieError(what, why, f"rmdir {path}")
    if not stat.S_ISREG(mode):
        raise TortieError(what, "it is not a file", "name another place for it, or move it away")


def _open_locked(path: str) -> int:
    """The file beside the target, ours alone. One that was moved to its place while we waited is not it any more."""
    until = time.monotonic() + _LOCK_WAIT_S
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_same(descriptor, path):
                return descriptor
        except BlockingIOError:
            pass
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        if time.monotonic() > until:
            raise OSError(errno.EWOULDBLOCK, f"for {_LOCK_WAIT_S:.0f} s another process has been writing {path}")
        time.sleep(_LOCK_POLL_S)


def _is_same(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _fill(descriptor: int, data: bytes, mode: int) -> None:
    os.ftruncate(descriptor, 0)
    os.fchmod(descriptor, mode)  # as asked for, whatever the umask
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.fsync(descriptor)


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # file systems that cannot, and so need not
            raise
    finally:
        os.close(descriptor)


def _trouble(what: str, path: str, error: OSError) -> TortieError:
    folder = os.path.dirname(path) or "."
    why = (error.strerror or str(error))[:1].lower() + (error.strerror or str(error))[1:]
    fix = {
        errno.ENOENT: f"make the folder: mkdir -p {folder}",
        errno.ENOTDIR: f"a part of {folder} is a file: move it away",
        errno.EACCES: "run as root, or as the user that owns it",
        errno.EPERM: f"run as root; `lsattr -d {path} {folder}` shows whether it is immutable",
        errno.EROFS: f"mount {folder} writable; in a container, as a volume of its own",
        errno.ENOSPC: f"make room on the file system of {folder}: df -h {folder}; df -i {folder}",
        errno.EDQUOT: f"make room, or raise the quota: df -h {folder}",
        errno.EBUSY: f"{path} is a mount of its own: mount the folder {folder} into the container, not the single file",
        errno.EWOULDBLOCK: f"find it: fuser -v {folder}",
    }.get(error.errno or 0, f"check the file system: df -h {folder}; dmesg | tail")
    return TortieError(what, why, fix)
