"""Into other namespaces and back again; for good; and never by accident."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from tests.support.netns import Namespace

from tortie.host.links import links
from tortie.host.namespaces import (
    Inside,
    Namespaces,
    close,
    enter,
    get_sysctl,
    inode,
    mark,
    new_namespaces,
    set_hostname,
    set_sysctl,
)
from tortie.model.errors import TortieError


def here() -> tuple[str, str]:
    return os.readlink("/proc/thread-self/ns/net"), os.readlink("/proc/thread-self/ns/uts")


@pytest.fixture
def place() -> Iterator[Namespaces]:
    namespaces = new_namespaces("net", "uts")
    yield namespaces
    close(namespaces)


def test_a_new_namespace_is_empty_and_we_are_not_in_it(place: Namespaces) -> None:
    before = here()
    with Inside(place):
        assert [link.name for link in links()] == ["lo"]
        assert here() == (f"net:[{inode(place['net'])}]", f"uts:[{inode(place['uts'])}]")
        assert not set(here()) & set(before)
    assert here() == before


def test_only_the_calling_thread_is_inside(place: Namespaces) -> None:
    entered, looked = threading.Event(), threading.Event()
    seen = []

    def work() -> None:
        with Inside(place):
            seen.append(here()[0])
            entered.set()
            looked.wait(10)

    before = here()
    thread = threading.Thread(target=work)
    thread.start()
    assert entered.wait(10)
    assert here() == before
    looked.set()
    thread.join()
    assert seen == [f"net:[{inode(place['net'])}]"]


def test_one_inside_another(place: Namespaces) -> None:
    other = new_namespaces("net")
    before = here()
    with Inside(place):
        first = here()
        with Inside(other):
            assert here() == (f"net:[{inode(other['net'])}]", first[1])
        assert here() == first
    assert here() == before
    close(other)


def test_errors_inside_come_out_at_home(place: Namespaces) -> None:
    before = here()
    with pytest.raises(ValueError, match="in there"), Inside(place):
        raise ValueError("in there")
    assert here() == before


def test_sockets_stay_where_they_were_opened(place: Namespaces) -> None:
    with Inside(place):
        server = socket.create_server(("0.0.0.0", 0))
    with server, socket.create_server(("0.0.0.0", server.getsockname()[1])):
        pass  # the same port is free in our own network


def test_hostname_and_settings_are_the_namespaces_own(place: Namespaces) -> None:
    before = socket.gethostname(), get_sysctl("net.ipv4.ip_forward")
    with Inside(place):
        set_hostname("elsewhere")
        for value in ("1", "0", "1"):
            set_sysctl("net.ipv4.ip_forward", value)
            assert get_sysctl("net.ipv4.ip_forward") == value
    assert (socket.gethostname(), get_sysctl("net.ipv4.ip_forward")) == before
    with Inside(place):
        assert (socket.gethostname(), get_sysctl("net.ipv4.ip_forward")) == ("elsewhere", "1")


def test_settings_that_cannot_be_made(place: Namespaces) -> None:
    with Inside(place):
        with pytest.raises(TortieError) as caught:
            set_sysctl("net.ipv4.no_such_thing", "1")
        assert caught.value.what == "cannot set net.ipv4.no_such_thing to 1"
        assert (caught.value.why, caught.value.fix) == (
            "No such file or directory",
            "use a kernel that has this setting",
        )
        with pytest.raises(TortieError, match="Invalid argument"):
            set_sysctl("net.ipv4.ip_forward", "perhaps")
        assert get_sysctl("net.ipv4.no_such_thing") is None


def test_marks_tell_namespaces_apart_even_if_a_number_is_used_again() -> None:
    seen = set()
    for _ in range(20):
        namespaces = new_namespaces("net")
        found = mark(namespaces["net"])
        assert found == mark(namespaces["net"])
        assert found.cookie not in seen
        seen.add(found.cookie)
        close(namespaces)


def test_what_is_no_namespace_is_refused_and_we_stay_where_we_are() -> None:
    before = here()
    with open(os.devnull) as file, pytest.raises(TortieError) as caught, Inside({"net": file.fileno()}):
        pass
    assert caught.value.what == "cannot enter a net namespace"
    assert caught.value.why == "Invalid argument"
    place = new_namespaces("net")
    with pytest.raises(TortieError), Inside({"net": place["net"], "uts": place["net"]}):
        pass  # the first is entered before the second is refused
    assert here() == before
    close(place)


def test_too_many_open_files_are_told() -> None:
    def exhausted() -> None:
        import resource

        new_namespaces("net")  # loads what is needed
        resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")), 100))
        new_namespaces("net", "uts")

    with Namespace("entering") as namespace, pytest.raises(TortieError) as caught:
        namespace.call(exhausted)
    assert caught.value.why == "Too many open files"
    assert caught.value.fix == "raise the limit of open files: ulimit -n"


def test_entering_for_good(place: Namespaces) -> None:
    def entered() -> tuple[str, list[str]]:
        with Inside(place):
            set_hostname("for-good")
        enter(place)
        return socket.gethostname(), [link.name for link in links()]

    with Namespace("entering") as namespace:
        assert namespace.call(entered) == ("for-good", ["lo"])


def test_signals_wait_until_we_are_back(place: Namespaces) -> None:
    seen: list[tuple[str, str]] = []
    before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(here()))
    try:
        with Inside(place):
            signal.raise_signal(signal.SIGUSR1)
            assert seen == []
        assert seen == [here()]
    finally:
        signal.signal(signal.SIGUSR1, before)


NO_WAY_BACK = """
import os
from tortie.host import namespaces
place = namespaces.new_namespaces("net")
with namespaces.Inside(place):
    def refused(name, *arguments):
        raise PermissionError(1, "Operation not permitted")
    namespaces._call = refused
print("went on in the wrong namespace")
"""


def test_who_cannot_return_ends_loudly() -> None:
    done = subprocess.run([sys.executable, "-c", NO_WAY_BACK], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 70
    assert done.stdout == ""
    assert done.stderr.startswith("tortie: cannot leave another namespace ([Errno 1] Operation not permitted)")
    assert "Traceback" not in done.stderr
