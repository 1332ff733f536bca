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
