"""TRT5002: hosts that own blocks, counted in the datastore or as resources, against nodes."""

from __future__ import annotations

import pytest
from tests.support.doctor import finding

LATE = """
2019-07-11 02:14:20.916 [WARNING][17] ipam.go 150: Failed to claim an affine block, retrying
2019-07-11 02:15:33.007 [FATAL][17] allocate_ipip_addr.go 98: Unable to autoassign an address for IPIP
"""
POOL = """
$ calicoctl get ippool -o yaml
apiVersion: projectcalico.org/v3
kind: IPPool
metadata:
  name: main
spec:
  blockSize: 26
  cidr: 10.64.0.0/16
  ipipMode: Always
  natOutgoing: true
"""
BLOCKS = "$ etcdctl get --prefix --keys-only /calico/ipam/v2/assignment/ipv4/block | grep -c block\n{blocks}\n"
KEYS = "$ etcdctl get --prefix --keys-only /calico/ipam/v2/host | cut -d/ -f6 | sort -u | wc -l\n{hosts}\n"
OWNERS = "$ kubectl get blockaffinities -o jsonpath='{{..spec.node}}' | tr ' ' '\\n' | sort | uniq | wc -l\n{hosts}\n"
NODES = "$ kubectl get node --no-headers | wc -l\n{nodes}\n"


def shown(blocks: int = 1021, hosts: int = 420, nodes: int = 24, keys: str = KEYS) -> str:
    return POOL + BLOCKS.format(blocks=blocks) + keys.format(hosts=hosts) + NODES.format(nodes=nodes)


@pytest.mark.parametrize("keys", [KEYS, OWNERS])
def test_most_owners_are_no_nodes(keys: str) -> None:
    answer = finding("ipam-leak", LATE + shown(keys=keys))
    assert (answer.state, answer.rule, answer.strength >= 0.95) == ("found", "hosts-beyond-nodes", True)
    assert finding("ippool-blocks-exhausted", LATE + shown(keys=keys)).state == "ruled-out"


def test_without_a_full_pool_the_message_decides() -> None:
    assert 0.9 <= finding("ipam-leak", LATE + shown(blocks=700)).strength < 0.95
    quiet = finding("ipam-leak", shown(blocks=700))
    assert quiet.aside or quiet.strength < 0.8


@pytest.mark.parametrize(
    "text",
    [
        shown(hosts=26),  # as many as there are nodes: the pool is too small
        shown().replace("sort -u | wc -l", "sort | wc -l"),  # affinities: a node may have many
        shown().replace("| cut -d/ -f6 ", ""),  # keys, each once
        shown().replace("--no-headers | wc", "-l role=edge --no-headers | wc"),  # some nodes
        shown().replace("cut -d/ -f6", "cut -d/ -f6 | head -500"),
    ],
)
def test_other_counts_prove_no_leak(text: str) -> None:
    answer = finding("ipam-leak", LATE + text)
    assert answer.rule != "hosts-beyond-nodes"
    assert answer.strength < 0.8


def test_the_messages_alone_are_no_claim() -> None:
    assert finding("ipam-leak", LATE).strength < 0.8


def test_owners_in_a_list_of_keys() -> None:
    keys = "$ etcdctl get --prefix --keys-only /calico/ipam/v2/host\n" + "".join(
        f"/calico/ipam/v2/host/old-{n}/ipv4/block/10.64.{n}.0-26\n\n" for n in range(3)
    )
    nodes = "$ kubectl get nodes\nNAME   STATUS   ROLES    AGE   VERSION\nw1     Ready    <none>   9d    v1.24.1\n"
    fatal = (
        "2022-02-11 03:10:09.511 [FATAL][31] tunnel-ip-allocator/allocateip.go 402: Unable to autoassign an address - "
        'pools are likely exhausted. type="vxlanTunnelAddress"\n'
    )
    answer = finding("ipam-leak", POOL + fatal + nodes + keys)
    assert (answer.state, answer.rule, answer.strength >= 0.9) == ("found", "owners-gone", True)
