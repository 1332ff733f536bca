"""What people say is understood in both languages; guesses, questions and negations are not taken for sights."""

from __future__ import annotations

import pytest
from tests.support.doctor import picture

from tortie.doctor.picture.facts import Statement
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.lexicon import RULES
from tortie.doctor.reading.readers import statements


def said(text: str) -> dict[str, tuple[str, ...]]:
    exhibit = Exhibit("x", 1, tuple(text.splitlines()), prose=True)
    return {statement.kind: statement.values for statement in statements.read(exhibit)}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("load-high", "The load on w-3 is dozens of times higher than elsewhere."),
        ("load-high", "两台机器的负载比别的高了几十倍"),
        ("load-high", "CPU is pegged at 100% all day"),
        ("load-normal", "机器负载正常，内存也够"),
        ("runtime-broken", "docker ps hangs on that machine"),
        ("runtime-broken", "在 w1 上发现 docker 无法连接 containerd。"),
        ("runtime-broken", "crictl ps never returns"),
        ("cross-node-dead", "Pods on different nodes cannot reach each other."),
        ("cross-node-dead", "跨节点的 pod 就是不通"),
        ("same-node-ok", "On the same node everything is fine."),
        ("same-node-ok", "同节点的 pod 可以互通"),
        ("ping-works-tcp-not", "Ping works between pods but curl times out."),
        ("ping-works-tcp-not", "ping 通，但是 curl 超时"),
        ("large-packets-stall", "Small requests work, but large transfers hang."),
        ("large-packets-stall", "大包会卡住，小包没问题"),
        ("service-dead", "Service IPs cannot be reached from any pod"),
        ("service-dead", "集群里 service 访问不了"),
        ("service-dead", "DNS lookups from pods time out."),
        ("network-dead", "All pods on w3 have no network"),
        ("network-dead", "w3 上的 pod 网络全断"),
        ("network-dead", "Pods get 'No route to host' for every address."),
        ("cross-node-dead", "w3 上的 pod 访问其它节点的 pod 全部超时"),
        ("offload-off-helps", "执行 ethtool -K vxlan.calico tx-checksum-ip-generic off 之后就正常了"),
        ("firewalld-stop-helps", "Stopping firewalld on that node makes it work."),
        ("nodeport-dead", "The NodePort times out on two nodes"),
        ("rebooted", "After we rebooted the machine it never came back"),
        ("rebooted", "服务器重启之后 calico 起不来"),
        ("power-cut", "机房停电之后出现的"),
        ("installed-fresh", "刚装的集群"),
        ("firewall-off", "firewalld is disabled everywhere"),
        ("firewall-off", "There is no firewall between them."),
        ("firewall-off", "没有防火墙"),
        ("firewall-off", "防火墙和 selinux 都关了"),
        ("selinux-off", "防火墙和 selinux 都关了"),
        ("ip-changed", "The IP of the node was changed by DHCP"),
        ("address-changed", "修改了服务器 IP 之后就这样了"),
        ("hostname-changed", "We renamed the host last week."),
        ("host-renamed", "改了主机名"),
        ("cloned-vm", "The VM is cloned from the first worker"),
        ("vm-cloned", "这几台虚拟机是克隆出来的"),
        ("node-removed-without-drain", "We removed the node without draining it"),
        ("new-nodes-only", "新加的节点全部起不来，老节点正常"),
        ("new-nodes-fail", "New nodes crash, old ones are fine."),
        ("only-some-nodes", "只有 w-4 及 w-9 上有问题，其他节点正常。"),
        ("one-node-only", "On one node the pod never leaves Init."),
        ("all-nodes", "calico pods suddenly not ready on all nodes"),
        ("works-after-restart", "Restarting calico-node helps until the next time."),
        ("heals-by-itself", "After ten minutes it recovers by itself."),
        ("heals-by-itself", "过一会儿自己又恢复了"),
        ("proxy-used", "We are behind a corporate proxy"),
        ("behind-proxy", "containerd 配置了代理"),
        ("docker-network-created", "nginx 是用 docker-compose 起的"),
        ("swap-disabled-in-fstab", "fstab 中 swap 分区已经注释掉了。"),
        ("swap-on", "swap is on again since the reboot"),
        ("complains", "the worker's pod cannot run"),
        ("asks-if-normal", "Is this a problem?"),
        ("asks-if-normal", "这样正常吗？"),
        ("killed-no-terminating", "log 里没有 Terminating。"),
        ("datastore-far", "master 与 etcd 都在新加坡区域"),
        ("clock-wrong", "The clock was two hours ahead."),
        ("clock-wrong", "节点时间不对"),
        ("api-direct-ok", "curl to 6443 from the node works"),
        ("kube-proxy-missing", "没有部署 kube-proxy"),
        ("kube-proxy-missing", "kube-proxy is not running on that node"),
        ("port-179-open", "telnet 179 是通的"),
        ("ping-works-port-179-not", "能 ping 通，但 179 端口不通"),
        ("firewall-blocks-179", "安全组没有放行 179"),
        ("ping-fails", "w-3 does not answer ping"),
        ("ping-works", "节点之间可以互相 ping 通"),
        ("two-installs", "同时用 operator 和 manifest 装了两套"),
        ("sent-not-received", "发送端能抓到包，接收端抓不到"),
        ("offload-off-helps", "After ethtool -K eth0 tx off it works"),
        ("firewalld-stop-helps", "When I stop firewalld everything works"),
        ("network-lost-sometimes", "now and then containers lose connectivity"),
        ("policy-applied", "应用了一条 GlobalNetworkPolicy 之后"),
        ("etcd-moved", "etcd 迁移到新机器"),
        ("etcd-disk-slow", "etcd runs on spinning disks"),
        ("no-default-route", "isolated network without gateway"),
        ("bgp-open-lost", "对端只看到三次握手"),
    ],
)
def test_kinds(kind: str, text: str) -> None:
    assert kind in said(text)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("firewall-off", "The firewall is not disabled."),
        ("firewall-off", "防火墙没有关闭"),
        ("firewall-off", "Maybe the firewall was turned off?"),
        ("firewall-off", "Is the firewall off?"),
        ("load-high", "The load is not high."),
        ("load-high", "负载不高"),
        ("load-high", "I think the load is too high"),
        ("load-normal", "两个节点的负载比正常节点高了几十倍"),
        ("runtime-broken", "怀疑 docker 无法连接 containerd"),
        ("ping-fails", "nothing but ping works"),
        ("cross-node-dead", "nothing but ping works between pods on different nodes"),
        ("rebooted", "重启问题节点的calico-node："),
        ("rebooted", "如果节点重启了怎么办"),
        ("hostname-changed", "We never changed the hostname"),
        ("etcd-down", "calico-apiserver 起不来"),
        ("complains", "Everything is green."),
    ],
)
def test_what_was_not_said(kind: str, text: str) -> None:
    assert kind not in said(text)


