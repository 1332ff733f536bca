"""TRT1006 by two names of one host: the one of before still stands in Calico's records."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

from tests.support.doctor import finding

ID = "stale-node-entry"

OLD = "ERROR: IP address 10.42.8.22 is already in use by host wren. Calico requires each compute host to have a unique IP."
HOSTNAME = "\n# hostname\nwren.corp.example\n"
KEYS = """
# etcdctl ls /calico/v1/host
/calico/v1/host/finch.corp.example
/calico/v1/host/wren
/calico/v1/host/wren.corp.example
"""
NODES = """
$ kubectl get nodes
NAME                 STATUS   AGE   VERSION
finch.corp.example   Ready    9d    v1.18.4
wren.corp.example    Ready    1h    v1.18.4
"""
WIDE = """
$ calicoctl get nodes -o wide
NAME                 ASN       IPV4            IPV6
finch.corp.example   (64512)   10.42.8.21/24
wren                 (64512)   10.42.8.22/24
wren.corp.example    (64512)   {}/24
"""


def test_the_message_of_old_releases_and_the_hosts_own_name() -> None:
    answer = finding(ID, "# docker logs calico-node\n" + OLD + HOSTNAME)
    assert (answer.state, answer.strength >= 0.9) == ("found", True)
    assert answer.objects[:2] == ("wren", "10.42.8.22")


def test_that_message_alone_stays_open() -> None:
    assert finding(ID, "# docker logs calico-node\n" + OLD).strength < 0.8


def test_the_log_names_the_host_in_full() -> None:
    log = (
        '2018-09-11 04:35:07.278 [INFO][9] startup.go 332: Building new node resource Name="wren.corp.example"\n'
        "2018-09-11 04:35:07.301 [WARNING][9] startup.go 757: Calico node 'wren' is already using the IPv4 address 10.42.8.22.\n"
        "2018-09-11 04:35:07.301 [WARNING][9] startup.go 943: Terminating\n"
    )
    assert finding(ID, "$ kubectl logs calico-node-x7k2p -n kube-system\n" + log).strength >= 0.9


def test_both_names_with_one_address() -> None:
    text = "BIRD is not ready: BGP not established with 10.42.8.22\n" + WIDE.format("10.42.8.22") + NODES
    assert finding(ID, text).strength >= 0.9
    assert finding("nodename-mismatch", text).state == "ruled-out"


def test_keys_of_etcd_and_a_host_that_was_made_anew() -> None:
    text = "The worker wren was reinstalled with its full name, now calico-node on it is not ready.\n" + KEYS + NODES
    assert finding(ID, text).strength >= 0.8
    assert finding("nodename-mismatch", text).state == "ruled-out"


def test_two_addresses_are_two_machines() -> None:
    text = "BIRD is not ready: BGP not established with 10.42.8.22\n" + WIDE.format("10.42.8.23") + NODES
    assert finding(ID, text).state != "found"


def test_a_name_that_the_plugin_uses_is_a_mismatch() -> None:
    plugin = '\n[root@wren ~]# cat /etc/cni/net.d/10-calico.conf\n{"type": "calico", "hostname": "wren"}\n'
    text = "pods on wren are unreachable\n" + WIDE.format("10.42.8.22") + NODES + plugin
    assert finding("nodename-mismatch", text).strength >= 0.9
    assert finding(ID, text).state != "found"
