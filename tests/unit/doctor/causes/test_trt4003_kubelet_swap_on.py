"""TRT4003: kubelet's own line about swap; a kubelet that accepts swap, or another fatal line, is not it."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

from tests.support.doctor import finding

ID = "kubelet-swap-on"
REFUSED = (
    "Aug 19 07:00:31 Rack7-B kubelet[9127]: F0819 07:00:31.551021    9127 server.go:266] failed to run Kubelet: Running with swap "
    "on is not supported, please disable swap! or set --fail-swap-on flag to false. /proc/swaps contained: "
    "[Filename                                Type                Size        Used        Priority /dev/dm-1"
    "                               partition        8388604        0        -2]"
)


def test_the_journal_names_host_and_device() -> None:
    text = f"""
$ kubectl get nodes
NAME      STATUS     ROLES    AGE   VERSION
rack7-a   Ready      master   80d   v1.17.4
rack7-b   NotReady   <none>   80d   v1.17.4
[root@Rack7-B ~]# journalctl -u kubelet -n 1 --no-pager
{REFUSED}
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "rack7-b" in answer.objects
    assert "/dev/dm-1" in answer.objects


def test_cut_at_the_screen() -> None:
    answer = finding(ID, "机房断电重启后节点 NotReady\n" + REFUSED[:210])
    assert answer.state == "found"
    assert answer.strength >= 0.9


def test_swap_and_a_dead_kubelet_without_its_words() -> None:
    text = """
root@sg-3:~# systemctl status kubelet
● kubelet.service - kubelet: The Kubernetes Node Agent
   Loaded: loaded (/lib/systemd/system/kubelet.service; enabled; vendor preset: enabled)
   Active: activating (auto-restart) (Result: exit-code) since Mon 2021-03-01 10:00:00 UTC; 4s ago
root@sg-3:~# cat /proc/swaps
Filename                                Type            Size    Used    Priority
/swapfile                               file            2097148 0       -2
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.8
    assert "/swapfile" in answer.objects


def test_another_fatal_line() -> None:
    text = 'F0819 07:00:31.551021    9127 server.go:266] failed to run Kubelet: unable to load client CA file "/etc/kubernetes/pki/ca.crt"'
    assert finding(ID, text).state != "found"


def test_swap_that_kubelet_accepts() -> None:
    text = "root@sg-3:~# grep -i swap /var/lib/kubelet/config.yaml\nfailSwapOn: false"
    assert finding(ID, text).state == "ruled-out"


def test_a_line_that_the_screen_cut() -> None:
    text = """
[root@k-3 ~]# systemctl status kubelet | grep Active
   Active: activating (auto-restart) (Result: exit-code) since Thu 2021-07-01 08:00:00 CST; 4s ago
[root@k-3 ~]# tail -1 /var/log/messages
Jul  1 08:00:00 k-3 kubelet: F0701 08:00:00.123456    2211 server.go:273] failed to run Kubelet: Running with swap on is not suppo
"""
    answer = finding(ID, text)
    assert answer.strength >= 0.9
    assert "k-3" in answer.objects


def test_where_swap_is_off_and_kubelet_runs_the_refusal_is_history() -> None:
    journal = """
        [root@worker-3 ~]# journalctl -u kubelet -n 5 --no-pager
        Nov 16 15:54:38 worker-3 kubelet[6788]: F1116 15:54:38.122335    6788 server.go:274] failed to run Kubelet: \
        running with swap on is not supported, please disable swap!
        [root@worker-3 ~]# systemctl status kubelet --no-pager
        ● kubelet.service - kubelet: The Kubernetes Node Agent
           Active: active (running) since Mon 2026-11-16 15:55:02 UTC; 2min ago
"""
    swaps = """
        [root@worker-3 ~]# cat /proc/swaps
        Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority
"""
    device = "        /dev/sda3                               partition\t27992060\t0\t-2\n"
    assert finding("kubelet-swap-on", journal + swaps).state == "ruled-out"
    assert finding("kubelet-swap-on", journal + swaps + device).state == "found"
    assert finding("kubelet-swap-on", journal).state == "found"


def test_nodes_that_are_all_ready_have_no_such_kubelet() -> None:
    line = "kubelet[5211]: failed to run Kubelet: running with swap on is not supported, please disable swap! or set --fail-swap-on flag to false.\n"
    nodes = "$ kubectl get nodes\nNAME   STATUS   ROLES    AGE   VERSION\ns1     {status}   <none>   10d   v1.28.2\n"
    assert finding(ID, line + nodes.format(status="Ready")).state == "ruled-out"
    assert finding(ID, line + nodes.format(status="NotReady")).strength >= 0.9


AGAIN = """
{what} node deb-2 is NotReady.
root@deb-2:~# systemctl status kubelet
   Active: activating (auto-restart) (Result: exit-code) since Tue 2021-06-08 20:14:31 CST; 4s ago
  Process: 3377 ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS (code=exited, status=255)
 Main PID: 3377 (code=exited, status=255)
root@deb-2:~# free -m
              total        used        free      shared  buff/cache   available
Swap:          {swap}           0        {swap}
"""


def test_kubelet_ends_again_and_again_since_a_reboot_with_swap_on() -> None:
    assert finding("kubelet-swap-on", AGAIN.format(what="After a reboot", swap=2047)).strength >= 0.9
    assert finding("kubelet-swap-on", AGAIN.format(what="Since yesterday", swap=2047)).strength < 0.9
    assert finding("kubelet-swap-on", AGAIN.format(what="After a reboot", swap=0)).strength < 0.8
