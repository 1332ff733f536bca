"""TRT6001: an expired token or a file that nothing renews; a bare 401 decides nothing."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

import pytest
from tests.support.doctor import finding, fixes

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


def test_the_refresher_fell_silent() -> None:
    answer = finding(
        "cni-token-expired",
        f"""
$ kubectl describe pod app-1 | tail -1
{REFUSED}
[root@st-3 ~]# kubectl -n calico-system logs calico-node-zz1 | grep kubeconfig | tail -1
2024-02-01 08:00:00.338 [INFO][73] cni-config-monitor/token_watch.go 280: Wrote updated CNI kubeconfig file. path="/host/etc/cni/net.d/calico-kubeconfig"
[root@st-3 ~]# ll /etc/cni/net.d
-rw------- 1 root root  814 2月   1  2023 10-calico.conflist
-rw------- 1 root root 3001 2月   1 16:00 calico-kubeconfig
[root@st-3 ~]# date
2024年 02月 06日 星期二 15:43:26 CST
""",
    )
    assert answer.strength >= 0.9
    assert "calico-kubeconfig" in answer.objects


def test_a_refresher_that_wrote_this_morning_is_no_claim() -> None:
    answer = finding(
        "cni-token-expired",
        f"""
$ kubectl describe pod app-1 | tail -1
{REFUSED}
[root@st-3 ~]# kubectl -n calico-system logs calico-node-zz1 | grep kubeconfig | tail -1
2024-02-06 02:00:00.338 [INFO][73] cni-config-monitor/token_watch.go 280: Wrote updated CNI kubeconfig file. path="/host/etc/cni/net.d/calico-kubeconfig"
[root@st-3 ~]# ll /etc/cni/net.d
-rw------- 1 root root 3001 Feb  6 10:00 calico-kubeconfig
[root@st-3 ~]# date
Tue Feb  6 15:43:26 CST 2024
""",
    )
    assert answer.strength < 0.8


def test_the_signing_key_was_replaced() -> None:
    answer = finding(
        "cni-token-expired",
        f"""
$ kubectl describe pod app-1 | tail -1
{REFUSED}
m1# ls -l --time-style=full-iso /etc/kubernetes/pki/sa.key
-rw------- 1 root root 1679 2024-05-02 10:00:00.000000000 +0000 /etc/kubernetes/pki/sa.key
w4# ls -l --time-style=full-iso /etc/cni/net.d/calico-kubeconfig
-rw------- 1 root root 2840 2024-05-02 07:30:00.000000000 +0000 /etc/cni/net.d/calico-kubeconfig
m1# kubectl -n kube-system logs kube-apiserver-m1 --tail=1
E0502 11:00:48.440961       1 authentication.go:73] "Unable to authenticate the request" err="[invalid bearer token, go-jose/go-jose: error in cryptographic primitive]"
""",
    )
    assert answer.strength >= 0.9
    assert "sa.key" in answer.objects


def test_a_new_signing_key_concerns_all_agents() -> None:
    evidence = f"""
$ kubectl describe pod app-1 | tail -1
{REFUSED}
m1# kubectl -n kube-system logs kube-apiserver-m1 --tail=1
E0502 11:00:48.440961       1 authentication.go:73] "Unable to authenticate the request" err="[invalid bearer token, go-jose/go-jose: error in cryptographic primitive]"
"""
    assert "kubectl -n kube-system rollout restart ds/calico-node" in fixes("cni-token-expired", evidence)


def test_the_renewal_is_switched_on_again() -> None:
    evidence = f"""
$ kubectl describe pod app-1 | tail -1
{REFUSED}
$ kubectl -n kube-system get ds calico-node -o yaml | grep -A1 CALICO_MANAGE_CNI
        - name: CALICO_MANAGE_CNI
          value: "false"
"""
    assert any("CALICO_MANAGE_CNI" in command and "true" in command for command in fixes("cni-token-expired", evidence))


def _log(wrote: str) -> str:
    return f"""
