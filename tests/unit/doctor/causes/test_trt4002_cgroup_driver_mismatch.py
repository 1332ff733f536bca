"""TRT4002: two drivers that differ; equal ones or a kill by liveness rule it out."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

from tests.support.doctor import finding

ID = "cgroup-driver-mismatch"
CYCLES = """
    Last State:     Terminated
      Reason:       Completed
      Exit Code:    0
  Normal   Killing         6m (x14 over 1h)   kubelet  Stopping container calico-node
  Normal   SandboxChanged  5m (x15 over 1h)   kubelet  Pod sandbox changed, it will be killed and re-created.
"""


def test_the_two_files_differ() -> None:
    text = f"""{CYCLES}
root@deb-2:~# grep SystemdCgroup /etc/containerd/config.toml
            SystemdCgroup = false
root@deb-2:~# grep cgroupDriver /var/lib/kubelet/config.yaml
cgroupDriver: systemd
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.95
    assert "SystemdCgroup" in answer.objects
    assert "deb-2" in answer.objects


def test_kubelet_refuses_docker() -> None:
    text = """
Jul 09 11:20:17 deb-2 kubelet[1932]: F0709 11:20:17.123456    1932 server.go:274] failed to run Kubelet: misconfiguration: kubelet cgroup driver: "systemd" is different from docker cgroup driver: "cgroupfs"
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.9


def test_equal_drivers_rule_it_out() -> None:
    text = f"""{CYCLES}
root@deb-2:~# grep SystemdCgroup /etc/containerd/config.toml
            SystemdCgroup = true
root@deb-2:~# grep cgroupDriver /var/lib/kubelet/config.yaml
cgroupDriver: systemd
"""
    assert finding(ID, text).state == "ruled-out"


def test_a_kill_by_liveness_is_another_cause() -> None:
    text = "  Normal  Killing  6m  kubelet  Container calico-node failed liveness probe, will be restarted"
    assert finding(ID, text).state == "ruled-out"


def test_a_changed_sandbox_alone_is_no_claim() -> None:
    text = (
        "  Normal   SandboxChanged  5m (x15 over 1h)   kubelet  Pod sandbox changed, it will be killed and re-created."
    )
    assert finding(ID, text).strength < 0.8


def test_a_healthy_node_shown_beside_does_not_excuse_the_sick_one() -> None:
    text = f"""{CYCLES}
root@deb-2:~# journalctl -u kubelet | grep -i CgroupDriver
Nov 18 10:44:01 deb-2 kubelet[902]: I1118 10:44:01.220 902 container_manager_linux.go:267] "Creating Container Manager object based on Node Config" nodeConfig={{CgroupRoot:/ CgroupDriver:systemd KubeletRootDir:/var/lib/kubelet}}
root@deb-2:~# crictl info | grep -i systemdcgroup
            "SystemdCgroup": false
root@deb-1:~# crictl info | grep -i systemdcgroup
            "SystemdCgroup": true
"""
    answer = finding(ID, text)
    assert answer.strength >= 0.9
    assert {"SystemdCgroup", "deb-2"} <= set(answer.objects)


def test_every_node_as_it_should_be() -> None:
    text = f"""{CYCLES}
root@deb-1:~# grep SystemdCgroup /etc/containerd/config.toml
            SystemdCgroup = true
root@deb-2:~# grep SystemdCgroup /etc/containerd/config.toml
            SystemdCgroup = true
root@deb-2:~# grep cgroupDriver /var/lib/kubelet/config.yaml
cgroupDriver: systemd
"""
    assert finding(ID, text).state == "ruled-out"


def test_both_drivers_in_prose() -> None:
    text = "新节点上的容器每隔一两分钟就退出，退出码 0。\ndocker info 里是 Cgroup Driver: cgroupfs，kubelet 配置里是 cgroupDriver: systemd。"
    answer = finding(ID, text)
    assert answer.strength >= 0.9
    assert "native.cgroupdriver" in answer.objects


DIFFERENT = 'kubelet[3120]: F0610 03:11:20.120312 3120 server.go:274] failed to run Kubelet: failed to create kubelet: misconfiguration: kubelet cgroup driver: "cgroupfs" is different from docker cgroup driver: "systemd"\n'


def test_what_kubelet_said_before_both_were_made_the_same() -> None:
    now = "$ docker info | grep -i cgroup\n Cgroup Driver: systemd\n$ grep cgroupDriver /var/lib/kubelet/config.yaml\ncgroupDriver: systemd\n"
    assert finding(ID, DIFFERENT).strength >= 0.9
    assert finding(ID, DIFFERENT + now).state == "ruled-out"


def test_agents_that_run_for_days_have_no_such_kubelet() -> None:
    pods = (
        "$ kubectl get pods -A | grep calico-node\nkube-system   calico-node-2fx9p   1/1   Running   {restarts}   3d\n"
    )
    assert finding(ID, DIFFERENT + pods.format(restarts=0)).state == "ruled-out"
    assert finding(ID, DIFFERENT + pods.format(restarts=40)).strength >= 0.9


def test_of_two_handlers_nobody_can_tell_which_is_used() -> None:
    kubelet = "root@g1:~# grep cgroupDriver /var/lib/kubelet/config.yaml\ncgroupDriver: systemd\n"
    config = "root@g1:~# grep SystemdCgroup /etc/containerd/config.toml\n            SystemdCgroup = false\n"
    assert finding(ID, config + kubelet).strength >= 0.9
    assert finding(ID, config + "            SystemdCgroup = true\n" + kubelet).strength < 0.8
    mended = "root@g1:~# grep -i systemdcgroup /etc/containerd/config.toml\n            SystemdCgroup = true\n"
    assert finding(ID, config + mended + kubelet).state == "ruled-out"


def test_machines_that_are_rebooted_every_night() -> None:
    text = """
