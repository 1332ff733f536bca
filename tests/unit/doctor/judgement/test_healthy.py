"""`healthy` is a claim: enough of the cluster was seen, and nothing in the evidence is left unexplained."""

from __future__ import annotations

import pytest
from tests.support.doctor import picture

from tortie.doctor.diagnosis import Diagnosis
from tortie.doctor.judgement.judge import judge

AGENTS = """
$ kubectl get pods -n kube-system -o wide
NAME                READY   STATUS    RESTARTS   AGE   IP          NODE
calico-node-6fjt4   1/1     Running   0          52m   10.3.9.11   hm-1
calico-node-q8l9c   1/1     Running   0          52m   10.3.9.12   hm-2
"""
OTHERS = """calico-kube-controllers-78d6f96c7b-8tbgd   1/1   Running   0   52m   10.42.17.65   hm-2
coredns-558bd4d5db-7j2px   1/1   Running   0   60m   10.42.17.66   hm-2
"""
NODES = """$ kubectl get nodes
NAME   STATUS   ROLES    AGE   VERSION
hm-1   Ready    <none>   9d    v1.27.4
hm-2   Ready    <none>   9d    v1.27.4
"""
WELL = AGENTS + OTHERS + NODES
SICK = {
    "ping": "$ kubectl exec a -- ping -c3 10.42.99.1\n3 packets transmitted, 0 packets received, 100% packet loss\n",
    "some loss": "$ kubectl exec a -- ping -c10 10.42.9.1\n10 packets transmitted, 6 received, 40% packet loss\n",
    "slow link": "$ kubectl exec a -- iperf3 -c 10.42.9.1 | tail -1\n"
    "[  5]   0.00-10.00  sec  4.1 GBytes  3.52 Gbits/sec   12   sender\n"
    "$ kubectl exec b -- iperf3 -c 10.42.9.1 | tail -1\n"
    "[  5]   0.00-10.00  sec  260 MBytes  218 Mbits/sec   900   sender\n",
    "very slow link": "$ iperf3 -c 10.42.9.1 | tail -1\n[  5] 0.00-10.00 sec 11.0 MBytes 9.22 Mbits/sec  3 sender\n",
    "slow request": "$ time kubectl exec a -- curl -s http://web/\nok\n\nreal\t0m5.031s\nuser\t0m0.020s\n",
    "slow lookup": "$ dig +noall +stats web.default\n;; Query time: 5003 msec\n",
    "slow ping": "$ ping -c3 10.42.9.1\n3 packets transmitted, 3 received, 0% packet loss, time 2003ms\n"
    "rtt min/avg/max/mdev = 0.311/812.342/2103.389/800.033 ms\n",
    "one of many": "$ for i in 1 2 3; do kubectl exec t -- wget -qO- -T2 http://10.42.17.66/; done\n"
    "ok\nwget: download timed out\nok\n",
    "some of many": "$ ./probe-all.sh\n97 ok, 3 failed\n",
    "wget": "$ kubectl exec a -- wget -qO- -T2 http://web\nwget: bad address 'web'\n",
    "curl": "$ kubectl exec a -- curl -m3 http://10.96.4.4\ncurl: (28) Connection timed out after 3001 milliseconds\n",
    "nslookup": "/ # nslookup kubernetes\n;; connection timed out; no servers could be reached\n",
    "telnet": "$ telnet 10.3.9.12 5473\ntelnet: connect to address 10.3.9.12: No route to host\n",
    "fatal": "$ kubectl logs -n kube-system calico-typha-abc\nfatal error: concurrent map writes\n",
    "pids": "$ dmesg | tail -1\n[123.1] cgroup: fork rejected by pids controller in /kubepods/pod1\n",
    "degraded": "$ kubectl get tigerastatus\nNAME AVAILABLE PROGRESSING DEGRADED SINCE\nippools False False True 3d\n",
    "apiservice": "$ kubectl get apiservice\nNAME SERVICE AVAILABLE AGE\n"
    "v1beta1.metrics.k8s.io a/b False (FailedDiscoveryCheck) 3d\n",
    "oom": "$ kubectl get events -A | grep Warning\n"
    "default   4m   Warning   SystemOOM   node/hm-1   System OOM encountered\n",
    "dns log": "$ kubectl -n kube-system logs coredns-558bd4d5db-7j2px | tail -1\n"
    "[ERROR] plugin/kubernetes: Get https://10.96.0.1:443/version: dial tcp 10.96.0.1:443: i/o timeout\n",
    "same error to the end": "$ kubectl logs -n kube-system calico-node-6fjt4 | tail -3\n"
    + "".join(
        f"2024-05-0{day} 09:30:12.220 [ERROR][8] felix/table.go 105: Failed to execute iptables-restore error=exit 4\n"
        for day in (1, 2, 3)
    ),
    "outside of the pools": "$ kubectl get ippools -o jsonpath='{.items[*].spec.cidr}'\n192.168.0.0/16\n",
}  # fmt: skip
COMPLAINTS = (
    "Pods on hm-1 cannot be reached from outside since this morning.",
    "new pods cannot talk to coredns, lookups time out.",
    "We see about 30% packet loss between pods of the two nodes.",
    "The migration does not proceed since 9 days.",
    "Our application gets connection resets when it talks to the database.",
    "NodePort 30080 only works on hm-2.",
    "Egress traffic from pods is dropped.",
    "LoadBalancer addresses are not advertised to our routers.",
    "从 hm-1 上的 pod 访问外网时通时不通，节点本身没问题。",
    "所有 pod 都 Running，但是业务访问数据库经常超时。",
    "服务访问很慢，偶发 502，请帮忙看下。",
    "新建的 pod 拿到了地址，但是连不上 coredns。",
    "Uploads from one namespace are awfully slow.",
    "iperf3 between two pods reaches only 90 Mbit/s.",
    "Latency jumps to two seconds now and then.",
    "All of our DNS lookups take 5 seconds.",
    "跨节点下载慢得离谱，同节点没问题。",
    "带宽上不去，宿主机之间是满的。",
    "网络抖动比较厉害。",
    "支付接口偶发超时。",
    "We restarted the agents, no change.",
    "重启过 calico-node 也没用。",
    "I do not think it is fine.",
    "Something is wrong with egress.",
    # Of another day, but not said to be over.
    "昨天升级之后 pod 之间 ping 不通",
    "After the release last night pods time out when they talk to redis.",
    # Mended, and broken again or elsewhere.
    "Last week pods could not start. We fixed it. Today it is back.",
    "前天三台机器连不上，已经恢复。今天又不行了。",
    "Last week we fixed DNS, since then pods time out.",
    "上周修复了 DNS，之后 pod 访问数据库超时",
    "Pods cannot reach each other. That was fixed last year. Everything works fine on my side.",
    # Said by others, and not denied, or seen by the author, too.
    'Somebody in the chat said "the network is down".',
    'A customer reports "requests time out". I see timeouts, too, though everything looks fine.',
    "客户反馈“访问超时”，我这边访问也超时，不过节点都正常。",
    "A customer reports that requests time out. The cluster looks healthy to me.",
    # In everyday words, and in questions that suppose it.
    "Since Monday our shop is a lottery: every third click ends in a white screen.",
    "从今早起前端页面转圈圈，刷新几次才出来，麻烦看下网络是不是有毛病。",
    "Everything is green in kubectl, of course, and yet nobody can log in.",
    "kubectl 看着全绿，但是就是登不上去。",
    "About half of the requests never come back.",
    "大概一半的请求没有返回。",
    "Pods on hm-1 answer, those on hm-2 don't.",
    "客户投诉视频会议马赛克严重。",
    "Subject: egress broken",
    "Pods on hm-1 cannot reach hm-2, what can I do?",
    "Why can pods not reach each other?",
    "pod 访问不了外网，怎么办？",
    "为什么业务访问总是超时？",
    "BGP to the router flaps every ten minutes on some nodes.",
    "7 of the nodes lose one of the sessions again and again, pods on them have short outages.",
    # Not as it should be.
    "NetworkPolicy does not work as expected.",
    "Requests from other namespaces time out, which is not as intended.",
    "跨节点的 pod 都不通，不符合预期。",
    "约 10% 丢包。",
    # Over, and there again.
    "13:31 all peers time out. 13:52 fixed. 14:40 it is back, pods time out again.",
    # Of another cluster than the one that is shown.
    "生产集群 pod 之间访问不通，下面是测试环境的输出，测试环境是好的，供对比：",
)
NO_COMPLAINTS = (
    "Is this cluster OK? No problems so far, just checking.",
    "no timeouts, no packet loss, nothing is stuck. Pre-upgrade check.",
    "Yesterday pods could not reach each other; we fixed the firewall and now all works. Anything left to do?",
    "巡检一下，业务正常，没有报错，请帮忙确认。",
    "昨天跨节点不通，已经修复，现在正常了，请确认。",
    "刚全部起来，重启次数好多，是不是还有问题啊",
    "Last Tuesday pods could not start; the disk was full. We fixed it. Please check that nothing is left.",
    "Pods could not reach each other after the reboot. That was fixed by opening a port. Everything works fine now.",
    "上周三所有机器连不上，最后是交换机又自动升级了。贴一下修复后的状态，帮忙看看有没有遗漏。",
    'Somebody in the chat said "the network is down". I think all is fine, see below.',
    "客户反馈“访问超时”，我看了下集群都正常，没问题就关单了。",
    "The network is not slow, latency is low, no packet loss. A routine check.",
    "跳板机有点卡，请忽略。延迟不高，没有抖动，例行巡检。",
    "The bastion is slow, never mind. A routine check.",
    "Is anything stuck or slow here?",
    "有没有问题？有没有卡住的？",
    "All is green, but to be safe please have a look.",
    "看着都正常，但还是想请大家确认一下。",
    "The runbook says: if pods cannot reach each other, check port 179. We run this check each Monday.",
    "The audit script reports “kubelet may fail to start”. Can we ignore that?",
    "巡检脚本报“kubelet 存在启动失败风险”，请确认现在有没有问题，需不需要整改",
    # What is meant to fail.
    "A default-deny policy is in place: curl from another namespace times out as it should. Apps are fine.",
    "跨租户访问，期望：不通",
    # Timelines that are over, and counts of nothing.
    "13:22 two nodes are unreachable, 13:52 ACL changed. The alert has not fired again. May I close?",
    "- 14:11 calico-node 起不来\n- 14:50 业务确认恢复，共影响 35 分钟\n\n以下是复查：",
    "Follow-up to yesterday's outage: is Calico to blame? Everything has been normal since then.",
    "1000 个包 0% 丢包。",
    "交换机上也查不到。",
)


