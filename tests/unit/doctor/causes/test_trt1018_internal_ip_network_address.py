"""TRT1018: a network's address is registered for a node."""

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.catalogue import cause_named
from tortie.doctor.causes.cause import LIKELY, PROVEN, STRONG

ID = "internal-ip-network-address"
LOG = """
$ kubectl -n kube-system logs calico-node-p8w4k
2022-05-11 09:00:01.101 [INFO][9] startup/utils.go 139: Determined node name: heron
2022-05-11 09:00:01.151 [INFO][9] startup/autodetection_methods.go 225: Including CIDR information from host interface. CIDR="10.8.3.17/24"
2022-05-11 09:00:01.152 [INFO][9] startup/startup.go 559: Node IPv4 changed, will check for conflicts
2022-05-11 09:00:01.155 [WARNING][9] startup/startup.go 983: Calico node 'egret' is already using the IPv4 address 10.8.3.0.
2022-05-11 09:00:01.163 [WARNING][9] startup/utils.go 49: Terminating
"""  # noqa: E501
V6 = """
2022-05-11 09:00:01.151 [INFO][9] startup/autodetection_methods.go 225: Including CIDR information from host interface. CIDR="fd00:8:3:0:5::17/64"
2022-05-11 09:00:01.155 [WARNING][9] startup/startup.go 990: Calico node 'egret' is already using the IPv6 address fd00:8:3::.
2022-05-11 09:00:01.163 [WARNING][9] startup/utils.go 49: Terminating
"""  # noqa: E501
REGISTERED = """
$ calicoctl get node -o wide
NAME    ASN       IPV4           IPV6
egret   (64512)   10.8.3.0/24
"""


def test_the_log_shows_the_hosts_address_and_the_networks() -> None:
    answer = finding(ID, LOG)
    assert answer.strength >= PROVEN
    assert answer.culprits[0].name == "10.8.3.0"
    assert answer.value("node") == "heron"


def test_the_same_with_ipv6() -> None:
    answer = finding(ID, V6)
    assert answer.strength >= PROVEN
    assert answer.culprits[0].name == "fd00:8:3::"


def test_a_registered_network_with_a_release_that_does_so() -> None:
    answer = finding(ID, REGISTERED + "image: docker.io/calico/node:v3.22.1\n")
    assert answer.strength >= STRONG
    assert finding(ID, REGISTERED).strength >= LIKELY
    assert finding(ID, REGISTERED + "image: docker.io/calico/node:v3.26.1\n").strength < LIKELY


def test_an_address_that_a_host_can_have_is_another_cause() -> None:
    assert finding(ID, LOG.replace("address 10.8.3.0.", "address 10.8.3.17.")).state != "found"
    wide = REGISTERED.replace("10.8.3.0/24", "10.8.3.0/16")
    assert finding(ID, wide).state != "found"


def test_another_method_rules_it_out() -> None:
    text = (
        REGISTERED + "$ kubectl set env ds/calico-node -n kube-system --list\nIP_AUTODETECTION_METHOD=interface=ens3\n"
    )
    assert finding(ID, text).state == "ruled-out"


def test_the_method_alone_says_nothing() -> None:
    text = LOG.splitlines()[3] + "\n"
    assert finding(ID, text).state == "cannot-tell"


def test_a_start_that_went_on_is_history() -> None:
    ready = "$ kubectl -n kube-system get pods\nNAME                READY   STATUS    RESTARTS   AGE\ncalico-node-p8w4k   1/1     Running   6          3h\n"  # noqa: E501
    assert finding(ID, LOG + ready).state != "found"


def test_the_fix_names_the_hosts_network_for_these_releases() -> None:
    seen = picture(LOG + "image: docker.io/calico/node:v3.22.1\n")
    cause = cause_named(ID)
    assert cause is not None
    commands = [step.command for step in cause.fix(seen, cause.judge(seen))]
    assert any("IP_AUTODETECTION_METHOD=cidr=10.8.3.0/24" in command for command in commands)


def test_a_link_that_somebody_quotes_carries_the_address() -> None:
    ended = "Calico node 'egret' is already using the IPv4 address 10.8.3.0.\nTerminating\n"
    assert finding(ID, ended).strength >= LIKELY
    assert finding(ID, ended + "egret: inet 10.8.3.0/16 brd 10.8.255.255 scope global eth0\n").state == "ruled-out"


LINK_OF_TWO = """
heron # ip -4 addr show eth0
2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP group default qlen 1000
    inet 10.8.3.17/31 scope global eth0
$ kubectl get nodes -o wide
NAME    STATUS   ROLES    AGE   VERSION   INTERNAL-IP   EXTERNAL-IP
heron   Ready    <none>   3d    v1.23.6   10.8.3.17     <none>
egret   Ready    <none>   3d    v1.23.6   10.8.3.33     <none>
$ kubectl -n calico-system set env ds/calico-node --list
IP_AUTODETECTION_METHOD=kubernetes-internal-ip
image: docker.io/calico/node:v3.22.2
$ calicoctl get node -o wide
NAME    ASN       IPV4           IPV6
heron   (64512)   10.8.3.16/31
"""


def test_on_a_link_of_two_the_first_address_is_the_other_ends() -> None:
    answer = finding(ID, LINK_OF_TWO)
    assert answer.strength >= PROVEN
    assert (answer.say, answer.culprits[0].name) == ("of-two", "10.8.3.16")
    assert finding("node-ip-changed", LINK_OF_TWO).state != "found"
    assert finding("autodetect-wrong-interface", LINK_OF_TWO).state != "found"


def test_on_a_link_of_two_a_node_may_have_the_first_address() -> None:
    own = LINK_OF_TWO.replace("10.8.3.17", "10.8.3.16")
    assert finding(ID, own).state != "found"
    # Recorded is an address of another link: it was that node's before.
    assert finding(ID, LINK_OF_TWO.replace("10.8.3.16/31", "10.8.3.14/31")).state != "found"
    assert finding("node-ip-changed", LINK_OF_TWO.replace("10.8.3.16/31", "10.8.3.14/31")).state == "found"
