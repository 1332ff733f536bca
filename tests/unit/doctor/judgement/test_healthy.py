"""`healthy` is a claim: enough of the cluster was seen, and nothing in the evidence is left unexplained."""

from __future__ import annotations

import pytest
from tests.support.doctor import picture
from tests.unit.doctor.judgement.sentences import COMPLAINTS, NO_COMPLAINTS, REMARKS, TROUBLES

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


@pytest.mark.parametrize("words", TROUBLES)
def test_nor_who_asks_whether_that_is_expected(words: str) -> None:
    assert judged(f"{words}\n\nIs this expected?\n{WELL}").verdict == "undetermined"


@pytest.mark.parametrize("words", REMARKS)
def test_a_remark_is_no_complaint_and_no_question(words: str) -> None:
    """Nobody can list all words for trouble: who only tells of something is not told that it is healthy."""
    assert judged(f"{words}\n{WELL}").verdict == "undetermined"
    assert judged(f"{words}\n\nIs all well?\n{WELL}").verdict == "healthy"


UNHEARD = (  # in words that no list has
    "Pods with two interfaces only get one address.",
    "Typha connections are imbalanced, one typha has 180 clients and the other two have 5.",
    "The etcd traffic has tripled since we upgraded.",
    "同一个 pod 一会儿能通一会儿不能通",
)


@pytest.mark.parametrize("words", UNHEARD)
@pytest.mark.parametrize(
    "asked",
    ["Is this expected?", "这正常吗？", "Could you please have a look?", "Should I change something?", "请帮忙看看"],
)
def test_that_this_is_normal_is_said_of_nothing_that_is_only_told(words: str, asked: str) -> None:
    assert judged(f"{words}\n\n{asked}\n{WELL}").verdict == "undetermined"


def test_this_may_be_a_line_that_is_shown() -> None:
    line = (
        "$ kubectl logs -n kube-system calico-node-6fjt4 | tail -1\n"
        "2024-05-01 09:30:12.220 [INFO][8] felix/wireguard.go 578: Wireguard is not enabled\n"
    )
    assert judged(f"Each node prints that all day. Is this expected?\n{WELL}{line}").verdict == "healthy"
    assert judged(f"Why does each node have a host prefix? Is this expected?\n{WELL}").verdict == "healthy"


def test_who_sees_all_green_and_looks_further_has_a_reason() -> None:
    told = "Teams say their apps feel different since the maintenance. All is green, what else could I check?"
    assert judged(f"{told}\n{WELL}").verdict == "undetermined"


def test_a_title_is_the_words_of_a_person() -> None:
    answer = judged(f"Nightly batch halts since Calico arrived\n\n{WELL}")
    assert answer.verdict == "undetermined"
    assert answer.remark is not None
    assert "not what is told" in answer.remark.en


def test_trouble_of_an_application_is_no_complaint_about_the_network() -> None:
    pending = "$ kubectl get po -A\nNAMESPACE NAME READY STATUS RESTARTS AGE\nstorage minio-0 0/1 Pending 0 2d\n"
    assert judged(f"minio cannot start, is it the network or not?\n{WELL}{pending}").verdict == "healthy"


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


PROBES = """
LAST SEEN   TYPE      REASON      OBJECT                  MESSAGE
3m11s       Warning   Unhealthy   pod/calico-node-6fjt4   Readiness probe failed: calico/node is not ready: felix is not ready: Get http://localhost:9099/readiness: dial tcp 127.0.0.1:9099: connect: connection refused
8m20s       Warning   Unhealthy   pod/calico-node-6fjt4   Readiness probe failed: calico/node is not ready: felix is not ready: Get http://localhost:9099/readiness: dial tcp 127.0.0.1:9099: connect: connection refused
"""


def test_a_probe_that_fails_now_and_then_is_no_history() -> None:
    """Ready is what such a pod is in between."""
    old = WELL.replace("52m", "6d")
    assert judged(old + PROBES).verdict == "undetermined"


def test_probes_of_a_start_are_history() -> None:
    assert judged(WELL.replace("52m", "9m") + PROBES).verdict == "healthy"


