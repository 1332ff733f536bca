"""TRT5012: a pool without NAT is a cause only where pods do not reach the outside."""

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.catalogue import cause_named
from tortie.doctor.causes.cause import LIKELY, PROVEN

ID = "nat-outgoing-off"
POOLS = """\
[root@fir1 ~]# calicoctl get ippool -o wide
NAME     CIDR            NAT     IPIPMODE   VXLANMODE   DISABLED   SELECTOR
blue     10.61.0.0/16    false   Always     Never       false      all()
"""
POD = """\
[root@fir1 ~]# kubectl exec -it tool -- ping -c 3 203.0.113.9
PING 203.0.113.9 (203.0.113.9): 56 data bytes

--- 203.0.113.9 ping statistics ---
3 packets transmitted, 0 packets received, 100% packet loss
"""
HOST = """\
[root@fir1 ~]# ping -c 1 203.0.113.9
PING 203.0.113.9 (203.0.113.9) 56(84) bytes of data.
64 bytes from 203.0.113.9: icmp_seq=1 ttl=53 time=12.1 ms

--- 203.0.113.9 ping statistics ---
1 packets transmitted, 1 received, 0% packet loss, time 0ms
"""
SAID = "Pods cannot reach the internet, pod to pod is fine.\n\n"


def test_what_the_host_reaches_and_the_pod_does_not() -> None:
    answer = finding(ID, POOLS + POD + HOST)
    assert answer.strength >= PROVEN
    assert answer.objects[:2] == ("natOutgoing", "blue")


def test_a_sentence_beside_the_pool_is_a_claim() -> None:
    assert finding(ID, SAID + POOLS).strength >= LIKELY
    field = "$ kubectl get ippool blue -o yaml | grep nat\n  natOutgoing: false\n"
    assert finding(ID, "容器访问不了外网，容器之间是通的。\n\n" + field).strength >= LIKELY


def test_a_pool_without_nat_alone_is_no_trouble() -> None:
    assert finding(ID, POOLS).state == "cannot-tell"


def test_nat_that_is_on_rules_it_out() -> None:
    assert finding(ID, SAID + POOLS.replace("false   Always", "true    Always") + POD + HOST).state == "ruled-out"


def test_pods_that_do_not_reach_each_other_have_another_trouble() -> None:
    text = "Pods on different nodes cannot reach each other, nor the internet.\n\n" + POOLS
    assert finding(ID, text).strength < LIKELY


def test_a_name_that_is_not_resolved_says_nothing_of_nat() -> None:
    text = POOLS + "[root@fir1 ~]# kubectl exec -it tool -- ping -c 3 example.org\nping: bad address 'example.org'\n"
    assert finding(ID, text).state == "cannot-tell"


def test_a_pod_that_gets_through_is_proof_against_it() -> None:
    now = POD.replace("0 packets received, 100%", "3 packets received, 0%")
    assert finding(ID, POOLS + POD + now).state == "ruled-out"


def test_a_pool_that_is_gone_takes_its_nat_with_it() -> None:
    pods = """\
$ kubectl get pods -o wide
NAME    READY   STATUS    RESTARTS   AGE   IP            NODE
tool    1/1     Running   0          9d    10.99.4.11    fir1
api-0   1/1     Running   0          9d    10.99.4.12    fir1
api-1   1/1     Running   0          9d    10.99.7.30    fir2
"""
    answer = finding(ID, SAID + POOLS.replace("false   Always", "true    Always") + pods + POD + HOST)
    assert answer.strength >= LIKELY
    assert "10.99.4.11" in answer.objects


def test_the_operators_pool_is_changed_in_its_installation() -> None:
    def commands(text: str) -> list[str]:
        cause, seen = cause_named(ID), picture(text)
        assert cause is not None
        return [step.command for step in cause.fix(seen, cause.judge(seen))]

    plain = """kubectl patch ippool blue --type merge -p '{"spec":{"natOutgoing":true}}'"""
    assert plain in commands(POOLS + POD + HOST)
    status = (
        "$ kubectl get tigerastatus\nNAME    AVAILABLE  PROGRESSING  DEGRADED  SINCE\ncalico  True  False  False  9d\n"
    )
    assert "kubectl edit installation default" in commands(POOLS + POD + HOST + status)


def test_a_way_out_that_is_closed_for_the_node_too() -> None:
    pool = """
$ calicoctl get ippool -o wide
NAME     CIDR          NAT     IPIPMODE   VXLANMODE   DISABLED   SELECTOR
pool-a   10.0.0.0/16   false   Always     Never       false      all()
"""
    pod = "$ kubectl exec dbg -- ping -c1 8.8.8.8\n1 packets transmitted, 0 packets received, 100% packet loss\n"
    node = "[root@elm ~]# ping -c1 8.8.8.8\n1 packets transmitted, 0 received, 100% packet loss, time 0ms\n"
    assert finding("nat-outgoing-off", pool + pod).strength >= 0.9
    assert finding("nat-outgoing-off", pool + node + pod).strength < 0.8
    reached = node.replace("0 received, 100%", "1 received, 0%")
    assert finding("nat-outgoing-off", pool + reached + pod).strength >= 0.95


def _masqueraded(entries: int) -> str:
    return f"""
$ kubectl exec box -- ping -c2 8.8.8.8
PING 8.8.8.8 (8.8.8.8): 56 data bytes
--- 8.8.8.8 ping statistics ---
2 packets transmitted, 0 packets received, 100% packet loss
# ipset list cali40masq-ipam-pools
Name: cali40masq-ipam-pools
Type: hash:net
Number of entries: {entries}
Members:
"""


