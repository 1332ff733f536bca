"""TRT3012: a path that is not mounted; a missing nodename file where calico-node has not started is a consequence."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

from tests.support.doctor import finding

ID = "missing-mount"
NODENAME = (
    "  Warning  FailedCreatePodSandBox  5s (x9 over 2m)  kubelet, mk-2  Failed to create pod sandbox: rpc error: code = Unknown "
    'desc = failed to setup network for sandbox "81f": stat /var/lib/calico/nodename: no such file or directory: check that the '
    "calico/node container is running and has mounted /var/lib/calico/"
)


def test_bird_has_no_place_for_its_socket() -> None:
    text = "$ docker logs calico-node | tail -1\nbird: Cannot create control socket /var/run/calico/bird.ctl: No such file or directory"
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "/var/run/calico" in answer.objects


def test_install_cni_expects_a_folder() -> None:
    text = "Expected /host/opt/cni/bin to be mounted into the container but it wasn't present"
    assert finding(ID, text).strength >= 0.9


def test_no_nodename_though_the_agent_is_ready() -> None:
    text = f"""
$ kubectl -n kube-system get pod -o wide -l k8s-app=calico-node
NAME                READY   STATUS    RESTARTS   AGE   IP         NODE   NOMINATED NODE   READINESS GATES
calico-node-t4m8c   1/1     Running   0          3d    10.0.0.2   mk-2   <none>           <none>
$ kubectl describe pod web-0 | tail -1
{NODENAME}
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.8
    assert "/var/lib/calico" in answer.objects


def test_no_nodename_before_the_agent_started() -> None:
    text = f"""
$ kubectl -n kube-system get pod -o wide -l k8s-app=calico-node
NAME                READY   STATUS             RESTARTS   AGE   IP         NODE   NOMINATED NODE   READINESS GATES
calico-node-t4m8c   0/1     CrashLoopBackOff   7          3d    10.0.0.2   mk-2   <none>           <none>
$ kubectl describe pod web-0 | tail -1
{NODENAME}
"""
    assert finding(ID, text).state == "ruled-out"


def test_no_nodename_alone_is_no_claim() -> None:
    assert finding(ID, NODENAME).strength < 0.8


def test_a_complaint_from_before_the_agent_was_up_is_over() -> None:
    text = """
$ kubectl get pod -A -o wide
NAMESPACE     NAME                READY   STATUS    RESTARTS   AGE   IP           NODE
kube-system   calico-node-5hh7z   1/1     Running   0          40m   10.0.3.2     mk-2
shop          web-0               1/1     Running   0          41m   10.233.4.9   mk-2
$ kubectl -n shop describe pod web-0 | tail -2
  Warning  FailedCreatePodSandBox  39m (x4 over 41m)  kubelet  Failed to create pod sandbox: rpc error: code = Unknown desc = stat /var/lib/calico/nodename: no such file or directory: check that the calico/node container is running
"""
    assert finding(ID, text).state == "ruled-out"


def test_without_modules_an_agent_that_stays_up_has_missed_none() -> None:
    text = "modprobe: can't change directory to '/lib/modules': No such file or directory\n\nNAME                READY   STATUS   RESTARTS   AGE\ncalico-node-6rb2k   0/1     {status}   {restarts}   2d\n"
    assert finding(ID, text.format(status="Running", restarts=0)).strength < 0.8
    assert finding(ID, text.format(status="CrashLoopBackOff", restarts=9)).strength >= 0.8


COMPLAINT = 'Feb 03 09:00:41 q1 kubelet[1201]: E0203 09:00:41.330127 1201 pod_workers.go:1294] "Error syncing pod, skipping" err="plugin type=\\"calico\\" failed (add): stat /var/lib/calico/nodename: no such file or directory: check that the calico/node container is running and has mounted /var/lib/calico/" pod="kube-system/coredns-76f75df574-7h2kp"'
PODS = """
$ kubectl get pods -A
NAMESPACE     NAME                       READY   STATUS              RESTARTS   AGE
kube-system   calico-node-gk7vr          1/1     Running             0          61m
kube-system   coredns-76f75df574-7h2kp   {row}          0          62m
"""


def test_the_journal_tells_of_a_pod_that_has_started_since() -> None:
    assert finding(ID, COMPLAINT + PODS.format(row="1/1     Running ")).state == "ruled-out"
    assert finding(ID, COMPLAINT + PODS.format(row="0/1     ContainerCreating ")).strength >= 0.9


def test_a_node_more_than_agents_may_be_the_one_that_complains() -> None:
    nodes = "$ kubectl get nodes\nNAME   STATUS   ROLES    AGE   VERSION\nq1     Ready    <none>   2d    v1.29.1\nq3     Ready    <none>   9m    v1.29.1\n"
    text = COMPLAINT.replace(" q1 ", " host ") + PODS.format(row="0/1     ContainerCreating ") + nodes
    assert finding(ID, text).strength < 0.8


def test_a_complaint_between_two_looks_is_of_the_first_one() -> None:
    """Ages of the second list are counted from later on."""
    text = """
        $ kubectl get pod -A
        calico-system     calico-node-g4fl9      0/1     Init:1/2   0          48s
          Warning  FailedCreatePodSandBox  41s  kubelet  Failed to create pod sandbox: stat /var/lib/calico/nodename: no such file or directory: check that the calico/node container is running and has mounted /var/lib/calico/

        $ kubectl get pod -A
        calico-system     calico-node-g4fl9      1/1     Running    0          13m
        """
    assert finding("missing-mount", text).state == "ruled-out"
    one_look = text.replace("0/1     Init:1/2   0          48s", "1/1     Running    0          13m")
    assert finding("missing-mount", one_look).state == "found"


def test_the_very_pod_that_complained_runs_now() -> None:
    pods = "$ kubectl get pods\nNAME    READY   STATUS    RESTARTS   AGE\nweb-0   {ready}   Running   0          4m\n"
    text = "$ kubectl describe pod web-0\nName: web-0\nNamespace: default\nEvents:\n" + NODENAME + "\n"
    assert finding(ID, text + pods.format(ready="1/1")).state == "ruled-out"
    assert finding(ID, text + pods.format(ready="0/1")).state == "found"


WARNS = """
2020-11-16 14:56:14.110 [WARNING][8] startup/startup_linux.go 64: Expected /var/lib/calico to be mounted into the \
container but it wasn't present. Node name may not be detected properly
{}
2020-11-16 14:56:14.131 [INFO][8] startup/startup.go 463: Datastore connection verified
Calico node started successfully
"""
TOLD = "2020-11-16 14:56:14.110 [INFO][8] startup/startup.go 395: Using NODENAME environment for node name"


def test_who_was_told_its_name_and_started_only_warns() -> None:
    assert finding("missing-mount", WARNS.format(TOLD)).state == "ruled-out"
    assert finding("missing-mount", WARNS.format("")).state == "found"
    misses = "stat /var/lib/calico/nodename: no such file or directory: check that the calico/node container is running"
    assert (
        finding("missing-mount", WARNS.format(TOLD) + f"  Warning  FailedCreatePodSandBox  2m  {misses}").state
        == "found"
    )
