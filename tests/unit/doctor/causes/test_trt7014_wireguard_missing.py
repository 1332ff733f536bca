"""TRT7014: switched on without module."""

from __future__ import annotations

from tests.support.doctor import finding

ON = "$ kubectl get felixconfiguration default -o yaml | grep -i wireguard\n  wireguardEnabled: true\n"


def test_no_module() -> None:
    answer = finding(
        "wireguard-missing", ON + "[root@c7-1 ~]# modprobe wireguard\nmodprobe: FATAL: Module wireguard not found.\n"
    )
    assert answer.strength >= 0.9
    assert answer.objects[0] == "wireguard"


def test_no_device() -> None:
    text = ON + '[root@c7-1 ~]# ip link show wireguard.cali\nDevice "wireguard.cali" does not exist.\n'
    assert finding("wireguard-missing", text).strength >= 0.8


def test_peers_are_there() -> None:
    text = ON + "[root@n1 ~]# wg show\ninterface: wireguard.cali\npeer: aBc=\n  latest handshake: 20 seconds ago\n"
    assert finding("wireguard-missing", text).state == "ruled-out"


def test_switched_on_alone_is_no_claim() -> None:
    assert finding("wireguard-missing", ON).strength < 0.8


def test_the_link_cannot_be_made() -> None:
    text = """
    # calicoctl get felixconfig default -o yaml | grep wireguard
      wireguardEnabled: true
    [root@wg-old ~]# ip link add dev wg9 type wireguard
    RTNETLINK answers: Operation not supported
    """
    answer = finding("wireguard-missing", text)
    assert answer.strength >= 0.95
    assert "wg-old" in answer.objects


def test_one_node_has_no_key() -> None:
    text = """
    $ calicoctl get felixconfig default -o yaml | grep wireguard
      wireguardEnabled: true
    $ calicoctl get node -o yaml | grep -e 'name:' -e wireguardPublicKey
        name: app-1
        wireguardPublicKey: nB1hU5dV7xq0Kp2rT8wYc3mZs6aEf9gJ4lQo1iRtX2A=
        name: app-2
    """
    answer = finding("wireguard-missing", text)
    assert answer.strength >= 0.8
    assert "app-2" in answer.objects
    assert "app-1" not in answer.objects


NAPI = (
    "2025-05-02 10:33:08.851 [WARNING][454] felix/wireguard.go 1515: failed to set NAPI threading to 0 for wireguard "
    "for interface wireguard.cali error=write /sys/class/net/wireguard.cali/threaded: operation not supported\n"
)
NOT_MADE = (
    "2021-06-25 15:22:06.592 [ERROR][65] felix/wireguard.go 902: error adding wireguard type link: operation not "
    "supported\n"
)


def test_what_is_there_is_not_missing() -> None:
    assert finding("wireguard-missing", NOT_MADE + ON).strength >= 0.8
    shown = f"{NOT_MADE}{ON}$ lsmod | grep wireguard\nwireguard  114688  0\n"
    assert finding("wireguard-missing", shown).state == "ruled-out"


def test_a_device_of_which_one_thing_cannot_be_set_is_there() -> None:
    assert finding("wireguard-missing", NAPI).state == "cannot-tell"
    assert finding("wireguard-missing", NAPI + ON).strength < 0.8


def test_felix_does_without_the_tool() -> None:
    tool = "[root@n1 ~]# wg show\n-bash: wg: command not found\n"
    link = (
        "[root@n1 ~]# ip link show wireguard.cali\n12: wireguard.cali: <POINTOPOINT,NOARP,UP,LOWER_UP> mtu 1440 qdisc "
        "noqueue state UNKNOWN mode DEFAULT group default qlen 1000\n    link/none\n"
    )
    assert 0 < finding("wireguard-missing", ON + tool).strength < 0.8
    assert finding("wireguard-missing", ON + tool + link).state == "ruled-out"


PATCHED = """
$ calicoctl patch felixconfiguration default --type='merge' -p '{"spec":{"wireguardEnabled":true}}'
Successfully patched 1 'FelixConfiguration' resource
$ ip link add wgtest type wireguard
RTNETLINK answers: Operation not supported
"""


def test_it_was_switched_on_by_a_patch() -> None:
    assert finding("wireguard-missing", PATCHED).strength >= 0.9
    assert finding("wireguard-missing", PATCHED.replace("true", "false")).strength < 0.8
