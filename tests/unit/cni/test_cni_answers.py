"""Results in the form of every version, errors, names and records as Calico has them, and the installed file."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from ipaddress import ip_address, ip_interface, ip_network
from pathlib import Path

import pytest

from tortie import __version__
from tortie.cni.config import VERSIONS, Network
from tortie.cni.errors import CniError, as_cni
from tortie.cni.identity import endpoint_value, go_time, handle_of, identify, labels_in
from tortie.cni.invocation import Invocation
from tortie.cni.plugin_alone import VERSIONS as SPOKEN_ALONE
from tortie.cni.results import Attached, attached_document, ipam_document, refused
from tortie.cni.shim import shim
from tortie.cni.timing import Timing
from tortie.cni.wishes import Wishes
from tortie.health.exposition import render
from tortie.ipam.errors import NotReady
from tortie.model.errors import TortieError
from tortie.model.names import parse_endpoint_name
from tortie.model.resource import validate
from tortie.store.contract import Unreachable

NOW = datetime(2026, 3, 1, 12, 0, 0, 120000, tzinfo=UTC)
MADE = Attached(
    *("cali0d7763386da", "ee:ee:ee:ee:ee:ee", "eth0", "02:00:00:00:00:01", 1440, "/var/run/netns/x"),
    (ip_interface("10.65.0.1/32"), ip_interface("fd65::1/128")),
    ((ip_network("0.0.0.0/0"), ip_address("169.254.1.1")),),
)


def invocation(ifname: str = "eth0", **args: str) -> Invocation:
    return Invocation("calico", "ADD", "c" * 64, "/x", ifname, args, "", b"", {})


def network(**fields: object) -> Network:
    return Network("1.0.0", "k8s-pod-network", **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", VERSIONS)
def test_results_in_every_version(version: str) -> None:
    document = attached_document(MADE, version)
    assert document["cniVersion"] == version
    assert [ip["address"] for ip in document["ips"]] == ["10.65.0.1/32", "fd65::1/128"]
    assert [ip.get("version") for ip in document["ips"]] == (["4", "6"] if version < "1.0.0" else [None, None])
    assert [link.get("mtu") for link in document["interfaces"]] == (
        [1440, 1440] if version == "1.1.0" else [None, None]
    )
    assert document["routes"] == [{"dst": "0.0.0.0/0", "gw": "169.254.1.1"}]
    alone = ipam_document([ip_interface("10.65.0.1/26")], version)
    assert "interfaces" not in alone
    assert alone["ips"][0]["address"] == "10.65.0.1/26"
    assert "interface" not in alone["ips"][0]


def test_errors_say_what_why_and_what_to_do() -> None:
    answer = refused(CniError(11, "not now", "because", "wait"), "0.4.0")
    assert answer.exit_code == 1
    assert json.loads(answer.output) == {
        "cniVersion": "0.4.0",
        "code": 11,
        "msg": "not now",
        "details": "because. Fix: wait",
    }
    assert as_cni(Unreachable("etcd", "get", 1.0, "x", "y")).number == 11
    assert as_cni(NotReady()).number == 11
    assert as_cni(TortieError("x")).number == 100


def test_names_and_handles() -> None:
    who = identify(invocation(K8S_POD_NAME="web-1", K8S_POD_NAMESPACE="default"), network(), "node-1")
    assert who.handle == f"k8s-pod-network.{'c' * 64}"
    assert who.host_interface == "cali0761ccbeace"
    assert parse_endpoint_name(who.key.rpartition("/")[2]) == ("node-1", "k8s", "web-1", "eth0")
    assert who.old_handles == ("default.web-1",)
    assert who.attributes(NOW) == {
        "node": "node-1",
        "timestamp": "2026-03-01 12:00:00.12 +0000 UTC",
        "pod": "web-1",
        "namespace": "default",
    }
    second = identify(invocation("net1", K8S_POD_NAME="web-1", K8S_POD_NAMESPACE="default"), network(), "node-1")
    assert second.handle == handle_of("k8s-pod-network", "c" * 64, "net1")
    assert second.host_interface != who.host_interface
    assert len(second.host_interface) == 15
    plain = identify(invocation(), network(), "node-1", "pod")
    assert (plain.orchestrator, plain.namespace, plain.host_interface) == ("cni", "default", "pod" + "c" * 11)
    assert plain.attributes(NOW).keys() == {"node", "timestamp"}


def test_the_endpoint_is_one_that_calico_takes() -> None:
    known = network(args={"serviceAccount": "robot", "labels": [{"key": "app", "value": "web"}, "x"]})
    who = identify(invocation(K8S_POD_NAME="web-1", K8S_POD_NAMESPACE="default"), known, "node-1")
    wishes = Wishes(floating=(ip_address("192.0.2.1"),), sources=(ip_interface("8.8.8.0/24"),))
    ips = (ip_address("10.65.0.1"), ip_address("fd65::1"))
    value = endpoint_value(who, ips, "02:00:00:00:00:01", wishes, labels_in(known), NOW, "u-1")
    document = json.loads(value)
    validate(document)
    assert document["metadata"]["labels"] == {
        "app": "web",
        "projectcalico.org/namespace": "default",
        "projectcalico.org/orchestrator": "k8s",
        "projectcalico.org/serviceaccount": "robot",
    }
    assert document["spec"]["profiles"] == ["kns.default", "ksa.default.robot"]
    assert document["spec"]["ipNATs"] == [{"internalIP": "10.65.0.1", "externalIP": "192.0.2.1"}]


def test_times_as_go_prints_them() -> None:
    assert go_time(NOW.replace(microsecond=0)) == "2026-03-01 12:00:00 +0000 UTC"


def test_requests_are_timed() -> None:
    timing = Timing()
    timing.count("ADD", 0.0042, fine=True)
    timing.count("ADD", 99.0, fine=False)
    text = render(timing.metrics())
    assert 'tortie_cni_request_seconds_bucket{command="ADD",result="ok",le="0.005"} 1' in text
    assert 'tortie_cni_request_seconds_bucket{command="ADD",result="error",le="30"} 0' in text
    assert 'tortie_cni_request_seconds_count{command="ADD",result="error"} 1' in text


@pytest.mark.parametrize("form", ["compiled", "python"])
def test_the_installed_file_is_one_program_that_needs_nothing_of_ours(tmp_path: Path, form: str) -> None:
    made = shim('/run/it\'s/"x".sock', str(tmp_path / "state"), compiled=form == "compiled")
    assert made.form == form, f"there is no compiled program: {made.why}; `make setup` builds it"
    if form == "python":
        text = made.content.decode()
        assert text.startswith("#!/usr/bin/python3 -ISXutf8\n")
        assert "tortie." not in text.replace("tortie node run", "")
    program = tmp_path / "calico"
    program.write_bytes(made.content)
    program.chmod(0o755)

    def call(command: str, config: bytes = b"{}") -> tuple[int, bytes]:
        variables = {"CNI_COMMAND": command, "CNI_CONTAINERID": "c1", "CNI_IFNAME": "eth0"}
        done = subprocess.run([program], input=config, capture_output=True, env=variables, timeout=60, check=False)
        assert done.stderr == b""
        return done.returncode, done.stdout

    code, answer = call("VERSION", b'{ "cniVersion" : "0.4.0" }')
    assert (code, json.loads(answer)) == (0, {"cniVersion": "0.4.0", "supportedVersions": list(VERSIONS)})
    for command, number in (("ADD", 11), ("CHECK", 11), ("GC", 11), ("STATUS", 50), ("PAINT", 4)):
        code, answer = call(command)
        assert (code, json.loads(answer)["code"]) == (1, number)
    assert call("DEL") == (0, b"")
    assert (tmp_path / "state/pending/c1-eth0-calico").read_bytes().startswith(b"TORTIE-CNI 1\0TORTIE_PLUGIN=calico\0")
    for word in ("-v", "--version"):
        # Nobody closes the standard input of who asks at a terminal.
        with subprocess.Popen([program, word], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={}) as asked:
            assert asked.stdout
            assert asked.stdout.read() == f"v{__version__}\n".encode()
    assert json.loads(subprocess.run([program], capture_output=True, env={}, check=False).stdout)["code"] == 4
    assert json.loads(SPOKEN_ALONE) == list(VERSIONS)
