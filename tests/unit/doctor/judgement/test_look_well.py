"""Each way to `healthy` beside what looks like it and is sick: one piece of the evidence makes the difference."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from tests.unit.doctor.judgement.test_healthy import NODES, WELL, judged


class Way(NamedTuple):
    text: str
    sick: tuple[tuple[str, str], ...]  # a piece of it, and what stands there where it is sick


PINGS = "$ kubectl exec a -- ping -c3 -q 10.42.17.70\n3 packets transmitted, 3 received, 0% packet loss, time 2037ms\n"
LOST = PINGS.replace("3 received, 0% packet loss", "0 received, 100% packet loss")
CACHE = """
# cat memory.failcnt
0
# egrep '^(cache|rss|inactive_file) ' memory.stat
cache 2205024256
rss 112345088
inactive_file 2114211840
"""
GONE = """
E0819 12:41:07.118812       1 status.go:71] "Unhandled Error" err="apiserver received an error that is not an \
metav1.Status: &errors.errorString{s:\\"context canceled\\"}: context canceled" logger="UnhandledError"
E0819 12:41:07.120311       1 timeout.go:140] "Post-timeout activity" logger="UnhandledError" timeElapsed="1.41ms" \
method="GET" path="/apis/projectcalico.org/v3/globalnetworksets" result=null
"""
STATUS = """
$ kubectl get tigerastatus
NAME        AVAILABLE   PROGRESSING   DEGRADED   SINCE
apiserver   True        False         False      6h11m
calico      True        False         False      6h9m
"""
ONCE = "W0819 12:44:10.771320       1 watcher.go:338] watch chan error: etcdserver: no leader\n"
LATE = (
    "May 31 10:02:17 hm-1 kernel: [872112.77] [UFW BLOCK] IN=cali4b9bb1e1a3f OUT= SRC=10.42.17.65 DST=10.3.9.12 LEN=40 "
    "PROTO=TCP SPT=8080 DPT=41732 WINDOW=0 RES=0x00 RST URGP=0\n"
)
FORTIO = "w1->w2  All done 120000 calls\nCode 200 : 120000 (100.0 %)\n"
SESSIONS = """
$ calicoctl node status
| 10.3.9.12 | node-to-node mesh | up    | 2024-03-02 | Established |
"""
ROUTES = "$ ip route\nblackhole 10.42.17.64/26 proto bird\n10.42.17.65 dev cali20c9b7fa13c scope link\n"
CALLS = "BGP: Unexpected connect from unknown address 172.16.20.4 (port 51710)"
EDGE = """
$ kubectl get po -o wide
NAME                      READY   STATUS    RESTARTS   AGE   IP            NODE
settle-6f5c9b8d7c-4vkqz   1/1     Running   0          26m   10.42.17.0    hm-1
"""
PAST = """Scaled the cluster down and up yesterday, for a few minutes it was in error:

  Cluster health check failed: Failed to communicate with API server during namespace check: Get \
"https://10.43.0.1:443/api/v1/namespaces?timeout=45s": \
context deadline exceeded

