# ruff: noqa: E501 (evidence keeps its width)
"""Tables of kubectl, whole and cut."""

from __future__ import annotations

from textwrap import dedent
from typing import TypeVar

import pytest
from tests.support.doctor import picture

from tortie.doctor.picture.facts import Event, Node, Pod, Pool, Registered, Setting, Workload
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers.kubectl_tables import read
from tortie.doctor.reading.readers.times import age_s, epoch, event_ages

T = TypeVar("T")


def facts(kind: type[T], text: str, command: str = "") -> list[T]:
    lines = tuple(dedent(text).strip("\n").splitlines())
    return [fact for fact in read(Exhibit("e", 1, lines, "", command)) if isinstance(fact, kind)]


def test_pods_of_all_namespaces_with_restarts_ago() -> None:
    rows = facts(
        Pod,
        """
        NAMESPACE     NAME                READY   STATUS             RESTARTS        AGE     IP           NODE    NOMINATED NODE   READINESS GATES
        kube-system   calico-node-abcde   0/1     CrashLoopBackOff   17 (2m5s ago)   7d22h   10.1.0.4     w-1     <none>           <none>
        kube-system   calico-node-fghij   1/1     Running            0               29d     10.1.0.5     w-2     <none>           <none>
        shop          web-0               0/1     Pending            0               3m      <none>       <none>  <none>           <none>
        """,
    )
    first, second, third = rows
    assert (first.namespace, first.name, first.ready, first.containers) == ("kube-system", "calico-node-abcde", 0, 1)
    assert (first.status, first.restarts, first.age_s) == ("CrashLoopBackOff", 17, 7 * 86_400 + 22 * 3_600)
    assert (first.ip, first.node, first.place.first) == ("10.1.0.4", "w-1", 2)
    assert second.all_ready
    assert (third.ip, third.node) == ("", "")


def test_pod_rows_without_header() -> None:
    rows = facts(
        Pod,
        """
        calico-node-abcde   0/1   Init:0/3   3 (9m ago)   29d   10.0.0.1   node-a   <none>   <none>
        calico-node-fghij   1/2   Running    0   190d
        """,
        "kubectl -n kube-system get pod -o wide | grep calico-node",
    )
    assert [(r.status, r.restarts, r.ip, r.node, r.namespace) for r in rows] == [
        ("Init:0/3", 3, "10.0.0.1", "node-a", "kube-system"),
        ("Running", 0, "", "", "kube-system"),
    ]


def test_rows_of_k9s_have_a_mark_behind_the_name() -> None:
    rows = facts(Pod, " calico-node-abcde   ●  1/1  Running  0  10.0.0.1  node-a  26d\n", "")
    assert [(r.name, r.ready, r.ip, r.node) for r in rows] == [("calico-node-abcde", 1, "10.0.0.1", "node-a")]


def test_pods_cut_by_awk() -> None:
    rows = facts(Pod, "NAME READY STATUS NODE\ncalico-node-abcde 0/1 Running w-1\n")
    assert [(r.name, r.ready, r.status, r.node) for r in rows] == [("calico-node-abcde", 0, "Running", "w-1")]
    pair = facts(Pod, "web-0 10.4.1.7", "kubectl get pod -A -o wide | awk '{print $2,$7}'")
    assert [(r.name, r.ip) for r in pair] == [("web-0", "10.4.1.7")]


