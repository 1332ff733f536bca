"""`tortie cni install` and `uninstall` as people and init containers run them."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.support.cli import COMMAND, Ran, Tortie, assert_three_lines
from tests.support.nobody import as_nobody, folder_of_nobody

TEMPLATE = """{
  "name": "k8s-pod-network",
  "cniVersion": "0.3.1",
  "plugins": [
    {
      "type": "calico",
      "log_level": "__LOG_LEVEL__",
      "datastore_type": "kubernetes",
      "nodename": "__KUBERNETES_NODE_NAME__",
      "mtu": __CNI_MTU__,
      "ipam": {"type": "calico-ipam"},
      "policy": {"type": "k8s", "k8s_auth_token": "__SERVICEACCOUNT_TOKEN__"},
      "kubernetes": {"kubeconfig": "__KUBECONFIG_FILEPATH__"}
    },
    {"type": "portmap", "snat": true, "capabilities": {"portMappings": true}}
  ]
}"""
PLUGINS = ("tortie", "calico", "calico-ipam", "loopback")
TOKEN = "eyJhbGciOi.a-token-that-nobody-may-see"


class Machine:
    """A root folder, and a shell whose commands install into it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.bin = self.root / "opt/cni/bin"
        self.conf = self.root / "etc/cni/net.d"
        self.shell = Tortie(folder)

    def install(self, *words: str, **variables: str) -> Ran:
        self.shell.variables = variables or {"TORTIE_STORE": "/nowhere"}
        return self.shell("cni", "install", "--root", str(self.root), *words)

    def states(self, *words: str, **variables: str) -> dict[str, str]:
        ran = self.install("-o", "json", *words, **variables)
        return {os.path.basename(file["path"]): file["state"] for file in ran.json["files"]}

    def configuration(self, name: str = "10-calico.conflist") -> Any:
        return json.loads((self.conf / name).read_text())

    def programs(self, *names: str) -> None:
        self.bin.mkdir(parents=True, exist_ok=True)
        for name in names:
            (self.bin / name).write_text("#!/bin/true\n")
            (self.bin / name).chmod(0o755)

    def account(self) -> dict[str, str]:
        """What a pod of the cluster has."""
        folder = self.root.parent / "account"
        folder.mkdir(exist_ok=True)
        (folder / "token").write_text(TOKEN)
        (folder / "ca.crt").write_text("-----BEGIN CERTIFICATE-----\n")
        return {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_an_empty_machine_gets_plugins_and_a_configuration_whatever_the_umask(machine: Machine) -> None:
    before = os.umask(0o077)
    try:
        ran = machine.install()
    finally:
        os.umask(before)
    assert (ran.code, ran.stderr) == (0, "")
    assert [mode(machine.bin / name) for name in PLUGINS] == [0o755] * 4
    assert mode(machine.conf / "10-calico.conflist") == 0o644
    assert [plugin["type"] for plugin in machine.configuration()["plugins"]] == ["calico"]
    assert ran.stdout.splitlines()[-1] == "Done configuring CNI: 5 files changed."
    assert sorted(path.name for path in machine.conf.iterdir()) == ["10-calico.conflist"]


def test_the_installed_plugin_answers_without_tortie_and_without_the_agent(machine: Machine) -> None:
    machine.install()
    asked = {"CNI_COMMAND": "VERSION", "PATH": "/usr/bin:/bin"}
    for name in PLUGINS[:3]:
        done = subprocess.run(
            [machine.bin / name],
            env=asked,
            input=b'{"cniVersion":"0.3.1"}',
            capture_output=True,
            check=True,
            timeout=60,
        )
        assert "0.3.1" in json.loads(done.stdout)["supportedVersions"]
    asked |= {"CNI_COMMAND": "ADD", "CNI_CONTAINERID": "c1", "CNI_NETNS": "/proc/self/ns/net", "CNI_IFNAME": "eth0"}
    done = subprocess.run(
        [machine.bin / "calico"],
        env=asked,
        input=(machine.conf / "10-calico.conflist").read_bytes(),
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode != 0
    assert str(machine.root / "run/tortie/cni.sock") in done.stdout.decode()


def test_a_second_run_touches_nothing_and_says_so(machine: Machine) -> None:
    machine.install("--mtu", "1450")
    files = [*(machine.bin / name for name in PLUGINS), machine.conf / "10-calico.conflist"]
    before = [(file.stat().st_ino, file.stat().st_mtime_ns) for file in files]
    ran = machine.install("--mtu", "1450")
    assert ran.code == 0
    assert ran.stdout.splitlines()[-1] == "Nothing to change: all is as it should be."
    assert [(file.stat().st_ino, file.stat().st_mtime_ns) for file in files] == before


def test_what_is_not_right_is_put_right_and_only_that(machine: Machine) -> None:
    machine.install()
    (machine.bin / "calico").write_bytes(b"\x7fELF" + bytes(100_000))
    (machine.bin / "tortie").chmod(0o644)
    states = machine.states()
    assert states == {
        "tortie": "updated",
        "calico": "updated",
        "calico-ipam": "unchanged",
        "loopback": "unchanged",
        "10-calico.conflist": "unchanged",
    }
    assert [mode(machine.bin / name) for name in PLUGINS] == [0o755] * 4
    assert (machine.bin / "calico").read_bytes() == (machine.bin / "tortie").read_bytes()


def test_a_link_in_a_plugins_place_is_replaced_and_what_it_leads_to_stays(machine: Machine, tmp_path: Path) -> None:
    theirs = tmp_path / "calico-of-a-package"
    theirs.write_text("theirs")
    machine.bin.mkdir(parents=True)
    (machine.bin / "calico").symlink_to(theirs)
    assert machine.states()["calico"] == "updated"
    assert theirs.read_text() == "theirs"
    assert not (machine.bin / "calico").is_symlink()
    assert sorted(path.name for path in machine.bin.iterdir()) == sorted(PLUGINS)


def test_the_template_of_calicos_manifest_is_filled(machine: Machine) -> None:
    machine.programs("portmap")
    variables = machine.account() | {
        "CNI_NETWORK_CONFIG": TEMPLATE,
        "CNI_MTU": "1430",
        "KUBERNETES_NODE_NAME": 'quoted"node',
        "CNI_NET_DIR": "/etc/cni/net.d",
    }
    ran = machine.install("--service-account", str(machine.root.parent / "account"), **variables)
    assert (ran.code, ran.stderr) == (0, "")
    calico = machine.configuration()["plugins"][0]
    assert (calico["mtu"], calico["log_level"], calico["nodename"]) == (1430, "warn", 'quoted"node')
    assert calico["kubernetes"]["kubeconfig"] == "/etc/cni/net.d/calico-kubeconfig"
    assert calico["policy"]["k8s_auth_token"] == TOKEN
    assert mode(machine.conf / "10-calico.conflist") == 0o600  # the token is in it
    assert TOKEN not in ran.stdout + ran.stderr


def test_inside_of_a_cluster_a_kubeconfig_is_written_that_only_root_may_read(machine: Machine) -> None:
    words = ("--service-account", str(machine.root.parent / "account"))
    variables = machine.account() | {"KUBERNETES_SERVICE_HOST": "fd00::1"}
    ran = machine.install(*words, **variables)
    kubeconfig = machine.conf / "calico-kubeconfig"
    assert (ran.code, mode(kubeconfig)) == (0, 0o600)
    text = kubeconfig.read_text()
    assert 'server: "https://[fd00::1]:443"' in text
    assert "certificate-authority-data" in text
    assert TOKEN in text
    assert TOKEN not in ran.stdout + ran.stderr
    calico = machine.configuration()["plugins"][0]
    assert calico["kubernetes"]["kubeconfig"] == str(kubeconfig)
    machine.install(*words, **variables, SKIP_TLS_VERIFY="true")
    assert "insecure-skip-tls-verify: true" in kubeconfig.read_text()


def test_a_cluster_without_a_token_is_told(machine: Machine) -> None:
    ran = machine.install("--service-account", "/nowhere", KUBERNETES_SERVICE_HOST="10.96.0.1")
    assert ran.code == 4
    assert "warning: no kubeconfig is written" in ran.stderr
    assert not (machine.conf / "calico-kubeconfig").exists()


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ('{"name": "x", "plugins": [}', "not valid JSON"),
        ('{"name": "x", "plugins": []}', "at least one plugin"),
        ('{"name": "x", "plugins": [{"type": "calico", "mtu": "1500"}]}', "plugins[0].mtu"),
        ('{"name": "x", "plugins": [{"ipam": {}}]}', "plugins[0].type"),
        ('{"plugins": [{"type": "calico"}]}', "name"),
        ('["calico"]', "is not a CNI configuration"),
        ('{"name": "x", "plugins": [{"type": "calico", "mtu": __CNI_MTV__}]}', "did you mean __CNI_MTU__"),
    ],
)
def test_a_template_that_makes_no_sense_is_refused_before_anything_is_written(
    machine: Machine, template: str, why: str
) -> None:
    machine.install()
    before = (machine.conf / "10-calico.conflist").read_bytes()
    (machine.bin / "calico").unlink()
    ran = machine.install(CNI_NETWORK_CONFIG=template)
    assert_three_lines(ran, 2)
    assert why in ran.stderr
    assert (machine.conf / "10-calico.conflist").read_bytes() == before
    assert not (machine.bin / "calico").exists()


