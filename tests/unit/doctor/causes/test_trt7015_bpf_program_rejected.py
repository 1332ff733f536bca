"""TRT7015: found by libbpf's word on a program; a map, a missing right and a mount that fails are other causes."""

from __future__ import annotations

from tests.support.doctor import finding

LOG = """\
$ kubectl -n calico-system logs calico-node-b8w4z -c calico-node
libbpf: prog 'calico_tc_main': BPF program load failed: Permission denied
libbpf: prog 'calico_tc_main': -- BEGIN PROG LOAD LOG --
R7 invalid mem access 'scalar'
processed 8391 insns (limit 1000000) max_states_per_insn 4 total_states 412 peak_states 412 mark_read 44
-- END PROG LOAD LOG --
libbpf: prog 'calico_tc_main': failed to load: -13
libbpf: failed to load object '/usr/lib/calico/bpf/from_wep_co-re.o'
2025-08-30 10:04:11.551 [WARNING][88] felix/bpf_ep_mgr.go 2107: Failed to apply policy to endpoint, leaving it dirty
"""
PODS = """\
$ kubectl -n calico-system get pods -o wide
NAME                READY   STATUS    RESTARTS   AGE   IP           NODE
calico-node-b8w4z   {ready}/1     Running   0          12m   10.14.0.21   heron
"""


def test_the_verifier_s_log_proves_it() -> None:
    answer = finding("bpf-program-rejected", LOG + PODS.format(ready=0))
    assert (answer.state, answer.rule, answer.strength >= 0.95) == ("found", "rejected", True)
    assert answer.objects[0] == "calico_tc_main"
    assert "heron" in answer.objects


def test_one_quoted_line_is_strong() -> None:
    text = "升级内核后 calico-node 起不来：libbpf: prog 'cali_tc_preamble': BPF program load failed: Invalid argument"
    answer = finding("bpf-program-rejected", text)
    assert (answer.state, 0.9 <= answer.strength < 0.95) == ("found", True)


def test_a_kernel_whose_types_cannot_be_read() -> None:
    text = """
libbpf: failed to find valid kernel BTF
libbpf: Error loading vmlinux BTF: -3
libbpf: failed to load object '/usr/lib/calico/bpf/from_hep_co-re.o'
"""
    assert finding("bpf-program-rejected", text).rule == "no-kernel-btf"
    assert finding("bpf-program-rejected", "libbpf: failed to find valid kernel BTF").state == "cannot-tell"


def test_a_right_that_is_missing_is_another_cause() -> None:
    text = "libbpf: prog 'calico_tc_main': BPF program load failed: Operation not permitted"
    assert finding("bpf-program-rejected", text).state == "ruled-out"


def test_a_pinned_map_is_another_cause() -> None:
    text = """
libbpf: couldn't reuse pinned map at '/sys/fs/bpf/tc/globals/cali_v4_ct3': parameter mismatch
libbpf: failed to load object '/usr/lib/calico/bpf/tc_preamble.o'
"""
    assert finding("bpf-program-rejected", text).state == "ruled-out"


def test_an_object_that_does_not_load_says_nothing_of_the_reason() -> None:
    text = "libbpf: failed to load object '/usr/lib/calico/bpf/tc_preamble.o'"
    assert finding("bpf-program-rejected", text).state == "cannot-tell"


def test_an_agent_that_is_ready_has_its_programs() -> None:
    assert finding("bpf-program-rejected", LOG + PODS.format(ready=1)).rule == "loads-now"


def test_other_programs_load_by_the_same_library() -> None:
    text = """
    $ kubectl -n monitoring logs ebpf-exporter-x2k
    libbpf: prog 'do_count': BPF program load failed: Invalid argument
    libbpf: failed to load object 'biolatency.bpf.o'
    """
    assert finding("bpf-program-rejected", text).state == "cannot-tell"
    own = text.replace("-n monitoring logs ebpf-exporter", "-n calico-system logs calico-node")
    assert finding("bpf-program-rejected", own).strength >= 0.9