def test_a_row_wrapped_by_the_terminal() -> None:
    rows = facts(
        Pod,
        """
        NAME                READY   STATUS    RESTARTS   AGE   IP           NODE
        calico-node-abcde   0/1     Running   0          3d    10.1.0.4
           worker-1   <none>   <none>
        """,
    )
    assert rows[0].ip == "10.1.0.4"
    assert rows[0].node == "worker-1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            """
            NAME   STATUS                        ROLES                  AGE   VERSION        INTERNAL-IP   EXTERNAL-IP   OS-IMAGE             KERNEL-VERSION      CONTAINER-RUNTIME
            m-1    NotReady,SchedulingDisabled   control-plane,master   25h   v1.21.1+k3s1   10.2.0.9      <none>        Ubuntu 20.04.3 LTS   5.4.0-84-generic    containerd://1.5.5
            """,
            ("m-1", "NotReady,SchedulingDisabled", "v1.21.1+k3s1", "10.2.0.9", "5.4.0-84-generic"),
        ),
        (
            "NAME      STATUS    AGE       VERSION\nm-1       Ready     20h       v1.7.3\n",
            ("m-1", "Ready", "v1.7.3", "", ""),
        ),
        ("m-1   NotReady   <none>   12m   v1.8.5", ("m-1", "NotReady", "v1.8.5", "", "")),
        (
            "m-1   Ready   <none>   12m   v1.8.5   10.0.0.8   <none>   CentOS Linux 7 (Core)   3.10.0-1127.el7.x86_64   docker://19.3.1",
            ("m-1", "Ready", "v1.8.5", "10.0.0.8", "3.10.0-1127.el7.x86_64"),
        ),
    ],
)
def test_nodes(text: str, expected: tuple[str, ...]) -> None:
    (node,) = facts(Node, text)
    assert (node.name, node.status, node.version, node.internal_ip, node.kernel) == expected


def test_names_only() -> None:
    assert [n.name for n in facts(Node, "node/w-1\nnode/w-2", "kubectl get nodes -o name")] == ["w-1", "w-2"]
    rows = facts(Workload, "calico-node\nkube-proxy", "kubectl get ds -A --no-headers | awk '{print $2}'")
    assert [(r.kind, r.name) for r in rows] == [("DaemonSet", "calico-node"), ("DaemonSet", "kube-proxy")]


def test_a_count_is_no_name() -> None:
    assert not facts(Setting, "22", "kubectl get crd | grep -c projectcalico")


def test_workloads() -> None:
    (ds,) = facts(
        Workload,
        """
        NAME          DESIRED   CURRENT   READY   UP-TO-DATE   AVAILABLE   NODE SELECTOR            AGE
        calico-node   4         4         1       4            1           kubernetes.io/os=linux   29d
        """,
        "kubectl get ds -n kube-system",
    )
    assert (ds.kind, ds.desired, ds.current, ds.ready, ds.namespace) == ("DaemonSet", 4, 4, 1, "kube-system")
    (deploy,) = facts(
        Workload,
        "NAME           READY   UP-TO-DATE   AVAILABLE   AGE\ncalico-typha   0/3     3            0           2d\n",
    )
    assert (deploy.kind, deploy.desired, deploy.ready) == ("Deployment", 3, 0)


def test_events_with_and_without_header() -> None:
    (row,) = facts(
        Event,
        """
        LAST SEEN   TYPE      REASON      OBJECT                  MESSAGE
        12s         Warning   Unhealthy   pod/calico-node-abcde   Readiness probe failed: felix is not ready
        """,
    )
    assert (row.reason, row.object, row.age_s) == ("Unhealthy", "pod/calico-node-abcde", 12.0)
    (bare,) = facts(
        Event,
        "92s   Normal   Killing   pod/calico-node-abcde   Container calico-node failed liveness probe, will be restarted",
    )
    assert (bare.reason, bare.kind, bare.age_s) == ("Killing", "Normal", 92.0)


def test_endpoints_services_and_missing_things() -> None:
    (ep,) = facts(
        Setting,
        "NAME           ENDPOINTS                         AGE\ncalico-typha   10.0.0.1:5473,10.0.0.2:5473       9d\n",
    )
    assert (ep.scope, ep.name, ep.value) == ("endpoints", "calico-typha", "10.0.0.1:5473,10.0.0.2:5473")
    (none,) = facts(Setting, "NAME           ENDPOINTS   AGE\ncalico-typha   <none>      9d\n")
    assert none.value == ""
    (crd,) = facts(
        Setting,
        'Error from server (NotFound): customresourcedefinitions.apiextensions.k8s.io "tiers.crd.projectcalico.org" not found',
    )
    assert (crd.scope, crd.name, crd.value) == ("crd", "tiers.crd.projectcalico.org", "missing")
    (there,) = facts(
        Setting, "NAME                           CREATED AT\nippools.crd.projectcalico.org   2023-01-01T00:00:00Z\n"
    )
    assert (there.scope, there.value) == ("crd", "present")


def test_top_and_tigera_status() -> None:
    rows = facts(
        Setting, "NAME   CPU(cores)   CPU%   MEMORY(bytes)   MEMORY%\nw-1    3900m        97%    3012Mi          39%\n"
    )
    assert {(r.name, r.value, r.owner) for r in rows} >= {("cpu%", "97%", "w-1"), ("memory", "3012Mi", "w-1")}
    rows = facts(
        Setting,
        "NAME     AVAILABLE   PROGRESSING   DEGRADED   SINCE\ncalico   False       True          True       5m\n",
    )
    assert ("tigerastatus", "calico", "available=False progressing=True degraded=True") in {
        (r.scope, r.name, r.value) for r in rows
    }


def test_custom_columns() -> None:
    asked = (
        "kubectl get nodes -o custom-columns='NAME:.metadata.name,INTERNAL:.status.addresses[{which}].address,"
        "CALICO:.metadata.annotations.projectcalico\\.org/IPv4Address'"
    )
    command = asked.replace("{which}", '?(@.type=="InternalIP")')
    text = "NAME   INTERNAL   CALICO\nw-1    10.0.0.4   172.18.0.1/16\n"
    (node,) = facts(Node, text, command)
    assert (node.name, node.internal_ip) == ("w-1", "10.0.0.4")
    (first,) = facts(Node, text, asked.replace("{which}", "0"))
    assert (first.internal_ip, first.addresses) == ("", (("INTERNAL", "10.0.0.4"),))
    (registered,) = facts(Registered, text, command)
    assert (registered.node, registered.address, registered.length) == ("w-1", "172.18.0.1", 16)


def test_pools_of_kubectl() -> None:
    (pool,) = facts(Pool, "NAME   CIDR            IPIP\nmain   10.244.0.0/16   Always\n")
    assert (pool.cidr, pool.ipip) == ("10.244.0.0/16", "Always")


def test_prose_and_logs_are_no_rows() -> None:
    text = """
        Two of the three nodes are Ready and the third one is not, 1/3 Broken maybe.
        2023-01-12 05:55:26.123 [INFO][61] felix/summary.go 100: Summarising 9 loops avg=11ms
        WARNING: something SHOULD be done
        """
    assert not facts(Pod, text)
    assert not facts(Node, text)


def test_times() -> None:
    assert age_s("About an hour ago") == 3_600
    assert age_s("2y145d") == 2 * 31_536_000 + 145 * 86_400
    assert age_s("<invalid>") is None
    assert event_ages("2m4s (x52551 over 6d2h)") == (124.0, 52_551, 6 * 86_400 + 7_200)
    assert epoch("Thu, 12 Jan 2023 13:55:26 +0800") == epoch("2023-01-12T05:55:26Z") == 1_673_502_926


def test_custom_columns_with_headers_of_ones_own() -> None:
    seen = picture(
        """
        $ kubectl get no -o custom-columns='n:.metadata.name,ip:.status.addresses[0].address,reg:.metadata.annotations.projectcalico\\.org/IPv4Address'
        n      ip          reg
        w-1    10.3.0.11   10.3.0.11/24
        w-2    10.3.0.12   10.3.0.99/24
        """
    )
    assert seen.internal_ips() == {"w-1": "10.3.0.11", "w-2": "10.3.0.12"}
    assert [(r.node, r.address) for r in seen.registered()] == [("w-1", "10.3.0.11"), ("w-2", "10.3.0.99")]


def test_nodes_of_which_awk_left_name_and_address() -> None:
    nodes = facts(Node, "NAME INTERNAL-IP\ns1 10.5.5.1\ns2 10.5.5.2", "kubectl get no -owide | awk '{print $1,$6}'")
    assert [(node.name, node.internal_ip, node.status) for node in nodes] == [
        ("s1", "10.5.5.1", ""),
        ("s2", "10.5.5.2", ""),
    ]


def test_own_and_calico_address_by_header_alone() -> None:
    text = """
        NODE    INTERNAL_IP   CALICO_IP
        st-01   10.70.3.1     10.70.3.1/22
        st-02   10.70.3.2     172.30.0.1/16
        st-03   10.70.3.3     <none>
        """
    assert picture(text).internal_ips() == {"st-01": "10.70.3.1", "st-02": "10.70.3.2", "st-03": "10.70.3.3"}
    chosen = facts(Registered, text, "kubectl get nodes -o custom-columns=...")
    assert [(r.node, r.address, r.length) for r in chosen] == [("st-01", "10.70.3.1", 22), ("st-02", "172.30.0.1", 16)]


def test_daemon_sets_and_pods_after_them() -> None:
    shown = picture(
        """
        $ kubectl get ds -n calico-system
        NAME          DESIRED   CURRENT   READY   UP-TO-DATE   AVAILABLE   NODE SELECTOR            AGE
        calico-node   6         6         4       6            4           kubernetes.io/os=linux   12d
        $ kubectl get pods -n calico-system | head -2
        NAME                READY   STATUS    RESTARTS   AGE
        calico-node-b7k2p   1/1     Running   0          12d
        """
    )
    (row,) = shown.of(Workload)
    assert (row.name, row.desired, row.ready) == ("calico-node", 6, 4)
    assert [pod.name for pod in shown.of(Pod)] == ["calico-node-b7k2p"]


EVENTS = """\
$ kubectl get events -n kube-system
LAST SEEN   TYPE      REASON        OBJECT                  MESSAGE
2m33s       Warning   FailedMount   pod/calico-node-x7k2p   MountVolume.SetUp failed for volume "bpffs" : not a directory
12s         Warning   Unhealthy     pod/calico-node-x7k2p   Readiness probe failed: 2024-03-05 10:11:12.123 [INFO][9]...
5m          Warning   SystemOOM     node/w1                 System OOM encountered, victim process: calico-node, pid: 9
"""


def test_a_message_that_kubectl_cuts_is_known_to_be_cut() -> None:
    events = picture(EVENTS).of(Event)
    assert [(event.reason, event.cut) for event in events] == [
        ("FailedMount", False), ("Unhealthy", True), ("SystemOOM", False),
    ]  # fmt: skip
    assert events[2].object == "node/w1"


def test_a_message_with_line_ends_is_whole_in_kubectl_events() -> None:
    text = """\
