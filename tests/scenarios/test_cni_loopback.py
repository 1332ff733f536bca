"""The plugin `loopback` of ours beside Debian's, and a pod as containerd 1.x starts it: lo first, then the network."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.support.cli import Tortie
from tests.support.cni_node import CniNode, nothing_left
from tests.support.netns import NAMED, Namespace
from tests.support.runtime import DEBIAN, Network, address, pods

from tortie.cni.shim import shim

pytestmark = pytest.mark.timeout(300)

VERSIONS = ("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0")
# As containerd 1.6 has it in its program.
LO = {"cniVersion": "0.3.1", "name": "cni-loopback", "plugins": [{"type": "loopback"}]}


class Ended(NamedTuple):
    code: int
    answer: Any
    errors: bytes


@pytest.fixture(params=["compiled", "python"])
def program(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    made = shim("/nowhere/cni.sock", "/nowhere/state", compiled=request.param == "compiled")
    assert made.form == request.param, f"there is no compiled program: {made.why}; `make setup` builds it"
    path = tmp_path / "loopback"
    path.write_bytes(made.loopback)
    path.chmod(0o755)
    return path


@pytest.fixture
def sandbox() -> Iterator[Namespace]:
    """As a runtime has just made it: lo is down."""
    with Namespace("sandbox") as sandbox:
        sandbox.ip("link", "set", "lo", "down")
        yield sandbox


def call(program: Path, command: str, netns: str, config: dict[str, Any] | bytes, **more: str) -> Ended:
    variables = {"CNI_COMMAND": command, "CNI_CONTAINERID": "c1", "CNI_IFNAME": "lo", "CNI_PATH": DEBIAN, **more}
    given = config if isinstance(config, bytes) else json.dumps({"name": "lo", "type": "loopback", **config}).encode()
    environment = {**variables, "CNI_NETNS": netns} if netns else variables
    done = subprocess.run([program], input=given, capture_output=True, env=environment, timeout=60, check=False)
    return Ended(done.returncode, json.loads(done.stdout) if done.stdout.strip() else None, done.stderr)


def is_up(sandbox: Namespace) -> bool:
    return "UP" in sandbox.json("link", "show", "dev", "lo")[0]["flags"]


def without_versions(answer: Any) -> Any:
    """Debian's leaves out the family that results of 0.3 and 0.4 tell for each address."""
    ips = [{name: value for name, value in ip.items() if name != "version"} for ip in answer.get("ips", [])]
    return {**answer, "ips": ips}


@pytest.mark.parametrize("version", VERSIONS)
def test_it_does_what_the_plugin_of_the_distribution_does(program: Path, sandbox: Namespace, version: str) -> None:
    path, config = str(NAMED / sandbox.name), {"cniVersion": version}
    answers = []
    for one in (program, Path(DEBIAN) / "loopback"):
        made = call(one, "ADD", path, config)
        assert (made.code, made.errors, is_up(sandbox)) == (0, b"", True)
        assert call(one, "ADD", path, config).code == 0
        sandbox.run("ping", "-c", "1", "-W", "5", "127.0.0.1")
        assert call(one, "DEL", path, config) == Ended(0, None, b"")
        assert not is_up(sandbox)
        assert call(one, "DEL", path, config).code == 0
        answers.append(made.answer)
    ours, theirs = answers
    if version > "0.2.0":
        assert without_versions(ours) == without_versions(theirs)
        assert ("version" in ours["ips"][0]) == (version < "1.0.0")
    else:
        assert ours == {
            "cniVersion": version,
            "ip4": {"ip": "127.0.0.1/8"},
            "ip6": {"ip": "::1/128"},
            "dns": {},
        }


def test_the_usual_needs_no_python_where_it_is_compiled(tmp_path: Path, sandbox: Namespace) -> None:
    one = tmp_path / "loopback"
    one.write_bytes(shim("/nowhere/cni.sock", "/nowhere/state", "/nowhere/python3").loopback)
    one.chmod(0o755)
    path, config = str(NAMED / sandbox.name), {"cniVersion": "0.3.1"}
    assert [call(one, command, path, config).code for command in ("ADD", "ADD", "CHECK", "DEL", "DEL")] == [0] * 5
    assert not is_up(sandbox)
    assert call(one, "DEL", "/nowhere", config).code == 0
    refused = call(one, "CHECK", path, config)
    assert (refused.code, "there is no Python" in refused.answer["msg"]) == (1, True)


def test_check_tells_when_lo_is_down(program: Path, sandbox: Namespace) -> None:
    path, config = str(NAMED / sandbox.name), {"cniVersion": "1.0.0"}
    call(program, "ADD", path, config)
    assert call(program, "CHECK", path, config) == Ended(0, None, b"")
    sandbox.ip("link", "set", "lo", "down")
    ended = call(program, "CHECK", path, config)
    assert (ended.code, ended.answer["code"], ended.answer["msg"]) == (1, 103, "lo of the pod is down")


