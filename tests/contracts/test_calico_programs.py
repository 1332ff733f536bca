"""Programs of Calico as manifests and scripts call them, by links to this command: flags, texts, exit codes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib.metadata import distribution
from pathlib import Path

import pytest
from tests.support.cli import COMMAND, Ran, Tortie, assert_three_lines
from tests.support.health_pages import port_of

from tortie.cli.entry import CALICOS
from tortie.cli.entrypoints import PROGRAMS
from tortie.cli.node.entrypoints import PLACES
from tortie.health.health import Health
from tortie.health.page import Page, serve
from tortie.health.routes import health_routes
from tortie.health.state import Trouble

NOT_READY = "calico/node is not ready: "
REFUSED = Trouble("the datastore does not answer", "connection refused", "start etcd", "the datastore")
ALL = ["-felix-live", "-felix-ready", "-bird-ready", "-bird6-ready"]


def bgp(*peers: str) -> Trouble:
    return Trouble(f"BIRD is not ready: BGP not established with {','.join(peers)}", "refused", "look there", "a peer")


@pytest.fixture
def health() -> Health:
    return Health(time.monotonic)


@pytest.fixture
def page(health: Health) -> Iterator[Page]:
    with closing(serve("localhost", 0, health_routes(health))) as page:
        yield page


Call = Callable[..., Ran]


def caller(folder: Path, port: int) -> Call:
    def call(program: str, *words: str, **variables: str) -> Ran:
        link = folder / program
        if not link.is_symlink():
            link.symlink_to(COMMAND)
        environment = {"PATH": f"{COMMAND.parent}:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(folder)}
        environment |= {"TORTIE_ROOT": str(folder), "FELIX_HEALTHPORT": str(port)} | variables
        done = subprocess.run(
            [str(link), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=environment,
            timeout=60,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def call(tmp_path: Path, page: Page) -> Call:
    return caller(tmp_path, port_of(page))


def test_every_name_is_known_everywhere() -> None:
    assert set(CALICOS) == set(PROGRAMS) == set(PLACES)


def test_no_installation_brings_them_unasked() -> None:
    assert not {script.name for script in distribution("tortie").entry_points} & set(CALICOS)


def test_a_node_that_is_well_makes_no_noise(call: Call, health: Health) -> None:
    health.started()
    for words in (["-felix-live"], ["--felix-ready"], ["-bird-ready=true"], ALL, [*ALL, "-threshold-time", "10s"]):
        assert call("calico-node", *words) == (0, "", "")


def test_a_start_is_live_and_nothing_of_it_is_ready(call: Call, health: Health) -> None:
    health.begin("datastore", 60, "connecting")
    health.trouble(REFUSED)
    assert call("calico-node", "-felix-live") == (0, "", "")
    felix = call("calico-node", "-felix-ready")
    assert (felix.code, felix.stderr) == (1, "")
    assert felix.stdout.splitlines()[0] == NOT_READY + "felix is not ready: readiness probe reporting 503"
    assert "\n    why: the datastore does not answer: connection refused\n" in felix.stdout
    bird = call("calico-node", "-bird-ready")
    assert bird.code == 1
    assert bird.stdout.startswith(NOT_READY + "BIRD is not ready: start-up is in phase datastore for ")


def test_missing_peers_are_birds_affair_and_each_family_has_its_own(call: Call, health: Health) -> None:
    health.started()
    health.need("bgp", bgp("10.0.0.2", "fd00::2", "10.0.0.3"))
    assert call("calico-node", "-felix-live", "-felix-ready") == (0, "", "")
    ran = call("calico-node", "-felix-ready", "-bird-ready")
    assert (ran.code, ran.stderr) == (1, "")
    first, *reasons = ran.stdout.splitlines()
    assert first == NOT_READY + "BIRD is not ready: BGP not established with 10.0.0.2,10.0.0.3"
    assert reasons[0].strip() == "why: refused"
    six = call("calico-node", "-bird6-ready")
    assert six.code == 1
    assert six.stdout.startswith(NOT_READY + "BIRD6 is not ready: BGP not established with fd00::2\n")
    health.need("bgp", bgp("fd00::2"))
    assert call("calico-node", "-bird-ready") == (0, "", "")


def test_what_else_is_missing_is_felixs_affair(call: Call, health: Health) -> None:
    health.started()
    health.need("address", REFUSED._replace(what="no address is chosen"))
    assert call("calico-node", "-bird-ready", "-bird6-ready") == (0, "", "")
    health.need("bgp", bgp("10.0.0.2"))
    ran = call("calico-node", *ALL)
    assert ran.code == 1
    headlines = [line for line in ran.stdout.splitlines() if line.startswith(NOT_READY)]
    assert headlines == [
        NOT_READY + "BIRD is not ready: BGP not established with 10.0.0.2",
        NOT_READY + "felix is not ready: readiness probe reporting 503",
    ]
    assert "  not ready: no address is chosen" in ran.stdout


def test_nobody_there(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
    ran = caller(tmp_path, port)("calico-node", "-felix-live", "-felix-ready", "-bird-ready")
    refused = f"dial tcp 127.0.0.1:{port}: connect: connection refused"
    assert (ran.code, ran.stderr) == (1, "")
    assert f'{NOT_READY}Felix is not live: Get "http://localhost:{port}/liveness": {refused}\n' in ran.stdout
    assert f'{NOT_READY}felix is not ready: Get "http://localhost:{port}/readiness": {refused}\n' in ran.stdout
    assert f'{NOT_READY}BIRD is not ready: Get "http://localhost:{port}/readiness": {refused}\n' in ran.stdout


def test_birds_life_is_asked_of_bird(call: Call, tmp_path: Path) -> None:
    for flag, name in (("-bird-live", "bird"), ("-bird6-live", "bird6")):
        ran = call("calico-node", flag)
        assert (ran.code, ran.stderr) == (1, "")
        assert ran.stdout.splitlines()[0] == f"{NOT_READY}{name}/confd is not live: exit status 1"
        assert "bird.ctl: no such file or directory" in ran.stdout
    folder = tmp_path / "var/run/calico"
    folder.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as silent:
        here = Path.cwd()
        os.chdir(folder)  # the path may be longer than a socket's address
        try:
            silent.bind("bird.ctl")
        finally:
            os.chdir(here)
        silent.listen()
        ran = call("calico-node", "-bird-live")
    assert ran.code == 1
    assert ran.stdout.startswith(f"{NOT_READY}bird is not live: dial unix /var/run/calico/bird.ctl: i/o timeout\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "No valid options provided. Usage:\n"),
        (["-nonsense"], "flag provided but not defined: -nonsense\n"),
        (["-felix-live=perhaps"], 'invalid boolean value "perhaps" for -felix-live: parse error\n'),
        (["-felix-live", "-threshold-time"], "flag needs an argument: -threshold-time\n"),
        (["-felix-live", "-threshold-time=30"], 'invalid value "30" for flag -threshold-time: parse error\n'),
        (["-v", "-startup"], "More than one incompatible argument provided\n"),
        (["-felix-live=false"], "No valid options provided. Usage:\n"),
        (["-felix"], "Tortie: -felix is no program of its own; `tortie node run` does it, from its start on\n"),
        (["-allocate-tunnel-addrs"], "Tortie: -allocate-tunnel-addrs is no program of its own"),
        (["-bpf"], "Tortie: there is no BPF dataplane"),
    ],
)
def test_what_is_no_use_ends_with_one(call: Call, words: list[str], said: str) -> None:
    ran = call("calico-node", *words)
    assert (ran.code, ran.stderr) == (1, "")
    assert ran.stdout.startswith(said)


def test_a_setting_that_cannot_be_meant(call: Call) -> None:
    ran = call("calico-node", "-felix-live", FELIX_HEALTHPORT="many")
    assert ran == (1, "calico-node: 'many' is no port\n", "")


@pytest.mark.parametrize("words", [["-init", "-best-effort"], ["-hostpath-init"], ["-shutdown"], ["--shutdown"]])
def test_what_is_not_needed_is_done(call: Call, words: list[str]) -> None:
    ran = call("calico-node", *words)
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout.startswith("Tortie: nothing to ")


@pytest.mark.parametrize(
    "words", [["-startup"], ["-complete-startup"], ["-allocate-tunnel-addrs", "-allocate-tunnel-addrs-run-once"]]
)
def test_what_the_agent_does_at_its_start_is_done_if_it_runs(call: Call, health: Health, words: list[str]) -> None:
    health.started()
    ran = call("calico-node", *words)
    assert (ran.code, ran.stdout) == (0, f"Tortie: {words[0]} is part of the agent, which runs\n")
    nobody = call("calico-node", *words, FELIX_HEALTHPORT="1")
    assert nobody.code == 1
    assert nobody.stdout.startswith(f"{NOT_READY}Felix is not live: ")


def test_the_status_is_told_whatever_it_is_and_an_agent_that_is_away_is_a_failure(call: Call) -> None:
    ran = call("calico-node", "-show-status")
    assert ran.code == 1
    assert "Calico process is not running." in ran.stdout + ran.stderr


def test_the_version_is_ours(call: Call) -> None:
    ran = call("calico-node", "-v")
    assert ran.code == 0
    assert ran.stdout.startswith("tortie ")
    assert call("calico-ipam", "-v") == ran


def test_an_upgrade_without_host_local_is_nothing_to_do(call: Call, tmp_path: Path) -> None:
    ran = call("calico-ipam", "-upgrade", TORTIE_STORE=str(tmp_path / "store.db"), KUBERNETES_NODE_NAME="n1")
    assert ran.code == 0, ran
    plugin = call("calico-ipam", CNI_COMMAND="ADD")
    assert (plugin.code, "tortie cni install" in plugin.stdout) == (1, True)


@pytest.mark.parametrize("name", ["install", "install-cni.sh"])
def test_install_puts_the_plugin_there(call: Call, tmp_path: Path, name: str) -> None:
    ran = call(name, CNI_CONF_NAME="05-calico.conflist", SLEEP="false")
    assert ran.code == 0, ran
    assert (tmp_path / "opt/cni/bin/calico").exists()
    conflist = json.loads((tmp_path / "etc/cni/net.d/05-calico.conflist").read_text())
    assert conflist["plugins"][0]["type"] in ("calico", "tortie")
    assert call(name, "now").code == 1
    refused = call(name, CNI_NETWORK_CONFIG="{")
    assert (refused.code, refused.stdout) == (1, "")
    assert "CNI_NETWORK_CONFIG" in refused.stderr


def test_links_take_one_step_and_replace_nothing_of_others(tmp_path: Path) -> None:
    image = str(tmp_path / "image")

    def shell(*words: str) -> Ran:
        return Tortie(tmp_path).run("node", "entrypoints", "--root", image, *words)

    node = tmp_path / "image/usr/bin/calico-node"
    assert shell("--dry-run").stdout.startswith(f"create {image}/usr/bin/calico-")
    assert not node.exists()
    assert shell().code == 0
    assert os.readlink(node) == str(COMMAND)
    assert [path.name for path in (tmp_path / "image").rglob("*") if path.is_symlink()] == ["calico-node"]
    made = shell("--all", "-o", "json").json
    assert {Path(link["path"]).name: link["action"] for link in made["links"]} == {
        name: "keep" if name == "calico-node" else "create" for name in PLACES
    }
    assert shell("--all", "--remove").code == 0
    assert not [path for path in (tmp_path / "image").rglob("*") if path.is_symlink()]
    node.write_text("somebody else's")
    refused = shell("--all")
    assert_three_lines(refused, 1)
    assert node.read_text() == "somebody else's"
    assert not (tmp_path / "image/install-cni.sh").exists()
    unknown = shell("calico-nodes")
    assert (unknown.code, "did you mean calico-node?" in unknown.stderr) == (2, True)
