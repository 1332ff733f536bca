"""What a machine of the lab finds around itself: its environment, and the command line of a server that it runs."""

from __future__ import annotations

import json
import os
from typing import Final

from tortie.lab.plan import LabPlan, Machine
from tortie.lab.registry import LabFolder

CLIENT_PORT: Final = 2379
PEER_PORT: Final = 2380
_NETWORK: Final = "k8s-pod-network"


def environment_of(machine: Machine, plan: LabPlan, folder: LabFolder, path: str) -> dict[str, str]:
    """Nothing of the environment in which the lab was started, so that every start is the same."""
    root = folder.machine(machine.name)
    base = {
        "PATH": path,
        "LANG": "C.UTF-8",
        "HOME": root,
        "TORTIE_ROOT": root,
        "TORTIE_CONFIG": "",  # the machine's own calicoctl.cfg is about another cluster
        "NODENAME": machine.name,
    }
    return base | store_variables(plan, folder) | machine.settings


def store_variables(plan: LabPlan, folder: LabFolder) -> dict[str, str]:
    if plan.store.kind == "etcd":
        return {"DATASTORE_TYPE": "etcdv3", "ETCD_ENDPOINTS": ",".join(endpoints(plan))}
    return {"DATASTORE_TYPE": "embedded", "TORTIE_STORE": folder.store}


def network_variables(plan: LabPlan) -> dict[str, str]:
    """For `tortie cni install`: pods get IPv6 only if the configuration says so, as with Calico."""
    if all(pool.cidr.version == 4 for pool in plan.pools):
        return {}
    ipam = {"type": "calico-ipam", "assign_ipv4": "true", "assign_ipv6": "true"}
    calico = {"type": "calico", "log_level": "info", "ipam": ipam}
    return {"CNI_NETWORK_CONFIG": json.dumps({"name": _NETWORK, "cniVersion": "0.3.1", "plugins": [calico]}, indent=2)}


def endpoints(plan: LabPlan) -> tuple[str, ...]:
    return tuple(_url(machine, CLIENT_PORT) for machine in plan.stores)


def _url(machine: Machine, port: int) -> str:
    address = machine.address
    return f"http://[{address}]:{port}" if address.version == 6 else f"http://{address}:{port}"


def etcd_command(machine: Machine, plan: LabPlan, folder: LabFolder) -> tuple[str, ...]:
    """Timers for one machine whose cores are shared by all members: several lose their leader with shorter ones."""
    heartbeat_ms, election_ms = (10, 100) if len(plan.stores) == 1 else (50, 500)
    cluster = ",".join(f"{member.name}={_url(member, PEER_PORT)}" for member in plan.stores)
    client, peer = _url(machine, CLIENT_PORT), _url(machine, PEER_PORT)
    return (
        "etcd",
        f"--name={machine.name}",
        f"--data-dir={os.path.join(folder.machine(machine.name), 'data')}",
        f"--listen-client-urls={client},http://127.0.0.1:{CLIENT_PORT}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster={cluster}",
        f"--initial-cluster-token={plan.name}",
        f"--heartbeat-interval={heartbeat_ms}",
        f"--election-timeout={election_ms}",
        "--log-level=warn",
    )


BIRD_COMMAND: Final = ("bird", "-f", "-c", "bird.cfg", "-s", "bird.ctl")  # in its machine's folder: short paths
