"""The shape of the code, held by a test: who may import whom, and which modules only think."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "tortie"

# From top to bottom. A package imports packages further down, never its neighbours.
TIERS = (
    {"cli"},
    {"node", "cni", "controllers", "doctor", "lab"},
    {"addressing", "ipam", "bgp", "dataplane", "health", "policy"},
    {"store", "host"},
    {"model"},
)

# These decide and never act: no clock, no chance, no file, no socket, no process, no event loop.
PURE = (
    "model",
    "store/contract.py",
    "store/calico_file.py",
    "addressing",
    "bgp/bird_export.py",
    "bgp/bird_kernel.py",
    "bgp/bird_sessions.py",
    "bgp/bird_text.py",
    "bgp/bird_filters.py",
    "bgp/bird_words.py",
    "bgp/calling.py",
    "bgp/cluster.py",
    "bgp/entries.py",
    "bgp/mesh.py",
    "bgp/passwords.py",
    "bgp/peering.py",
    "bgp/plan.py",
    "bgp/readiness.py",
    "bgp/replies.py",
    "bgp/reply_details.py",
    "bgp/reply_routes.py",
    "bgp/router.py",
    "bgp/sessions.py",
    "bgp/timers.py",
    "doctor/words.py",
    "doctor/commands",
    *(f"doctor/causes/{family}" for family in ("release", "nodes", "datastore", "agent", "kubelet")),
    *(f"doctor/causes/{family}" for family in ("ipam", "cni", "kernel", "firewall", "underlay")),
    *(f"doctor/causes/{name}.py" for name in ("cause", "culprits", "methods", "recovery", "shared")),
    *(f"doctor/causes/{name}.py" for name in ("steps", "surroundings", "way_table", "ways")),
    "doctor/signs.py",
    "doctor/diagnosis.py",
    "doctor/evaluation.py",
    "doctor/knowledge.py",
    "doctor/picture",
    "doctor/judgement",
    "doctor/reading/cleaning.py",
    "doctor/reading/cut.py",
    "doctor/reading/exhibit.py",
    "doctor/reading/redaction.py",
    "doctor/reading/readers",
    "doctor/reading/lexicon",
    "health/exposition.py",
    "health/message.py",
    "health/metrics.py",
    "health/state.py",
    "health/texts.py",
    "health/verdict.py",
    "health/window.py",
    "node/checks",
    "node/decisions.py",
    "node/explain.py",
    "node/name.py",
    "node/patience.py",
    "node/picture.py",
    "node/registration.py",
    "lab/chain.py",
    "lab/changes.py",
    "lab/describe.py",
    "lab/forms.py",
    "lab/graph",
    "lab/lab_failures.py",
    "lab/layout.py",
    "lab/network_rules.py",
    "lab/pairs.py",
    "lab/pod_failures.py",
    "lab/pods.py",
    "lab/plan.py",
    "lab/plan_json.py",
    "lab/planning.py",
    "lab/pools.py",
    "lab/router.py",
    "lab/rules.py",
    "lab/seeds.py",
    "lab/failures.py",
    "lab/status.py",
    "lab/problem_words.py",
    "lab/words.py",
    "lab/topology.py",
    "lab/wires.py",
    "node/mesh_view.py",
    "cli/cluster/pods.py",
    "cli/cluster/questions.py",
    "cli/patches.py",
    "cli/node/bgp_standing.py",
    "cli/node/matrix.py",
    "cli/node/matrix_json.py",
    "cli/node/matrix_text.py",
    "cli/node/reports.py",
    "cli/node/status_text.py",
    "cli/node/suspects.py",
    "cli/gotemplate",
    "cli/jsonpath",
    "cli/tables.py",
    "cli/formats.py",
    "cli/ipam/frame.py",
    *(f"cni/{name}.py" for name in ("errors", "invocation", "config", "wishes", "identity", "results", "timing")),
    "cni/journal.py",
    "cni/leftovers.py",
    *(f"cni/{name}.py" for name in ("install", "install_settings", "install_conflist", "install_kubeconfig")),
    *(f"controllers/{name}.py" for name in ("lease", "ripening", "leaks", "nodes", "plan", "recheck", "deeds")),
    *(f"controllers/{name}.py" for name in ("config", "metrics", "readiness")),
    *(f"dataplane/{name}.py" for name in ("things", "felix", "records", "known", "mtu", "nat")),
    *(f"dataplane/{name}.py" for name in ("tunnelling", "desired", "plan")),
    *(f"ipam/{name}.py" for name in ("block", "records", "request", "census", "usage", "problems", "check")),
    *(f"ipam/{name}.py" for name in ("errors", "choice", "go_random", "pools", "reservations", "view", "draft")),
    *(f"ipam/{name}.py" for name in ("claims", "search", "planning", "releasing", "room", "encoding", "facts")),
    *(f"ipam/{name}.py" for name in ("check_blocks", "check_owners", "check_records", "figures", "report")),
    *(
        f"ipam/{name}.py"
        for name in ("calico_file", "migration", "migration_files", "migration_pods", "migration_tunnel")
    ),
    "node/dataplane_view.py",
    "node/tunnel_choice.py",
    "lab/kubelet/objects.py",
    "lab/kubelet/events.py",
    "lab/kubelet/manifest.py",
    "lab/kubelet/probes.py",
    "lab/kubelet/answers.py",
    "lab/kubelet/backoff.py",
    "lab/kubelet/pod_status.py",
    "lab/kubelet/lifecycle.py",
    "lab/kubelet/conditions.py",
    "lab/kubelet/words.py",
    "lab/kubelet/template.py",
    "lab/kubelet/service_texts.py",
    "lab/kubectl/times.py",
    "lab/kubectl/tabs.py",
    "lab/kubectl/kinds.py",
    "lab/kubectl/pod_state.py",
    "lab/kubectl/tables.py",
    "lab/kubectl/describing.py",
    "lab/kubectl/describe_pod.py",
    "lab/kubectl/describe_containers.py",
    "lab/kubectl/describe_node.py",
    "lab/kubectl/describe_others.py",
    "lab/kubectl/quantities.py",
    "lab/kubectl/cluster.py",
    "lab/kubectl/plain.py",
    "lab/kubectl/selectors.py",
    "lab/kubectl/words.py",
    "lab/kubectl/finding.py",
    "lab/kubectl/patching.py",
    "lab/kubectl/logs.py",
    "lab/kubectl/documents.py",
    "lab/kubectl/printing.py",
    "lab/kubectl/failures.py",
    "lab/faults/deeds.py",
    "lab/faults/deed_forms.py",
    "lab/faults/scenario.py",
    "lab/faults/words.py",
    "lab/faults/failures.py",
    "lab/faults/phrases.py",
    "lab/faults/decoys.py",
    "lab/faults/catalogue.py",
    "lab/faults/addresses.py",
    "lab/faults/bgp.py",
    "lab/faults/bird.py",
    "lab/faults/probes.py",
    "lab/faults/dataplane.py",
    "lab/faults/store.py",
    "lab/faults/ipam.py",
    "lab/faults/cni.py",
    "lab/faults/host.py",
    "lab/faults/incidents.py",
    "lab/plays",
    "lab/evidence/questions.py",
    "lab/evidence/traffic.py",
    "node/classic/release.py",
    "node/classic/places.py",
    "node/classic/words.py",
    "node/classic/addresses.py",
    "node/classic/name.py",
)
EFFECTS = {
    "asyncio",
    "os",
    "pathlib",
    "random",
    "shutil",
    "socket",
    "sqlite3",
    "subprocess",
    "threading",
    "time",
    "uuid",
}

# Modules written by protoc from rpc.proto are as long as protoc makes them.
GENERATED = {"store/etcd/rpc_pb2.py"}
LINES_MAX = 400


def modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def imports(path: Path) -> Iterator[str]:
    """Full names of what a module imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}: say the full name instead of a relative import"
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def tier_of(package: str) -> int:
    return next(index for index, tier in enumerate(TIERS) if package in tier)


