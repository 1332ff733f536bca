"""Each check on its own: what was seen decides the verdict, and a verdict that is not OK comes with its fix."""

from __future__ import annotations

from typing import Any

import pytest

from tortie.addressing.choice import Message
from tortie.host.kernel import FEATURES, Finding, Sysctl
from tortie.host.loopback import Loopback, Resolved
from tortie.host.ports import Holder
from tortie.host.system import Clock, Folder, Load, Memory, Program, SwapArea
from tortie.node.checks import Check, Result, kernel, machine, network, verdict
from tortie.node.name import InvalidName, NodeName
from tortie.node.settings import read_node_settings

FEATURE = {feature.name: feature for feature in FEATURES}
MB = 1024 * 1024
NOON = 1_800_000_000.0  # 2027-01-15


def judged(check: Check, result: Result, *words: str) -> None:
    """The verdict, words that what was seen or the fix must have, and a fix wherever something is wrong."""
    assert check.result == result, check
    for word in words:
        assert word in f"{check.seen}\n{check.fix}", check
    assert bool(check.fix) or result in ("OK", "SKIP"), check
    assert check.seen


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ((), "ok"),
        (("OK", "SKIP"), "ok"),
        (("OK", "WARN", "SKIP"), "warn"),
        (("WARN", "FAIL", "OK"), "fail"),
    ],
)
def test_the_worst_decides_and_what_was_skipped_is_no_fault(results: tuple[Result, ...], expected: str) -> None:
    assert verdict([Check("name", "group", result, "seen") for result in results]) == expected


@pytest.mark.parametrize(
    ("release", "result"),
    [
        ("6.18.44-fc-v445", "OK"),
        ("3.10.0-1160.el7.x86_64", "OK"),
        ("3.9.11", "FAIL"),
        ("2.6.32-754.el6", "FAIL"),
        ("4.4", "OK"),
        ("Darwin", "SKIP"),
    ],
)
def test_kernel_version(release: str, result: Result) -> None:
    judged(kernel.version(release), result, release)


@pytest.mark.parametrize(
    ("name", "present", "result", "words"),
    [
        ("veth", True, "OK", ()),
        ("vxlan", False, "FAIL", ("modprobe vxlan", "CONFIG_VXLAN", "/etc/modules-load.d")),
        ("veth", False, "FAIL", ("CONFIG_VETH",)),
        ("nf_tables", False, "FAIL", ("CONFIG_NF_TABLES",)),
        ("ipip", False, "WARN", ("ipipMode", "CONFIG_NET_IPIP")),
        ("wireguard", False, "WARN", ("encryption", "CONFIG_WIREGUARD")),
        ("dummy", False, "OK", ("missing",)),
        ("ip_set", False, "OK", ("missing", "iptables")),
        ("vxlan", None, "SKIP", ("root", "modprobe --dry-run vxlan")),
    ],
)
def test_kernel_feature(name: str, present: bool | None, result: Result, words: tuple[str, ...]) -> None:
    judged(kernel.feature(Finding(FEATURE[name], present, "how it was found")), result, "how it was found", *words)


def test_every_feature_that_is_looked_for_is_judged() -> None:
    assert set(kernel.NEEDS) == set(FEATURE)


IP_FORWARD = "net.ipv4.ip_forward"


@pytest.mark.parametrize(
    ("sysctl", "result", "words"),
    [
        (Sysctl(IP_FORWARD, "1", True), "OK", ()),
        (Sysctl(IP_FORWARD, "0", True), "WARN", ("Felix sets it", f"sysctl -w {IP_FORWARD}=1", "/etc/sysctl.d/")),
        (Sysctl(IP_FORWARD, "0", None), "WARN", ()),
        (Sysctl(IP_FORWARD, "0", False), "FAIL", ("read-only", "on the host")),
        (None, "SKIP", ()),
    ],
)
def test_forwarding_is_fatal_only_where_nobody_can_turn_it_on(
    sysctl: Sysctl | None, result: Result, words: tuple[str, ...]
) -> None:
    judged(kernel.forwarding(sysctl, IP_FORWARD), result, IP_FORWARD, *words)


def test_ipv6_that_is_wanted_but_not_there() -> None:
    judged(kernel.ipv6(True), "OK")
    judged(kernel.ipv6(False), "FAIL", "ipv6.disable=1", "IP6=none")