def test_flags_win_over_the_environment(machine: Machine) -> None:
    file = machine.root.parent / "template.json"
    file.write_text('{"name": "from-file", "plugins": [{"type": "calico", "mtu": __CNI_MTU__}]}')
    variables = {"CNI_NETWORK_CONFIG": "nonsense", "CNI_CONF_NAME": "20-b.conflist", "CNI_MTU": "9000"}
    ran = machine.install("--template", str(file), "--conf-name", "05-a.conflist", "--mtu", "1400", **variables)
    assert ran.code == 0
    assert machine.configuration("05-a.conflist") == {"name": "from-file", "plugins": [{"type": "calico", "mtu": 1400}]}


@pytest.mark.parametrize(
    ("words", "variables"),
    [
        (("--mtu", "wide"), {}),
        (("--mtu", "70000"), {}),
        (("--conf-name", "../10-calico.conflist"), {}),
        ((), {"CNI_CONF_NAME": "calico"}),
        ((), {"UPDATE_CNI_BINARIES": "maybe"}),
        (("-o", "yaml"), {}),
        (("--python", "python 3"), {}),
    ],
)
def test_settings_that_cannot_be_meant(machine: Machine, words: tuple[str, ...], variables: dict[str, str]) -> None:
    ran = machine.install(*words, **variables)
    assert_three_lines(ran, 2)
    assert not machine.root.exists()