@pytest.mark.parametrize(
    "told",
    [
        "smoke suite passes 48/48, is the noise in the log normal?",
        "DNS 5000 queries, 0 failed. Is the noise in the log normal?",
        "Our mesh probe node x node is at 100.0 % since then. Is the noise in the log normal?",
        "no packet loss in the mesh probe. Is the noise in the log normal?",
        "跨节点拨测 0 失败，日志里的提示可以忽略吗？",
        "$ iperf3 -c 10.42.17.65\n[  5]   0.00-10.00  sec  10.9 GBytes  9.36 Gbits/sec   12   sender",
    ],
)
def test_traffic_that_is_counted_or_measured_is_an_area(told: str) -> None:
    answer = judged(AGENTS + "\n" + told)
    assert answer.verdict == "healthy"
    assert "traffic" in {area.key for area in answer.covers}


CARRIES = """
$ kubectl get pods -o wide
NAME                    READY   STATUS    RESTARTS   AGE    IP             NODE
web-7f6d5c7b8b-2mhqs    1/1     Running   0          3d2h   10.42.77.193   hm-1
web-7f6d5c7b8b-9kz4d    1/1     Running   0          3d2h   10.42.0.0      hm-2
$ kubectl exec web-7f6d5c7b8b-2mhqs -- curl -s -o /dev/null -w '%{http_code}' http://10.42.0.0:8080/
200
$ calicoctl ipam check
Check complete; found 0 problems.
"""


def test_traffic_that_was_tried_proves_as_much_as_agents_to_somebody_who_only_asks() -> None:
    assert judged("Is it normal that a pod has the address 10.42.0.0?\n" + CARRIES).verdict == "healthy"


@pytest.mark.parametrize("said", ["The dashboard hangs.", "", "发布一直卡住，怎么办？"])
def test_but_not_to_somebody_who_suffers_or_says_nothing(said: str) -> None:
    assert judged(f"{said}\n{CARRIES}").verdict == "undetermined"


def test_a_person_who_names_a_level_quotes_no_error() -> None:
    assert (
        judged("These (level=error > 0 pages people) are on the list, can I ignore them?\n\n" + WELL).verdict
        == "healthy"
    )


def test_a_harmless_message_in_a_sentence_is_no_complaint() -> None:
    message = "bird: Unable to open configuration file /etc/calico/confd/config/bird.cfg: No such file or directory"
    said = f"日志里有 {message} 两行，要紧吗？"
    assert judged(f"{said}\n{WELL}").verdict == "healthy"


def test_what_is_told_to_be_over_in_a_time_line_is_over() -> None:
    told = "20:35-20:39 跨节点不通\n20:40 告警全部恢复\n20:50 业务侧确认无异常\n"
    answer = judged(told + WELL)
    assert answer.verdict == "healthy"
    assert [symptom.current for symptom in answer.symptoms] == [False]
    assert judged("20:35-20:39 跨节点不通\n\n" + WELL).verdict == "undetermined"


POD_SHELL = """
小白提问，网关根本不存在，也 ping 不通，是不是漏了一步？

root@web-0:/# ip ro
default via 169.254.1.1 dev eth0
root@web-0:/# ping -c2 169.254.1.1
2 packets transmitted, 0 received, 100% packet loss, time 1001ms
"""
WORKS = """
root@web-0:/# ping -c2 10.42.130.5
2 packets transmitted, 2 received, 0% packet loss, time 1001ms
root@web-0:/# nslookup kubernetes.default
Server:    10.96.0.10
Address 1: 10.96.0.10 kube-dns.kube-system.svc.cluster.local

Name:      kubernetes.default
Address 1: 10.96.0.1 kubernetes.default.svc.cluster.local
"""


def test_who_wonders_about_what_is_normal_and_shows_that_it_works_is_told_so() -> None:
    answer = judged(POD_SHELL + WORKS)
    assert answer.verdict == "healthy"
    assert answer.normal
    assert judged(POD_SHELL).verdict == "undetermined"


def test_errors_of_an_ingress_are_no_silence() -> None:
    log = (
        "$ kubectl logs ingress-nginx-controller-x\n2022/09/15 09:12:45 [error] 330#330: *10136 upstream timed out "
        '(110: Connection timed out) while connecting to upstream, client: 10.1.8.77, server: pay, upstream: "http://10.42.9.23/"\n'
    )
    assert judged("Is that normal?\n" + WELL + log).verdict == "undetermined"


STORY = """
we moved the shop to the new cluster on Monday. the colleagues of the web team look at me since. it is the same
terraform as prod, and prod is all right. calico pods all 1/1 Running.
"""


