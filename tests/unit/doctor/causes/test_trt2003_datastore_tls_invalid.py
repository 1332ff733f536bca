"""TRT2003: etcd's certificate is refused; other servers' certificates and wrong clocks are others' business."""

from __future__ import annotations

from tests.support.doctor import finding


def test_another_ca() -> None:
    answer = finding(
        "datastore-tls-invalid",
        """
        $ kubectl -n kube-system logs calico-kube-controllers-6c8d-2xk
        2021-03-03 03:03:03.303 [ERROR][1] client.go 261: Error getting cluster information config error=dial \
        https://10.18.0.9:2379: x509: certificate signed by unknown authority
        """,
    )
    assert answer.state == "found"
    assert answer.strength >= 0.8
    assert "10.18.0.9" in answer.objects


def test_the_members_certificate_expired() -> None:
    answer = finding(
        "datastore-tls-invalid",
        """
        calico-node 卡住不动，日志最后一行：

        # kubectl -n kube-system logs calico-node-h4v2c
        2020-08-30 02:00:01.006 [INFO][9] startup.go 279: Determined node name: db-3
        2020-08-30 02:00:01.020 [INFO][9] startup.go 101: Skipping datastore connection test
        # echo | openssl s_client -connect 10.18.0.9:2379 2>/dev/null | openssl x509 -noout -dates
        notBefore=Aug 28 08:00:00 2019 GMT
        notAfter=Aug 27 08:00:00 2020 GMT
        # date -u
        Sun Aug 30 02:05:11 UTC 2020
        """,
    )
    assert answer.strength >= 0.9
    assert any("10.18.0.9" in name for name in answer.objects)


def test_name_not_in_the_certificate() -> None:
    answer = finding(
        "datastore-tls-invalid",
        """
        # etcdctl --endpoints https://172.19.4.4:2379 endpoint health
        x509: certificate is valid for 127.0.0.1, 172.19.4.3, not 172.19.4.4
        """,
    )
    assert answer.strength >= 0.9
    assert "172.19.4.4" in answer.objects


def test_a_clock_is_not_a_certificate() -> None:
    answer = finding(
        "datastore-tls-invalid",
        "$ calicoctl get nodes\nerror: https://10.18.0.9:2379: x509: certificate has expired or is not yet valid: "
        "current time "
        "2019-01-01T00:00:10Z is before 2021-05-05T08:00:00Z",
    )
    assert answer.state == "ruled-out"


def test_a_registry_is_not_the_datastore() -> None:
    text = (
        'Failed to pull image "hub.local/calico/node:v3.20.1": rpc error: Get "https://hub.local/v2/": x509: '
        "certificate "
        "signed by unknown authority"
    )
    assert finding("datastore-tls-invalid", text).strength < 0.8


def test_tcp_fails() -> None:
    answer = finding("datastore-tls-invalid", "$ docker logs calico-node\nerror=dial tcp 10.18.0.9:2379: i/o timeout")
    assert answer.state == "ruled-out"


SILENT = "2022-05-06 07:08:09.101 [INFO][9] startup/startup.go 104: Skipping datastore connection test"


def test_the_secret_holds_another_ca_than_etcd() -> None:
    answer = finding(
        "datastore-tls-invalid",
        f"""
        # kubectl -n kube-system logs calico-node-4k4k4
        {SILENT}
        # kubectl get secret -n kube-system calico-etcd-secrets -o jsonpath='{{.data.etcd-ca}}' | base64 -d | md5sum
        0f343b0931126a20f133d67c2b018a3b  -
        # md5sum /etc/etcd/pki/ca.pem
        81dc9bdb52d04dc20036dbd8313ed055  /etc/etcd/pki/ca.pem
        """,
    )
    assert answer.strength >= 0.8
    assert "calico-etcd-secrets" in answer.objects


def test_the_same_ca_on_both_sides_is_no_claim() -> None:
    answer = finding(
        "datastore-tls-invalid",
        f"""
        {SILENT}
        # openssl x509 -in /etc/cni/net.d/calico-tls/etcd-ca -noout -fingerprint
        SHA1 Fingerprint=AA:0E:71:A4:9F:12:D3:66:3C:0A:BE:90:41:7D:E2:55:8F:1C:3B:07
        # openssl x509 -in /etc/kubernetes/pki/etcd/ca.crt -noout -fingerprint
        SHA1 Fingerprint=AA:0E:71:A4:9F:12:D3:66:3C:0A:BE:90:41:7D:E2:55:8F:1C:3B:07
        """,
    )
    assert answer.strength < 0.8


def test_a_certificate_beside_its_ca_is_no_claim() -> None:
    answer = finding(
        "datastore-tls-invalid",
        f"""
        {SILENT}
        # openssl x509 -in /etc/cni/net.d/calico-tls/etcd-ca -noout -fingerprint
        SHA1 Fingerprint=AA:0E:71:A4:9F:12:D3:66:3C:0A:BE:90:41:7D:E2:55:8F:1C:3B:07
        # openssl x509 -in /etc/kubernetes/pki/etcd/server.crt -noout -fingerprint
        SHA1 Fingerprint=BB:0E:71:A4:9F:12:D3:66:3C:0A:BE:90:41:7D:E2:55:8F:1C:3B:07
        """,
    )
    assert answer.strength < 0.8


