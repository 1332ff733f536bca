"""Machines and their addresses as clouds and hypervisors list them."""

from __future__ import annotations

import pytest
from tests.support.doctor import picture

from tortie.doctor.picture.facts import Machine

GCLOUD = """
$ gcloud compute instances list
NAME    ZONE            MACHINE_TYPE   PREEMPTIBLE  INTERNAL_IP  EXTERNAL_IP   STATUS
wren    europe-west1-b  n1-standard-4               10.33.0.17   35.195.8.8    RUNNING
"""
AWS = """
$ aws ec2 describe-instances --query 'Reservations[].Instances[].[InstanceId,PrivateIpAddress,Tags[0].Value]' --output table
-------------------------------------------------
|               DescribeInstances               |
+----------------------+---------------+--------+
|  i-0f2ab33c8d51e7a90 |  10.33.0.17   |  wren  |
+----------------------+---------------+--------+
"""  # noqa: E501
AZ = """
$ az vm list-ip-addresses -g lab -o table
VirtualMachine    PublicIPAddresses    PrivateIPAddresses
----------------  -------------------  --------------------
wren              52.8.8.8             10.33.0.17
"""
OPENSTACK = """
$ openstack server list
+--------------------------------------+------+--------+------------------+--------+-----------+
| ID                                   | Name | Status | Networks         | Image  | Flavor    |
+--------------------------------------+------+--------+------------------+--------+-----------+
| 0a6f2d5e-1f5c-4c33-a1de-bd6e3c5a7f10 | wren | ACTIVE | lab=10.33.0.17   | ubuntu | m1.medium |
+--------------------------------------+------+--------+------------------+--------+-----------+
"""
VIRSH = """
# virsh net-dhcp-leases default
 Expiry Time           MAC address         Protocol   IP address       Hostname   Client ID or DUID
-----------------------------------------------------------------------------------------------------
 2024-03-01 10:12:01   52:54:00:9d:11:02   ipv4       10.33.0.17/24    wren       ff:56:50:4d:98:00
"""
HCLOUD = """
$ hcloud server list
ID        NAME   STATUS    IPV4         IPV6                     PRIVATE NET          DATACENTER
4711001   wren   running   95.216.8.8   2a01:4f9:c010:1::/64     10.33.0.17 (lab)     hel1-dc2
"""
DOMAIN = """
# virsh domifaddr wren
 Name       MAC address          Protocol     Address
-------------------------------------------------------------------------------
 vnet3      52:54:00:9d:11:02    ipv4         10.33.0.17/24
"""


@pytest.mark.parametrize("text", [GCLOUD, AWS, AZ, OPENSTACK, VIRSH, HCLOUD, DOMAIN])
def test_a_machine_and_its_address(text: str) -> None:
    (machine,) = picture(text).of(Machine)
    assert "wren" in machine.names
    assert (machine.addresses, machine.stopped) == (("10.33.0.17",), False)


@pytest.mark.parametrize("text", [GCLOUD, AZ, OPENSTACK, VIRSH, HCLOUD])
def test_a_list_without_its_command(text: str) -> None:
    bare = text.strip().partition("\n")[2]
    assert [machine.addresses for machine in picture(bare).of(Machine)] == [("10.33.0.17",)]


def test_a_machine_that_is_stopped() -> None:
    assert picture(GCLOUD.replace("RUNNING", "TERMINATED")).of(Machine)[0].stopped


def test_nodes_of_kubernetes_are_no_such_list() -> None:
    nodes = "$ kubectl get nodes -o wide\nNAME   STATUS   ROLES    AGE   VERSION   INTERNAL-IP\nwren   Ready   <none>   3d   v1.23.6   10.33.0.17\n"  # noqa: E501
    assert not picture(nodes).of(Machine)
