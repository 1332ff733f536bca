"""No secret gets past the reading; words that diagnoses are made of stay."""

from __future__ import annotations

import pytest

from tortie.doctor.reading.redaction import MASK, redact, redacted

SECRETS = [
    ("token: eyJhbGciOiJSUzI1NiIsImtpZCI6IiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2ln", "eyJ"),
    ("Authorization: Bearer abcdefghijklmnop", "abcdefghijklmnop"),
    ("etcd: https://root:hunter22@10.0.0.1:2379", "hunter22"),
    ("ETCD_PASSWORD=hunter2", "hunter2"),
    ('  "password": "pa55word!",', "pa55word"),
    ("kubeadm join 10.0.0.1:6443 --token abcdef.0123456789abcdef", "0123456789abcdef"),
    ("    client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo=", "LS0tLS1"),
    ('neighbor 10.0.0.1 as 64512; password "bgp-s3cret";', "bgp-s3cret"),
    ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY", "wJalr"),
    ("aws_access_key_id = AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7"),
    ('{"auths":{"r":{"auth":"dXNlcjpwYXNzd29yZDE="}}}', "dXNlcjpw"),
]


@pytest.mark.parametrize(("line", "secret"), SECRETS, ids=[line[:24] for line, _ in SECRETS])
def test_a_secret_is_masked(line: str, secret: str) -> None:
    shown = redact(line)
    assert secret not in shown
    assert MASK in shown


@pytest.mark.parametrize(
    "line",
    [
        "[sudo] password for wsg: ",
        "    SecretName:  calico-node-token-hbxlb",
        "Unable to create token for CNI kubeconfig error=Post",
        'cannot create resource "serviceaccounts/token" in API group ""',
        "[invalid bearer token, Token has expired.]",
        "connection is unauthorized: Unauthorized",
        "  ETCD_KEY_FILE:  /calico-secrets/etcd-key",
        "bird: Mesh_10_0_0_1: Error: Kernel MD5 auth failed",
        "/var/run/secrets/kubernetes.io/serviceaccount from calico-node-token-p2kj5 (ro)",
    ],
)
def test_words_that_only_speak_of_secrets_stay(line: str) -> None:
    assert redact(line) == line


def test_blocks_of_keys_and_certificates_are_followed_to_their_end() -> None:
    lines = [
        "before",
        "-----BEGIN RSA PRIVATE KEY-----",
        "MIIEow",
        "aGVsbG8=",
        "-----END RSA PRIVATE KEY-----",
        "after",
    ]
    assert list(redacted(lines)) == ["before", f"-----BEGIN RSA PRIVATE KEY----- {MASK}", MASK, MASK, MASK, "after"]


def test_a_block_that_never_ends_does_not_swallow_the_log() -> None:
    lines = ["-----BEGIN CERTIFICATE-----", "MIIC" * 12, "2020-01-01 00:00:00.000 [INFO][1] startup.go 1: hello there"]
    assert list(redacted(lines))[-1].endswith("hello there")


def test_as_many_lines_come_out_as_went_in() -> None:
    lines = [f"line {number} token=abcdef1234567890abcdef" for number in range(1000)]
    assert len(list(redacted(lines))) == 1000
