# ruff: noqa: E501 (evidence keeps its width)
"""Settings in single lines, fragments of manifests, and answers that the command explains."""

from __future__ import annotations

from textwrap import dedent
from typing import TypeVar

import pytest
from tests.support.doctor import picture

from tortie.doctor.picture.facts import Container, Node, Pool, Probe, Registered, Setting, Version
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers.settings import read

T = TypeVar("T")


def facts(kind: type[T], text: str, command: str = "") -> list[T]:
    lines = tuple(dedent(text).strip("\n").splitlines())
    return [fact for fact in read(Exhibit("e", 1, lines, "w-1", command)) if isinstance(fact, kind)]


def settings(text: str, command: str = "") -> set[tuple[str, str, str]]:
    return {(s.scope, s.name, s.value) for s in facts(Setting, text, command)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FELIX_IPTABLESBACKEND=legacy", ("env", "FELIX_IPTABLESBACKEND", "legacy")),
        ('            "ETCD_ENDPOINTS=http://10.0.0.2:2379",', ("env", "ETCD_ENDPOINTS", "http://10.0.0.2:2379")),
        ("ExecStart=/usr/bin/docker run --net=host -e IP=10.0.0.4 -e NODENAME=a x", ("env", "NODENAME", "a")),
        ("  -e ETCD_ENDPOINTS=10.0.0.2:2379 \\", ("env", "ETCD_ENDPOINTS", "10.0.0.2:2379")),
        ('Environment="HTTP_PROXY=http://p:3128" "NO_PROXY=10.0.0.0/8"', ("env", "NO_PROXY", "10.0.0.0/8")),
        (
            "      IP_AUTODETECTION_METHOD:            can-reach=8.8.8.8",
            ("env", "IP_AUTODETECTION_METHOD", "can-reach=8.8.8.8"),
        ),
        ("            - name: IP\n              value: autodetect", ("env", "IP", "autodetect")),
        ("        - {name: IP, value: autodetect}", ("env", "IP", "autodetect")),
        ("net.ipv4.conf.all.rp_filter = 2", ("sysctl", "net.ipv4.conf.all.rp_filter", "2")),
        ("net.ipv4.ip_forward: 0", ("sysctl", "net.ipv4.ip_forward", "0")),
        ("/etc/sysctl.d/9.conf:net.ipv4.ip_forward=0", ("sysctl-file", "net.ipv4.ip_forward", "0")),
        (
            "sysctl: cannot stat /proc/sys/net/bridge/bridge-nf-call-iptables: No such file or directory",
            ("sysctl", "net.bridge.bridge-nf-call-iptables", "missing"),
        ),
        ("            SystemdCgroup = false", ("containerd", "SystemdCgroup", "false")),
        ("cgroupDriver: systemd", ("kubelet", "cgroupDriver", "systemd")),
        ("failSwapOn: true", ("kubelet", "failSwapOn", "true")),
        ("  vxlanEnabled: false", ("felixconfig", "vxlanEnabled", "false")),
        ('  calico_backend: "vxlan"', ("configmap", "calico_backend", "vxlan")),
        ("root 812 /usr/bin/kubelet --cgroup-driver=systemd --node-ip=10.0.0.4", ("flag", "node-ip", "10.0.0.4")),
        ("nameserver 9.9.9.9", ("resolv.conf", "nameserver", "9.9.9.9")),
        ("/dev/dm-1      partition\t8388604\t0\t-2", ("swap", "/dev/dm-1", "8388604")),
        ("iptables v1.8.4 (nf_tables)", ("iptables", "backend", "nf_tables")),
    ],
)
def test_lines(text: str, expected: tuple[str, str, str]) -> None:
    assert expected in settings(text)


@pytest.mark.parametrize(
    ("command", "text", "expected"),
    [
        (
            "kubectl -n kube-system get cm calico-config -o jsonpath='{.data.calico_backend}{\"\\n\"}'",
            "vxlan",
            ("configmap", "calico_backend", "vxlan"),
        ),
        (
            "kubectl get ippool p -o jsonpath='{.spec.vxlanMode} {.spec.ipipMode}'",
            "Always Never",
            ("ippool", "ipipMode", "Never"),
        ),
        (
            "kubectl get ds calico-node -n kube-system -o jsonpath='{.spec.template.spec.containers[0].env[?(@.name==\"IP\")].value}'",
            "autodetect",
            ("env", "IP", "autodetect"),
        ),
        (
            "kubectl auth can-i create serviceaccounts/token --as=system:serviceaccount:kube-system:calico-node -n kube-system",
            "no",
            ("can-i", "create serviceaccounts/token", "no"),
        ),
        (
            "kubectl api-versions | grep discovery",
            "discovery.k8s.io/v1",
            ("api-version", "discovery.k8s.io/v1", "present"),
        ),
        ("cat /etc/hosts", "127.0.0.1 localhost lh", ("hosts", "localhost", "127.0.0.1")),
        ("cat /proc/sys/net/ipv4/ip_forward", "0", ("sysctl", "net.ipv4.ip_forward", "0")),
        ("sysctl -n net.ipv4.ip_forward", "1", ("sysctl", "net.ipv4.ip_forward", "1")),
        (
            "kubectl get felixconfiguration default -o json | jq -r '.spec.bpfEnabled'",
            "true",
            ("felixconfig", "bpfEnabled", "true"),
        ),
    ],
)
def test_answers(command: str, text: str, expected: tuple[str, str, str]) -> None:
    assert expected in settings(text, command)