@pytest.mark.parametrize(
    ("values", "result", "words"),
    [
        ({"all": "0", "default": "0", "eth0": "0"}, "OK", ("off (0)",)),
        ({"all": "1", "default": "1", "eth0": "0"}, "OK", ("off (0) and strict (1)",)),
        ({"all": "2", "default": "0"}, "WARN", ("all", "v3.11", "net.ipv4.conf.all.rp_filter=1")),
        ({"all": "0", "default": "2"}, "WARN", ("net.ipv4.conf.default.rp_filter=1",)),
        ({"all": "0", "default": "0", "eth0": "2"}, "WARN", ("net.ipv4.conf.eth0.rp_filter=1",)),
        ({f"eth{number}": "2" for number in range(9)}, "WARN", ("eth0", "and 5 more")),
        ({}, "SKIP", ()),
    ],
)
def test_rp_filter_loose_is_a_warning(values: dict[str, str], result: Result, words: tuple[str, ...]) -> None:
    judged(kernel.rp_filter(values), result, *words)


@pytest.mark.parametrize(
    ("most", "used", "result"),
    [("262144", "100", "OK"), ("1000", "900", "WARN"), ("1000", "899", "OK"), ("0", "5", "OK"), (None, None, "OK")],
)
def test_conntrack_table(most: str | None, used: str | None, result: Result) -> None:
    limit = None if most is None else Sysctl("net.netfilter.nf_conntrack_max", most, True)
    count = None if used is None else Sysctl("net.netfilter.nf_conntrack_count", used, True)
    judged(kernel.conntrack(limit, count), result)


@pytest.mark.parametrize(
    ("limit", "used", "result"),
    [("1024", 100, "OK"), ("512", 1, "WARN"), ("1024", 900, "WARN"), ("8192", 900, "OK"), (None, 0, "SKIP")],
)
def test_neighbour_table(limit: str | None, used: int, result: Result) -> None:
    sysctl = None if limit is None else Sysctl("net.ipv4.neigh.default.gc_thresh3", limit, True)
    judged(kernel.neighbours(sysctl, used), result)


HEALTH = network.Port(9099, "health", "set FELIX_HEALTHPORT to another one")


@pytest.mark.parametrize(
    ("holders", "refusal", "result", "words"),
    [
        ((), None, "OK", ("free",)),
        ((Holder(7, "nginx", "0.0.0.0", "nginx -g"),), None, "FAIL", ("held by", "FELIX_HEALTHPORT")),
        ((Holder(7, "calico-felix", "127.0.0.1", "calico-felix"),), None, "WARN", ("a node already runs here",)),
        ((Holder(7, "python3", "127.0.0.1", "python3 -m tortie node run"),), None, "WARN", ("a node already runs",)),
        ((Holder(7, "tortie", "127.0.0.1", "python /usr/bin/tortie node run"),), None, "WARN", ()),
        ((Holder(7, "calico-node", "127.0.0.1", "calico-node -felix"),), None, "WARN", ()),
        ((Holder(7, "calico", "127.0.0.1", "calico component felix"),), None, "WARN", ()),
        ((Holder(7, "bird", "0.0.0.0", "bird -c /etc/calico/confd/config/bird.cfg"),), None, "WARN", ()),
        ((Holder(7, "bird", "0.0.0.0", "/usr/sbin/bird -f -u bird -g bird"),), None, "FAIL", ()),
        ((Holder(7, "calico-felix", "127.0.0.1"), Holder(8, "nginx", "::")), None, "FAIL", ()),
        ((Holder(0, "", "127.0.0.1"),), None, "FAIL", ()),
        ((), network.Refusal(True, "Address already in use"), "FAIL", ("cannot be seen", "ss -antp 'sport = :9099'")),
        ((), network.Refusal(False, "Permission denied"), "OK", ("Permission denied",)),
    ],
)
def test_port_free_held_by_a_stranger_or_by_a_node(
    holders: tuple[Holder, ...], refusal: network.Refusal | None, result: Result, words: tuple[str, ...]
) -> None:
    judged(network.port(HEALTH, holders, "its holder", refusal), result, *words)


def test_port_that_matters_less_or_not_at_all() -> None:
    stranger = (Holder(7, "nginx", "0.0.0.0"),)
    judged(network.port(HEALTH._replace(taken="WARN"), stranger, "nginx", None), "WARN", "nginx")
    judged(network.port(HEALTH._replace(unneeded="the backend is vxlan"), stranger, "nginx", None), "OK", "vxlan")


