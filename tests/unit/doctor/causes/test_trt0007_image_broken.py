"""TRT0007: the program's last words, or a crash on every node."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

from tests.support.doctor import finding

DESCRIBE = """
$ kubectl describe pod calico-node-kk4 -n kube-system
Name:         calico-node-kk4
Namespace:    kube-system
Node:         m3/10.8.8.3
Containers:
  calico-node:
    Container ID:   containerd://aa
    Image:          quay.io/calico/node:v3.29.0
    State:          Waiting
      Reason:       CrashLoopBackOff
    Last State:     Terminated
      Reason:       Error
      Exit Code:    139
      Started:      Mon, 01 Jan 2024 10:00:00 +0000
      Finished:     Mon, 01 Jan 2024 10:00:00 +0000
    Ready:          False
    Restart Count:  9
"""


def test_a_library_is_missing() -> None:
    answer = finding(
        "image-broken",
        f"{DESCRIBE}\n$ kubectl logs -p calico-node-kk4 -n kube-system\ncalico-node: error while loading shared libraries: "
        "libpcap.so.0.8: cannot open shared object file: No such file or directory",
    )
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "quay.io/calico/node:v3.29.0" in answer.objects
    assert "libpcap.so.0.8" in answer.objects


def test_the_processor_is_too_old() -> None:
    answer = finding("image-broken", "$ kubectl logs calico-node-1\nFatal glibc error: CPU does not support x86-64-v2")
    assert answer.strength >= 0.9


def test_a_crash_everywhere() -> None:
    answer = finding("image-broken", DESCRIBE)
    assert answer.state == "found"
    assert answer.strength >= 0.8


def test_a_crash_while_others_run_is_no_claim() -> None:
    table = "$ kubectl get pod -n kube-system\nNAME READY STATUS RESTARTS AGE\ncalico-node-aaa 1/1 Running 0 5d\ncalico-node-kk4 0/1 CrashLoopBackOff 9 5d\n"
    assert finding("image-broken", f"{table}{DESCRIBE}").strength < 0.8


def test_exec_format_is_another_cause() -> None:
    assert finding("image-broken", "exec /bin/calico-node: exec format error").state == "cannot-tell"


def test_the_kernel_saw_it_crash_at_every_start() -> None:
    answer = finding(
        "image-broken",
        """
        After going from calico v3.26.3 to v3.26.4 the pods on the old rack crash at once, the new rack is fine.
        $ kubectl -n kube-system get pod -o wide | grep calico-node
        calico-node-aa111   1/1   Running            0             3h   10.9.0.1   new-1
        calico-node-bb222   0/1   CrashLoopBackOff   9 (1m ago)    3h   10.9.0.2   old-1
        calico-node-cc333   0/1   CrashLoopBackOff   9 (2m ago)    3h   10.9.0.3   old-2
        [root@old-1 ~]# dmesg | tail -2
        [88211.120551] traps: calico-node[4121] trap invalid opcode ip:8f1c20 sp:7ffd11 error:0 in calico-node[400000+1f00000]
        [88391.551201] traps: calico-node[4533] trap invalid opcode ip:8f1c20 sp:7ffc02 error:0 in calico-node[400000+1f00000]
        """,
    )
    assert answer.strength >= 0.8


def test_another_program_that_crashed_is_not_ours() -> None:
    answer = finding(
        "image-broken",
        """
        [root@old-1 ~]# dmesg | tail -2
        [88211.120551] php-fpm[4121]: segfault at 0 ip 00000000004 sp 00007ffe2 error 4 in php-fpm[400000+2a1000]
        [88213.120551] php-fpm[4199]: segfault at 0 ip 00000000004 sp 00007ffe2 error 4 in php-fpm[400000+2a1000]
        """,
    )
    assert answer.strength < 0.8


def test_a_program_of_the_machine_is_no_image() -> None:
    line = "{program}: error while loading shared libraries: libtinfo.so.5: cannot open shared object file\n"
    assert finding("image-broken", "[root@n2 ~]# mysql -h db\n" + line.format(program="mysql")).state != "found"
    log = "$ kubectl logs -n kube-system calico-node-7qj2c\n" + line.format(program="/bin/calico-node")
    assert finding("image-broken", log).strength >= 0.9


def test_another_pod_that_crashes_is_no_image_of_calicos() -> None:
    text = """
$ kubectl describe pod {pod}
Name:         {pod}
Containers:
  main:
    Image:          {image}
    State:          Waiting
      Reason:       CrashLoopBackOff
    Last State:     Terminated
      Reason:       Error
      Exit Code:    139
"""
    assert finding("image-broken", text.format(pod="php-0", image="php:8.1-fpm")).state != "found"
    own = text.format(pod="calico-node-7qj2c", image="docker.io/calico/node:v3.25.0")
    assert finding("image-broken", own).state == "found"


def test_what_calico_node_begins_with_is_ended_by_the_kernel() -> None:
    line = "[Tue Mar 31 11:0{}:35 2026] start_runit[192639]: segfault at 5757b2594320 ip 00007c9f7a658ead sp 00007ffca3b82a98 error 4 in libc-2.28.so\n"
    text = "[root@host-31 ~]# dmesg -T | tail -4\n" + line.format(0) + line.format(1)
    assert finding("image-broken", text).strength >= 0.8


SYNTAX = "ipset v6.38: Syntax error: 'tcp' is invalid as number\nSyntax error: cannot parse 'tcp' as a protocol\n"


def test_ipset_of_the_image_knows_no_protocols() -> None:
    log = "2019-04-05 10:12:44.301 [WARNING][61] ipsets.go 634: Failed to complete ipset restore, IP sets may be out-of-sync. processErr=exit status 1 stderr=\"ipset v6.38: Error in line 2: Syntax error: cannot parse 'tcp' as a protocol\""
    answer = finding("image-broken", log)
    assert (answer.strength >= 0.9, answer.rule) == (True, "no-protocols")
    shell = "# kubectl -n kube-system exec -it calico-node-8x2lm -- sh\n/ # ipset add t1 10.0.0.1,tcp:80\n"
    assert finding("image-broken", shell + SYNTAX).strength >= 0.9


def test_ipset_of_a_machine_or_of_kube_proxy_is_another_matter() -> None:
    assert finding("image-broken", "[root@n2 ~]# ipset add t1 10.0.0.1,tcp:80\n" + SYNTAX).state != "found"
    proxy = "# kubectl -n kube-system exec -it kube-proxy-8x2lm -- sh\n/ # ipset add t1 10.0.0.1,tcp:80\n"
    assert finding("image-broken", proxy + SYNTAX).state != "found"
