"""TRT7017: found by libbpf's word on a pinned map; a refused map and a rejected program are other causes."""

from __future__ import annotations

from tests.support.doctor import finding

PATH = "/sys/fs/bpf/tc/globals/cali_v4_nat_fe3"
LOG = f"""\
$ kubectl -n calico-system logs calico-node-w2x9p -c calico-node
libbpf: couldn't reuse pinned map at '{PATH}': parameter mismatch
libbpf: map 'cali_v4_nat_fe3': error reusing pinned map
libbpf: map 'cali_v4_nat_fe3': failed to create: Invalid argument(-22)
libbpf: failed to load object '/usr/lib/calico/bpf/tc_preamble.o'
"""
PODS = """\
$ kubectl -n calico-system get pods -o wide
NAME                READY   STATUS    RESTARTS   AGE   IP           NODE
calico-node-w2x9p   {ready}/1     Running   0          9m    10.33.1.4    avocet
"""


def test_the_mismatch_and_the_object_prove_it() -> None:
    answer = finding("bpf-map-mismatch", LOG + PODS.format(ready=0))
    assert (answer.state, answer.strength >= 0.95) == ("found", True)
    assert answer.objects[:2] == ("cali_v4_nat_fe3", PATH)
    assert "avocet" in answer.objects


def test_one_quoted_line_is_strong() -> None:
    text = f"升级后日志只有 libbpf: couldn’t reuse pinned map at ‘{PATH}’: parameter mismatch"
    answer = finding("bpf-map-mismatch", text)
    assert (answer.state, 0.9 <= answer.strength < 0.95) == ("found", True)


def test_without_the_first_line_it_is_likely() -> None:
    answer = finding("bpf-map-mismatch", "\n".join(LOG.splitlines()[2:]))
    assert (answer.rule, 0.8 <= answer.strength < 0.9) == ("not-reused", True)


def test_a_map_that_may_not_be_made_is_another_cause() -> None:
    text = """
libbpf: couldn't retrieve pinned map '/sys/fs/bpf/tc/eth0_igr/cali_jump': Operation not permitted
libbpf: map 'cali_jump': error reusing pinned map
libbpf: map 'cali_jump': failed to create: Operation not permitted(-1)
"""
    assert finding("bpf-map-mismatch", text).state == "ruled-out"


def test_an_object_that_does_not_load_says_nothing_of_maps() -> None:
    text = "libbpf: failed to load object '/usr/lib/calico/bpf/tc_preamble.o'"
    assert finding("bpf-map-mismatch", text).state == "cannot-tell"


def test_an_agent_that_is_ready_has_its_maps() -> None:
    assert finding("bpf-map-mismatch", LOG + PODS.format(ready=1)).state == "ruled-out"