def test_the_old_configuration_goes_when_the_new_one_is_in_place(machine: Machine) -> None:
    machine.conf.mkdir(parents=True)
    (machine.conf / "05-old.conflist").write_text('{"name": "old", "plugins": [{"type": "calico"}]}')
    states = machine.states(CNI_OLD_CONF_NAME="05-old.conflist")
    assert list(states.items())[-2:] == [("10-calico.conflist", "created"), ("05-old.conflist", "removed")]
    assert sorted(path.name for path in machine.conf.iterdir()) == ["10-calico.conflist"]
    assert machine.states(CNI_OLD_CONF_NAME="10-calico.conflist")["10-calico.conflist"] == "unchanged"


def test_an_old_configuration_stays_when_the_new_one_cannot_be_written(machine: Machine) -> None:
    (machine.conf / "10-calico.conflist").mkdir(parents=True)
    (machine.conf / "05-old.conflist").write_text("{}")
    ran = machine.install(CNI_OLD_CONF_NAME="05-old.conflist")
    assert_three_lines(ran, 1)
    assert (machine.conf / "05-old.conflist").exists()


def test_another_networks_configuration_that_comes_first_is_told(machine: Machine) -> None:
    machine.conf.mkdir(parents=True)
    flannel = {"name": "cbr0", "plugins": [{"type": "flannel"}]}
    (machine.conf / "05-flannel.conflist").write_text(json.dumps(flannel))
    (machine.conf / "00-notes.txt").write_text("not read by runtimes")
    ran = machine.install("-o", "json")
    assert ran.code == 4
    assert (ran.json["apiVersion"], ran.json["kind"]) == ("tortie/v1", "CNIInstalled")
    (warning,) = ran.json["warnings"]
    assert warning["what"] == "05-flannel.conflist is used instead of 10-calico.conflist"
    assert "'cbr0'" in warning["why"]
    assert f"mv {machine.conf}/05-flannel.conflist" in warning["fix"]


def test_plugins_that_the_configuration_names_and_nobody_has_are_told(machine: Machine) -> None:
    ran = machine.install(CNI_NETWORK_CONFIG=TEMPLATE.replace("__SERVICEACCOUNT_TOKEN__", ""))
    assert ran.code == 4
    assert f"{machine.bin} has no portmap" in ran.stderr
    assert "names it, so that every pod will fail until it is there" in ran.stderr
    two = TEMPLATE.replace('"portmap"', '"portmap"}, {"type": "bandwidth"')
    machine.install(CNI_NETWORK_CONFIG=two)
    again = machine.install(CNI_NETWORK_CONFIG=two)
    assert (again.code, again.stdout.splitlines()[-1]) == (4, "Nothing to change.")
    assert "names them, so that every pod will fail until they are there" in again.stderr
    assert "install them (Debian" in again.stderr
    machine.programs("portmap", "bandwidth")
    assert machine.install().code == 0
    chained = [plugin["type"] for plugin in machine.configuration()["plugins"]]
    assert chained == ["calico", "portmap", "bandwidth"]


def test_plugins_may_be_left_out_or_left_as_they_are(machine: Machine) -> None:
    machine.programs("calico", "calico-ipam")
    states = machine.states(SKIP_CNI_BINARIES="tortie,loopback,flannel", UPDATE_CNI_BINARIES="false")
    assert [states[name] for name in PLUGINS] == ["skipped"] * 4
    assert (machine.bin / "calico").read_text() == "#!/bin/true\n"
    assert not (machine.bin / "tortie").exists()


