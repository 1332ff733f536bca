"""What is stored and shown can be applied again: no byte changes, and no revision. For documents of every kind."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.support.cli import Tortie
from tests.support.documents import EXAMPLES, example

from tortie.model.keys import IPAM_CONFIG, ResourceKey
from tortie.model.kinds import BY_NAME
from tortie.model.resource import stored_form, type_of, validate
from tortie.model.shape import Part, fields_of
from tortie.model.wire import Document, encode
from tortie.store.contract import Delete

# Words that a reader of YAML is likely to take for something else stand among any text.
words = st.sampled_from(["y", "No", "on", "true", "1", "010", "0x1f", "1_0", "1e3", "1.10", "~", "null", "", "20:30"])
texts = words | st.text(st.characters(codec="utf-8"), max_size=12)
label_values = words.filter(lambda word: word.isalnum() or not word) | st.from_regex(
    r"[A-Za-z0-9]{0,8}", fullmatch=True
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(-1e6, 1e6) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=4,
)
# ClusterInformation is nobody's to write, and a change of these would be refused beside what is stored.
KINDS = sorted(set(EXAMPLES) - {"ClusterInformation"})


@st.composite
def stored_documents(draw: st.DrawFn, kind: str) -> Document:
    """As Calico stores it, some fields left out, with labels, notes, and fields of a Calico that is newer than ours."""
    document = example(kind)
    for place, part in list(_places(document["spec"], type_of(BY_NAME[kind]), "spec")):
        fields = [name for name in place if name in (known := fields_of(part)) and not known[name].required]
        for name in draw(st.sets(st.sampled_from(fields))) if fields else ():
            del place[name]
        if draw(st.integers(0, 9)) == 0:
            place["news" + draw(texts)] = draw(values)
    metadata = document["metadata"]
    metadata["labels"] = draw(
        st.dictionaries(st.from_regex(r"[a-z]{1,3}", fullmatch=True) | words.filter(str.isalnum), label_values)
    )
    metadata["annotations"] = draw(st.dictionaries(texts, texts, max_size=3))
    return document


def _places(raw: Any, part: type[Part], field: str) -> Iterator[tuple[Document, type[Part]]]:
    inner = fields_of(part)[field].part
    assert inner is not None
    yield raw, inner
    for name, known in fields_of(inner).items():
        if known.part is None or name not in raw or known.many == "map":
            continue
        for item in raw[name] if known.many == "list" else [raw[name]]:
            yield from _nested(item, known.part)


def _nested(raw: Document, part: type[Part]) -> Iterator[tuple[Document, type[Part]]]:
    yield raw, part
    for name, known in fields_of(part).items():
        if known.part is None or name not in raw or known.many == "map":
            continue
        for item in raw[name] if known.many == "list" else [raw[name]]:
            yield from _nested(item, known.part)


@pytest.fixture(scope="module")
def tortie() -> Iterator[Tortie]:
    with tempfile.TemporaryDirectory() as folder:
        shell = Tortie(Path(folder))
        for kind in ("BGPFilter", "Tier"):  # others name these
            needed = example(kind)
            shell.put(str(ResourceKey(BY_NAME[kind], needed["metadata"]["name"])), encode(needed))
        yield shell


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(data=st.data(), form=st.sampled_from(["yaml", "json"]))
def test_apply_of_what_get_shows_changes_nothing(tortie: Tortie, kind: str, data: st.DataObject, form: str) -> None:
    document = data.draw(stored_documents(kind))
    assume(not validate(document, stored=document))
    name, namespace = document["metadata"]["name"], document["metadata"].get("namespace")
    key = str(ResourceKey(BY_NAME[kind], name, namespace))
    tortie.put(key, encode(stored_form(document)))
    words = ("get", kind, name, *(["-n", namespace] if namespace else []), "-o", form)
    if kind == "IPAMConfiguration":
        tortie.with_store(lambda store: store.commit([Delete(IPAM_CONFIG)]))
        assert (
            tortie("apply", "-f", "-", stdin=tortie(*words).stdout).code == 0
        )  # what IPAM reads is the same from here
    before = tortie.with_store(lambda store: store.get(key))
    shown = tortie(*words)
    assert shown.code == 0
    applied = tortie("apply", "-f", "-", stdin=shown.stdout)
    assert applied.code == 0, applied.stderr
    assert tortie.with_store(lambda store: store.get(key)) == before