def test_who_may_not() -> None:
    (answer,) = facts(Setting, "no", "kubectl auth can-i list nodes --as=system:serviceaccount:kube-system:canal")
    assert answer.owner == "system:serviceaccount:kube-system:canal"


def test_addresses_of_a_node_on_two_lines() -> None:
    command = (
        'kubectl get node w-7 -o jsonpath=\'{.metadata.annotations.projectcalico\\.org/IPv4Address}{"\\n"}'
        '{.status.addresses[?(@.type=="InternalIP")].address}{"\\n"}\''
    )
    text = "10.26.0.98/24\n10.26.0.187\n"
    (registered,) = facts(Registered, text, command)
    assert (registered.node, registered.address, registered.length) == ("w-7", "10.26.0.98", 24)
    assert "10.26.0.187" in {node.internal_ip for node in facts(Node, text, command)}


def test_addresses_of_all_nodes() -> None:
    command = (
        'kubectl get nodes -o jsonpath=\'{range .items[*]}{.metadata.name}{"\\t"}{.status.addresses[?(@.type=="InternalIP")].address}'
        '{"\\t"}{.metadata.annotations.projectcalico\\.org/IPv4Address}{"\\n"}{end}\''
    )
    text = "w-1\t10.0.0.1\t172.18.0.1/16\nw-2\t10.0.0.2\t10.0.0.2/24\n"
    assert [(n.name, n.internal_ip) for n in facts(Node, text, command)] == [("w-1", "10.0.0.1"), ("w-2", "10.0.0.2")]
    assert [(r.node, r.address) for r in facts(Registered, text, command)] == [
        ("w-1", "172.18.0.1"),
        ("w-2", "10.0.0.2"),
    ]


def test_annotations_left_by_grep() -> None:
    (asked,) = facts(
        Registered, "    projectcalico.org/IPv4Address: 172.17.0.1/16", "kubectl get node w-2 -o yaml | grep project"
    )
    assert (asked.node, asked.address, asked.length) == ("w-2", "172.17.0.1", 16)
    rows = facts(
        Registered,
        """
        projectcalico.org/IPv4Address: 10.0.0.1/24
          kubernetes.io/hostname: w-1
        projectcalico.org/IPv4Address: 10.0.0.2/24
          kubernetes.io/hostname: w-2
        """,
    )
    assert [(r.node, r.address) for r in rows] == [("w-1", "10.0.0.1"), ("w-2", "10.0.0.2")]


def test_a_probe_alone() -> None:
    (probe,) = facts(
        Probe,
        """
                livenessProbe:
                  failureThreshold: 6
                  httpGet:
                    host: 127.0.0.1
                    path: /liveness
                    port: 9099
                    scheme: HTTP
                  initialDelaySeconds: 10
                  periodSeconds: 10
                  timeoutSeconds: 1
                name: calico-node
        """,
    )
    assert (probe.action, probe.failure, probe.initial_delay_s) == ("http://127.0.0.1:9099/liveness", 6, 10.0)
    assert (probe.place.first, probe.place.last) == (1, 10)


def test_a_probe_with_a_command() -> None:
    live, ready = facts(
        Probe,
        """
        livenessProbe:
          exec:
            command:
            - /bin/calico-node
            - -felix-live
          timeoutSeconds: 10
        --
        readinessProbe:
          exec:
            command: ["/bin/calico-node", "-felix-ready"]
        """,
    )
    assert (live.action, live.timeout_s) == ("/bin/calico-node -felix-live", 10.0)
    assert (ready.kind, ready.action) == ("readiness", "/bin/calico-node -felix-ready")


def test_a_pool_left_by_grep() -> None:
    (pool,) = facts(
        Pool,
        "  blockSize: 26\n  cidr: 192.168.0.0/16\n  ipipMode: Always\n",
        "kubectl get ippool main -o yaml | grep -E x",
    )
    assert (pool.name, pool.cidr, pool.block_size, pool.ipip) == ("main", "192.168.0.0/16", 26, "Always")


@pytest.mark.parametrize(
    ("text", "component", "version"),
    [
        ("docker.io/calico/node:v3.20.2 docker.io/calico/cni:v3.20.2", "calico", "v3.20.2"),
        ("rancher/mirrored-calico-cni:v3.25.0", "calico", "v3.25.0"),
        ("Server Version: v1.25.4", "kubernetes", "v1.25.4"),
        (
            'Server Version: version.Info{Major:"1", Minor:"18", GitVersion:"v1.18.2", GitCommit:"x"}',
            "kubernetes",
            "v1.18.2",
        ),
        ("ipset v7.1, protocol version: 7", "ipset", "7.1"),
        ("Linux w-1 5.4.0-84-generic #94-Ubuntu SMP x86_64 GNU/Linux", "kernel", "5.4.0-84-generic"),
        ("Docker version 19.03.8, build afacb8b", "docker", "19.03.8"),
    ],
)
def test_versions(text: str, component: str, version: str) -> None:
    assert (component, version) in {(v.component, v.version) for v in facts(Version, text)}


