"""TRT2006: etcd's own words between successes; what never succeeds or only waits is not claimed."""

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.catalogue import cause_named


def test_now_and_then() -> None:
    answer = finding(
        "etcd-slow",
        """
        $ kubectl -n kube-system get pod | grep -e etcd -e controllers
        calico-kube-controllers-77d-9v2qk   1/1   Running   14   61d
        etcd-cp-a                           1/1   Running   3    61d
        etcd-cp-b                           1/1   Running   4    61d
        $ kubectl -n kube-system logs calico-kube-controllers-77d-9v2qk | grep ERROR
        2021-10-01 01:10:00.100 [ERROR][1] main.go 234: Failed to verify datastore error=etcdserver: request timed out
        2021-10-01 04:44:10.400 [ERROR][1] client.go 272: Error getting cluster information config \
        ClusterInformation="default" error=etcdserver: leader changed
        """,
    )
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert answer.objects[0] == "etcd"
    assert "etcd-cp-a" in answer.objects


def test_etcd_says_that_it_is_slow() -> None:
    answer = finding(
        "etcd-slow",
        """
        控制面经常重启，calico-kube-controllers 就绪探针时好时坏：

          Warning  Unhealthy  31m (x9 over 20h)  kubelet  Readiness probe failed: Error verifying datastore: \
          etcdserver: request timed out

        [root@m1 ~]# crictl logs etcd | tail -2
        2021-06-06 06:06:06.123 W | etcdserver: failed to send out heartbeat on time (exceeded the 100ms timeout \
        for 812ms)
        2021-06-06 06:06:06.123 W | etcdserver: server is likely overloaded; leader is overloaded likely from slow disk
        """,
    )
    assert answer.strength >= 0.9


def test_late_answers_alone() -> None:
    answer = finding(
        "etcd-slow",
        'main.go 234: Failed to verify datastore error=Get "https://10.96.0.1:443/apis/crd.projectcalico.org/v1/'
        'clusterinformations/default": context deadline exceeded',
    )
    assert answer.strength < 0.8


def test_never_succeeds() -> None:
    answer = finding(
        "etcd-slow",
        """
        # kubectl get pod
        The connection to the server 10.2.2.2:6443 was refused - did you specify the right host or port?
        # etcdctl get /registry
        Error: etcdserver: request timed out
        # etcdctl member add x
        Error: etcdserver: no leader
        """,
    )
    assert answer.strength < 0.8


DEADLINES = """
        Events:
          Warning  Unhealthy  3m (x90 over 2d)  kubelet  Readiness probe failed: Error verifying datastore: context \
deadline exceeded; Error reaching apiserver: <nil> with http status code: 500
"""


def test_a_busy_disk_under_etcd_and_deadlines_now_and_then() -> None:
    answer = finding(
        "etcd-slow",
        DEADLINES
        + """
        [root@db-a ~]# etcdctl endpoint status --cluster
        https://172.19.0.1:2379, 3a7b60c5f1e4d902, 3.5.9, 1.1 GB, true, false, 911, 88120457, 88120457,
        [root@db-a ~]# iostat -dx nvme1n1 1 1
        Device            r/s     rkB/s   w/s     wkB/s  r_await w_await  aqu-sz  %util
        nvme1n1          4.00    120.00  77.00  1201.00    12.00  260.10   30.00  99.60
        """,
    )
    assert answer.strength >= 0.9
    assert "nvme1n1" in answer.objects


def test_an_idle_disk_and_deadlines_are_no_claim() -> None:
    answer = finding(
        "etcd-slow",
        DEADLINES
        + """
        [root@db-a ~]# etcdctl endpoint health
        172.19.0.1:2379 is healthy: successfully committed proposal: took = 4ms
        [root@db-a ~]# iostat -dx nvme1n1 1 1
        Device            r/s     rkB/s   w/s     wkB/s  r_await w_await  aqu-sz  %util
        nvme1n1          4.00    120.00  77.00  1201.00     1.00    1.10    0.10   3.60
        """,
    )
    assert answer.strength < 0.8


