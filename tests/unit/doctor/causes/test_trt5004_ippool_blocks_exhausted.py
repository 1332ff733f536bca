"""TRT5004: all blocks are taken by live nodes while addresses are free."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

from tests.support.doctor import finding

LOG = """
$ kubectl -n kube-system logs calico-node-new9 | tail -2
2021-06-17 11:40:02.118 [INFO][27] tunnel-ip-allocator/ipam.go 473: Ran out of existing affine blocks for host host="n9"
2021-06-17 11:40:02.390 [FATAL][27] tunnel-ip-allocator/allocateip.go 236: Unable to autoassign an address - pools are likely exhausted type="ipipTunnelAddress"
"""
SHOW = """
$ calicoctl ipam show
+----------+--------------+-----------+------------+-----------+
| GROUPING |     CIDR     | IPS TOTAL | IPS IN USE | IPS FREE  |
+----------+--------------+-----------+------------+-----------+
| IP Pool  | 10.66.0.0/23 |       512 | 71 (14%)   | 441 (86%) |
+----------+--------------+-----------+------------+-----------+
"""


def test_all_blocks_taken_by_live_nodes() -> None:
    answer = finding(
        "ippool-blocks-exhausted",
        f"""{LOG}{SHOW}
$ calicoctl ipam show --show-blocks | grep -c Block
8
$ kubectl get nodes --no-headers | wc -l
9
$ kubectl get pod -A -o wide --no-headers | grep -c ' 10.66.'
62
""",
    )
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "10.66.0.0/23" in answer.objects


def test_a_pool_smaller_than_the_cluster() -> None:
    answer = finding(
        "ippool-blocks-exhausted",
        f"""第 5 个节点加入后起不来，前 4 个都正常。
{LOG}
$ calicoctl get ippool -o yaml | grep -e cidr -e blockSize
    blockSize: 26
    cidr: 10.99.4.0/24
$ calicoctl get ippool -o wide
NAME                  CIDR           NAT    IPIPMODE   VXLANMODE   DISABLED   SELECTOR
default-ipv4-ippool   10.99.4.0/24   true   Always     Never       false      all()
$ kubectl get nodes
NAME   STATUS     ROLES    AGE   VERSION
n1     Ready      master   9d    v1.20.4
n2     Ready      <none>   9d    v1.20.4
n3     Ready      <none>   9d    v1.20.4
n4     Ready      <none>   9d    v1.20.4
n5     NotReady   <none>   8m    v1.20.4
""",
    )
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "10.99.4.0/24" in answer.objects


def test_the_limit_of_a_host() -> None:
    answer = finding(
        "ippool-blocks-exhausted",
        'Failed to create pod sandbox: plugin type="calico" failed (add): cannot allocate new block due to per host block limit',
    )
    assert answer.strength >= 0.9


def test_dead_owners_are_a_leak() -> None:
    answer = finding(
        "ippool-blocks-exhausted",
        f"""{LOG}{SHOW.replace("71 (14%) ", "401 (78%)").replace("441 (86%)", "111 (22%)")}
