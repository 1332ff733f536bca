"""Every known form of a secret, in evidence that is quoted: no answer repeats it. The list in support/ grows."""

from __future__ import annotations

import pytest
from tests.support.doctor_answers import answers
from tests.support.doctor_cases import source_of
from tests.support.doctor_secrets import SECRETS

FATAL = "2026-04-01 10:59:59.000 [FATAL][98] felix/int_dataplane.go 1035: Kernel's RPF check is set to 'loose'.  "
BEFORE = "[root@m1 ~]# kubectl -n kube-system logs calico-node-zq8vp --tail=2\n"


@pytest.mark.parametrize(("text", "secret"), SECRETS, ids=[f"{n}-{text[:24]}" for n, (text, _) in enumerate(SECRETS)])
def test_no_answer_has_the_secret(text: str, secret: str) -> None:
    one_line = "\n" not in text
    quoted = f"{BEFORE}{FATAL}{text if one_line else ''}\n\n{text}\n"
    shown = answers([source_of(quoted)])
    assert any("RPF check" in answer for answer in shown.values())
    assert not [name for name, answer in shown.items() if secret in answer]
