"""The kernel asked for real, in throw-away namespaces; and its files, where it is not to be asked."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.netns import Namespace, has_kind

from tortie.host.kernel import (
    ABSENT,
    BUILT_IN,
    FEATURES,
    LOADABLE,
    LOADED,
    UNKNOWN,
    KernelFiles,
    Sysctl,
    find_features,
    neighbours_known,
    read_sysctl,
    release,
    rp_filters,
)
from tortie.host.trial import try_features

IPIP = next(feature for feature in FEATURES if feature.name == "ipip")
VETH = next(feature for feature in FEATURES if feature.name == "veth")


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    with Namespace("check") as namespace:
        yield namespace


# Not ipip and dummy: `ip` would load them as modules, and leave an interface on the machine that runs the tests.
@pytest.mark.parametrize("kind", ["veth", "vxlan", "bridge", "wireguard"])
def test_links_are_found_where_ip_can_make_them(kind: str) -> None:
    assert try_features([kind])[kind].works == has_kind(kind)


def test_nf_tables_is_found_where_nft_can_make_a_table(namespace: Namespace) -> None:
    made = namespace.run("nft", "add", "table", "inet", "trial", check=False)
    assert try_features(["nf_tables"])["nf_tables"].works == (made.returncode == 0)


def test_trying_leaves_no_trace(namespace: Namespace) -> None:
    namespace.call(find_features)
    assert [link["ifname"] for link in namespace.json("link")] == ["lo"]
    assert namespace.run("nft", "list", "tables").stdout == ""


def test_every_feature_gets_an_answer() -> None:
    found = find_features()
    assert [finding.feature for finding in found] == list(FEATURES)
    assert all(finding.how for finding in found)


def test_a_kernel_that_does_not_answer_is_not_waited_for() -> None:
    tried = try_features(["veth", "vxlan"], timeout_s=0.001)
    assert {result.works for result in tried.values()} == {None}
    assert "no answer within" in tried["veth"].why


def kernel_files(root: Path, **files: str) -> KernelFiles:
    folder = root / "lib" / "modules" / "6.1.0"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return KernelFiles("6.1.0", str(root))


DEP = "kernel/net/ipv4/ipip.ko.xz: kernel/net/ipv4/tunnel4.ko.xz\nkernel/drivers/net/nf-conntrack.ko: \n"
BUILTIN = "kernel/drivers/net/veth.ko\n"


def test_what_would_leave_an_interface_on_the_host_is_only_looked_up(tmp_path: Path) -> None:
    """Loading ipip makes a tunl0 in the host's own namespace."""
    files = kernel_files(tmp_path, modules_dep=DEP, modules_builtin=BUILTIN)
    [finding] = find_features([IPIP], files)
    assert finding.present is True
    assert "not tried" in finding.how


def test_nothing_known_and_nothing_tried_is_no_answer(tmp_path: Path) -> None:
    [finding] = find_features([IPIP], kernel_files(tmp_path))
    assert finding.present is None
    assert finding.how


@pytest.mark.parametrize(
    ("module", "option", "expected"),
    [
        ("ipip", "CONFIG_NET_IPIP", LOADABLE),
        ("nf_conntrack", "CONFIG_NF_CONNTRACK", LOADABLE),  # the file has a dash
        ("veth", "CONFIG_VETH", BUILT_IN),
        ("vxlan", "CONFIG_VXLAN", ABSENT),
    ],
)
def test_files_of_a_distribution(tmp_path: Path, module: str, option: str, expected: str) -> None:
    files = kernel_files(tmp_path, modules_dep=DEP, modules_builtin=BUILTIN)
    assert files.has(module, option) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("CONFIG_VXLAN=y", BUILT_IN),
        ("CONFIG_VXLAN=m", LOADABLE),
        ("# CONFIG_VXLAN is not set", ABSENT),
        ("CONFIG_VXLAN_MORE=y", UNKNOWN),
    ],
)
@pytest.mark.parametrize("packed", [True, False])
def test_the_build_configuration_alone(tmp_path: Path, line: str, expected: str, packed: bool) -> None:
    """As in a container, which does not see the host's modules."""
    path = tmp_path / ("proc/config.gz" if packed else "boot/config-6.1.0")
    path.parent.mkdir()
    text = f"CONFIG_NET=y\n{line}\n".encode()
    path.write_bytes(gzip.compress(text) if packed else text)
    assert KernelFiles("6.1.0", str(tmp_path)).has("vxlan", "CONFIG_VXLAN") == expected