def package_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "tortie" and len(parts) > 1 and not parts[1].startswith("__") else None


def test_every_package_has_its_place_in_the_tiers() -> None:
    packages = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert packages <= set().union(*TIERS)


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_imports_point_down_only(path: Path) -> None:
    own = path.relative_to(SOURCE).parts[0]
    if own.endswith(".py"):
        return
    for module in imports(path):
        package = package_of(module)
        if package and package != own:
            assert tier_of(package) > tier_of(own), f"{own} must not import {module}"


@pytest.mark.parametrize("pure", PURE)
def test_pure_modules_have_no_effects(pure: str) -> None:
    target = SOURCE / pure
    paths = sorted(target.rglob("*.py")) if target.is_dir() else [target]
    assert paths, f"{pure} is gone: take it off the list"
    for path in paths:
        used = {module.split(".")[0] for module in imports(path)} & EFFECTS
        assert not used, f"{name_of(path)} imports {', '.join(sorted(used))}"


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_files_stay_readable(path: Path) -> None:
    if name_of(path) not in GENERATED:
        lines = len(path.read_text().splitlines())
        assert lines <= LINES_MAX, f"{lines} lines: look for the missing noun"


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_every_module_says_what_it_is_for(path: Path) -> None:
    if name_of(path) not in GENERATED:
        assert ast.get_docstring(ast.parse(path.read_text()))
