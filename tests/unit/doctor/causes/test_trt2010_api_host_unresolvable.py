"""TRT2010: the API's or etcd's name does not resolve; localhost and registries are others' business."""

from __future__ import annotations

from tests.support.doctor import finding
from tests.support.fixes import fixes
from tests.unit.doctor.judgement.test_healthy import judged

LOOKUP = (
    '2022-02-20 20:20:20.220 [ERROR][1] Get "https://k8s-vip.corp.lan:6443/api?timeout=30s": dial tcp: lookup '
    "k8s-vip.corp.lan on 10.1.1.53:53: no such host"
)


def test_no_such_host() -> None:
    answer = finding("api-host-unresolvable", f"$ kubectl -n tigera-operator logs tigera-operator-6f9-abcde\n{LOOKUP}")
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "k8s-vip.corp.lan" in answer.objects


def test_only_the_hosts_file_knows_it() -> None:
    answer = finding(
        "api-host-unresolvable",
        f"""
        宿主机 ping 得通这个域名，容器里不行。

        {LOOKUP}

        [root@m1 ~]# cat /etc/hosts
        127.0.0.1 localhost
        10.1.1.100 k8s-vip.corp.lan
        [root@m1 ~]# dig +short k8s-vip.corp.lan @10.1.1.53

        [root@m1 ~]#
        """,
    )
    assert answer.strength >= 0.95


def test_etcd_by_name() -> None:
    answer = finding(
        "api-host-unresolvable",
        "2019-01-01 10:00:00.000 [ERROR][9] startup.go 200: failed error=client: etcd cluster is unavailable or "
        "misconfigured; error #0: dial tcp: lookup etcd-1.local on 8.8.8.8:53: no such host",
    )
    assert answer.strength >= 0.8


def test_localhost_is_not_ours() -> None:
    answer = finding(
        "api-host-unresolvable", "error=listen tcp: dial tcp: lookup localhost on 10.1.1.53:53: no such host"
    )
    assert answer.strength < 0.8


def test_a_registry_is_not_ours() -> None:
    text = (
        'Failed to pull image "docker.io/calico/cni:v3.26.1": Head "https://registry-1.docker.io/v2/calico/cni": '
        "dial tcp: "
        "lookup registry-1.docker.io on 10.1.1.53:53: no such host"
    )
    assert finding("api-host-unresolvable", text).strength < 0.8


HOSTS = "[root@m1 ~]# cat /etc/hosts\n10.1.1.100 k8s-vip.corp.lan\n"


def test_the_fix_fits_the_owner() -> None:
    operator = fixes(
        "api-host-unresolvable", f"$ kubectl -n tigera-operator logs tigera-operator-6f9-abcde\n{LOOKUP}\n{HOSTS}"
    )
    assert any("kubernetes-services-endpoint" in command and "10.1.1.100" in command for command in operator)
    manifest = fixes("api-host-unresolvable", f"$ kubectl -n kube-system logs calico-node-x2k4z\n{LOOKUP}\n{HOSTS}")
    assert not any("tigera-operator" in command for command in manifest)


def test_etcd_gets_the_address_that_the_hosts_file_knows() -> None:
    commands = fixes(
        "api-host-unresolvable",
        """
        $ kubectl -n kube-system logs calico-node-x2k4z
        Unable to access datastore error=dial tcp: lookup etcd-1.local on 8.8.8.8:53: no such host
        $ kubectl -n kube-system get cm calico-config -o yaml
        apiVersion: v1
        kind: ConfigMap
        metadata:
          name: calico-config
        data:
          etcd_endpoints: https://etcd-1.local:2379
        # cat /etc/hosts
        10.9.0.5 etcd-1.local
        """,
    )
    assert any('"etcd_endpoints":"https://10.9.0.5:2379"' in command for command in commands)


def test_who_is_ready_could_resolve_it() -> None:
    def pods(ready: str) -> str:
        return f"""
        {LOOKUP}
        $ kubectl get pods -A
        NAMESPACE         NAME                        READY   STATUS    RESTARTS   AGE
        calico-system     calico-node-7k2wq           1/1     Running   0          9d
        tigera-operator   tigera-operator-6f9-abcde   {ready}     Running   3          9d
        """

    assert finding("api-host-unresolvable", pods("1/1")).state == "ruled-out"
    assert finding("api-host-unresolvable", pods("0/1")).strength >= 0.9