$ calicoctl ipam show --show-blocks | grep -c Block
8
$ kubectl get nodes --no-headers | wc -l
3
$ kubectl get pod -A -o wide --no-headers | grep -c ' 10.66.'
40
""",
    )
    assert answer.state == "ruled-out"


def test_the_message_alone_is_no_claim() -> None:
    assert finding("ippool-blocks-exhausted", LOG).strength < 0.8


def test_a_small_pool_that_works_is_no_claim() -> None:
    answer = finding(
        "ippool-blocks-exhausted",
        """
        $ calicoctl get ippool -o wide
        NAME      CIDR           NAT    IPIPMODE   VXLANMODE   DISABLED   SELECTOR
        default   10.99.4.0/25   true   Always     Never       false      all()
        $ kubectl get nodes
        NAME   STATUS   ROLES    AGE   VERSION
        n1     Ready    master   9d    v1.20.4
        n2     Ready    <none>   9d    v1.20.4
        n3     Ready    <none>   9d    v1.20.4
        """,
    )
    assert answer.strength < 0.8


OWNED = """
$ kubectl -n kube-system get pod -o wide -l k8s-app=calico-node
NAME                READY   STATUS             RESTARTS   AGE   IP           NODE
calico-node-b7qkd   1/1     Running            0          88d   10.5.40.1    gw1
calico-node-x2mnz   1/1     Running            0          88d   10.5.40.2    gw2
calico-node-new9k   0/1     CrashLoopBackOff   6          12m   10.5.40.3    gw3
$ calicoctl ipam show --show-blocks
| IP Pool  | 10.210.8.0/25  |       128 | 21 (16%)   | 107 (84%) |
| Block    | 10.210.8.0/26  |        64 | 10 (16%)   | 54 (84%)  |
| Block    | 10.210.8.64/26 |        64 | 11 (17%)   | 53 (83%)  |
$ calicoctl ipam show --show-configuration
| StrictAffinity     | true  |
$ kubectl get blockaffinities.crd.projectcalico.org
NAME                   AGE
gw1-10-210-8-0-26      88d
{second}-10-210-8-64-26     88d
"""


def test_every_block_belongs_to_a_node_that_is_well() -> None:
    text = LOG + OWNED.replace("{second}", "gw2")
    answer = finding("ippool-blocks-exhausted", text)
    assert (answer.state, answer.strength >= 0.9) == ("found", True)
    assert finding("ipam-leak", text).state == "ruled-out"


def test_a_block_of_a_node_that_is_not_there_may_be_a_leak() -> None:
    text = LOG + OWNED.replace("{second}", "gw7")
    assert finding("ippool-blocks-exhausted", text).strength < 0.8
    assert finding("ipam-leak", text).state != "ruled-out"


def test_with_strict_affinity_nobody_borrows_from_the_only_block() -> None:
    text = """
    $ kubectl describe pod -n telco sbc-0 | tail -1
      Warning  FailedCreatePodSandBox  2s (x55 over 12m)  kubelet  Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "5a0c": plugin type="calico" failed (add): failed to request IPv4 addresses: Assigned 0 out of 1 requested IPv4 addresses; No more free affine blocks and strict affinity enabled
    $ calicoctl ipam show --show-blocks
    +----------+----------------+-----------+------------+--------------+
    | GROUPING |      CIDR      | IPS TOTAL | IPS IN USE |   IPS FREE   |
    +----------+----------------+-----------+------------+--------------+
    | IP Pool  | 10.42.0.0/16   |     65536 | 61 (0%)    | 65475 (100%) |
    | Block    | 10.42.17.0/26  |        64 | 19 (30%)   | 45 (70%)     |
    | IP Pool  | 172.29.60.0/26 |        64 | 2 (3%)     | 62 (97%)     |
    | Block    | 172.29.60.0/26 |        64 | 2 (3%)     | 62 (97%)     |
    +----------+----------------+-----------+------------+--------------+
    """
    answer = finding("ippool-blocks-exhausted", text)
    assert answer.strength >= 0.9
    assert answer.objects[0] == "172.29.60.0/26"
    assert (
        finding("ippool-blocks-exhausted", text.replace("2 (3%)     | 62 (97%)", "64 (100%)  | 0 (0%) ")).strength < 0.9
    )


def _nodes_without_their_command(many: int) -> str:
    blocks = "\n".join(f"| Block    | 10.70.{i}.0/24   | 256 | 40 (16%) | 216 (84%) |" for i in range(8))
    nodes = "\n".join(f"n{i}       Ready    <none>   90d   v1.22.1" for i in range(many))
    return f"""
pods on n8: failed to request 1 IPv4 addresses. IPAM allocated only 0

NAME     STATUS   ROLES    AGE   VERSION
{nodes}