I did not touch anything, today it looks like this. Do I need to do something still?
"""
RED = (
    "Since Thursday it looks ok to me but there's so much red stuff in describe that I'd like somebody to confirm, or "
    "tell what else is broken:\n"
)

WAYS = {
    "impact asked": Way(
        "This line is in the journal of all nodes. It does not seem to affect usage. "
        "What impact does this error have?\n\n"
        "hm-1 systemd-networkd[512]: vxlan.calico: rtnl: received neighbor message with invalid family, ignoring.\n"
        f"{WELL}{PINGS}",
        (
            ("It does not seem to affect usage.", "Since then pods time out when they talk to the database."),
            (PINGS, LOST),
            ("hm-1   Ready ", "hm-1   NotReady "),
        ),
    ),
    "算不算": Way(
        f"新手，问下这个算不算有问题，看到一堆告警：\n\n{WELL}{PINGS}",
        (
            ("看到一堆告警", "pod 之间访问不通"),
            (PINGS, LOST),
            ("calico-node-q8l9c   1/1     Running", "calico-node-q8l9c   0/1     Running"),
        ),
    ),
    "of yesterday": Way(
        f"{PAST}\n{WELL}",
        (
            ("for a few minutes it was in error", "since then it is in error"),
            ("Do I need to do something still?", "It comes back every hour."),
            ("calico-node-q8l9c   1/1     Running", "calico-node-q8l9c   0/1     Running"),
        ),
    ),
    "green since": Way(
        "calico-kube-controllers was 0/1 for 13 minutes after the master was replaced.\n"
        f"State at 09:20 (not touched by hand, validate is green since 07:45):\n\n{WELL}{PINGS}",
        (
            ("validate is green since 07:45", "validate was green until 07:45"),
            ("validate is green since 07:45", "validate is green since 07:45, but web cannot get to redis"),
            (PINGS, LOST),
        ),
    ),
    "red stuff": Way(
        f"{RED}\n{WELL}{PINGS}",
        (
            ("or tell what else is broken", "and half of the services are broken"),
            ("there's so much red stuff in describe", "uploads are awfully slow"),
            (PINGS, LOST),
        ),
    ),
    "afraid": Way(
        "I am afraid to go on with a broken base. Do I have to repair bird first?\n\n"
        f"bird: Netlink: File exists\n{WELL}",
        (
            ("afraid to go on with a broken base", "sure that the network between pods is broken"),
            ("bird: Netlink: File exists", "bird: Netlink: File exists\nbird: Netlink: Network is unreachable"),
            ("bird: Netlink: File exists", "bird: Netlink: File exists\n\nPods of hm-1 get no answer from hm-2."),
            ("calico-node-q8l9c   1/1     Running", "calico-node-q8l9c   0/1     Running"),
        ),
    ),
    "ipvs0 down": Way(
        "bird: KIF: Ignore kube-ipvs0 that is not UP\n\nMust I set the interface up? `ip link set kube-ipvs0 up` "
        f"stops it for that node but on reboot it is back, and I do not dare to do it in production.\n\n{WELL}{PINGS}",
        (
            ("stops it for that node", "stops the outage"),
            ("and I do not dare to do it in production", "and the services of that node are unreachable"),
            (PINGS, LOST),
        ),
    ),
    "page cache": Way(
        "Calico memory usage / leak?\n\nThe alert at 2G fired. No OOM so far, pods ok, but I suppose it is a matter of "
        f"days.\n{CACHE}\n{WELL}",
        (
            ("rss 112345088", "rss 1812345088"),
            ("memory.failcnt\n0\n", "memory.failcnt\n17\n"),
            ("cache 2205024256\n", ""),
            ("pods ok, but I suppose it is a matter of days", "but pods of that node lose their connections"),
        ),
    ),
    "gone clients": Way(
        f"Is there something that I have to fix before going live?\n{GONE}{STATUS}{WELL}",
        (
            ("apiserver   True        False         False", "apiserver   False       False         True "),
            ("context canceled", "etcdserver: request timed out"),
            (STATUS, ""),
        ),
    ),
    "an election": Way(
        f"Is there something that I have to fix before going live?\n\n{ONCE}{STATUS}{WELL}",
        (
            (ONCE, ONCE + ONCE.replace("12:44:10", "12:51:33")),
            (ONCE, "$ kubectl get pods -A\nError from server: etcdserver: no leader\n"),
            (
                ONCE,
                ONCE + "$ etcdctl endpoint health\nhttps://10.3.9.11:2379 is unhealthy: failed to commit proposal\n",
            ),
        ),
    ),
    "late packets": Way(
        f"These are left in ufw's log. I don't feel confident seeing packets blocked though.\n\n{LATE}{WELL}{PINGS}",
        (
            (LATE, LATE + LATE.replace(" RST ", " SYN ")),
            (" RST ", " ACK "),
            (PINGS, LOST),
        ),
    ),
    "out of memory by itself": Way(
        f'I get random 502 of one app, and then I found THIS on every node, "blackhole" sounds bad:\n\n'
        f"{ROUTES}{SESSIONS}"
        f'\n{FORTIO}calico-node 1/1 on all. The pod log of the app has "java.lang.OutOfMemoryError: GC overhead limit '
        'exceeded". Should I delete the blackhole routes?\n',
        (
            ("Code 200 : 120000 (100.0 %)", "Code 200 : 119000 (99.2 %)\nCode 503 : 1000 (0.8 %)"),
            ("java.lang.OutOfMemoryError: GC overhead limit exceeded", "dial tcp 10.42.90.14:8080: i/o timeout"),
            ("random 502 of one app", "random 502 of all apps"),
            ("| up    | 2024-03-02 | Established |", "| start | 2024-03-02 | Active      |"),
        ),
    ),
    "many restarts, long ago": Way(
        "Are these restarts a problem?\n\n$ kubectl get pods -n kube-system\n"
        "NAME                READY   STATUS    RESTARTS       AGE\n"
        "calico-node-6fjt4   1/1     Running   31 (19d ago)   210d\n"
        "calico-node-q8l9c   1/1     Running   2 (37d ago)    210d\n"
        f"\n{NODES}{PINGS}",
        (
            ("31 (19d ago)   210d", "31 (3m12s ago) 20d "),
            ("31 (19d ago)   210d", "31 (19d ago)   6d  "),
            (
                PINGS,
                f"{PINGS}$ kubectl describe pod -n kube-system calico-node-q8l9c | grep -A2 Last\n"
                "    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n"
                "    Ready:          True\n    Restart Count:  31\n",
            ),
        ),
    ),
    "a scanner": Way(
        "Pods have addresses that end in .0, isn't that the network address?\n"
        f'In the log I saw "{CALLS}" once, that is our scanner.\n{EDGE}{WELL}{PINGS}',
        (
            (", that is our scanner", ", what is it"),
            (", that is our scanner", ", the node behind our new router"),
            (PINGS, LOST),
        ),
    ),
}


@pytest.mark.parametrize("key", WAYS)
def test_is_well(key: str) -> None:
    assert judged(WAYS[key].text).verdict == "healthy"


@pytest.mark.parametrize(("key", "sound", "sick"), [(key, *pair) for key, way in WAYS.items() for pair in way.sick])
def test_only_looks_well(key: str, sound: str, sick: str) -> None:
    assert sound in WAYS[key].text
    assert judged(WAYS[key].text.replace(sound, sick)).verdict != "healthy"


def test_memory_alone_says_nothing_of_a_cluster_whose_agents_nobody_saw() -> None:
    assert judged(f"Calico memory usage / leak?\n{CACHE}\n{NODES}").verdict == "undetermined"


@pytest.mark.parametrize(
    "words",
    [
        "Is my blackhole route normal? Some users of the web shop see a spinner forever.",
        "问下这个算不算问题：hm-2 上 curl 其他节点的 pod 要重试两三次才有结果。",
        "Random 502 of one app, the devs say network. Is calico ok?",
        "The health check of the shop failed. Is the network OK? It recovers after a minute.",
        "The health check of the shop failed. Is the network OK? Every night at the same time.",
        "Can I close this? Code 502 : 129 (2.2 %)",
        "We moved the registry. Grandma's photos are odd. Is all well here?",
    ],
)
def test_a_question_does_not_hide_a_trouble(words: str) -> None:
    assert judged(f"{words}\n\n{WELL.partition(chr(10) + 'calico-kube')[0]}\n{NODES}").verdict == "undetermined"


def test_what_comes_back_at_its_hour_is_not_over() -> None:
    once = f"{PAST}\n{WELL}"
    assert judged(once).verdict == "healthy"
    assert (
        judged(once.replace("I did not touch", "Every night from two to three. I did not touch")).verdict != "healthy"
    )
