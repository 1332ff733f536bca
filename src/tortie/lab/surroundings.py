"""What a machine of the lab finds around itself: its environment, and the command line of a server that it runs."""

from __future__ import annotations

import json
import os
from typing import Final

from tortie.lab.certificates import CLIENT_FILES, SECRETS, SERVER, SERVER_FILES
from tortie.lab.plan import LabPlan, Machine
from tortie.lab.registry import LabFolder
from tortie.lab.tools import tools_folder

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
    if plan.hurry:
        base["PATH"] = f"{tools_folder(folder)}{os.pathsep}{path}"
        base["TORTIE_HURRY"] = str(plan.hurry)
        base |= {"TORTIE_LAB": folder.name, "TORTIE_LAB_DIR": os.path.dirname(folder.path)}
    return base | store_variables(plan, folder, machine) | machine.settings


def store_variables(plan: LabPlan, folder: LabFolder, machine: Machine) -> dict[str, str]:
    if plan.store.kind != "etcd":
        return {"DATASTORE_TYPE": "embedded", "TORTIE_STORE": folder.store}
    base = {"DATASTORE_TYPE": "etcdv3", "ETCD_ENDPOINTS": ",".join(endpoints(plan))}
    if not plan.store.tls:
        return base
    # A member's etcd itself reads the last two, and takes no flags beside them; its certificate serves clients, too.
    place, files = (SERVER, SERVER_FILES) if machine.role == "store" else (SECRETS, CLIENT_FILES)
    names = ("ETCD_CA_CERT_FILE", "ETCD_CERT_FILE", "ETCD_KEY_FILE")
    return base | {
        name: f"{folder.machine(machine.name)}{place}/{file}" for name, file in zip(names, files, strict=True)
    }


def network_variables(plan: LabPlan) -> dict[str, str]:
    """For `tortie cni install`: pods get IPv6 only if the configuration says so, as with Calico."""
    if all(pool.cidr.version == 4 for pool in plan.pools):
        return {}
    ipam = {"type": "calico-ipam", "assign_ipv4": "true", "assign_ipv6": "true"}
    calico = {"type": "calico", "log_level": "info", "ipam": ipam}
    return {"CNI_NETWORK_CONFIG": json.dumps({"name": _NETWORK, "cniVersion": "1.0.0", "plugins": [calico]}, indent=2)}


def endpoints(plan: LabPlan) -> tuple[str, ...]:
    return tuple(_client_url(machine, plan) for machine in plan.stores)


def _client_url(machine: Machine, plan: LabPlan) -> str:
    return _url(machine, CLIENT_PORT, "https" if plan.store.tls else "http")


def _url(machine: Machine, port: int, scheme: str = "http") -> str:
    address = machine.address
    return f"{scheme}://[{address}]:{port}" if address.version == 6 else f"{scheme}://{address}:{port}"


def etcd_command(machine: Machine, plan: LabPlan, folder: LabFolder) -> tuple[str, ...]:
    """Timers for one machine whose cores are shared by all members: several lose their leader with shorter ones."""
    heartbeat_ms, election_ms = (10, 100) if len(plan.stores) == 1 else (50, 500)
    cluster = ",".join(f"{member.name}={_url(member, PEER_PORT)}" for member in plan.stores)
    client, peer = _client_url(machine, plan), _url(machine, PEER_PORT)
    local = f"{'https' if plan.store.tls else 'http'}://127.0.0.1:{CLIENT_PORT}"
    return (
        "etcd",
        f"--name={machine.name}",
        f"--data-dir={os.path.join(folder.machine(machine.name), 'data')}",
        f"--listen-client-urls={client},{local}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster={cluster}",
        f"--initial-cluster-token={plan.name}",
        f"--heartbeat-interval={heartbeat_ms}",
        f"--election-timeout={election_ms}",
        "--log-level=warn",
        *(_tls_flags(folder.machine(machine.name)) if plan.store.tls else ()),
    )


def _tls_flags(root: str) -> tuple[str, ...]:
    """For clients only. Certificate and key are in its environment; it reads the files anew for each who connects."""
    return (f"--trusted-ca-file={root}{SERVER}/ca.pem", "--client-cert-auth")


BIRD_COMMAND: Final = ("bird", "-f", "-c", "bird.cfg", "-s", "bird.ctl")  # in its machine's folder: short paths
