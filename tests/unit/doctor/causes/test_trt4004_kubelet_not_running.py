"""TRT4004: kubelet is dead or silent; swap and a machine that does not answer are other causes."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

from tests.support.doctor import finding

ID = "kubelet-not-running"
UNKNOWN = """
$ kubectl describe node ops-4
Name:               ops-4
Roles:              <none>
Taints:             node.kubernetes.io/unreachable:NoExecute
                    node.kubernetes.io/unreachable:NoSchedule
Conditions:
  Type             Status    LastHeartbeatTime                 LastTransitionTime                Reason              Message
  ----             ------    -----------------                 ------------------                ------              -------
  MemoryPressure   Unknown   Tue, 05 Oct 2021 02:00:00 +0000   Tue, 05 Oct 2021 02:01:10 +0000   NodeStatusUnknown   Kubelet stopped posting node status.
  DiskPressure     Unknown   Tue, 05 Oct 2021 02:00:00 +0000   Tue, 05 Oct 2021 02:01:10 +0000   NodeStatusUnknown   Kubelet stopped posting node status.
  Ready            Unknown   Tue, 05 Oct 2021 02:00:00 +0000   Tue, 05 Oct 2021 02:01:10 +0000   NodeStatusUnknown   Kubelet stopped posting node status.
Addresses:
  InternalIP:  10.40.0.4
  Hostname:    ops-4
"""


def test_the_unit_failed() -> None:
    text = """
root@ops-4:~# systemctl status kubelet --no-pager
● kubelet.service - kubelet: The Kubernetes Node Agent
     Loaded: loaded (/lib/systemd/system/kubelet.service; enabled; vendor preset: enabled)
     Active: activating (auto-restart) (Result: exit-code) since Tue 2021-10-05 03:00:00 UTC; 2s ago
    Process: 5021 ExecStart=/usr/bin/kubelet (code=exited, status=1/FAILURE)
root@ops-4:~# journalctl -u kubelet -n 1 --no-pager -o cat
E1005 03:00:00.121212    5021 server.go:292] "Failed to run kubelet" err="failed to run Kubelet: unable to load bootstrap kubeconfig: stat /etc/kubernetes/bootstrap-kubelet.conf: no such file or directory"
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "ops-4" in answer.objects
    assert "bootstrap-kubelet.conf" in answer.why.en


def test_the_api_alone_cannot_tell_kubelet_from_machine() -> None:
    answer = finding(ID, UNKNOWN)
    assert answer.state == "found"
    assert answer.strength < 0.8
    assert "ops-4" in answer.objects
    assert "ping" in answer.why.en


def test_a_host_that_answers_makes_it_sure() -> None:
    text = f"""{UNKNOWN}
$ ping -c1 10.40.0.4
PING 10.40.0.4 (10.40.0.4) 56(84) bytes of data.
64 bytes from 10.40.0.4: icmp_seq=1 ttl=64 time=0.311 ms

--- 10.40.0.4 ping statistics ---
1 packets transmitted, 1 received, 0% packet loss, time 0ms
"""
    assert finding(ID, text).strength >= 0.9


def test_a_silent_machine_is_another_cause() -> None:
    text = f"""{UNKNOWN}
$ ping -c2 10.40.0.4
PING 10.40.0.4 (10.40.0.4) 56(84) bytes of data.

--- 10.40.0.4 ping statistics ---
2 packets transmitted, 0 received, 100% packet loss, time 1003ms
"""
    assert finding(ID, text).state == "ruled-out"


def test_swap_is_another_cause() -> None:
    text = "kubelet[88]: F0819 07:00:31.551021 88 server.go:266] failed to run Kubelet: Running with swap on is not supported, please"
    assert finding(ID, text).state == "ruled-out"


def test_not_ready_alone_is_no_claim() -> None:
    text = "$ kubectl get nodes\nNAME    STATUS     ROLES    AGE   VERSION\nops-4   NotReady   <none>   80d   v1.21.4"
    assert finding(ID, text).strength < 0.8


