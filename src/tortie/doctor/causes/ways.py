"""Ways to set something, by who owns the installation: the same wish is another command on an operator's cluster.

Fixes say what they want (`set_agent_env`, `open_port`). The rows of way_table.py say who is asked for it and in which
releases; the texts and commands are sections of ways.txt. What the evidence shows to be set already is said, not set.
"""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.methods import FIELDS, SINCE, fitting, kind_of
from tortie.doctor.causes.steps import Step, step_of
from tortie.doctor.causes.surroundings import cloud_of, firewall_of, keeps_in_etcd
from tortie.doctor.causes.way_table import Chosen, choose, kubernetes_of, release_of
from tortie.doctor.picture.facts import Setting
from tortie.doctor.picture.picture import Picture
from tortie.doctor.texts import Value, sections

# Felix's settings by their names in the environment; the operator's clusters have them in FelixConfiguration only.
_FELIX: Final = {
    f"FELIX_{field.upper()}": field
    for field in (
        "awsSrcDstCheck", "bpfEnabled", "chainInsertMode", "defaultEndpointToHostAction", "featureDetectOverride",
        "healthEnabled", "healthHost", "healthPort", "ipv6Support", "iptablesBackend", "logSeverityScreen",
        "mtuIfacePattern", "vxlanEnabled", "vxlanPort", "wireguardEnabled",
    )
} | {"FELIX_IPINIPENABLED": "ipipEnabled"}  # fmt: skip


def set_agent_env(picture: Picture, name: str, value: str) -> tuple[Step, ...]:
    """An environment variable of calico-node."""
    if done := _set_already(picture, name, value, "env"):
        return (_done(name, value, done), *restart_agent(picture))
    chosen = choose(picture, "env")
    if chosen.way.sections == ("env operator",) and name in _FELIX:
        import json

        return set_felix(picture, _FELIX[name], value if _is_scalar(value) else json.dumps(value))
    return _steps(chosen, {"setting": name, "value": value})


def set_autodetection(picture: Picture, method: str, family: int = 4) -> tuple[Step, ...]:
    """How the agent finds its address: IP_AUTODETECTION_METHOD, or the Installation's field; `method` may be open."""
    setting = "IP_AUTODETECTION_METHOD" if family == 4 else "IP6_AUTODETECTION_METHOD"
    if done := _set_already(picture, setting, method, "env"):
        return (_done(setting, method, done), *restart_agent(picture))
    fits = fitting(picture, method)
    if method and not fits:
        return (_step("autodetection too-old", _too_old(picture, method, setting)),)
    kind, _, value = fits.partition("=")
    chosen = choose(picture, "autodetection")
    field = FIELDS.get(kind, "")
    values: dict[str, Value] = {
        "setting": setting,
        "method": fits,
        "family": f"nodeAddressAutodetectionV{family}",
        "field": field,
        "value": {"kubernetes": "NodeInternalIP", "firstFound": "true"}.get(field, value),
        "option": "ipAutoDetectionMethod" if family == 4 else "ip6AutoDetectionMethod",
        "field_of_kops": f"ipv{family}AutoDetectionMethod",
        "six": "6" if family == 6 else "",
    }
    special = f"autodetection {chosen.way.hand}-{kind}"  # a list, or no word
    if special in sections(__name__):
        chosen = chosen._replace(way=chosen.way._replace(sections=(special,)))
    return _steps(chosen, values)


def set_felix(picture: Picture, field: str, value: str) -> tuple[Step, ...]:
    """A field of FelixConfiguration `default`; `value` is JSON: `true`, `"Auto"`, `1440`."""
    told = _plain(value)
    if overrides := picture.setting(f"FELIX_{field.upper()}", "env"):
        if overrides.value.lower() == told.lower():
            return (_done(overrides.name, told, overrides), *restart_agent(picture))
        if choose(picture, "env").way.sections != ("env operator",):
            wins = _step("felix env-wins", {"setting": overrides.name, "shown": str(overrides.place)})
            return (wins, *set_agent_env(picture, overrides.name, told))
    if done := _set_already(picture, field, told, "felixconfig"):
        return (_step("done felix", {"field": field, "value": told, "shown": str(done.place)}),)
    form = "scalar" if _is_scalar(value) else "word"
    where = "-in-etcd" if keeps_in_etcd(picture) else ""
    return (_step(f"felix {form}{where}", {"field": field, "value": told}),)


def set_config_map(picture: Picture, key: str, value: str) -> tuple[Step, ...]:
    """A key of the ConfigMap calico-config, and what has to restart for it: etcd_endpoints. For veth_mtu: set_mtu."""
    if key == "veth_mtu":
        return set_mtu(picture, value)
    if done := _set_already(picture, key, value, "configmap"):
        return (_done(key, value, done), *restart_agent(picture))
    return _steps(choose(picture, "config-map"), {"key": key, "value": value})


def set_mtu(picture: Picture, mtu: str = "0") -> tuple[Step, ...]:
    """The MTU of pods and tunnels; `0` lets Calico find it, where the release can."""
    if done := _set_already(picture, "veth_mtu", mtu, "configmap"):
        return (_done("veth_mtu", mtu, done), *restart_agent(picture))
    automatic = mtu in ("", "0")
    chosen = choose(picture, "mtu-auto" if automatic else "mtu")
    known = mtu if not automatic or chosen.way.hand == "microk8s" else ""
    return _steps(chosen, {"mtu": known, "release": _release(picture)})


def set_agent_limits(picture: Picture, resource: str, quantity: str) -> tuple[Step, ...]:
    """Limits of the agent's container: cpu or memory."""
    return _steps(choose(picture, "limits"), {"resource_name": resource, "quantity": quantity})


