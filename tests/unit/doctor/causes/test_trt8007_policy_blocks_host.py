"""TRT8007: host endpoints and a policy for all."""

from __future__ import annotations

from tests.support.doctor import finding
from tests.support.fixes import fixes

HEPS = """
$ calicoctl get hep -o wide
NAME               NODE     INTERFACE   IPS          PROFILES
cp-1-auto-hep      cp-1     *           10.4.0.11    projectcalico-default-allow
w-1-auto-hep       w-1      *           10.4.0.21    projectcalico-default-allow
"""
POLICY = """
$ calicoctl get gnp -o yaml
apiVersion: projectcalico.org/v3
kind: GlobalNetworkPolicy
metadata:
  name: deny-everything
spec:
  order: 2000
  selector: all()
  types:
  - Ingress
  - Egress
"""


def test_host_endpoints_and_a_policy_for_all() -> None:
    answer = finding("policy-blocks-host", HEPS + POLICY)
    assert answer.strength >= 0.9
    assert answer.objects[0] == "deny-everything"


def test_the_chain_counts_drops() -> None:
    text = """
    加了一条策略之后所有节点 NotReady，本机 curl 127.0.0.1:6443 正常，别的机器不行。
    [root@cp-1 ~]# iptables -nvL cali-fh-any-interface-at-all | tail -1
     9231  554K DROP  all  --  *  *  0.0.0.0/0  0.0.0.0/0  /* cali:9w */ /* Drop if no policies passed packet */
    """
    answer = finding("policy-blocks-host", HEPS + text)
    assert answer.strength >= 0.9


def test_a_policy_for_pods_is_no_fault() -> None:
    text = HEPS + POLICY.replace("all()", "has(projectcalico.org/namespace)")
    assert finding("policy-blocks-host", text).strength < 0.8


def test_without_host_endpoints() -> None:
    text = "$ calicoctl get hep -o wide\nNAME   NODE   INTERFACE   IPS   PROFILES\n" + POLICY
    assert finding("policy-blocks-host", text).state == "ruled-out"


def test_the_policy_is_kept_and_taken_away_where_the_api_answers() -> None:
    commands = fixes("policy-blocks-host", HEPS + POLICY)
    kept, removed = commands[:2]
    assert "get globalnetworkpolicies.crd.projectcalico.org deny-everything -o yaml" in kept
    assert "--server=https://127.0.0.1:6443 delete" in removed
    assert removed.endswith("deny-everything")


PATCHED = """
$ calicoctl patch kubecontrollersconfiguration default --patch='{"spec": {"controllers": {"node": {"hostEndpoint": {"autoCreate": "Enabled"}}}}}'
"""  # noqa: E501
CHAIN = """
wren:
Chain cali-fh-any-interface-at-all (1 references)
 3927  236K DROP       all  --  *      *       0.0.0.0/0            0.0.0.0/0            /* cali:dB */ /* Drop if no policies passed packet */
"""  # noqa: E501


def test_a_list_without_its_command() -> None:
    answer = finding("policy-blocks-host", PATCHED + CHAIN)
    assert (answer.strength >= 0.9, "cali-fh-any-interface-at-all" in answer.objects) == (True, True)


def test_a_list_in_which_nothing_was_dropped() -> None:
    assert finding("policy-blocks-host", PATCHED + CHAIN.replace("3927  236K", "0     0")).strength < 0.8


def test_what_a_policy_has_rules_for_are_its_types() -> None:
    egress = """
- kind: GlobalNetworkPolicy
  metadata: {name: all-egress}
  spec: {selector: has(kubernetes-host), egress: [{action: Allow}]}
"""
    assert finding("policy-blocks-host", PATCHED + egress).strength < 0.8
