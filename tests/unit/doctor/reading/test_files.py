"""Listings and small files."""

from __future__ import annotations

from tests.support.doctor import source

from tortie.doctor.picture.facts import Fact, HostFile, Setting
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers import files


def facts(text: str, command: str = "") -> list[Fact]:
    return list(files.read(Exhibit("e", 1, source(text).lines, "m1", command)))


def listed(text: str, command: str) -> list[tuple[str, str]]:
    return [(fact.folder, fact.name) for fact in facts(text, command) if isinstance(fact, HostFile)]


def test_long_listing() -> None:
    found = facts(
        """
        total 8
        drwxr-xr-x 2 root root 4096 Jan 12 13:55 .
        -rw-r--r-- 1 root root  604 2021-03-04 05:06:07.250000000 +0000 10-x.conflist
        lrwxrwxrwx 1 root root   22 Jan 12  2021 calico -> /opt/cni/bin/install
        """,
        "ls -la --time-style=full-iso /etc/cni/net.d",
    )
    one, two = (fact for fact in found if isinstance(fact, HostFile))
    assert (one.folder, one.name, one.mode, one.modified) == (
        "/etc/cni/net.d",
        "10-x.conflist",
        "-rw-r--r--",
        1614834367.0,
    )
    assert (two.name, two.link_to) == ("calico", "/opt/cni/bin/install")


def test_short_listings() -> None:
    assert listed("00-multus.conf  10-calico.conflist", "sudo ls /etc/cni/net.d/") == [
        ("/etc/cni/net.d", "00-multus.conf"),
        ("/etc/cni/net.d", "10-calico.conflist"),
    ]
    assert listed("/etc/cni/net.d:\na.conf\n\n/opt/cni/bin:\nbridge", "ls /etc/cni/net.d /opt/cni/bin") == [
        ("/etc/cni/net.d", "a.conf"),
        ("/opt/cni/bin", "bridge"),
    ]
    assert listed("/var/lib/cni/networks/x/10.0.0.1", "find /var/lib/cni -type f") == [
        ("/var/lib/cni/networks/x", "10.0.0.1")
    ]
    assert listed("17", "ls /var/lib/cni/networks/x | wc -l") == []


def test_what_is_not_there() -> None:
    found = facts("ls: cannot access '/etc/cni/net.d': No such file or directory", "ls /etc/cni/net.d")
    assert [(f.name, f.value) for f in found if isinstance(f, Setting)] == [("/etc/cni/net.d", "missing")]
    found = facts("cat: /var/lib/calico/nodename: Permission denied", "cat /var/lib/calico/nodename")
    assert [(f.name, f.value) for f in found if isinstance(f, Setting)] == [("/var/lib/calico/nodename", "denied")]


def test_small_files() -> None:
    (found,) = facts("Worker-7.local", "cat /var/lib/calico/nodename")
    assert isinstance(found, Setting)
    assert (found.scope, found.name, found.value) == ("file", "/var/lib/calico/nodename", "Worker-7.local")
    found_all = facts("127.0.0.1 localhost lo4\n10.0.0.1 m1 # own", "cat /etc/hosts")
    hosts = {fact.name: fact.value for fact in found_all if isinstance(fact, Setting) and fact.scope == "hosts"}
    assert hosts == {"localhost": "127.0.0.1", "lo4": "127.0.0.1", "m1": "10.0.0.1"}


def test_contexts() -> None:
    found = facts("drwxr-xr-x. root root system_u:object_r:bin_t:s0 /opt/cni/bin", "ls -ldZ /opt/cni/bin")
    assert [(f.name, f.value) for f in found if isinstance(f, Setting)] == [
        ("/opt/cni/bin", "system_u:object_r:bin_t:s0")
    ]
    assert [(f.folder, f.name) for f in found if isinstance(f, HostFile)] == [("/opt/cni", "bin")]


def test_secrets_are_not_carried_along() -> None:
    found = facts("users:\n- name: calico\n  user:\n    token: abc.def.ghi", "cat /etc/cni/net.d/calico-kubeconfig")
    assert found == []


def test_a_listing_of_where_the_prompt_stands() -> None:
    exhibit = Exhibit("e", 1, ("total 4", "-rw-r--r-- 1 root root 9 Jan 12 13:55 05-a.conf"), "m1", "ls -l")
    found = [fact for fact in files.read(exhibit._replace(folder="/etc/cni/net.d")) if isinstance(fact, HostFile)]
    assert [(fact.folder, fact.name) for fact in found] == [("/etc/cni/net.d", "05-a.conf")]


def test_stat_in_one_line() -> None:
    found = facts("/srv/a.key 2023-10-09 06:12:55.101020304 +0000", "stat -c '%n %y' /srv/*")
    assert isinstance(found[0], HostFile)
    assert (found[0].folder, found[0].name) == ("/srv", "a.key")
    assert found[0].modified is not None