+----------+----------------+-----------+------------+-------------+
| GROUPING |      CIDR      | IPS TOTAL | IPS IN USE |  IPS FREE   |
+----------+----------------+-----------+------------+-------------+
| IP Pool  | 10.70.0.0/21   |      2048 | 320 (15%)  | 1728 (85%)  |
{blocks}
+----------+----------------+-----------+------------+-------------+
"""


def test_more_nodes_than_blocks_in_a_table_without_its_command() -> None:
    assert finding("ippool-blocks-exhausted", _nodes_without_their_command(9)).strength >= 0.9


def test_few_nodes_in_a_table_without_its_command_may_be_a_part() -> None:
    assert finding("ippool-blocks-exhausted", _nodes_without_their_command(3)).strength < 0.8


SIX = """
$ calicoctl ipam show --show-blocks
+----------+----------------+-----------+------------+-----------+
| GROUPING |      CIDR      | IPS TOTAL | IPS IN USE | IPS FREE  |
+----------+----------------+-----------+------------+-----------+
| IP Pool  | fd61::/{length}     |       256 | 9 (4%)     | 247 (96%) |
| Block    | fd61::/122     |        64 | 3 (5%)     | 61 (95%)  |
| Block    | fd61::40/122   |        64 | 2 (3%)     | 62 (97%)  |
| Block    | fd61::80/122   |        64 | 2 (3%)     | 62 (97%)  |
| Block    | fd61::c0/122   |        64 | 2 (3%)     | 62 (97%)  |
+----------+----------------+-----------+------------+-----------+
$ kubectl get nodes --no-headers | wc -l
5
failed to request 1 IPv6 addresses. IPAM allocated only 0
"""


def test_blocks_of_ipv6_are_counted_as_well() -> None:
    answer = finding("ippool-blocks-exhausted", SIX.format(length=120))
    assert (answer.state, answer.strength >= 0.9) == ("found", True)
    assert finding("ippool-blocks-exhausted", SIX.format(length="64 ")).strength < 0.8


OWNER = """
[root@n1 ~]# ip route | grep 10.92.79
blackhole 10.92.79.128/26 proto bird
10.92.79.130 dev cali0c9e8d7f6a1 scope link
"""
LATE = """
[root@n2 ~]# ip route
default via 10.30.2.1 dev bond0
10.30.2.0/24 dev bond0 proto kernel scope link src 10.30.2.57
10.92.79.131 dev calid0fa5ba2c34 scope link
10.92.112.64/26 via 10.30.2.11 dev bond0 proto bird
"""
DEAD = "\nPods on n1 cannot reach pods on n2.\n"


def test_pods_with_borrowed_addresses_are_dropped_by_the_owner() -> None:
    answer = finding("ippool-blocks-exhausted", OWNER + LATE + DEAD)
    assert (answer.state, answer.rule, answer.strength >= 0.9) == ("found", "pod-borrowed", True)
    assert {"10.92.79.131", "n2", "10.92.79.128/26"} <= set(answer.objects)


def test_more_nodes_than_blocks_prove_it() -> None:
    pool = """
    $ calicoctl get ippool -o wide
    NAME                  CIDR            NAT     IPIPMODE   VXLANMODE   DISABLED   SELECTOR
    default-ipv4-ippool   10.92.0.0/24    false   Never      Never       false      all()
    $ kubectl get nodes --no-headers | wc -l
    11
    """
    assert finding("ippool-blocks-exhausted", OWNER + LATE + DEAD + pool).strength >= 0.95


def test_a_route_to_the_single_address_leads_past_the_black_hole() -> None:
    routed = OWNER + "10.92.79.131 via 10.30.2.57 dev bond0 proto bird\n"
    assert finding("ippool-blocks-exhausted", routed + LATE + DEAD).rule != "pod-borrowed"


def test_a_nodes_own_block_is_not_borrowed() -> None:
    own = LATE + "blackhole 10.92.79.128/26 proto bird\n"
    assert finding("ippool-blocks-exhausted", own + DEAD).rule != "pod-borrowed"


def test_an_address_that_was_asked_for_is_not_borrowed_for_want_of_blocks() -> None:
    wanted = "\nThe pod has the annotation cni.projectcalico.org/ipAddrs, the address is fixed.\n"
    assert finding("ippool-blocks-exhausted", OWNER + LATE + DEAD + wanted).rule != "pod-borrowed"


def test_said_and_borne_out_by_the_numbers() -> None:
    told = """
    The ip blocks are used up: the 5th node cannot get an ip block. The cluster has 5 nodes.
    $ calicoctl get ippool -o wide
    NAME                  CIDR            NAT     IPIPMODE   VXLANMODE   DISABLED   SELECTOR
    default-ipv4-ippool   10.92.0.0/24    false   Never      Never       false      all()
    """
    answer = finding("ippool-blocks-exhausted", told)
    assert (answer.rule, answer.strength >= 0.9) == ("nodes-told", True)
    assert finding("ippool-blocks-exhausted", told.replace("10.92.0.0/24", "10.92.0.0/16")).strength < 0.8
    assert finding("ippool-blocks-exhausted", "There is no free block left in the pool.").strength < 0.8


def test_pods_that_ipam_lists_as_borrowers() -> None:
    listed = """
    Pods on w6 are reachable from their own node but not from others.
    $ calicoctl ipam show --show-borrowed
    +-------------+----------------+----------------+-------------+------+------------------------------+
    |     IP      | BORROWING-NODE |     BLOCK      | BLOCK OWNER | TYPE |         ALLOCATED-TO         |
    +-------------+----------------+----------------+-------------+------+------------------------------+
    | 10.55.0.21  | w6             | 10.55.0.0/26   | w1          | pod  | default/web-58cc5bfd6b-2fxtr |
    +-------------+----------------+----------------+-------------+------+------------------------------+
    """
    answer = finding("ippool-blocks-exhausted", listed)
    assert (answer.state, answer.rule, answer.strength < 0.8) == ("found", "pod-borrowed", True)
    pool = """
    $ calicoctl get ippool -o wide
    NAME                  CIDR            NAT     IPIPMODE   VXLANMODE   DISABLED   SELECTOR
    default-ipv4-ippool   10.55.0.0/24    false   Never      Never       false      all()
    $ kubectl get blockaffinities --no-headers | wc -l
    4
    """
    assert finding("ippool-blocks-exhausted", listed + pool).strength >= 0.9
    elsewhere = listed.replace("Pods on w6", "Pods on w4")
    assert finding("ippool-blocks-exhausted", elsewhere + pool).strength < 0.8