def test_what_a_plugin_before_it_said_is_passed_on(program: Path, sandbox: Namespace) -> None:
    previous = {"cniVersion": "1.0.0", "interfaces": [{"name": "eth0"}], "ips": [{"address": "10.0.0.9/32"}], "dns": {}}
    ended = call(program, "ADD", str(NAMED / sandbox.name), {"cniVersion": "1.0.0", "prevResult": previous})
    assert (ended.code, ended.answer, is_up(sandbox)) == (0, previous, True)


def test_the_newest_version_has_its_commands(program: Path) -> None:
    config = {"cniVersion": "1.1.0"}
    told = call(program, "VERSION", "", config)
    assert told.answer["supportedVersions"] == [*VERSIONS, "1.1.0"]
    assert call(program, "STATUS", "", config) == Ended(0, None, b"")
    assert call(program, "GC", "", {**config, "cni.dev/valid-attachments": []}) == Ended(0, None, b"")


def test_no_sandbox_holds_up_a_del_and_the_nodes_own_lo_stays_up(program: Path, sandbox: Namespace) -> None:
    config = {"cniVersion": "0.3.1"}
    sandbox.ip("link", "set", "lo", "up")
    own = str(NAMED / sandbox.name)
    for path in ("", "/nowhere", str(program)):
        assert call(program, "DEL", path, config) == Ended(0, None, b"")
    ended = sandbox.call(lambda: call(program, "DEL", own, config)._asdict())
    assert (ended["code"], is_up(sandbox)) == (0, True)


@pytest.mark.parametrize(
    ("command", "netns", "config", "code"),
    [
        ("ADD", "/nowhere", {"cniVersion": "1.0.0"}, 3),
        ("CHECK", "/dev/null", {"cniVersion": "1.0.0"}, 3),
        ("ADD", "", {"cniVersion": "1.0.0"}, 4),
        ("PAINT", "/proc/self/ns/net", {"cniVersion": "1.0.0"}, 4),
        ("", "", {}, 4),
        ("ADD", "/proc/self/ns/net", {"cniVersion": "9.0.0"}, 1),
        ("ADD", "/proc/self/ns/net", b'{"cniVersion":"1.0.0","prevResult":', 6),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_number(
    program: Path, command: str, netns: str, config: dict[str, Any] | bytes, code: int
) -> None:
    ended = call(program, command, netns, config)
    assert (ended.code, ended.answer["code"], ended.errors) == (1, code, b"")


@pytest.fixture
def node(tmp_path: Path) -> Iterator[CniNode]:
    with CniNode(tmp_path) as node:
        yield node


@pytest.mark.parametrize("words", [(), ("--plugins-from", DEBIAN)], ids=["bare-machine", "with-packages"])
def test_a_pod_as_containerd_starts_it_with_nothing_but_what_was_installed(
    node: CniNode, words: tuple[str, ...], tmp_path: Path
) -> None:
    """Every program from the one folder, the network as it is in the file."""
    installed = Tortie(tmp_path)("cni", "install", "--root", str(node.root), *words)
    assert installed.code == 0, installed.stderr
    folder = str(node.root / "opt/cni/bin")
    conflist = json.loads((node.root / "etc/cni/net.d/10-calico.conflist").read_text())
    chain = [plugin["type"] for plugin in conflist["plugins"]]
    assert chain == (["calico", "portmap", "bandwidth"] if words else ["calico"])
    lo, network = Network(node.net, folder, LO), Network(node.net, folder, conflist)
    network.runtime["portMappings"] = [{"hostPort": 8085, "containerPort": 80, "protocol": "tcp"}]
    with pods("web") as (pod,):
        pod.net.ip("link", "set", "lo", "down")
        interface, pod.ifname = pod.ifname, "lo"
        lo.add(pod)
        pod.ifname = interface
        result = network.add(pod)
        assert (result["cniVersion"], conflist["cniVersion"]) == ("1.0.0", "1.0.0")
        assert pod.ping("127.0.0.1")
        assert pod.ping("192.0.2.1")
        assert address(result).startswith("10.65.")
        # portmap's own CHECK looks for IPv6 rules that it never made.
        network.call("CHECK", conflist["plugins"][0], pod, result)
        network.delete(pod)
        pod.ifname = "lo"
        lo.delete(pod)
        nothing_left(node, pod)


def test_a_runtime_that_knows_more_may_check_collect_and_ask(node: CniNode, tmp_path: Path) -> None:
    """From libcni 1.2 on the highest version of `cniVersions` is taken."""
    assert Tortie(tmp_path)("cni", "install", "--root", str(node.root)).code == 0
    conflist = json.loads((node.root / "etc/cni/net.d/10-calico.conflist").read_text())
    network = Network(node.net, node.path, {**conflist, "cniVersion": conflist["cniVersions"][-1]})
    with pods("kept", "gone") as (kept, gone):
        network.add(kept)
        network.add(gone)
        network.status()
        network.collect(kept)
        network.check(kept)
        nothing_left(node, gone)
        network.delete(kept)