def test_a_module_whose_file_is_gone_is_absent(tmp_path: Path) -> None:
    """As after an update of the kernel's package, before the boot."""
    (tmp_path / "boot").mkdir()
    (tmp_path / "boot" / "config-6.1.0").write_text("CONFIG_VXLAN=m\n")
    assert kernel_files(tmp_path, modules_dep=DEP).has("vxlan", "CONFIG_VXLAN") == ABSENT


def test_a_damaged_configuration_tells_nothing(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "config.gz").write_bytes(gzip.compress(b"CONFIG_VXLAN=y\n" * 50)[:-12])
    assert KernelFiles("6.1.0", str(tmp_path)).has("vxlan", "CONFIG_VXLAN") == UNKNOWN


def test_a_loaded_module_is_seen(tmp_path: Path) -> None:
    (tmp_path / "sys" / "module" / "vxlan").mkdir(parents=True)
    assert KernelFiles("6.1.0", str(tmp_path)).has("vxlan", "CONFIG_VXLAN") == LOADED


def test_the_files_of_this_kernel_agree_with_what_it_does() -> None:
    known = KernelFiles(release()).has(VETH.module, VETH.option)
    works = try_features(["veth"])["veth"].works
    assert works == (known != ABSENT) or known == UNKNOWN


def write(name: str, value: str) -> None:
    Path("/proc/sys", *name.split(".")).write_text(value)


@pytest.mark.parametrize("value", ["0", "1"])
def test_a_setting_is_that_of_the_namespace(namespace: Namespace, value: str) -> None:
    def observe() -> Sysctl | None:
        write("net.ipv4.ip_forward", value)
        return read_sysctl("net.ipv4.ip_forward")

    assert namespace.call(observe) == Sysctl("net.ipv4.ip_forward", value, True)


def test_who_is_not_root_cannot_tell_whether_a_setting_may_be_changed(namespace: Namespace) -> None:
    def observe() -> Sysctl | None:
        os.setuid(65534)
        return read_sysctl("net.ipv4.ip_forward")

    found = namespace.call(observe)
    assert found
    assert found.writable is None


def test_a_setting_that_this_namespace_does_not_have(namespace: Namespace) -> None:
    assert namespace.call(read_sysctl, "net.ipv4.neigh.default.gc_thresh3") is None
    assert read_sysctl("net.ipv4.neigh.no_such_interface.gc_thresh3") is None


def test_rp_filter_of_every_interface(namespace: Namespace) -> None:
    namespace.dummy("uplink0")

    def observe() -> dict[str, str]:
        for name, value in (("all", "1"), ("default", "0"), ("uplink0", "2")):
            write(f"net.ipv4.conf.{name}.rp_filter", value)
        return rp_filters()

    found = namespace.call(observe)
    assert list(found)[:2] == ["all", "default"]
    assert (found["all"], found["default"], found["uplink0"]) == ("1", "0", "2")
    assert "lo" in found


def test_neighbours_are_counted(namespace: Namespace) -> None:
    namespace.dummy("uplink0")
    namespace.ip("addr", "add", "10.0.0.1/24", "dev", "uplink0")
    before = namespace.call(neighbours_known)
    for last in (2, 3, 4):
        namespace.ip("neigh", "add", f"10.0.0.{last}", "lladdr", f"02:00:00:00:00:0{last}", "dev", "uplink0")
    assert namespace.call(neighbours_known) == before + 3