def test_openssl_with_the_ca_of_calico_does_not_verify() -> None:
    answer = finding(
        "datastore-tls-invalid",
        f"""
        {SILENT}
        # openssl s_client -connect 172.31.4.4:2379 -CAfile /calico-secrets/etcd-ca </dev/null 2>/dev/null | grep Verify
        Verify return code: 20 (unable to get local issuer certificate)
        """,
    )
    assert answer.strength >= 0.8


def _tortie(why: str) -> str:
    return f"""
        [root@node-2 ~]# tortie get nodes
        Error: datastore unreachable: etcd https://10.77.0.251:2379 gave no answer to scan nodes within 0.0 s
          why: https://10.77.0.251:2379: {why}
          fix: see there
"""


def test_what_tortie_says_of_a_certificate() -> None:
    for why in (
        "its server certificate expired on 2026-11-15 15:28 UTC",
        "its server certificate is not signed by the CA certificate /calico-secrets/etcd-ca (unable to get issuer)",
        "its server certificate is for 10.77.0.250, not for 10.77.0.251",
        "it refuses the client certificate /calico-secrets/etcd-cert, which expired on 2026-11-15 15:28 UTC",
    ):
        answer = finding("datastore-tls-invalid", _tortie(why))
        assert (answer.state, answer.strength >= 0.9) == ("found", True), why
        assert "10.77.0.251" in answer.objects


def test_one_that_is_not_valid_yet_is_the_clocks_matter() -> None:
    told = _tortie("its server certificate is valid only from 2026-11-17 15:28 UTC on")
    curl = """
        [root@node-2 ~]# curl -sS -m 3 --cacert /calico-secrets/etcd-ca https://10.77.0.251:2379/health
        curl: (60) SSL certificate problem: certificate is not yet valid
"""
    noted = """
        [root@etcd-1 ~]# tail /var/log/etcd.log
        2026-11-16 15:30:01.1 I | embed: rejected connection from "10.77.0.2:33018" (error "remote error: tls: bad \
        certificate", ServerName "")
"""
    for evidence in (told, curl, told + curl + noted):
        assert finding("datastore-tls-invalid", evidence).state == "ruled-out"
        answer = finding("clock-skew", evidence)
        assert (answer.state, answer.strength >= 0.9) == ("found", True)


SERVED = """
        # openssl s_client -connect 10.18.0.9:2379 </dev/null 2>/dev/null | openssl x509 -noout -ext subjectAltName
        X509v3 Subject Alternative Name:
            DNS:etcd-1, IP Address:10.18.0.8
        # journalctl -u etcd | tail -1
        embed: rejected connection from "10.18.0.2:5150" (error "remote error: tls: bad certificate", ServerName "")
"""


def test_the_address_is_not_among_the_names_that_are_served() -> None:
    answer = finding("datastore-tls-invalid", SERVED)
    assert answer.state == "found"
    assert answer.why.en == "The certificate of etcd is not valid for 10.18.0.9."


def test_curl_says_which_name_is_missing() -> None:
    answer = finding(
        "datastore-tls-invalid",
        """
        # curl --cacert /etc/calico/certs/ca.pem https://10.18.0.9:2379/health
        curl: (51) SSL: no alternative certificate subject name matches target host name '10.18.0.9'
        """,
    )
    assert answer.strength >= 0.9
    assert "10.18.0.9" in answer.objects


def test_certificates_of_kubelets_are_others_business() -> None:
    said = "x509: cannot validate certificate for 10.9.4.21 because it doesn't contain any IP SANs"
    scrape = f'E0201 10:11:12.113412  1 scraper.go:140] err="Get \\"https://10.9.4.21:{{}}/x\\": {said}"'
    assert finding("datastore-tls-invalid", scrape.format(10250)).state != "found"
    assert finding("datastore-tls-invalid", scrape.format(2379)).strength >= 0.9


def test_a_kubeconfig_of_another_cluster_is_the_persons_own() -> None:
    unknown = "x509: certificate signed by unknown authority"
    assert finding("datastore-tls-invalid", f"Unable to connect to the server: {unknown}").state != "found"
    asked = f'error getting ClusterInformation: Get "https://10.96.0.1:443/apis/crd.projectcalico.org/v1": {unknown}'
    assert finding("datastore-tls-invalid", asked).strength >= 0.8


def test_a_trial_without_a_certificate_proves_nothing() -> None:
    alert = "curl: (35) error:14094412:SSL routines:ssl3_read_bytes:sslv3 alert bad certificate"
    issuer = "curl: (60) SSL certificate problem: unable to get local issuer certificate"
    equipped = "--cacert ca.crt --cert node.crt --key node.key"
    for options, said in (("-k", alert), ("", issuer)):
        bare = f"[root@kestrel ~]# curl {options} https://10.9.4.21:2379/health\n{said}\n"
        assert finding("datastore-tls-invalid", bare).state != "found", said
        full = f"[root@kestrel ~]# curl {equipped} https://10.9.4.21:2379/health\n{said}\n"
        assert finding("datastore-tls-invalid", full).strength >= 0.8, said


def test_an_old_file_that_nobody_uses() -> None:
    old = """
        [root@kestrel ~]# date -u
        Sun Aug 10 09:00:03 UTC 2025
        [root@kestrel ~]# openssl x509 -in /srv/old/etcd-server.pem -noout -enddate
        notAfter=Mar  2 06:21:00 2025 GMT
        """
    ready = "\ncalico-node-zz5tb   1/1   Running   2   9d   10.9.4.12   kestrel   <none>   <none>\n"
    assert finding("datastore-tls-invalid", old).strength >= 0.8
    assert finding("datastore-tls-invalid", old + ready).strength < 0.8