def test_one_leader_after_the_other_means_that_it_works_between() -> None:
    failing = """
        $ kubectl -n kube-system logs calico-kube-controllers-64f-q8n
        2026-11-16 16:11:04.036 [ERROR][1] main.go 233: Failed to verify datastore error=etcdserver: request timed out
        $ etcdctl endpoint health
        Error: etcdserver: no leader
"""
    elections = """
        [root@etcd-1 ~]# tail /var/log/etcd.log
        raft2026/11/16 16:10:52 INFO: raft.node: 7dedd1fc877fa6fe elected leader 8c73b1ed4ed6b35f at term 25
        raft2026/11/16 16:11:02 INFO: raft.node: 7dedd1fc877fa6fe elected leader 7dedd1fc877fa6fe at term 37
        raft2026/11/16 16:11:12 INFO: raft.node: 7dedd1fc877fa6fe elected leader 8c73b1ed4ed6b35f at term 49
"""
    assert finding("etcd-slow", failing).strength < 0.8
    assert finding("etcd-slow", failing + elections).strength >= 0.9


def test_elections_again_and_again_while_no_member_answers() -> None:
    asked = """
        [root@etcd-1 ~]# etcdctl --endpoints=http://10.31.0.7:2379,http://10.31.0.8:2379 endpoint health
        http://10.31.0.7:2379 is unhealthy: failed to commit proposal: context deadline exceeded
        http://10.31.0.8:2379 is unhealthy: failed to commit proposal: context deadline exceeded
        [root@wren ~]# nc -vz -w3 10.31.0.8 2379
        nc: connect to 10.31.0.8 port 2379 (tcp) timed out: Operation now in progress
"""
    elections = """
        [root@etcd-1 ~]# tail /var/log/etcd.log
        raft2026/11/16 16:10:52 INFO: raft.node: 7dedd1fc877fa6fe elected leader 8c73b1ed4ed6b35f at term 25
        raft2026/11/16 16:11:02 INFO: raft.node: 7dedd1fc877fa6fe elected leader 7dedd1fc877fa6fe at term 37
        raft2026/11/16 16:11:12 INFO: raft.node: 7dedd1fc877fa6fe elected leader 8c73b1ed4ed6b35f at term 49
"""
    assert finding("etcd-slow", asked).state != "found"
    assert finding("datastore-unreachable", asked).strength >= 0.9
    assert finding("etcd-slow", asked + elections).strength >= 0.9
    assert finding("datastore-unreachable", asked + elections).strength < 0.8


def test_members_that_are_pods_are_asked_in_their_pods() -> None:
    shown = picture(
        """
        $ kubectl -n kube-system get pod | grep -e etcd
        etcd-cp-a                           1/1   Running   3    61d
        etcd-cp-b                           1/1   Running   4    61d
        $ kubectl -n kube-system logs calico-kube-controllers-77d-9v2qk | grep ERROR
        2021-10-01 01:10:00.100 [ERROR][1] main.go 234: Failed to verify datastore error=etcdserver: request timed out
        """
    )
    cause = cause_named("etcd-slow")
    assert cause is not None
    steps = cause.fix(shown, cause.judge(shown))
    assert any("exec etcd-cp-a -- etcdctl" in step.command for step in steps)
    assert any(step.command.startswith("ssh cp-a ") for step in steps)
    assert any("third member" in step.text.en for step in steps)


def test_a_member_that_refuses_beside_living_ones_is_to_be_started() -> None:
    asked = """
        [root@etcd-2 ~]# etcdctl --endpoints=http://10.31.0.7:2379,http://10.31.0.8:2379 endpoint status -w table
        Failed to get the status of endpoint http://10.31.0.7:2379 (context deadline exceeded)
        | http://10.31.0.8:2379 | 7dedd1fc877fa6fe | 3.4.13 | 20 kB | true | false | 25 | 61 | 61 | |
        [root@wren ~]# kubectl -n kube-system logs calico-kube-controllers-77d-9v2qk | grep ERROR
        2021-10-01 01:10:00.100 [ERROR][1] main.go 234: Failed to verify datastore error=etcdserver: request timed out
"""
    refused = """
        [root@wren ~]# nc -vz -w3 10.31.0.7 2379
        nc: connect to 10.31.0.7 port 2379 (tcp) failed: Connection refused
"""
    cause = cause_named("etcd-slow")
    assert cause is not None
    commands = []
    for evidence in (asked, asked + refused):
        shown = picture(evidence)
        commands.append([step.command for step in cause.fix(shown, cause.judge(shown))])
    assert not any("restart" in command for command in commands[0])  # it may only be slow
    assert "ssh 10.31.0.7 'systemctl restart etcd'" in commands[1]


