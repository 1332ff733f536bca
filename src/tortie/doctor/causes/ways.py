"""Ways to set something, by who owns the installation: the same wish is another command on an operator's cluster.

Fixes say what they want (`set_agent_env`, `open_port`); this table says how it is done where the evidence comes from.
"""

from __future__ import annotations

from tortie.doctor.causes.steps import Step, step_of
from tortie.doctor.picture.picture import Picture


def set_agent_env(picture: Picture, name: str, value: str) -> tuple[Step, ...]:
    """An environment variable of calico-node."""
    del picture
    return (step_of(__name__, "env manifest", {"setting": name, "value": value}),)


def set_autodetection(picture: Picture, method: str, family: int = 4) -> tuple[Step, ...]:
    """How the agent finds its address: IP_AUTODETECTION_METHOD, or the Installation's field."""
    del picture
    setting = "IP_AUTODETECTION_METHOD" if family == 4 else "IP6_AUTODETECTION_METHOD"
    return (step_of(__name__, "autodetection manifest", {"setting": setting, "method": method}),)


def set_felix(picture: Picture, field: str, value: str) -> tuple[Step, ...]:
    """A field of FelixConfiguration `default`; `value` is JSON: `true`, `"Auto"`, `1440`."""
    del picture
    patch = {"field": field, "value": value}
    return (step_of(__name__, "felix crd", patch),)


def set_config_map(picture: Picture, key: str, value: str) -> tuple[Step, ...]:
    """A key of the ConfigMap calico-config, and what has to restart for it: veth_mtu, etcd_endpoints."""
    del picture
    return (step_of(__name__, "config-map manifest", {"key": key, "value": value}),)


def set_agent_limits(picture: Picture, resource: str, quantity: str) -> tuple[Step, ...]:
    """Limits of the agent's container: cpu or memory."""
    del picture
    return (step_of(__name__, "limits manifest", {"resource_name": resource, "quantity": quantity}),)


def edit_agent(picture: Picture) -> tuple[Step, ...]:
    """Something in the agent's DaemonSet that has no setting of its own: probes, mounts, images."""
    del picture
    return (step_of(__name__, "edit manifest"),)


def apply_release(picture: Picture, what: str = "calico.yaml") -> tuple[Step, ...]:
    """The files of a release applied again: CRDs, rights, images together."""
    del picture
    return (step_of(__name__, "apply manifest", {"file": what}),)


def restart_agent(picture: Picture, node: str = "") -> tuple[Step, ...]:
    """The agent of one node, or all of them one after the other."""
    del picture
    return (step_of(__name__, "restart one" if node else "restart all", {"node": node}),)


def open_port(picture: Picture, port: str, protocol: str) -> tuple[Step, ...]:
    """In the host's firewall as it is shown (firewalld, ufw, nftables, iptables), and in the cloud that is shown."""
    del picture
    return (step_of(__name__, "port firewalld", {"port": port, "protocol": protocol}),)
