"""TRT3015: found by the kernel's line or a runtime's last words; too little memory is another cause."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

from tests.support.doctor import finding

KERNEL = """\
[root@shrike ~]# dmesg | tail -1
[410233.118201] cgroup: fork rejected by pids controller in {group}
"""
POD = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod6f2c.slice"
UNIT = "/system.slice/containerd.service"
THREAD = """\
$ kubectl -n kube-system logs calico-node-p6k9d
runtime: failed to create new OS thread (have 14 already; errno={errno})
runtime: may need to increase max user processes (ulimit -u)
fatal error: newosproc
"""
PODS = (
    "$ kubectl -n kube-system get pods\nNAME  READY  STATUS  RESTARTS  AGE\ncalico-node-p6k9d  {}/1  Running  0  3h\n"
)


def test_the_kernel_and_a_runtime_prove_it() -> None:
    answer = finding("pids-exhausted", KERNEL.format(group=POD) + THREAD.format(errno=11))
    assert (answer.rule, answer.strength >= 0.95, answer.objects[0]) == ("rejected", True, "podPidsLimit")
    assert "shrike" in answer.objects


def test_the_unit_whose_limit_it_is() -> None:
    answer = finding("pids-exhausted", KERNEL.format(group=UNIT))
    assert (answer.objects[0], answer.strength >= 0.9) == ("containerd.service", True)


def test_a_runtime_s_last_words_while_the_agent_is_not_ready() -> None:
    answer = finding("pids-exhausted", THREAD.format(errno=11) + PODS.format(0))
    assert (answer.rule, answer.strength >= 0.9) == ("no-thread", True)


def test_counted_tasks_prove_it() -> None:
    counted = """
[root@shrike ~]# cat /sys/fs/cgroup/kubepods.slice/pids.current /sys/fs/cgroup/kubepods.slice/pids.max
4093
4096
"""
    assert finding("pids-exhausted", THREAD.format(errno=11) + counted).strength >= 0.95
    assert finding("pids-exhausted", THREAD.format(errno=11) + counted.replace("4093", "310")).state == "ruled-out"


def test_all_numbers_of_the_machine_are_given_away() -> None:
    text = """
[root@shrike ~]# ls
-bash: fork: retry: 资源暂时不可用
[root@shrike ~]# sysctl kernel.pid_max
kernel.pid_max = 32768
[root@shrike ~]# ps -eLf | wc -l
32741
"""
    answer = finding("pids-exhausted", text)
    assert (answer.rule, answer.objects[0]) == ("full", "kernel.pid_max")


def test_too_little_memory_is_another_cause() -> None:
    assert finding("pids-exhausted", THREAD.format(errno=12)).state == "ruled-out"


def test_limits_of_one_pod_or_user_are_theirs() -> None:
    assert finding("pids-exhausted", KERNEL.format(group=POD)).strength < 0.8
    assert (
        finding("pids-exhausted", KERNEL.format(group="/user.slice/user-1000.slice") + PODS.format(0)).strength < 0.45
    )


def test_a_shell_that_could_not_fork_is_only_possible() -> None:
    answer = finding("pids-exhausted", "-bash: fork: retry: Resource temporarily unavailable")
    assert (answer.state, answer.strength < 0.8) == ("found", True)


def test_a_crash_alone_says_nothing() -> None:
    assert finding("pids-exhausted", PODS.format(0)).state == "cannot-tell"


def test_an_agent_that_is_ready_forks() -> None:
    assert finding("pids-exhausted", THREAD.format(errno=11) + PODS.format(1)).state == "ruled-out"


def test_a_group_of_one_pod_concerns_an_agent_that_dies() -> None:
    line = "[Mon Mar  4 08:00:12 2024] cgroup: fork rejected by pids controller in /kubepods/burstable/pod0a7d2c2e-1c1c/7be1\n"
    pods = "calico-node-6rb2k   0/1   {status}   {restarts}   2d   10.1.8.9   z9\n"
    assert finding("pids-exhausted", line + pods.format(status="Running", restarts=0)).strength < 0.8
    assert finding("pids-exhausted", line + pods.format(status="CrashLoopBackOff", restarts=9)).strength >= 0.8


def test_the_kernel_counts_as_well() -> None:
    text = """
        -bash: fork: retry: Resource temporarily unavailable
        n3 ~ # cat /proc/sys/kernel/pid_max
        32768
        n3 ~ # cat /proc/loadavg
        1.92 1.75 1.70 3/{} 31877
    """
    assert finding("pids-exhausted", text.format(32702)).strength >= 0.9
    assert finding("pids-exhausted", text.format(1402)).state == "ruled-out"
