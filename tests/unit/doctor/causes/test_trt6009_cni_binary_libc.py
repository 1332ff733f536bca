"""TRT6009: a plugin that is there and finds no loader."""

from __future__ import annotations

from tests.support.doctor import finding

from tortie.doctor.causes.cause import LIKELY, PROVEN, STRONG

ID = "cni-binary-libc"
MESSAGE = (
    'level=error msg="RunPodSandbox failed, error" error="failed to setup network for sandbox \\"346f\\": netplugin '
    'failed with no error message: fork/exec /opt/cni/bin/calico: no such file or directory"\n'
)
THERE = (
    "alp1:~# ls -l /opt/cni/bin/calico\n-rwxr-xr-x    1 root     root      44171264 Dec 28 20:40 /opt/cni/bin/calico\n"
)
HEADER = "alp1:~# file /opt/cni/bin/calico\n/opt/cni/bin/calico: ELF 64-bit LSB executable, x86-64, version 1 (SYSV), dynamically linked, interpreter /lib64/ld-linux-x86-64.so.2, not stripped\n"  # noqa: E501


def test_the_file_is_there_and_cannot_be_executed() -> None:
    answer = finding(ID, MESSAGE + THERE)
    assert answer.strength >= PROVEN
    assert answer.culprits[0].name == "/opt/cni/bin/calico"


def test_its_header_names_the_loader() -> None:
    assert finding(ID, MESSAGE + HEADER).value("loader") == "/lib64/ld-linux-x86-64.so.2"


def test_a_library_that_is_too_old() -> None:
    text = "/opt/cni/bin/calico: /lib64/libc.so.6: version `GLIBC_2.34' not found (required by /opt/cni/bin/calico)\n"
    answer = finding(ID, text)
    assert answer.strength >= PROVEN
    assert answer.value("libc") == "2.34"


def test_the_message_alone_is_likely() -> None:
    answer = finding(ID, MESSAGE)
    assert LIKELY <= answer.strength < STRONG


def test_a_file_that_is_not_there_is_another_cause() -> None:
    gone = "# ls -l /opt/cni/bin/calico\nls: cannot access '/opt/cni/bin/calico': No such file or directory\n"
    assert finding(ID, MESSAGE + gone).state == "ruled-out"
    find = 'failed to find plugin "calico" in path [/opt/cni/bin]\n'
    assert finding(ID, find).state == "cannot-tell"


def test_denied_and_foreign_processors_are_other_causes() -> None:
    assert finding(ID, MESSAGE.replace("no such file or directory", "permission denied")).state == "cannot-tell"
    assert finding(ID, MESSAGE.replace("no such file or directory", "exec format error")).state == "cannot-tell"


def test_other_programs_that_are_missing_say_nothing() -> None:
    flexvolume = MESSAGE.replace("/opt/cni/bin/calico", "/usr/libexec/kubernetes/nodeagent~uds/uds")
    assert finding(ID, flexvolume).state == "cannot-tell"


def test_a_static_binary_rules_it_out() -> None:
    static = HEADER.replace("dynamically linked, interpreter /lib64/ld-linux-x86-64.so.2", "statically linked")
    assert finding(ID, MESSAGE + static).state == "ruled-out"


def test_a_directory_that_was_listed_without_it() -> None:
    words = "failed to setup network: fork/exec /opt/cni/bin/calico-ipam: no such file or directory\n"
    listed = """$ ls -l /opt/cni/bin/
total 70384
-rwxr-xr-x 1 root root 72069272 Aug  1 10:00 calico
-rwxr-xr-x 1 root root  3859475 Jan 17  2023 loopback
"""
    assert finding("cni-binary-libc", words + listed).state == "ruled-out"
    there = listed + "-rwxr-xr-x 1 root root 72069272 Aug  1 10:00 calico-ipam\n"
    assert finding("cni-binary-libc", words + there).strength >= 0.95