def test_a_refused_cgroup_driver_is_another_cause() -> None:
    text = 'F0709 11:20:17.123456    1932 server.go:274] failed to run Kubelet: misconfiguration: kubelet cgroup driver: "systemd" is different from docker cgroup driver: "cgroupfs"'
    assert finding(ID, text).state == "ruled-out"


def test_a_filtered_port_is_no_dead_machine() -> None:
    text = """
$ nc -vz -w3 10.40.0.4 5473
nc: connect to 10.40.0.4 port 5473 (tcp) timed out
$ kubectl -n calico-system get pod -o wide | grep calico-node
calico-node-c7jkp   0/1   Running   0   2h   10.40.0.4   ops-4
"""
    assert finding(ID, text).state != "ruled-out"
    assert finding(ID, UNKNOWN + text).state == "found"


def test_a_silent_node_that_does_not_answer_is_down() -> None:
    text = UNKNOWN + "\n$ ping -c2 ops-4\n2 packets transmitted, 0 received, 100% packet loss, time 1012ms\n"
    text = text.replace("2 packets", "PING ops-4 (10.40.0.4) 56(84) bytes of data.\n2 packets")
    assert finding(ID, text).state == "ruled-out"


def test_a_machine_on_which_somebody_types_is_not_down() -> None:
    text = """
workers are powered off every weekend, some of them were off for several weeks.

$ kubectl get node
NAME        STATUS     ROLES    AGE    VERSION
worker-07   NotReady   <none>   366d   v1.31.6
[root@worker-07 ~]# systemctl status kubelet --no-pager | head -3
● kubelet.service - kubelet: The Kubernetes Node Agent
     Loaded: loaded (/usr/lib/systemd/system/kubelet.service; enabled; preset: disabled)
     Active: activating (auto-restart) (Result: exit-code) since Mon 2026-04-20 06:14:28 UTC; 4s ago
"""
    answer = finding(ID, text)
    assert answer.strength >= 0.9
    assert "worker-07" in answer.objects


def test_every_kubelet_fails_before_its_node_has_joined() -> None:
    journal = '[root@n2 ~]# journalctl -u kubelet | head -1\nJan 10 10:00:00 n2 kubelet[800]: E0110 10:00:00.120000     800 server.go:205] "Failed to load kubelet config file" err="failed to load Kubelet config file /var/lib/kubelet/config.yaml, error: open /var/lib/kubelet/config.yaml: no such file or directory"\n'
    status = "[root@n2 ~]# systemctl status kubelet\n● kubelet.service - kubelet: The Kubernetes Node Agent\n     Active: {state}\n"
    assert (
        finding(
            ID, journal + status.format(state="active (running) since Tue 2024-01-10 10:03:10 UTC; 2 days ago")
        ).state
        == "ruled-out"
    )
    assert finding(ID, journal + status.format(state="activating (auto-restart) (Result: exit-code)")).strength >= 0.9


RKE2 = """
root@{host}:~# systemctl status rke2-agent
● rke2-agent.service - Rancher Kubernetes Engine v2 (agent)
     Loaded: loaded (/usr/local/lib/systemd/system/rke2-agent.service; disabled)
     Active: inactive (dead)

$ kubectl get nodes
NAME    STATUS     ROLES                       AGE   VERSION
agt-1   NotReady   <none>                      20d   v1.27.6+rke2r1
srv-1   Ready      control-plane,etcd,master   20d   v1.27.6+rke2r1
"""


def test_a_distribution_has_kubelet_in_a_unit_of_its_own() -> None:
    answer = finding(ID, RKE2.format(host="agt-1"))
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "rke2-agent" in answer.objects


def test_the_unit_of_an_agent_never_runs_on_a_server() -> None:
    answer = finding(ID, RKE2.format(host="srv-1"))
    assert answer.strength < 0.5
