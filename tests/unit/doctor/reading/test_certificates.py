"""Certificates and tokens."""

from __future__ import annotations

from tests.support.doctor import picture, source

from tortie.doctor.picture.facts import Certificate, Fact, Setting
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers import certificates
from tortie.doctor.reading.readers.host_times import moment

START, END = 1577934245.0, 1609556645.0  # 2020-01-02 03:04:05 and a year (a leap year) later


def facts(text: str, command: str = "") -> list[Fact]:
    return list(certificates.read(Exhibit("e", 1, source(text).lines, "m1", command)))


def test_dates_of_an_endpoint() -> None:
    (found,) = facts(
        "notBefore=Jan  2 03:04:05 2020 GMT\nnotAfter=Jan  2 03:04:05 2021 GMT",
        "openssl s_client -connect 10.0.0.1:6443 </dev/null 2>/dev/null | openssl x509 -noout -dates",
    )
    assert isinstance(found, Certificate)
    assert (found.not_before, found.not_after, found.endpoint) == (START, END, "10.0.0.1:6443")


def test_the_long_form() -> None:
    (found,) = facts(
        """
            Validity
                Not Before: Jan  2 03:04:05 2020 GMT
                Not After : Jan  2 03:04:05 2021 GMT
            Subject: CN = kube-etcd
                X509v3 Subject Alternative Name:
                    DNS:etcd-0, DNS:localhost, IP Address:127.0.0.1
        """,
        "openssl x509 -in /etc/etcd/server.crt -noout -text",
    )[-1:]
    assert isinstance(found, Certificate)
    assert found.names == ("etcd-0", "localhost", "127.0.0.1")
    assert found.endpoint == "/etc/etcd/server.crt"
    assert (found.not_after, found.subject) == (END, "CN = kube-etcd")


def test_kubeadm() -> None:
    found = facts("apiserver    Jan 02, 2021 03:04 UTC   <invalid>       ca      no\nCERTIFICATE  EXPIRES")
    assert [(c.subject, c.not_after) for c in found if isinstance(c, Certificate)] == [("apiserver", END - 5)]


def test_tokens() -> None:
    found = facts(
        '{"exp": 1609556645, "iat": "2020-01-02T03:04:05Z"}', "cut -d. -f2 /etc/cni/net.d/calico-kubeconfig | base64 -d"
    )
    claims = {fact.name: moment(fact.value) for fact in found if isinstance(fact, Setting)}
    assert claims == {"exp": END, "iat": START}
    assert all(fact.owner == "/etc/cni/net.d/calico-kubeconfig" for fact in found if isinstance(fact, Setting))


def test_a_loop_gives_each_certificate_its_own_place() -> None:
    text = """
    $ for m in 172.30.1.1 172.30.1.2; do echo | openssl s_client -connect $m:6443 2>/dev/null \
| openssl x509 -noout -enddate; done
    notAfter=Aug 17 02:10:00 2023 GMT
    notAfter=Aug 16 08:31:07 2022 GMT
    """
    assert [c.endpoint for c in picture(text).of(Certificate)] == ["172.30.1.1:6443", "172.30.1.2:6443"]


def test_a_file_before_the_date_is_the_certificates_place() -> None:
    text = """
    # for f in /opt/pki/*.crt; do echo $f $(openssl x509 -noout -enddate -in $f); done
    /opt/pki/node.crt notAfter=Jun 12 01:55:40 2023 GMT
    /opt/pki/server.crt notAfter=Jun 12 02:03:12 2033 GMT
    """
    assert [c.endpoint for c in picture(text).of(Certificate)] == ["/opt/pki/node.crt", "/opt/pki/server.crt"]
