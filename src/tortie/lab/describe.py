"""A plan, and what would change, as text for people: what `lab up --dry-run` prints. In English and in Chinese."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tortie.lab.changes import Changes, MachineChange
from tortie.lab.plan import LabPlan, Machine, PoolPlan, Segment
from tortie.lab.planning import usual_settings
from tortie.lab.rules import RACK_LABEL
from tortie.lab.words import Language, Pair
from tortie.model.measure import columns

_TEXTS: Final = {
    "title": Pair("Lab {name}: {nodes}, store {store}", "实验环境 {name}：{nodes}，存储 {store}"),
    "nodes": Pair("{count} nodes", "{count} 个节点"),
    "one node": Pair("1 node", "1 个节点"),
    "in racks": Pair("{nodes} in {count} racks", "{nodes}，分布在 {count} 个机架"),
    "machine": Pair("MACHINE", "机器"),
    "role": Pair("ROLE", "角色"),
    "rack": Pair("RACK", "机架"),
    "interface": Pair("INTERFACE", "网卡"),
    "address": Pair("ADDRESS", "地址"),
    "segment": Pair("SEGMENT", "网段"),
    "block": Pair("BLOCK", "地址块"),
    "network": Pair("NETWORK", "网络"),
    "gateway": Pair("GATEWAY", "网关"),
    "machines": Pair("MACHINES", "机器数"),
    "node": Pair("node", "节点"),
    "store": Pair("store", "存储"),
    "router": Pair("router", "路由器"),
    "bridge": Pair("(bridge)", "（网桥）"),
    "embedded": Pair("embedded (one file in the lab's folder)", "embedded（实验目录中的一个文件）"),
    "etcd": Pair("etcd ({members})", "etcd（{members}）"),
    "pool": Pair("Pool {cidr}: blocks of /{size}, {how}", "地址池 {cidr}：块大小 /{size}，{how}"),
    "no encapsulation": Pair("no encapsulation", "不封装"),
    "encapsulation": Pair("{name} {mode}", "{name} {mode}"),
    "all settings": Pair("Settings of all nodes: {settings}", "所有节点的设置：{settings}"),
    "settings": Pair("Settings of {node}: {settings}", "{node} 的设置：{settings}"),
    "labels": Pair("Labels of {node}: {labels}", "{node} 的标签：{labels}"),
    "processes": Pair("Processes: {listed}", "进程：{listed}"),
    "per node": Pair("{count} × {name}", "{count} × {name}"),
    "nothing changes": Pair("Nothing would change.", "没有任何变化。"),
    "refused": Pair("Not possible while the lab is up:", "实验环境运行时无法更改："),
    "add": Pair("add", "新增"),
    "remove": Pair("remove", "移除"),
    "rebuild": Pair("build anew", "重建"),
    "change": Pair("change", "更改"),
    "start": Pair("start {name}, which has ended", "启动已结束的 {name}"),
    "restart": Pair("restart the agent, because of {settings}", "重启 agent，因为 {settings}"),
    "relabel": Pair("labels", "标签"),
    "add part": Pair("add {name} {addresses}", "新增 {name} {addresses}"),
    "remove part": Pair("remove {name} {addresses}", "移除 {name} {addresses}"),
}


def describe(plan: LabPlan, language: Language = "en") -> str:
    """Machines with their addresses, segments, pools, and what would run."""
    said = _Said(language)
    sections = [
        [said("title", name=plan.name, nodes=_nodes(plan, said), store=_store(plan, said))],
        _table(_machine_rows(plan, said)),
        _table(_segment_rows(plan, said)),
        [*(_pool(pool, said) for pool in plan.pools), *_own(plan, said), _processes(plan, said)],
    ]
    return "\n\n".join("\n".join(section) for section in sections) + "\n"


def describe_changes(changes: Changes, language: Language = "en", started: Sequence[str] = ()) -> str:
    """One line for each thing that would be done; for people who run `up --dry-run` on a lab that is there.

    `started`: machines that stay, and in which nothing runs any more.
    """
    said = _Said(language)
    if changes.refused:
        lines = [f"  {refusal.told(language)}" for refusal in changes.refused]
        return "\n".join([said("refused"), *lines]) + "\n"
    lines = [
        *(f"{said('remove')} {_short(machine, said)}" for machine in changes.removed),
        *(f"{said('rebuild')} {_short(machine, said)}" for machine in changes.rebuilt),
        *(f"{said('add')} {_short(machine, said)}" for machine in changes.added),
        *(f"{said('change')} {change.name}: {_parts(change, said)}" for change in changes.changed if change.visible),
        *(said("start", name=name) for name in started),
    ]
    return "\n".join(lines or [said("nothing changes")]) + "\n"


class _Said:
    def __init__(self, language: Language) -> None:
        self._language = language

    def __call__(self, key: str, **values: object) -> str:
        pair = _TEXTS[key]
        return (pair.zh if self._language == "zh" else pair.en).format_map(values)


def _nodes(plan: LabPlan, said: _Said) -> str:
    count = len(plan.nodes)
    nodes = said("one node") if count == 1 else said("nodes", count=count)
    return said("in racks", nodes=nodes, count=len(plan.racks)) if plan.racks else nodes


def _store(plan: LabPlan, said: _Said) -> str:
    return said("etcd", members=", ".join(plan.store.members)) if plan.store.members else said("embedded")


def _machine_rows(plan: LabPlan, said: _Said) -> Iterator[list[str]]:
    headings = ("machine", "role", "rack", "interface", "address", "segment", "block")
    yield [said(heading) for heading in headings]
    for machine in plan.machines:
        lines = [[nic.name, str(address), nic.segment] for nic in machine.nics for address in nic.addresses]
        for bridge in machine.bridges:
            lines += [[bridge.name, str(address), said("bridge")] for address in bridge.addresses or ("",)]
        for index, line in enumerate(lines):
            left = [machine.name, said(machine.role), machine.rack] if index == 0 else [""] * 3
            yield [*left, *line, str(machine.blocks[index]) if index < len(machine.blocks) else ""]


def _segment_rows(plan: LabPlan, said: _Said) -> Iterator[list[str]]:
    yield [said(heading) for heading in ("segment", "network", "gateway", "machines")]
    for segment in plan.segments:
        count = sum(any(nic.segment == segment.name for nic in machine.nics) for machine in plan.machines)
        networks = ", ".join(str(network) for network in (segment.network, segment.network6) if network)
        yield [segment.name, networks, ", ".join(_gateways(plan, segment)), str(count)]


def _gateways(plan: LabPlan, segment: Segment) -> list[str]:
    nics = (nic for nic in plan.router.nics if nic.segment == segment.name)
    return [str(address.ip) for nic in nics for address in nic.addresses]


def _pool(pool: PoolPlan, said: _Said) -> str:
    modes = [(name, mode) for name, mode in (("IPIP", pool.ipip), ("VXLAN", pool.vxlan)) if mode != "Never"]
    how = ", ".join(said("encapsulation", name=name, mode=mode) for name, mode in modes) or said("no encapsulation")
    return said("pool", cidr=pool.cidr, size=pool.block_size, how=how)


def _own(plan: LabPlan, said: _Said) -> Iterator[str]:
    """Settings and labels that the lab did not choose itself: first what all nodes have, then each node's own."""
    usual = usual_settings(plan.pools, classic=plan.classic).items()
    own = {
        node.name: {pair for pair in node.settings.items() if pair not in usual and pair[0] != "NODENAME"}
        for node in plan.nodes
    }
    common = set.intersection(*own.values())
    if common:
        yield said("all settings", settings=_listed(common))
    for node in plan.nodes:
        if own[node.name] - common:
            yield said("settings", node=node.name, settings=_listed(own[node.name] - common))
        if labels := {pair for pair in node.labels.items() if pair != (RACK_LABEL, node.rack)}:
            yield said("labels", node=node.name, labels=_listed(labels))


