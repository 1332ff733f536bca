"""What looks wrong and is not: it keeps no cluster from being healthy, takes no other trouble away, and is told."""

from __future__ import annotations

import pytest
from tests.unit.doctor.judgement.test_healthy import NODES, WELL, judged

from tortie.doctor.texts import sections

NORMAL = {
    "pod-gateway": "I cannot ping the gateway of the pods:\n\n"
    "[root@hm-1 ~]# kubectl exec a -- ip route\ndefault via 169.254.1.1 dev eth0\n"
    "[root@hm-1 ~]# kubectl exec a -- ping -c2 169.254.1.1\nPING 169.254.1.1 (169.254.1.1): 56 data bytes\n"
    "2 packets transmitted, 0 packets received, 100% packet loss\n",
    "service-ping": "我 ping 不通 service 的 ClusterIP，是不是没装好？\n\n"
    "$ kubectl get svc\nNAME   TYPE   CLUSTER-IP   EXTERNAL-IP   PORT(S)   AGE\n"
    "web   ClusterIP   10.96.7.7   <none>   80/TCP   3d\n"
    "$ ping -c2 10.96.7.7\nPING 10.96.7.7 (10.96.7.7) 56(84) bytes of data.\n"
    "2 packets transmitted, 0 received, 100% packet loss, time 1013ms\n"
    "$ curl -sI http://10.96.7.7 | head -1\nHTTP/1.1 200 OK\n",
    "flexvolume": "kubelet 日志一直刷下面的报错，业务都正常：\n\n"
    "Jul 14 10:26:03 hm-1 kubelet[1543]: E0714 10:26:03.118840    1543 driver-call.go:266] Failed to unmarshal output "
    'for command: init, output: "", error: unexpected end of JSON input\n'
    "Jul 14 10:26:03 hm-1 kubelet[1543]: W0714 10:26:03.118861    1543 driver-call.go:149] FlexVolume: driver call "
    "failed: executable: /usr/libexec/kubernetes/kubelet-plugins/volume/exec/nodeagent~uds/uds\n",
    "pod-cidr": "Pods are getting addresses from ranges which are not assigned to their node:\n\n"
    "$ kubectl get nodes -o jsonpath='{.items[*].spec.podCIDR}'\n10.42.0.0/24 10.42.1.0/24\n",
    "nameserver-limit": "describe 任何一个 pod 都有这条 Warning，次数很多，受不了了：\n\n"
    "Events:\n  Type     Reason            Age                      From     Message\n"
    "  Warning  DNSConfigForming  2m14s (x5730 over 4d8h)  kubelet  Nameserver limits were exceeded, some nameservers "
    "have been omitted, the applied nameserver line is: 10.1.1.51 10.1.1.52 10.1.1.53\n",
    "loop-probe": "coredns prints errors right after every start, can I ignore them?\n\n"
    "[ERROR] plugin/errors: 2 3797952284163317497.7063757873447144811. HINFO: read udp 10.42.17.66:3687->10.1.8.8:53: "
    "i/o timeout\n\n$ kubectl exec bb -- nslookup kubernetes.default\nServer:    10.96.0.10\n"
    "Address 1: 10.96.0.10 kube-dns.kube-system.svc.cluster.local\n\n"
    "Name:      kubernetes.default\nAddress 1: 10.96.0.1 kubernetes.default.svc.cluster.local\n",
    "health-port": "Our monitoring can not reach Felix, the target is red:\n\n"
    "[prom@mon ~]$ curl -v -m3 http://10.3.9.11:9099/liveness\n*   Trying 10.3.9.11...\n* Connection refused\n"
    "* Failed connect to 10.3.9.11:9099; Connection refused\n"
    "[root@hm-1 ~]# curl -s -o /dev/null -w '%{http_code}\\n' http://127.0.0.1:9099/liveness\n204\n",
    "policy-denies": "策略我自己测了一下，deny-all + 只放行 app=web：\n\n"
    "$ kubectl exec web-7c9d -- curl -s -m3 -o /dev/null -w '%{http_code}\\n' http://api.default:8080\n200\n"
    "$ kubectl exec other-5f6b -- curl -s -m3 -o /dev/null -w '%{http_code}\\n' http://api.default:8080\n000\n"
    "command terminated with exit code 28\n",
    "meant-to-fail": "用例 2  跨租户访问    期望：不通\n"
    "# kubectl -n b exec cli -- wget -qO- -T 3 http://web.a\nwget: download timed out\n"
    "command terminated with exit code 1\n",
    "lock-waits": "Can I ignore this in kube-proxy's log? It is there a few times a day:\n\n"
    "E0216 03:14:51.102201       1 proxier.go:1447] Failed to execute iptables-restore: exit status 4 (Another app is "
    "currently holding the xtables lock. Perhaps you want to use the -w option?)\n"
    "E0216 11:40:21.998117       1 proxier.go:1447] Failed to execute iptables-restore: exit status 4 (Another app is "
    "currently holding the xtables lock. Perhaps you want to use the -w option?)\n",
    "unused-tunnel": "tunl0 is down and has no address on every node, must I fix that?\n\n"
    "[root@hm-1 ~]# ip -br a\neth0             UP             10.3.9.11/24\ntunl0@NONE       DOWN\n",
    "metrics-off": "I would like to scrape metrics, but all targets are down:\n\n"
    "root@hm-1:~# curl http://127.0.0.1:9091/metrics\n"
    "curl: (7) Failed to connect to 127.0.0.1 port 9091: Connection refused\n",
    "local-endpoints": "The NodePort answers only on one node:\n\n"
    "$ kubectl get svc web -o yaml | grep -i policy\n  externalTrafficPolicy: Local\n"
    "$ curl -s -m4 -o /dev/null -w '%{http_code}\\n' http://10.3.9.11:30400/\n000\n"
    "$ curl -s -m4 -o /dev/null -w '%{http_code}\\n' http://10.3.9.12:30400/\n200\n",
    "dummy-links": "nameserver 169.254.25.10 looks to me like no address, and that link is down:\n\n"
    "[root@hm-1 ~]# ip -br a\neth0             UP             10.3.9.11/24\n"
    "nodelocaldns     DOWN           169.254.25.10/32\n",
    "openapi-models": "kube-apiserver prints errors, can we ignore them?\n\n"
    "E0429 23:58:42.340803       1 customresource_handler.go:652] error building openapi models for "
    "networkpolicies.crd.projectcalico.org: ERROR $root.definitions.org.projectcalico.crd.v1.NetworkPolicy has invalid "
    "property: anyOf\n",
    "strangers-blocked": "In the ufw log I can see that some requests are being blocked:\n\n"
    "Jun  1 08:14:40 hm-1 kernel: [UFW BLOCK] IN=eth0 OUT= SRC=162.142.125.9 DST=95.217.10.20 LEN=60 PROTO=TCP "
    "SPT=41022 DPT=23 WINDOW=42340 RES=0x00 SYN URGP=0\n",
    "tunnel-addresses": "kubectl shows no pod with that address, should it be released?\n\n"
    "$ calicoctl ipam show --ip=10.42.17.64\nIP 10.42.17.64 is in use\nAttributes:\n  node: hm-1\n"
    "  type: vxlanTunnelAddress\n",
    "tunnel-hop": "The traceroute shows the tunnel's address as a hop, is that how it should look?\n\n"
    "root@web-5d7c:/# traceroute -n 10.42.90.14\ntraceroute to 10.42.90.14 (10.42.90.14), 30 hops max, 60 byte "
    "packets\n"
    " 1  10.3.9.11  0.062 ms  0.016 ms  0.013 ms\n 2  10.42.90.0  0.598 ms  0.541 ms  0.487 ms\n"
    " 3  10.42.90.14  0.622 ms  0.579 ms  0.561 ms\n",
    "reflected-routes": "I expected traffic to go through the reflector now. Is the peering right?\n\n"
    "$ calicoctl patch node c -p '{\"spec\": {\"bgp\": {\"routeReflectorClusterID\": \"244.0.0.1\"}}}'\n"
    "$ calicoctl node status\n| 10.3.9.13    | node specific | up    | 03:29:50 | Established |\n",
    "no-reverse-name": "dig -x of a pod's address returns nothing, is that normal?\n\n"
    "$ kubectl exec bb -- dig -x 10.42.17.66\n;; ->>HEADER<<- opcode: QUERY, status: NXDOMAIN, id: 13809\n"
    ";; QUESTION SECTION:\n;66.17.42.10.in-addr.arpa.   IN      PTR\n"
    "$ kubectl exec bb -- nslookup kubernetes.default\nServer:    10.96.0.10\n"
    "Address 1: 10.96.0.10 kube-dns.kube-system.svc.cluster.local\n\n"
    "Name:      kubernetes.default\nAddress 1: 10.96.0.1 kubernetes.default.svc.cluster.local\n",
    "before-the-agent": "A warning on a new node, do I need to do something?\n\n"
    "$ kubectl describe pod job-7x2lq | tail -5\nEvents:\n  Type     Reason                  Age   From     Message\n"
    "  Warning  FailedCreatePodSandBox  4m    kubelet  Failed to create pod sandbox: rpc error: code = Unknown desc "
    "= failed "
    'to setup network for sandbox "0d2b": plugin type="calico" failed (add): stat /var/lib/calico/nodename: no such '
    "file or directory: check that the calico/node container is running and has mounted /var/lib/calico/\n"
    "  Normal   Started                 3m29s kubelet  Started container job\n",
    "firewall-tool-off": "ufw 是关闭的，需要打开吗？\n\n[root@hm-1 ~]# ufw status\nStatus: inactive\n",
    "other-tunnel": "Should Felix look for vxlan.calico at all in IPIP mode?\n\n"
    "2021-07-20 23:09:44.846 [INFO][85] route_table.go 780: Failed to access interface because it doesn't exist. "
    "error=Link "
    'not found ifaceName="vxlan.calico" ipVersion=0x4\n',
    "unchanged-vteps": "Kibana shows this message of calico-node first, is it harmless?\n\n"
    "2022-12-06 08:39:15.632 [INFO][77] felix/vxlan_resolver.go 328: VTEP information has not changed, skipping "
    'duplicate update node="m2"\n',
    "bridge-neighbours": "The journal is full of this line, is it harmless?\n\n"
    "hm-1 systemd-networkd[1021]: vxlan.calico: rtnl: received neighbor message with invalid family, ignoring.\n",
    "multicast-neighbours": "These warnings name public addresses, are they harmless?\n\n"
    "2024-04-02 21:56:17.029 [WARNING][75] felix/route_table.go 1053: Failed to delete neighbor FDB entry "
    "{LinkIndex:26 "
    "Family:7 IP:91.189.91.48 HardwareAddr: LLIPAddr:<nil>} error=invalid argument ifaceName=\"vxlan.calico\"\n",
    "late-packets": "In the ufw log I can see that packets of pods are being blocked:\n\n"
    "Jun  1 08:14:40 hm-1 kernel: [UFW BLOCK] IN=cali8a1d65c9f02 OUT=eno1 SRC=10.42.17.65 DST=10.3.9.9 LEN=40 "
    "PROTO=TCP SPT=8080 DPT=52318 WINDOW=0 RES=0x00 RST URGP=0\n",
}  # fmt: skip