def test_who_tells_a_story_and_neither_asks_nor_says_that_it_is_well_has_a_trouble() -> None:
    """In words that nobody has used before. A question takes it back; traffic that passes may be other traffic."""
    ping = "$ ping -c2 10.42.9.1\n2 packets transmitted, 2 received, 0% packet loss\n"
    assert judged(STORY + NODES).verdict == "undetermined"
    assert judged(STORY + NODES + ping).verdict == "undetermined"
    assert judged(STORY + "Is all well here?\n" + NODES + ping).verdict == "healthy"
    assert judged(STORY + "Is all well here?\n" + NODES).verdict == "undetermined"  # agents and nodes, and no more
    assert judged(STORY + "Is that normal?\n" + NODES).verdict == "undetermined"
    assert judged(STORY + WELL).verdict == "undetermined"


def test_sessions_that_are_counted_are_an_area() -> None:
    counted = "$ calicoctl node status | grep -c Established\n{}\n"
    assert "sessions" in {area.key for area in judged(AGENTS + NODES + counted.format(1)).covers}
    assert "sessions" not in {area.key for area in judged(AGENTS + NODES + counted.format(0)).covers}


def test_items_of_a_checklist_are_a_persons() -> None:
    items = "[x] nodes Ready (6/6)\n[x] calico-node 6/6, no restarts\n[x] smoke: http from node to node (36/36 ok)\n"
    answer = judged(items + "[ ] journals clean   <-- is this a problem?\n")
    assert answer.verdict == "healthy"
    assert {"agents", "nodes", "traffic"} <= {area.key for area in answer.covers}


# ruff: noqa: E501
DOUBTFUL = {
    "names that end in a zero": "Since this morning eth0 drops packets and worker-0 lost its connections.\n" + AGENTS + NODES,
    "a pod's name": "web-0 timeouts when it calls pods on worker-1.\n" + AGENTS + NODES,
    "names in Chinese": "跨节点 ping node-0 超时。\n" + AGENTS + NODES,
    "trials that touch no pod": "Is this normal? One node waits.\n$ ping -c 3 8.8.8.8\n3 packets transmitted, 3 received, 0% "
    "packet loss, time 2003ms\n$ curl -sk -o /dev/null -w '%{http_code}' https://10.0.0.1:6443/\n403\n",
    "clocks that commands print": "$ date +%H:%M\n14:02\n$ calicoctl node status\n| 10.0.0.12    | node-to-node mesh | start "
    "| 09:02:11 | Connect |\n$ date +%H:%M\n14:33\n" + AGENTS + NODES,
    "what was not looked at again": "14:02\n| 10.0.0.12    | node-to-node mesh | start | 09:02:11 | Connect |\n\n14:33\n"
    + AGENTS + NODES,
    "a positive grep": "$ kubectl get pods -n kube-system | grep calico-node | grep 1/1 | grep -v Terminating\n" + NODES,
    "counted the wrong way": AGENTS + "$ calicoctl node status | grep -v -c Established\n9\n",
    "too few counted": AGENTS.replace("hm-2", "hm-3") + "calico-node-x   1/1   Running   0   52m   10.3.9.13   hm-2\n"
    "$ calicoctl node status | grep -c Established\n1\n",
    "availability that fell": "跨节点可用率从 100% 掉到 40%。\n" + AGENTS,
    "availability that was": "The success rate was 100 % last week, now 60 %.\n" + AGENTS,
    "throughput that fell": "iperf fell from 9.4 Gbit/s to 20 Mbit/s.\n" + AGENTS,
    "loss that varies": "跨节点 ping 丢包率 0%-30% 波动。\n" + AGENTS,
    "nothing verified": "East-west traffic must still be verified.\n" + AGENTS,
    "other pods": "Our shop pods: 3 x 1/1 Running\n" + NODES,
    "one that is not": "calico-node pods: 2 x 1/1 Running, the third is in ImagePullBackOff\n" + NODES,
    "a third session": "2 bgp peers up since Monday, the third sits in Active.\n" + AGENTS,
    "nobody says what": "$ kubectl exec web -- ip route\ndefault via 169.254.1.1 dev eth0\n\nping 不通\n\n" + AGENTS + NODES,
    "throughput between machines": "$ iperf3 -c 10.3.9.12\n[  5]   0.00-10.00  sec  10.9 GBytes  9.40 Gbits/sec   receiver\n" + AGENTS,
}  # fmt: skip


@pytest.mark.parametrize("text", DOUBTFUL.values(), ids=DOUBTFUL)
def test_what_sounds_well_and_is_not(text: str) -> None:
    assert judged(text).verdict != "healthy"
