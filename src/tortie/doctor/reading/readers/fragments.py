"""Lines of YAML and JSON without their document: greps of manifests, a probe alone, `key: value` as people quote it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Fact, Pool, Probe, Registered, Setting
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers.bounds import bounded
from tortie.doctor.reading.readers.described import annotated

PAIR: Final = lazily(
    r"\s*(?:\d+[:-]\s*)?(?:[#+>-]\s+)?[\"']?([A-Za-z][\w./-]{0,80})[\"']?\s*:\s*(?:\|-?\s*)?[\"']?([^\"'#{}\[\]]*?)[\"']?,?\s*(?:#.*)?$"
)
_NAMED: Final = lazily(r"\s*+(?:\d+[:-]\s*+)?-?\s*+[\"']?name[\"']?\s*:\s*[\"']?([A-Z][A-Z0-9_]*)[\"']?,?\s*$")
_VALUE: Final = lazily(
    r"\s*(?:\d+[:-]\s*)?[\"']?value[\"']?\s*+:\s*+(?:\"([^\"]*)\"|'([^']*)'|(\S.*?)?)\s{0,200}+,?\s{0,200}+(?:#.*)?$"
)
_FLOW: Final = lazily(r"name:\s*[\"']?([A-Z][A-Z0-9_]*)[\"']?,\s*value:\s*[\"']?([^\"'}]*)")
_PROBE: Final = lazily(r"(\s*+)-?\s*+[\"']?(liveness|readiness|startup)Probe[\"']?\s*:\s*\{?\s*$")
_COMMENT: Final = lazily(r"\s*#\s*(?:-\s+name|value)\s*:")

# Names that mean the same wherever they stand, and the scope they belong to.
KNOWN: Final = {
    "configmap": (
        "calico_backend", "veth_mtu", "typha_service_name", "calico_mtu",
    ),
    "felixconfig": (
        "bpfEnabled", "vxlanEnabled", "ipipEnabled", "wireguardEnabled", "iptablesBackend",
        "bpfKubeProxyIptablesCleanupEnabled", "healthHost", "healthPort", "healthEnabled", "healthTimeoutOverrides",
        "defaultEndpointToHostAction", "mtuIfacePattern", "bpfDataIfacePattern", "featureDetectOverride",
        "ipv6Support", "vxlanPort", "vxlanMTU", "ipipMTU", "allowVXLANPacketsFromWorkloads",
        "allowIPIPPacketsFromWorkloads", "chainInsertMode", "bpfExternalServiceMode", "natOutgoingAddress",
        "logSeverityScreen", "ignoreLooseRPF", "xdpEnabled", "genericXDPEnabled", "datastoreType", "bpfLogLevel",
        "bpfConnectTimeLoadBalancing", "iptablesLockTimeout", "iptablesRefreshInterval", "routeSource",
        "floatingIPs", "nftablesMode", "failsafeInboundHostPorts", "failsafeOutboundHostPorts", "interfacePrefix",
        "interfaceExclude", "iptablesFilterDenyAction",
    ),
    "bgpconfig": (
        "nodeToNodeMeshEnabled", "asNumber", "listenPort", "serviceClusterIPs", "serviceExternalIPs", "bindMode",
    ),
    "bgppeer": (
        "peerSelector", "peerIP",
    ),
    "ippool": (
        "cidr", "ipipMode", "vxlanMode", "blockSize", "natOutgoing", "nodeSelector", "disabled", "encapsulation",
    ),
    "installation": (
        "nodeAddressAutodetectionV4", "linuxDataplane", "containerIPForwarding", "bgp", "registry", "variant",
        "kubernetesProvider", "firstFound", "canReach", "skipInterface", "flexVolumePath",
        "linuxPolicySetupTimeoutSeconds",
    ),
    "kubelet": (
        "cgroupDriver", "failSwapOn", "clusterDNS", "maxPods", "resolvConf", "rotateCertificates", "staticPodPath",
    ),
    "kubeadm": (
        "podSubnet", "serviceSubnet", "controlPlaneEndpoint", "advertiseAddress", "criSocket",
    ),
    "kube-proxy": (
        "clusterCIDR", "mode", "strictARP",
    ),
    "cni": (
        "nodename", "etcd_endpoints", "cniVersion", "kubeconfig", "mtu", "nodename_file_optional", "log_level",
        "datastore_type", "subnet", "assign_ipv4", "policy", "k8s_api_root", "etcd_ca_cert_file", "etcd_cert_file",
        "etcd_key_file",
    ),
    "webhook": (
        "failurePolicy",
    ),
    "pod": (
        "priorityClassName", "hostNetwork", "dnsPolicy", "imagePullPolicy", "serviceAccountName", "maxUnavailable",
        "terminationGracePeriodSeconds", "podCIDR", "providerID", "nodeName", "privileged", "hostIP", "podIP",
    ),
    "service": (
        "clusterIP",
    ),
    "namespace": (
        "pod-security.kubernetes.io/enforce", "pod-security.kubernetes.io/warn", "pod-security.kubernetes.io/audit",
    ),
}  # fmt: skip
_SCOPES: Final = {name: scope for scope, names in KNOWN.items() for name in names}
_PLAIN: Final = {
    "mode",
    "bgp",
    "policy",
    "disabled",
    "mtu",
    "registry",
    "subnet",
    "variant",
}  # too common outside of YAML


# Where the command names a kind, its fields are that kind's, whoever else has fields of such names.
_RESOURCES: Final = (
    ("bgppeer", "bgppeer"), ("bgpp", "bgppeer"), ("bgpconfig", "bgpconfig"), ("felixconfig", "felixconfig"),
    ("ippool", "ippool"), ("ipp", "ippool"), ("installation", "installation"),
)  # fmt: skip
_SHARED: Final = ("nodeSelector", "asNumber", "logSeverityScreen", "node")
_ASKED: Final = lazily(
    r"\b(?:get|edit)\s{1,8}(?:-\S{1,40}\s{1,8}){0,4}([a-z]{4,24})(?:\.[a-z.]{1,40})?"
    r"(?:[ /]{1,8}([a-z0-9][\w.-]{0,252}))?"
)
_SELECTOR: Final = lazily(r"\s*(?:\d+[:-]\s*)?[\"']?((?:node|peer)Selector)[\"']?\s*:\s*(\S.{0,500}?),?\s*$")


def _resource(command: str) -> tuple[str, str]:
    """The kind and the name of the resource that a command shows."""
    match = _ASKED.search(command) if "get" in command or "edit" in command else None
    if not match:
        return "", ""
    kind = next((kind for word, kind in _RESOURCES if match[1] == word or match[1].startswith(f"{word}s")), "")
    kind = kind or next((kind for word, kind in _RESOURCES if len(word) > 4 and match[1].startswith(word)), "")
    return kind, match[2] or ""


def _name_above(lines: tuple[str, ...], index: int) -> str:
    """Of a list that grep has cut: metadata, with the name, come before the fields."""
    for line in reversed(lines[max(0, index - 12) : index]):
        if match := re.match(r"\s*[\"']?name[\"']?:\s*[\"']?([a-z0-9][\w.-]*)[\"']?,?\s*$", line):
            return match[1]
    return ""


def _of_resource(exhibit: Exhibit, index: int, kind: str, name: str) -> Setting | None:
    """A selector as it is written, quotes and all; or a field that several kinds have."""
    line = exhibit.lines[index]
    if match := _SELECTOR.match(line):
        value = match[2]
        quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
        return Setting(exhibit.place(index), kind, match[1], value[1:-1] if quoted else value, name)
    pair = PAIR.match(line)
    if pair and pair[2] and pair[1] in (*_SHARED, *KNOWN["bgppeer"], *KNOWN["bgpconfig"]):
        return Setting(exhibit.place(index), kind, pair[1], pair[2].strip(), name)
    return None


def owner_of(command: str) -> str:
    """The container or workload whose settings a command shows."""
    match = re.search(
        r"(?:\s-c[ =]|--container[ =]|\b(?:ds|daemonsets?|deploy|deployments?)(?:\.apps)?[ /]|"
        r"docker (?:inspect|exec)(?: -\w+)* )([a-z][\w-]*)",
        command,
    )
    return match[1] if match else ""


def read_lines(exhibit: Exhibit, start: int, stop: int) -> Iterator[Fact]:
    """What lines `start` to `stop` say, each for itself or together with the one below."""
    exhibit = bounded(exhibit)
    lines = exhibit.lines
    owner = owner_of(exhibit.command)
    asked = re.search(r"\b(?:get|describe)\s+no(?:des?)?[ /]+([a-z0-9][\w.-]*)", exhibit.command)
    node = asked[1] if asked else ""
    calico = "calicoctl" in exhibit.command and re.search(
        r"\bget\s+(?:-\S{1,60}\s{1,4}){0,8}no(?:des?)?\b", exhibit.command
    )
    pool_asked = re.search(r"\bippools?(?:\.[a-z.]+)?(?:[ /]+([a-z0-9][\w.-]*))?", exhibit.command)
    kind, resource = _resource(exhibit.command)
    for index in range(start, stop):
        line = lines[index]
        named = resource or (_name_above(lines, index) if kind == "bgppeer" else "")
        if kind in ("bgppeer", "bgpconfig") and (own := _of_resource(exhibit, index, kind, named)):
            yield own
            continue
        if ":" not in line or _COMMENT.match(line):
            continue
        if "name" in line:
            yield from _variable(exhibit, index, stop, owner)
        if "Probe" in line and (match := _PROBE.match(line)):
            yield _probe(exhibit, index, stop, match)
        if "projectcalico.org/IPv4Address" in line:
            yield from annotated(
                exhibit.place(index), line, node or _name_near(lines, index) or _headed(exhibit, index)
            )
        elif "ipv4Address" in line and calico:
            yield from _recorded(exhibit, index, node)
        elif (pair := PAIR.match(line)) and pair[2]:
            name, value = pair[1], pair[2].strip()
            scope = _SCOPES.get(name, "")
            if scope and (name not in _PLAIN or line[:1].isspace()):
                yield Setting(exhibit.place(index), scope, name, value, owner)
                if name == "cidr" and pool_asked:
                    yield _pool(exhibit, index, value, pool_asked[1] or "")


def _recorded(exhibit: Exhibit, index: int, node: str) -> Iterator[Fact]:
    """`ipv4Address` of Calico's own nodes: the metadata, with the name, come before it."""
    match = re.match(
        r"\s*[\"']?ipv4Address[\"']?:\s*[\"']?(\d+(?:\.\d+){3})(?:/(\d+))?[\"']?,?\s*$", exhibit.lines[index]
    )
    if not match:
        return
    for line in reversed(exhibit.lines[max(0, index - 8) : index] if not node else ()):
        if "ipv4Address" in line:
            break
        if named := re.match(r"\s*[\"']?name[\"']?:\s*[\"']?([a-z0-9][\w.-]*)[\"']?,?\s*$", line):
            node = named[1]
            break
    yield Registered(exhibit.place(index), node, match[1], int(match[2]) if match[2] else None, "calicoctl")


