"""TRT6001: an expired token or a file that nothing renews; a bare 401 decides nothing."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

from tests.support.doctor import finding

REFUSED = (
    "  Warning  FailedCreatePodSandBox  9s (x31 over 7m)  kubelet  Failed to create pod sandbox: rpc error: code = Unknown "
    'desc = failed to setup network for sandbox "0a1b": plugin type="calico" failed (add): error getting '
    "ClusterInformation: connection is unauthorized: Unauthorized"
)


def test_the_token_is_past_its_expiry() -> None:
    answer = finding(
        "cni-token-expired",
        f"""
$ kubectl describe pod app-1 | tail -1
{REFUSED}
[root@st-3 ~]# awk '/token:/{{print $2}}' /etc/cni/net.d/calico-kubeconfig | cut -d. -f2 | base64 -d 2>/dev/null | grep -o '"exp":[0-9]*'; date +%s
"exp":1680000000
1680090000
""",
    )
    assert answer.state == "found"
    assert answer.strength >= 0.95
    assert "calico-kubeconfig" in answer.objects


def test_the_renewal_is_switched_off() -> None:
    answer = finding(
        "cni-token-expired",
        f"""
老 Pod 正常，新 Pod 全部 ContainerCreating，删除的 Pod 卡在 Terminating。
$ kubectl describe pod app-1 | tail -1
{REFUSED}
$ kubectl -n kube-system get ds calico-node -o yaml | grep -A1 CALICO_MANAGE_CNI
        - name: CALICO_MANAGE_CNI
          value: "false"
""",
    )
    assert answer.strength >= 0.9
    assert "CALICO_MANAGE_CNI" in answer.objects


def test_an_old_file_against_the_clock() -> None:
    answer = finding(
        "cni-token-expired",
        f"""
$ kubectl describe pod app-1 | tail -1
{REFUSED}
[root@st-3 ~]# ls -l --time-style=full-iso /etc/cni/net.d
total 8
-rw-r--r-- 1 root root  680 2023-02-01 10:00:00.000000000 +0000 10-calico.conflist
-rw------- 1 root root 2711 2023-02-01 10:00:01.000000000 +0000 calico-kubeconfig
[root@st-3 ~]# date -u
Sun Feb  5 11:20:30 UTC 2023
""",
    )
    assert answer.strength >= 0.8
    assert "calico-kubeconfig" in answer.objects


def test_a_bare_401_is_no_claim() -> None:
    answer = finding("cni-token-expired", f"$ kubectl describe pod app-1 | tail -1\n{REFUSED}")
    assert answer.state == "found"
    assert answer.strength < 0.8


def test_a_valid_token_rules_it_out() -> None:
    answer = finding(
        "cni-token-expired",
        f"""
$ kubectl describe pod app-1 | tail -1
{REFUSED}
[root@st-3 ~]# cut -d. -f2 token | base64 -d | grep -o '"exp":[0-9]*'; date +%s
"exp":1680090000
1680000000
""",
    )
    assert answer.state == "ruled-out"


def test_403_is_another_cause() -> None:
    answer = finding(
        "cni-token-expired",
        "error getting ClusterInformation: connection is unauthorized: clusterinformations.crd.projectcalico.org "
        '"default" is forbidden: User "system:serviceaccount:kube-system:calico-cni-plugin" cannot get resource '
        '"clusterinformations" in API group "crd.projectcalico.org" at the cluster scope',
    )
    assert answer.state != "found"