@pytest.mark.parametrize("key", NORMAL)
def test_what_is_so_by_design_keeps_nobody_from_being_healthy_and_is_told(key: str) -> None:
    answer = judged(f"{NORMAL[key]}\n{WELL}")
    assert answer.verdict == "healthy"
    told = sections("tortie.doctor.judgement.normal")[key].words
    assert told in [one.text for one in answer.normal]


@pytest.mark.parametrize("key", NORMAL)
@pytest.mark.parametrize("words", ["Pods on hm-1 cannot reach the database.", "从 hm-1 上的 pod 访问数据库全部超时。"])
def test_what_is_so_by_design_takes_no_other_complaint_away(key: str, words: str) -> None:
    assert judged(f"{words}\n\n{NORMAL[key]}\n{WELL}").verdict == "undetermined"


def test_a_service_that_answers_nobody_is_not_normal() -> None:
    silent = NORMAL["service-ping"].partition("$ curl")[0]
    assert judged(f"{silent}\n{WELL}").verdict == "undetermined"


def test_lookups_of_real_names_that_fail_are_not_normal() -> None:
    real = "[ERROR] plugin/errors: 2 deb.example.org. A: read udp 10.42.17.66:58822->10.12.8.8:53: i/o timeout\n"
    assert judged(f"{real}{NORMAL['loop-probe']}\n{WELL}").verdict == "undetermined"


