"""TRT6008: a host path that cannot be created or replaced."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

from tests.support.doctor import finding, fixes


def test_flexvol_on_an_immutable_system() -> None:
    answer = finding(
        "host-path-readonly",
        """
        Events:
          Type     Reason       Age                 From     Message
          ----     ------       ----                ----     -------
          Warning  FailedMount  12s (x9 over 2m)    kubelet  MountVolume.SetUp failed for volume "flexvol-driver-host" : mkdir /usr/libexec/kubernetes: read-only file system
        """,
    )
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "/usr/libexec/kubernetes" in answer.objects
    assert "flexvol-driver-host" in answer.objects


def test_install_cni_on_a_read_only_root() -> None:
    answer = finding(
        "host-path-readonly",
        """
        $ kubectl logs calico-node-x -c install-cni | tail -1
        2023-05-05 05:05:05.555 [ERROR][1] cni-installer/install.go 400: Failed to install error=open /host/opt/cni/bin/calico.tmp: read-only file system
        [core@fc1 ~]$ findmnt -no OPTIONS -T /opt/cni/bin
        ro,relatime,seclabel
        """,
    )
    assert answer.strength >= 0.9
    assert any("/opt/cni/bin" in thing for thing in answer.objects)


def test_a_busy_file() -> None:
    answer = finding(
        "host-path-readonly",
        'level=error msg="Failed to install" error="open /host/opt/cni/bin/install: text file busy" name=/host/opt/cni/bin/install',
    )
    assert answer.strength >= 0.9


def test_a_denied_write_is_another_cause() -> None:
    answer = finding("host-path-readonly", "cp: can't create '/host/opt/cni/bin/calico': Permission denied")
    assert answer.state == "ruled-out"


def test_a_sysctl_is_another_cause() -> None:
    answer = finding("host-path-readonly", "open /proc/sys/net/ipv4/ip_forward: read-only file system")
    assert answer.state != "found"


def test_only_an_operator_is_told_to_do_without_flexvolume() -> None:
    event = 'Warning  FailedMount  12s  kubelet  MountVolume.SetUp failed for volume "flexvol-driver-host" : mkdir /usr/libexec/kubernetes: read-only file system'
    by_operator = fixes("host-path-readonly", f"$ kubectl -n calico-system describe pod calico-node-x\n{event}")
    by_manifest = fixes("host-path-readonly", f"$ kubectl -n kube-system describe pod calico-node-x\n{event}")
    assert any("flexVolumePath" in command for command in by_operator)
    assert not any("flexVolumePath" in command for command in by_manifest)


def test_a_path_of_somebody_else() -> None:
    other = "Error: open /opt/app/data/cache.db: read-only file system (the node uses the calico cni)"
    assert finding("host-path-readonly", other).state != "found"
    assert (
        finding("host-path-readonly", other.replace("/opt/app/data/cache.db", "/opt/cni/bin/calico")).state == "found"
    )


def test_the_path_is_writable_now() -> None:
    words = "cp: cannot create regular file '/host/opt/cni/bin/bandwidth': Read-only file system\n"
    mount = "[core@elm ~]$ findmnt -no OPTIONS -T /opt/cni/bin\n{},relatime,seclabel\n"
    assert finding("host-path-readonly", words + mount.format("rw")).state == "ruled-out"
    assert finding("host-path-readonly", words + mount.format("ro")).strength >= 0.95
    root = "[core@elm ~]$ mount | grep ' / '\n/dev/sda2 on / type ext4 (rw,relatime)\n"
    assert finding("host-path-readonly", words + root).strength >= 0.9