$ kubectl -n kube-system logs calico-node-58wxz | grep token_watch | tail -1
{wrote} [INFO][66] cni-config-monitor/token_watch.go 281: Wrote updated CNI kubeconfig file. path="/host/etc/cni/net.d/calico-kubeconfig"
$ journalctl -u containerd -o cat | tail -1
time="2024-09-22T09:03:44.101Z" level=error msg="RunPodSandbox for &PodSandboxMetadata{{Name:dep-7,}} failed, error" error="failed to setup network for sandbox \\"2e4\\": plugin type=\\"calico\\" failed (add): error getting ClusterInformation: connection is unauthorized: Unauthorized"
"""


def test_refused_weeks_after_the_file_was_written() -> None:
    assert finding("cni-token-expired", _log("2024-07-27 01:44:12.412")).strength >= 0.8


def test_refused_an_hour_after_the_file_was_written() -> None:
    assert finding("cni-token-expired", _log("2024-09-22 08:01:12.412")).strength < 0.8


OLD_FILE = """
[root@st-3 ~]# ls -l --time-style=long-iso /etc/cni/net.d
-rw------- 1 root root 2711 2022-02-01 10:00 calico-kubeconfig
"""
RENEWED_UNTIL = """
[root@st-1 ~]# kubeadm certs check-expiration | head -1
admin.conf     Feb 05, 2024 01:31 UTC   364d   no
"""


@pytest.mark.parametrize(
    "told",
    [
        "Yesterday we renewed all certificates and regenerated sa.key and sa.pub.",
        "The service account signing key was rotated on Monday, new pods hang since.",
        "值班更新证书时顺手把 sa.key/sa.pub 一并重新生成了。",
        "上周重新生成了 sa.key，之后新 Pod 起不来。",
        '[root@st-1 ~]# kubeadm init phase certs sa\n[certs] Generating "sa" key and public key\n',
    ],
)
def test_the_signing_key_was_made_anew(told: str) -> None:
    answer = finding("cni-token-expired", f"{told}\n\n$ kubectl describe pod app-1 | tail -1\n{REFUSED}")
    assert (answer.rule, answer.strength >= 0.9, "sa.key" in answer.objects) == ("not-renewed", True, True)
    assert finding("cni-token-expired", f"{told}\n\n$ kubectl get pods").strength < 0.8  # nobody is refused


@pytest.mark.parametrize(
    "told",
    [
        "We did not regenerate sa.key, only the kubelet was restarted.",
        "Should we regenerate sa.key?",
        "没有重新生成 sa.key，只重启了 kubelet。",
        '[root@st-1 ~]# kubeadm init phase certs sa\n[certs] Using the existing "sa" key\n',
    ],
)
def test_the_signing_key_is_the_same(told: str) -> None:
    assert finding("cni-token-expired", f"{told}\n\n$ kubectl describe pod app-1 | tail -1\n{REFUSED}").strength < 0.8


@pytest.mark.parametrize("told", ["We renewed the certificates this morning.", "今天早上更新了证书。"])
def test_certificates_were_renewed_and_the_file_is_from_before(told: str) -> None:
    refused = f"\n\n$ kubectl describe pod app-1 | tail -1\n{REFUSED}"
    assert finding("cni-token-expired", told + refused + OLD_FILE + RENEWED_UNTIL).strength >= 0.9
    assert finding("cni-token-expired", told + refused).strength < 0.8
    fresh = OLD_FILE.replace("2022-02-01", "2023-02-05")
    assert finding("cni-token-expired", told + refused + fresh + RENEWED_UNTIL).strength < 0.8


def test_an_agent_whose_own_token_is_refused_is_another_matter() -> None:
    """Everybody's tokens are signed with the key that was replaced; the plugin's file mends nothing."""
    text = """
        $ kubectl logs -n kube-system calico-node-6bjk2
        2025-03-05 03:11:55.665 [WARNING][9] startup/startup.go 462: Connection to the datastore is unauthorized error=connection is unauthorized: Unauthorized
        $ journalctl -u kube-apiserver
        E0305 11:11:55.664213    1873 authentication.go:63] "Unable to authenticate the request" err="[invalid bearer token, square/go-jose: error in cryptographic primitive]"
        """
    assert finding("cni-token-expired", text).state != "found"