def test_values() -> None:
    assert said("登录node-4及node-9发现两个节点的负载比正常节点高了几十倍。")["load-high"] == ("node-4", "node-9")
    assert said("After the upgrade from 3.28.2 to 3.29.0 it fails")["upgraded"] == ("calico", "3.28.2", "3.29.0")
    assert said("EKS 从 1.19 升到 1.21 之后")["upgraded"] == ("kubernetes", "1.19", "1.21")
    assert said("EKS 从 1.19 升到 1.21 之后")["after-kubernetes-upgrade"] == ("1.19", "1.21")
    assert said("集群中的机器都是10开头的网络地址。")["nodes-network"] == ("10.",)
    assert said("All hosts are in 192.168.110.x")["nodes-network"] == ("192.168.110.",)
    assert said("VMs on Azure")["cloud"] == ("azure",)
    assert said("We used weave before")["cni-replaced"] == ("weave",)


def test_a_sentence_over_two_lines_has_both_as_its_place() -> None:
    exhibit = Exhibit("x", 5, ("All is new here. Pods on different", "nodes cannot talk to each other."), prose=True)
    (statement,) = [s for s in statements.read(exhibit) if s.kind == "cross-node-dead"]
    assert (statement.place.first, statement.place.last) == (5, 6)


def test_machines_make_no_statements() -> None:
    assert not list(statements.read(Exhibit("x", 1, ("docker ps hangs",))))


def test_every_rule_can_be_compiled_and_is_documented() -> None:
    for rule in RULES:
        assert rule.pattern
        assert rule.kind in (statements.__doc__ or "")


