"""TRT0006: exec format error, or no manifest for the platform."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

from tests.support.doctor import finding


def test_only_the_arm_node_crashes() -> None:
    answer = finding(
        "image-arch-mismatch",
        """
        $ kubectl get pod -n kube-system -o wide | grep calico-node
        calico-node-arm01   0/1     Init:CrashLoopBackOff   6    9m    10.0.0.31   pi-1    <none>   <none>
        calico-node-x8601   1/1     Running                 0    9m    10.0.0.21   srv-1   <none>   <none>
        $ kubectl logs -n kube-system calico-node-arm01 -c install-cni
        standard_init_linux.go:228: exec user process caused: exec format error
        $ kubectl get no -L kubernetes.io/arch
        NAME    STATUS     ROLES    AGE   VERSION   ARCH
        pi-1    NotReady   <none>   9m    v1.24.1   arm64
        srv-1   Ready      master   9d    v1.24.1   amd64
        $ kubectl -n kube-system get ds calico-node -o jsonpath='{..image}'
        corp/calico/cni:v3.24.1 corp/calico/node:v3.24.1
        """,
    )
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert any("calico" in thing for thing in answer.objects)


def test_only_a_log() -> None:
    answer = finding(
        "image-arch-mismatch", "$ kubectl logs calico-node-1\nexec /usr/local/bin/start_runit: exec format error"
    )
    assert answer.strength >= 0.9


def test_no_manifest_for_the_platform() -> None:
    answer = finding(
        "image-arch-mismatch",
        'Failed to pull image "corp/calico/node:v3.20.1": rpc error: no matching manifest for linux/arm64/v8 in the manifest '
        "list entries",
    )
    assert answer.strength >= 0.9
    assert "linux/arm64/v8" in answer.objects


def test_a_failed_pull_is_another_cause() -> None:
    answer = finding(
        "image-arch-mismatch", 'Failed to pull image "calico/node:v3.20.1": dial tcp: lookup r: no such host'
    )
    assert answer.state == "cannot-tell"


def test_the_column_of_the_label_names_the_processor() -> None:
    answer = finding(
        "image-arch-mismatch",
        """
        $ kubectl get pod -n kube-system -o wide | grep calico-node
        calico-node-z1z1z   0/1     CrashLoopBackOff   6    9m    10.0.0.31   pw-1    <none>   <none>
        $ kubectl logs -n kube-system calico-node-z1z1z
        exec /usr/local/bin/start_runit: exec format error
        $ kubectl get nodes -L beta.kubernetes.io/arch
        NAME    STATUS     ROLES    AGE   VERSION   ARCH
        pw-1    NotReady   <none>   9m    v1.24.1   ppc64le
        """,
    )
    assert "ppc64le" in answer.objects


def test_an_applications_image_is_its_own_matter() -> None:
    pods = "$ kubectl get pods -n kube-system | grep calico-node\ncalico-node-7qj2c   0/1   Running   0   20d\n"
    line = "exec /usr/local/bin/entrypoint.sh: exec format error\n"
    assert finding("image-arch-mismatch", f"{pods}$ kubectl logs -n web shop-6f7d9c-x2lqp\n{line}").state != "found"
    own = f"{pods}$ kubectl logs -n kube-system calico-node-7qj2c -c install-cni\n{line}"
    assert finding("image-arch-mismatch", own).strength >= 0.9


_PODS = """
        root@ctl:~# kubectl get pod -n calico-system
        NAME                READY   STATUS             RESTARTS   AGE
        calico-node-b5t4x   0/1     CrashLoopBackOff   4          2m
        calico-node-m8w2s   0/1     CrashLoopBackOff   5          3m
        calico-node-zz7qk   1/1     Running            0          16m
        root@ctl:~# kubectl logs -n calico-system calico-node-b5t4x{container}
        {line}
        root@ctl:~# kubectl get nodes -L kubernetes.io/arch
        NAME    STATUS   ROLES           AGE   VERSION   ARCH
        ctl     Ready    control-plane   31m   v1.32.1   amd64
        brd-1   {status} <none>          12m   v1.32.1   arm64
        brd-2   {status} <none>          11m   v1.32.1   arm64
"""


def test_the_machine_where_kubectl_was_typed_is_not_the_node() -> None:
    shown = _PODS.format(container="", line="exec /usr/sbin/start_runit: exec format error", status="Ready  ")
    answer = finding("image-arch-mismatch", shown)
    assert {"brd-1", "brd-2", "arm64", "calico/node"} <= set(answer.objects)
    assert not {"ctl", "amd64"} & set(answer.objects)


def test_nodes_that_are_not_ready_and_the_container_that_was_asked_for() -> None:
    shown = _PODS.format(
        container=" -c install-cni",
        line="standard_init_linux.go:228: exec user process caused: exec format error",
        status="NotReady",
    )
    answer = finding("image-arch-mismatch", shown)
    assert {"brd-1", "brd-2", "calico/cni"} <= set(answer.objects)
    assert "calico/node" not in answer.objects


def test_a_log_on_the_board_itself() -> None:
    nodes = "$ kubectl get nodes -L kubernetes.io/arch\nNAME    STATUS   ROLES    AGE   VERSION   ARCH\n"
    rows = "ctl     Ready    master   31m   v1.32.1   amd64\nbrd-1   Ready    <none>   12m   v1.32.1   arm64\n"
    log = "[root@brd-1 ~]# crictl logs 8f2\nexec /usr/local/bin/calico-typha: exec format error\n"
    answer = finding("image-arch-mismatch", nodes + rows + log)
    assert {"brd-1", "arm64", "calico/typha"} <= set(answer.objects)


def test_where_nothing_tells_the_node_none_is_named() -> None:
    shown = """
        [root@ctl ~]# kubectl get pod -n calico-system
        NAME                READY   STATUS             RESTARTS   AGE
        calico-node-b5t4x   0/1     CrashLoopBackOff   4          2m
        calico-node-zz7qk   1/1     Running            0          16m
        [root@ctl ~]# kubectl logs -n calico-system calico-node-b5t4x
        exec /usr/sbin/start_runit: exec format error
        [root@ctl ~]# kubectl get nodes -L kubernetes.io/arch
        NAME    STATUS   ROLES           AGE   VERSION   ARCH
        ctl     Ready    control-plane   31m   v1.32.1   amd64
        brd-1   Ready    <none>          12m   v1.32.1   arm64
    """
    answer = finding("image-arch-mismatch", shown)
    assert answer.strength >= 0.9
    assert not {"ctl", "brd-1"} & set(answer.objects)


def test_a_registry_with_a_port_stays_whole() -> None:
    answer = finding(
        "image-arch-mismatch",
        "$ docker pull hub.example:5000/calico/node:v3.20.1\n$ docker logs 55a\nexec /usr/sbin/start_runit: exec format error",
    )
    assert "hub.example:5000/calico/node:v3.20.1" in answer.objects
