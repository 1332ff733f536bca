"""A lab's file and the lab's flags: what may stand there, and what people are told when it does not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.topologies import read

from tortie.lab.problem_words import FORMS, in_chinese, told_in_chinese
from tortie.lab.topology import from_flags, read_topology
from tortie.model.errors import Invalid, Problem, TortieError, UsageError
from tortie.model.manifest import Unreadable

EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "lab").glob("*.yaml"))


def problems(text: str) -> list[Problem]:
    with pytest.raises(Invalid) as refused:
        read(text)
    assert refused.value.exit_code == 2
    return refused.value.problems


def test_a_number_of_nodes_is_as_good_as_a_list() -> None:
    counted = read("nodes: 2")
    listed = read("nodes: [node-1, {name: node-2}]")
    assert counted == listed == from_flags(2)
    assert [node.name for node in counted.nodes] == ["node-1", "node-2"]


def test_short_and_long_forms_of_racks_and_store_mean_the_same() -> None:
    assert read("nodes: 2\nracks: 2") == read("nodes: 2\nracks: [rack-1, rack-2]") == from_flags(2, 2)
    assert read("nodes: 3\nstore: etcd") == read("nodes: 3\nstore: {kind: etcd, members: 1}")
    assert read("nodes: 3\nstore: {kind: etcd, members: 3}") == from_flags(3, store="etcd", members=3)


def test_nodes_in_pods_are_asked_for_in_several_ways() -> None:
    assert read("nodes: 1\nkubelet: true") == read("nodes: 1\nkubelet: {hurry: 1}") == from_flags(1, kubelet=True)
    assert read("nodes: 1\nkubelet: false") == from_flags(1)
    fast = read('nodes: 1\nkubelet: {hurry: 10}\nclassic: "3.20"')
    assert fast == from_flags(1, hurry=10, classic="3.20")
    assert read('nodes: 1\nclassic: "3.20"').kubelet is not None, "who starts like Calico is restarted like it, too"


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("kubelet: {hurry: 0}", "kubelet.hurry"),
        ("kubelet: {hurry: 61}", "kubelet.hurry"),
        ('classic: "3.29"', "classic"),
        ('classic: "2.5"', "classic"),
        ("classic: new", "classic"),
        ("store: {kind: embedded, tls: true}", "store.tls"),
    ],
)
def test_what_nodes_in_pods_cannot_be(text: str, field: str) -> None:
    (problem,) = problems(f"nodes: 1\n{text}")
    assert problem.field == field
    assert in_chinese(problem.why) != problem.why


def test_the_name_may_stand_in_either_place() -> None:
    assert read("name: a\nnodes: 1").lab_name == "a"
    assert read("metadata: {name: a}\nnodes: 1").lab_name == "a"
    assert read("name: a\nmetadata: {name: a}\nnodes: 1").lab_name == "a"
    assert read("nodes: 1").lab_name == ""
    (problem,) = problems("name: a\nmetadata: {name: b}\nnodes: 1")
    assert problem.field == "name"


def test_settings_need_no_quotes() -> None:
    topology = read("nodes: 1\nsettings: {FELIX_HEALTHPORT: 9100, DISABLE_NODE_IP_CHECK: true, A: text, B: 0.5}")
    assert topology.settings == {"FELIX_HEALTHPORT": "9100", "DISABLE_NODE_IP_CHECK": "true", "A": "text", "B": "0.5"}


def test_one_address_or_several() -> None:
    topology = read(
        """\
        nodes:
        - name: a
          address: 10.77.0.9
        - name: b
          addresses: [10.77.0.11, 10.77.0.12/24]
        """
    )
    assert [str(address.ip) for node in topology.nodes for address in node.given.values()] == [
        "10.77.0.9",
        "10.77.0.11",
        "10.77.0.12",
    ]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_can_be_used(path: Path) -> None:
    another_fault_of = {"wrong-address": "docker-bridge"}  # the same lab, so that the one heals the other
    assert read_topology(path.read_text(), str(path)).lab_name == another_fault_of.get(path.stem, path.stem)


def test_all_problems_are_told_at_once_with_their_lines() -> None:
    found = problems(
        """\
        nodes:
        - name: Node_1
          nics:
          - name: an-interface-name-that-is-long
            network: storage
        - name: node-2
          address: nonsense
          brigdes: []
        store: etdc
        ipv6: perhaps
        """
    )
    assert [(problem.field, problem.place.line if problem.place else 0) for problem in found] == [
        ("nodes[0].name", 4),
        ("nodes[0].nics[0].name", 6),
        ("nodes[1].address", 9),
        ("nodes[1].brigdes", 10),
        ("store.kind", 11),
        ("ipv6", 12),
    ]
    assert all(problem.right for problem in found)
    assert found[3].right == "did you mean bridges?"
    assert found[4].right == "did you mean etcd?"


def test_how_fields_go_together_is_told_at_once_too() -> None:
    found = problems(
        """\
        nodes:
        - name: node-1
          address: 10.78.0.1
        - name: node-1
          nics:
          - name: eth0
            network: nowhere
          settings:
            NODENAME: other
        store:
          members: 3
        """
    )
    assert [(problem.field, problem.place.line if problem.place else 0) for problem in found] == [
        ("nodes[0].address", 5),
        ("nodes[1].name", 6),
        ("nodes[1].nics[0].name", 8),
        ("nodes[1].nics[0].network", 9),
        ("nodes[1].settings.NODENAME", 11),
        ("store.members", 13),
    ]


NIC = "nodes:\n- name: a\n  nics:\n  - "
RULES = [
    ("nodes: 0", "nodes", "1 to 1,000 nodes"),
    ("nodes: 1001", "nodes", "1 to 1,000 nodes"),
    ("nodes: []", "nodes", "1 to 1,000 nodes"),
    ("nodes: true", "nodes", "neither a number nor a list"),
    ("nodes: many", "nodes", "neither a number nor a list"),
    ("nodes: {a: b}", "nodes", "a list is needed"),
    ("racks: 2", "nodes", "is required"),
    ("nodes: [router]", "nodes[0].name", "kept for a machine of the lab"),
    ("nodes: [etcd-2]", "nodes[0].name", "kept for a machine of the lab"),
    (f"nodes: [{'a' * 64}]", "nodes[0].name", "64 characters"),
    ("nodes: [a, b, a]", "nodes[2].name", "nodes[0] has the same name"),
    ("nodes: [{name: a, labels: {'a b': c}}]", "nodes[0].labels.a b", "is not a label's name"),
    ("nodes: [{name: a, labels: {a: 1}}]", "nodes[0].labels.a", "expected str"),
    ("nodes: [{name: a, settings: {'A-B': c}}]", "nodes[0].settings.A-B", "environment variable"),
    ("nodes: [{name: a, settings: {A: [c]}}]", "nodes[0].settings.A", "environment variable"),
    ("nodes: 1\nsettings: {TORTIE_ROOT: /tmp}", "settings.TORTIE_ROOT", "the lab gives each node its own"),
    # racks
    ("nodes: 2\nracks: 3", "racks", "2 nodes for 3 racks"),
    ("nodes: 3\nracks: 251", "racks", "1 to 250 racks"),
    ("nodes: 3\nracks: [a, a]", "racks[1]", "there already"),
    ("nodes: 3\nracks: [services]", "racks[0]", "segment of the lab's own"),
    ("nodes: [{name: a, rack: fabric}]", "nodes[0].rack", "segment of the lab's own"),
    ("nodes: [{name: a, rack: left}, b]", "nodes[1].rack", "this one has none"),
    ("racks: [left, right]\nnodes: [{name: a, rack: lefd}]", "nodes[0].rack", "not in the list"),
    ("nodes: [{name: a, rack: left, labels: {rack: right}}]", "nodes[0].labels.rack", "the lab labels it so"),
    ("nodes: 300\nracks: 1", "nodes", "no room for 300 nodes"),
    # store
    ("nodes: 1\nstore: {kind: etcd, members: 2}", "store.members", "one member or with three"),
    ("nodes: 1\nstore: {members: 3}", "store.members", "embedded store is one file"),
    # NICs and bridges
    (NIC + "{name: eth0, address: 10.0.0.1/24}", "nodes[0].nics[0].name", "the node's NIC in the lab's own network"),
    (NIC + "{name: lo, address: 10.0.0.1/24}", "nodes[0].nics[0].name", "makes itself"),
    (NIC + "{name: a/b, address: 10.0.0.1/24}", "nodes[0].nics[0].name", "Linux interface"),
    (NIC + "{name: eth1}", "nodes[0].nics[0].network", "neither network nor address"),
    (NIC + "{name: eth1, address: 10.0.0.1}", "nodes[0].nics[0].address", "does not say how large"),
    (NIC + "{name: eth1, address: 'fd00::1/64'}", "nodes[0].nics[0].address", "a network has IPv4, too"),
    (NIC + "{name: eth1, network: lan}", "nodes[0].nics[0].network", "no such network"),
    (NIC + "{name: eth1, address: 10.77.0.1/16}", "nodes[0].nics[0].address", "the network fabric is 10.77.0.0/24"),
    ("nodes: [{name: a, bridges: [{name: b}, {name: b}]}]", "nodes[0].bridges[1].name", "has the same name"),
    ("nodes: [{name: a, bridges: [{name: tunl0}]}]", "nodes[0].bridges[0].name", "makes itself"),
    (
        "nodes: [{name: a, bridges: [{name: b, addresses: [10.9.0.1/24, 10.9.0.1/16]}]}]",
        "nodes[0].bridges[0].addresses[1]",
        "there already",
    ),
    # addresses
    ("nodes: [{name: a, address: 10.78.0.1}]", "nodes[0].address", "not in the network fabric"),
    ("nodes: [{name: a, address: 10.77.0.0}]", "nodes[0].address", "first or the last"),
    ("nodes: [{name: a, address: 10.77.0.255}]", "nodes[0].address", "first or the last"),
    ("nodes: [{name: a, address: 10.77.0.254}]", "nodes[0].address", "kept for the router"),
    ("nodes: [{name: a, address: 10.77.0.252}]", "nodes[0].address", "kept for a member of etcd"),
    ("nodes: [{name: a, address: 10.77.0.9/16}]", "nodes[0].address", "the network fabric is 10.77.0.0/24"),
    ("nodes: [{name: a, address: 'fd77::9'}]", "nodes[0].address", "has no IPv6"),
    (
        "nodes: [{name: a, address: 10.77.0.9}, {name: b, address: 10.77.0.9}]",
        "nodes[1].address",
        "a has the same address",
    ),
    # networks
    ("nodes: 1\nnetworks: [{name: lan}]", "networks[0].cidr", "is required"),
    ("nodes: 1\nnetworks: [{name: lan, cidr: 10.0.0.1/24}]", "networks[0].cidr", "host bits"),
    ("nodes: 1\nnetworks: [{name: lan, cidr: 10.77.0.0/16}]", "networks[0].cidr", "overlaps with the network fabric"),
    ("nodes: 1\nnetworks: [{name: lan, cidr: 10.244.9.0/24}]", "networks[0].cidr", "overlaps with the pool"),
    ("nodes: 1\nnetworks: [{name: lan, cidr: 10.0.0.0/31}]", "networks[0].cidr", "from /8 to /30"),
    ("nodes: 1\nnetworks: [{name: lan, cidr: 127.0.0.0/24}]", "networks[0].cidr", "no machine can have"),
    ("nodes: 1\nnetworks: [{name: lan, cidr: 10.0.0.0/24, mtu: 100}]", "networks[0].mtu", "from 1280"),
    ("nodes: 1\nnetworks: [{name: services, cidr: 10.0.0.0/24}]", "networks[0].name", "without racks"),
    ("nodes: 1\nracks: 1\nnetworks: [{name: fabric}]", "networks[0].name", "in a lab with racks"),
    ("nodes: 1\nnetworks: [{name: fabric, cidr: 10.0.0.0/29}]", "networks[0].cidr", "from /8 to /28"),
    ("nodes: 12\nnetworks: [{name: fabric, cidr: 10.0.0.0/28}]", "networks[0].cidr", "no room for 12 nodes"),
    ("nodes: 1\nnetworks: [{name: fabric, cidr6: 'fd00::/64'}]", "networks[0].cidr6", "no IPv6"),
    (
        "nodes: 1\nnetworks: [{name: a, cidr: 10.0.0.0/24}, {name: a, cidr: 10.1.0.0/24}]",
        "networks[1].name",
        "there already",
    ),
    # pool
    ("nodes: 1\npool: {cidr: 10.77.0.0/16}", "pool.cidr", "overlaps with the network fabric"),
    ("nodes: 1\npool: {blockSize: 19}", "pool.blockSize", "from /20 to /32"),
    ("nodes: 5\npool: {cidr: 10.0.0.0/24}", "pool.cidr", "4 blocks of /26"),
    ("nodes: 1\npool: {cidr6: 'fd00::/64'}", "pool.cidr6", "no IPv6"),
    ("nodes: 1\nipv6: true\npool: {blockSize6: 64}", "pool.blockSize6", "from /116 to /128"),
    ("nodes: 1\npool: {encapsulation: gre}", "pool.encapsulation", "must be one of"),
]


@pytest.mark.parametrize(("text", "field", "why"), RULES, ids=[f"{field}: {why}" for _, field, why in RULES])
def test_what_cannot_be(text: str, field: str, why: str) -> None:
    (problem,) = problems(text)
    assert problem.field == field
    assert why in problem.why
    assert problem.right


# What would be right is often the very line to write, in any language.
LINES = re.compile(r"[\w.]+: [\w-]+|--\w+ \w+|[0-9a-f.:]+(/\d+)?|tortie/v1")


def assert_chinese(text: str) -> None:
    chinese = in_chinese(text)
    assert (chinese != text and re.search("[\u4e00-\u9fff]", chinese)) or LINES.fullmatch(text), text
    assert not re.search(r"\b(is|the|and|or|for|example|has)\b", chinese), chinese


@pytest.mark.parametrize("text", [text for text, _, _ in RULES])
def test_every_rule_speaks_chinese(text: str) -> None:
    (problem,) = problems(text)
    assert_chinese(problem.why)
    assert_chinese(problem.right)


def test_several_problems_in_chinese() -> None:
    with pytest.raises(Invalid) as refused:
        read_topology("apiVersion: tortie/v1\nkind: Lab\nnodes: 2\nracks: 3\nstore: {members: 3}", "lab.yaml")
    assert told_in_chinese(refused.value) == (
        "lab.yaml 有 2 处错误",
        "-  lab.yaml 第 4 行：字段 racks = “3”有误（3 个机架只有 2 个节点）；正确写法：节点数不少于机架数\n"
        "-  lab.yaml 第 5 行：字段 store.members = “3”有误（内嵌存储是单个文件）；正确写法：kind: etcd，或 members: 1",
        "逐行修正",
    )


def test_text_that_is_no_yaml_in_chinese() -> None:
    with pytest.raises(Unreadable) as refused:
        read_topology("nodes: 1\nnodes: 2", "lab.yaml")
    assert told_in_chinese(refused.value) == (
        "lab.yaml 第 2 行：不是有效的 YAML 或 JSON",
        "字段 nodes 在此出现两次",
        "检查该处的缩进、引号和冒号",
    )


@pytest.mark.parametrize("form", FORMS)
def test_both_languages_have_the_same_values(form: str) -> None:
    assert sorted(re.findall(r"\{\w+\}", form)) == sorted(re.findall(r"\{\w+\}", FORMS[form]))


def test_what_has_no_translation_stays_as_it_is() -> None:
    assert in_chinese("mapping values are not allowed in this context") == (
        "mapping values are not allowed in this context"
    )
    error = TortieError("no link", "the kernel says so", "look at dmesg, or at its log")
    assert told_in_chinese(error) == ("no link", "the kernel says so", "look at dmesg, or at its log")


def test_a_file_of_another_kind() -> None:
    (problem,) = [each for each in _problems_of("kind: Lab\nnodes: 1") if each.field == "apiVersion"]
    assert problem.right == "tortie/v1"
    assert [each.field for each in _problems_of("apiVersion: tortie/v1\nkind: Cluster\nnodes: 1")] == ["kind"]
    assert [each.field for each in _problems_of("[1, 2]")] == ["document"]
    assert [each.field for each in _problems_of("")] == ["document"]
    with pytest.raises(Unreadable):
        read_topology("a: [", "lab.yaml")


def _problems_of(text: str) -> list[Problem]:
    with pytest.raises(Invalid) as refused:
        read_topology(text, "lab.yaml")
    return refused.value.problems


@pytest.mark.parametrize(
    ("flags", "what", "why", "fix"),
    [
        ({"nodes": 0}, "--nodes 0", "1 to 1,000 nodes", "--nodes 3"),
        ({"nodes": 2, "racks": 3}, "--racks 3", "2 nodes for 3 racks", "at least as many nodes"),
        ({"nodes": 600, "racks": 2}, "--nodes 600", "no room for 300 nodes", "more racks"),
        ({"store": "etdc"}, "--store etdc", "must be one of embedded, etcd", "did you mean etcd?"),
        ({"members": 3}, "--members 3", "one file", "--store etcd, or --members 1"),
        ({"store": "etcd", "members": 2}, "--members 2", "one member or with three", "--members 1 or --members 3"),
    ],
)
def test_flags_that_cannot_be_are_named(flags: dict[str, object], what: str, why: str, fix: str) -> None:
    with pytest.raises(UsageError) as refused:
        from_flags(**flags)  # type: ignore[arg-type]
    assert what in refused.value.what
    assert why in refused.value.why
    assert fix in refused.value.fix
    for text in (refused.value.what, refused.value.why, refused.value.fix):
        assert_chinese(text)
