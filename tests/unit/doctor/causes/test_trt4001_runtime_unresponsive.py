"""TRT4001: minutes where a second is normal, PLEG, or a person's word; a quick start speaks for the migration."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

from tests.support.doctor import finding

ID = "runtime-unresponsive"


def _described(started: str, created: str, began: str) -> str:
    return f"""
$ kubectl -n kube-system describe pod calico-node-bq7xn
Name:                 calico-node-bq7xn
Namespace:            kube-system
Node:                 app-6/10.66.1.6
Start Time:           Fri, 03 Jun 2022 09:00:00 +0800
Status:               Pending
Controlled By:        DaemonSet/calico-node
Init Containers:
  upgrade-ipam:
    Container ID:  docker://8a1f
    Image:         calico/cni:v3.19.1
    Command:
      /opt/cni/bin/calico-ipam
      -upgrade
    State:          Running
      Started:      Fri, 03 Jun 2022 {started} +0800
    Ready:          False
    Restart Count:  0
Containers:
  calico-node:
    Image:          calico/node:v3.19.1
    State:          Waiting
      Reason:       PodInitializing
    Ready:          False
    Restart Count:  0
Events:
  Type    Reason     Age   From               Message
  ----    ------     ----  ----               -------
  Normal  Scheduled  48m   default-scheduler  Successfully assigned kube-system/calico-node-bq7xn to app-6
  Normal  Pulled     {created}   kubelet            Container image "calico/cni:v3.19.1" already present on machine
  Normal  Created    {created}   kubelet            Created container upgrade-ipam
  Normal  Started    {began}   kubelet            Started container upgrade-ipam
"""


def test_minutes_between_steps() -> None:
    answer = finding(ID, _described("09:06:10", "47m", "42m"))
    assert answer.state == "found"
    assert answer.strength >= 0.8
    assert "app-6" in answer.objects
    assert answer.evidence


def test_a_quick_start_speaks_for_the_migration() -> None:
    assert finding(ID, _described("09:00:01", "48m", "48m")).state == "ruled-out"


def test_retries_in_the_log_are_the_migration() -> None:
    text = _described("09:06:10", "47m", "42m") + (
        "$ kubectl -n kube-system logs calico-node-bq7xn -c upgrade-ipam --tail=1\n"
        "2022-06-03 09:40:00.100 [ERROR][1] ipam_plugin.go 99: failed to migrate ipam, retrying... error=block is full\n"
    )
    assert finding(ID, text).state == "ruled-out"


def test_pleg() -> None:
    text = """
$ kubectl describe node app-6 | grep Ready
  Ready            False   Fri, 03 Jun 2022 10:02:00 +0800   Fri, 03 Jun 2022 09:58:12 +0800   KubeletNotReady   PLEG is not healthy: pleg was last seen active 4m12.2s ago; threshold is 3m0s
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.9


def test_a_person_says_it_hangs() -> None:
    text = """
app-6 上的 calico-node 一直是 Init:0/3，登录 app-6 之后执行 docker ps 一直卡住没有返回。

calico-node-bq7xn   0/1   Init:0/3   0   48m
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.8


def test_init_alone_is_no_claim() -> None:
    text = "$ kubectl -n kube-system get pod\nNAME                READY   STATUS     RESTARTS   AGE\ncalico-node-bq7xn   0/1     Init:0/3   0          48m"
    assert finding(ID, text).strength < 0.8


def test_a_command_that_never_returns() -> None:
    text = "calico-node-h2kfs   0/1   Init:0/3   0   70m\n[root@w-12 ~]# timeout 10 crictl ps; echo $?\n124"
    answer = finding(ID, text)
    assert answer.strength >= 0.8
    assert "w-12" in answer.objects


def test_a_log_that_somebody_stopped_following_is_no_hang() -> None:
    text = """
