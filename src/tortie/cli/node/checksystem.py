"""`tortie node checksystem`: this machine observed, judged, and told, before a node starts on it."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import tortie
from tortie.host import kernel, loopback, ports, system
from tortie.host.files import read_text
from tortie.host.kernel_config import KernelConfig, read_kernel_config
from tortie.model.errors import TortieError, UsageError
from tortie.node.checks import Check, verdict
from tortie.node.checks import kernel as of_kernel
from tortie.node.checks import kernel_config as of_config
from tortie.node.checks import machine as of_machine
from tortie.node.checks import network as of_network
from tortie.node.name import choose_name
from tortie.node.paths import Paths
from tortie.node.settings import EnvFile, NodeSettings, load_env_file, read_node_settings

EXIT_CODES: Final = {"ok": 0, "warn": 4, "fail": 3}
FOLDERS: Final = (
    "/var/lib/calico",
    "/var/run/calico",
    "/var/log/calico",
    "/etc/calico",
    "/var/lib/tortie",
    "/run/tortie",
)
# What calicoctl says at the end, so that scripts which look for it find it.
MEETS: Final = "System meets minimum system requirements to run Calico!"
FAILS: Final = "system doesn't meet one or more minimum systems requirements to run Calico"


def checksystem(*, root: str, output: str, env_file: str | None = None, kernel_config: str | None = None) -> int:
    if output not in ("text", "json"):
        raise UsageError(f"unrecognized output format '{output}'", "there is no such form", "use text or json")
    config = read_kernel_config(kernel_config) if kernel_config else None
    checks = tuple(examine(os.environ, Paths(root), load_env_file(env_file) if env_file else None, config))
    result = verdict(checks)
    if output == "json":
        import json

        body = {"checks": [_as_json(check) for check in checks], "result": result}
        sys.stdout.write(json.dumps(body, indent=2, ensure_ascii=False) + "\n")
    else:
        import shutil

        sys.stdout.write(as_text(checks, max(60, min(shutil.get_terminal_size().columns, 110))))
    return EXIT_CODES[result]


def examine(
    environment: Mapping[str, str], paths: Paths, file: EnvFile | None = None, config: KernelConfig | None = None
) -> Iterator[Check]:
    reading = read_node_settings(environment, file)
    environment = file.over(environment) if file else environment
    settings = reading.settings
    if config:  # of the kernel it is about, which need not be the one that runs
        yield of_kernel.version(config.release or kernel.release())
        yield from of_config.options(kernel.FEATURES, config.options, config.path)
    else:
        yield of_kernel.version(kernel.release())
        yield from map(of_kernel.feature, kernel.find_features())
    yield from _kernel_settings(settings.wants_address(6))
    yield from _ports(settings)
    yield of_network.localhost(loopback.resolve(), settings.health_host.value)
    yield of_network.loopback(loopback.observe_loopback())
    nodename_file = paths.below(settings.nodename_file.value)
    yield _nodename(environment, nodename_file)
    yield of_network.environment(reading)
    yield of_machine.bird(_bird(environment), settings.backend.value)
    yield from _machine((nodename_file, paths.store))
    yield from _folders(paths)


def _kernel_settings(wants_ipv6: bool) -> Iterator[Check]:
    read = kernel.read_sysctl
    yield of_kernel.forwarding(read("net.ipv4.ip_forward"), "net.ipv4.ip_forward")
    if wants_ipv6:
        forwarding = "net.ipv6.conf.all.forwarding"
        sysctl = read(forwarding)
        yield of_kernel.ipv6(sysctl is not None)
        if sysctl:
            yield of_kernel.forwarding(sysctl, forwarding)
    yield of_kernel.rp_filter(kernel.rp_filters())
    conntrack = "net.netfilter.nf_conntrack"
    yield of_kernel.conntrack(read(f"{conntrack}_max"), read(f"{conntrack}_count"))
    yield of_kernel.neighbours(read("net.ipv4.neigh.default.gc_thresh3"), kernel.neighbours_known())


def _ports(settings: NodeSettings) -> Iterator[Check]:
    backend = settings.backend.value
    bgp = of_network.Port(
        179,
        "BGP",
        "give Calico another one: BGPConfiguration spec.listenPort, the same on all nodes",
        unneeded="" if backend == "bird" else f"CALICO_NETWORKING_BACKEND={backend}",
    )
    health = of_network.Port(
        settings.health_port.value,
        "health",
        "set FELIX_HEALTHPORT to another one, and the same in the probes",
        unneeded="" if settings.health_enabled.value else "FELIX_HEALTHENABLED=false",
    )
    metrics = of_network.Port(
        settings.metrics_port.value,
        "metrics",
        "set FELIX_PROMETHEUSMETRICSPORT to another one",
        taken="WARN",
        unneeded="" if settings.metrics_enabled.value else "FELIX_PROMETHEUSMETRICSENABLED=false",
    )
    wanted = ((bgp, "0.0.0.0"), (health, settings.health_host.value), (metrics, settings.metrics_host.value))
    for port, host in wanted:
        holders = () if port.unneeded else ports.holders(port.number)
        refusal = None if port.unneeded or holders else _refusal(host, port.number)
        yield of_network.port(port, holders, ports.describe(holders), refusal)


def _refusal(host: str, port: int) -> of_network.Refusal | None:
    """A name is tried as the loopback that it ought to be; whether it is one has a check of its own."""
    import errno

    error = ports.trouble_binding(host if of_network.is_address(host) else "127.0.0.1", port)
    if error is None:
        return None
    return of_network.Refusal(error.errno == errno.EADDRINUSE, error.strerror or str(error))


def _nodename(environment: Mapping[str, str], file: str) -> Check:
    try:
        stored = read_text(file)
    except TortieError as error:
        return Check("nodename", of_network.NAMES, "FAIL", str(error), error.fix)
    return of_network.nodename(choose_name(environment, stored, socket.gethostname(), file))


def _bird(environment: Mapping[str, str]) -> system.Program | None:
    path = system.find_program("bird", environment.get("PATH", ""))
    return system.ask_program(path, "--version") if path else None


def _machine(own_files: Sequence[str]) -> Iterator[Check]:
    yield of_machine.swap(system.swap_areas())
    clock = system.clock()
    written = {path: system.modified(path) for path in own_files}
    yield of_machine.date(clock.now, system.modified(tortie.__file__), written)
    yield of_machine.synchronised(clock)
    yield of_machine.memory(system.memory())
    yield of_machine.load(system.load())
    if shares := system.pressure():
        yield of_machine.pressure(shares)


def _folders(paths: Paths) -> Iterator[Check]:
    found = {name: system.try_folder(paths.below(name)) for name in FOLDERS}
    for name, folder in found.items():
        yield of_machine.folder(folder, name)
    by_file_system: dict[int, list[str]] = {}
    for name, folder in found.items():
        by_file_system.setdefault(folder.device, []).append(name)
    for names in by_file_system.values():
        yield of_machine.space(found[names[0]], names)


def _as_json(check: Check) -> dict[str, str]:
    return {field: getattr(check, field) for field in ("group", "name", "result", "seen", "fix")}


def as_text(checks: Sequence[Check], width: int) -> str:
    """A table by group: what was seen beside the verdict, the fix below it."""
    import textwrap

    margin = max(len(check.name) for check in checks) + 2 + 2
    lines: list[str] = []
    group = ""
    for check in checks:
        if check.group != group:
            group = check.group
            lines += ["", group] if lines else [group]
        first = f"  {check.name}".ljust(margin) + f"{check.result:<6}"
        below = " " * len(first)
        lines += textwrap.wrap(check.seen, width, initial_indent=first, subsequent_indent=below, break_on_hyphens=False)
        # A command or a path in a fix is copied, so it stays in one piece even where it is too long.
        lines += textwrap.wrap(
            f"fix: {check.fix}" if check.fix else "",
            width,
            initial_indent=below,
            subsequent_indent=below,
            break_on_hyphens=False,
            break_long_words=False,
        )
    lines.append("")
    skipped = sum(check.result == "SKIP" for check in checks)
    if skipped:
        lines.append(f"{skipped} of {len(checks)} checks could not be made (SKIP).")
    lines.append(FAILS if verdict(checks) == "fail" else MEETS)
    return "\n".join(lines) + "\n"