Containers:
  calico-node:
    State:          Running
    Last State:     Terminated
      Reason:       Completed
      Exit Code:    0
      Started:      Sun, 03 Mar 2024 08:00:12 +0000
      Finished:     Sun, 03 Mar 2024 {finished}:12 +0000
    Restart Count:  31
Events:
  Normal   SandboxChanged  5m   kubelet  Pod sandbox changed, it will be killed and re-created.
$ kubectl get pods -n kube-system
NAME                READY   STATUS    RESTARTS      AGE
kube-proxy-7qj2c    1/1     Running   31 (5m ago)   {age}
etcd-n2             1/1     Running   31 (5m ago)   {age}
"""
    assert finding(ID, text.format(finished="23:00", age="31d")).strength < 0.8
    assert finding(ID, text.format(finished="08:03", age="4h")).strength >= 0.8


IN_STEP = """
$ kubectl get pods -n kube-system
etcd-deb-2             1/1   Running            9 (3m ago)    19m
kube-proxy-5jxwt       0/1   CrashLoopBackOff   8 (104s ago)  18m
  Normal   SandboxChanged  5m (x15 over 1h)   kubelet  Pod sandbox changed, it will be killed and re-created.
root@deb-2:~# grep cgroupDriver /var/lib/kubelet/config.yaml
cgroupDriver: systemd
"""
NO_FILE = """root@deb-2:~# cat /etc/containerd/config.toml
cat: /etc/containerd/config.toml: No such file or directory
"""


def test_containerd_without_a_file_uses_the_other_driver() -> None:
    answer = finding(ID, IN_STEP + NO_FILE)
    assert (answer.rule, answer.strength >= 0.9) == ("nothing-configured", True)
    no_line = (
        IN_STEP + "root@deb-2:~# grep SystemdCgroup /etc/containerd/config.toml\nroot@deb-2:~# uptime\n up 3 days\n"
    )
    assert finding(ID, no_line).rule == "nothing-configured"


def test_a_missing_file_means_nothing_where_another_runtime_or_a_distribution_brings_its_own() -> None:
    nodes = "$ kubectl get nodes -o wide\nNAME    STATUS  ROLES           AGE   VERSION   INTERNAL-IP  EXTERNAL-IP  OS-IMAGE    KERNEL-VERSION   CONTAINER-RUNTIME\n"
    crio = (
        nodes
        + "deb-2   Ready   control-plane   19m   v1.24.1   10.1.1.2   <none>   Debian 12   6.1.0-18-amd64   cri-o://1.24.1\n"
    )
    assert finding(ID, IN_STEP + NO_FILE + crio).rule != "nothing-configured"
    own = crio.replace("v1.24.1 ", "v1.24.1+k3s1 ").replace("cri-o", "containerd")
    assert finding(ID, IN_STEP + NO_FILE + own).rule != "nothing-configured"


def test_a_missing_file_without_cycles_says_nothing() -> None:
    assert finding(ID, NO_FILE).state == "cannot-tell"


HANDLERS = """
root@deb-2:~# grep -nE 'default_runtime_name|runtimes|SystemdCgroup' /etc/containerd/config.toml
79:      default_runtime_name = "{default}"
98:      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
104:        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
106:          SystemdCgroup = false
125:        [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
137:          SystemdCgroup = true
root@deb-2:~# grep cgroupDriver /var/lib/kubelet/config.yaml
cgroupDriver: systemd
"""


def test_of_several_handlers_the_default_one_counts() -> None:
    assert finding(ID, CYCLES + HANDLERS.format(default="nvidia")).strength >= 0.95
    assert finding(ID, CYCLES + HANDLERS.format(default="runc")).state == "ruled-out"
