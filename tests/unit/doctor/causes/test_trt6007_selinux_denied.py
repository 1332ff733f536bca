"""TRT6007: denied writes, with SELinux enforcing or an audit record."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

from tests.support.doctor import finding, fixes

DENIED = """
$ oc logs calico-node-6b -c install-cni
cp: can't create '/host/opt/cni/bin/calico': Permission denied
cp: can't create '/host/opt/cni/bin/calico-ipam': Permission denied
/install-cni.sh: line 83: /host/opt/cni/bin/calico: not found
"""


def test_denied_while_enforcing() -> None:
    answer = finding("selinux-denied", f"{DENIED}[root@se1 ~]# getenforce\nEnforcing\n")
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "/opt/cni/bin" in answer.objects


def test_the_audit_record_and_gos_words() -> None:
    answer = finding(
        "selinux-denied",
        """
        $ kubectl logs calico-node-1 -c install-cni | tail -1
        time="2022-02-02T02:02:02Z" level=fatal msg="open /host/opt/cni/bin/calico.tmp: permission denied"
        # ausearch -m avc -ts recent
        type=AVC msg=audit(16.1:9): avc:  denied  { create } for  pid=77 comm="install" name="calico.tmp" scontext=system_u:system_r:container_t:s0 tcontext=system_u:object_r:usr_t:s0 tclass=file permissive=0
        """,
    )
    assert answer.strength >= 0.95


def test_permissive_rules_it_out() -> None:
    assert finding("selinux-denied", f"{DENIED}[root@se1 ~]# getenforce\nPermissive\n").state == "ruled-out"


def test_read_only_is_another_cause() -> None:
    answer = finding("selinux-denied", "cp: can't create '/host/opt/cni/bin/calico': Read-only file system")
    assert answer.state != "found"


def test_enforcing_alone_is_nothing() -> None:
    assert finding("selinux-denied", "[root@se1 ~]# getenforce\nEnforcing\n").state == "cannot-tell"


def test_the_directory_that_was_denied_gets_its_label() -> None:
    commands = fixes("selinux-denied", f"{DENIED}[root@se1 ~]# getenforce\nEnforcing\n")
    assert commands[0].startswith("semanage fcontext -a -t container_file_t '/opt/cni/bin(/.*)?'")


def test_apparmor_is_not_mended_by_labels() -> None:
    commands = fixes(
        "selinux-denied",
        """
        $ kubectl logs calico-node-1 -c install-cni | tail -1
        level=fatal msg="open /host/opt/cni/bin/calico.tmp: permission denied"
        # dmesg | tail -1
        audit: type=1400 audit(16.1:9): apparmor="DENIED" operation="open" profile="cri-containerd.apparmor.d" name="/host/opt/cni/bin/calico.tmp" pid=77 comm="install"
        """,
    )
    assert commands
    assert not any("semanage" in command for command in commands)


def test_a_file_of_the_pod_before_cannot_be_replaced() -> None:
    text = """
    $ kubectl logs -n kube-system calico-node-hd9zl -c install-cni
    mv: inter-device move failed: '/calico.conf.tmp' to '/host/etc/cni/net.d/10-calico.conflist'; unable to remove target: Permission denied
    core@node2 ~ $ sudo journalctl -t audit | tail -1
    May 09 16:40:02 node2 audit[51877]: AVC avc:  denied  { unlink } for  pid=51877 comm="mv" name="10-calico.conflist" dev="sda4" ino=25166033 scontext=system_u:system_r:container_t:s0:c102,c744 tcontext=system_u:object_r:container_file_t:s0:c341,c899 tclass=file permissive=0
    """
    answer = finding("selinux-denied", text)
    assert answer.strength >= 0.95
    assert "/etc/cni/net.d/10-calico.conflist" in answer.objects


def record(operation: str, name: str, program: str = "cp") -> str:
    return (
        f'type=AVC msg=audit(1700000001.551:912): avc:  denied  {{ {operation} }} for  pid=8812 comm="{program}" name="{name}" '
        "scontext=system_u:system_r:container_t:s0:c11,c433 tcontext=system_u:object_r:usr_t:s0 tclass=file permissive=0\n"
    )


def test_a_record_alone_must_be_about_a_write_of_calicos() -> None:
    assert finding("selinux-denied", record("write", "bin")).strength >= 0.9
    assert finding("selinux-denied", record("read", "stat", "calico-node")).strength < 0.8
    assert finding("selinux-denied", record("write", "report.csv")).strength < 0.8
