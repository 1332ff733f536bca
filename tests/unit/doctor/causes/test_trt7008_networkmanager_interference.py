"""TRT7008: who manages the interfaces, and whose routes vanish."""

from __future__ import annotations

from tests.support.doctor import finding


def test_networkmanager_takes_an_interface() -> None:
    text = """
    [root@rh-5 ~]# journalctl -u NetworkManager | grep cali | tail -2
    Mar 11 02:10:41 rh-5 NetworkManager[1022]: <info>  [1710123041.1] device (cali4c1f0a9b7de): state change: ip-config -> failed (reason 'ip-config-unavailable', sys-iface-state: 'managed')
    [root@rh-5 ~]# timeout 60 ip monitor route | grep cali
    Deleted 10.42.7.19 dev cali4c1f0a9b7de scope link
    """  # noqa: E501
    answer = finding("networkmanager-interference", text)
    assert answer.strength >= 0.95
    assert {"NetworkManager", "cali4c1f0a9b7de"} <= set(answer.objects)


def test_networkd_configures_it() -> None:
    text = """
    Pods have no network in their first minute.
    core@flat-2 ~ $ networkctl list | grep cali
     17 cali0b1a2c3d4e5 ether    degraded   configuring
    core@flat-2 ~ $ timeout 90 ip monitor route | grep cali
    Deleted 10.2.9.4 dev cali0b1a2c3d4e5 scope link
    """
    answer = finding("networkmanager-interference", text)
    assert answer.strength >= 0.8
    assert answer.objects[0] == "systemd-networkd"


def test_unmanaged_is_no_fault() -> None:
    text = """
    [root@rh-5 ~]# nmcli dev | grep -e cali -e tunl
    cali4c1f0a9b7de  ethernet  unmanaged  --
    tunl0            iptunnel  unmanaged  --
    """
    assert finding("networkmanager-interference", text).state == "ruled-out"


def test_another_device_that_connects_means_nothing() -> None:
    text = "[root@rh-5 ~]# nmcli dev\nens4  ethernet  connecting (getting IP configuration)  Wired connection 1"
    assert finding("networkmanager-interference", text).strength < 0.8


def test_networkd_says_which_file_it_applies() -> None:
    text = """
    core@flat-2 ~ $ networkctl status cali0b1a2c3d4e5
    ● 17: cali0b1a2c3d4e5
              Network File: /etc/systemd/network/10-dhcp.network
                     State: degraded (configuring)
    core@flat-2 ~ $ timeout 90 ip monitor route | grep cali
    Deleted 10.2.9.4 dev cali0b1a2c3d4e5 scope link
    """
    answer = finding("networkmanager-interference", text)
    assert answer.strength >= 0.9
    assert "cali0b1a2c3d4e5" in answer.objects


def test_the_file_of_networkd_is_named() -> None:
    text = """
core@fl-3 ~ $ networkctl status cali0a1b2c3d4e5
● 44: cali0a1b2c3d4e5
          Network File: /run/systemd/network/zz-default.network
                 State: routable (configured)
"""
    assert "/run/systemd/network/zz-default.network" in finding("networkmanager-interference", text).objects


def test_any_service_that_takes_the_links_down() -> None:
    text = """
    root@wk-21:~# ip -br link | grep cali
    cali5c6f0e2b971@if4 DOWN           ee:ee:ee:ee:ee:ee <BROADCAST,MULTICAST>
    root@wk-21:~# journalctl -u netscript | tail -1
    May 28 06:22:10 wk-21 netscript[40213]: Interface cali5c6f0e2b971 not configured, taking it down.
    """
    answer = finding("networkmanager-interference", text)
    assert answer.strength >= 0.95
    assert answer.objects[0] == "netscript"
    gone = text.replace("netscript[40213]: Interface cali5c6f0e2b971 not configured, taking it down.",
                        "dhcpcd[812]: cali5c6f0e2b971: removing interface")  # fmt: skip
    assert finding("networkmanager-interference", gone).state != "found"


def test_networkd_that_lists_links_does_no_harm_by_that() -> None:
    listed = "$ networkctl\nIDX LINK             TYPE     OPERATIONAL SETUP\n"
    listed += "  9 cali1a2b3c4d5e6  ether    degraded    configured\n"
    pods = "$ kubectl -n kube-system get pods\ncalico-node-5k2jv   1/1   Running   0   12d\n"
    assert finding("networkmanager-interference", listed).strength >= 0.8
    assert finding("networkmanager-interference", listed + pods).strength < 0.8


SWEPT = """
root@ip-51-9:~# journalctl -u systemd-networkd -n 2 --no-pager
Jul 27 06:41:12 ip-51-9 systemd[1]: Starting Network Service...
Jul 27 06:41:12 ip-51-9 systemd[1]: Started Network Service.
root@ip-51-9:~# ip -ts monitor route | grep cali
[2021-07-27T06:41:12.804112] Deleted 100.96.4.17 dev cali6f0b21d7aa3 scope link
[2021-07-27T06:41:12.804140] Deleted 100.96.4.21 dev calie91c04b7d52 scope link
root@ip-51-9:~# networkctl list | grep cali
 11 cali6f0b21d7aa3 ether    degraded    unmanaged
"""


def test_networkd_deletes_routes_of_links_that_it_does_not_manage() -> None:
    answer = finding("networkmanager-interference", SWEPT)
    assert (answer.rule, "systemd-networkd" in answer.objects) == ("swept", True)
    assert answer.strength >= 0.9
    still = "\n".join(line for line in SWEPT.splitlines() if "Network Service" not in line)
    assert finding("networkmanager-interference", still).state == "ruled-out"


HURTS = """
{told}

$ nmcli dev
DEVICE           TYPE      STATE                   CONNECTION
eno1             ethernet  connected               eno1
cali0b6e8a3dcf6  ethernet  {state}  --
"""


def test_pods_lose_their_routes_whenever_the_manager_begins_anew() -> None:
    for told in (
        "Every time NetworkManager is restarted, pods on the node lose their network for some seconds.",
        "每次重启 NetworkManager 之后，节点上的 Pod 路由就会丢失。",
    ):
        answer = finding("networkmanager-interference", HURTS.format(told=told, state="connected (externally)"))
        assert (answer.rule, answer.strength >= 0.9) == ("restart-hurts", True)
        left_alone = finding("networkmanager-interference", HURTS.format(told=told, state="unmanaged"))
        assert left_alone.state == "ruled-out"


def test_a_restart_that_hurts_nobody_says_nothing() -> None:
    told = "I have restarted NetworkManager twice since then, to be sure. Pods cannot reach the registry."
    answer = finding("networkmanager-interference", HURTS.format(told=told, state="connected (externally)"))
    assert answer.state != "found"