def _pool(exhibit: Exhibit, index: int, cidr: str, name: str) -> Pool:
    """A pool of which grep left some lines: in YAML's order blockSize comes before the CIDR, modes after."""
    near: dict[str, str] = {}
    if index and (pair := PAIR.match(exhibit.lines[index - 1])) and pair[1] == "blockSize":
        near["blockSize"] = pair[2]
    for line in exhibit.lines[index + 1 : index + 7]:
        if not (pair := PAIR.match(line)) or pair[1] in ("cidr", "blockSize"):
            break
        near[pair[1]] = pair[2].strip()
    size, disabled = near.get("blockSize", ""), near.get("disabled", "")
    return Pool(
        exhibit.place(index), name, cidr, int(size) if size.isdecimal() else None, near.get("ipipMode", ""),
        near.get("vxlanMode", ""), disabled == "true" if disabled else None, near.get("nodeSelector", ""), _nat(near),
    )  # fmt: skip


def _nat(near: dict[str, str]) -> bool | None:
    """The API leaves out what is false: the field would stand between these two."""
    if value := near.get("natOutgoing", ""):
        return value == "true"
    return False if "ipipMode" in near and "nodeSelector" in near else None


def _variable(exhibit: Exhibit, index: int, stop: int, owner: str) -> Iterator[Fact]:
    """`- name: X` with `value: y` on the next line (or before it), or both in one flow mapping."""
    line = exhibit.lines[index]
    if flow := _FLOW.search(line):
        yield Setting(exhibit.place(index), "env", flow[1], flow[2].strip(), owner)
        return
    match = _NAMED.match(line)
    if not match:
        return
    below = exhibit.lines[index + 1] if index + 1 < stop else ""
    if value := _VALUE.match(below):
        held = next((part for part in value.groups() if part is not None), "")
        yield Setting(exhibit.place(index, index + 2), "env", match[1], held.strip(), owner)
    elif "valueFrom" in below:
        yield from _from(exhibit, index, stop, match[1], owner)


