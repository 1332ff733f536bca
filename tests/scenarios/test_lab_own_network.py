"""A lab beside a machine's own network: nothing of it changes, not for a moment, with root and without."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.netns import Namespace

from tortie.host.netlink import Netlink, messages_in
from tortie.lab.fabric import Fabric
from tortie.lab.planning import plan as planned
from tortie.lab.topology import from_flags

TIMEOUT_S = 60.0
EVERYTHING = (
    *(0x1, 0x4, 0x8),  # groups of news: links, neighbours, traffic control
    *(0x10, 0x20, 0x40, 0x80, 0x100, 0x200, 0x400, 0x800),  # addresses, routes and rules of both families
)


def build_and_change_a_lab() -> None:
    fabric = Fabric()
    try:
        for nodes, racks in ((3, 0), (5, 2), (2, 0)):
            plan = planned(from_flags(nodes, racks, ipv6=True), "lab")
            fabric.apply(plan)
            fabric.apply(plan)
    finally:
        fabric.close()


def settings() -> dict[str, str]:
    """What `sysctl -a` says below net."""
    found = {}
    for folder, _, files in os.walk("/proc/sys/net"):
        for name in files:
            path = Path(folder, name)
            try:
                found[str(path)] = path.read_text()
            except OSError as error:
                found[str(path)] = str(error)
    return found


def told_by_ip() -> list[str]:
    words = (
        "addr",
        "link",
        "route show table all",
        "-6 route show table all",
        "rule",
        "-6 rule",
        "neigh show nud permanent",
    )
    return [subprocess.run(["ip", *each.split()], capture_output=True, text=True).stdout for each in words]


def heard_while_a_lab_is_built() -> tuple[int, list[bool]]:
    """How many news there were, and what is as it was before: what ip says, sysctls, the hostname, the namespace."""

    def state() -> list[Any]:
        return [told_by_ip(), settings(), os.uname().nodename, os.readlink("/proc/thread-self/ns/net")]

    news = 0
    with Netlink(sum(EVERYTHING)) as listener:
        before = state()
        build_and_change_a_lab()
        after = state()
        listener.socket.setblocking(False)
        try:
            while datagram := listener.socket.recv(1 << 18):
                news += len(list(messages_in(datagram)))
        except BlockingIOError:
            pass
    return news, [one == other for one, other in zip(before, after, strict=True)]


def test_the_machines_own_network_does_not_even_notice() -> None:
    """In a namespace of its own, where nobody else changes anything meanwhile."""
    with Namespace("machine") as machine, Namespace("uplink") as uplink:
        machine.veth("eth0", uplink, "port0")
        machine.ip("addr", "add", "10.77.0.1/24", "dev", "eth0", "nodad")  # the very addresses that the lab uses
        machine.ip("route", "add", "default", "via", "10.77.0.254")
        machine.run("sysctl", "-q", "-w", "net.ipv4.ip_forward=0", "net.ipv6.conf.all.forwarding=0")
        settle(machine)
        news, same = machine.call(heard_while_a_lab_is_built)
    assert news == 0
    assert same == [True, True, True, True]


def settle(machine: Namespace) -> None:
    """Until the link-local address is no longer tentative: that change would be news."""
    for _ in range(600):
        if "tentative" not in machine.ip("-6", "addr") and "state UP" in machine.ip("link", "show", "eth0"):
            return
        machine.run("sleep", "0.1")
    pytest.fail("eth0 does not come up")


def interrupted_at_every_moment() -> list[str]:
    """The namespace that this thread is in after each of many interruptions."""
    plan = planned(from_flags(3), "lab")
    seen = []
    for microseconds in range(200, 20_000, 200):
        fabric = Fabric()
        try:
            signal.signal(signal.SIGALRM, signal.default_int_handler)
            signal.setitimer(signal.ITIMER_REAL, microseconds / 1e6)
            try:
                fabric.apply(plan)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)  # it may ring even now, when the work has just been done
        except KeyboardInterrupt:
            seen.append(os.readlink("/proc/thread-self/ns/net") + os.readlink("/proc/thread-self/ns/uts"))
            assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()), "some signals are never heard again"
        finally:
            fabric.close()
    return seen


def test_an_interruption_never_leaves_the_process_in_a_machine_of_the_lab() -> None:
    def home() -> str:
        return os.readlink("/proc/thread-self/ns/net") + os.readlink("/proc/thread-self/ns/uts")

    with Namespace("machine") as machine:
        own = machine.call(home)
        seen = machine.call(interrupted_at_every_moment)
    assert len(seen) > 10
    assert set(seen) == {own}


WITHOUT_ROOT = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from tortie.host.namespaces import Inside, new_namespaces, user_namespace
from tortie.model.errors import TortieError
told = {"uid": os.getuid()}
own = os.open("/proc/self/ns/net", os.O_RDONLY)
for what, attempt in (("make", lambda: new_namespaces("net")), ("enter", lambda: Inside({"net": own}).__enter__())):
    try:
        attempt()
    except TortieError as error:
        told[what] = [error.what, error.why, error.fix]
user_namespace()
told["root_inside"] = [os.getuid(), os.getgid()]
told["left"] = os.fstat(own).st_ino != os.stat("/proc/self/ns/net").st_ino
from tests.support.fabric import ip, pings
from tortie.lab.fabric import Fabric
from tortie.lab.planning import plan
from tortie.lab.topology import from_flags
fabric = Fabric()
planned = plan(from_flags(4, 2, ipv6=True), "lab")
fabric.apply(planned)
told["again"] = bool(fabric.apply(planned))
places = {name: place.namespaces for name, place in fabric.places.items()}
told["pings"] = [pings(places["node-1"], str(cidr.ip)) for cidr in planned.machine("node-4").nics[0].addresses]
told["links"] = sorted(link["ifname"] for link in ip(places["router"], "link"))
told["own_links"] = sorted(os.listdir("/proc/self/net/dev_snmp6"))
fabric.apply(plan(from_flags(2), "lab"))
told["places"] = sorted(fabric.places)
fabric.close()
print(json.dumps(told))
"""


def test_without_root_in_a_user_namespace() -> None:
    checkout = Path(__file__).parent.parent.parent
    done = subprocess.run(
        [
            *("setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups", "--no-new-privs"),
            *(sys.executable, "-c", WITHOUT_ROOT, str(checkout)),
        ],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        cwd="/",
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["uid"] != 0
    refused = "Operation not permitted", "run as root; a container needs CAP_SYS_ADMIN for that"
    assert told["make"] == ["cannot make a namespace for a machine of the lab", *refused]
    assert told["enter"] == ["cannot enter a net namespace", *refused]
    assert told["root_inside"] == [0, 0]
    assert told["left"]
    assert told["again"] is False
    assert told["pings"] == [True, True]
    assert told["links"] == ["eth0", "eth1", "eth2", "lo"]
    assert told["own_links"] == ["lo"]
    assert told["places"] == ["node-1", "node-2", "router"]