def test_the_api_servers_health_check_misses_etcd() -> None:
    disk = "etcdserver/raft.go:416 leader failed to send out heartbeat on time; took too long, leader is overloaded "
    disk += "likely from slow disk\n"
    event = (
        "Warning  Unhealthy  2m (x390 over 21d)  kubelet  Readiness probe failed: Error reaching apiserver: an error "
    )
    event += 'on the server ("[+]ping ok [{}]etcd {}") has prevented the request from succeeding\n'
    assert finding("etcd-slow", disk + event.format("-", "failed: reason withheld")).strength >= 0.8
    assert finding("etcd-slow", disk + event.format("+", "ok")).strength < 0.8


def test_a_leader_that_changed_once_is_not_slow() -> None:
    text = """
2020-05-25 22:04:12.402 [ERROR][1] client.go 261: Error getting cluster information config ClusterInformation="default" error=etcdserver: leader changed
# kubectl -n kube-system get pod | grep calico
calico-kube-controllers-76d4774d89-c7tkn   1/1     Running   {restarts}          113d
calico-node-4xw2p                          1/1     Running   0          113d
"""  # noqa: E501
    assert finding("etcd-slow", text.format(restarts=0)).strength < 0.8
    assert finding("etcd-slow", text.format(restarts=9)).strength >= 0.8


TOLD = """
Our controllers are restless: kube-controller-manager and kube-scheduler restarted 60 times each. The cluster works,
slowly. In the etcd log "apply request took too long" appears hundreds of times a minute.
"""


def test_slow_requests_and_restless_controllers_that_are_told() -> None:
    answer = finding("etcd-slow", TOLD)
    assert (answer.rule, answer.strength >= 0.8) == ("slow-by-its-own-words", True)
    calm = TOLD.replace("restarted 60 times each", "were never restarted").replace("restless", "fine")
    assert finding("etcd-slow", calm).strength < 0.8


def test_the_messages_of_etcd_in_json() -> None:
    line = '{"level":"warn","msg":"apply request took too long","took":"1.4s","expected-duration":"100ms"}\n'
    late = "Readiness probe failed: Error verifying datastore: context deadline exceeded\n"
    assert finding("etcd-slow", line + late).strength >= 0.8
    assert finding("etcd-slow", line).strength < 0.8


def of_seconds(told: str, apply: str, sync: str = "3.901s") -> str:
    return (
        f"{told}\n\n"
        f'{{"level":"warn","msg":"apply request took too long","took":"{apply}","expected-duration":"100ms"}}\n'
        f'{{"level":"warn","msg":"slow fdatasync","took":"{sync}","expected-duration":"1s"}}\n'
    )


def test_writes_and_requests_take_seconds() -> None:
    text = of_seconds("存储抖动之后，calico-node 一直起不来，calicoctl 命令经常超时。etcd 日志：", "5.221s")
    answer = finding("etcd-slow", text)
    assert (answer.rule, answer.strength) == ("seconds-long", 0.8)


def test_a_request_of_a_fraction_of_a_second_is_usual() -> None:
    assert finding("etcd-slow", of_seconds("calico-node 一直起不来。etcd 日志：", "221.3ms")).strength < 0.5


def test_nobody_suffers_from_it() -> None:
    assert finding("etcd-slow", of_seconds("例行巡检，业务正常，etcd 有两行日志：", "5.221s")).strength < 0.5