def test_a_guess_ends_where_the_person_turns() -> None:
    assert "firewall-off" in said("I think it is the firewall, but ufw is inactive on all nodes.")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("那台新机器上 pod 网络全断", "network-dead"),
        ("w9 上的容器出不去也进不来", "network-dead"),
        ("Pods on that node have no network at all.", "network-dead"),
        ("Since then the pods there cannot reach anything outside.", "network-dead"),
        ("Routes are missing for three minutes, then it is fine.", "heals-by-itself"),
        ("过一会儿又好了", "heals-by-itself"),
        ("网络会自己恢复", "heals-by-itself"),
        ("calico-node restarts every few hours.", "keeps-restarting"),
        ("The calico pods keep restarting on this host.", "keeps-restarting"),
        ("felix 隔一两天就重启一次", "keeps-restarting"),
        ("calico-node 频繁重启", "keeps-restarting"),
        ("calico-node dies after a minute.", "complains"),
        ("起来一分钟就被杀", "complains"),
        ("After a power cut there is no pod traffic for about 3 minutes.", "complains"),
        ("重启之后有四分钟左右没有路由", "complains"),
        ("All deployments of that namespace have no connection with the world, no DNS, nothing.", "suffers"),
        ("Pods there have no DNS.", "suffers"),
        ("In the old namespaces everything works, also new pods.", "suffers"),
        ("A loop with curl hangs after 20 requests.", "suffers"),
        ("The pod is in a restart loop.", "complains"),
        ("10 failed checks since noon.", "complains"),
        ("My boss says that pods are unreachable.", "suffers"),
        ("业务报障了", "suffers"),
        ("But no node of hall A has a single route of hall B.", "suffers"),
    ],
)
def test_complaints(text: str, kind: str) -> None:
    assert kind in said(text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("自动探测到的地址正常，其它也正常", "heals-by-itself"),
        ("我自己看了下日志，都正常", "heals-by-itself"),
        ("It never recovers by itself.", "heals-by-itself"),
        ("calico-node 一直没有重启过", "keeps-restarting"),
        ("We restarted the pods several times.", "keeps-restarting"),
        ("服务器经常重启", "keeps-restarting"),
        ("There are no errors in the log.", "complains"),
        ("日志里没有报错", "complains"),
        ("We have no network policies at all.", "suffers"),
        ("Users have no DNS problems.", "suffers"),
        ("A goldpinger runs since May: 0 failed checks in 30 days.", "complains"),
        ("A loop with 5000 requests over all nodes: 5000 x 200.", "complains"),
        ("My boss believes that two nodes are flapping.", "suffers"),
        ("业务没人报障", "suffers"),
        ("就怕哪天网络全断", "suffers"),
    ],
)
def test_what_is_no_complaint(text: str, kind: str) -> None:
    assert kind not in said(text)


@pytest.mark.parametrize(
    "text",
    [
        "After the kernel went above 6.8 libbpf says failed to load object, over 100 times.",
        "The load of the program fails with a high instruction count.",
        "BPF program load failed: the number of instructions is above 1000000.",
    ],
)
def test_a_program_that_does_not_load_is_no_load(text: str) -> None:
    assert "load-high" not in {statement.kind for statement in picture(text).of(Statement)}


def test_a_load_is_one() -> None:
    kinds = {statement.kind for statement in picture("The load of these nodes is very high.").of(Statement)}
    assert "load-high" in kinds


@pytest.mark.parametrize(
    "sentence",
    [
        "ICMP between pods across nodes: 0 of 5000 lost, also with large packets.",
        "200 curls to pods of other nodes, errors: 0.",
        "各方向的 Pod 互相 ping，0 丢包。",
        "全矩阵拨测 1200 次，失败 0 次。",
    ],
)
def test_troubles_that_are_counted_as_none_are_none(sentence: str) -> None:
    seen = picture(sentence)
    assert not seen.said("cross-node-dead", "suffers")


@pytest.mark.parametrize(
    "sentence",
    [
        "ICMP between pods across nodes: 10 of 5000 lost, also with large packets.",
        "各方向的 Pod 互相 ping，10% 丢包。",
        "cross-node requests: 10 of 50 timed out",
    ],
)
def test_troubles_that_are_counted_are_troubles(sentence: str) -> None:
    assert picture(sentence).said("suffers")


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("两台都停了 firewalld 之后立刻就通了，但是生产要求防火墙不能关，还差哪个端口没开？", "firewalld-stop-helps"),
        ("I'm not experiencing any issues, but do these lines mean a problem?", "says-well"),
        ("Everything works fine, is that a bug?", "says-well"),
    ],
)
def test_what_stands_beside_a_question_is_said(sentence: str, kind: str) -> None:
    assert picture(sentence).said(kind)


@pytest.mark.parametrize(
    "sentence", ["Is everything fine?", "is it ok if all pods are running fine?", "停了 firewalld 之后会不会通？"]
)
def test_what_is_asked_is_not_said(sentence: str) -> None:
    assert not picture(sentence).said("says-well", "firewalld-stop-helps")


@pytest.mark.parametrize(
    "sentence",
    ["Pod to pod on the same VM is fine.", "同节点的 Pod 互访正常。", "pods reach each other only on the same host."],
)
def test_traffic_inside_of_one_machine_is_not_that_between_them(sentence: str) -> None:
    assert not picture(sentence).said("traffic-well")


@pytest.mark.parametrize(
    "sentence",
    [
        "pods reach each other only on the same VM",
        "A pod on k8s-w1 cannot get anything from a pod on k8s-w2.",
    ],
)
def test_pods_of_different_nodes_in_other_words(sentence: str) -> None:
    assert picture(sentence).said("cross-node-dead")


@pytest.mark.parametrize(
    "sentence", ["加完之后页面 504 Gateway Time-out", "域名访问全部 504，求助", "The shop gives 502 since noon."]
)
def test_gateways_errors_are_complaints(sentence: str) -> None:
    assert picture(sentence).said("suffers")


@pytest.mark.parametrize("sentence", ["Alle 504 pods run.", "10.0.0.1:504 is open", "there are 502 nodes"])
def test_such_numbers_alone_are_none(sentence: str) -> None:
    assert not picture(sentence).said("suffers")
