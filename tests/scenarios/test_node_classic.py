"""Classic mode on real namespaces: a start as a release of Calico makes it, its lines, its faults, its probes."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.agent import NodeAgent
from tests.support.cli import Tortie, key_of, node, resource
from tests.support.netns import Namespace, host_and_router

pytestmark = pytest.mark.timeout(180)

CALICO = {"NODENAME": "n1", "IP": "autodetect", "FELIX_IPV6SUPPORT": "false"}
BRIDGE = "br-3a10a9384428"


@pytest.fixture
def host() -> Iterator[Namespace]:
    with host_and_router("classic") as (machine, _):
        yield machine


def classic(folder: Path, host: Namespace, version: str, **variables: str) -> NodeAgent:
    return NodeAgent(folder, host, "--classic", version, **CALICO, TORTIE_ROOT=str(folder), **variables)


def store_of(agent: NodeAgent) -> Tortie:
    return Tortie(agent.folder, TORTIE_STORE=agent.variables["TORTIE_STORE"])


def with_pool(agent: NodeAgent, **spec: object) -> None:
    agent.folder.mkdir(parents=True, exist_ok=True)
    store_of(agent).put(
        key_of("ippools", "p"), resource("IPPool", "p", {"cidr": "10.5.0.0/16", "blockSize": 26} | spec)
    )


def address_of(agent: NodeAgent, name: str = "n1") -> str:
    stored = json.loads(store_of(agent).entries()[key_of("nodes", name)])
    return str((stored["spec"].get("bgp") or {}).get("ipv4Address", ""))


def start_lines(agent: NodeAgent) -> list[str]:
    """Up to the end of the start, without time and process."""
    said = []
    for line in agent.log.splitlines():
        said.append(re.sub(r"^\S+ \S+ \[(\w+)\]\[\d+\] ", r"[\1] ", line))
        if line in ("Calico node started successfully", "Calico node failed to start"):
            break
    return said


def wait_until(what: str, is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def check(agent: NodeAgent, version: str, *flags: str) -> tuple[int, str]:
    ran = agent.command("check", "--classic", version, *flags)
    assert ran.stderr == ""
    return ran.code, ran.stdout


HEALTHY = {
    "2.6": [
        "Skipping datastore connection test",
        "Using autodetected IPv4 address on interface eth0: 10.0.0.1/24",
        "No AS number configured on node resource, using global value",
        "Using node name: n1",
    ],
    "3.8": [
        "[INFO] startup.go 256: Early log level set to info",
        "[INFO] startup.go 272: Using NODENAME environment for node name",
        "[INFO] startup.go 284: Determined node name: n1",
        "[INFO] startup.go 97: Skipping datastore connection test",
        '[INFO] startup.go 367: Building new node resource Name="n1"',
        "[INFO] startup.go 382: Initialize BGP data",
        "[INFO] startup.go 584: Using autodetected IPv4 address on interface eth0: 10.0.0.1/24",
        "[INFO] startup.go 452: Node IPv4 changed, will check for conflicts",
        "[INFO] startup.go 647: No AS number configured on node resource, using global value",
        "[INFO] startup.go 530: FELIX_IPV6SUPPORT is false through environment variable",
        "[INFO] startup.go 181: Using node name: n1",
    ],
    "3.20": [
        "[INFO] startup/startup.go 396: Early log level set to info",
        "[INFO] startup/utils.go 126: Using NODENAME environment for node name n1",
        "[INFO] startup/utils.go 138: Determined node name: n1",
        "[INFO] startup/startup.go 98: Starting node n1 with version v3.20.0",
        "[INFO] startup/startup.go 110: Skipping datastore connection test",
        '[INFO] startup/startup.go 439: Building new node resource Name="n1"',
        "[INFO] startup/startup.go 454: Initialize BGP data",
        "[INFO] startup/startup.go 713: Using autodetected IPv4 address on interface eth0: 10.0.0.1/24",
        "[INFO] startup/startup.go 530: Node IPv4 changed, will check for conflicts",
        "[INFO] startup/startup.go 790: No AS number configured on node resource, using global value",
        "[INFO] startup/startup.go 906: Selected default IP pool is '192.168.0.0/16'",
        "[INFO] startup/startup.go 645: FELIX_IPV6SUPPORT is false through environment variable",
        "[INFO] startup/startup.go 208: Using node name: n1",
    ],
    "3.28": [
        "[INFO] startup/startup.go 431: Early log level set to info",
        "[INFO] startup/utils.go 126: Using NODENAME environment for node name n1",
        "[INFO] startup/utils.go 138: Determined node name: n1",
        "[INFO] startup/startup.go 95: Starting node n1 with version v3.28.0",
        "[INFO] startup/startup.go 107: Skipping datastore connection test",
        '[INFO] startup/startup.go 474: Building new node resource Name="n1"',
        "[WARNING] startup/winutils.go 150: Neither --kubeconfig nor --master was specified.  Using the "
        "inClusterConfig.  This might not work.",
        "[WARNING] startup/winutils.go 155: error creating inClusterConfig, falling back to default config: unable to "
        "load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined",
        "[INFO] startup/startup.go 489: Initialize BGP data",
        "[INFO] startup/autodetection_methods.go 103: Using autodetected IPv4 address on interface eth0: 10.0.0.1/24",
        "[INFO] startup/startup.go 565: Node IPv4 changed, will check for conflicts",
        "[INFO] startup/startup.go 712: No AS number configured on node resource, using global value",
        "[INFO] startup/startup.go 830: Selected default IP pool is '192.168.0.0/16'",
        "[INFO] startup/startup.go 680: FELIX_IPV6SUPPORT is false through environment variable",
        "[INFO] startup/startup.go 215: Using node name: n1",
    ],
}


@pytest.mark.parametrize("version", HEALTHY)
def test_a_healthy_first_start_line_by_line(host: Namespace, tmp_path: Path, version: str) -> None:
    agent = classic(tmp_path, host, version)
    with_pool(agent)
    with agent:
        agent.wait_ready()
        first, *rest = start_lines(agent)
        assert "Classic mode: this is Tortie" in first
        assert "for the lab and the doctor's tests only" in first
        assert rest == [*HEALTHY[version], "Calico node started successfully"]
        assert address_of(agent) == "10.0.0.1/24"
        assert (tmp_path / "var/lib/calico/nodename").read_text() == "n1"
        wait_until("BIRD", lambda: check(agent, version, "-bird-live", "-felix-live") == (0, ""))
        assert agent.stop() == 0
    # The address is known: no conflict check, and nobody is read for it.
    with agent:
        agent.wait_log("Calico node started successfully", times=2)
        assert agent.log.count("will check for conflicts") == (0 if version == "2.6" else 1)


def test_a_bridge_is_taken_while_the_node_runs(host: Namespace, tmp_path: Path) -> None:
    with classic(tmp_path, host, "3.20", AUTODETECT_POLL_INTERVAL="1s") as agent:
        agent.wait_ready()
        assert address_of(agent) == "10.0.0.1/24"
        host.bridge(BRIDGE)
        host.ip("addr", "add", "172.18.0.1/16", "dev", BRIDGE)
        agent.wait_log("monitor-addresses/startup.go 325: Updated node IP addresses")
        assert f"Using autodetected IPv4 address on interface {BRIDGE}: 172.18.0.1/16" in agent.log
        assert address_of(agent) == "172.18.0.1/16"


def test_a_later_release_passes_it_over(host: Namespace, tmp_path: Path) -> None:
    host.bridge(BRIDGE)
    host.ip("addr", "add", "172.18.0.1/16", "dev", BRIDGE)
    with classic(tmp_path, host, "3.28", AUTODETECT_POLL_INTERVAL="1s") as agent:
        agent.wait_ready()
        agent.wait_log("monitor-addresses/autodetection_methods.go 103: Using autodetected IPv4 address", times=2)
        assert address_of(agent) == "10.0.0.1/24"
        assert BRIDGE not in agent.log


@pytest.mark.parametrize(
    ("version", "line"),
    [
        (
            "2.6",
            "Calico node 'n2' is already using the IPv4 address 10.0.0.1:",
        ),
        ("3.9", "[WARNING] startup.go 1010: Calico node 'n2' is already using the IPv4 address 10.0.0.1."),
        ("3.20", "[WARNING] startup/startup.go 1074: Calico node 'n2' is already using the IPv4 address 10.0.0.1."),
    ],
)
def test_a_conflict_is_the_end(host: Namespace, tmp_path: Path, version: str, line: str) -> None:
    agent = classic(tmp_path, host, version)
    with_pool(agent)
    store_of(agent).put(key_of("nodes", "n2"), node("n2", "10.0.0.1/24"))
    with agent:
        assert agent.wait_end() == 1
    lines = start_lines(agent)
    assert line in lines
    assert lines[-1] == "Calico node failed to start"
    assert lines[-2].endswith("Terminating")
    assert not any("Clearing" in each for each in lines)  # this node was never stored
    assert key_of("nodes", "n1") not in store_of(agent).entries()
    assert address_of(agent, "n2") == "10.0.0.1/24"


@pytest.mark.parametrize(("version", "cleared"), [("3.0", False), ("3.9", True), ("3.28", True)])
def test_the_loser_of_a_conflict_that_was_stored_before_loses_its_address(
    host: Namespace, tmp_path: Path, version: str, cleared: bool
) -> None:
    agent = classic(tmp_path, host, version)
    with_pool(agent)
    store_of(agent).put(key_of("nodes", "n1"), node("n1", "10.0.0.9/24"))
    store_of(agent).put(key_of("nodes", "n2"), node("n2", "10.0.0.1/24"))
    with agent:
        assert agent.wait_end() == 1
    said = any(
        line.endswith('Clearing out-of-date IPv4 address from this node IP="10.0.0.1/24"')
        for line in start_lines(agent)
    )
    assert (said, address_of(agent)) == (cleared, "" if cleared else "10.0.0.9/24")


@pytest.mark.parametrize(
    ("variables", "error"),
    [
        (
            {"CALICO_IPV4POOL_CIDR": "10.0.0.0/33"},
            "[ERROR] startup/startup.go 834: Invalid CIDR specified in CALICO_IPV4POOL_CIDR '10.0.0.0/33'",
        ),
        ({"CALICO_IPV4POOL_BLOCK_SIZE": "19"}, "[ERROR] startup/startup.go 644: Invalid blocksize 19 for version 4"),
        (
            {"AS": "x"},
            "[ERROR] startup/startup.go 703: The AS number specified in the environment (AS=x) is not valid "
            "error=invalid AS Number format (x)",
        ),
        (
            {"IP": "none"},
            "[ERROR] startup/startup.go 282: No IPv4 or IPv6 addresses configured or detected, required for Calico "
            "networking",
        ),
    ],
)
def test_what_it_refuses_ends_it_with_one(
    host: Namespace, tmp_path: Path, variables: dict[str, str], error: str
) -> None:
    agent = NodeAgent(tmp_path, host, "--classic", "3.28", **(CALICO | variables), TORTIE_ROOT=str(tmp_path))
    with agent:
        assert agent.wait_end() == 1
    *_, said, ending, last = start_lines(agent)
    assert (said, ending) == (error, "[WARNING] startup/utils.go 48: Terminating")
    assert last == "Calico node failed to start"
    assert not any("ippools" in key for key in store_of(agent).entries())


def test_an_as_number_that_is_taken_although_it_is_none(host: Namespace, tmp_path: Path) -> None:
    agent = classic(tmp_path, host, "3.28", AS="0")
    with_pool(agent)
    with agent:
        agent.wait_log("Calico node started successfully")
    assert "Using AS number specified in environment (AS=0)" in agent.log
    assert address_of(agent) == "10.0.0.1/24"


def test_default_pools_are_made_as_the_release_makes_them(host: Namespace, tmp_path: Path) -> None:
    agent = NodeAgent(
        tmp_path,
        host,
        "--classic",
        "3.28",
        NODENAME="n1",
        CALICO_IPV4POOL_CIDR="10.5.0.0/16",
        TORTIE_ROOT=str(tmp_path),
    )
    with agent:
        agent.wait_log("Calico node started successfully")
    lines = [line.split(": ", 1)[1] for line in start_lines(agent) if "startup/" in line]
    begin = lines.index("CALICO_IPV4POOL_NAT_OUTGOING is true (defaulted) through environment variable")
    made = re.sub(r"fd\w\w:\w+:\w+::/48|fd[0-9a-f:]+::/48", "ULA/48", "\n".join(lines[begin:-1]))
    modes = "IPIP mode: Never, VXLAN mode: Never, DisableBGPExport: false"
    assert made.splitlines() == [
        "CALICO_IPV4POOL_NAT_OUTGOING is true (defaulted) through environment variable",
        "CALICO_IPV4POOL_DISABLE_BGP_EXPORT is false (defaulted) through environment variable",
        f"Ensure default IPv4 pool is created. {modes}",
        f"Created default IPv4 pool (10.5.0.0/16) with NAT outgoing true. {modes}",
        "FELIX_IPV6SUPPORT is true (defaulted) through environment variable",
        "IPv6 supported on this platform: true",
        "CALICO_IPV6POOL_NAT_OUTGOING is false (defaulted) through environment variable",
        "CALICO_IPV6POOL_DISABLE_BGP_EXPORT is false (defaulted) through environment variable",
        f"Ensure default IPv6 pool is created. {modes}",
        f"Created default IPv6 pool (ULA/48) with NAT outgoing false. {modes}",
    ]
    entries = store_of(agent).entries()
    assert {key_of("ippools", f"default-ipv{family}-ippool") for family in (4, 6)} <= set(entries)
    information = json.loads(entries[key_of("clusterinformations", "default")])["spec"]
    assert information["calicoVersion"] == "v3.28.0"
    assert key_of("bgpconfigurations", "default") not in entries


def test_no_health_port_and_probes_in_calicos_words_until_the_start_is_over(host: Namespace, tmp_path: Path) -> None:
    endpoint = "http://10.0.0.254:2379"
    with classic(
        tmp_path, host, "3.20", WAIT_FOR_DATASTORE="true", TORTIE_HURRY="10", ETCD_ENDPOINTS=endpoint
    ) as agent:
        agent.wait_log("Hit error connecting to datastore - retry error=", times=2)
        assert "dial tcp 10.0.0.254:2379: connect: connection refused" in agent.log
        assert agent.ask("/liveness")[0] == 0
        refused = "dial tcp 127.0.0.1:9099: connect: connection refused"
        live = f'calico/node is not ready: Felix is not live: Get "http://localhost:9099/liveness": {refused}\n'
        assert check(agent, "3.20", "-felix-live", "-bird-live") == (1, live)
        old = f"calico/node is not ready: Felix is not live: Get http://localhost:9099/liveness: {refused}"
        assert check(agent, "3.9", "-felix-live") == (1, old)
        confd = "calico/node is not ready: bird/confd is not live: exit status 1\n"
        assert check(agent, "3.20", "-bird-live") == (1, confd)
        stat = "failed to stat() nodename file: stat /var/lib/calico/nodename: no such file or directory"
        assert check(agent, "3.20", "--bird-ready") == (1, f"calico/node is not ready: BIRD is not ready: {stat}\n")
        (tmp_path / "var/lib/calico").mkdir(parents=True)
        (tmp_path / "var/lib/calico/nodename").write_text("n1")
        socket = (
            "unable to connect to BIRDv4 socket: dial unix /var/run/bird/bird.ctl: connect: no such file or directory"
        )
        missing = f"calico/node is not ready: BIRD is not ready: Error querying BIRD: {socket}\n"
        assert check(agent, "3.20", "-felix-ready", "-bird-ready") == (1, missing)
        assert check(agent, "3.20")[1].startswith("calico/node check error: must specify at least one of -bird-live")
        assert agent.running


def test_without_waiting_an_unreachable_datastore_is_the_end(host: Namespace, tmp_path: Path) -> None:
    with classic(tmp_path, host, "3.9", TORTIE_HURRY="10", ETCD_ENDPOINTS="http://10.0.0.254:2379") as agent:
        assert agent.wait_end() == 1
    lines = start_lines(agent)
    assert lines[-1] == "Calico node failed to start"
    assert lines[-2] == "[WARNING] startup.go 1214: Terminating"
    assert lines[-3].endswith("Unable to access datastore to query node configuration")
    assert "Unable to query node configuration" in lines[-4]


def test_peers_that_are_missing_by_release(host: Namespace, tmp_path: Path) -> None:
    agent = classic(tmp_path, host, "3.20")
    with_pool(agent)
    store_of(agent).put(key_of("nodes", "n2"), node("n2", "10.0.0.2/24"))
    with agent:
        agent.wait_ready()
        said = "calico/node is not ready: BIRD is not ready: BGP not established with 10.0.0.2"
        wait_until("BIRD", lambda: said in check(agent, "3.20", "-felix-ready", "-bird-ready")[1])
        code, text = check(agent, "3.20", "-felix-ready", "-bird-ready")
        count, reason = text.splitlines()
        assert (code, reason) == (1, said)
        assert count.endswith("confd/health.go 180: Number of node(s) with BGP peering established = 0")
        code, text = check(agent, "3.9", "-felix-ready", "-bird-ready")
        assert code == 1
        counted = "Number of node(s) with BGP peering established = 0\n"
        glued = r"\d{4}-\d\d-\d\d \S+ \[INFO\]\[\d+\] health\.go 156: " + re.escape(counted)
        assert re.fullmatch(re.escape(said) + glued, text)
        assert check(agent, "3.8", "-bird-ready")[1].startswith("Threshold time for bird readiness check:  30s\n")
        assert agent.ask("/readiness")[0] in (200, 204)  # Felix knows nothing of BGP


def test_a_port_that_somebody_has(host: Namespace, tmp_path: Path) -> None:
    host.popen("python3", "-m", "http.server", "9099", "--bind", "127.0.0.1")
    wait_until("the stranger", lambda: "9099" in host.run("ss", "-ltn").stdout)
    with classic(tmp_path, host, "3.20") as agent:
        taken = "error=listen tcp 127.0.0.1:9099: bind: address already in use"
        agent.wait_log(f"felix/health.go 296: Health endpoint failed, trying to restart it... {taken}", times=2)
        assert "felix is not ready: readiness probe reporting 404" in check(agent, "3.20", "-felix-ready")[1]


def test_a_localhost_that_is_somewhere_else(host: Namespace, tmp_path: Path) -> None:
    host.write_file("hosts", "10.9.9.9 localhost\n")
    with classic(tmp_path, host, "3.20") as agent:
        elsewhere = "error=listen tcp 10.9.9.9:9099: bind: cannot assign requested address"
        agent.wait_log(f"Health endpoint failed, trying to restart it... {elsewhere}", times=2)


def test_loose_rp_filter_kept_old_releases_from_running(host: Namespace, tmp_path: Path) -> None:
    host.run("sysctl", "-w", "net.ipv4.conf.all.rp_filter=2")
    with classic(tmp_path, host, "3.11") as agent:
        agent.wait_log("int_dataplane.go 1035: Kernel's RPF check is set to 'loose'.  This would allow", times=2)
        assert "[FATAL]" in agent.log
        assert agent.ask("/liveness")[0] == 0
        host.run("sysctl", "-w", "net.ipv4.conf.all.rp_filter=1")
        agent.wait_ready()
        host.run("sysctl", "-w", "net.ipv4.conf.all.rp_filter=2")
    with classic(tmp_path / "later", host, "3.12") as agent:
        agent.wait_ready()
        assert "RPF" not in agent.log


def test_a_full_pool_keeps_the_node_from_starting(host: Namespace, tmp_path: Path) -> None:
    agent = classic(tmp_path, host, "3.20", DISABLE_NODE_IP_CHECK="true")
    with_pool(agent, cidr="10.5.0.0/32", blockSize=32, vxlanMode="Always", ipipMode="Never")
    with agent:
        agent.wait_log('Assigned tunnel address to node IP="10.5.0.0" type="vxlanTunnelAddress"')
        agent.wait_ready()
        agent.stop()
    agent.variables["NODENAME"] = "n2"
    with agent:
        assert agent.wait_end() == 1
    full = "Unable to autoassign an address - pools are likely exhausted."
    assert f'{full} type="vxlanTunnelAddress"' in agent.log
    assert agent.log.rstrip().endswith("Calico node failed to start")


def test_settings_that_cannot_be_meant_end_it_in_its_own_words(host: Namespace, tmp_path: Path) -> None:
    with classic(tmp_path, host, "3.20", IP_AUTODETECTION_METHOD="eth0") as agent:
        assert agent.wait_end() == 1
    assert start_lines(agent)[-3:] == [
        "[ERROR] startup/startup.go 697: Invalid IP autodetection method: eth0",
        "[WARNING] startup/utils.go 48: Terminating",
        "Calico node failed to start",
    ]


def test_releases_that_nobody_knows_are_refused(tmp_path: Path) -> None:
    ran = Tortie(tmp_path).run("node", "run", "--classic", "4.1")
    assert ran.code == 2
    assert "v2.6" in ran.stderr
    assert "v3.28" in ran.stderr