def test_packets_that_would_begin_a_connection_are_not_late() -> None:
    begins = NORMAL["late-packets"].replace(" RST ", " SYN ")
    assert judged(f"{begins}\n{WELL}").verdict == "undetermined"


@pytest.mark.parametrize(
    ("stranger", "other"),
    [("SRC=162.142.125.9", "SRC=10.3.9.9"), ("DPT=23", "DPT=179"), ("IN=eth0 OUT=", "IN=cali8a1d65c9f02 OUT=eth0")],
)
def test_what_nodes_or_pods_send_is_not_a_strangers(stranger: str, other: str) -> None:
    assert judged(f"{NORMAL['strangers-blocked'].replace(stranger, other)}\n{WELL}").verdict != "healthy"


def test_a_policy_that_denies_everybody_is_not_what_was_meant() -> None:
    nobody = NORMAL["policy-denies"].replace("\n200\n", "\n000\n")
    assert judged(f"{nobody}\n{WELL}").verdict == "undetermined"


def test_a_trial_that_was_meant_to_pass_is_not_meant_to_fail() -> None:
    passes = NORMAL["meant-to-fail"].replace("期望：不通", "期望：通")
    assert judged(f"{passes}\n{WELL}").verdict == "undetermined"


TRIED = "[root@hm-1 ~]# kubectl exec probe -- wget -qO- -T 3 {}\nwget: download timed out\n"