def _from(exhibit: Exhibit, index: int, stop: int, name: str, owner: str) -> Iterator[Fact]:
    """A value taken from elsewhere, worded as describe does."""
    said: dict[str, str] = {}
    last = index + 2
    for at in range(index + 2, min(index + 7, stop)):
        line = exhibit.lines[at]
        match = re.match(
            r"\s*(fieldPath|key|name|fieldRef|configMapKeyRef|secretKeyRef|apiVersion|optional):\s*(\S*)\s*$", line
        )
        if not match or (match[1] == "name" and match[2].isupper()):
            break
        said[match[1]] = match[2]
        last = at + 1
    value = f"(v1:{said['fieldPath']})" if said.get("fieldPath") else ""
    if said.get("key"):
        value = f"<set to the key '{said['key']}' of config map '{said.get('name', '')}'>"
    yield Setting(exhibit.place(index, last), "env", name, value, owner)


def _probe(exhibit: Exhibit, index: int, stop: int, head: re.Match[str]) -> Probe:
    """A probe by its own lines: everything indented deeper than its name."""
    said: dict[str, str] = {}
    command: list[str] = []
    last = index + 1
    for at in range(index + 1, min(index + 30, stop)):
        line = exhibit.lines[at]
        text = line.strip()
        deep = len(line) - len(line.lstrip()) > len(head[1]) or text in ("}", "},", "]", "],")
        if not text or not deep or _PROBE.match(line):
            break
        if item := re.match(r"\s*(?:-\s+|[\"'])[\"']?([^\"',]+?)[\"']?,?\s*$", line):
            command.append(item[1])
        elif flow := re.match(r"\s*[\"']?command[\"']?:\s*\[(.*)\]", line):
            command += [part.strip().strip("\"'") for part in flow[1].split(",")]
        elif pair := PAIR.match(line):
            said[pair[1]] = pair[2].strip()
        last = at + 1
    action = " ".join(command)
    if "path" in said:
        action = f"{said.get('scheme', 'http').lower()}://{said.get('host', '')}:{said.get('port', '')}{said['path']}"

    def seconds(key: str, default: float) -> float:
        return float(said[key]) if said.get(key, "").isdecimal() else default

    return Probe(
        exhibit.place(index, last), head[2], action, seconds("initialDelaySeconds", 0.0),
        seconds("timeoutSeconds", 1.0), seconds("periodSeconds", 10.0), int(seconds("successThreshold", 1)),
        int(seconds("failureThreshold", 3)),
    )  # fmt: skip


_HEADING: Final = lazily(r"(?:node[ /:]+)?([a-z0-9][\w.-]{0,252}):?$", re.IGNORECASE)


def _headed(exhibit: Exhibit, index: int) -> str:
    """A node's name alone on a line, with what it has below and indented; or what announced the whole."""
    if exhibit.command or not exhibit.lines[index][:1].isspace():
        return ""
    above = (line for line in reversed(exhibit.lines[max(0, index - 12) : index]) if not line[:1].isspace())
    heading = next(above, None)
    if heading is None:
        return exhibit.host
    match = _HEADING.match(heading)
    return match[1] if match else ""


def _name_near(lines: tuple[str, ...], index: int) -> str:
    """The node an annotation of `get nodes -o yaml | grep` belongs to: the name that follows it before the next one."""
    for line in lines[index + 1 : index + 8]:
        if "IPv4Address" in line:
            break
        match = re.match(
            r"\s*[\"']?(?:kubernetes\.io/hostname|name)[\"']?:\s*[\"']?([a-z0-9][\w.-]*)[\"']?,?\s*$", line
        )
        if match:
            return match[1]
    return ""
