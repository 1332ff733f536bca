"""TRT2004: an expired certificate of the API server, by the line, by openssl; not by a wrong clock or another port."""

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.catalogue import cause_named

AFTER = (
    "2023-06-11 07:00:09.001 [ERROR][9] startup/startup.go 160: failed to query kubeadm's config map error=Get "
    '"https://10.96.0.1:443/api/v1/namespaces/kube-system/configmaps/kubeadm-config": x509: certificate has expired or '
    "is not yet valid: current time 2023-06-11T07:00:08Z is after 2023-06-10T02:14:51Z"
)


def test_the_line_says_so() -> None:
    answer = finding("apiserver-certs-expired", f"$ kubectl -n kube-system logs calico-node-bb2lk -p\n{AFTER}")
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "kube-apiserver" in answer.objects


def test_one_of_three_masters() -> None:
    answer = finding(
        "apiserver-certs-expired",
        f"""
        证书上周已经 kubeadm certs renew all 续期了，但 calico-node 重启后大约三次里失败一次。

        {AFTER}

        [root@ma ~]# echo | openssl s_client -connect 10.3.3.13:6443 2>/dev/null | openssl x509 -noout -enddate
        notAfter=Jun 10 02:14:51 2023 GMT
        [root@ma ~]# date -u
        Sun Jun 11 07:04:00 UTC 2023
        """,
    )
    assert answer.strength >= 0.95
    assert any("10.3.3.13" in name for name in answer.objects)


def test_kubectl_itself() -> None:
    answer = finding(
        "apiserver-certs-expired",
        "# kubectl get pod -n kube-system\nUnable to connect to the server: x509: certificate has expired or is not "
        "yet "
        "valid: current time 2023-06-11T07:00:08+08:00 is after 2023-06-10T02:14:51Z",
    )
    assert answer.strength >= 0.8


def test_typhas_port_is_not_the_api() -> None:
    answer = finding(
        "apiserver-certs-expired",
        "error connecting to typha endpoint (1 of 1) 10.3.3.14:5473: x509: certificate has expired or is not yet "
        "valid: "
        "current time 2023-06-11T07:00:08Z is after 2023-06-10T02:14:51Z",
    )
    assert answer.strength < 0.8


def test_a_clock_that_runs_ahead() -> None:
    answer = finding(
        "apiserver-certs-expired",
        f"""
        [root@w5 ~]# crictl logs 3f1c
        {AFTER}
        [root@w5 ~]# timedatectl
                       Local time: Sun 2023-06-11 07:05:00 UTC
        System clock synchronized: no
                      NTP service: inactive
        """,
    )
    assert answer.strength < 0.8


def test_the_master_whose_server_was_not_restarted() -> None:
    answer = finding(
        "apiserver-certs-expired",
        """
        2024-02-03 04:05:06.007 [ERROR][1] cni-installer/<nil> <nil>: Unable to create token for CNI kubeconfig \
error=Post "https://10.96.0.1:443/api/v1/namespaces/kube-system/serviceaccounts/calico-node/token": x509: certificate \
has expired or is not yet valid: current time 2024-02-03T04:05:06Z is after 2024-01-30T01:01:01Z
        $ for m in ctrl-a ctrl-b; do echo "== $m"; ssh $m docker ps --filter name=kube-apiserver; done
        == ctrl-a
        8f1c20aa11bb   kube-apiserver   "kube-apiserver --ad…"   13 months ago   Up 13 months   k8s_kube-apiserver_a
        == ctrl-b
        77aa20aa11bb   kube-apiserver   "kube-apiserver --ad…"   3 days ago   Up 3 days   k8s_kube-apiserver_b
        """,
    )
    assert answer.strength >= 0.8
    assert answer.objects[0] == "ctrl-a"


def commands(text: str) -> str:
    cause = cause_named("apiserver-certs-expired")
    assert cause is not None
    shown = picture(text)
    return "\n".join(step.command for step in cause.fix(shown, cause.judge(shown)))


NODES = "$ kubectl get nodes\nNAME  STATUS  ROLES  AGE  VERSION\nm1  Ready  control-plane,master  400d  {}\n"


def test_the_fix_is_the_one_of_the_release_and_of_its_owner() -> None:
    failing = f"$ crictl logs 3f1c\n{AFTER}\n"
    assert "kubeadm certs renew all" in commands(failing + NODES.format("v1.26.3"))
    assert "kubeadm alpha certs renew all" in commands(failing + NODES.format("v1.18.3"))
    k3s = commands(failing + NODES.format("v1.26.3+k3s1"))
    assert "systemctl restart k3s" in k3s
    assert "kubeadm" not in k3s


