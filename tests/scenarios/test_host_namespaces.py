"""The support for namespaces itself: what the other tests of the network stand on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.birds import eventually
from tests.support.lab import processes_naming
from tests.support.netns import FILES, NAMED, Namespace

from tortie.model.errors import TortieError


def links_by_proc() -> list[str]:
    return [line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()[2:]]


def test_functions_see_the_namespace_by_socket_proc_and_sys() -> None:
    with Namespace("support") as namespace:
        namespace.dummy("only-here")
        assert sorted(namespace.call(links_by_proc)) == ["lo", "only-here"]
        assert "only-here" in namespace.call(os.listdir, "/sys/class/net")
    assert "only-here" not in links_by_proc()
    assert "only-here" not in os.listdir("/sys/class/net")


def test_errors_come_back_as_they_were() -> None:
    def fails() -> None:
        raise TortieError("it failed", "because", "do this")

    def fails_unpicklably() -> None:
        class Local(Exception):
            pass

        raise Local("of a class that nobody else can name")

    def dies() -> None:
        os._exit(3)

    with Namespace("support") as namespace:
        with pytest.raises(TortieError) as caught:
            namespace.call(fails)
        assert (caught.value.what, caught.value.why, caught.value.fix) == ("it failed", "because", "do this")
        with pytest.raises(AssertionError, match="Local: of a class"):
            namespace.call(fails_unpicklably)
        with pytest.raises(pytest.fail.Exception, match="ended without an answer"):
            namespace.call(dies)


def test_ip_fails_with_its_own_words() -> None:
    with Namespace("support") as namespace, pytest.raises(AssertionError, match="Cannot find device"):
        namespace.ip("link", "set", "nosuch0", "up")


def test_nothing_is_left_behind_even_if_the_test_fails() -> None:
    namespace = Namespace("support")
    seconds = str(100_000 + os.getpid())  # told apart from what another run of this test has started

    def failing_test() -> None:
        with namespace:
            namespace.write_file("hosts", "192.0.2.1 somewhere\n")
            assert "somewhere" in namespace.run("cat", "/etc/hosts").stdout
            processes.append(namespace.popen("sh", "-c", f"sleep {seconds} & sleep {seconds}"))
            raise ValueError("the test failed")

    processes: list[object] = []
    with pytest.raises(ValueError, match="the test failed"):
        failing_test()
    assert not (NAMED / namespace.name).exists()
    assert not (FILES / namespace.name).exists()
    assert "somewhere" not in Path("/etc/hosts").read_text()
    # Whoever is killed takes a moment to end.
    eventually(lambda: not processes_naming(f"sleep {seconds}"), "none of its processes is left")
