"""TRT7012: switched off here, wanted there."""

from __future__ import annotations

from tests.support.doctor import finding

POOL = """
$ calicoctl get ippool -o wide
NAME                  CIDR           NAT    IPIPMODE   VXLANMODE   DISABLED   DISABLEBGPEXPORT   SELECTOR
default-ipv4-ippool   10.66.0.0/16   true   Never      Always      false      false              all()
"""
OFF = """
$ calicoctl get felixconfig default -o yaml
apiVersion: projectcalico.org/v3
kind: FelixConfiguration
metadata:
  name: default
spec:
  logSeverityScreen: Info
  vxlanEnabled: false
"""
GONE = """
[root@k-2 ~]# ip -br link show vxlan.calico
Device "vxlan.calico" does not exist.
"""


def test_off_wanted_and_absent() -> None:
    answer = finding("felix-encap-disabled", POOL + OFF + GONE)
    assert answer.strength >= 0.9
    assert "vxlanEnabled" in answer.objects


def test_from_a_grep() -> None:
    text = "$ kubectl get felixconfiguration default -o yaml | grep -i vxlan\n  vxlanEnabled: false\n"
    assert finding("felix-encap-disabled", text + GONE).strength >= 0.8


def test_a_log_line_of_an_ipip_cluster_means_nothing() -> None:
    text = "2022-03-03 08:00:00.001 [INFO][60] felix/int_dataplane.go 300: Config RulesConfig:{VXLANEnabled:false VXLANPort:4789}"  # noqa: E501
    assert finding("felix-encap-disabled", text).strength < 0.8


def test_the_device_exists() -> None:
    text = (
        OFF
        + "[root@k-2 ~]# ip -br link show vxlan.calico\nvxlan.calico     UNKNOWN        66:11:22:33:44:55 <BROADCAST,UP>\n"  # noqa: E501
    )
    assert finding("felix-encap-disabled", text).state == "ruled-out"


def test_a_table_of_pools_that_do_without_it() -> None:
    text = """
    $ calicoctl get felixconfiguration default -o yaml | grep -i enabled
      vxlanEnabled: false
    $ calicoctl get ippool -o wide
    NAME                  CIDR           NAT    IPIPMODE   VXLANMODE   DISABLED   SELECTOR
    default-ipv4-ippool   10.42.0.0/16   true   Always     Never       false      all()
    $ ip link show vxlan.calico
    Device "vxlan.calico" does not exist.
    """
    assert finding("felix-encap-disabled", text).state == "ruled-out"
    wanted = text.replace("Always     Never ", "Never      Always")
    assert finding("felix-encap-disabled", wanted).strength >= 0.95
