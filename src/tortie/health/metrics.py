"""A report and a few plain numbers as metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from tortie.health.exposition import CONTENT_TYPE, Metric, Sample, render
from tortie.health.message import Response
from tortie.health.routes import Routes
from tortie.health.state import RUNNING
from tortie.health.verdict import Report


class NodeAddress(NamedTuple):
    node: str
    address: str
    interface: str
    method: str
    family: str


class Process(NamedTuple):
    resident_bytes: int
    started_at_s: float  # since the epoch
    cpu_s: float


def health_metrics(report: Report) -> list[Metric]:
    seconds = {phase.name: phase.seconds for phase in report.phases}
    if report.phase != RUNNING:
        seconds[report.phase] = seconds.get(report.phase, 0.0) + report.phase_age_s
    took_s = report.start_age_s if report.start_took_s is None else report.start_took_s
    reasons = tuple(
        Sample(1, {"name": name, "fault": fault})
        for name, fault in dict.fromkeys((cause.name, cause.trouble.fault) for cause in report.not_ready)
    )
    return [
        _gauge("tortie_node_live", "1 if the node is live, as /liveness says.", int(report.live)),
        _gauge("tortie_node_ready", "1 if the node is ready, as /readiness says.", int(report.ready)),
        Metric(
            "tortie_node_not_ready_reason", "1 for each thing that keeps the node from being ready.", "gauge", reasons
        ),
        _gauge("tortie_start_seconds", "How long the last start took; while it is under way, so far.", took_s),
        Metric(
            "tortie_start_phase_seconds",
            "How long each phase of the last start took.",
            "gauge",
            tuple(Sample(value, {"phase": phase}) for phase, value in seconds.items()),
        ),
    ]


def datastore_metrics(requests: Mapping[tuple[str, str], int]) -> list[Metric]:
    """`requests`: how many, by operation and phase."""
    samples = tuple(Sample(count, {"op": op, "phase": phase}) for (op, phase), count in sorted(requests.items()))
    return [Metric("tortie_datastore_requests_total", "Round trips to the datastore.", "counter", samples)]


def address_metrics(addresses: Iterable[NodeAddress]) -> list[Metric]:
    samples = tuple(Sample(1, address._asdict()) for address in addresses)
    return [Metric("tortie_node_address_info", "The addresses that this node is registered with.", "gauge", samples)]


def process_metrics(process: Process) -> list[Metric]:
    return [
        _gauge("process_resident_memory_bytes", "Resident memory of the agent.", process.resident_bytes),
        _gauge("process_start_time_seconds", "When the agent started, since the epoch.", process.started_at_s),
        Metric(
            "process_cpu_seconds_total",
            "Processor time of the agent, user and system.",
            "counter",
            (Sample(process.cpu_s),),
        ),
    ]


def metrics_routes(collect: Callable[[], Iterable[Metric]]) -> Routes:
    """The page that Prometheus scrapes; `collect` is called in the page's thread."""
    return {"/metrics": lambda _: Response(200, render(collect()), CONTENT_TYPE)}


def _gauge(name: str, help: str, value: float) -> Metric:
    return Metric(name, help, "gauge", (Sample(value),))
