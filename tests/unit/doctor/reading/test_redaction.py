"""No secret gets past the reading; words that diagnoses are made of stay."""

from __future__ import annotations

import json

import pytest
from tests.support.doctor_secrets import HARMLESS, SECRETS

from tortie.doctor.reading.redaction import MASK, redact, redacted


@pytest.mark.parametrize(("text", "secret"), SECRETS, ids=[text[:24] for text, _ in SECRETS])
def test_a_secret_is_masked(text: str, secret: str) -> None:
    shown = "\n".join(redacted(text.split("\n")))
    assert secret not in shown
    assert MASK in shown
    assert "\n".join(redacted(shown.split("\n"))) == shown


@pytest.mark.parametrize("text", HARMLESS)
def test_words_that_only_speak_of_secrets_stay(text: str) -> None:
    assert "\n".join(redacted(text.split("\n"))) == text


def test_what_was_json_still_is() -> None:
    environment = [{"name": "API_TOKEN", "value": "xyzzy"}, {"name": "IP", "value": "autodetect"}]
    secret = {"password": "xyzzy", "tls.key": "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo=", "pass": "xyzzy"}
    for indent in (None, 2):
        text = json.dumps({"env": environment, "data": secret}, indent=indent)
        shown = json.loads("\n".join(redacted(text.split("\n"))))
        assert shown["env"] == [{"name": "API_TOKEN", "value": MASK}, environment[1]]
        assert set(shown["data"].values()) == {MASK}


def test_a_name_at_the_end_of_one_block_of_lines_masks_the_value_in_the_next() -> None:
    lines = [*["line"] * 255, "- name: API_TOKEN", "  value: xyzzy", "line"]
    assert list(redacted(lines))[256:] == [f"  value: {MASK}", "line"]


@pytest.mark.parametrize(
    "piece",
    ["a", "password", "password=", "mysql ", "login ", "-u a", '"name":"', "密码是", "eyJ", "name: value: ", "_key "],
)
@pytest.mark.timeout(60)  # an expression that never ends is ended, and fails by name
def test_no_line_keeps_us_for_ever(piece: str) -> None:
    line = "token " + piece * (16_384 // len(piece))
    assert len(list(redacted([line, "- name: A_TOKEN", line]))) == 3
    assert len(redact(line)) <= len(line) + 20_000


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