[root@app-6 ~]# docker logs -f k8s_calico-node_x
2022-06-03 09:00:00.000 [INFO][66] felix/int_dataplane.go 900: Finished applying updates
^C
[root@app-6 ~]# docker stats
^C
"""
    assert finding(ID, text).state != "found"
    assert finding(ID, "[root@app-6 ~]# docker inspect 5f\n^C").strength >= 0.9


def test_a_kubelet_that_was_there_first_says_nothing_of_a_runtime_that_answers() -> None:
    journal = """
        [root@worker-3 ~]# journalctl -u kubelet -n 5 --no-pager
        Nov 16 16:02:48 worker-3 kubelet[145]: E1116 16:02:48.585071     145 generic.go:205] "GenericPLEG: Unable to \
        retrieve pods" err="rpc error: code = Unavailable desc = connection error"
"""
    crictl = """
        [root@worker-3 ~]# crictl ps -a | head -40
        CONTAINER       IMAGE                          CREATED          STATE     NAME           ATTEMPT   POD ID
        00257b9ab7a93   docker.io/calico/cni:v3.20.0   14 seconds ago   Running   upgrade-ipam   0         a56e36262
"""
    assert finding("runtime-unresponsive", journal).state == "found"
    assert finding("runtime-unresponsive", journal + crictl).state != "found"


NODES = """
$ kubectl get nodes -o wide
NAME   STATUS   ROLES    AGE   VERSION   INTERNAL-IP   EXTERNAL-IP   OS-IMAGE             KERNEL-VERSION      CONTAINER-RUNTIME
b4     Ready    <none>   70d   v1.23.4   10.1.8.9      <none>        Ubuntu 22.04.3 LTS   5.15.0-78-generic   {runtime}
"""


def test_nobody_needs_docker_where_containerd_runs() -> None:
    asked = "root@b4:~# docker ps\nCannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?\n"
    unit = "root@b4:~# systemctl status docker\n● docker.service - Docker Application Container Engine\n   Active: inactive (dead)\n"
    for text in (asked, unit):
        assert finding(ID, text + NODES.format(runtime="containerd://1.7.2")).state != "found"
        assert finding(ID, text + NODES.format(runtime="docker://20.10.7")).strength >= 0.9


def test_every_kubelet_says_so_when_it_starts() -> None:
    line = 'Oct 10 08:00:01 b4 kubelet[9001]: E1010 08:00:01.133411    9001 kubelet.go:2016] "Skipping pod synchronization" err="PLEG is not healthy: {why}"'
    assert finding(ID, line.format(why="pleg has yet to be successful")).state != "found"
    assert finding(ID, line.format(why="pleg was last seen active 6m11s ago; threshold is 3m0s")).strength >= 0.9


def test_pods_of_a_node_that_is_not_ready_are_shown_as_they_were() -> None:
    text = """
$ systemctl status crio
● crio.service - Container Runtime Interface for OCI (CRI-O)
     Active: failed (Result: exit-code) since Tue 2024-01-09 12:11:00 UTC; 5min ago
$ kubectl get node
NAME    STATUS     ROLES    AGE   VERSION
oc-w1   {status}   worker   90d   v1.27.8
$ kubectl get pods -n kube-system | grep calico-node
calico-node-gd2xp   1/1   Running   0   90d
"""
    assert finding(ID, text.format(status="NotReady")).strength >= 0.9
    assert finding(ID, text.format(status="Ready")).state == "ruled-out"


LISTS = """
agent-3:~# crictl {what}
FATA[0002] {what}: rpc error: code = DeadlineExceeded desc = context deadline exceeded
calico-system   calico-node-rx5cd   1/1   Terminating   0   40d   10.0.9.33   agent-3   <none>   <none>
"""


def test_a_list_that_takes_no_time_and_does_not_come() -> None:
    answer = finding("runtime-unresponsive", LISTS.format(what="ps -a"))
    assert (answer.strength >= 0.9, "agent-3" in answer.objects) == (True, True)
    assert finding("runtime-unresponsive", LISTS.format(what="pull docker.io/calico/node:v3.25.0")).strength < 0.8