def test_felix_masquerades_no_pool() -> None:
    assert finding("nat-outgoing-off", _masqueraded(0)).strength >= 0.8


def test_felix_masquerades_a_pool() -> None:
    assert finding("nat-outgoing-off", _masqueraded(1)).state != "found"


BOTH = """
$ calicoctl get ippool -o wide
NAME     CIDR            NAT     IPIPMODE   VXLANMODE   DISABLED   SELECTOR
four     10.61.0.0/16    {four}   Always     Never       false      all()
six      fd61::/64       {six}   Never      Never       false      all()
"""
BY_FAMILY = """
$ kubectl exec tool -- curl -{first} -m5 -sI http://files.example/
{reached}
$ kubectl exec tool -- curl -{second} -m5 -sI http://files.example/
curl: (28) Connection timed out after 5001 milliseconds
"""


def _tried(first: int, second: int) -> str:
    return BY_FAMILY.format(first=first, second=second, reached="HTTP/1.1 200 OK")


def test_the_family_that_fails_tells_which_pool() -> None:
    pools = BOTH.format(four="true", six="false")
    answer = finding(ID, pools + _tried(4, 6))
    assert (answer.strength >= 0.9, answer.objects[1]) == (True, "six")
    routed = BOTH.format(four="false", six="true")  # the network knows the way to the pods of that family
    assert finding(ID, routed + _tried(4, 6)).state != "found"


def test_a_family_that_works_first_or_last_is_the_other_one() -> None:
    pools = BOTH.format(four="true", six="false")
    lines = _tried(4, 6).strip().splitlines()
    turned = "\n".join([*lines[2:], *lines[:2]]) + "\n"
    assert finding(ID, pools + turned).objects[1] == "six"


CHOSEN = """
$ calicoctl get ippool -o wide
NAME     CIDR            NAT     IPIPMODE   VXLANMODE   DISABLED   SELECTOR
builds   10.62.0.0/18    {}   Always     Never       false      all()
blue     10.61.0.0/16    {}    Always     Never       false      all()
"""
RUNNER = "bash-5.1# ping -c2 198.51.100.7\n2 packets transmitted, 0 packets received, 100% packet loss\n"
ANNOTATED = (
    '$ kubectl get ns ci -o jsonpath={.metadata.annotations}\n{"cni.projectcalico.org/ipv4pools":"[\\"builds\\"]"}\n',
    '$ kubectl describe ns ci\nName:  ci\nAnnotations:  cni.projectcalico.org/ipv4pools: ["builds"]\n',
)


def test_the_annotation_names_the_pool_of_those_who_fail() -> None:
    for told in ANNOTATED:
        answer = finding(ID, CHOSEN.format("false", "false") + told + RUNNER)
        assert (answer.strength >= 0.9, answer.objects[1]) == (True, "builds")
        assert finding(ID, CHOSEN.format("true", "false") + told + RUNNER).state == "ruled-out"


LEAVES = (
    "# tcpdump -nni bond0 host 198.51.100.7\n"
    "10:58:31.402117 IP 10.62.3.66 > 198.51.100.7: ICMP echo request, id 61, seq 0, length 64\n",
    "# tcpdump -ni any host 198.51.100.7\n"
    "10:58:31.402117 ens3  Out IP 10.62.3.66 > 198.51.100.7: ICMP echo request, id 61, seq 0, length 64\n",
    "# tshark -ni eth0 host 198.51.100.7\n"
    "    1 0.000000000   10.62.3.66 → 198.51.100.7 ICMP 98 Echo (ping) request  id=0x003d, seq=0/0, ttl=63\n",
    "# conntrack -L -d 198.51.100.7\n"
    "icmp     1 29 src=10.62.3.66 dst=198.51.100.7 type=8 code=0 id=61 [UNREPLIED] src=198.51.100.7 dst=10.62.3.66 "
    "type=0 code=0 id=61 mark=0 use=1\n",
    "The firewall in front of it sees packets with the pod's own address as source.\n",
    "在外部机器上抓包，源地址就是 pod 自己的 IP。\n",
)


def test_a_pods_own_address_out_there_is_missing_nat_whoever_captures() -> None:
    trial = "# ping -c2 198.51.100.7\n2 packets transmitted, 0 received, 100% packet loss\n"
    for told in LEAVES:
        answer = finding(ID, CHOSEN.format("false", "true") + "\n" + RUNNER + "\n" + told)
        assert answer.strength >= PROVEN, told
        assert answer.objects[1] == "builds"
    # Where the trial was typed is not told: the packet tells it.
    assert finding(ID, CHOSEN.format("false", "true") + trial + LEAVES[0]).strength >= PROVEN


def test_a_packet_at_the_pods_own_end_shows_no_nat_yet() -> None:
    inner = LEAVES[0].replace("bond0", "cali12ab34cd56e")
    pools = (
        "$ kubectl get ippool -o custom-columns=NAME:.metadata.name,CIDR:.spec.cidr\nNAME CIDR\nbuilds 10.62.0.0/18\n"
    )
    assert finding(ID, pools + RUNNER + LEAVES[0]).strength >= 0.9
    assert finding(ID, pools + RUNNER + inner).state != "found"
    everywhere = LEAVES[1].replace("ens3  Out", "cali12ab34cd56e In")
    assert finding(ID, pools + RUNNER + everywhere).state != "found"
    on = CHOSEN.format("true", "true")
    assert finding(ID, on + RUNNER + LEAVES[0]).state == "ruled-out"


def test_a_packet_alone_is_how_routed_pods_look() -> None:
    assert finding(ID, CHOSEN.format("false", "true") + LEAVES[0]).strength < LIKELY
