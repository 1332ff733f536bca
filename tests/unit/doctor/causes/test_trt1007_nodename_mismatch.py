"""TRT1007: one host, two names."""

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.cause import LIKELY, PROVEN, STRONG
from tortie.doctor.causes.nodes.trt1007_nodename_mismatch import CAUSE

ID = "nodename-mismatch"

CALICO = """
$ calicoctl get nodes
NAME
gw1.corp.lan
app7
app7.corp.lan
"""
KUBERNETES = """
$ kubectl get nodes
NAME            STATUS   ROLES    AGE   VERSION
gw1.corp.lan    Ready    master   40d   v1.16.2
app7.corp.lan   Ready    <none>   40d   v1.16.2
"""
CNI = """
[root@app7 ~]# cat /etc/cni/net.d/10-calico.conflist
{
  "name": "k8s-pod-network",
  "plugins": [
    {
      "type": "calico",
      "nodename": "app7",
      "ipam": {"type": "calico-ipam"}
    }
  ]
}
"""


def test_records_and_cni_file_have_the_other_name() -> None:
    answer = finding(ID, CALICO + KUBERNETES + CNI)
    assert answer.strength >= PROVEN
    assert answer.objects[:2] == ("app7", "app7.corp.lan")


def test_two_records_for_one_host() -> None:
    answer = finding(ID, "app7 上的 pod 有 IP 但是没有路由\n" + CALICO + KUBERNETES)
    assert answer.strength >= LIKELY
    assert "app7" in answer.objects


def test_the_cni_file_alone_against_kubernetes() -> None:
    assert finding(ID, KUBERNETES + CNI).strength >= LIKELY


def test_one_name_everywhere_rules_it_out() -> None:
    text = CALICO.replace("app7\n", "") + KUBERNETES + CNI.replace('"app7"', '"app7.corp.lan"')
    assert finding(ID, text).state == "ruled-out"


def test_a_template_is_no_name() -> None:
    text = KUBERNETES + CNI.replace('"app7"', '"__KUBERNETES_NODE_NAME__"')
    assert finding(ID, text).state != "found"


def test_dead_pods_alone_say_nothing() -> None:
    assert finding(ID, "web-0   0/1   CrashLoopBackOff   5   9m   10.200.1.4   app7").state != "found"


def test_the_nodename_file_has_the_long_form() -> None:
    text = """
    $ kubectl get nodes
    NAME    STATUS   ROLES    AGE   VERSION
    lx-08   Ready    <none>   3d    v1.24.1
    lx-09   Ready    <none>   3d    v1.24.1
    lx-08:~$ cat /var/lib/calico/nodename
    lx-08.corp.lan
    """
    answer = finding(ID, text)
    assert answer.strength >= LIKELY
    assert {"lx-08", "lx-08.corp.lan"} <= set(answer.objects)


def test_a_node_is_looked_up_under_another_form_of_its_name() -> None:
    text = """
    NAME    STATUS   ROLES    AGE   VERSION
    lx-08   Ready    <none>   3d    v1.24.1
    Failed to create pod sandbox: error getting node: resource does not exist: Node(lx-08.corp.lan) with error: nodes "lx-08.corp.lan" not found
    """  # noqa: E501
    assert finding(ID, text).strength >= LIKELY


def test_a_nodename_file_with_the_nodes_own_name() -> None:
    text = """
    $ kubectl get nodes
    NAME    STATUS   ROLES    AGE   VERSION
    lx-08   Ready    <none>   3d    v1.24.1
    lx-08:~$ cat /var/lib/calico/nodename
    lx-08
    """
    assert finding(ID, text).strength == 0.0


def test_every_step_names_the_host_and_the_name_that_is_meant() -> None:
    seen = picture(CALICO + KUBERNETES + CNI)
    commands = [step.command for step in CAUSE.fix(seen, CAUSE.judge(seen))]
    assert "calicoctl delete node app7" in commands
    assert any("kubectl drain app7.corp.lan" in c and "--delete-local-data &&" in c for c in commands)
    assert not any("<node>" in command or "<wrong>" in command for command in commands)


