"""Coverage-guided fuzzing of the way from pasted bytes to an answer: `python -m tests.fuzz.fuzz_reading [corpus]`."""

from __future__ import annotations

import importlib
import sys
from typing import Any

atheris: Any = importlib.import_module("atheris")  # it has no types

with atheris.instrument_imports(include=["tortie.doctor"], enable_loader_override=False):
    from tortie.doctor.answer.forms import FORMS, form
    from tortie.doctor.examine import picture_of
    from tortie.doctor.judgement.judge import judge
    from tortie.doctor.reading.cleaning import decode, lines_of
    from tortie.doctor.reading.exhibit import Source
    from tortie.doctor.reading.redaction import redacted

# What the doctor knows how to read: random bytes alone would take long to find these.
WORDS = (
    "$ kubectl get pods -o wide\nNAME READY STATUS RESTARTS AGE IP NODE\n", "$ calicoctl node status\n", "$ ip a\n",
    "2020-05-27 03:45:10.123 [ERROR][8] startup.go 1: ", "apiVersion: v1\nkind: Pod\nspec:\n  ", "```\n",
    '{"kind": "Node", "items": [', "Events:\n  Type Reason Age From Message\n", "root@n1:~# ", "节点负载很高，",
    "Readiness probe failed: calico/node is not ready: BIRD is not ready: BGP not established with ",
    "Liveness:  http-get http://localhost:9099/liveness ", "inet 10.0.0.1/24 scope global eth0\n",
    "Oct 10 10:00:00 n1 kubelet[1]: E1010 10:00:00.000000 1 a.go:1] ",
)  # fmt: skip


def one(data: bytes) -> None:
    provider = atheris.FuzzedDataProvider(data)
    parts = []
    for _ in range(provider.ConsumeIntInRange(0, 6)):
        parts.append(WORDS[provider.ConsumeIntInRange(0, len(WORDS) - 1)].encode())
        parts.append(provider.ConsumeBytes(provider.ConsumeIntInRange(0, 200)))
    parts.append(provider.ConsumeBytes(4096))
    picture = picture_of([Source("fuzz", tuple(redacted(lines_of(decode(b"".join(parts))))))])
    diagnosis = judge(picture)
    for name in FORMS:
        text = form(name)(diagnosis, picture, "en", colour=False)
        if "\x1b" in text or "\x00" in text:
            raise RuntimeError(f"control characters in {name}")


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