def test_what_was_renewed_is_not_renewed_again() -> None:
    aged = """
$ for m in ctrl-a ctrl-b; do echo "== $m"; ssh $m docker ps --filter name=kube-apiserver; done
== ctrl-a
8f1c20aa11bb   kube-apiserver   "kube-apiserver --ad…"   13 months ago   Up 13 months   k8s_kube-apiserver_a
== ctrl-b
77aa20aa11bb   kube-apiserver   "kube-apiserver --ad…"   3 days ago   Up 3 days   k8s_kube-apiserver_b
"""
    told = commands(f"$ crictl logs 3f1c\n{AFTER}\n{aged}")
    assert "renew" not in told
    assert "ssh ctrl-a 'mv /etc/kubernetes/manifests/kube-apiserver.yaml" in told


def test_the_certificate_of_calicos_own_api_server_is_another() -> None:
    text = """
    $ date -u
    Fri Sep 13 02:31:44 UTC 2024
    $ timedatectl | grep sync
    System clock synchronized: yes
    $ kubectl get secret -n calico-apiserver calico-apiserver-certs -o jsonpath='{.data.tls\\.crt}' | base64 -d | openssl x509 -noout -enddate
    notAfter=Aug 29 01:48:02 2024 GMT
    """  # noqa: E501
    assert finding("apiserver-certs-expired", text).state != "found"
    assert finding("apiserver-certs-expired", text.replace("calico-apiserver", "kube-apiserver")).state == "found"


def test_other_servers_listen_at_443_too() -> None:
    times = "current time 2024-05-01T10:00:00Z is after 2024-04-30T09:00:00Z"
    said = f"x509: certificate has expired or is not yet valid: {times}"
    for url in (
        "https://vault.example.net:443/v1/secret/app",
        "https://vault.example.net/v1/secret/app",
        "https://10.31.4.9:5443/apis/projectcalico.org/v3",
    ):
        assert finding("apiserver-certs-expired", f'Get "{url}": {said}').state != "found", url
    for url in ("https://api.example.net:443/api/v1/nodes/foo", "https://10.96.0.1:443/apis/crd.projectcalico.org/v1"):
        assert finding("apiserver-certs-expired", f'Get "{url}": {said}').strength >= 0.9, url


def test_the_certificate_of_who_asks_is_another_one() -> None:
    answer = finding(
        "apiserver-certs-expired",
        """
        $ kubectl -n kube-system logs kube-apiserver-kestrel --tail 1
        E0311 14:02:11.118234       1 authentication.go:63] "Unable to authenticate the request" err="[x509: \
        certificate has expired or is not yet valid: current time 2024-03-11T14:02:11Z is after 2024-03-10T09:00:00Z]"
        """,
    )
    assert answer.state != "found"


def test_an_old_file_beside_what_the_server_shows() -> None:
    old = """
        [root@kestrel ~]# date -u
        Sun Aug 10 09:00:03 UTC 2025
        [root@kestrel ~]# openssl x509 -in /srv/pki.bak/apiserver.crt -noout -enddate
        notAfter=Mar  2 06:21:00 2025 GMT
        """
    served = """
        [root@kestrel ~]# echo | openssl s_client -connect 10.31.4.9:6443 2>/dev/null | openssl x509 -noout -enddate
        notAfter=Mar  2 06:21:00 {} GMT
        """
    assert finding("apiserver-certs-expired", old).strength >= 0.9
    assert finding("apiserver-certs-expired", old + served.format(2026)).state != "found"
    assert finding("apiserver-certs-expired", old + served.format(2025)).strength >= 0.9


RENEWED = """
[root@m1 ~]# echo | openssl s_client -connect 10.9.1.11:6443 2>/dev/null | openssl x509 -noout -enddate
notAfter=Jun 11 02:52:17 2035 GMT
[root@m1 ~]# kubectl logs -n kube-system calico-node-rm9xv | grep x509
2024-06-11 03:01:02.310 [INFO][71] felix/watchercache.go 175: Failed to perform list of current data error=Get "https://10.96.0.1:443/apis/crd.projectcalico.org/v1/ippools": x509: certificate has expired or is not yet valid: current time 2024-06-11T03:01:02Z is after 2024-06-11T01:37:12Z
[root@m1 ~]# kubectl get pod -n kube-system -o wide | grep calico
calico-node-rm9xv   {ready}   Running   0   361d   10.9.1.21   w1   <none>   <none>
"""  # noqa: E501


def test_lines_of_before_the_certificates_were_renewed_are_over() -> None:
    assert finding("apiserver-certs-expired", RENEWED.format(ready="1/1")).state == "ruled-out"
    assert finding("apiserver-certs-expired", RENEWED.format(ready="0/1")).strength >= 0.5
