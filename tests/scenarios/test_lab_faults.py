"""A lab is broken and healed, for real: every kind of deed is done, undone and proven; by the command line, too."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from tests.support.lab import Lab
from tests.support.netns import Namespace

from tortie.lab.client import KeeperClient
from tortie.lab.failures import LabFailure, Phrase
from tortie.lab.faults import deeds, doing, proof
from tortie.lab.faults.deeds import Deed
from tortie.lab.faults.hands import Hands
from tortie.lab.registry import LabFolder

pytestmark = pytest.mark.timeout(240)

DROP = "table inet {table} {\nchain input { type filter hook input priority 0; tcp dport 7777 drop; }\n}"


class Broken:
    """A lab with kubelets, and hands that do single deeds in it."""

    def __init__(self, lab: Lab, hands: Hands, elsewhere: ExitStack) -> None:
        self.lab = lab
        self.hands = hands
        self.elsewhere = elsewhere  # a namespace of the machine, older than the lab

    def inside(self, *command: str) -> str:
        return self.lab.inside("node-2", *command)

    def path(self, path: str) -> Path:
        return self.lab.folder / "nodes" / "node-2" / path.lstrip("/")


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broken]:
    with ExitStack() as elsewhere, Lab(tmp_path_factory.mktemp("faults")) as lab:
        elsewhere.enter_context(Namespace("elsewhere"))
        lab.up("--nodes", "3", "--kubelet", "--hurry", "10")
        folder = LabFolder(str(lab.folder))
        keeper = KeeperClient.connect(folder)
        assert keeper
        with closing(keeper):
            yield Broken(lab, Hands(folder, keeper), elsewhere)


def there_and_back(broken: Broken, deed: Deed) -> Iterator[None]:
    """Done twice; at `yield` the caller looks; undone twice. Before and after, the whole machine is the same."""
    hands, ident = broken.hands, "test@node-2"
    before = proof.fingerprints(hands)
    memo = json.loads(json.dumps(doing.look(hands, ident, 0, deed)))
    doing.do(hands, ident, 0, deed, memo)
    doing.do(hands, ident, 0, deed, memo)
    assert doing.undone(hands, ident, 0, deed, memo)
    yield
    doing.undo(hands, ident, 0, deed, memo)
    assert doing.undone(hands, ident, 0, deed, memo) == []
    doing.undo(hands, ident, 0, deed, memo)
    assert doing.undone(hands, ident, 0, deed, memo) == []
    assert settled(broken, before) == []


def settled(broken: Broken, before: dict[str, Any]) -> list[Phrase]:
    """What differs once programs that were disturbed have come back."""
    deadline = time.monotonic() + 30.0
    while (differ := proof.compared(before, proof.fingerprints(broken.hands))) and time.monotonic() < deadline:
        time.sleep(0.1)
    return differ


def test_a_bridge(broken: Broken) -> None:
    for _ in there_and_back(broken, deeds.AddBridge("node-2", "br-1a2b3c4d5e6f", "172.18.0.1/16", "02:42:0a:00:00:01")):
        told = broken.inside("ip", "-d", "addr", "show", "br-1a2b3c4d5e6f")
        assert "172.18.0.1/16" in told
        assert "02:42:0a:00:00:01" in told
        assert "bridge" in told


def test_a_nic(broken: Broken) -> None:
    for _ in there_and_back(broken, deeds.AddNic("node-2", "eth7", "10.0.0.66/24")):
        told = broken.inside("ip", "-d", "addr", "show", "eth7")
        assert "10.0.0.66/24" in told
        assert "state UP" in told
        assert "veth" in told


def test_what_the_machine_mounts_and_unmounts_meanwhile_is_not_the_labs(broken: Broken) -> None:
    """A named namespace is a mount; one that is older than the lab is seen by the nodes as well."""
    before = proof.fingerprints(broken.hands)
    broken.elsewhere.close()
    with Namespace("elsewhere"):
        assert settled(broken, before) == []


def test_addresses(broken: Broken) -> None:
    for _ in there_and_back(broken, deeds.AddAddress("node-2", "eth0", "10.99.0.1/24")):
        assert "10.99.0.1/24" in broken.inside("ip", "addr")
    for _ in there_and_back(broken, deeds.RemoveAddress("node-2", "eth0", "10.77.0.2/24")):
        assert "10.77.0.2/24" not in broken.inside("ip", "addr")


@pytest.mark.parametrize("deed", [deeds.SetLink("node-2", "eth0", up=False), deeds.SetLink("node-2", "eth0", mtu=1300)])
def test_a_link_gets_back_what_the_kernel_forgets(broken: Broken, deed: deeds.SetLink) -> None:
    words = (
        ("addr", "show", "dev", "eth0"),
        ("neigh", "show", "nud", "permanent"),
        ("route", "show", "proto", "static"),
    )
    before = [sorted(broken.inside("ip", *each).split()) for each in words]
    for _ in there_and_back(broken, deed):
        told = broken.inside("ip", "link", "show", "eth0")
        assert ("mtu 1300" in told) if deed.mtu else ("state DOWN" in told)
    assert [sorted(broken.inside("ip", *each).split()) for each in words] == before


def test_a_filter_in_a_node_and_in_the_switch(broken: Broken) -> None:
    for _ in there_and_back(broken, deeds.Filter("node-2", DROP)):
        assert "dport 7777 drop" in broken.inside("nft", "list", "ruleset")
    bridge = "table bridge {table} {\nchain forward { type filter hook forward priority 0; drop; }\n}"
    for _ in there_and_back(broken, deeds.Filter("switch", bridge, "bridge")):
        assert broken.hands.inside("switch", lambda: os.listdir("/sys/class/net")) is not None


def test_settings_of_the_kernel_with_those_that_change_along(broken: Broken) -> None:
    for _ in there_and_back(broken, deeds.SetKernel("node-2", "net.ipv4.ip_forward", "0")):
        assert broken.inside("cat", "/proc/sys/net/ipv4/conf/eth0/forwarding").strip() == "0"
    for _ in there_and_back(broken, deeds.SetKernel("node-2", "net/ipv4/conf/eth0/rp_filter", "2")):
        assert broken.inside("cat", "/proc/sys/net/ipv4/conf/eth0/rp_filter").strip() == "2"


def test_files(broken: Broken) -> None:
    fresh = "/etc/some/where/new.conf"
    for _ in there_and_back(broken, deeds.WriteFile("node-2", fresh, "text", 0o600)):
        assert broken.path(fresh).read_text() == "text"
        assert broken.path(fresh).stat().st_mode & 0o777 == 0o600
    assert not broken.path("/etc/some").exists()
    old = broken.path("/etc/old.conf")
    old.write_bytes(b"\xff\x00before")
    old.chmod(0o640)
    for _ in there_and_back(broken, deeds.WriteFile("node-2", "/etc/old.conf", "after")):
        assert old.read_text() == "after"
    assert old.read_bytes() == b"\xff\x00before"
    assert old.stat().st_mode & 0o777 == 0o640
    for _ in there_and_back(broken, deeds.RemoveFile("node-2", "/etc/old.conf")):
        assert not old.exists()
    assert old.read_bytes() == b"\xff\x00before"
    folder = broken.path("/etc/folder")
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "file").write_text("x")
    for _ in there_and_back(broken, deeds.RemoveFile("node-2", "/etc/folder")):
        assert not folder.exists()
    assert (folder / "in" / "file").read_text() == "x"


def test_covered_full_and_sealed(broken: Broken) -> None:
    hosts = Path("/etc/hosts").read_text()
    before = proof.fingerprints(broken.hands)
    for _ in there_and_back(broken, deeds.CoverFile("node-2", "/etc/hosts", "10.9.9.9 localhost\n")):
        (differs,) = map(str, proof.compared(before, proof.fingerprints(broken.hands)))
        assert differs.startswith("node-2: mounts: /etc/hosts ")
        assert broken.inside("cat", "/etc/hosts") == "10.9.9.9 localhost\n"
        assert Path("/etc/hosts").read_text() == hosts
        assert broken.lab.inside("node-1", "cat", "/etc/hosts") == hosts
    assert broken.inside("cat", "/etc/hosts") == hosts
    folder = broken.path("/var/lib/some")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kept").write_text("kept")
    for _ in there_and_back(broken, deeds.FillDisk("node-2", "/var/lib/some")):
        assert broken.inside("cat", str(folder / "kept")) == "kept"
        done = broken.lab("exec", "node-2", "--", "dd", "if=/dev/zero", f"of={folder}/more", "bs=4096", "count=1")
        assert "No space left" in done.stderr
    for _ in there_and_back(broken, deeds.SealFolder("node-2", "/var/lib/some")):
        done = broken.lab("exec", "node-2", "--", "touch", f"{folder}/more")
        assert "Read-only" in done.stderr
    assert [path.name for path in folder.iterdir()] == ["kept"]


def test_helpers(broken: Broken) -> None:
    words = ("listen", "7070", "::", "node_exporter")
    for _ in there_and_back(broken, deeds.RunHelper("node-2", "port", words)):
        broken.lab.wait(
            "the port is taken", lambda: "node_exporter" in broken.inside("ss", "-lntp", "sport", "=", ":7070")
        )
        assert "404 page not found" in broken.inside("curl", "-s", "http://127.0.0.1:7070/x")
    assert ":7070" not in broken.inside("ss", "-lnt")


def test_a_program_that_is_stopped(broken: Broken) -> None:
    """Not BIRD: its agent would wake it up."""
    for _ in there_and_back(broken, deeds.SendSignal("node-2", "kubelet", "STOP", "CONT")):
        pid = broken.hands.keeper.ask("program", machine="node-2", program="kubelet")["pid"]
        assert "State:\tT" in Path(f"/proc/{pid}/status").read_text()


def test_variables(broken: Broken) -> None:
    """Of the keeper they cannot be asked back; those who start have them."""
    hands, deed = broken.hands, deeds.SetVariable("node-2", "TORTIE_TEST", "yes")
    doing.do(hands, "test@node-2", 0, deed, {})
    assert "TORTIE_TEST=yes" in broken.inside("env")
    doing.undo(hands, "test@node-2", 0, deed, {})
    assert "TORTIE_TEST" not in broken.inside("env")


def test_resources_and_keys(broken: Broken) -> None:
    pool = {"apiVersion": "projectcalico.org/v3", "kind": "IPPool", "metadata": {"name": "extra"}}
    for _ in there_and_back(broken, deeds.PutResource({**pool, "spec": {"cidr": "10.60.0.0/24"}})):
        assert "extra" in broken.inside("tortie", "get", "ippools")
    assert "extra" not in broken.inside("tortie", "get", "ippools")
    name = json.loads(broken.inside("tortie", "get", "ippools", "-o", "json"))["items"][0]["metadata"]["name"]
    before = broken.inside("tortie", "get", "ippool", name, "-o", "json")
    for _ in there_and_back(broken, deeds.PatchResource("IPPool", name, {"spec": {"disabled": True}})):
        assert json.loads(broken.inside("tortie", "get", "ippool", name, "-o", "json"))["spec"]["disabled"] is True
    assert without_revision(broken.inside("tortie", "get", "ippool", name, "-o", "json")) == without_revision(before)
    for _ in there_and_back(broken, deeds.RemoveResource("IPPool", name)):
        assert name not in broken.inside("tortie", "get", "ippools")
    for _ in there_and_back(broken, deeds.PutKey("/calico/ipam/v2/host/other/ipv4/block/10-60-0-0-26", "{}")):
        pass


def without_revision(text: str) -> Any:
    document = json.loads(text)
    del document["metadata"]["resourceVersion"]
    return document


def test_pods(broken: Broken) -> None:
    for _ in there_and_back(broken, deeds.RunPods("node-2", "filler", 2)):
        assert "filler-2" in broken.lab("pod list").stdout


@pytest.mark.parametrize(
    "deed",
    [
        deeds.AddBridge("node-2", "eth0", "172.18.0.1/16"),
        deeds.AddAddress("node-2", "eth0", "10.77.0.2/24"),
        deeds.RemoveAddress("node-2", "eth0", "10.1.1.1/24"),
        deeds.SetLink("node-2", "nothing", up=False),
        deeds.SetKernel("node-2", "net.ipv4.no_such", "1"),
        deeds.RemoveFile("node-2", "/no/such"),
        deeds.WriteFile("node-2", "/var", "a folder"),
        deeds.RemoveResource("IPPool", "no-such"),
        deeds.PatchResource("IPPool", "no-such", {"spec": {}}),
        deeds.CoverFile("node-2", "/no/such", "x"),
    ],
    ids=lambda deed: type(deed).__name__,
)
def test_what_could_not_be_undone_is_refused(broken: Broken, deed: Deed) -> None:
    with pytest.raises(LabFailure) as caught:
        doing.look(broken.hands, "test@node-2", 0, deed)
    assert caught.value.key == "deed-refused"
    assert re.search("[\u4e00-\u9fff]", caught.value.told("zh").why)


def test_a_file_too_large_to_be_kept_is_refused(broken: Broken) -> None:
    broken.path("/etc/large").write_bytes(b"x" * (2 << 20))
    with pytest.raises(LabFailure, match="too many to be kept"):
        doing.look(broken.hands, "test@node-2", 0, deeds.WriteFile("node-2", "/etc/large", "x"))


def test_break_and_heal_as_a_person_does_it(broken: Broken) -> None:
    lab = broken.lab
    lab.wait_ready()
    done = lab("break", "bgp-port-dropped", "--node", "node-2", "--decoy", "idle-bridge", "--seed", "3")
    assert done.code == 0, done
    assert "bgp-port-dropped on node-2" in done.stdout
    assert "you will see:" in done.stdout
    assert "tortie lab heal --name demo" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    again = lab("break", "bgp-port-dropped", "--node", "node-2")
    assert (again.code, "is there already" in again.stderr) == (2, True)
    lab.wait("the sessions break", lambda: not lab.node("node-2")["ready"])
    other = lab("heal", "idle-bridge")
    assert other.code == 0, other
    assert "still broken: bgp-port-dropped@node-2" in other.stdout
    noted = lab.folder / "healed"
    assert not noted.exists(), "not before all is as it was"
    missing = lab("heal", "swap-on")
    assert (missing.code, "is not there" in missing.stderr) == (2, True)
    healed = lab("heal", "--lang", "zh")
    assert healed.code == 0, healed
    assert "已恢复 bgp-port-dropped@node-2" in healed.stdout
    assert "一切如初" in healed.stdout
    assert lab("status").code == 0
    assert not (lab.folder / "faults.json").exists()
    assert f"]# cat {noted}\n{noted.read_text()}" in lab("evidence", "-o", "-").stdout
    nothing = lab("heal", "-o", "json")
    assert (nothing.code, nothing.json["healed"], nothing.json["active"]) == (0, [], [])


def test_what_was_not_well_before_counts_afterwards(broken: Broken) -> None:
    """Then all may be as it was, but what was said is not over."""
    lab, noted = broken.lab, broken.lab.folder / "healed"
    lab.wait_ready()
    noted.unlink(missing_ok=True)
    assert lab("stop", "node-3").code == 0
    lab.wait("node-3 is not ready", lambda: not lab.node("node-3")["ready"])
    assert lab("break", "--decoy", "idle-bridge", "--node", "node-1").code == 0
    done = lab("heal")
    assert done.code == 0, done
    assert not noted.exists()
    assert lab("start", "node-3").code == 0
    lab.wait_ready()


def test_somebody_else_heals_first(broken: Broken) -> None:
    lab = broken.lab
    assert lab("break", "--decoy", "idle-bridge", "--node", "node-1").code == 0
    lab.inside("node-1", "ip", "link", "del", "docker0")
    done = lab("heal")
    assert done.code == 0, done
    assert "undone by somebody else already" in done.stdout


def test_what_is_not_as_before_is_named(broken: Broken) -> None:
    lab = broken.lab
    assert lab("break", "--decoy", "idle-bridge", "--node", "node-1").code == 0
    lab.inside("node-3", "ip", "link", "add", "mine", "type", "bridge")
    done = lab("heal")
    lab.inside("node-3", "ip", "link", "del", "mine")
    assert done.code == 1
    assert "node-3: links mine" in done.stderr
    assert lab("heal").code == 0


@pytest.mark.parametrize("state", ["planned", "doing", "done"])
def test_killed_in_the_middle(broken: Broken, state: str) -> None:
    """Whatever has been begun when `break` dies is undone."""
    lab, ledger = broken.lab, broken.lab.folder / "faults.json"
    lab.wait_ready()
    process = lab.start("break", "address-changed", "docker-bridge", "--node", "node-3", "--seed", "5")
    deadline = time.monotonic() + 60.0
    while process.poll() is None and time.monotonic() < deadline:
        try:
            states = [step["state"] for each in json.loads(ledger.read_text())["struck"] for step in each["deeds"]]
        except (OSError, ValueError):
            continue
        if state in states and (state != "planned" or len(set(states)) == 1):
            break
    process.send_signal(signal.SIGKILL)
    process.communicate()
    done = lab("heal")
    assert done.code == 0, (done, lab.logs())
    assert not ledger.exists()
    assert "10.77.0.3/24" in lab.inside("node-3", "ip", "addr")
    assert "br-" not in lab.inside("node-3", "ip", "link")
    assert lab("status").code == 0


def test_a_scenario_file(broken: Broken, tmp_path: Path) -> None:
    lab, file = broken.lab, tmp_path / "play.yaml"
    lab.wait_ready()
    file.write_text(
        "apiVersion: tortie/v1\nkind: Scenario\nseed: 4\nsteps:\n"
        "- {break: forwarding-off, for: 1s}\n"
        "- {decoy: idle-bridge, after: 500ms}\n"
        "- {heal: idle-bridge, after: 1s}\n"
    )
    done = lab("break", "-f", str(file), "-o", "json")
    assert done.code == 0, done
    assert done.json["done"][0]["id"].startswith("forwarding-off@")
    assert done.json["active"] == []
    again = lab("break", "-f", str(file), "-o", "json")
    assert [each.get("id") for each in again.json["done"]] == [each.get("id") for each in done.json["done"]]
    file.write_text("apiVersion: tortie/v1\nkind: Scenario\nsteps:\n- break: bgp-port-droped\n")
    wrong = lab("break", "-f", str(file))
    assert wrong.code == 2 or wrong.code == 1
    assert "line 4" in wrong.stderr
    assert "did you mean bgp-port-dropped?" in wrong.stderr
    both = lab("break", "-f", str(file), "bgp-port-dropped")
    assert both.code == 2


def test_what_there_is_to_break(broken: Broken) -> None:
    lab = broken.lab
    listed = lab("faults", "-o", "json").json
    assert {"name", "cause", "code", "summary", "shows", "needs", "spared", "incident"} <= set(listed["faults"][0])
    for language in ("en", "zh"):
        for words in ((), ("docker-bridge",), ("noise",)):
            done = lab("faults", *words, "--lang", language)
            assert done.code == 0
    misspelt = lab("faults", "docker-brigde")
    assert (misspelt.code, "did you mean docker-bridge?" in misspelt.stderr) == (2, True)
    lacking = lab("break", "wrong-endpoint")
    assert (lacking.code, "--store etcd" in lacking.stderr) == (2, True)
    assert lab("break").code == 2
