"""What the causes of this family tell people to do: where, by what is shown, and nothing that was done already."""

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.catalogue import cause_named
from tortie.doctor.causes.steps import Step

NO_MATCH = """
[root@kn-1 ~]# docker logs f00d 2>&1 | tail -1
2022-01-09 09:12:44.310 [WARNING][80] felix/table.go 1321: Failed to execute command errorOutput="iptables-restore v1.8.4 (legacy): Couldn't load match `rpfilter':No such file or directory" ipVersion=0x4
"""  # noqa: E501


def steps(cause: str, text: str) -> tuple[Step, ...]:
    known = cause_named(cause)
    assert known is not None
    return tuple(known.fix(picture(text), finding(cause, text)))


def commands(cause: str, text: str) -> list[str]:
    return [step.command for step in steps(cause, text)]


def test_a_module_is_loaded_for_good_where_it_is_missing() -> None:
    first = steps("kernel-module-missing", NO_MATCH)[0]
    assert first.command == "modprobe xt_rpfilter && echo xt_rpfilter > /etc/modules-load.d/calico-xt_rpfilter.conf"
    assert "kn-1" in first.text.en
    assert first.risk == "safe"


def test_the_package_is_that_of_the_system_shown() -> None:
    of_rhel = NO_MATCH + "[root@kn-1 ~]# uname -r\n4.18.0-425.13.1.el8_7.x86_64\n"
    assert any(command.startswith("dnf install") for command in commands("kernel-module-missing", of_rhel))
    assert not any("apt-get" in command or "dnf" in command for command in commands("kernel-module-missing", NO_MATCH))


def test_a_kernel_whose_modules_are_gone_is_left_behind() -> None:
    text = """
    [root@n2 ~]# docker logs --tail 2 f00d
    modprobe: ERROR: ../libkmod/libkmod.c:586 kmod_search_moddep() could not open moddep file '/lib/modules/4.4.0-1/modules.dep.bin'
    modprobe: FATAL: Module ip_tables not found in directory /lib/modules/4.4.0-1
    """  # noqa: E501
    only = steps("kernel-module-missing", text)
    assert len(only) == 1
    assert only[0].command.startswith("kubectl drain n2 ")
    assert only[0].risk == "disruptive"


def test_nobody_reboots_the_machine_where_kubectl_runs() -> None:
    text = """
    [root@deb-2 ~]# iptables -V
    iptables v1.8.7 (nf_tables)
    [root@deb-2 ~]# iptables-legacy-save | grep -c cali-; iptables-nft-save | grep -c cali-; iptables-nft-save | grep -c KUBE-
    214
    0
    167
    """  # noqa: E501
    reboot = next(command for command in commands("iptables-backend-mismatch", text) if "reboot" in command)
    assert reboot.startswith("kubectl drain deb-2 ")
    assert "&& ssh " in reboot


def test_only_files_of_the_administrator_are_changed() -> None:
    text = """
    2020-01-01 01:02:03.004 [FATAL][50] int_dataplane.go 1035: Kernel's RPF check is set to 'loose'.  This would allow
    [root@kr-1 ~]# grep -rn rp_filter %s
    %s/60-site.conf:7:net.ipv4.conf.all.rp_filter = 2
    """
    ours = commands("rpf-loose", text % ("/etc/sysctl.d", "/etc/sysctl.d"))
    packaged = commands("rpf-loose", text % ("/usr/lib/sysctl.d", "/usr/lib/sysctl.d"))
    assert any(command.startswith("sed -i") and "/etc/sysctl.d/60-site.conf" in command for command in ours)
    assert not any(command.startswith("sed -i") for command in packaged)


def test_forwarding_of_a_machine_that_is_no_node_says_nothing() -> None:
    text = """
    $ kubectl get nodes
    NAME   STATUS   ROLES    AGE   VERSION
    w1     Ready    <none>   9d    v1.28.2
    [me@laptop ~]# sysctl net.ipv4.ip_forward
    net.ipv4.ip_forward = 0
    """
    assert finding("sysctl-forwarding-off", text).state == "cannot-tell"


