"""TRT4005: kubelet, the kernel or df say that the disk is full; memory and inotify limits are other matters."""

# ruff: noqa: E501 - evidence stands as people paste it

from __future__ import annotations

from tests.support.doctor import finding

ID = "disk-pressure"


def test_evicted_for_storage_on_a_full_disk() -> None:
    text = """
$ kubectl -n kube-system get pod -o wide | grep calico-node
calico-node-ff8wd   0/1   Evicted   0   12m   <none>   arc-5   <none>   <none>
$ kubectl -n kube-system describe pod calico-node-ff8wd | grep Message
Message:        The node was low on resource: ephemeral-storage. Container calico-node was using 41Mi, which exceeds its request of 0.
[root@arc-5 ~]# df -h /
Filesystem      Size  Used Avail Use% Mounted on
/dev/vda1        40G   40G   20K 100% /
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.95
    assert "arc-5" in answer.objects


def test_the_condition_alone() -> None:
    text = """
$ kubectl describe node arc-5
Name:               arc-5
Conditions:
  Type             Status  LastHeartbeatTime                 LastTransitionTime                Reason                     Message
  ----             ------  -----------------                 ------------------                ------                     -------
  DiskPressure     True    Wed, 12 Jan 2022 10:00:00 +0000   Wed, 12 Jan 2022 09:01:10 +0000   KubeletHasDiskPressure     kubelet has disk pressure
  Ready            True    Wed, 12 Jan 2022 10:00:00 +0000   Wed, 12 Jan 2022 09:01:10 +0000   KubeletReady               kubelet is posting ready status
"""
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "arc-5" in answer.objects


def test_a_file_cannot_be_written() -> None:
    text = "install-cni 日志：\ncp: error writing '/host/opt/cni/bin/calico': No space left on device"
    assert finding(ID, text).strength >= 0.8


def test_memory_is_another_matter() -> None:
    text = "Message: The node was low on resource: memory. Container calico-node was using 300Mi, which exceeds its request of 0."
    assert finding(ID, text).state == "ruled-out"


def test_inotify_watches_are_no_disk() -> None:
    text = "E0112 10:00:00.000000 1 fsnotify.go:20] failed to create inotify watch: no space left on device"
    assert finding(ID, text).state != "found"


def test_groups_of_the_kernel_are_no_disk() -> None:
    line = "Warning  FailedCreatePodContainer  2m  kubelet  unable to ensure pod container exists: mkdir {path}/pod1d4f: no space left on device\n"
    assert finding(ID, line.format(path="/sys/fs/cgroup/memory/kubepods/burstable")).state != "found"
    assert finding(ID, line.format(path="/var/lib/kubelet/pods")).strength >= 0.9


def test_another_disk_may_be_full_where_the_nodes_have_room() -> None:
    room = "[root@c7 ~]# df -h\nFilesystem               Size  Used Avail Use% Mounted on\n/dev/mapper/centos-root  200G   {used}\n"
    tar = "tar: Error is not recoverable: write error: No space left on device\n"
    assert finding(ID, tar + room.format(used="61G  140G  31% /")).strength < 0.8
    assert finding(ID, tar + room.format(used="199G  1G  99% /")).strength >= 0.9


def test_calicos_own_file_and_room_are_a_matter_of_inodes() -> None:
    line = "Failed to write kubeconfig error=open /host/etc/cni/net.d/calico-kubeconfig: no space left on device\n"
    room = "[root@c7 ~]# df -h\nFilesystem               Size  Used Avail Use% Mounted on\n/dev/mapper/centos-root  200G   61G  140G  31% /\n"
    assert finding(ID, line + room).state == "found"


def test_an_eviction_of_another_day() -> None:
    low = (
        "Message: The node was low on resource: ephemeral-storage. Threshold quantity: 3221225472, available: 2861Mi.\n"
    )
    room = "[root@c7 ~]# df -h\nFilesystem               Size  Used Avail Use% Mounted on\n/dev/mapper/centos-root  200G   61G  140G  31% /\n"
    assert finding(ID, low).strength >= 0.9
    assert finding(ID, low + room).strength < 0.8


def test_the_scheduler_names_the_taint_that_kubelet_sets() -> None:
    event = (
        "Warning  FailedScheduling  88s  default-scheduler  0/1 nodes are available: 1 node(s) had {words} "
        "{{node.kubernetes.io/disk-pressure: }}.\n"
    )
    for words in ("untolerated taint", "taint"):
        assert finding("disk-pressure", event.format(words=words)).strength >= 0.9
    tolerated = "Tolerations:  op=Exists\n   node.kubernetes.io/disk-pressure:NoSchedule op=Exists\n"
    assert finding("disk-pressure", tolerated).state == "cannot-tell"


AGAIN_ROOM = """
$ kubectl get events -A | grep -i disk
default   {full}   Warning   FreeDiskSpaceFailed    node/sto-1   failed to garbage collect required amount of images. Wanted to free 6160261120 bytes, but freed 0 bytes
default   {room}   Normal    NodeHasNoDiskPressure  node/sto-1   Node sto-1 status is now: NodeHasNoDiskPressure
$ kubectl get nodes
NAME    STATUS   ROLES    AGE    VERSION
sto-1   {status}   <none>   100d   v1.25.3
"""


def test_kubelet_says_that_there_is_room_again() -> None:
    over = finding("disk-pressure", AGAIN_ROOM.format(full="3h12m", room="3h2m", status="Ready"))
    assert (over.state, over.rule) == ("ruled-out", "relieved")
    before = finding("disk-pressure", AGAIN_ROOM.format(full="4m", room="3h2m", status="Ready"))
    assert before.state == "found"
    assert finding("disk-pressure", AGAIN_ROOM.format(full="3h12m", room="3h2m", status="NotReady")).state == "found"
