"""What people wrote around the evidence, in the other language: English for Chinese, Chinese for English.

By case, its paragraphs in their order; SAME where there is nothing to translate (a command, a name, a heading).
"""

from __future__ import annotations

from typing import Final

SAME: Final = ""

SHARED: Final[dict[str, tuple[str, ...]]] = {
    "000": (
        "calico-node on two nodes of the production cluster, node-4 and node-9, cannot start and stays in "
        "`crashloopbackoff`. In `calicoctl node status` the `INFO` column shows `Active Socket: Connection "
        "refused` for these two. `kubectl describe` has this error in its events:",
        "We tried to restart both pods.",
        "After the restart the pods are still in `crashloopbackoff`.",
        "The `calico-node` log looks like this on both nodes, it ends at Using node name. Compared with the "
        "start of a healthy node there is no difference in this part.",
        "Only `calico-node` on node-4 and node-9 has the problem, the other nodes are fine.\n"
        "We logged in to node-4 and node-9 and found that their load is dozens of times higher than on a normal "
        "node.",
    ),
    "000-without-load": (
        "calico-node on two nodes of the production cluster, node-4 and node-9, cannot start and stays in "
        "`crashloopbackoff`. In `calicoctl node status` the `INFO` column shows `Active Socket: Connection "
        "refused` for these two. `kubectl describe` has this error in its events:",
        "We tried to restart both pods.",
        "After the restart the pods are still in `crashloopbackoff`.",
        "The `calico-node` log looks like this on both nodes, it ends at Using node name. Compared with the "
        "start of a healthy node there is no difference in this part.",
        "Only `calico-node` on node-4 and node-9 has the problem, the other nodes are fine.",
    ),
    "001-1": (
        "One node of the cluster ran out of resources and hung. After its reboot calico node does not start and says:",
        "The state of the node according to `calicoctl node status`:",
        "All machines of the cluster have addresses that begin with 10. On the machine in question we looked at "
        "`ip a`:",
    ),
    "001-2": (
        "We added a new machine (aws, us-east) to the container cluster, and this node cannot join it.",
        "Shortly after its start calico-node on this node crashes and restarts again and again. The log before "
        "the crash:",
        "We happened to have one idle machine in Singapore and one in us-east and tried to add both to the "
        "calico network. The one in Singapore joined, the one in us-east failed in the same way.",
        "master and etcd are both in the Singapore region, there are 53 nodes at the moment.",
        "On the failing node we tried to reach etcd:",
        "The security-groups of the two failing us-east machines are DY-Default-10.12, those of the other "
        "machines are DY-Default-10.12.",
        "We changed the daemonset of calico node:",
        "Then restarted calico-node on the failing node:",
        "After it had printed the log above, calico-node was restarted. There is no Terminating in the log.",
        "The livenessProbe of the calico-node daemonset:",
    ),
    "002": ("The master of our environment 73 is often NotReady, and the pods show that calico-node does not start.",),
    "002-with-remark": (
        "The master of our environment 73 is often NotReady, and the pods show that calico-node does not start.",
        "On test-node1 we found that docker cannot connect to containerd.",
    ),
    "003-nic": (
        "After a restart of the k8s cluster our nodePort service cannot be reached on some of the nodes (30080 "
        "is its port, the type is nodePort).",
        "30080 works on 73.65\nit does not work on 73.66",
        "After we had deleted k8scephnode:",
        SAME,
        SAME,
        "After calico was changed to v3.14.0, calico node still does not come back, describe pod still says that "
        "BGP is not established.",
        "With the environment variables",
    ),
    "003-recovered": (
        SAME,
        SAME,
    ),
    "003-swap": (
        "After a restart of the k8s cluster our nodePort service cannot be reached on some of the nodes.",
        "Looking at the kubelet process on the node",
        "This is the kubelet process of a healthy node:",
        "journalctl:",
        "syslog:",
        "The swap partition is already commented out in fstab.",
    ),
    "004": ("We deployed Calico for k8s, and new pods never get an IP.",),
    "issue-034": (
        "从 3.28.2 升级到 3.29.0 之后，不同节点上的 pod 之间除了 ping 什么都不通。calico-node 的 pod 全部 1/1。",
    ),
    "issue-083": ("昨天加了第四台机器，它的 calico pod 的事件里有告警，这个有问题吗？",),
    "issue-087": ("所有节点上的 calico pod 突然都不 ready 了，calico v3.3，k8s 1.17。地址被我们安全团队去掉了。",),
    "issue-088": ("worker 上的 calico pod 跑不起来，我该怎么办？",),
    "page-002": ("用一键安装脚本搭的两节点测试集群，Calico 3.14。两个 calico-node pod 一直是 0/1。",),
    "page-003": (
        "A new environment, three masters and one node; after calico was deployed the pods on ops-node01 do not start.",
        "The business NIC of all these machines is ens192, 192.168.110.x. On every machine etcd and nginx were "
        "started with docker-compose.",
    ),
    "page-008": ("物理机 wk-117 周末重新上架了。恢复之后，这台上面的 calico-node 反复重启，其他 worker 都正常。",),
    "page-010": ("2018 年建的 RKE 集群，昨晚升级到 1.20，所有节点上的 canal/calico pod 都失败。",),
    "page-011": (
        "We upgraded tigera-operator with helm from v3.28.2 to v3.29.1. Since then calico-apiserver does not "
        "start and calico-kube-controllers reports errors, too.",
    ),
    "page-012": ("把一个实验集群从 1.24 升到了 1.25，calico-node 一直不 ready，pod 停在 ContainerCreating。",),
    "page-016": (
        "We changed the node image of kops to a new ubuntu 20.04. On the nodes that came up since then calico is "
        "in CrashLoopBackOff all the time, nodes with the old image are fine.",
    ),
    "page-017": (
        "新装的 CentOS 8 集群。calico 的 pod 都是 Running，但是从 pod 里访问本节点以外的任何地址都没有回应，"
        "service IP 也不行。CoreDNS 是 0/1。",
    ),
    "page-018": ("A local cluster made with k3d, and calico does not come up:",),
    "page-020": (
        "Since we upgraded EKS from 1.19 to 1.21, calico-node on busy nodes restarts every now and then, there "
        "are no errors in the log.",
    ),
    "page-023": (
        "Our nodes are spot instances that are reclaimed and replaced all the time. On the ones added today "
        "calico-node is in CrashLoopBackOff, the old nodes are all fine.",
    ),
    "page-024": (
        "A freshly installed cluster, calico-kube-controllers is in CrashLoopBackOff all the time and coredns is "
        "not ready either. firewall and selinux are both off.",
    ),
    "page-030": (
        "kubelet 用的是宿主机上安装的 CNI 配置跑 Calico。worker-05 上的 pod 能拿到地址，但是哪里都没有到它们的路"
        "由，策略也不生效。",
    ),
    "page-031": ("A machine of the big data team: calico does not come up on it, the other machines are fine.",),
    "page-035": (
        "A cluster on cloud instances (OpenStack), calico in its default IPIP mode. calico-node is 1/1 "
        "everywhere and BGP is Established, but pods on different nodes cannot reach each other, on the same "
        "node they can.",
    ),
    "page-036": (
        "Fedora CoreOS 节点升级到 34 之后，容器时不时会断网一段时间。重启该节点上的 calico-node 能恢复，直到下一次。",
    ),
    "page-037": ("从 host-local IPAM 迁移到 calico-ipam（3.5 -> 3.7），有一个节点上的 pod 一直停在 Init。",),
    "page-044": (
        "kubeadm 1.10，Calico 用的是我们自己的 TLS etcd。Pod 报 FailedCreatePodSandBox，calico-node 每分钟重启一次。",
    ),
    "page-045": ("We followed a tutorial to run calico-node (v2.6.2) with systemd, the service does not start:",),
    "page-046": ("The calico container of canal restarts every few days, we see no pattern in it.",),
    "page-048": ("RHEL 虚拟机，BGP 模式，稳定跑了几个月。上周开始有两个节点 0/1，没有人动过 Calico。",),
    "page-049": (
        "vxlan mode. There is a warning in the log every 10 seconds, and large packets (pulling images, copying "
        "files) between nodes hang; ping with small packets is fine.",
    ),
    "page-052": ("这个启动过程有问题吗？这是我按 Ctrl-C 之前的完整日志。",),
}