def judged(text: str) -> Diagnosis:
    return judge(picture(text))


def test_a_cluster_seen_broadly_is_healthy_and_the_answer_says_how_broadly() -> None:
    diagnosis = judged(WELL)
    assert diagnosis.verdict == "healthy"
    assert [area.key for area in diagnosis.covers] == ["agents", "nodes", "pods"]
    assert {"sessions", "addresses", "api", "traffic"} <= {area.key for area in diagnosis.not_shown}


@pytest.mark.parametrize("text", [AGENTS, NODES, AGENTS.replace("calico-node-q8l9c", "nothing-else")])
def test_one_part_of_a_cluster_is_no_proof(text: str) -> None:
    assert judged(text.replace("nothing-else   1/1", "nothing-else   0/1")).verdict == "undetermined"


def test_too_little_is_said_to_be_too_little() -> None:
    diagnosis = judged(AGENTS)
    assert diagnosis.remark is not None
    assert "too little" in diagnosis.remark.en
    assert [area.key for area in diagnosis.covers] == ["agents"]


def test_sessions_from_both_ends_confirm_each_other() -> None:
    row = "| {peer} | node-to-node mesh | up | 07:11:05 | Established |\n"
    one = "n1$ calicoctl node status\n" + row.format(peer="10.0.0.2")
    other = "n2$ calicoctl node status\n" + row.format(peer="10.0.0.1")
    assert judged(one).verdict == "undetermined"
    assert judged(one + other).verdict == "healthy"