def test_the_file_that_switches_forwarding_off() -> None:
    text = """
    [root@w1 ~]# sysctl net.ipv4.ip_forward
    net.ipv4.ip_forward = 0
    [root@w1 ~]# grep -rn ip_forward /etc/sysctl.d
    /etc/sysctl.d/90-hardening.conf:3:net.ipv4.ip_forward = 0
    """
    assert commands("sysctl-forwarding-off", text)[-1].endswith(" /etc/sysctl.d/90-hardening.conf")


def test_the_table_never_gets_smaller() -> None:
    known = """
    [root@gw-1 ~]# sysctl net.netfilter.nf_conntrack_count net.netfilter.nf_conntrack_max
    net.netfilter.nf_conntrack_count = 1048570
    net.netfilter.nf_conntrack_max = 1048576
    """
    assert commands("conntrack-full", known)[0] == "sysctl -w net.netfilter.nf_conntrack_max=2097152"
    unknown = "[8214433.120331] nf_conntrack: nf_conntrack: table full, dropping packet"
    assert "$(sysctl -n net.netfilter.nf_conntrack_max" in commands("conntrack-full", unknown)[0]


def test_who_deletes_routes_is_asked_first_where_it_is_not_shown() -> None:
    text = """
    Every few hours pods of this machine are gone from the network for a while.
    [root@rh-5 ~]# timeout 60 ip monitor route | grep cali
    Deleted 10.50.7.9 dev cali4c1f0a9b7de scope link
    """
    first = steps("networkmanager-interference", text)[0]
    assert first.risk == "safe"
    assert first.command.startswith("nmcli ")


def test_an_offload_that_was_switched_off_is_not_tried_again() -> None:
    text = """
[root@esx-a ~]# time curl -so /dev/null http://10.99.3.4:8080/
real    1m3.118s
[root@esx-a ~]# ethtool -K vxlan.calico tx-checksum-ip-generic off
[root@esx-a ~]# time curl -so /dev/null http://10.99.3.4:8080/
real    0m0.021s
"""
    assert not any(command.startswith("ethtool -K") for command in commands("vxlan-checksum-offload", text))


def test_a_variable_is_taken_out_where_it_stands() -> None:
    text = """
    $ calicoctl get ippool -o wide
    NAME                  CIDR           NAT    IPIPMODE   VXLANMODE   DISABLED   DISABLEBGPEXPORT   SELECTOR
    default-ipv4-ippool   10.66.0.0/16   true   Never      Always      false      false              all()
    $ kubectl -n kube-system get ds calico-node -o yaml | grep -A1 VXLANENABLED
            - name: FELIX_VXLANENABLED
              value: "false"
    """
    told = commands("felix-encap-disabled", text)
    assert any(command.endswith(" FELIX_VXLANENABLED-") for command in told)
    assert not any("felixconfiguration" in command for command in told)


def test_the_api_server_is_named_as_it_answers() -> None:
    text = """
    $ kubectl get felixconfiguration default -o yaml | grep -i bpf
      bpfEnabled: true
    $ kubectl -n kube-system get cm kubernetes-services-endpoint
    Error from server (NotFound): configmaps "kubernetes-services-endpoint" not found
    $ kubectl get ep kubernetes
    NAME         ENDPOINTS         AGE
    kubernetes   10.211.0.5:6443   9d
    """
    first = commands("ebpf-misconfigured", text)[0]
    assert "KUBERNETES_SERVICE_HOST=10.211.0.5 " in first


def test_old_kernels_get_the_module_first() -> None:
    text = """
    $ kubectl get felixconfiguration default -o yaml | grep -i wireguard
      wireguardEnabled: true
    [root@c7-1 ~]# modprobe wireguard
    modprobe: FATAL: Module wireguard not found.
    [root@c7-1 ~]# uname -r
    {kernel}
    """
    assert not steps("wireguard-missing", text.format(kernel="3.10.0-1160.el7.x86_64"))[0].command
    assert commands("wireguard-missing", text.format(kernel="5.15.0-91-generic"))[0].startswith("modprobe wireguard")