def set_probe(picture: Picture, probe: str, field: str, number: int) -> tuple[Step, ...]:
    """`livenessProbe` or `readinessProbe`, and one of its fields: timeoutSeconds, failureThreshold."""
    return _steps(choose(picture, "probe"), {"probe": probe, "field": field, "number": number})


def edit_agent(picture: Picture) -> tuple[Step, ...]:
    """Something in the agent's DaemonSet that has no setting of its own: mounts, images."""
    return _steps(choose(picture, "edit"), {})


def apply_release(picture: Picture, what: str = "calico.yaml") -> tuple[Step, ...]:
    """The files of a release applied again: CRDs, rights, images together."""
    chosen = choose(picture, "apply")
    canal = chosen.owner.way == "canal" and what == "calico.yaml"
    return _steps(chosen, {"file": "canal.yaml" if canal else what})


def restart_agent(picture: Picture, node: str = "") -> tuple[Step, ...]:
    """The agent of one node, or all of them one after the other."""
    if not node:
        return (_step("restart all", {}),)
    pods = [pod.name for pod in picture.agents_now() if pod.node == node]
    if pods:
        return (_step("restart pod", {"node": node, "agent_pod": pods[-1]}),)
    canal = choose(picture, "edit").owner.way == "canal"
    return (_step("restart one-canal" if canal else "restart one", {"node": node}),)


def patch_pool(picture: Picture, pool: str, field: str, value: str) -> tuple[Step, ...]:
    """A field of an IPPool; `value` is JSON: `true`, `"Always"`. The operator owns the pools of its Installation."""
    chosen = choose(picture, "pool")
    told: dict[str, Value] = {"pool": pool, "field": field, "value": _plain(value)}
    if chosen.way.hand != "manifest":
        return _steps(chosen, told)
    section = "pool in-etcd" if keeps_in_etcd(picture) else "pool manifest"
    scalar = "-scalar" if _is_scalar(value) else ""
    return (_step(f"{section}{scalar}", told),)


def open_port(picture: Picture, port: str, protocol: str) -> tuple[Step, ...]:
    """In the host's firewall as it is shown (firewalld, ufw, nftables, iptables), and in the cloud that is shown."""
    firewall, cloud = firewall_of(picture), cloud_of(picture)
    values: dict[str, Value] = {"port": port, "protocol": protocol}
    steps = []
    if firewall in ("firewalld", "ufw", "iptables", "nftables"):
        steps.append(_step(f"port {firewall}", values))
    elif firewall == "off" and not cloud:
        steps.append(_step("port between", values))
    elif not cloud:
        steps.append(_step("port any", values))
    return (*steps, _step(f"cloud {cloud}", values)) if cloud else tuple(steps)


def drain_node(picture: Picture, node: str, *, dead: bool = False) -> tuple[Step, ...]:
    """kubectl has another name for the same option since 1.20."""
    release = kubernetes_of(picture)
    option = "local-data" if release is not None and release < (1, 20) else "emptydir"
    return (_step(f"drain {option}{'-dead' if dead else ''}", {"node": node}),)


def delete_calico_node(picture: Picture, node: str) -> tuple[Step, ...]:
    """Calico has records of its own only in etcd; in Kubernetes its node is the cluster's node."""
    return (_step("delete calico-node" if keeps_in_etcd(picture) else "delete node", {"node": node}),)


def remove_policy(picture: Picture, policy: str, namespace: str = "", *, locally: bool = False) -> tuple[Step, ...]:
    """A namespace's NetworkPolicy, or a GlobalNetworkPolicy; `locally` where only its own machine reaches the API."""
    values: dict[str, Value] = {"policy": policy, "policy_namespace": namespace}
    if namespace:
        return (_step("policy namespaced", values),)
    if keeps_in_etcd(picture):
        return (_step("policy in-etcd", values),)
    return (_step("policy global-locally" if locally else "policy global", values),)


def _steps(chosen: Chosen, values: dict[str, Value]) -> tuple[Step, ...]:
    """The steps of the way, and a word about a platform that would undo them."""
    steps = [_step(section, values | {"shown": chosen.shown}) for section in chosen.way.sections]
    keep = f"keep {chosen.keeper}"
    if len(steps) == 1 and steps[0].shell and chosen.keeper and keep in sections(__name__):
        steps.append(_step(keep, {"shown": chosen.kept}))
    return tuple(steps)


def _step(section: str, values: dict[str, Value]) -> Step:
    return step_of(__name__, section, values)


def _set_already(picture: Picture, name: str, value: str, scope: str) -> Setting | None:
    """Where the evidence shows that it is so, last."""
    setting = picture.setting(name, scope)
    return setting if setting and value and setting.value.strip("\"'").lower() == value.lower() else None


def _done(setting: str, value: str, shown: Setting) -> Step:
    return _step("done set", {"setting": setting, "value": value, "shown": str(shown.place)})


def _too_old(picture: Picture, method: str, setting: str) -> dict[str, Value]:
    since = SINCE[kind_of(method)]
    return {
        "method": method,
        "setting": setting,
        "since": f"v{'.'.join(map(str, since))}",
        "release": _release(picture),
    }


def _release(picture: Picture) -> str:
    release = release_of(picture)
    return f"v{'.'.join(map(str, release))}" if release else ""


def _is_scalar(value: str) -> bool:
    return value in ("true", "false") or value.isdecimal()


def _plain(value: str) -> str:
    """A JSON scalar as people write it: without quotes."""
    return value[1:-1] if value.startswith('"') and value.endswith('"') and len(value) > 1 else value