OWN: Final[dict[str, tuple[str, ...]]] = {
    "api-host-unresolvable-a": ("裸机离线环境，operator 安装（v3.23.3）。tigera-operator 一直重启：",),
    "apiserver-advertise-wrong-a": ("Vagrant/VirtualBox，1 个 master 2 个 worker。master 正常，worker 卡住了。",),
    "apiserver-certs-expired-a": (
        "今天早上重启了一台 worker，之后上面的 calico-node 就起不来了。集群大约一年前用 kubespray 搭的。其他节点"
        "看着正常（没有重启过）。",
    ),
    "apiserver-certs-expired-b": (
        "Three masters. The certificates were renewed 5 days ago with kubeadm certs renew all, check-expiration "
        "shows 364d for all of them. But since two nodes were rebooted today calico-node sometimes starts and "
        "sometimes does not, very strange. The etcd certificates were checked, too, and have not expired.",
    ),
    "apiserver-port-blocked-a": (
        "haproxy 后面的高可用集群。节点有的 Ready 有的 NotReady，kubelet 通过 LB 加入没问题，但是新 worker 网段上"
        "的 calico 一直过不了 install-cni。",
    ),
    "apiserver-port-blocked-b": (
        "Deployed with the same ansible. We added 3 workers (network 10.26.9.0/24), and calico-node on all of "
        "the new machines is in Init:CrashLoopBackOff with no route to host. At first we thought that there is "
        "no default route:",
    ),
    "autodetect-method-invalid-b": (
        "Offline environment in the company network, nodes have several NICs. Following the newest docs we "
        "changed the autodetection to the node's InternalIP; after that all calico-node died, rolling the ds "
        "back makes it work again. Are the docs wrong?",
        "The log (same on every node):",
        "The InternalIP of prd-k8s-07 is 10.205.3.17, on bond0. Is it the RBAC that lacks configmaps?",
    ),
    "bgp-as-mismatch-b": (
        "RR mode. After all AS numbers were changed to 64901 there is one node, node-17, which does not come up "
        "with the two RRs; the other 20 or so nodes are fine. The firewall was checked, telnet to 179 works.",
        "The RRs are Established with each other. In the confd log of node-17 nothing was refreshed since July.",
    ),
    "bgp-auth-mismatch-a": (
        "昨晚轮换了 BGP 密码的 secret。之后两台新的 worker 连不上路由反射器，老的会话还是 up（没有重置过）。",
        "安全组放行了节点之间的所有流量。",
    ),
    "bgp-port-blocked-a": ("Rocky 8 上新装的 kubeadm 集群（calico v3.24.0）。worker 是 0/1，master 也是。",),
    "bird-overloaded-a": (
        "一台大机器，我们的虚拟机业务有 1.2k 个 tap 设备。calico-node 在 0/1 和 1/1 之间来回跳，有时还会被重启。"
        "v3.28.1。",
    ),
    "bird-probe-without-bgp-b": (
        "calico-node is 0/1 on all nodes, but the network works and so do the applications, only the monitoring "
        "alarms all the time. The web says to change IP_AUTODETECTION_METHOD; set to interface=ens.* there was "
        "no change at all.",
    ),
    "bpffs-mount-failed-b": (
        "calico installed by the operator (v3.23.1), 2 of 7 nodes, old CentOS 7 machines, do not come up, the "
        "Rocky 8 ones are fine.",
    ),
    "cidr-overlap-a": (
        "kubeadm init --pod-network-cidr=192.168.0.0/16，照着快速入门做的。calico-node 的 pod 都是 1/1，但是这两"
        "个一直不 ready",
    ),
    "clock-skew-a": ("节点 wk-5 重新上架（换了 CMOS 电池），开机之后上面的 calico 一直起不来，其他节点正常。",),
    "cpu-throttled-a": (
        "我们平台组用 Kyverno 给所有东西都加了默认 limits，之后 calico-node 就来回抖。节点基本是空闲的，所以想不"
        "明白。Calico v3.25.1，k8s v1.26.5，containerd。",
    ),
    "datastore-endpoint-wrong-a": (
        "上周一台 etcd 虚拟机坏盘换掉了，另外两台也重建了。etcd 正常，kubernetes 也正常，但是只要重启的 "
        "calico-node 就会挂。",
    ),
    "datastore-endpoint-wrong-b": (
        "k8s 1.18 and calico v3.14 (etcd datastore) installed from binaries after a guide on the web. "
        "calico-node does not start; I signed the etcd certificates twice again and it is still the same, is it "
        "the certificates?",
    ),
    "datastore-tls-invalid-a": (
        "calico v3.4.0，k8s 1.12.3，外部 etcd。列表里新加了第三个 etcd 节点（10.90.0.6），之后各节点时好时坏，看"
        "连到哪一个。",
    ),
    "datastore-unreachable-a": (
        "昨晚断电之后我们有两台存储机器没有起来，之后所有 worker 上的 calico-node 都在反复重启。",
    ),
    "datastore-unreachable-b": (
        "There was a power cut in the machine room yesterday, and since it is back the whole cluster is broken, "
        "calico-node restarts all the time. Did kube-proxy lose its ipvs rules? Please have a look.",
        "A single master, 172.30.6.10 is the address of m1, and calico is configured with this address directly "
        "(kubernetes-services-endpoint), nobody changed it.",
    ),
    "duplicate-calico-instance-a": (
        "我在 kubeadm 集群上试了 tigera-operator 的 helm chart，现在有一半的 calico pod 不 ready。",
    ),
    "duplicate-node-ip-a": (
        "新 worker wk-07 和 wk-06 是同一个 VMware 模板做出来的。kubeadm 加入没问题，但是上面的 calico-node 起不来"
        "，而且从那以后 wk-06 也不稳定（ssh 每隔几分钟断一次）。",
    ),
    "ebpf-misconfigured-a": ("昨天用 calicoctl patch 打开了 eBPF，现在只要重启的都连不上 API。",),
    "etcd-inconsistent-a": (
        "kb3 主机断电，根文件系统用 xfs_repair -L 修复过。现在 kb3 上的 calico-node 起不来，已经 5 个小时了，删 "
        "pod 也没用。",
    ),
    "etcd-slow-a": (
        "calico-kube-controllers 每小时重启几次，calico-node 有时会变成 0/1 一分钟然后又恢复。跑在共享磁盘的便宜"
        "虚拟机上。这是 calico 的 bug 吗？",
    ),
    "http-proxy-intercepts-a": (
        "我们在公司代理后面。calico-node 的 pod 都是 1/1，但是 coredns 一直停在 ContainerCreating：",
    ),
    "insufficient-bgp-a": (
        "节点重启之后 calico-node 不 ready，请帮忙看看。Kubernetes 1.21，calico 3.19，自建机房。",
        "pod 删了两次，还是一样。会是什么原因？防火墙吗？",
    ),
    "ipam-migration-stuck-a": ("集群换成 Calico 之后，四台 worker 里有一台一直起不来，另外三台正常。",),
    "ippool-exhausted-a": ("把一个 deployment 从 40 扩到 60，最后几个一直停在 ContainerCreating。",),
    "ippool-exhausted-b": (
        "Help: scaling up the application in namespace dmz fails, the other namespaces are completely fine. "
        "There are more than sixty thousand addresses left, I suspect a bug in calico-ipam.",
    ),
    "ipset-kernel-mismatch-a": (
        "把 worker 节点一台一台从 Debian 12 升到 13。升级之后，升过的节点上 calico-node 一直 0/1，还在 12 的没问题。",
        "Calico 是 operator 装的 v3.30.3。",
    ),
    "ipv6-disabled-b": (
        "canal (RKE). After a security hardening IPv6 was switched off in the system; of our three machines the "
        "hardened one restarts canal all the time, the two that were not hardened are fine. I guess that the "
        "iptable_raw module is not loaded, but lsmod shows it.",
    ),
    "kernel-module-missing-a": (
        "我把两块 NanoPi 板子（RK3399，Armbian）加到了已有的 kubeadm 集群里。x86 master 上的 calico-node 正常，两"
        "块板子上的一直不 ready。我怀疑是 arm64 镜像坏了。",
    ),
    "kernel-module-missing-b": (
        "Last night node05 got its security patches (the kernel, too). Since the reboot pods on node05 and pods "
        "on the other nodes cannot reach each other at all, between the other nodes all is fine. I suspect that "
        "the cloud has blocked the IPIP protocol, but the other nodes are all good...",
        "The same command on node01:",
        "I looked at the security group, all protocols are allowed.",
    ),
    "kube-proxy-down-a": ("在 LXC 容器（proxmox）里跑 k8s，worker 上的 calico 一直起不来。",),
    "localhost-misresolved-a": (
        "IT 把我们切到新的 DNS 之后，实验集群的三个节点全在循环重启。k8s v1.20.4，calico v3.18.0。",
    ),
    "loopback-down-a": (
        "奇怪的问题。节点 gw-kube-2 在我们迁移到 netplan 之后：calico-node Running 0/1，一直重启，本机的 kubelet "
        "healthz 也访问不了，但是 ssh 和节点之间的流量正常。",
    ),
    "no-default-route-a": ("离线实验环境，host-only 网络，没有网关。两台 worker 都卡在 install-cni",),
    "no-ip-found-a": ("新加了一台别的厂商（Dell）的 worker，上面的 calico-node 一直起不来，另外 6 台正常",),
    "node-ip-changed-a": ("有一台 worker 周末变成了 0/1，没有人登录过，其他都好。Calico 3.22.1，RKE1。",),
    "node-overloaded-a": (
        "五台 worker 里有一台（stage-w3）从今天早上开始 calico-node 一直重启。所有节点用的是同一份 manifest（"
        "v3.21.4，kubeadm 1.22）。重启机器只管用半个小时。",
    ),
    "nodename-mismatch-a": (
        "AWS，自建 1.19，Calico v3.16.4，etcd 存储（老的 Ansible）。所有节点 calico-node 都是 1/1。只有一个节点上"
        "的 pod 能启动、有 IP，但是谁都访问不到它们，连本机都不行；其他节点都正常。",
    ),
    "nodename-mismatch-b": (
        "Help: pods on the new node are created and have an IP, but ping to them does not work, neither do "
        "services. calico-node is 1/1 everywhere, BGP is Established everywhere, iptables were flushed, docker "
        "was restarted. At first we thought that the cloud drops IPIP, but a capture shows that the packets "
        "never leave the NIC.",
        "(compared with other nodes the caliXXXX routes are missing here)",
        "This conflist was copied from hz-node-01 by the install script and then changed.",
    ),
    "peer-node-down-b": (
        "A small cluster of two nodes (and 1 master without calico). calico-node on bj-w2 is 0/1; I suspect that "
        "bj-w2 took the wrong NIC (there is br-6f0a of docker on it), please have a look:",
        "The BMC does not show bj-w3 as powered on either.",
    ),
    "port-179-conflict-a": (
        "我们的网关上跑着 FRR 管 VIP，现在把它们也加成了 k8s 节点。gw-1 上的 calico-node 不 ready。",
        "是防火墙的问题吗？从 w-1 用 nc 测 179 是通的。",
    ),
    "port-9099-conflict-a": ("新的 worker 加入了已有集群，calico v3.24.5。其他 worker 都正常。",),
    "probe-timeout-a": (
        "**kubelet 从 1.19.11 升到 1.21.5 之后，大机器（96 核，约 180 个 pod）上的 calico-node 每小时重启几次。"
        "** Calico v3.17.3，这边什么都没改。日志看着很干净。",
    ),
    "service-env-missing-a": (
        "昨晚控制面故障之后，（26 个里）有一个节点没有到其他 pod 网段的任何路由。pod 是 1/1！",
        "calico v3.9.2，k8s 1.15.5。felix 只在它自己的 run 文件里通过 KUBECONFIG "
        "使用 /etc/kubernetes/calico.kubeconfig（我们的补丁）。",
    ),
    "stale-node-entry-a": ("我把第三台机器重装了（IP 不变，新主机名），重新加入集群。上面的 calico-node 直接退出：",),
    "typha-cert-expired-a": ("集群两年了，operator 安装。从周末开始，只要重启的 calico-node 就一直 0/1。",),
    "typha-cert-expired-b": (
        "typha installed by hand after calico the hard way (certificates signed with our own openssl, valid for "
        "one year). After adding nodes yesterday we saw that calico-node on new and old nodes is NotReady 0/1, "
        "restarting typha does not help. The k8s certificates were renewed only in March.",
    ),
    "typha-port-blocked-b": (
        "After a security hardening most calico-node are 0/1; the hardening script rolled out an nftables allow "
        "list to every machine. I see that 179 and 4789 are allowed, and BGP is off since we use vxlan, so I do "
        "not know what is missing.",
    ),
}

TRANSLATIONS: Final = SHARED | OWN