def _listed(pairs: set[tuple[str, str]]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(pairs))


def _processes(plan: LabPlan, said: _Said) -> str:
    counts = [(1, "tortie lab keep"), (len(plan.nodes), "tortie node run"), (len(plan.stores), "etcd")]
    birds = sum(node.settings.get("CALICO_NETWORKING_BACKEND") == "bird" for node in plan.nodes)
    counts.append((birds + plan.router_learns, "bird"))
    listed = ", ".join(said("per node", count=count, name=name) for count, name in counts if count)
    return said("processes", listed=listed)


def _short(machine: Machine, said: _Said) -> str:
    return f"{machine.name} ({said(machine.role)}, {machine.address})"


def _parts(change: MachineChange, said: _Said) -> str:
    parts: list[str] = []
    for key, nics, bridges in (
        ("remove part", change.nics_removed, change.bridges_removed),
        ("add part", change.nics_added, change.bridges_added),
    ):
        named = [(each.name, each.addresses) for each in nics] + [(each.name, each.addresses) for each in bridges]
        parts += [said(key, name=name, addresses=", ".join(map(str, addresses))).strip() for name, addresses in named]
    if change.settings:
        parts.append(said("restart", settings=", ".join(change.settings)))
    if change.labels:
        parts.append(said("relabel"))
    return "; ".join(parts)


def _table(rows: Iterator[list[str]]) -> list[str]:
    """Columns as wide as they need to be; one that is empty below its heading is left out."""
    found = list(rows)
    used = [place for place in range(len(found[0])) if any(row[place] for row in found[1:])]
    widths = {place: max(columns(row[place]) for row in found) for place in used}
    return [
        "  ".join(row[place] + " " * (widths[place] - columns(row[place])) for place in used).rstrip() for row in found
    ]