def test_several_trials_below_one_announcement() -> None:
    both = TRIED.format("10.208.104.7") + TRIED.format("10.208.57.9")
    assert judged(f"From the pod probe both are blocked, as I want:\n{both}\n{WELL}").verdict == "healthy"
    assert judged(f"From the pod probe:\n{both}\n{WELL}").verdict == "undetermined"


def test_a_trial_may_be_told_to_have_been_meant_below_it() -> None:
    tried = TRIED.format("http://example.com")
    assert judged(f"{tried}\n(the last one is what we want, no internet for it.)\n{WELL}").verdict == "healthy"
    assert judged(f"{tried}\n(the last one is what we see all the time.)\n{WELL}").verdict == "undetermined"


@pytest.mark.parametrize(
    ("key", "sound", "sick"),
    [
        ("reflected-routes", "| up    | 03:29:50 | Established |", "| start | 03:29:50 | Connect     |"),
        ("reflected-routes", "routeReflectorClusterID", "asNumber"),
        ("before-the-agent", "  Normal   Started                 3m29s kubelet  Started container job\n", ""),
        ("tunnel-hop", " 3  10.42.90.14  0.622 ms  0.579 ms  0.561 ms\n", " 3  * * *\n"),
        ("other-tunnel", "[INFO][85]", "[ERROR][85]"),
        (
            "no-reverse-name",
            "Address 1: 10.96.0.1 kubernetes.default",
            ";; connection timed out; no servers could be reached",
        ),
    ],
)
def test_what_only_looks_like_it_is_not_told_to_be_normal(key: str, sound: str, sick: str) -> None:
    assert sound in NORMAL[key]
    answer = judged(f"{NORMAL[key].replace(sound, sick)}\n{WELL}")
    told = sections("tortie.doctor.judgement.normal")[key].words
    assert told not in [one.text for one in answer.normal]


