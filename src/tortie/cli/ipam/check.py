"""`tortie ipam check`: every invariant of IPAM, in calicoctl's words and order, then what only Tortie looks at."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime

from tortie import __version__
from tortie.cli.ipam.forms import refuse_form, write_private
from tortie.cli.ipam.services import with_services
from tortie.cli.program import as_called
from tortie.cli.session import note_absent_store, with_store
from tortie.cli.settings import Settings
from tortie.ipam.block import Attribute
from tortie.ipam.census import Census, take_census
from tortie.ipam.check import Report
from tortie.ipam.check import check as check_census
from tortie.ipam.problems import Kind, Problem
from tortie.ipam.report import calico_report, calico_version, repair_document, repair_file
from tortie.model.errors import UsageError
from tortie.model.release import DATA_MODEL
from tortie.model.wire import Document, to_json

_NODES_SHOWN = 20
_FORMS_ELSEWHERE = ("yaml", "yml", "ps", "wide", "name", "jsonpath", "custom-columns", "go-template", "")
_CALICO: tuple[Kind, ...] = ("leaked", "not-in-pool", "not-allocated", "handle-orphaned", "handle-missing")

# What calicoctl does not ask, each with what is looked for and how what was found is counted.
_FURTHER: tuple[tuple[str, str, tuple[Kind, ...]], ...] = (
    ("Scanning for records that cannot be read...", "records that cannot be read", ("unreadable", "tombstone")),
    (
        "Scanning for blocks that are not sound...",
        "faults in blocks",
        (
            *("attribute-unused", "released-in-future", "queue-repeats", "queue-range", "queue-held", "queue-missing"),
            *("blocks-overlap", "address-twice", "block-outside-pools", "block-size"),
        ),
    ),
    (
        "Scanning for IPs that somebody else uses than they are held for...",
        "IPs with a wrong owner",
        ("used-twice", "wrong-owner", "wrong-node", "borrowed"),
    ),
    ("Scanning for handles with wrong counts...", "handles with wrong counts", ("handle-count",)),
    (
        "Scanning for affinities that do not fit their blocks...",
        "faults in affinities",
        ("affinity-without-block", "affinity-foreign", "affinity-pending", "block-without-affinity", "node-missing"),
    ),
    ("Comparing the two places where settings are kept...", "settings that disagree", ("settings-disagree",)),
)


def check(
    *,
    settings: Settings,
    show_all_ips: bool,
    show_problem_ips: bool,
    report_file: str | None,
    repair: str | None,
    kubeconfig: str | None,
    output: str,
) -> int:
    output, report_file = _form_and_file(output, report_file)
    census = with_store(settings, take_census)
    if kubeconfig:
        census = with_services(census, kubeconfig)
    report = check_census(census, datetime.now(UTC))
    if report_file:
        written = calico_report(census, report, calico_version(census, DATA_MODEL))
        write_private(report_file, json.dumps(written, indent=2, ensure_ascii=False) + "\n")
    if repair:
        wishes = repair_file(census, report.problems, __version__)
        write_private(repair, json.dumps(wishes, indent=2, ensure_ascii=False) + "\n")
    if output == "json":
        sys.stdout.write(to_json(as_document(census, report)) + "\n")
    else:
        lines = _lines(census, report, all_ips=show_all_ips, problem_ips=show_all_ips or show_problem_ips)
        sys.stdout.writelines(f"{as_called(line)}\n" for line in lines)
        if repair:
            count = sum(problem.repair is not None for problem in report.problems)
            sys.stderr.write(f"{count} repairs written to {repair}; `tortie ipam repair {repair}` carries them out\n")
    note_absent_store(settings)
    return report.exit_code


def _form_and_file(output: str, report_file: str | None) -> tuple[str, str | None]:
    """calicoctl's -o names the file of the report; ours a form, and what is a form elsewhere is no file."""
    if output in ("text", "json"):
        return output, report_file
    if output.partition("=")[0] in _FORMS_ELSEWHERE:
        refuse_form(output, "text", "json")
    if report_file and report_file != output:
        what = "two files were given for the report"
        raise UsageError(what, f"--report says {report_file}, -o says {output}", "leave one of them out")
    return "text", output


def as_document(census: Census, report: Report) -> Document:
    return {
        "apiVersion": "tortie/v1",
        "kind": "IPAMCheck",
        "version": __version__,
        "clusterGUID": census.cluster.guid,
        "datastoreLocked": census.cluster.is_locked,
        "revision": census.revision,
        "clean": report.is_clean,
        "totals": {_camel(name): count for name, count in report.totals._asdict().items()},
        "allocationsPerNode": report.per_node,
        "problems": [_problem_document(problem) for problem in report.problems],
    }


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join("IPs" if each == "ips" else each.capitalize() for each in others)


def _problem_document(problem: Problem) -> Document:
    repair = repair_document(problem.repair) if problem.repair else None
    return {**problem._asdict(), "repair": repair}


