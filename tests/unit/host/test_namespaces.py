"""Why there is no user namespace for people who are not root: each kernel has its own way to forbid it."""

from __future__ import annotations

import errno

import pytest

from tortie.host.namespaces import APPARMOR, MAX_USER_NAMESPACES, UNPRIVILEGED_CLONE, why_no_user_namespace

DEBIAN = {MAX_USER_NAMESPACES: "96343", UNPRIVILEGED_CLONE: "0", APPARMOR: None}
UBUNTU = {MAX_USER_NAMESPACES: "96343", UNPRIVILEGED_CLONE: "1", APPARMOR: "1"}
CENTOS = {MAX_USER_NAMESPACES: "0", UNPRIVILEGED_CLONE: None, APPARMOR: None}
OPEN = {MAX_USER_NAMESPACES: "96343", UNPRIVILEGED_CLONE: None, APPARMOR: None}


@pytest.mark.parametrize(
    ("number", "settings", "why", "fix"),
    [
        (errno.EPERM, DEBIAN, f"{UNPRIVILEGED_CLONE} is 0", f"sysctl -w {UNPRIVILEGED_CLONE}=1, or run as root"),
        (errno.EPERM, UBUNTU, f"{APPARMOR} is 1", f"sysctl -w {APPARMOR}=0, or run as root"),
        (errno.EACCES, UBUNTU, f"{APPARMOR} is 1", f"sysctl -w {APPARMOR}=0, or run as root"),
        (
            errno.ENOSPC,
            CENTOS,
            f"{MAX_USER_NAMESPACES} allows 0",
            f"sysctl -w {MAX_USER_NAMESPACES}=10000, or run as root",
        ),
        (
            errno.ENOSPC,
            OPEN,
            f"{MAX_USER_NAMESPACES} allows 96343",
            f"sysctl -w {MAX_USER_NAMESPACES}=10000, or run as root",
        ),
        (errno.EINVAL, OPEN, "this kernel has none, or the process has several threads", "run as root"),
        (
            *(errno.EPERM, OPEN),
            "Operation not permitted: a container's seccomp profile or a chroot may forbid it",
            "run as root, or outside of the container",
        ),
    ],
)
def test_the_setting_that_forbids_it_is_named(number: int, settings: dict[str, str | None], why: str, fix: str) -> None:
    assert why_no_user_namespace(number, settings) == (why, fix)
