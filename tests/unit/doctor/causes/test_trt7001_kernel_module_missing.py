"""TRT7001: the kernel's own refusals, and what only looks like them."""

from __future__ import annotations

from tests.support.doctor import finding

NO_SESSION = """
[root@arm-3 ~]# kubectl -n kube-system logs calico-node-q7x2m | tail -3
2021-05-02 11:40:03.118 [ERROR][71] felix/ipsets.go 569: Bad return code from 'ipset list'. error=exit status 1 family="inet" stderr="ipset v7.6: Cannot open session to kernel.\\n"
2021-05-02 11:40:05.201 [PANIC][71] felix/ipsets.go 319: Failed to update IP sets after multiple retries. family="inet"
"""  # noqa: E501
MODPROBE = """
[root@arm-3 ~]# modprobe ip_set
modprobe: FATAL: Module ip_set not found in directory /lib/modules/4.9.201-tegra
"""


def test_log_and_modprobe_prove_it() -> None:
    answer = finding("kernel-module-missing", NO_SESSION + MODPROBE)
    assert answer.strength >= 0.95
    assert answer.objects[0] == "ip_set"


def test_the_log_alone_is_strong() -> None:
    assert finding("kernel-module-missing", NO_SESSION).strength >= 0.9


def test_a_match_that_cannot_be_loaded_names_its_module() -> None:
    text = """
    树莓派节点上 calico-node 一直重启，日志：
    2022-01-09 09:12:44.310 [WARNING][80] felix/table.go 1321: Failed to execute ip(6)tables-restore command error=exit status 2 errorOutput="iptables-restore v1.8.4 (legacy): Couldn't load match `rpfilter':No such file or directory" ipVersion=0x4 table="raw"
    """  # noqa: E501
    answer = finding("kernel-module-missing", text)
    assert answer.strength >= 0.9
    assert "xt_rpfilter" in answer.objects


def test_a_newer_revision_is_another_cause() -> None:
    text = """
    2023-04-11 06:00:01.004 [ERROR][64] felix/ipsets.go 569: Bad return code from 'ipset list'. stderr="ipset v7.11: Kernel and userspace incompatible: settype hash:net with revision 7 not supported by userspace."
    2023-04-11 06:00:03.004 [PANIC][64] felix/ipsets.go 319: Failed to update IP sets after multiple retries. family="inet"
    """  # noqa: E501
    assert finding("kernel-module-missing", text).state == "ruled-out"


def test_the_panic_alone_is_no_claim() -> None:
    text = "2021-05-02 11:40:05.201 [PANIC][71] felix/ipsets.go 319: Failed to update IP sets after multiple retries."
    assert finding("kernel-module-missing", text).strength < 0.8


def test_an_absent_tunnel_device_is_harmless() -> None:
    text = "2021-05-02 11:40:03.118 [INFO][71] felix/ipip_mgr.go 85: Failed to get IPIP tunnel device, assuming it isn't present"  # noqa: E501
    assert finding("kernel-module-missing", text).state == "cannot-tell"


def test_a_module_that_is_loaded_there_is_not_missing() -> None:
    log = """
    [root@kn-1 ~]# docker logs f00d 2>&1 | grep WARN
    2021-02-03 04:05:06.007 [WARNING][77] felix/ipip_mgr.go 111: Failed to add IPIP tunnel device error=exit status 1
    """
    loaded = """
    [root@%s ~]# lsmod | grep ipip
    ipip                   16384  0
    """
    assert finding("kernel-module-missing", log + loaded % "kn-1").state == "ruled-out"
    assert finding("kernel-module-missing", log + loaded % "kn-2").strength >= 0.9
    assert finding("kernel-module-missing", log).strength >= 0.9


def test_no_such_file_below_lib_modules() -> None:
    text = """
    [root@kn-1 ~]# docker logs f00d 2>&1 | grep WARN
    2021-02-03 04:05:06.007 [WARNING][77] felix/ipip_mgr.go 111: Failed to add IPIP tunnel device error=exit status 1
    [root@kn-1 ~]# find /lib/modules/$(uname -r) -name "ipip.ko*"
    [root@kn-1 ~]# uname -r
    5.14.0-70.el9.x86_64
    """
    answer = finding("kernel-module-missing", text)
    assert answer.strength >= 0.95
    assert "ipip" in answer.objects


def test_a_chain_that_is_gone_is_no_module() -> None:
    line = "iptables-restore v1.8.9 (nf_tables): Couldn't load target `%s':No such file or directory"
    assert finding("kernel-module-missing", line % "KUBE-SVC-TCOU7JCQXEZGVUNU").state == "cannot-tell"
    assert "xt_MASQUERADE" in finding("kernel-module-missing", line % "MASQUERADE").objects


def test_kube_proxy_is_named_where_it_is_kube_proxy_that_asks() -> None:
    text = """
    root@n2:~# docker logs --tail 3 kube-proxy
    modprobe: FATAL: Module ip_tables not found in directory /lib/modules/4.4.0-119-generic
    iptables v1.6.0: can't initialize iptables table `nat': Table does not exist (do you need to insmod?)
    """
    assert "kube-proxy" in finding("kernel-module-missing", text).objects
    assert "kube-proxy" not in finding("kernel-module-missing", NO_SESSION + MODPROBE).objects