def test_an_uncommented_value_and_a_commented_one() -> None:
    found = settings(
        '            # - name: CALICO_IPV4POOL_CIDR\n            #   value: "192.168.0.0/16"\n            - name: IP\n              value: x\n'
    )
    assert found == {("env", "IP", "x")}


def test_logs_are_no_settings() -> None:
    assert not settings(
        '2023-01-12 05:55:26.123 [INFO][9] startup.go 213: Clearing out-of-date IPv4 address from this node IP=""'
    )


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("  resources:\n    limits:\n      cpu: 200m\n      memory: 128Mi\n    requests:\n      cpu: 100m", "kubectl get ds calico-node -o yaml | grep -A6 resources"),
        ("      requests:\n        cpu: 100m\n      limits:\n        cpu: \"200m\"\n        memory: 128Mi", ""),
        ('{"limits":{"cpu":"200m","memory":"128Mi"},"requests":{"cpu":"100m"}}', "kubectl get ds calico-node -o jsonpath='{..resources}'"),
        ("map[limits:map[cpu:200m memory:128Mi] requests:map[cpu:100m]]", "kubectl get ds calico-node -o jsonpath='{..resources}'"),
    ],
)  # fmt: skip
def test_limits_without_their_document(text: str, command: str) -> None:
    (box,) = facts(Container, text, command)
    assert dict(box.limits) == {"cpu": "200m", "memory": "128Mi"}
    assert box.name == ("calico-node" if command else "")
    assert dict(box.requests) == {"cpu": "100m"}


def test_files_of_environment_belong_to_their_unit() -> None:
    text = """\
$ cat /etc/default/kubelet
HTTP_PROXY="http://10.0.0.1:3128"
no_proxy=localhost,10.0.0.0/8
$ cat /etc/systemd/system/containerd.service.d/http-proxy.conf
[Service]
Environment="HTTPS_PROXY=http://10.0.0.1:3128" 'NO_PROXY=localhost'
EnvironmentFile=-/etc/sysconfig/containerd
$ grep -ri proxy /etc/sysconfig /etc/environment
/etc/sysconfig/docker:export https_proxy="http://10.0.0.2:3128/"
/etc/environment:HTTP_PROXY=http://10.0.0.3:3128/
"""
    seen = picture(text)
    assert [(s.name, s.value, s.owner) for s in seen.of(Setting) if s.scope == "env"] == [
        ("HTTP_PROXY", "http://10.0.0.1:3128", "kubelet"),
        ("no_proxy", "localhost,10.0.0.0/8", "kubelet"),
        ("HTTPS_PROXY", "http://10.0.0.1:3128", "containerd"),
        ("NO_PROXY", "localhost", "containerd"),
        ("https_proxy", "http://10.0.0.2:3128/", "docker"),
        ("HTTP_PROXY", "http://10.0.0.3:3128/", "environment"),
    ]
    assert seen.value("EnvironmentFile", "unit") == "/etc/sysconfig/containerd"


def test_addresses_that_jq_selects_by_their_type() -> None:
    command = (
        "kubectl get nodes -o json | jq -r '.items[] | [.metadata.name, "
        '(.status.addresses[]|select(.type=="InternalIP").address), '
        '.metadata.annotations["projectcalico.org/IPv4Address"]] | @tsv\''
    )
    text = "a-1\t10.20.4.11\t10.20.4.11/24\na-2\t10.20.4.13\t192.168.122.1/24"
    assert [(n.name, n.internal_ip) for n in facts(Node, text, command)] == [
        ("a-1", "10.20.4.11"),
        ("a-2", "10.20.4.13"),
    ]
    assert [(r.node, r.address) for r in facts(Registered, text, command)][-1] == ("a-2", "192.168.122.1")
    piped = command.replace('"InternalIP").address)', '"InternalIP") | .address)')
    assert [n.internal_ip for n in facts(Node, text, piped)] == ["10.20.4.11", "10.20.4.13"]
    outer = command.replace("InternalIP", "ExternalIP")
    assert [n.internal_ip for n in facts(Node, text, outer)] == ["", ""]


def test_addresses_of_calicos_nodes_that_grep_left() -> None:
    text = """
            name: kube-a
              ipv4Address: 10.10.10.5/24
            name: kube-b
              ipv4Address: 172.20.0.1/16
              ipv4Address: 10.10.10.7/24
    """
    found = facts(Registered, text, "calicoctl get node -o yaml | grep -E 'name:|ipv4Address'")
    assert [(one.node, one.address) for one in found] == [
        ("kube-a", "10.10.10.5"),
        ("kube-b", "172.20.0.1"),
        ("", "10.10.10.7"),
    ]
    assert not facts(Registered, text, "cat notes.yaml")
