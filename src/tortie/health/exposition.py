"""Metrics in the text format that Prometheus scrapes, version 0.0.4."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, NamedTuple

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Sample(NamedTuple):
    value: float
    labels: Mapping[str, str] = {}
    suffix: str = ""  # _bucket, _sum and _count of a histogram


class Metric(NamedTuple):
    name: str
    help: str
    type: Literal["counter", "gauge", "histogram", "summary", "untyped"]
    samples: tuple[Sample, ...]


def render(metrics: Iterable[Metric]) -> str:
    """A metric without samples is left out: its absence says as much."""
    return "".join(_metric(metric) for metric in metrics if metric.samples)


def _metric(metric: Metric) -> str:
    lines = [f"# HELP {metric.name} {_escaped(metric.help)}", f"# TYPE {metric.name} {metric.type}"]
    lines += [
        f"{metric.name}{sample.suffix}{_labels(sample.labels)} {_number(sample.value)}" for sample in metric.samples
    ]
    return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    pairs = (f'{name}="{_quoted(value)}"' for name, value in labels.items())
    return "{" + ",".join(pairs) + "}" if labels else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', '\\"')


def _number(value: float) -> str:
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))
