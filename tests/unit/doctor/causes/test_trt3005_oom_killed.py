"""TRT3005: OOMKilled or the kernel's own line about Calico's processes; not 137 alone, nor somebody else's memory."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

from tests.support.doctor import finding

ID = "oom-killed"


def test_last_state_says_so() -> None:
    text = """
$ kubectl -n calico-system describe pod calico-node-5fnvx
Name:         calico-node-5fnvx
Namespace:    calico-system
Node:         db-04/10.12.1.4
Containers:
  calico-node:
    Image:          calico/node:v3.21.2
    State:          Running
      Started:      Mon, 07 Mar 2022 03:00:11 +0000
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
      Started:      Sun, 06 Mar 2022 11:10:00 +0000
      Finished:     Mon, 07 Mar 2022 03:00:10 +0000
    Ready:          True
    Restart Count:  23
    Limits:
      memory:  160Mi
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "calico-node" in answer.objects
    assert "160Mi" in answer.objects


def test_only_the_kernel_speaks() -> None:
    text = """
Felix verschwindet alle paar Tage.

[admin@db-04 ~]$ dmesg -T | tail -1
[Mon Mar  7 03:00:09 2022] Memory cgroup out of memory: Killed process 40218 (calico-node) total-vm:1789340kB, anon-rss:163012kB
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.8
    assert "db-04" in answer.objects


def test_137_without_the_reason_is_a_kill_from_elsewhere() -> None:
    text = """
$ kubectl -n calico-system describe pod calico-node-5fnvx
Name:         calico-node-5fnvx
Namespace:    calico-system
Containers:
  calico-node:
    Image:          calico/node:v3.21.2
    Last State:     Terminated
      Reason:       Error
      Exit Code:    137
    Restart Count:  23
"""
    assert finding(ID, text).state == "ruled-out"


def test_another_program_was_killed() -> None:
    text = """
[admin@db-04 ~]$ dmesg -T | tail -1
[Mon Mar  7 03:00:09 2022] Memory cgroup out of memory: Killed process 40218 (java) total-vm:1789340kB, anon-rss:163012kB
$ kubectl get pod -A | grep OOM
shop          cart-6f7d9c-x2lqp   0/1   OOMKilled   4   2d
"""
    answer = finding(ID, text)
    assert answer.state != "found" or answer.strength < 0.8


def test_the_kernel_tells_what_the_pods_row_does_not() -> None:
    text = """
calico-node 隔一两天 felix 就重启一次，pod 一直是 Running
# kubectl get pod -n kube-system -o wide | grep calico-node
calico-node-66pxl   1/1   Running   1   80d   10.44.0.6   sto-6
calico-node-tt9ks   1/1   Running   0   80d   10.44.0.7   sto-7
[root@sto-6 ~]# journalctl -k | grep -i -e oom -e memory | tail -3
Sep 11 04:00:09 sto-6 kernel: memory: usage 204800kB, limit 204800kB, failcnt 5120
Sep 11 04:00:09 sto-6 kernel: oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,task_memcg=/y,task=calico-node,pid=7702,uid=0
Sep 11 04:00:09 sto-6 kernel: Memory cgroup out of memory: Killed process 7702 (calico-node) total-vm:1805800kB, anon-rss:191004kB
"""
    answer = finding(ID, text)
    assert answer.strength >= 0.9
    assert not answer.aside
    assert {"200Mi", "sto-6"} <= set(answer.objects)


def test_once_and_long_ago_is_an_aside() -> None:
    text = """
$ kubectl -n kube-system get pod
calico-node-66pxl   1/1   Running   1   80d   10.44.0.6   sto-6
$ dmesg -T | grep -i 'out of memory'
[Sat Jul  1 04:00:09 2023] Memory cgroup out of memory: Killed process 7702 (calico-node) total-vm:1805800kB, anon-rss:191004kB
"""
    assert finding(ID, text).aside


def test_only_the_pod_it_happened_to_is_blamed() -> None:
    """Two pods on one line of JSON, and only what is left of them."""

    def pod(name: str, node: str, status: str) -> str:
        head = f'{{"kind":"Pod","metadata":{{"name":"{name}"}},"spec":{{"nodeName":"{node}"}},"status":'
        return head + '{"phase":"Running","containerStatuses":[{"name":"calico-node",' + status + "}]}}"

    well = pod("calico-node-a1b2c", "mx-1", '"ready":true,"restartCount":0,"state":{"running":{}}')
    killed = '"ready":false,"restartCount":19,"lastState":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}'
    ill = pod("calico-node-d3e4f", "mx-2", killed + ',"state":{"waiting":{"reason":"CrashLoopBackOff"}}')
    for items in ((well, ill), (ill, well)):
        answer = finding(ID, '{"apiVersion":"v1","kind":"List","items":[' + ",".join(items) + "]}")
        assert answer.strength >= 0.9
        assert {"mx-2", "calico-node-d3e4f"} <= set(answer.objects)
        assert not {"mx-1", "calico-node-a1b2c"} & set(answer.objects)


def test_a_container_without_a_name_is_known_by_its_probes() -> None:
    text = """