def test_a_container_with_the_machines_folders_mounted(machine: Machine) -> None:
    for name in ("host/opt/cni/bin", "host/secondary-bin-dir", "host/etc/cni/net.d"):
        (machine.root / name).mkdir(parents=True)
    ran = machine.install("-o", "json")
    folders = {os.path.dirname(file["path"]) for file in ran.json["files"]}
    expected = ("host/opt/cni/bin", "host/secondary-bin-dir", "host/etc/cni/net.d")
    assert folders == {str(machine.root / name) for name in expected}
    assert not machine.bin.exists()


def test_one_folder_that_can_be_written_is_enough_and_none_is_an_error(machine: Machine) -> None:
    machine.root.mkdir()
    (machine.root / "file").write_text("in the way of a folder")
    ran = machine.install("--bin-dir", "/file/bin", "--bin-dir", "/good/bin")
    assert ran.code == 4
    assert f"warning: {machine.root}/file/bin is not writeable, skipping" in ran.stderr
    assert (machine.root / "good/bin/calico").exists()
    ran = machine.install("--bin-dir", "/file/bin", "--conf-dir", "/other")
    assert_three_lines(ran, 1)
    assert "found no writeable directory, exiting" in ran.stderr
    assert not (machine.root / "other").exists()  # no configuration without plugins


def test_an_ordinary_user_is_told_what_is_missing(tmp_path: Path) -> None:
    theirs = folder_of_nobody(tmp_path)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(folder.stat().st_mode | 0o055)
    root = tmp_path / "root"
    root.mkdir()
    command = [*as_nobody(tmp_path), str(COMMAND), "cni", "install", "--root", str(root)]
    done = subprocess.run(
        command, cwd=theirs, capture_output=True, text=True, check=False, timeout=120, env={"PATH": os.environ["PATH"]}
    )
    assert_three_lines(Ran(done.returncode, done.stdout, done.stderr), 1)
    assert "ermission denied" in done.stderr
    assert "run as root" in done.stderr


def test_a_dry_run_writes_nothing(machine: Machine) -> None:
    ran = machine.install("--dry-run")
    assert ran.code == 0
    assert "to create" in ran.stdout
    assert ran.stdout.splitlines()[-1] == "Dry run: 5 files would change, nothing was written."
    assert not machine.root.exists()


@pytest.mark.timeout(120)
def test_whoever_reads_while_it_is_written_sees_the_old_or_the_new(machine: Machine) -> None:
    machine.install("--mtu", "1400")
    file = machine.conf / "10-calico.conflist"
    torn: list[bytes] = []
    seen: set[int] = set()
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            content = file.read_bytes()
            try:
                seen.add(json.loads(content)["plugins"][0]["mtu"])
            except ValueError:
                torn.append(content)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(60):
            assert machine.install("--mtu", str(1400 + number % 2)).code == 0
    finally:
        stop.set()
        reader.join()
    assert torn == []
    assert seen <= {1400, 1401}


def test_uninstall_takes_back_what_is_ours_alone(machine: Machine) -> None:
    machine.programs("portmap")
    words = ("--service-account", str(machine.root.parent / "account"))
    machine.install(*words, **machine.account())
    (machine.bin / "calico").write_text("somebody else's by now")
    ran = machine.shell("cni", "uninstall", "--root", str(machine.root), "-o", "json")
    assert (ran.code, ran.json["apiVersion"], ran.json["kind"]) == (0, "tortie/v1", "CNIUninstalled")
    states = {os.path.basename(file["path"]): file["state"] for file in ran.json["files"]}
    assert states["calico"] == "skipped"
    assert {states[name] for name in ("tortie", "calico-ipam", "10-calico.conflist", "calico-kubeconfig")} == {
        "removed"
    }
    assert sorted(path.name for path in machine.bin.iterdir()) == ["calico", "portmap"]
    assert list(machine.conf.iterdir()) == []


def test_uninstall_where_nothing_is(machine: Machine) -> None:
    ran = machine.shell("cni", "uninstall", "--root", str(machine.root))
    assert (ran.code, ran.stdout, ran.stderr) == (0, "Nothing to remove.\n", "")


def test_uninstall_leaves_a_real_calico_alone(machine: Machine) -> None:
    machine.programs("calico", "calico-ipam")
    machine.conf.mkdir(parents=True)
    (machine.conf / "10-calico.conflist").write_text(TEMPLATE)
    ran = machine.shell("cni", "uninstall", "--root", str(machine.root))
    assert ran.code == 0
    assert "its plugins are not from Tortie" in ran.stdout
    assert (machine.conf / "10-calico.conflist").read_text() == TEMPLATE