@pytest.mark.parametrize("what", SICK)
def test_a_line_that_nothing_explains_keeps_a_cluster_from_being_healthy(what: str) -> None:
    diagnosis = judged(WELL + SICK[what])
    assert diagnosis.verdict == "undetermined"
    assert diagnosis.unexplained or diagnosis.causes


@pytest.mark.parametrize("words", COMPLAINTS)
def test_nobody_is_told_that_what_they_suffer_from_is_healthy(words: str) -> None:
    assert judged(f"{words}\n{WELL}").verdict == "undetermined"


@pytest.mark.parametrize("words", NO_COMPLAINTS)
def test_a_question_or_what_is_over_is_no_complaint(words: str) -> None:
    assert judged(f"{words}\n{WELL}").verdict == "healthy"


def test_trouble_of_an_application_is_no_complaint_about_the_network() -> None:
    pending = "$ kubectl get po -A\nNAMESPACE NAME READY STATUS RESTARTS AGE\nstorage minio-0 0/1 Pending 0 2d\n"
    assert judged(f"minio cannot start, is it the network or not.\n{WELL}{pending}").verdict == "healthy"


def test_a_pod_of_the_system_that_restarts_all_the_time_is_not_well() -> None:
    restless = WELL.replace("8tbgd   1/1   Running   0   52m", "8tbgd   1/1   Running   240   9d")
    diagnosis = judged(restless)
    assert (diagnosis.verdict, [line.kind for line in diagnosis.unexplained]) == ("undetermined", ["restarts"])