@pytest.mark.parametrize(
    ("addresses", "failure", "health_host", "result", "words"),
    [
        (("127.0.0.1",), "", "localhost", "OK", ()),
        (("::1", "127.0.0.1"), "", "localhost", "OK", ()),
        (("127.0.1.1",), "", "localhost", "OK", ()),
        ((), "Name or service not known", "localhost", "FAIL", ("Name or service", "127.0.0.1 localhost", "nsswitch")),
        (("192.168.99.7",), "", "localhost", "FAIL", ("192.168.99.7", "FELIX_HEALTHHOST=127.0.0.1")),
        (("127.0.0.1", "192.168.99.7"), "", "localhost", "FAIL", ("192.168.99.7 is not",)),
        (("::1",), "", "localhost", "FAIL", ("::1 only",)),
        (("::1",), "", "127.0.0.1", "WARN", ()),
        ((), "no answer within 4 s", "127.0.0.1", "WARN", ("no answer within 4 s",)),
    ],
)
def test_localhost(
    addresses: tuple[str, ...], failure: str, health_host: str, result: Result, words: tuple[str, ...]
) -> None:
    judged(network.localhost(Resolved(addresses, failure), health_host), result, *words)


@pytest.mark.parametrize(
    ("seen", "result", "words"),
    [
        (Loopback(True, ""), "OK", ()),
        (Loopback(False, "Network is unreachable"), "FAIL", ("lo is down", "ip link set lo up")),
        (Loopback(True, "Network is unreachable"), "FAIL", ("lo is up", "ip addr add 127.0.0.1/8 dev lo")),
        (Loopback(None, "Network is unreachable"), "FAIL", ("no interface lo",)),
    ],
)
def test_loopback(seen: Loopback, result: Result, words: tuple[str, ...]) -> None:
    judged(network.loopback(seen), result, *words)


def test_nodename() -> None:
    judged(network.nodename(NodeName("node-1", "NODENAME")), "OK", "node-1", "NODENAME")
    recommended = Message("warning", "Using auto-detected node name. It is recommended that ...")
    judged(network.nodename(NodeName("vm", "hostname", (recommended,))), "OK", "the host's own name")
    renamed = Message("warning", "This node was called old-1 at its last start.")
    judged(network.nodename(NodeName("node-1", "NODENAME", (renamed,))), "WARN", "old-1")
    refused = InvalidName("the node cannot be called 'X'", "no capital letters", "set NODENAME to x")
    judged(network.nodename(NodeName("X", "NODENAME", (), (refused,))), "FAIL", "capital", "set NODENAME to x")


def test_settings() -> None:
    fine = read_node_settings({"NODENAME": "node-1"})
    assert (fine.refused, fine.warnings) == ((), ())
    judged(network.environment(fine), "OK")
    judged(network.environment(read_node_settings({"FELIX_HEALTHPORT": "ninety"})), "FAIL", "FELIX_HEALTHPORT=ninety")
    doubtful = read_node_settings({"CALICO_IPV4POOL_CIRD": "10.0.0.0/8"})
    judged(network.environment(doubtful), "WARN", "CALICO_IPV4POOL_CIRD", "CALICO_IPV4POOL_CIDR")


def test_swap_is_told_with_the_fix_that_survives_a_reboot() -> None:
    judged(machine.swap(()), "OK")
    judged(machine.swap(None), "SKIP")
    check = machine.swap((SwapArea("/dev/sda3", "partition", 4 * 1024 * 1024),))
    judged(check, "WARN", "/dev/sda3 (4.0 GB)", "kubelet", "swapoff -a", "systemctl mask 'dev-sda3.swap'", "GPT")


@pytest.mark.parametrize(
    ("path", "unit"),  # as systemd-escape --path --suffix=swap has it
    [
        ("/dev/sda3", "dev-sda3.swap"),
        ("/swapfile", "swapfile.swap"),
        ("/dev/mapper/vg-swap", r"dev-mapper-vg\x2dswap.swap"),
        ("/var/my swap.img", r"var-my\x20swap.img.swap"),
        ("/.swap", r"\x2eswap.swap"),
    ],
)
def test_swap_units_are_named_as_systemd_names_them(path: str, unit: str) -> None:
    assert machine.swap_unit(path) == unit


@pytest.mark.parametrize(
    ("now", "installed", "files", "result", "words"),
    [
        (NOON, NOON - 9e6, {}, "OK", ("2027-01-15",)),
        (NOON, NOON - 9e6, {"nodename": NOON - 5, "store.db": None}, "OK", ()),
        (NOON, None, {"nodename": NOON + 60}, "OK", ()),
        (NOON, None, {"nodename": NOON + 7200}, "WARN", ("nodename", "set back", "chrony")),
        (NOON - 9e6, NOON, {}, "WARN", ("before this program was installed (2027-01-15",)),
        (0.0, None, {}, "WARN", ("1970-01-01", "certificates")),
        (NOON, None, {"nodename": 1e17}, "WARN", ("100000000000000000 seconds after 1970",)),
    ],
)
def test_date(
    now: float, installed: float | None, files: dict[str, float | None], result: Result, words: tuple[str, ...]
) -> None:
    judged(machine.date(now, installed, files), result, *words)