$ kubectl events -n kube-system
LAST SEEN             TYPE      REASON      OBJECT                  MESSAGE
3m2s (x12 over 10m)   Warning   Unhealthy   Pod/calico-node-x7k2p   Readiness probe failed: 2024-03-05 10:11:12.123 [INFO]
calico/node is not ready: BIRD is not ready: BGP not established with 10.0.0.7
2m                    Normal    Pulled      Pod/calico-node-x7k2p   Container image already present
"""
    first, second = picture(text).of(Event)
    assert first.message.endswith("BGP not established with 10.0.0.7")
    assert (first.cut, first.count, first.place.last, second.reason) == (False, 12, 4, "Pulled")


def test_events_in_columns_of_ones_own() -> None:
    text = """\
$ kubectl get events -o custom-columns=LAST:.lastTimestamp,OBJ:.involvedObject.name,REASON:.reason,MSG:.message
LAST                   OBJ                 REASON        MSG
2024-03-05T10:00:00Z   calico-node-x7k2p   FailedMount   MountVolume.SetUp failed for volume "x"
"""
    (event,) = picture(text).of(Event)
    assert (event.reason, event.object, event.time) == ("FailedMount", "calico-node-x7k2p", 1709632800.0)


FIRST = "kubectl get nodes -o jsonpath='{range .items[*]}{.metadata.name} {.status.addresses[0].address}{\"\\n\"}{end}'"
TYPED = FIRST.replace("[0]", '[?(@.type=="InternalIP")]')


def test_the_first_address_of_a_node_is_not_its_internal_one() -> None:
    first = f"$ {FIRST}\nw-1 203.0.113.4\nw-2 203.0.113.5\n"
    assert picture(first).internal_ips() == {}
    assert picture(f"{first}$ {TYPED}\nw-1 10.0.0.4\n").internal_ips() == {"w-1": "10.0.0.4"}


def test_the_first_address_counts_where_calico_registered_it_somewhere() -> None:
    table = "$ calicoctl get nodes -o wide\nNAME   ASN       IPV4          IPV6\nw-1    (64512)   10.0.0.4/24\n"
    assert picture(f"$ {FIRST}\nw-1 10.0.0.4\nw-2 10.0.0.5\n{table}").internal_ips() == {
        "w-1": "10.0.0.4",
        "w-2": "10.0.0.5",
    }
