"""What evidence may put into a command: names as they really are, and nothing that a shell or a tool takes as more."""

from __future__ import annotations

import pytest

from tortie.doctor.commands.kinds import INERT, KINDS, let_in

HOSTILE = (
    "-x", "--all", "-oProxyCommand=evil", "-", "--", "a b", "a\tb", "a\nb", "a\n", "\na", " a", "a ", "*", "a*", "?",
    "[a]", "~", "~root", "#a", "a #b", "$(a)", "`a`", "${a}", "$a", "a;b", "a|b", "a&b", "a>b", "<a", "(a)", "{a,b}",
    "'a'", '"a"', "a\\b", "!a", "..", "../a", "a/../../b", "/", "//", "/.", "a\x00b", "a\x1b[0m", "a\u202eb",
    "\u200ba", "a\u00a0b", "a\u3000b", "\uff41", "a\uff0db", "\u2010a", "\u0430dmin", "a\u2028b", "١", "０", "",
)  # fmt: skip
HONEST = {
    "node": ("w-1", "ip-10-0-0-1.ec2.internal", "k8s_node", "Node1"),
    "pod": ("calico-node-abcde",),
    "namespace": ("kube-system",),
    "name": ("default-ipv4-ippool", "default.deny-all"),
    "container": ("calico-node",),
    "workload": ("ds/calico-node", "deploy/calico-typha"),
    "resource": ("pods", "installations.operator.tigera.io"),
    "verb": ("get",),
    "account": ("calico-node",),
    "user": ("system:serviceaccount:kube-system:calico-node",),
    "address": ("10.0.0.1", "fd00::1"),
    "cidr": ("10.0.0.0/8", "fd00::/64"),
    "interface-address": ("10.0.0.1/24",),
    "host": ("10.0.0.1", "etcd-0.example.com", "fd00::1"),
    "port": ("179", "65535"),
    "protocol": ("tcp", "udp"),
    "number": ("64512", "0"),
    "pid": ("2", "4711"),
    "quantity": ("500m", "1Gi", "1.5", "10s"),
    "interface": ("eth0", "br-0123456789ab", "bond0.100", "vxlan.calico"),
    "path": ("/etc/cni/net.d/10-calico.conflist", "calico.yaml", "/opt"),
    "file": ("10-flannel.conflist",),
    "unit": ("kubelet", "kube-proxy.service", "getty@tty1.service"),
    "setting": ("IP_AUTODETECTION_METHOD", "veth_mtu", "projectcalico.org/IPv4Address"),
    "env": ("FELIX_HEALTHPORT",),
    "env-value": ("interface=eth0", "true", "/etc/x", "http://a:2379,http://b:2379", "10.0.0.0/8"),
    "scalar": ("true", "false", "1440"),
    "literal": ("Auto", "CrossSubnet", "NFT", "90s"),
    "sysctl": ("net.ipv4.ip_forward", "net.ipv4.conf.all.rp_filter"),
    "method": ("kubernetes-internal-ip", "interface=eth0", "can-reach=10.0.0.1", "cidr=10.0.0.0/24", "first-found"),
    "label": ("node-role.kubernetes.io/worker=", "a=b", "k8s-app=calico-node"),
    "image": ("docker.io/calico/node:v3.27.0", "registry:5000/a@sha256:" + "0" * 64),
    "version": ("v3.27.0", "1.28.4+rke2r1"),
    "endpoint": ("https://10.0.0.1:2379", "10.0.0.1:6443"),
    "endpoints": ("https://10.0.0.1:2379,https://10.0.0.2:2379",),
    "module": ("ip_set", "nf_conntrack"),
    "package": ("linux-modules-extra-5.15.0", "ipset"),
    "word": ("docker_gwbridge",),
}  # fmt: skip
# What only this kind has to refuse.
TURNED = {
    "cidr": ("0.0.0.0/0", "::/0", "10.0.0.1/8"),
    "pid": ("0", "1"),
    "port": ("0", "65536"),
    "path": ("/etc/../x", "a/-x", "/etc//x", "/./etc"),
    "file": ("etc/passwd", ".bashrc"),
    "package": ("curl-", "curl+"),
    "label": ("a", "a=-b", "a-"),
    "setting": ("a-",),
    "env": ("PATH-", "lower"),
    "scalar": ("null", "1.5", "[]"),
    "literal": ("rm", "a"),
    "interface": ("a" * 16,),
    "namespace": ("Kube-System", "a" * 64),
    "protocol": ("TCP", "icmp"),
    "workload": ("pod/x", "ds/"),
    "method": ("interface=", "interface=-x", "exec=x"),
    "host": ("user@host", "-h"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_honest_values_are_let_in(kind: str) -> None:
    assert [value for value in HONEST[kind] if not let_in(kind, value)] == []


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_values_are_not(kind: str) -> None:
    assert [value for value in (*HOSTILE, *TURNED.get(kind, ())) if let_in(kind, value)] == []


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_endings_and_beginnings_are_not(kind: str) -> None:
    honest = HONEST[kind][0]
    ends = ("\n", " ", ";a", "*", "$(a)", "\u200b", "\u202e", "\uff1b", "'", "#", "?")
    assert [end for end in ends if let_in(kind, honest + end) or let_in(kind, end + honest)] == []
    assert not let_in(kind, "-" + honest)


def test_letters_that_are_let_in_are_ascii_and_plain() -> None:
    assert {letter for letter in map(chr, range(0x3000)) if INERT.fullmatch(letter)} == set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:/@%+,=-"
    )
