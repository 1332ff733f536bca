"""Every environment variable that a Calico node knows, and Tortie's own: what each is, and what Tortie does with it.

The one table behind the reading, `tortie node explain` and docs/reference/environment.md. Felix's are in
`tortie.node.settings.felix`, because there are two hundred of them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tortie.node.settings.felix import FELIX, FELIX_PREFIX, TYPHA, TYPHA_PREFIXES

USED: Final = "used"
LATER: Final = "accepted for later parts"
KUBERNETES: Final = "needs Kubernetes"
NOT_HERE: Final = "not applicable"

TEXT: Final = "text"
PATH: Final = "path"
SWITCH: Final = "true or false"
NUMBER: Final = "number"
SECONDS: Final = "seconds"
DURATION: Final = "duration, as in 90s"
PORT: Final = "port"
HOST: Final = "address or host name"
LEVEL: Final = "log level"
ADDRESS: Final = "autodetect, none, address or CIDR"
METHOD: Final = "autodetection method"
CIDR: Final = "CIDR"
POOL: Final = "CIDR or none"
MODE: Final = "Never, CrossSubnet or Always"
SELECTOR: Final = "selector"
GO_SWITCH: Final = "Go's true or false"


class Variable(NamedTuple):
    name: str
    kind: str
    default: str  # Tortie's, in the form a person would write; "" where nothing is as good as a value
    reader: str  # who reads it in Calico
    use: str
    effect: str
    live: bool = False  # a change applies at once when the agent reads its settings again
    secret: bool = False
    stays: str = ""  # what taking the variable away does not undo


_REGISTERED: Final = "the registered value stays"
_NAMED: Final = "the name in the nodename file stays"


def _pool(family: int, default_nat: str, default_size: str) -> tuple[Variable, ...]:
    stem, pool = f"CALICO_IPV{family}POOL_", f"default IPv{family} pool"
    blank = "a range that is free here" if family == 4 else "a random /48 of fd00::/8, if the kernel has IPv6"
    variables = (
        Variable(f"{stem}CIDR", POOL, "", "startup", USED, f"range of the {pool}; unset: {blank}; none: no such pool"),
        Variable(f"{stem}BLOCK_SIZE", NUMBER, default_size, "startup", USED, f"prefix length of the {pool}'s blocks"),
        *(
            [Variable(f"{stem}IPIP", MODE, "Never", "startup", USED, f"IPIP between nodes for the {pool}")]
            if family == 4
            else []
        ),
        Variable(f"{stem}VXLAN", MODE, "Never", "startup", USED, f"VXLAN between nodes for the {pool}"),
        Variable(f"{stem}NAT_OUTGOING", SWITCH, default_nat, "startup", USED, f"masquerading for the {pool}"),
        Variable(f"{stem}NODE_SELECTOR", SELECTOR, "", "startup", USED, f"nodes that the {pool} serves; unset: all"),
        Variable(f"{stem}DISABLE_BGP_EXPORT", SWITCH, "false", "startup", USED, f"keep the {pool} out of BGP"),
    )
    return tuple(variable._replace(stays="a pool that exists stays as it is") for variable in variables)


NODE: Final = (
    Variable("NODENAME", TEXT, "", "all parts", USED, "name of this node; wins over the nodename file", stays=_NAMED),
    Variable(
        "HOSTNAME",
        TEXT,
        "",
        "startup",
        USED,
        "name of this node, if neither NODENAME nor the file has one",
        stays=_NAMED,
    ),
    Variable(
        "CALICO_NODENAME_FILE", PATH, "/var/lib/calico/nodename", "startup", USED, "where the name is kept for CNI"
    ),
    Variable(
        "CALICO_SHUTDOWN_TIMESTAMP_FILE",
        PATH,
        "/var/lib/calico/shutdownTS",
        "shutdown",
        USED,
        "where the time of an orderly end is written",
    ),
    Variable("CALICO_STARTUP_LOGLEVEL", LEVEL, "info", "startup", USED, "least severe line that is logged", live=True),
    Variable(
        "WAIT_FOR_DATASTORE",
        SWITCH,
        "true",
        "startup",
        USED,
        "Tortie waits in any case, live and not ready, and says for what; Calico only for exactly true",
    ),
    Variable(
        "IP",
        ADDRESS,
        "",
        "startup, monitor",
        USED,
        "IPv4 address; unset: `agreed` at every start; with a method given, the registered one, else autodetect",
        live=True,
        stays=_REGISTERED,
    ),
    Variable(
        "IP6",
        ADDRESS,
        "",
        "startup, monitor",
        USED,
        "IPv6 address; unset: the registered one, or none",
        live=True,
        stays=_REGISTERED,
    ),
    Variable(
        "IP_AUTODETECTION_METHOD",
        METHOD,
        "agreed",
        "startup, monitor",
        USED,
        "how IPv4 is autodetected; unset: what the other nodes and the default route agree with (Calico: first-found)",
        live=True,
    ),
    Variable("IP6_AUTODETECTION_METHOD", METHOD, "agreed", "startup, monitor", USED, "the same for IPv6", live=True),
    Variable(
        "AUTODETECT_POLL_INTERVAL",
        DURATION,
        "60s",
        "monitor",
        USED,
        "how often addresses are compared, besides at once when the kernel reports a change",
    ),
    Variable(
        "DISABLE_NODE_IP_CHECK",
        SWITCH,
        "false",
        "startup, monitor",
        USED,
        "do not look for other nodes with the same address; Calico: only exactly true",
        live=True,
    ),
    Variable(
        "AS",
        "AS number",
        "",
        "startup",
        USED,
        "AS number of this node; unset: the registered one, or the cluster's",
        live=True,
        stays=_REGISTERED,
    ),
    Variable(
        "CALICO_NETWORKING_BACKEND",
        "bird, vxlan or none",
        "bird",
        "all parts",
        USED,
        "who carries packets between nodes",
    ),
    Variable(
        "CALICO_NETWORKING",
        "false, or anything else",
        "",
        "container start",
        USED,
        "old form: false is backend none, all else bird; wins over CALICO_NETWORKING_BACKEND",
    ),
    Variable(
        "CALICO_K8S_NODE_REF", TEXT, "", "startup, confd", USED, "name of this node in Kubernetes", stays=_REGISTERED
    ),
    Variable(
        "CLUSTER_TYPE",
        "words, with commas",
        "",
        "startup",
        USED,
        "added to ClusterInformation",
        stays="words that were added stay",
    ),
    Variable("NO_DEFAULT_POOLS", SWITCH, "false", "startup", USED, "create no pool; Calico: only true, in any case"),
    *_pool(4, "true", "26"),
    *_pool(6, "false", "122"),
    Variable(
        "CALICO_DISABLE_FILE_LOGGING", SWITCH, "false", "container start", USED, "no folder for log files is made"
    ),
    Variable(
        "CALICO_DISABLE_FELIX", SWITCH, "false", "container start", USED, "no dataplane here; Calico: with any value"
    ),
    Variable(
        "CALICO_MANAGE_CNI", SWITCH, "true", "token monitor", KUBERNETES, "keep the CNI plugin's kubeconfig fresh"
    ),
    Variable(
        "CALICO_CNI_SERVICE_ACCOUNT", TEXT, "calico-cni-plugin", "token monitor", KUBERNETES, "whose token it gets"
    ),
    Variable("CNI_TOKEN_REFRESH_INTERVAL", DURATION, "", "token monitor", KUBERNETES, "how often it is renewed"),
    Variable(
        "CALICO_ROUTER_ID", "IPv4 address or hash", "", "confd", USED, "BGP router id; unset: the node's IPv4 address"
    ),
    Variable("CALICO_ADVERTISE_CLUSTER_IPS", CIDR, "", "confd", LATER, "service range that BGP advertises"),
    Variable("BGP_LOGSEVERITYSCREEN", LEVEL, "", "confd", LATER, "log level of the BGP part"),
    Variable("NAMESPACE", TEXT, "kube-system", "confd", KUBERNETES, "where the Secrets with BGP passwords are"),
    Variable(
        "CALICO_ENDPOINT_STATUS_PATH_PREFIX", PATH, "/var/run/calico", "confd", LATER, "where local BGP peers are found"
    ),
    Variable("NODE_USER_ID", NUMBER, "1000", "hostpath-init", LATER, "owner of the folders of a node without root"),
)

CLUSTER: Final = (
    Variable(
        "KUBERNETES_SERVICE_HOST", HOST, "", "all parts", USED, "set by Kubernetes; default pools keep off its address"
    ),
    Variable("KUBERNETES_SERVICE_IPS_PORTS", TEXT, "", "init", NOT_HERE, "for the eBPF bootstrap"),
    Variable("KUBERNETES_APISERVER_ENDPOINTS", TEXT, "", "init", NOT_HERE, "for the eBPF bootstrap"),
    *(
        Variable(
            f"{prefix}{name}", SECONDS if name.endswith("TIMEOUT") else TEXT, default, "Typha clients", NOT_HERE, effect
        )
        for prefix in TYPHA_PREFIXES
        for name, default, effect in TYPHA
    ),
)

# Each of these is also read with CALICO_ in front, and that form wins. tortie.cli.settings opens the store by them.
DATASTORE: Final = (
    Variable(
        "DATASTORE_TYPE", "embedded or etcdv3", "", "client", USED, "which datastore; unset: etcdv3 if one is named"
    ),
    Variable("ETCD_ENDPOINTS", "URLs, with commas", "", "client", USED, "where etcd is"),
    Variable("ETCD_DISCOVERY_SRV", TEXT, "", "client", NOT_HERE, "a domain that names etcd's members; not supported"),
    Variable("ETCD_USERNAME", TEXT, "", "client", USED, "user of etcd"),
    Variable("ETCD_PASSWORD", TEXT, "", "client", USED, "its password; never shown", secret=True),
    Variable("ETCD_CA_CERT_FILE", PATH, "", "client", USED, "who signed etcd's certificate"),
    Variable("ETCD_CERT_FILE", PATH, "", "client", USED, "client certificate"),
    Variable("ETCD_KEY_FILE", PATH, "", "client", USED, "key of the client certificate"),
    Variable("KUBECONFIG", PATH, "", "all parts", KUBERNETES, "how the Kubernetes API is reached"),
    Variable("K8S_API_ENDPOINT", TEXT, "", "client", KUBERNETES, "URL of the Kubernetes API"),
    Variable("K8S_API_TOKEN", TEXT, "", "client", KUBERNETES, "token for it; never shown", secret=True),
    Variable("K8S_KEY_FILE", PATH, "", "client", KUBERNETES, "client key for it"),
    Variable("K8S_CERT_FILE", PATH, "", "client", KUBERNETES, "client certificate for it"),
    Variable("K8S_CA_FILE", PATH, "", "client", KUBERNETES, "who signed its certificate"),
    Variable("K8S_INSECURE_SKIP_TLS_VERIFY", GO_SWITCH, "false", "client", KUBERNETES, "trust any certificate"),
    Variable("K8S_CLIENT_QPS", NUMBER, "", "client", KUBERNETES, "requests per second"),
    Variable("K8S_CLIENT_BURST", NUMBER, "100", "client", KUBERNETES, "requests in a burst"),
    Variable("K8S_DISABLE_NODE_POLL", GO_SWITCH, "false", "nobody", NOT_HERE, "nothing reads it, in Calico neither"),
    Variable("K8S_CURRENT_CONTEXT", TEXT, "", "client", KUBERNETES, "context of the kubeconfig"),
    Variable("USE_POD_CIDR", GO_SWITCH, "false", "client", KUBERNETES, "blocks from the node's podCIDR"),
    Variable("CALICO_API_GROUP", TEXT, "", "client", KUBERNETES, "API group of the stored resources"),
    Variable("TORTIE_STORE", PATH, "", "nobody", USED, "file of the embedded store"),
)
OLD: Final = (
    Variable("ETCD_AUTHORITY", TEXT, "", "Felix", NOT_HERE, "old form of ETCD_ENDPOINTS, which is used instead"),
    Variable("ETCD_SCHEME", TEXT, "", "Felix", NOT_HERE, "old form of ETCD_ENDPOINTS, which is used instead"),
)
OWN: Final = (
    Variable("TORTIE_CONFIG", PATH, "", "nobody", USED, "calicoctl's file; empty: none; unset: the usual place"),
    Variable("TORTIE_ROOT", PATH, "/", "nobody", USED, "folder below which all files of a node lie; --root wins"),
    Variable("TORTIE_LAB", TEXT, "", "nobody", USED, "in a lab's machines: the lab that its tools speak of"),
    Variable("TORTIE_LAB_DIR", PATH, "", "nobody", USED, "folder of labs; unset: below /run, or where the user may"),
    Variable("TORTIE_HURRY", NUMBER, "1", "nobody", USED, "in a lab: classic mode's own waits are divided by it"),
    Variable("TORTIE_DEBUG", TEXT, "", "nobody", USED, "a defect of Tortie shows where it is"),
)

# The parameters of Felix that Tortie uses itself. Calico's defaults: health and metrics off, metrics on all addresses.
HEALTH: Final = (
    Variable("FELIX_HEALTHENABLED", SWITCH, "true", "Felix", USED, "answer probes (Calico's default: false)"),
    Variable("FELIX_HEALTHHOST", HOST, "localhost", "Felix, probes", USED, "where probes are answered"),
    Variable("FELIX_HEALTHPORT", PORT, "9099", "Felix, probes", USED, "where probes are answered"),
    Variable(
        "FELIX_PROMETHEUSMETRICSENABLED", SWITCH, "true", "Felix", USED, "serve metrics (Calico's default: false)"
    ),
    Variable(
        "FELIX_PROMETHEUSMETRICSHOST", HOST, "127.0.0.1", "Felix", USED, "where they are served (Calico's default: all)"
    ),
    Variable("FELIX_PROMETHEUSMETRICSPORT", PORT, "9091", "Felix", USED, "where they are served"),
    Variable("FELIX_IPV6SUPPORT", SWITCH, "true", "Felix, startup", USED, "false: no default IPv6 pool"),
)
_USED_BY_US: Final = {variable.name for variable in HEALTH}
_TYPHA_TOO: Final = {variable.name for variable in CLUSTER}
_FELIX_KINDS: Final = {"switch": SWITCH, "number": NUMBER, "seconds": SECONDS, "text": TEXT}
# Those that the dataplane obeys: tortie.dataplane.felix reads them.
_OBEYED: Final = """
    VXLANENABLED VXLANPORT VXLANVNI VXLANMTU VXLANMTUV6 IPINIPMTU NATOUTGOINGADDRESS NATOUTGOINGEXCLUSIONS NATPORTRANGE
    IPTABLESNATOUTGOINGINTERFACEFILTER DEVICEROUTESOURCEADDRESS DEVICEROUTESOURCEADDRESSIPV6 DEVICEROUTEPROTOCOL
    REMOVEEXTERNALROUTES IPFORWARDING MTUIFACEPATTERN IPV4NORMALROUTEPRIORITY IPV6NORMALROUTEPRIORITY INTERFACEPREFIX
"""
DATAPLANE: Final = frozenset(f"{FELIX_PREFIX}{name}" for name in _OBEYED.split())
FELIX_REST: Final = tuple(
    Variable(name, _FELIX_KINDS[kind], "", "Felix", USED, "a parameter of Felix that the dataplane obeys")
    if name in DATAPLANE
    else Variable(name, _FELIX_KINDS[kind], "", "Felix", LATER, "a parameter of Felix; kept for policy and other parts")
    for kind, names in FELIX.items()
    for name in (FELIX_PREFIX + each for each in names)
    if name not in _USED_BY_US and name not in _TYPHA_TOO
)

TABLE: Final = (*NODE, *HEALTH, *DATASTORE, *OLD, *OWN, *CLUSTER)  # what has a row of its own in the reference
BY_NAME: Final = {
    **{variable.name: variable for variable in (*TABLE, *FELIX_REST)},
    **{f"CALICO_{variable.name}": variable._replace(name=f"CALICO_{variable.name}") for variable in DATASTORE},
}