def _lines(census: Census, report: Report, *, all_ips: bool, problem_ips: bool) -> Iterator[str]:
    yield from ("Checking IPAM for inconsistencies...", "")
    yield from _block_lines(census, report, all_ips=all_ips)
    yield "Loading all IPAM pools..."
    yield from (f"  {pool.cidr}" for pool in census.pools.values() if not pool.disabled)
    yield from (f"Found {report.totals.pools_active} active IP pools.", "", "Loading all nodes.")
    if all_ips:
        for node in census.nodes.values():
            yield from (f"  {ip} belongs to Node({node.name})" for ip, _ in node.tunnels)
    yield from (f"Found {report.totals.tunnel_ips} node tunnel IPs.", "")
    if census.services is not None:
        yield "Loading all service load balancer IPs."
        if all_ips:
            yield from (f"  {each.ip} belongs to Service({each.namespace}/{each.name})" for each in census.services)
        yield from (f"Found {len({each[:2] for each in census.services})} service load balancer(s).", "")
    yield "Loading all workload endpoints."
    if all_ips:
        for endpoint in census.endpoints:
            owner = f"Workload({endpoint.namespace}/{endpoint.pod or endpoint.name})"
            yield from (f"  {ip} belongs to {owner}" for ip in endpoint.ips)
    yield f"Found {report.totals.workload_ips} workload IPs."
    yield from (f"Workloads and nodes are using {report.totals.used_ips} IPs.", "", "Loading all handles")
    yield from _node_lines(report)
    yield from _calico_problem_lines(census, report, shown=problem_ips, all_ips=all_ips)
    yield ""
    yield from _further_lines(report)
    if repairs := sum(problem.repair is not None for problem in report.problems):
        yield f"{repairs} of them can be repaired: `tortie ipam check --repair-file FILE`, `tortie ipam repair FILE`."
    yield f"Check complete; found {len(report.problems)} problems."


def _block_lines(census: Census, report: Report, *, all_ips: bool) -> Iterator[str]:
    yield from ("Loading all IPAM blocks...", f"Found {report.totals.blocks} IPAM blocks.")
    for cidr, block in census.blocks.items():
        yield f" IPAM block {cidr} affinity={block.affinity or '<none>'}:"
        if all_ips:
            for holding in block.holdings():
                yield f"  {holding.ip} allocated; attrs {_attributes(holding.attribute)}"
    yield from (f"IPAM blocks record {report.totals.allocations} allocations.", "")


def _node_lines(report: Report) -> Iterator[str]:
    yield f"Looking for top (up to {_NODES_SHOWN}) nodes by allocations..."
    for node, count in list(report.per_node.items())[:_NODES_SHOWN]:
        yield f"  {node} has {count} allocations"
    if counts := list(report.per_node.values()):
        ordered = sorted(counts, reverse=True)
        yield f"Node with most allocations has {ordered[0]}; median is {ordered[len(ordered) // 2]}"
    yield ""


def _calico_problem_lines(census: Census, report: Report, *, shown: bool, all_ips: bool) -> Iterator[str]:
    found = {kind: report.of(kind) for kind in _CALICO}
    yield "Scanning for IPs that are allocated but not actually in use..."
    if shown:
        wanted = {problem.subject: problem for problem in found["leaked"]}
        for block in census.blocks.values() if wanted else ():
            for holding in block.holdings():
                if str(holding.ip) in wanted:
                    yield f"  {holding.ip} leaked; attrs {_attributes(holding.attribute)}"
    yield f"Found {len(found['leaked'])} IPs that are allocated in IPAM but not actually in use."
    yield "Scanning for IPs that are in use by a workload or node but not allocated in IPAM..."
    if shown:
        yield from (f"  {problem.subject} has multiple owners." for problem in report.of("used-twice"))
        yield from (f"  {problem.subject} {problem.why}." for problem in found["not-in-pool"] + found["not-allocated"])
    yield f"Found {len(found['not-in-pool'])} in-use IPs that are not in active IP pools."
    missing = len(found["not-allocated"])
    yield f"Found {missing} in-use IPs that are in active IP pools but have no corresponding IPAM allocation."
    yield from ("", "Scanning for IPAM handles with no matching IPs...")
    orphans = found["handle-orphaned"]
    if all_ips:
        yield from (f"  {problem.subject} doesn't have any active IPs." for problem in orphans)
    good = report.totals.handles - len(orphans)
    yield f"Found {len(orphans)} handles with no matching IPs (and {good} handles with matches)."
    yield "Scanning for IPs with missing handle..."
    if shown:
        absent = (problem.subject for problem in found["handle-missing"])
        yield from (f"  {handle} is in use in a block but doesn't exist." for handle in absent)
    yield f"Found {len(found['handle-missing'])} handles mentioned in blocks with no matching handle resource."


def _further_lines(report: Report) -> Iterator[str]:
    """These are few and each is a case of its own, so they are shown with reason and remedy in any case."""
    for heading, counted, kinds in _FURTHER:
        problems = report.of(*kinds)
        yield heading
        for problem in problems:
            yield f"  {problem.subject}: {problem.why}"
            yield f"    {problem.severity}; fix: {problem.cure}"
        yield f"Found {len(problems)} {counted}."
    yield ""


def _attributes(attribute: Attribute) -> str:
    extra = ",".join(f"{name}={value}" for name, value in sorted((attribute.secondary or {}).items()))
    return f"Main:{attribute.handle or '<none>'} Extra:{extra}"
