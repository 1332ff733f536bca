"""Whatever is pasted: an answer in every form, bounded and clean, and no exception."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.doctor_answers import MARKUP, check_text, slow
from tests.support.doctor_cases import cases

# Pieces of real evidence, put together in ways that nobody does

TEXTS = tuple(case.text for case in cases())
LINES = tuple(line for text in TEXTS for line in text.splitlines() if line.strip())


@st.composite
def slices(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(TEXTS))
    start = draw(st.integers(0, len(text)))
    return text[start : start + draw(st.integers(0, 3000))]


@st.composite
def splices(draw: st.DrawFn) -> str:
    glue = st.sampled_from(("", " ", "\n", "\n\n", "\n```\n", "\t", "\r\n", "\n---\n", "\n> "))
    parts = draw(st.lists(st.tuples(slices(), glue), min_size=1, max_size=6))
    return "".join(part + joint for part, joint in parts)


ODD = ("", "\x1b[31m", "\x00", "\u202e", MARKUP, "|", "\\")


@st.composite
def damaged_lines(draw: st.DrawFn) -> str:
    """Single lines of all cases, each cut, doubled, filled with odd characters."""
    rows = []
    for line in draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=12)):
        at = draw(st.integers(0, len(line)))
        odd = draw(
            st.one_of(st.text(max_size=12), st.sampled_from(("", "\x1b[31m", "\x00", "\u202e", MARKUP, "|", "\\")))
        )
        rows.append(draw(st.sampled_from((line[:at] + odd + line[at:], line[at:] + odd, line[:at] + odd, line + line))))
    return "\n".join(rows)


@slow(60)
@given(st.one_of(slices(), splices(), damaged_lines()))
def test_pieces_of_evidence(text: str) -> None:
    check_text(text)


@slow(60)
@given(st.one_of(st.text(max_size=3000), st.binary(max_size=3000)))
def test_anything_at_all(content: str | bytes) -> None:
    if isinstance(content, str):
        content = content.encode("utf-8", "surrogatepass")
    check_text(content)


# Documents

VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), st.sampled_from(LINES)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=12), inner, max_size=4)),
    max_leaves=12,
)
KINDS = (
    "Pod", "Node", "DaemonSet", "ConfigMap", "IPPool", "BGPPeer", "BGPConfiguration", "FelixConfiguration", "List",
    "Event", "Secret", "Service", "Endpoints", "NetworkPolicy", "CustomResourceDefinition", "IPAMBlock", "Installation",
)  # fmt: skip
KEYS = (
    "metadata", "spec", "status", "items", "containers", "initContainers", "env", "name", "value", "conditions",
    "addresses", "livenessProbe", "readinessProbe", "containerStatuses", "template", "data", "labels", "annotations",
    "cidr", "peerIP", "asNumber", "state", "lastState", "terminated", "waiting", "type", "message", "reason", "podCIDR",
    "args", "command",
)  # fmt: skip
DOCUMENTS = st.builds(
    lambda kind, fields: {"apiVersion": "v1", "kind": kind} | fields,
    st.sampled_from(KINDS),
    st.dictionaries(
        st.sampled_from(KEYS),
        st.recursive(
            VALUES,
            lambda inner: st.one_of(
                st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
            ),
            max_leaves=10,
        ),
        max_size=5,
    ),
)


@slow(60)
@given(DOCUMENTS, st.booleans(), st.integers(0, 40), st.integers(0, 3))
def test_documents_of_any_shape(document: dict[str, Any], as_yaml: bool, cut_off: int, indent: int) -> None:
    import yaml

    text = yaml.safe_dump(document, allow_unicode=True) if as_yaml else json.dumps(document, indent=indent or None)
    command = "$ kubectl get -n kube-system -o " + ("yaml" if as_yaml else "json") + "\n"
    check_text(command + text[: len(text) - cut_off])


TRICKS = {
    "aliases": "apiVersion: v1\nkind: Pod\na: &a [x,x,x,x,x,x,x,x,x]\n"
    + "\n".join(f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 9)}]" for n in range(12)),
    "recursive": "apiVersion: v1\nkind: Pod\nspec: &s\n  containers: [*s, *s]\n  again: *s\n",
    "objects": "apiVersion: v1\nkind: Pod\nspec: !!python/object/apply:os.system ['true']\n",
    "deep yaml": "apiVersion: v1\nkind: Pod\n" + "\n".join(" " * n + "a:" for n in range(900)),
    "deep flow": "apiVersion: v1\nkind: Pod\nspec: " + "[" * 4000,
    "deep json": '{"kind": "Pod", "items": ' + "[" * 20000,
    "closed deep json": '{"kind": "Pod", "items": ' + "[" * 5000 + "]" * 5000 + "}",
    "large numbers": '{"kind": "Pod", "spec": {"restartCount": ' + "9" * 10000 + "}}",
    "merge keys": "apiVersion: v1\nkind: Pod\nspec:\n  <<: [1, 2]\n  ? [a, b]\n  : c\n",
    "not numbers": "$ kubectl get pods\nNAME READY STATUS RESTARTS AGE\ncalico-node-x ٣/٣ Running ² 5d\n",
    "large counts": f"$ kubectl get pods\nNAME READY STATUS RESTARTS AGE\ncalico-node-x 0/1 Running {'9' * 5000} 5d\n",
    "odd addresses": "$ ip a\n2: eth0: <UP> mtu 1\n    inet 999.999.999.999/99 scope global\n    inet6 :::::/999\n",
    "odd dates": "2020-13-45 99:99:99.999 [INFO][1] startup.go 1: x\nI9999 99:99:99.999999 1 a.go:1] x\n0000-00-00T00Z",
    "odd versions": "calico/node:v999999999999999999999.²\nkubelet v1.-1\nv" + "9" * 6000 + "\n",
    "odd uptime": "$ uptime\n 10:00 up 99999999999999999999 days, load average: nan, inf, 1e999\n$ free\nMem: x y\n",
    "empty fences": "```\n" * 999,
    "prompts": "root@h:~# \n" * 3000,
    "one long line": "kubectl get pods " + "a" * 3_000_000,
    "many short lines": "x\n" * 60_000,
    "long words": ("10.0.0.1" * 20_000 + "\n") * 3,
    "log of one line": "2020-05-27 03:45:10.123 [ERROR][8] startup.go 1: " + "error=" * 200_000,
    "byte order": "\ufeff\ufeff# 日志\n\u2028\u2029\u0085x",
}  # fmt: skip


@pytest.mark.parametrize("name", TRICKS)
def test_tricks(name: str) -> None:
    check_text(TRICKS[name])


# Hostile words where the doctor expects names: they must not do anything in a page, a terminal or a shell

NAMES = (
    MARKUP,
    "<script>alert(1)</script>",
    "n1\x1b]0;title\x07",
    "n\u202e1",
    "a&b<c>'d\"",
    "]]>",
    "${jndi:x}",
    "n" * 5000,
)


@slow(60)
@given(st.sampled_from(cases()), st.sampled_from(NAMES), st.integers(0, 1000))
def test_hostile_names(case: Any, name: str, which: int) -> None:
    """One word of the evidence, everywhere replaced."""
    words = sorted(set(re.findall(r"(?<=[ =/@\"])[A-Za-z0-9][\w.-]{2,40}", case.text)))
    if words:
        check_text(case.text.replace(words[which % len(words)], name))