def test_a_name_that_calico_has_not_recorded_is_not_deleted() -> None:
    seen = picture(CALICO.replace("app7\n", "") + KUBERNETES + CNI)
    assert not any("calicoctl delete" in step.command for step in CAUSE.fix(seen, CAUSE.judge(seen)))


def test_a_configuration_copied_from_another_node_has_that_nodes_name() -> None:
    text = """
[root@node-1 ~]# cat /etc/cni/net.d/10-calico.conflist
{
  "plugins": [ { "type": "calico", "nodename": "master-node", "ipam": { "type": "calico-ipam" } } ]
}
[root@master-node ~]# kubectl get po -o wide
NAME                   READY   STATUS    RESTARTS   AGE   IP                NODE
web-7f6c5d7b9c-2xk8p   1/1     Running   0          18m   192.168.77.131    node-1
web-7f6c5d7b9c-zp4rl   1/1     Running   0          18m   192.168.77.133    master-node
"""
    answer = finding(ID, text)
    assert answer.strength >= 0.9
    assert {"master-node", "node-1"} <= set(answer.objects)
    own = text.replace("root@node-1", "root@master-node")
    assert finding(ID, own).strength < LIKELY


def test_a_node_that_calico_would_have_to_make_has_another_name() -> None:
    text = """
$ kubectl get nodes
NAME                                         STATUS     ROLES    AGE    VERSION
ip-10-31-7-18.eu-west-1.compute.internal     Ready      master   211d   v1.20.15
ip-10-31-8-142.eu-west-1.compute.internal    NotReady   master   23m    v1.20.15
$ kubectl -n kube-system logs calico-node-gq8n5
2022-03-11 13:13:41.874 [ERROR][10] startup/startup.go 192: Unable to set node resource configuration error=operation Create is not supported on Node(ip-10-31-8-142)
"""  # noqa: E501
    answer = finding(ID, text)
    assert answer.strength >= 0.9
    assert "ip-10-31-8-142" in answer.objects


def test_two_full_names_of_one_host_differ_by_their_domains() -> None:
    text = """
2020-10-01 17:20:53.161 [ERROR][2840] startup/startup.go 158: Unable to set node resource configuration error=operation Create is not supported on Node(ip-10-12-40-102.saas.int)
$ kubectl get nodes
NAME                                         STATUS   ROLES    AGE    VERSION
ip-10-12-40-102.us-west-2.compute.internal   Ready    <none>   2d     v1.17.9
"""  # noqa: E501
    answer = finding(ID, text)
    assert answer.strength >= 0.9
    assert {"ip-10-12-40-102.saas.int", "ip-10-12-40-102.us-west-2.compute.internal"} <= set(answer.objects)


def test_endpoints_under_a_name_that_no_node_has() -> None:
    nodes = "$ kubectl get nodes\nNAME          STATUS   ROLES    AGE   VERSION\n10.21.3.101   Ready    master   60d   v1.15.3\n10.21.3.102   Ready    <none>   60d   v1.15.3\n"  # noqa: E501
    conf = '$ cat /etc/cni/net.d/10-calico.conf\n{\n  "type": "calico",\n  "nodename": "host-102"\n}\n'
    wep = "$ calicoctl get workloadendpoint -a\nNAMESPACE   WORKLOAD   NODE       NETWORKS            INTERFACE\ndefault     web-0      host-102   10.200.155.66/32    cali6f1c7a\n"  # noqa: E501
    assert finding("nodename-mismatch", nodes + conf + wep).strength >= STRONG
    # Without endpoints under it the file may be one that nobody reads any more.
    assert finding("nodename-mismatch", nodes + conf).state != "found"
    assert finding("nodename-mismatch", nodes + conf + wep.replace("host-102  ", "10.21.3.102")).state != "found"