READY = """
$ kubectl -n kube-system get pods
NAME                READY   STATUS    RESTARTS   AGE
calico-node-5tvjn   1/1     Running   0          103m
"""
NO_TUNNEL = "2020-07-10 08:01:12.671 [WARNING][53] felix/ipip_mgr.go 111: Failed to add IPIP tunnel device\n"


def test_a_tunnel_that_was_made_at_the_second_attempt() -> None:
    there = "$ ip -br a show tunl0\ntunl0@NONE       UNKNOWN        10.42.154.0/32\n"
    assert finding("kernel-module-missing", NO_TUNNEL + NO_TUNNEL).state == "found"
    assert finding("kernel-module-missing", NO_TUNNEL + NO_TUNNEL + there).state == "ruled-out"
    assert finding("kernel-module-missing", NO_TUNNEL + READY).state == "ruled-out"


READY = "$ kubectl -n kube-system get pods\ncalico-node-5k2jv   1/1   Running   1   12d\n"
SESSION = """\
2024-06-02 18:00:11.411 [ERROR][64] felix/ipsets.go 569: Bad return code from 'ipset list'. stderr="ipset v7.11: \
Cannot open session to kernel.\\n"
"""
EXTENSION = (
    'Failed to execute ip(6)tables-restore command error=exit status 4 errorOutput="Warning: Extension MASQUERADE '
    'revision 0 not supported, missing kernel module?\\niptables-nft-restore v1.8.8 (nf_tables): \\n"'
)


def test_an_agent_that_is_ready_has_its_sets() -> None:
    assert finding("kernel-module-missing", SESSION + READY.replace("1/1", "0/1")).strength >= 0.9
    assert finding("kernel-module-missing", SESSION + READY).state == "ruled-out"


def test_an_extension_that_iptables_misses_in_the_kernel() -> None:
    answer = finding("kernel-module-missing", f"2025-02-11 10:20:31.112 [WARNING][88] felix/table.go 1486: {EXTENSION}")
    assert (answer.strength >= 0.9, answer.objects[0]) == (True, "xt_MASQUERADE")
    other = EXTENSION.replace("ip(6)tables-restore", "tailscaled")
    assert finding("kernel-module-missing", f"health: {other}").state == "cannot-tell"


def test_a_tunnel_that_no_pool_wants_may_be_missing() -> None:
    gone = "$ modprobe vxlan\nmodprobe: FATAL: Module vxlan not found in directory /lib/modules/5.15.32-v8+\n"
    pools = "$ calicoctl get ippool -o wide\nNAME   CIDR   NAT   IPIPMODE   VXLANMODE   DISABLED   SELECTOR\n"
    ipip = "default-ipv4-ippool   10.42.0.0/16   true   Always   Never   false   all()\n"
    vxlan = "default-ipv4-ippool   10.42.0.0/16   true   Never   Always   false   all()\n"
    assert finding("kernel-module-missing", gone + pools + vxlan).strength >= 0.8
    assert finding("kernel-module-missing", gone + pools + ipip).strength < 0.8


FIRST_SECOND = """
2019-08-04 10:08:42.644 [WARNING][42] ipip_mgr.go 110: Failed to add IPIP tunnel device error=exit status 1
2019-08-04 10:08:42.645 [WARNING][42] ipip_mgr.go 87: Failed configure IPIP tunnel device, retrying... error=exit status 1
"""  # noqa: E501


def test_routes_through_a_tunnel_show_that_it_was_made() -> None:
    routes = "$ ip route\n172.20.131.128/26 via 172.16.110.42 dev tunl0 proto bird onlink\n"
    assert finding("kernel-module-missing", FIRST_SECOND + routes).state == "ruled-out"
    assert finding("kernel-module-missing", FIRST_SECOND).state == "found"


FLANNEL = """
I1103 03:58:08.025657  260961 vxlan.go:137] VXLAN config: VNI=1 Port=0 GBP=false Learning=false DirectRouting=false
time="2021-11-03T03:58:08Z" level=fatal msg="flannel exited: operation not supported"
"""
LINK = """
root@fig:~# ip link add vx0 type {kind} id 7 dev eth0 dstport 4789
{answer}
"""


def test_flannel_cannot_make_its_vxlan_link() -> None:
    answer = finding("kernel-module-missing", FLANNEL)
    assert (answer.state, answer.strength >= 0.9, "vxlan" in answer.objects) == ("found", True, True)
    other = FLANNEL.replace("VXLAN config: VNI=1", "Wireguard backend")
    assert finding("kernel-module-missing", other).state != "found"


def test_a_link_that_the_kernel_refuses_to_make() -> None:
    for words in ("RTNETLINK answers: Operation not supported", "Error: Unknown device type."):
        proven = finding("kernel-module-missing", FLANNEL + LINK.format(kind="vxlan", answer=words))
        assert (proven.strength >= 0.95, "vxlan" in proven.objects) == (True, True)
    exists = LINK.format(kind="vxlan", answer="RTNETLINK answers: File exists")
    assert finding("kernel-module-missing", exists).state != "found"
    other = LINK.format(kind="macsec", answer="RTNETLINK answers: Operation not supported")
    assert finding("kernel-module-missing", other).state != "found"