SAID = (
    "calicoctl ipam check says 0 problems. All nodes Ready, calico-node 2/2. Should I worry?",
    "calico-node 全部 Running，节点都是 Ready。请问这样正常吗？",
)


@pytest.mark.parametrize("words", SAID)
def test_what_is_said_counts_where_nothing_is_shown(words: str) -> None:
    shown = "$ calicoctl ipam check | tail -1\nCheck complete; found 0 problems.\n"
    assert judged(f"{words}\n\n{shown}").verdict == "healthy"


def test_what_is_said_counts_nothing_against_what_is_shown() -> None:
    rows = AGENTS.replace("calico-node-q8l9c   1/1 ", "calico-node-q8l9c   0/1 ")
    assert judged(f"All nodes Ready, calico-node 2/2.\n{rows}").verdict == "undetermined"


def test_agents_whose_restarts_grow_are_not_well_however_ready() -> None:
    later = AGENTS.replace("Running   0          52m   10.3.9.12", "Running   5          52m   10.3.9.12")
    answer = judged(f"{WELL}\n{later}")
    assert answer.verdict == "undetermined"
    assert any("0 → 5" in symptom.text.en for symptom in answer.symptoms if symptom.current)


@pytest.mark.parametrize(
    "words",
    [
        "Is the IPAM broken, must I make the pool anew?",
        "Is something wrong, should we be worried, should we hold the upgrade?",
        'Our auditor says "addressing is broken". Everything works fine.',
        "avahi runs on these hosts, on the other clusters it isn't.",
        "业务侧目前无投诉。",
    ],
)
def test_who_asks_or_cites_does_not_complain(words: str) -> None:
    assert judged(f"{words}\n{WELL}").verdict == "healthy"


@pytest.mark.parametrize(
    "words",
    [
        "[09:41] tom: the shop gives 504 on every third click since nine",
        "[工单 #817] 跨机房 Pod 不通",
        "green wherever I look, and still name lookups come and go.",
        "A 机房的 Pod ping B 机房的 Pod 全丢。",
    ],
)
def test_chats_and_tickets_are_heard(words: str) -> None:
    assert judged(f"{words}\n{WELL}").verdict == "undetermined"


def test_a_command_that_failed_is_not_healthy() -> None:
    tried = "$ calicoctl apply -f node.yaml\nFailed to apply 'Node' resource: [update conflict: Node(hm-1)]\n"
    assert judged(WELL + tried).verdict == "undetermined"
