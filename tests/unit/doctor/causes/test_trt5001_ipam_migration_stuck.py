"""TRT5001: found by its retries or by a prompt start that never ends; not when the retries quote another fault."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

from tests.support.doctor import finding

DESCRIBE = """
$ kubectl -n kube-system describe pod calico-node-4vw2q
Name:                 calico-node-4vw2q
Namespace:            kube-system
Node:                 edge-7/10.30.4.17
Start Time:           Mon, 08 Mar 2021 09:12:{pod} +0000
Status:               Pending
IP:                   10.30.4.17
Controlled By:        DaemonSet/calico-node
Init Containers:
  upgrade-ipam:
    Container ID:  docker://aa01
    Image:         calico/cni:v3.17.1
    Command:
      /opt/cni/bin/calico-ipam
      -upgrade
    State:          Running
      Started:      Mon, 08 Mar 2021 09:{started} +0000
    Ready:          False
    Restart Count:  0
  install-cni:
    Container ID:
    Image:         calico/cni:v3.17.1
    State:          Waiting
      Reason:       PodInitializing
    Ready:          False
    Restart Count:  0
Events:
  Type    Reason     Age   From               Message
  ----    ------     ----  ----               -------
  Normal  Scheduled  51m   default-scheduler  Successfully assigned kube-system/calico-node-4vw2q to edge-7
  Normal  Pulled     51m   kubelet            Container image "calico/cni:v3.17.1" already present on machine
  Normal  Created    51m   kubelet            Created container upgrade-ipam
  Normal  Started    {age}   kubelet            Started container upgrade-ipam
"""


def test_retries_with_an_error_of_ipam() -> None:
    answer = finding(
        "ipam-migration-stuck",
        """
        我们从 flannel 切到 calico，有一台节点一直 Init。

        $ kubectl -n kube-system logs calico-node-9xk2p -c upgrade-ipam --tail=4
        2020-11-02 08:01:10.101 [INFO][1] ipam_plugin.go 67: migrating from host-local to calico-ipam...
        2020-11-02 08:01:10.102 [INFO][1] migrate.go 65: checking host-local IPAM data dir dir existence...
        2020-11-02 08:01:10.140 [ERROR][1] ipam_plugin.go 98: failed to migrate ipam, retrying... error=PodCIDR  did not parse successfully: invalid CIDR address:  node="gz-07"
        2020-11-02 08:01:11.161 [ERROR][1] ipam_plugin.go 98: failed to migrate ipam, retrying... error=PodCIDR  did not parse successfully: invalid CIDR address:  node="gz-07"
        """,
    )
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "upgrade-ipam" in answer.objects
    assert "PodCIDR" in answer.why.zh


def test_a_prompt_start_that_never_ends_without_a_log() -> None:
    answer = finding("ipam-migration-stuck", DESCRIBE.format(pod="03", started="12:04", age="51m"))
    assert answer.state == "found"
    assert answer.strength >= 0.8
    assert "upgrade-ipam" in answer.objects


def test_a_runtime_that_needs_minutes_is_another_cause() -> None:
    answer = finding("ipam-migration-stuck", DESCRIBE.format(pod="03", started="15:40", age="48m"))
    assert answer.state == "ruled-out"


def test_a_quoted_time_out_comes_first() -> None:
    answer = finding(
        "ipam-migration-stuck",
        """
        $ kubectl logs -n kube-system calico-node-x -c upgrade-ipam
        2022-05-01 10:00:00.000 [ERROR][1] ipam_plugin.go 95: failed to migrate ipam, retrying... error=failed to get calico node resource: Get "https://10.96.0.1:443/api/v1/nodes/w2": dial tcp 10.96.0.1:443: i/o timeout node="w2"
        """,
    )
    assert answer.state == "ruled-out"


def test_nothing_to_migrate() -> None:
    answer = finding(
        "ipam-migration-stuck",
        "2022-05-01 10:00:00.000 [INFO][1] migrate.go 67: host-local IPAM data dir dir not found; no migration "
        "necessary, successfully exiting...",
    )
    assert answer.state == "ruled-out"


def test_the_table_alone_is_not_enough() -> None:
    answer = finding(
        "ipam-migration-stuck",
        """
        $ kubectl get pod -n kube-system
        NAME                READY   STATUS     RESTARTS   AGE
        calico-node-2hj8s   0/1     Init:0/3   0          3h
        calico-node-q8zzt   1/1     Running    0          9d
        """,
    )
    assert answer.strength < 0.8


def test_the_node_and_the_stray_file_are_named() -> None:
    answer = finding(
        "ipam-migration-stuck",
        """
        $ crictl logs --tail 2 0b1c
        2023-04-02 16:40:11.870 [INFO][1] ipam/migrate.go 199: reading files from host-local IPAM
        2023-04-02 16:40:11.887 [ERROR][1] ipam/ipam_plugin.go 95: failed to migrate ipam, retrying... error=failed to parse IP 10.88.0.9~ node="jp-w2"
        [root@jp-w2 ~]# ls /var/lib/cni/networks/k8s-pod-network
        10.88.0.8  10.88.0.9~  last_reserved_ip.0  lock
        """,
    )
    assert answer.strength >= 0.9
    assert {"jp-w2", "10.88.0.9~"} <= set(answer.objects)
    assert "10.88.0.8" not in answer.objects


LOCKED = """
2019-09-09 09:09:09.090 [INFO][1] migrate.go 179: setting datastore readiness to false
2019-09-09 09:09:19.090 [INFO][1] migrate.go 338: not setting datastore readiness, rolling update is still going
2019-09-09 09:19:09.090 [INFO][47] daemon.go 224: Waiting for datastore to be initialized (or migrated)
"""
STATE = "$ kubectl get clusterinformation default -o yaml | grep Ready\n  datastoreReady: false\n"


def test_the_lock_of_a_migration_that_nobody_took_away() -> None:
    answer = finding("ipam-migration-stuck", LOCKED + STATE)
    assert (answer.state, answer.strength >= 0.95, answer.rule) == ("found", True, "left-locked")
    assert finding("ipam-migration-stuck", LOCKED).strength >= 0.8


def test_a_lock_without_a_migration_is_somebody_elses() -> None:
    assert finding("ipam-migration-stuck", STATE).state != "found"


def test_the_last_node_unlocked_it() -> None:
    last = "2019-09-09 09:29:09.090 [INFO][1] migrate.go 345: successfully set datastore readiness to true\n"
    assert finding("ipam-migration-stuck", LOCKED + last).state != "found"
