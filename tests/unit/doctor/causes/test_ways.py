"""The same wish on every owner's cluster: the step that its owner keeps, in words of the release that runs."""

from __future__ import annotations

import pytest
from tests.support.doctor import picture

from tortie.doctor.causes import ways
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.way_table import WAYS
from tortie.doctor.commands.shell import Shell
from tortie.doctor.picture.picture import Picture
from tortie.doctor.texts import sections

MANIFEST = """
$ kubectl get pods -n kube-system -o wide
NAME                READY   STATUS    RESTARTS   AGE   IP           NODE
calico-node-abcde   0/1     Running   0          5d    10.0.0.11    w-1
calico-node-fghij   1/1     Running   0          5d    10.0.0.12    w-2
"""
OPERATOR = MANIFEST.replace("kube-system", "calico-system")
CANAL = MANIFEST.replace("calico-node", "canal")
NODES = """
$ kubectl get nodes -o wide
NAME   STATUS   ROLES    AGE   VERSION          INTERNAL-IP   EXTERNAL-IP   OS-IMAGE   KERNEL-VERSION  CONTAINER-RUNTIME
w-1    Ready    worker   5d    v1.28.4{mark}   10.0.0.11     <none>        {system}   5.15.0          containerd://1.7.1
w-2    Ready    worker   5d    v1.28.4{mark}   10.0.0.12     <none>        {system}   5.15.0          containerd://1.7.1
"""


def nodes(mark: str = "", system: str = "Ubuntu") -> str:
    return NODES.replace("{mark}", mark).replace("{system}", system)


RKE2_CANAL = nodes("+rke2r1") + CANAL.replace("canal-", "rke2-canal-")
RKE2_CALICO = nodes("+rke2r1") + OPERATOR
K3S = nodes("+k3s1") + MANIFEST
OWNERS = {
    "manifest": MANIFEST,
    "operator": OPERATOR,
    "canal": CANAL,
    "rke2-canal": RKE2_CANAL,
    "rke2-calico": RKE2_CALICO,
    "k3s": K3S,
    "microk8s": "$ ls /var/snap/microk8s/current/args/cni-network\ncni.yaml\n" + MANIFEST,
    "kops": "$ kops get cluster\nNAME\n" + MANIFEST,
    "kubespray": "We installed the cluster with kubespray.\n" + MANIFEST,
    "kubekey": "$ kk create cluster\n" + MANIFEST,
    "rke": "$ rke up\n" + MANIFEST,
    "talos": nodes(system="Talos (v1.6.0)") + MANIFEST,
}


def text(steps: tuple[Step, ...]) -> str:
    return "\n".join(f"{step.text.en}\n{step.command}" for step in steps)


def seen(owner: str, *more: str) -> Picture:
    return picture("\n".join((OWNERS[owner], *more)))


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        ("manifest", "set env '<agent>' 'IP_AUTODETECTION_METHOD=kubernetes-internal-ip'"),
        ("canal", "set env '<agent>' 'IP_AUTODETECTION_METHOD=kubernetes-internal-ip'"),
        ("operator", '/spec/calicoNetwork/nodeAddressAutodetectionV4","value":{"kubernetes":"NodeInternalIP"}'),
        ("rke2-calico", "nodeAddressAutodetectionV4:\n          kubernetes: NodeInternalIP"),
        ("rke2-canal", 'ipAutoDetectionMethod: "kubernetes-internal-ip"'),
        ("microk8s", "/var/snap/microk8s/current/args/cni-network/cni.yaml"),
        ("kops", 'spec.networking.calico.ipv4AutoDetectionMethod: "kubernetes-internal-ip"'),
        ("kubespray", 'calico_ip_auto_method: "kubernetes-internal-ip"'),
        ("kubekey", "ipAutoDetectionMethod below network.calico"),
        ("rke", "RKE applies its own manifest with the next `rke up`"),
        ("k3s", "/var/lib/rancher/k3s/server/manifests"),
        ("talos", "upgrade-k8s"),
    ],
)
def test_autodetection_is_set_where_its_owner_keeps_it(owner: str, expected: str) -> None:
    assert expected in text(ways.set_autodetection(seen(owner), "kubernetes-internal-ip"))


