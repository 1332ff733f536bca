"""TRT6005: the binary is there and may not run."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

from tests.support.doctor import finding, fixes


def test_noexec() -> None:
    answer = finding(
        "cni-bin-not-executable",
        """
        $ kubectl -n kube-system logs calico-node-9 -c install-cni | tail -2
        /install-cni.sh: line 98: /host/opt/cni/bin/calico: Permission denied
        CNI plugin version:
        [root@hard-1 ~]# findmnt -no OPTIONS -T /opt/cni/bin
        rw,nosuid,nodev,noexec,relatime
        """,
    )
    assert answer.state == "found"
    assert answer.strength >= 0.95
    assert "/opt/cni/bin" in answer.objects


def test_a_mount_line_and_the_event() -> None:
    answer = finding(
        "cni-bin-not-executable",
        """
        等保加固之后节点 NotReady：
        Failed to create pod sandbox: failed to setup network for sandbox "12": fork/exec /opt/cni/bin/calico: permission denied
        [root@hard-1 ~]# mount | grep /opt
        /dev/mapper/vg-opt on /opt type ext4 (rw,nosuid,nodev,noexec,relatime)
        """,
    )
    assert answer.strength >= 0.95
    assert "/opt" in answer.objects


def test_refused_without_options_is_likely() -> None:
    answer = finding(
        "cni-bin-not-executable", "[root@h ~]# /opt/cni/bin/calico -v\n-bash: /opt/cni/bin/calico: Permission denied"
    )
    assert answer.state == "found"
    assert answer.strength >= 0.8


def test_selinux_is_another_cause() -> None:
    answer = finding(
        "cni-bin-not-executable",
        """
        $ kubectl logs calico-node-9 -c install-cni
        cp: can't create '/host/opt/cni/bin/calico': Permission denied
        /install-cni.sh: line 98: /host/opt/cni/bin/calico: Permission denied
        # ausearch -m avc -ts recent | tail -1
        type=AVC msg=audit(1.2:3): avc:  denied  { write } for  pid=1 comm="cp" name="bin" dev="dm-0" tclass=dir
        """,
    )
    assert answer.state == "ruled-out"


def test_a_failed_write_is_no_refused_execution() -> None:
    answer = finding("cni-bin-not-executable", "open /host/opt/cni/bin/calico: permission denied")
    assert answer.strength < 0.8


def test_a_mode_is_mended_by_the_mode() -> None:
    evidence = """
        Failed to create pod sandbox: failed to setup network for sandbox "12": fork/exec /opt/cni/bin/calico: permission denied
        [root@hard-1 ~]# ls -l /opt/cni/bin
        -rw-r--r-- 1 root root 39771200 Jan  2 10:00 calico
        """
    assert finding("cni-bin-not-executable", evidence).rule == "no-x-bit"
    commands = fixes("cni-bin-not-executable", evidence)
    assert any("chmod a+rx /opt/cni/bin/calico" in command for command in commands)
    assert not any("remount" in command for command in commands)


def test_a_file_system_that_lets_programs_run_and_an_executable_bit() -> None:
    words = 'plugin type="calico" failed (add): fork/exec /opt/cni/bin/calico: permission denied\n'
    runs = "$ findmnt -T /opt/cni/bin\nTARGET SOURCE    FSTYPE OPTIONS\n/      /dev/sda2 ext4   rw,relatime\n"
    bit = "$ ls -l /opt/cni/bin/calico\n-rwxr-xr-x 1 root root 61440000 May  4 12:00 /opt/cni/bin/calico\n"
    assert finding("cni-bin-not-executable", words).strength >= 0.8
    assert finding("cni-bin-not-executable", words + runs).strength < 0.8
    assert finding("cni-bin-not-executable", words + runs + bit).state == "ruled-out"
    barred = runs.replace("rw,relatime", "rw,noexec,relatime")
    assert finding("cni-bin-not-executable", words + barred + bit).strength >= 0.95
