"""What Prometheus scrapes."""

from __future__ import annotations

import os
import time

from tortie.health.exposition import Metric, Sample, render
from tortie.health.health import Health
from tortie.health.metrics import (
    NodeAddress,
    Process,
    address_metrics,
    datastore_metrics,
    health_metrics,
    process_metrics,
)
from tortie.health.process import read_process
from tortie.health.state import Trouble

PEER_DOWN = Trouble("BGP not established with 10.0.0.2", "no route", "start node n2", "a peer")


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_text_format_with_its_escapes() -> None:
    metric = Metric("a_total", "back\\slash\nline", "counter", (Sample(3, {"path": 'C:\\x "y"\n'}), Sample(0.25)))
    assert render([metric]) == (
        "# HELP a_total back\\\\slash\\nline\n"
        "# TYPE a_total counter\n"
        'a_total{path="C:\\\\x \\"y\\"\\n"} 3\n'
        "a_total 0.25\n"
    )


def test_numbers_of_all_sizes() -> None:
    values = [0, -1, 1.0, 1763254800.5, 1e20, float("inf"), float("-inf"), float("nan")]
    lines = render([Metric("m", "", "gauge", tuple(map(Sample, values)))]).splitlines()[2:]
    assert lines == ["m 0", "m -1", "m 1", "m 1763254800.5", "m 1e+20", "m +Inf", "m -Inf", "m NaN"]


def test_a_histogram_has_suffixes() -> None:
    samples = (Sample(2, {"le": "0.1"}, "_bucket"), Sample(2, {"le": "+Inf"}, "_bucket"), Sample(0.1, {}, "_sum"))
    text = render([Metric("h", "", "histogram", samples)])
    assert 'h_bucket{le="+Inf"} 2\nh_sum 0.1\n' in text


def test_a_metric_without_samples_is_left_out() -> None:
    assert render([Metric("m", "", "gauge", ())]) == ""


def test_the_health_of_a_node_that_starts() -> None:
    clock = Clock()
    health = Health(clock)
    health.begin("datastore", 60)
    clock.now = 2.0
    health.begin("register", 60)
    health.need("bgp", PEER_DOWN)
    clock.now = 2.5
    lines = render(health_metrics(health.report())).splitlines()
    for line in (
        "tortie_node_live 1",
        "tortie_node_ready 0",
        'tortie_node_not_ready_reason{name="start-up",fault="this node"} 1',
        'tortie_node_not_ready_reason{name="bgp",fault="a peer"} 1',
        "tortie_start_seconds 2.5",
        'tortie_start_phase_seconds{phase="datastore"} 2',
        'tortie_start_phase_seconds{phase="register"} 0.5',
    ):
        assert line in lines


def test_the_times_of_a_start_stand_still_once_it_is_over() -> None:
    clock = Clock()
    health = Health(clock)
    health.begin("datastore", 60)
    clock.now = 2.0
    health.started()
    clock.now = 3600.0
    text = render(health_metrics(health.report()))
    assert "tortie_start_seconds 2\n" in text
    assert 'phase="running"' not in text
    assert "tortie_node_not_ready_reason" not in text


def test_no_two_samples_have_the_same_labels() -> None:
    clock = Clock()
    health = Health(clock)
    for phase in ("datastore", "address", "datastore"):
        health.begin(phase, 60)
        clock.now += 1
    health.need("graph", PEER_DOWN._replace(fault="this node"))
    health.component("graph", ready=False)
    lines = render(health_metrics(health.report())).splitlines()
    assert len(lines) == len({line.rpartition(" ")[0] for line in lines})
    assert 'tortie_start_phase_seconds{phase="datastore"} 2' in lines


def test_round_trips_and_addresses() -> None:
    text = render(datastore_metrics({("get", "datastore"): 2, ("commit", "register"): 1}))
    assert 'tortie_datastore_requests_total{op="commit",phase="register"} 1\n' in text
    assert 'tortie_datastore_requests_total{op="get",phase="datastore"} 2\n' in text
    text = render(address_metrics([NodeAddress("n1", "10.0.0.1", "eth0", "agreed", "4")]))
    labels = 'node="n1",address="10.0.0.1",interface="eth0",method="agreed",family="4"'
    assert f"tortie_node_address_info{{{labels}}} 1\n" in text


def test_the_numbers_of_this_process() -> None:
    process = read_process()
    assert 1_000_000 < process.resident_bytes < 10_000_000_000
    assert time.time() - 86400 < process.started_at_s < time.time()
    assert 0 < process.cpu_s <= sum(os.times()[:2])
    assert read_process().started_at_s == process.started_at_s
    text = render(process_metrics(Process(4096, 1763254800.5, 1.25)))
    assert "process_resident_memory_bytes 4096\n" in text
    assert "process_start_time_seconds 1763254800.5\n" in text
    assert "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total 1.25\n" in text