def test_canal_has_no_bird() -> None:
    asked = "calicoctl says BIRD is not running, do I have to start it?\n\n$ calicoctl node status\n"
    asked += "\nNone of the BGP backend processes (BIRD or GoBGP) are running.\n"
    canal = "$ kubectl get pods -n kube-system\nNAME   READY   STATUS   RESTARTS   AGE\n{}   2/2   Running   0   19d\n"
    told = sections("tortie.doctor.judgement.normal")["no-bird"].words
    assert told in [one.text for one in judged(asked + canal.format("rke2-canal-6lqz4")).normal]
    assert told not in [one.text for one in judged(asked + canal.format("calico-node-6lqz4")).normal]


LITTLE = """
$ kubectl get pod -o wide
NAME                     READY   STATUS    RESTARTS   AGE   IP              NODE
nginx-7854ff8877-b6kz8   1/1     Running   0          18m   10.42.42.131    hm-1
"""


def test_who_asks_about_what_is_normal_need_not_show_the_agents() -> None:
    """Enough that pods are served, and that nothing speaks against it; nodes alone are not enough."""
    assert judged(f"{NORMAL['service-ping']}\n{LITTLE}").verdict == "healthy"
    runs = LITTLE.replace("nginx-7854ff8877-b6kz8", "job-7x2lq             ")
    assert judged(f"{NORMAL['before-the-agent']}\n{NODES}\n{runs}").verdict == "healthy"
    assert judged(NORMAL["before-the-agent"]).verdict == "undetermined"
    assert judged(f"Pods cannot reach each other.\n\n{NORMAL['service-ping']}\n{LITTLE}").verdict == "undetermined"
    waits = runs.replace("1/1     Running", "0/1     Pending")
    assert judged(f"{NORMAL['before-the-agent']}\n{NODES}\n{waits}").verdict == "undetermined"


def test_what_is_normal_and_nobody_asks_about_proves_nothing() -> None:
    asked = NORMAL["firewall-tool-off"].replace("ufw 是关闭的，需要打开吗？", "请问需要升级内核吗？")
    assert judged(f"{asked}\n{LITTLE}").verdict == "undetermined"


def test_that_a_service_answers_no_ping_is_no_dead_service() -> None:
    said = "service 的 ClusterIP ping 不通，但是 curl 是可以的，这正常吗？\n\n"
    shown = NORMAL["service-ping"].removeprefix("我 ping 不通 service 的 ClusterIP，是不是没装好？")
    answer = judged(f"{said}{shown}\n{LITTLE}")
    assert [symptom.current for symptom in answer.symptoms] == [False]
    deaf = NORMAL["service-ping"].replace("我 ping 不通 service 的 ClusterIP", "访问 service 的 ClusterIP 超时")
    assert judged(f"{deaf}\n{LITTLE}").verdict == "undetermined"


SOCKET = """
$ calicoctl node status
Calico process is running.

IPv4 BGP status
Error querying BIRD: unable to connect to BIRDv4 socket: dial unix /var/run/bird/bird.ctl: connect: no such file or directory
"""  # noqa: E501


def test_the_second_socket_of_calicoctl_is_explained_where_bird_has_the_first() -> None:
    answer = judged(SOCKET + "$ ls /var/run/calico\nbird.ctl  bird6.ctl\n" + WELL)
    assert any("/var/run/calico" in one.text.en for one in answer.normal)
    assert not judged(SOCKET + WELL).normal


def test_a_tunnel_that_routes_lead_through_is_not_unused() -> None:
    link = "$ ip link show tunl0\n7: tunl0@NONE: <NOARP,UP,LOWER_UP> mtu 1480 qdisc noqueue state UNKNOWN\n"
    route = "$ ip route\n10.42.9.0/26 via 10.3.9.12 dev tunl0 proto bird onlink\n"
    assert judged(link + WELL).normal
    assert not judged(link + route + WELL).normal


def test_a_lock_that_is_waited_for_again_and_again_is_not_normal() -> None:
    often = NORMAL["lock-waits"].replace("11:40:21", "03:15:21")
    assert judged(f"{often}\n{WELL}").verdict == "undetermined"
