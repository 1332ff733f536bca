"""TRT2015: found by the file that cannot be opened; over when the pods are ready."""

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.catalogue import cause_named
from tortie.doctor.causes.cause import LIKELY, PROVEN

ID = "etcd-client-cert-missing"
PODS = """\
$ kubectl -n kube-system get pods -o wide
NAME                READY   STATUS             RESTARTS   AGE   IP           NODE
calico-node-c5v8d   1/1     Running            0          80d   10.8.0.11    elm1
calico-node-tz4kq   0/1     CrashLoopBackOff   7          12m   10.8.0.14    elm4
"""
LOG = """\
$ kubectl -n kube-system logs calico-node-tz4kq
ERROR: Error accessing the Calico datastore: could not initialize etcdv3 client: open /calico-secrets/etcd-cert: no such file or directory
"""  # noqa: E501
HOST = "elm4# ls -l /etc/calico/certs\nls: cannot access '/etc/calico/certs': No such file or directory\n"
PLUGIN = 'Warning  FailedCreatePodSandBox  3s  kubelet  Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "b0c1": plugin type="calico" failed (add): error creating calico client: could not initialize etcdv3 client: open /etc/cni/net.d/calico-tls/etcd-cert: no such file or directory'  # noqa: E501
MOUNT = 'Warning  FailedMount  6s (x6 over 21s)  kubelet  MountVolume.SetUp failed for volume "etcd-certs" : secret "calico-etcd-secrets" not found'  # noqa: E501


def test_the_file_and_the_folder_that_is_not_there() -> None:
    answer = finding(ID, PODS + LOG + HOST)
    assert answer.strength >= PROVEN
    assert answer.objects[:2] == ("/calico-secrets/etcd-cert", "elm4")


def test_the_line_alone_is_a_claim() -> None:
    assert finding(ID, LOG).strength >= LIKELY
    assert finding(ID, PLUGIN).objects[0] == "/etc/cni/net.d/calico-tls/etcd-cert"


def test_old_releases_say_it_shorter() -> None:
    text = "Calico node failed to start\nERROR: Error accessing the Calico datastore: open /etc/ssl/etcd/client.pem: no such file or directory"  # noqa: E501
    assert finding(ID, text).strength >= LIKELY


def test_a_secret_that_does_not_exist() -> None:
    assert finding(ID, MOUNT).strength >= LIKELY


def test_another_secret_is_not_etcds() -> None:
    assert finding(ID, MOUNT.replace("calico-etcd-secrets", "calico-apiserver-certs")).state == "cannot-tell"


def test_a_file_that_may_not_be_read_is_there() -> None:
    assert finding(ID, LOG.replace("no such file or directory", "permission denied")).state == "cannot-tell"


def test_a_crash_alone_says_nothing() -> None:
    assert finding(ID, PODS).state == "cannot-tell"


def test_ready_pods_have_their_files() -> None:
    assert finding(ID, PODS.replace("0/1     CrashLoopBackOff", "1/1     Running         ") + LOG).state == "ruled-out"


def test_kubespray_brings_the_files_by_itself() -> None:
    cause, seen = cause_named(ID), picture("We use kubespray v2.17.\n\n" + PODS + LOG + HOST)
    assert cause is not None
    commands = [step.command for step in cause.fix(seen, cause.judge(seen))]
    assert "ansible-playbook -i '<inventory>' -b scale.yml --limit elm4" in commands