def test_the_evidence_of_the_owner_is_told() -> None:
    (step,) = ways.edit_agent(seen("rke2-canal"))
    assert "RKE2's chart owns it (evidence.txt:3)" in step.text.en  # the release of a node
    (step,) = ways.edit_agent(seen("operator"))
    assert "The operator owns the DaemonSet (evidence.txt:3)" in step.text.en  # the namespace of an agent
    _, keep = ways.edit_agent(seen("rke"))
    assert "`rke up` (evidence.txt:1)" in keep.text.en
    assert (keep.command, keep.risk) == ("", "safe")


def test_the_daemonset_of_an_operator_is_never_touched() -> None:
    here = seen("operator")
    every = (
        *ways.set_agent_env(here, "CALICO_ROUTER_ID", "hash"), *ways.set_agent_env(here, "FELIX_HEALTHPORT", "9199"),
        *ways.set_autodetection(here, "interface=eth1"), *ways.set_config_map(here, "veth_mtu", "1440"),
        *ways.set_agent_limits(here, "cpu", "1"), *ways.edit_agent(here), *ways.set_mtu(here),
        *ways.set_probe(here, "livenessProbe", "timeoutSeconds", 10),
    )  # fmt: skip
    assert not [step.command for step in every if "<agent>" in step.command or "calico-config" in step.command]
    assert all("evidence.txt" in step.text.en for step in every if "operator owns" in step.text.en)


@pytest.mark.parametrize(
    ("method", "patch"),
    [
        ("interface=eth1", '{"interface":"eth1"}'),
        ("skip-interface=docker0", '{"skipInterface":"docker0"}'),
        ("can-reach=10.0.0.1", '{"canReach":"10.0.0.1"}'),
        ("cidr=10.0.0.0/24", '{"cidrs":["10.0.0.0/24"]}'),
        ("first-found", '{"firstFound":true}'),
        ("", '{"<field>":"<value>"}'),
    ],
)
def test_methods_in_the_words_of_the_installation(method: str, patch: str) -> None:
    assert f'"value":{patch}}}]' in text(ways.set_autodetection(seen("operator"), method))


def test_other_family() -> None:
    assert "IP6_AUTODETECTION_METHOD=interface=eth1" in text(
        ways.set_autodetection(seen("manifest"), "interface=eth1", 6)
    )
    assert "nodeAddressAutodetectionV6" in text(ways.set_autodetection(seen("operator"), "interface=eth1", 6))
    assert "calico_ip6_auto_method" in text(ways.set_autodetection(seen("kubespray"), "interface=eth1", 6))
    assert "ipv6AutoDetectionMethod" in text(ways.set_autodetection(seen("kops"), "interface=eth1", 6))


def test_a_release_that_does_not_know_the_method_gets_another_one() -> None:
    old = seen("manifest", "calico/node:v3.6.0")
    assert "can-reach=10.0.0.11" in text(ways.set_autodetection(old, "kubernetes-internal-ip"))
    link = "$ ip -4 addr\n2: eth1: <UP> mtu 1500\n    inet 10.0.0.11/24 scope global eth1\n"
    assert "interface=eth1" in text(
        ways.set_autodetection(seen("manifest", "calico/node:v3.6.0", link), "cidr=10.0.0.0/24")
    )
    nothing = picture("calico/node:v3.6.0 on bare metal\n")
    told = text(ways.set_autodetection(nothing, "kubernetes-internal-ip"))
    assert "v3.22" in told
    assert "v3.6.0" in told
    assert "'IP_AUTODETECTION_METHOD=can-reach=<reachable>'" in told
    assert "kubernetes-internal-ip'" in text(
        ways.set_autodetection(seen("manifest", "calico/node:v3.22.1"), "kubernetes-internal-ip")
    )


def test_what_is_set_already_is_not_set_again() -> None:
    env = "$ kubectl set env ds/calico-node --list\nIP_AUTODETECTION_METHOD=interface=eth1\nIP=autodetect\n"
    here = seen("manifest", env)
    for steps in (ways.set_autodetection(here, "interface=eth1"), ways.set_agent_env(here, "IP", "autodetect")):
        assert "already (evidence.txt:" in steps[0].text.en
        assert "已经是" in steps[0].text.zh
        assert [step.command for step in steps] == ["", "kubectl -n '<namespace>' rollout restart '<agent>'"]
    assert "set env" in text(ways.set_autodetection(here, "interface=eth2"))


