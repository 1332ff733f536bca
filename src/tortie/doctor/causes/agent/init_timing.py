"""How an init container came to run: at once, or minutes after its creation. This separates loops from runtimes."""

from __future__ import annotations

from tortie.doctor.picture.facts import Container, Event, Pod
from tortie.doctor.picture.picture import Picture
from tortie.model.tuples import NamedTuple

MINUTES_S = 120.0  # ages of events are whole minutes: a smaller difference means nothing


class Timing(NamedTuple):
    """A container that runs, and how it came to."""

    container: Container
    pod: Pod | None
    gap_s: float | None  # from the pod, or from Created, to Started
    running_s: float | None
    events: tuple[Event, ...]


def timing(picture: Picture, name: str) -> Timing | None:
    """Of a container that runs since its first start."""
    running = [c for c in picture.containers(name) if c.state == "Running" and not c.restarts]
    if not running:
        return None
    container = running[-1]
    pods = [pod for pod in picture.of(Pod) if pod.name == container.pod]
    pod = next((p for p in reversed(pods) if p.started is not None), pods[-1] if pods else None)
    events = tuple(
        event for event in picture.events("Created", "Started")
        if name in event.message and (not event.object or not container.pod or container.pod in event.object)
    )  # fmt: skip
    return Timing(container, pod, gap_s(container, pod, events), running_s(pod, events), events)


def gap_s(container: Container | None, pod: Pod | None, events: tuple[Event, ...]) -> float | None:
    """The larger of both gaps; the events' ages are whole minutes, so less than two of those mean nothing."""
    gaps = []
    if pod and pod.started is not None and container and container.started is not None:
        gaps.append(container.started - pod.started)
    created = [event.age_s for event in events if event.reason == "Created" and event.age_s is not None]
    started = [event.age_s for event in events if event.reason == "Started" and event.age_s is not None]
    if created and started:
        gap = created[-1] - started[-1]
        gaps.append(gap if gap >= MINUTES_S or max(created) < MINUTES_S else 0.0)
    return max(gaps) if gaps else None


def running_s(pod: Pod | None, events: tuple[Event, ...]) -> float | None:
    ages = [event.age_s for event in events if event.age_s is not None]
    if pod and pod.age_s is not None:
        ages.append(pod.age_s)
    return max(ages) if ages else None
