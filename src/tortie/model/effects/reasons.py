"""Why something that is stored has no effect: what Calico would make of it, and what happens here. Data.

`here` goes on from "… is stored, but"; the doctor finds the reason by it again, so each is said once. `{them}` is it or
them. Chinese stands beside what the doctor says.
"""

from __future__ import annotations

from typing import Final

from tortie.model.tuples import NamedTuple


class Reason(NamedTuple):
    key: str
    calico: str  # what Calico does with it
    here: str  # what happens here, in its place
    here_zh: str

    def told(self, many: bool) -> str:
        return self.here.replace("{them}", "them" if many else "it")


def _reason(key: str, calico: str, here: str, here_zh: str) -> Reason:
    return Reason(key, " ".join(calico.split()), " ".join(here.split()), here_zh)


POLICY: Final = _reason(
    "policy",
    "drops every packet that no policy of an endpoint allows",
    "nothing enforces {them} yet: every packet still passes",
    "目前没有组件执行：所有数据包仍然放行",
)
STAGED: Final = _reason(
    "staged-policy",
    "counts what the policy would drop, and drops nothing",
    "nothing counts yet what {them} would drop",
    "目前没有组件统计它会拦截什么",
)
TIER: Final = _reason(
    "tier",
    "asks the policies of this tier in its order",
    "orders nothing, because no policy is enforced yet",
    "目前不执行策略，因此不影响任何顺序",
)
PROFILE: Final = _reason(
    "profile",
    "drops what the profile's rules do not allow, where no policy has decided",
    "no rule of a profile is enforced yet: every packet still passes",
    "目前不执行 Profile 中的规则：所有数据包仍然放行",
)
HOST_ENDPOINT: Final = _reason(
    "host-endpoint",
    "filters what enters and leaves a machine at this interface",
    "no interface of a machine is filtered yet: every packet still passes",
    "目前不过滤主机接口：所有数据包仍然放行",
)
NETWORK_SET: Final = _reason(
    "network-set",
    "lets the selectors of policies find these addresses",
    "only policies look there, and none is enforced yet",
    "只有策略会引用它，而目前不执行策略",
)
IPIP: Final = _reason(
    "ipip",
    "wraps packets between nodes in IPIP",
    "no IPIP tunnel is made yet: the pods of such a pool are not reached from other nodes",
    "目前不创建 IPIP 隧道：其他节点访问不到该地址池的 Pod",
)
LOAD_BALANCER: Final = _reason(
    "load-balancer",
    "gives Services of type LoadBalancer addresses out of the pool",
    "no Service is given an address yet",
    "目前不为 Service 分配地址",
)
WIREGUARD: Final = _reason(
    "wireguard",
    "encrypts packets between nodes",
    "nothing is encrypted yet: packets between nodes travel in the clear",
    "目前不加密：节点之间的数据包以明文传输",
)
EBPF: Final = _reason(
    "ebpf",
    "handles packets in eBPF programs, and replaces kube-proxy",
    "no eBPF program is loaded: packets take the kernel's usual way, and kube-proxy is still needed",
    "不加载 eBPF 程序：数据包走内核常规路径，仍然需要 kube-proxy",
)
FILTERING: Final = _reason(
    "filtering",
    "tunes how policies are enforced",
    "no packet is filtered yet, so that there is nothing to tune",
    "目前不过滤数据包，因此没有可调整的对象",
)
SPOOFING: Final = _reason(
    "spoofing",
    "says whether pods may send from addresses that are not theirs",
    "no source address is checked beyond what the kernel does by itself",
    "除内核自身的检查外，不校验源地址",
)
NFTABLES: Final = _reason(
    "nftables",
    "writes its rules with the tool that is asked for",
    "NAT is always written with nftables",
    "NAT 规则始终使用 nftables 写入",
)
LOG: Final = _reason(
    "log",
    "says what the agent logs, and where",
    "the agent logs to its standard output, as much as CALICO_STARTUP_LOGLEVEL says",
    "calico-node 只输出到标准输出，级别由 CALICO_STARTUP_LOGLEVEL 决定",
)
PORTS: Final = _reason(
    "ports",
    "says where the agent answers probes and serves metrics",
    "only the environment says that: FELIX_HEALTH… and FELIX_PROMETHEUSMETRICS…",
    "只由环境变量 FELIX_HEALTH… 和 FELIX_PROMETHEUSMETRICS… 决定",
)
METRICS: Final = _reason(
    "metrics",
    "says which metrics are served, and to whom",
    "the same metrics are served to whoever can reach the port, without TLS",
    "凡能访问该端口者都能取得同样的指标，且不使用 TLS",
)
TIMERS: Final = _reason(
    "timers",
    "says how often the kernel is compared with what it shall be, and how long a call may take",
    "the agent has times of its own: it acts on news, and looks by itself every 90 s or so",
    "使用内置的时间：收到变化即处理，并约每 90 秒自行检查一次",
)
REPORTS: Final = _reason(
    "reports",
    "reports how nodes and endpoints are, into the datastore or a folder",
    "no such report is written",
    "不写入这类报告",
)
FLOW_LOGS: Final = _reason(
    "flow-logs", "tells of every connection which policies allowed it", "no connection is logged", "不记录连接日志"
)
SERVICES: Final = _reason(
    "services",
    "keeps packets to addresses of Services from going round in circles, and answers for such addresses",
    "nothing is done for Services: that is kube-proxy's work",
    "不处理 Service：这是 kube-proxy 的工作",
)
ROUTES: Final = _reason(
    "routes",
    "says which routes the agent writes, where, and with which priority",
    "routes are written as the reference of the dataplane says, into the main table",
    "按数据面参考文档所述，把路由写入主路由表",
)
FLOATING: Final = _reason(
    "floating-ips",
    "translates a floating address into the pod's own",
    "no address is translated: the floating address is not reached",
    "不做地址转换：浮动地址无法访问",
)
QOS: Final = _reason(
    "qos",
    "limits a pod's packets, connections and bandwidth, and marks its packets",
    "nothing is limited and nothing is marked",
    "不限制带宽、连接数，也不标记数据包",
)
SURROUNDINGS: Final = _reason(
    "surroundings",
    "works together with what surrounds it: AWS, Istio, OpenStack, Windows, nodes outside of the cluster",
    "nothing of these surroundings is touched",
    "不涉及这些外部环境",
)
INNARDS: Final = _reason(
    "innards",
    "is about the inside of Felix: its runtime, its driver, its tests",
    "there is no such part here",
    "这里没有对应的部件",
)
NODE_SELECTOR: Final = _reason(
    "node-selector",
    "gives these settings to the nodes that are selected",
    "only default and node.<nodename> are read: no node takes these settings",
    "只读取 default 和 node.<节点名>：没有节点采用这些设置",
)
SERVICE_ADDRESSES: Final = _reason(
    "service-addresses",
    "announces each address of a Service by itself",
    "only whole ranges are announced, and these not at all when Disabled",
    "只通告整个网段，设为 Disabled 时则完全不通告",
)
WORKLOAD_PEERS: Final = _reason(
    "workload-peers",
    "peers with the BGP speakers inside of pods",
    "no session with a pod is made",
    "不与 Pod 建立 BGP 会话",
)
CLUSTER_ROUTES: Final = _reason(
    "cluster-routes",
    "says whether BIRD or Felix writes the routes to other nodes' pods",
    "BIRD writes those of pools without a tunnel, and the dataplane those of pools with VXLAN",
    "无隧道地址池的路由由 BIRD 写入，VXLAN 地址池的路由由数据面写入",
)
CONTROLLERS: Final = _reason(
    "controllers",
    "says which controllers run beside the cluster, and how",
    "no such controller runs here",
    "这里没有运行这样的控制器",
)
KUBEVIRT: Final = _reason(
    "kubevirt",
    "lets a virtual machine keep its address when it moves",
    "a virtual machine that moves is given a new address, as any pod",
    "迁移后的虚拟机与普通 Pod 一样获得新地址",
)

REASONS: Final = tuple(each for each in vars().copy().values() if isinstance(each, Reason))
BY_KEY: Final = {reason.key: reason for reason in REASONS}