def test_an_environment_variable_goes_before_felix_configuration() -> None:
    env = "$ kubectl -n kube-system set env ds/calico-node --list\nFELIX_IPTABLESBACKEND=Legacy\n"
    told = text(ways.set_felix(seen("manifest", env), "iptablesBackend", '"NFT"'))
    assert "'FELIX_IPTABLESBACKEND=NFT'" in told
    assert "patch felixconfiguration" not in told
    assert "patch felixconfiguration" in text(ways.set_felix(seen("manifest"), "iptablesBackend", '"NFT"'))


@pytest.mark.parametrize(
    ("value", "patch"),
    [('"Auto"', '{"spec":{"field":"Auto"}}'), ("true", '{"spec":{"field":true}}'), ("1440", '{"spec":{"field":1440}}'),
     ('"ChecksumOffloadBroken=true"', '{"spec":{"field":"ChecksumOffloadBroken=true"}}'),
     ('"a\\"b"', '{"spec":{"field":"<value>"}}'), ("[1]", '{"spec":{"field":"<value>"}}')],
)  # fmt: skip
def test_values_of_felix(value: str, patch: str) -> None:
    assert patch in text(ways.set_felix(seen("manifest"), "field", value))


def test_felix_of_an_etcd_of_its_own() -> None:
    etcd = "$ kubectl -n kube-system set env ds/calico-node --list\nDATASTORE_TYPE=etcdv3\n"
    assert text(ways.set_felix(seen("manifest", etcd), "vxlanEnabled", "true")).endswith(
        'calicoctl patch felixconfiguration default -p \'{"spec":{"vxlanEnabled":true}}\''
    )
    assert "calicoctl delete node old" in text(ways.delete_calico_node(seen("manifest", etcd), "old"))
    assert "kubectl delete node old" in text(ways.delete_calico_node(seen("manifest"), "old"))
    assert "calicoctl patch ippool p" in text(ways.patch_pool(seen("manifest", etcd), "p", "natOutgoing", "true"))


@pytest.mark.parametrize(
    ("owner", "mtu", "expected"),
    [
        ("manifest", "0", '{"data":{"veth_mtu":"0"}}'),
        ("manifest", "1440", '{"data":{"veth_mtu":"1440"}}'),
        ("canal", "1400", "patch cm canal-config"),
        ("operator", "0", '{"calicoNetwork":{"mtu":null}}'),
        ("operator", "1400", '{"calicoNetwork":{"mtu":1400}}'),
        ("rke2-canal", "1400", "calico.vethuMTU: 1400"),
        ("rke2-calico", "1400", "installation.calicoNetwork.mtu: 1400"),
        ("kubespray", "1400", "calico_veth_mtu: 1400"),
        ("kops", "1400", "spec.networking.calico.mtu: 1400"),
        ("rke", "1400", "network.mtu: 1400"),
        ("microk8s", "0", "veth_mtu to 0 in cni.yaml"),
        ("kubekey", "1400", "vethMTU: 1400"),
    ],
)
def test_mtu(owner: str, mtu: str, expected: str) -> None:
    assert expected in text(ways.set_mtu(seen(owner), mtu))


def test_an_old_release_does_not_find_its_mtu() -> None:
    told = text(ways.set_mtu(seen("manifest", "calico/node:v3.8.2"), "0"))
    assert '"veth_mtu":"0"' not in told
    assert '"veth_mtu":"<mtu>"' in told
    assert "v3.8.2" in told
    assert "\"mtu\":'<mtu>'" not in text(ways.set_mtu(seen("operator", "calico/node:v3.16.1"), "0"))


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        ("manifest", "-f calico.yaml"), ("canal", "-f canal.yaml"), ("operator", "-f tigera-operator.yaml"),
        ("rke2-canal", "do not apply Calico's files"), ("rke", "rke up --config cluster.yml"),
        ("kops", "kops update cluster --yes"), ("kubespray", "--tags network"), ("microk8s", "microk8s kubectl apply"),
    ],
)  # fmt: skip
def test_release(owner: str, expected: str) -> None:
    assert expected in text(ways.apply_release(seen(owner)))


