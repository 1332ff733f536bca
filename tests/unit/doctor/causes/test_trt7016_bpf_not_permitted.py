"""TRT7016: found where even the smallest program is refused; a verifier that says no is another cause."""

from __future__ import annotations

from tests.support.doctor import finding

LOG = """\
$ kubectl -n kube-system logs calico-node-7xw2t
2023-03-05 06:40:18.220 [WARNING][63] felix/int_dataplane.go 1431: failed to wipe the XDP state error=failed to load BPF program (/usr/lib/calico/bpf/filter.o): stat /sys/fs/bpf/calico/xdp/prefilter_v1_calico_tmp_A: no such file or directory
libbpf: Error in bpf_object__probe_name():Operation not permitted(1). Couldn't load basic 'r0 = 0' BPF program.
libbpf: failed to load object '/usr/lib/calico/bpf/filter.o'
Error: failed to load object file
 try=4
"""  # noqa: E501
LOCKDOWN = """\
[root@siskin ~]# dmesg | tail -1
[  311.220181] Lockdown: bpftool: use of bpf to read kernel RAM is restricted; see man kernel_lockdown.7
"""
READY = (
    "$ kubectl -n kube-system get pods\nNAME  READY  STATUS  RESTARTS  AGE\ncalico-node-7xw2t  1/1  Running  0  3h\n"
)


def test_a_refused_probe_is_strong() -> None:
    answer = finding("bpf-not-permitted", LOG)
    assert (answer.state, answer.rule, answer.strength >= 0.9) == ("found", "refused", True)


def test_lockdown_proves_it() -> None:
    answer = finding("bpf-not-permitted", LOG + LOCKDOWN)
    assert (answer.rule, answer.objects[0], answer.strength >= 0.95) == ("lockdown", "lockdown", True)


def test_an_agent_without_privileges_proves_it() -> None:
    installation = """
$ kubectl get installation default -o yaml
apiVersion: operator.tigera.io/v1
kind: Installation
metadata:
  name: default
spec:
  nonPrivileged: Enabled
  calicoNetwork:
    linuxDataplane: BPF
"""
    refused = "libbpf: map 'cali_jump': failed to create: Operation not permitted(-1)\n"
    answer = finding("bpf-not-permitted", refused + installation)
    assert (answer.rule, answer.strength >= 0.95) == ("no-privileges", True)


def test_a_verifier_that_says_no_is_another_cause() -> None:
    text = "libbpf: prog 'calico_tc_main': BPF program load failed: Permission denied"
    assert finding("bpf-not-permitted", text).state == "ruled-out"


def test_a_probe_that_fails_otherwise_is_no_refusal() -> None:
    text = "libbpf: Error in bpf_object__probe_loading():Invalid argument(22). Couldn't load trivial BPF program."
    assert finding("bpf-not-permitted", text).state == "cannot-tell"


def test_a_state_that_was_not_wiped_is_only_possible() -> None:
    text = "2023-03-05 06:40:18.220 [WARNING][63] felix/int_dataplane.go 1431: failed to wipe the XDP state try=0"
    answer = finding("bpf-not-permitted", text)
    assert (answer.state, answer.strength < 0.8) == ("found", True)


def test_an_agent_that_is_ready_was_let_in() -> None:
    assert finding("bpf-not-permitted", LOG + READY).state == "ruled-out"


def test_other_programs_are_refused_as_well() -> None:
    text = """
    $ kubectl -n monitoring logs ebpf-exporter-x2k
    libbpf: prog 'do_count': BPF program load failed: Operation not permitted
    """
    assert finding("bpf-not-permitted", text).state == "cannot-tell"
    own = text.replace("-n monitoring logs ebpf-exporter", "-n calico-system logs calico-node")
    assert finding("bpf-not-permitted", own).strength >= 0.9


def test_the_machine_where_kubectl_was_typed_refuses_nothing() -> None:
    answer = finding(
        "bpf-not-permitted",
        """
        root@deploy:~# kubectl -n kube-system get po -o wide | grep calico-node | grep -v ' 1/1 '
        calico-node-jz5w2   0/1   CrashLoopBackOff   118   9h   10.40.7.56   wren-56   <none>   <none>

        libbpf: Error in bpf_object__probe_name():Operation not permitted(1). Couldn't load basic 'r0 = 0' BPF program.
        libbpf: failed to load object '/tmp/felix-bpf-457814611'
        """,
    )
    assert "wren-56" in answer.objects
    assert "deploy" not in answer.objects