calico-node-kq4fj   1/1     Running   46         96d

    State:          Running
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
    Restart Count:  46
    Limits:
      memory:  128Mi
    Liveness:   exec [/bin/calico-node -felix-live -bird-live] delay=10s timeout=1s period=10s #success=1 #failure=6
"""
    assert finding(ID, text).strength >= 0.9
    assert finding(ID, text.replace("/bin/calico-node", "/bin/other")).strength < 0.8


def test_a_row_is_about_its_pod_not_about_what_was_searched_for() -> None:
    text = """
$ kubectl get pods -A | egrep 'calico|OOM'
kube-system   calico-node-fz8mq   0/1   {agent}   3   40d
monitoring    prometheus-k8s-0    1/2   OOMKilled   61 (3m ago)   12d
"""
    assert finding(ID, text.format(agent="Running")).strength < 0.8
    assert finding(ID, text.format(agent="OOMKilled")).strength >= 0.9


def test_what_is_killed_now_is_not_over_while_the_agents_are_well() -> None:
    text = """
$ kubectl get po -n calico-system
NAME                                      READY   STATUS      RESTARTS        AGE
calico-kube-controllers-7d4dcb9b7-vv2wq   0/1     OOMKilled   3 (45s ago)     2m
calico-node-4zzt8                         1/1     Running     0               2m
"""
    assert finding(ID, text).strength >= 0.9


def test_a_suspicion_that_the_reason_does_not_bear_out() -> None:
    said = "calico-node-7qj2c dies with 137, OOMKilled I thought.\n"
    shown = "\n    Last State:     Terminated\n      Reason:       {reason}\n      Exit Code:    137\n"
    assert finding(ID, said + shown.format(reason="Error")).strength < 0.8


STATES = """
  containerStatuses:
  - name: {name}
    lastState:
      terminated:
        exitCode: 137
        finishedAt: "2022-01-01T02:02:02Z"
        reason: OOMKilled
        startedAt: "2022-01-01T02:01:22Z"
    ready: false
    restartCount: 58
    state:
      waiting:
        message: back-off 5m0s restarting failed container={name} pod={name}-5c6f6b67db-dm7rs_kube-system
        reason: CrashLoopBackOff
"""


def test_the_states_alone_name_their_pod() -> None:
    answer = finding(ID, STATES.format(name="calico-kube-controllers"))
    assert answer.state == "found"
    assert answer.strength >= 0.8
    assert "calico-kube-controllers-5c6f6b67db-dm7rs" in answer.objects


def test_the_states_of_another_pod() -> None:
    assert finding(ID, STATES.format(name="grafana")).state != "found"


PART = """
calico-kube-controllers restarts again and again:

  Last State:     Terminated
    Reason:       OOMKilled
    Exit Code:    137
  Ready:          True
  Restart Count:  133
  Limits:
    memory:  256M
{row}
"""


def test_a_part_of_describe_and_the_row_that_was_restarted_as_often() -> None:
    row = "{name}   1/1     Running   133 (2m41s ago)   9d"
    answer = finding(ID, PART.format(row=row.format(name="calico-kube-controllers-6b8f6f78dc-dqp9w")))
    assert (answer.state, answer.strength >= 0.9) == ("found", True)
    assert answer.value("workload") == "deploy/calico-kube-controllers"
    assert finding(ID, PART.format(row=row.format(name="grafana-6b8f6f78dc-dqp9w"))).state != "found"


DOCKER = """
# docker ps -a | grep {name}
0d77a8e21c40   rancher/node:v3.19.2   "start_runit"   52 minutes ago   Exited (137) 8 minutes ago   k8s_{name}_x-8x2lz_5d_30
# docker inspect 0d77a8e21c40 --format '{{{{json .State}}}}'
{{"Status":"exited","Running":false,"OOMKilled":{killed},"Dead":false,"Pid":0,"ExitCode":137}}
"""


def test_a_container_that_docker_says_was_killed() -> None:
    answer = finding(ID, DOCKER.format(name="calico-node", killed="true"))
    assert (answer.state, answer.strength >= 0.8) == ("found", True)
    assert finding(ID, DOCKER.format(name="calico-node", killed="false")).state != "found"
    assert finding(ID, DOCKER.format(name="grafana", killed="true")).state != "found"


TOLD = "Our calico-node pods have a limit of 128Mi. On busy nodes they restart 30 times a day.\n\n"
NAMELESS = """\
    State:          Running
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
    Restart Count:  31
"""


def test_the_sentence_above_says_whose_container_it_is() -> None:
    assert finding(ID, TOLD + NAMELESS).strength >= 0.9


def test_it_may_be_anothers() -> None:
    assert finding(ID, "Our app restarts 30 times a day.\n\n" + NAMELESS).state != "found"
    assert finding(ID, "calico-node is fine, our app restarts 30 times a day.\n\n" + NAMELESS).state != "found"
    assert finding(ID, "calico-node 正常，业务容器一直重启：\n\n" + NAMELESS).state != "found"
