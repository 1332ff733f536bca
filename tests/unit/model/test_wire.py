"""Documents as bytes: what Go's encoder would write."""

from __future__ import annotations

import json

import pytest

from tortie.model.wire import Undecodable, decode, encode


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"a": 1, "b": [True, None]}, b'{"a":1,"b":[true,null]}'),
        ({"order": 100.0}, b'{"order":100}'),
        ({"order": 1e6}, b'{"order":1000000}'),
        ({"order": 0.5}, b'{"order":0.5}'),
        ({"order": 1e21}, b'{"order":1e+21}'),
        ({"order": -0.25, "x": [[2.0]]}, b'{"order":-0.25,"x":[[2]]}'),
        ({"s": "a < b && c > d"}, b'{"s":"a \\u003c b \\u0026\\u0026 c \\u003e d"}'),
        ({"<": "\u2028\u2029"}, b'{"\\u003c":"\\u2028\\u2029"}'),
        ({"s": "猫 \u00e9"}, '{"s":"猫 é"}'.encode()),
        ({"s": '"\\\n\t\x01'}, b'{"s":"\\"\\\\\\n\\t\\u0001"}'),
    ],
)
def test_a_document_is_written_as_go_does(value: dict[str, object], written: bytes) -> None:
    assert encode(value) == written
    assert decode(written, "key") == json.loads(written)


def test_half_a_surrogate_pair_survives() -> None:
    damaged = decode(b'{"s":"\\ud800x"}', "key")
    assert encode(damaged) == b'{"s":"\\ud800x"}'
    assert decode(encode(damaged), "key") == damaged


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff{}", "not JSON"),
        (b'{"a": NaN}', "no number in JSON"),
        (b'{"a": -Infinity}', "no number in JSON"),
        (b"[]", "a JSON list, not an object"),
        (b'"text"', "a JSON str, not an object"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_value_that_is_no_document_is_named_with_its_key(value: bytes, why: str) -> None:
    with pytest.raises(Undecodable) as caught:
        decode(value, "/calico/resources/v3/x")
    assert caught.value.key == "/calico/resources/v3/x"
    assert why in caught.value.why
    assert "/calico/resources/v3/x" in str(caught.value)
    assert caught.value.fix
