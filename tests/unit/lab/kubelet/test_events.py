"""The recorder: counts, times, and what it combines."""

from __future__ import annotations

from tortie.lab.kubelet.events import (
    COMBINED,
    Book,
    Note,
    book_of,
    created,
    kept,
    killing,
    objects_of,
    pulled,
    record,
    scheduled,
    started,
)
from tortie.lab.kubelet.objects import node_reference, reference

POD = {
    "metadata": {"name": "calico-node-x7k2p", "namespace": "kube-system", "uid": "abc"},
    "spec": {"containers": [{"name": "calico-node"}]},
}
SUBJECT = reference(POD, "calico-node")


def unhealthy(text: str) -> Note:
    return Note("Warning", "Unhealthy", f"Readiness probe failed: {text}", "calico-node")


def told(*texts: str, every: float = 10.0, book: Book | None = None, begin: float = 0.0) -> Book:
    book = book or Book()
    for position, text in enumerate(texts):
        book = record(book, unhealthy(text), SUBJECT, begin + position * every, host="node-1")
    return book


def test_the_same_event_is_counted() -> None:
    (event,) = objects_of(told("no", "no", "no"))
    assert event["count"] == 3
    assert event["firstTimestamp"] == "1970-01-01T00:00:00Z"
    assert event["lastTimestamp"] == "1970-01-01T00:00:20Z"
    assert event["message"] == "Readiness probe failed: no"
    assert event["source"] == {"component": "kubelet", "host": "node-1"}
    assert event["involvedObject"]["fieldPath"] == "spec.containers{calico-node}"
    assert event["metadata"]["namespace"] == "kube-system"
    assert event["metadata"]["name"].startswith("calico-node-x7k2p.")
    assert (event["kind"], event["type"], event["reason"]) == ("Event", "Warning", "Unhealthy")


def test_the_tenth_different_message_is_combined_with_all_that_follow() -> None:
    book = told(*(f"at {n}" for n in range(14)))
    events = objects_of(book)
    single = [event for event in events if not event["message"].startswith(COMBINED)]
    (combined,) = [event for event in events if event["message"].startswith(COMBINED)]
    assert len(single) == 9
    assert combined["count"] == 5
    assert combined["message"] == "(combined from similar events): Readiness probe failed: at 13"
    assert combined["firstTimestamp"] == "1970-01-01T00:01:30Z"


def test_nothing_is_combined_if_the_messages_are_far_apart() -> None:
    assert len(objects_of(told(*(f"at {n}" for n in range(14)), every=601.0))) == 14


def test_other_reasons_and_objects_are_not_similar() -> None:
    book = told(*(f"at {n}" for n in range(9)))
    book = record(book, Note("Warning", "BackOff", "wait"), SUBJECT, 100.0, host="node-1")
    book = record(book, Note("Normal", "NodeReady", "ready"), node_reference("node-1"), 100.0, host="node-1")
    assert not any(event["message"].startswith(COMBINED) for event in objects_of(book))
    assert {event["metadata"]["namespace"] for event in objects_of(book)} == {"kube-system", "default"}
    names = [event["metadata"]["name"] for event in objects_of(book)]
    assert len(set(names)) == len(names)


def test_old_ones_are_forgotten() -> None:
    book = told("early", "late", every=3000.0)
    assert [event["message"] for event in objects_of(kept(book, 3700.0))] == ["Readiness probe failed: late"]


def test_a_new_kubelet_goes_on_counting() -> None:
    book = book_of(objects_of(told(*(f"at {n}" for n in range(12)), "at 0")))
    book = told("at 0", "another", book=book, begin=200.0)
    counts = {event["message"]: event["count"] for event in objects_of(book)}
    assert counts["Readiness probe failed: at 0"] == 3
    assert counts["(combined from similar events): Readiness probe failed: another"] == 4
    assert len(counts) == 10


def test_texts() -> None:
    assert scheduled(POD, "node-1").message == "Successfully assigned kube-system/calico-node-x7k2p to node-1"
    assert pulled("calico/node:v3.9.5", "calico-node").message == (
        'Container image "calico/node:v3.9.5" already present on machine'
    )
    assert created("calico-node", 29).message == "Created container calico-node"
    assert created("calico-node", 32).message == "Created container: calico-node"
    assert started("calico-node").message == "Started container calico-node"
    assert killing("calico-node").message == "Stopping container calico-node"