def test_names_of_other_servers() -> None:
    lookup = "dial tcp: lookup api.example.com on 10.1.1.53:53: no such host"
    assert finding("api-host-unresolvable", f'operator: Post "https://api.example.com/hook": {lookup}').state != "found"
    assert finding("api-host-unresolvable", f'operator: Get "https://api.example.com/api/v1": {lookup}').strength >= 0.9


_LOST = "dial tcp: lookup {0} on 127.0.0.53:53: server misbehaving"
_KUBELET = (
    "Aug 25 10:43:50 mole-1 kubelet[978]: E0825 10:43:50.891207     978 reflector.go:138] Failed to watch *v1.Service: "
    'Get "https://apiserver.k.local:6443/api/v1/services?limit=500": ' + _LOST.format("apiserver.k.local") + "\n"
)
_PULL = (
    "Aug 25 10:43:51 mole-1 kubelet[978]: E0825 10:43:51.330145     978 remote_runtime.go:201] "
    '"RunPodSandbox from runtime service failed" err="failed to pull image \\"hub.k.local:5000/pause:3.7\\": '
    'failed to do request: Head \\"http://hub.k.local:5000/v2/pause/manifests/3.7\\": '
    + _LOST.format("hub.k.local")
    + '"\n'
)
_WRITTEN = (
    "root@mole-1:~# cat /etc/hosts\n# Your system has configured 'manage_etc_hosts' as True.\n"
    "# a.) make changes to the master file in /etc/cloud/templates/hosts.redhat.tmpl\n127.0.1.1 mole-1\n"
)


def test_a_hosts_file_that_was_written_anew() -> None:
    answer = finding("api-host-unresolvable", _KUBELET + _PULL + _WRITTEN)
    assert answer.strength >= 0.95
    assert {"apiserver.k.local", "/etc/hosts", "mole-1", "/etc/cloud/templates/hosts.redhat.tmpl"} <= set(
        answer.objects
    )
    assert "hub.k.local" in answer.why.en
    assert "hub.k.local" in answer.why.zh
    commands = fixes("api-host-unresolvable", _KUBELET + _PULL + _WRITTEN)
    assert any(command.endswith(">> /etc/cloud/templates/hosts.redhat.tmpl'") for command in commands)
    assert not any("edit ds/" in command for command in commands)


def test_kubectl_on_the_machine_whose_hosts_file_is_shown() -> None:
    lost = f"Unable to connect to the server: {_LOST.format('apiserver.k.local')}\n"
    there = f"root@mole-1:~# kubectl get node\n{lost}root@mole-1:~# cat /etc/hosts\n127.0.0.1 localhost\n"
    assert finding("api-host-unresolvable", there).strength >= 0.9
    assert finding("api-host-unresolvable", f"me@desk:~$ kubectl get node\n{lost}").state != "found"


def test_a_hosts_file_that_knows_it_or_is_not_whole() -> None:
    known = "root@mole-1:~# cat /etc/hosts\n127.0.0.1 localhost\n10.3.0.2 apiserver.k.local\n"
    answer = finding("api-host-unresolvable", _KUBELET + known)
    assert "/etc/hosts" not in answer.objects
    part = "root@mole-1:~# grep mole /etc/hosts\n127.0.1.1 mole-1\n"
    assert finding("api-host-unresolvable", _KUBELET + part).strength < 0.95


def test_the_image_is_only_a_consequence() -> None:
    for text in (_KUBELET + _PULL + _WRITTEN, _KUBELET + _PULL):
        assert [answer.cause.id for answer in judged(text).causes] == ["api-host-unresolvable"]
    alone = "$ kubectl get pods -A\nkube-system   calico-node-x7k2p   0/1   Init:ImagePullBackOff   0   20m\n"
    assert [answer.cause.id for answer in judged(alone + _PULL).causes] == ["image-pull-failed"]