def test_limits_of_an_operator_depend_on_its_release() -> None:
    assert "componentResources" in text(ways.set_agent_limits(seen("operator", "calico/node:v3.20.0"), "memory", "1Gi"))
    assert "calicoNodeDaemonSet" in text(
        ways.set_agent_limits(seen("operator", "calico/node:v3.27.0"), "memory", "1Gi")
    )


def test_pools_of_an_installation_belong_to_the_operator() -> None:
    assert "kubectl edit installation default" in text(ways.patch_pool(seen("operator"), "p", "natOutgoing", "true"))
    told = text(ways.patch_pool(seen("manifest"), "p", "ipipMode", '"Always"'))
    assert 'kubectl patch ippool p --type merge -p \'{"spec":{"ipipMode":"Always"}}\'' in told


def test_the_agent_of_one_node_by_its_name() -> None:
    assert "delete pod calico-node-abcde" in text(ways.restart_agent(seen("manifest"), "w-1"))
    assert "spec.nodeName=w-9" in text(ways.restart_agent(seen("manifest"), "w-9"))
    assert "k8s-app=canal" in text(ways.restart_agent(seen("canal"), "w-9"))


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        ("$ firewall-cmd --list-all\npublic (active)\n", "firewall-cmd --add-port=179/tcp"),
        ("$ ufw status\nStatus: active\n", "ufw allow 179/tcp"),
        ("kernel: [UFW BLOCK] IN=eth0 OUT= DPT=179\n", "ufw allow 179/tcp"),
        ("$ systemctl status firewalld\n  Active: active (running)\n", "firewall-cmd --add-port=179/tcp"),
        ("$ firewall-cmd --state\nnot running\n", "between all nodes"),
        ("$ ufw status\nStatus: inactive\n", "between all nodes"),
        ("$ uptime\n", "between all nodes"),
        ("The firewall is disabled on all nodes.\n", "own filters are off"),
        ("Our cluster runs on AWS.\n", "aws ec2 authorize-security-group-ingress"),
        ("我们的集群在阿里云上。\n", "Alibaba Cloud"),
        ("The VMs run on OpenStack.\n", "openstack security group rule create --protocol tcp --dst-port 179"),
    ],
)
def test_a_port_is_opened_where_it_is_shut(evidence: str, expected: str) -> None:
    steps = ways.open_port(picture(evidence), "179", "tcp")
    assert expected in text(steps)
    assert len(steps) == 1


def test_names_of_machines_tell_their_cloud() -> None:
    aws = nodes().replace("w-1 ", "ip-10-0-0-11.eu-west-1.compute.internal ")
    assert "aws ec2" in text(ways.open_port(picture(aws), "179", "tcp"))


def test_kubectl_drains_in_the_words_of_its_release() -> None:
    assert "--delete-emptydir-data" in text(ways.drain_node(picture(nodes()), "w-1"))
    assert "--delete-local-data" in text(ways.drain_node(picture(nodes().replace("v1.28.4", "v1.18.2")), "w-1"))


def test_policies() -> None:
    here = seen("manifest")
    assert "delete globalnetworkpolicies.crd.projectcalico.org deny" in text(ways.remove_policy(here, "deny"))
    assert "--server=https://127.0.0.1:6443" in text(ways.remove_policy(here, "deny", locally=True))
    assert "kubectl -n web delete networkpolicy deny" in text(ways.remove_policy(here, "deny", "web"))


def test_every_row_has_its_texts_and_every_wish_a_way_without_an_owner() -> None:
    assert {section for way in WAYS for section in way.sections} <= set(sections(ways.__name__))
    wishes = {way.wish for way in WAYS}
    for wish in wishes:
        plain = [way for way in WAYS if way.wish == wish and way.hand == "manifest"]
        assert any(way.fits(None) for way in plain), wish
        assert all(any(way.fits(release) for way in plain) for release in ((2, 6), (3, 16), (3, 30))), wish


def test_no_command_of_a_way_is_unreadable() -> None:
    for section in sections(ways.__name__).values():
        assert all(command.program for command in Shell(section.sh).commands())
