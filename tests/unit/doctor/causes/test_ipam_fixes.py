"""Fixes of the causes about pools and addresses: they use what the evidence knows, and do what fits it."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

from tests.support.doctor import picture

from tortie.doctor.causes.catalogue import cause_named

POOLS = "NAME   CIDR   NAT   IPIPMODE   VXLANMODE   DISABLED   SELECTOR"


def commands(cause: str, text: str) -> str:
    """All commands of the fix, one a line."""
    known, seen = cause_named(cause), picture(text)
    assert known is not None
    finding = known.judge(seen)
    assert finding.state == "found"
    return "\n".join(step.command for step in known.fix(seen, finding))


def test_a_further_pool_is_made_like_the_one_that_is_shown() -> None:
    made = commands(
        "ippool-exhausted",
        f"""
        $ calicoctl get ippool -o wide
        {POOLS}
        lan    10.9.3.32/27   false   Never   CrossSubnet   false   all()
        $ calicoctl ipam show
        | GROUPING |     CIDR     | IPS TOTAL | IPS IN USE | IPS FREE |
        | IP Pool  | 10.9.3.32/27 |        32 | 32 (100%)  | 0 (0%)   |
        $ kubectl get pod -A -o wide --no-headers | grep -c ' 10.9.3.'
        32
        """,
    )
    assert "vxlanMode: CrossSubnet" in made
    assert "ipipMode: Never" in made
    assert "natOutgoing: false" in made


def test_a_host_at_its_limit_gets_a_higher_one_and_no_further_pool() -> None:
    told = commands("ippool-blocks-exhausted", "failed (add): limit of 20 blocks reached for this node")
    assert '"maxBlocksPerHost":40' in told
    assert "calicoctl create" not in told


DISABLED = """
        2021-09-09 01:02:03.444 [FATAL][41] tunnel-ip-allocator/allocateip.go 398: Unable to autoassign an address error=no configured Calico pools for node r2 type="ipipTunnelAddress"
        $ calicoctl get ippool -o wide
"""


def test_a_pool_that_is_disabled_is_enabled() -> None:
    told = commands(
        "no-ippool-for-node",
        f"{DISABLED}        {POOLS}\n        one   10.50.0.0/18   true   Always   Never   true   all()",
    )
    assert 'calicoctl patch ippool one -p \'{"spec": {"disabled": false}}\'' in told
    assert "kubectl label" not in told


def test_the_only_enabled_pool_may_serve_all_nodes() -> None:
    told = commands(
        "no-ippool-for-node",
        f"{DISABLED}        {POOLS}\n        old   10.50.0.0/18   true   Always   Never   true   all()\n"
        "        new   10.60.0.0/18   true   Always   Never   false   !all()",
    )
    assert 'calicoctl patch ippool new -p \'{"spec": {"nodeSelector": "all()"}}\'' in told


def test_a_selector_that_asks_for_one_label_names_it() -> None:
    told = commands(
        "no-ippool-for-node",
        """
        no configured Calico pools for node w3
        $ kubectl get nodes --show-labels
        NAME   STATUS   ROLES    AGE   VERSION   LABELS
        w3     Ready    <none>   3d    v1.27.3   kubernetes.io/os=linux,rack=b
        $ calicoctl get ippool -o yaml
        apiVersion: projectcalico.org/v3
        kind: IPPool
        metadata:
          name: rack-a
        spec:
          cidr: 10.1.0.0/16
          nodeSelector: rack == "a"
        """,
    )
    assert "kubectl label node w3 rack=a" in told


def test_a_pool_that_does_not_exist_is_looked_for_where_it_is_asked_for() -> None:
    told = commands("no-ippool-for-node", "error getting pools: the given pool (10.123.0.0/16) does not exist")
    assert "cni.projectcalico.org/ipv4pools" in told
    assert "disabled" not in told


REFUSED = "(IPPool(default-ipv4-ippool) CIDR overlaps with IPPool(apps) CIDR 10.9.0.0/16)"


def test_a_pool_of_start_up_is_corrected_where_it_is_set() -> None:
    told = commands(
        "ippool-overlaps-pool",
        f"Failed to create default IPv4 IP pool: error with field IPPool.Spec.CIDR = '10.0.0.0/8' {REFUSED}",
    )
    assert "CALICO_IPV4POOL_CIDR" in told
    assert "calicoctl create" not in told


def test_a_pool_of_a_person_is_made_anew() -> None:
    told = commands(
        "ippool-overlaps-pool",
        f"Failed to create 'IPPool' resource: [error with field IPPool.Spec.CIDR = '10.0.0.0/8' {REFUSED}]",
    )
    assert "calicoctl create" in told
    assert "CALICO_IPV4POOL_CIDR" not in told


CONFLICT = (
    "error adding host side routes for interface: cali6a1, error: route (Ifindex: 214, Dst: 10.42.7.19/32, Scope: link) "
    "already exists for an interface other than 'cali6a1'\n"
)


def test_only_ends_of_pods_are_ever_deleted() -> None:
    orphan = commands("route-conflict", f"{CONFLICT}[root@w-12 ~]# ip route\n10.42.7.19 dev veth88ab scope link\n")
    assert "ip link del veth88ab" in orphan
    uplink = commands("route-conflict", f"{CONFLICT}[root@w-12 ~]# ip route\n10.42.7.19 dev bond0.12 scope link\n")
    assert "link del" not in uplink


def test_the_pod_that_holds_the_address_is_recreated_in_its_namespace() -> None:
    told = commands(
        "route-conflict",
        f"{CONFLICT}$ kubectl get pod -A -o wide\n"
        "NAMESPACE   NAME   READY   STATUS    RESTARTS   AGE   IP           NODE\n"
        "mq          mq-1   1/1     Running   0          9d    10.42.7.19   w-12\n",
    )
    assert "kubectl -n mq delete pod mq-1" in told
    assert "link del" not in told


def test_the_agent_is_restarted_on_the_node_as_kubernetes_names_it() -> None:
    told = commands(
        "ipam-inconsistent",
        """
        [root@ip-10-0-0-4 ~]# ip addr show tunl0
        9: tunl0@NONE: <NOARP,UP,LOWER_UP> mtu 1480 qdisc noqueue state UNKNOWN group default qlen 1000
            link/ipip 0.0.0.0 brd 0.0.0.0
            inet 10.88.3.64/32 scope global tunl0
        $ kubectl get pod -A -o wide
        NAMESPACE   NAME     READY   STATUS    RESTARTS   AGE   IP           NODE                   NOMINATED NODE   READINESS GATES
        shop        cart-0   1/1     Running   0          5d    10.88.3.64   ip-10-0-0-4.internal   <none>           <none>
        """,
    )
    assert "ip-10-0-0-4.internal" in told
    assert "kubectl -n shop delete pod cart-0" in told


def test_a_stray_file_of_host_local_is_named() -> None:
    known, seen = (
        cause_named("ipam-migration-stuck"),
        picture(
            """
        2023-04-02 16:40:11.887 [ERROR][1] ipam/ipam_plugin.go 95: failed to migrate ipam, retrying... error=failed to parse IP 10.88.0.9~ node="jp-w2"
        [root@jp-w2 ~]# ls /var/lib/cni/networks/k8s-pod-network
        10.88.0.8  10.88.0.9~  last_reserved_ip.0  lock
        """
        ),
    )
    assert known is not None
    texts = [step.text.en for step in known.fix(seen, known.judge(seen))]
    assert [text for text in texts if "10.88.0.9~" in text and "jp-w2" in text]