@pytest.mark.parametrize(("synchronised", "result"), [(True, "OK"), (False, "WARN"), (None, "SKIP")])
def test_clock_as_the_kernel_sees_it(synchronised: bool | None, result: Result) -> None:
    judged(machine.synchronised(Clock(NOON, synchronised, "why not")), result)


def test_memory() -> None:
    judged(machine.memory(Memory(8192 * MB, 128 * MB)), "OK", "128 MB of 8.0 GB")
    judged(machine.memory(Memory(8192 * MB, 127 * MB)), "WARN", "127 MB")
    judged(machine.memory(None), "SKIP")


def test_load_of_incident_one_is_noticed() -> None:
    judged(machine.load(Load(8.0, 8.0, 8.0, cores=2)), "OK", "2 cores")
    judged(machine.load(Load(97.3, 80.0, 40.0, cores=8)), "WARN", "97.30", "8 cores", "liveness")
    judged(machine.load(Load(4.5, 0.0, 0.0, cores=1)), "WARN", "1 core")
    judged(machine.load(None), "SKIP")


@pytest.mark.parametrize(
    ("shares", "result", "words"),
    [
        ({"cpu": {"some": 10.0, "full": 0.0}}, "OK", ("cpu 10 %",)),
        ({"cpu": {"some": 80.0}}, "WARN", ("cpu",)),
        ({"cpu": {"some": 0.0}, "memory": {"some": 99.0, "full": 26.0}}, "WARN", ("memory (full 26 %)",)),
        ({"io": {"some": 99.0, "full": 51.0}}, "WARN", ("io (full 51 %)",)),
        ({"io": {"some": 99.0, "full": 10.0}}, "OK", ()),
    ],
)
def test_pressure(shares: dict[str, dict[str, float]], result: Result, words: tuple[str, ...]) -> None:
    judged(machine.pressure(shares), result, *words)


def folder(**changes: Any) -> Folder:
    return Folder("/var/lib/calico", True, "", False, "/var/lib/calico", 1, 500 * MB)._replace(**changes)


@pytest.mark.parametrize(
    ("found", "result", "words"),
    [
        (folder(), "OK", ("writable",)),
        (folder(exists=False, tried="/var/lib"), "OK", ("can be made in /var/lib",)),
        (folder(trouble="Read-only file system", read_only=True), "FAIL", ("read-only", "remount,rw")),
        (folder(trouble="Permission denied"), "FAIL", ("Permission denied", "root")),
        (folder(trouble="not a folder", exists=False, tried="/var/lib"), "FAIL", ("move the file /var/lib away",)),
        (folder(trouble="No space left on device"), "FAIL", ("No space left",)),
    ],
)
def test_folder(found: Folder, result: Result, words: tuple[str, ...]) -> None:
    judged(machine.folder(found, "/var/lib/calico"), result, *words)


@pytest.mark.parametrize(
    ("free", "names", "result"),
    [
        (100 * MB, ("/var/lib/calico",), "OK"),
        (99 * MB, ("/var/lib/calico",), "WARN"),
        (99 * MB, ("/run/tortie", "/var/run/calico"), "OK"),
        (9 * MB, ("/run/tortie",), "WARN"),
        (50 * MB, ("/run/tortie", "/var/lib/calico"), "WARN"),
        (None, ("/run/tortie",), "SKIP"),
    ],
)
def test_space_is_judged_by_what_has_to_fit(free: int | None, names: tuple[str, ...], result: Result) -> None:
    judged(machine.space(folder(free=free), names), result)


@pytest.mark.parametrize(
    ("program", "backend", "result", "words"),
    [
        (Program("/usr/sbin/bird", "BIRD version 2.0.12"), "bird", "OK", ("2.0.12", "/usr/sbin/bird")),
        (Program("/usr/sbin/bird", "BIRD version v3.1.0"), "bird", "OK", ("3.1.0",)),
        (Program("/usr/sbin/bird", "BIRD version 1.6.8"), "bird", "WARN", ("1.6.8", "bird2")),
        (None, "bird", "FAIL", ("apt-get install bird2",)),
        (None, "vxlan", "OK", ("CALICO_NETWORKING_BACKEND=vxlan",)),
        (None, "none", "OK", ()),
        (Program("/usr/sbin/bird", "", "no answer within 5 s"), "bird", "FAIL", ("no answer",)),
        (Program("/usr/sbin/bird", "", "no answer within 5 s"), "none", "WARN", ()),
        (Program("/usr/bin/bird", "a chirping toy\nusage"), "bird", "WARN", ("a chirping toy",)),
    ],
)
def test_bird(program: Program | None, backend: str, result: Result, words: tuple[str, ...]) -> None:
    judged(machine.bird(program, backend), result, *words)
