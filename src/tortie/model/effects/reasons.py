"""Why something that is stored has no effect: what Calico would make of it, and what happens here. Data.

`here` goes on from "… is stored, but", and is true of Tortie's nodes alone: real Calico may share the datastore. The
doctor finds the reason by it again, so each is said once; Chinese stands beside it for the doctor.
"""

from __future__ import annotations

from typing import Final

from tortie.model.tuples import NamedTuple


class Reason(NamedTuple):
    key: str
    calico: str  # what Calico does with it
    here: str  # what happens here, in its place
    here_zh: str


POLICY: Final = Reason(
    "policy",
    "drops every packet that no policy of an endpoint allows",
    "Tortie enforces no policy yet: on its nodes every packet still passes",
    "Tortie 目前不执行任何策略：其节点上所有数据包仍然放行",
)
STAGED: Final = Reason(
    "staged-policy",
    "counts what the policy would drop, and drops nothing",
    "Tortie does not count yet what a policy would drop",
    "Tortie 目前不统计策略会拦截什么",
)
TIER: Final = Reason(
    "tier",
    "asks the policies of this tier in its order",
    "Tortie enforces no policy yet, so that there is nothing to order",
    "Tortie 目前不执行任何策略，因此没有可排序的内容",
)
PROFILE: Final = Reason(
    "profile",
    "drops what the profile's rules do not allow, where no policy has decided",
    "Tortie enforces no rule of a profile yet: on its nodes every packet still passes",
    "Tortie 目前不执行 Profile 中的规则：其节点上所有数据包仍然放行",
)
HOST_ENDPOINT: Final = Reason(
    "host-endpoint",
    "filters what enters and leaves a machine at this interface",
    "Tortie filters no interface of a machine yet: on its nodes every packet still passes",
    "Tortie 目前不过滤主机接口：其节点上所有数据包仍然放行",
)
NETWORK_SET: Final = Reason(
    "network-set",
    "lets the selectors of policies find these addresses",
    "only policies look there, and Tortie enforces none yet",
    "只有策略会引用它，而 Tortie 目前不执行策略",
)
IPIP: Final = Reason(
    "ipip",
    "wraps packets between nodes in IPIP",
    "Tortie makes no IPIP tunnel yet: its nodes do not reach such pods on other nodes",
    "Tortie 目前不创建 IPIP 隧道：其节点访问不到其他节点上该地址池的 Pod",
)
LOAD_BALANCER: Final = Reason(
    "load-balancer",
    "gives Services of type LoadBalancer addresses out of the pool",
    "Tortie gives no Service an address yet",
    "Tortie 目前不为 Service 分配地址",
)
WIREGUARD: Final = Reason(
    "wireguard",
    "encrypts packets between nodes",
    "Tortie encrypts nothing yet: packets between its nodes travel in the clear",
    "Tortie 目前不加密：其节点之间的数据包以明文传输",
)
EBPF: Final = Reason(
    "ebpf",
    "handles packets in eBPF programs, and replaces kube-proxy",
    "Tortie loads no eBPF program: packets take the kernel's usual way, and kube-proxy is still needed",
    "Tortie 不加载 eBPF 程序：数据包走内核常规路径，仍然需要 kube-proxy",
)
FILTERING: Final = Reason(
    "filtering",
    "tunes how policies are enforced",
    "Tortie filters no packet yet, so that there is nothing to tune",
    "Tortie 目前不过滤数据包，因此没有可调整的对象",
)
SPOOFING: Final = Reason(
    "spoofing",
    "says whether pods may send from addresses that are not theirs",
    "Tortie checks no source address beyond what the kernel does by itself",
    "除内核自身的检查外，Tortie 不校验源地址",
)
NFTABLES: Final = Reason(
    "nftables",
    "writes its rules with the tool that is asked for",
    "Tortie always writes its NAT with nftables",
    "Tortie 始终用 nftables 写入 NAT 规则",
)
LOG: Final = Reason(
    "log",
    "says what the agent logs, and where",
    "Tortie's agent logs to its standard output, as much as CALICO_STARTUP_LOGLEVEL says",
    "Tortie 的 calico-node 只输出到标准输出，级别由 CALICO_STARTUP_LOGLEVEL 决定",
)
PORTS: Final = Reason(
    "ports",
    "says where the agent answers probes and serves metrics",
    "with Tortie only the environment says that: FELIX_HEALTH… and FELIX_PROMETHEUSMETRICS…",
    "Tortie 只看环境变量 FELIX_HEALTH… 和 FELIX_PROMETHEUSMETRICS…",
)
METRICS: Final = Reason(
    "metrics",
    "says which metrics are served, and to whom",
    "Tortie serves the same metrics to whoever reaches the port, without TLS",
    "Tortie 向能访问该端口的任何人提供同样的指标，且不使用 TLS",
)
TIMERS: Final = Reason(
    "timers",
    "says how often the kernel is compared with what it shall be, and how long a call may take",
    "Tortie's agent has times of its own: it acts on news, and looks by itself every 90 s or so",
    "Tortie 使用内置的时间：收到变化即处理，并约每 90 秒自行检查一次",
)
REPORTS: Final = Reason(
    "reports",
    "reports how nodes and endpoints are, into the datastore or a folder",
    "Tortie writes no such report",
    "Tortie 不写入这类报告",
)
FLOW_LOGS: Final = Reason(
    "flow-logs",
    "tells of every connection which policies allowed it",
    "Tortie logs no connection",
    "Tortie 不记录连接日志",
)
SERVICES: Final = Reason(
    "services",
    "keeps packets to addresses of Services from going round in circles, and answers for such addresses",
    "Tortie does nothing for Services: that is kube-proxy's work",
    "Tortie 不处理 Service：这是 kube-proxy 的工作",
)
ROUTES: Final = Reason(
    "routes",
    "says which routes the agent writes, where, and with which priority",
    "Tortie writes routes as its reference of the dataplane says, into the main table",
    "Tortie 按其数据面参考文档所述，把路由写入主路由表",
)
FLOATING: Final = Reason(
    "floating-ips",
    "translates a floating address into the pod's own",
    "Tortie translates no address: the floating address is not reached",
    "Tortie 不做地址转换：浮动地址无法访问",
)
QOS: Final = Reason(
    "qos",
    "limits a pod's packets, connections and bandwidth, and marks its packets",
    "Tortie limits nothing and marks nothing",
    "Tortie 不限速，也不标记数据包",
)
SURROUNDINGS: Final = Reason(
    "surroundings",
    "works together with what surrounds it: AWS, Istio, OpenStack, Windows, nodes outside of the cluster",
    "Tortie touches nothing of these surroundings",
    "Tortie 不涉及这些外部环境",
)
INNARDS: Final = Reason(
    "innards",
    "is about the inside of Felix: its runtime, its driver, its tests",
    "Tortie has no such part",
    "Tortie 没有对应的部件",
)
NODE_SELECTOR: Final = Reason(
    "node-selector",
    "gives these settings to the nodes that are selected",
    "Tortie reads only default and node.<nodename>: none of its nodes takes these settings",
    "Tortie 只读取 default 和 node.<节点名>：其节点都不采用这些设置",
)
SERVICE_ADDRESSES: Final = Reason(
    "service-addresses",
    "announces each address of a Service by itself",
    "Tortie announces only whole ranges, and these not at all when Disabled",
    "Tortie 只通告整个网段，设为 Disabled 时则完全不通告",
)
WORKLOAD_PEERS: Final = Reason(
    "workload-peers",
    "peers with the BGP speakers inside of pods",
    "Tortie makes no session with a pod",
    "Tortie 不与 Pod 建立 BGP 会话",
)
CLUSTER_ROUTES: Final = Reason(
    "cluster-routes",
    "says whether BIRD or Felix writes the routes to other nodes' pods",
    "with Tortie BIRD writes the routes of pools without a tunnel, and the dataplane those of pools with VXLAN",
    "在 Tortie 中，无隧道地址池的路由由 BIRD 写入，VXLAN 地址池的路由由数据面写入",
)
CONTROLLERS: Final = Reason(
    "controllers",
    "says which controllers run beside the cluster, and how",
    "Tortie runs no such controller",
    "Tortie 不运行这样的控制器",
)
COMPACTION: Final = Reason(
    "compaction",
    "forgets etcd's old revisions so often",
    "Tortie leaves that to etcd's own --auto-compaction-retention",
    "Tortie 将其交给 etcd 自身的 --auto-compaction-retention",
)
NODE_LABELS: Final = Reason(
    "node-labels",
    "copies the labels of Kubernetes' nodes",
    "Tortie does not copy labels of Kubernetes' nodes",
    "Tortie 不复制 Kubernetes 节点的标签",
)
VARIABLES: Final = Reason(
    "variables",
    "reads the variable",
    "Tortie does nothing with it yet",
    "Tortie 目前不使用该变量",
)
KUBEVIRT: Final = Reason(
    "kubevirt",
    "lets a virtual machine keep its address when it moves",
    "Tortie gives a virtual machine that moves a new address, as any pod",
    "在 Tortie 中，迁移后的虚拟机与普通 Pod 一样获得新地址",
)

REASONS: Final = tuple(each for each in vars().copy().values() if isinstance(each, Reason))
BY_KEY: Final = {reason.key: reason for reason in REASONS}
