"""What is asked next follows from what was heard; answers look as on a terminal and hold no secret."""

from __future__ import annotations

import json

from tortie.doctor.reading.redaction import MASK, redacted
from tortie.lab.evidence.bundle import LATE, files_of
from tortie.lab.evidence.questions import (
    Answer,
    Around,
    Question,
    about_node,
    far_ends,
    more_of_cluster,
    more_of_node,
    nodes_not_ready,
    of_node,
    of_store,
    peers_down,
    unreachable,
)
from tortie.lab.evidence.sending import Errand, Heard
from tortie.lab.evidence.traffic import Pod, of_pods

STATUS = """\
| PEER ADDRESS | PEER TYPE         | STATE | SINCE    | INFO        |
| 10.77.0.2    | node-to-node mesh | up    | 15:25:34 | Established |
| 10.77.0.3    | node-to-node mesh | start | 15:25:34 | Active      |
"""
ROUTES = """\
default via 10.77.1.254 dev eth0 proto static
10.244.0.64/26 via 10.77.1.2 dev eth0 proto 80 onlink
10.244.0.128/26 via 10.244.0.128 dev vxlan.calico onlink
"""


def asked(command: str, text: str) -> Answer:
    return Answer(Question("x", command), text)


def commands(questions: tuple[Question, ...]) -> list[str]:
    return [each.command for each in questions]


def test_peers_that_are_not_up_are_tried() -> None:
    assert peers_down(STATUS) == ("10.77.0.3",)
    more = commands(more_of_node([asked("tortie node status", STATUS)]))
    assert more[0] == "ping -c 2 -W 1 10.77.0.3"
    assert "</dev/tcp/10.77.0.3/179" in more[1]


def test_tunnels_are_tried_with_a_large_packet() -> None:
    assert far_ends(ROUTES) == ("10.244.0.128",)
    more = commands(more_of_node([asked("ip route", ROUTES)]))
    assert more == ["ping -c 1 -W 1 10.244.0.128", "ping -c 1 -W 1 -M do -s 1400 10.244.0.128"]


def test_units_are_asked_for_only_where_the_lab_has_them() -> None:
    plain = commands(of_node(Around({})))
    assert not any(command.startswith(("systemctl", "journalctl", "crictl")) for command in plain)
    with_kubelet = commands(of_node(Around({}, frozenset({"systemctl", "journalctl", "crictl"}))))
    assert "journalctl -u kubelet -n 150 --no-pager" in with_kubelet


def test_etcd_is_asked_with_the_nodes_certificates() -> None:
    environment = {"ETCD_ENDPOINTS": "https://10.77.0.251:2379", "ETCD_CA_CERT_FILE": "/etc/calico/ca.pem"}
    asked_here = commands(of_node(Around(environment)))
    assert "curl -sS -m 3 --cacert /etc/calico/ca.pem https://10.77.0.251:2379/health" in asked_here
    assert any(command.startswith("openssl s_client -connect 10.77.0.251:2379") for command in asked_here)
    assert any("--cacert=/etc/calico/ca.pem endpoint health" in command for command in commands(of_store(environment)))


def pod(name: str, *, ready: bool, namespace: str = "kube-system") -> dict[str, object]:
    return {
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"initContainers": [{"name": "install-cni"}], "containers": [{"name": "calico-node"}]},
        "status": {
            "phase": "Running",
            "initContainerStatuses": [{"name": "install-cni", "restartCount": 0 if ready else 2}],
            "containerStatuses": [{"name": "calico-node", "ready": ready, "restartCount": 0}],
        },
    }


def test_pods_that_are_not_well_are_looked_at_first() -> None:
    pods = [pod("calico-node-a", ready=True), pod("calico-node-b", ready=False), pod("web", ready=False)]
    told = more_of_cluster([asked("kubectl get pods -A -o json", json.dumps({"items": pods}))])
    assert told[0].part == "describe/calico-node-b"
    assert "kubectl -n kube-system logs -p calico-node-b -c install-cni --tail=200 2>/dev/null" in commands(told)
    # Who has not run before has no earlier log.
    assert not any(" logs -p " in command and "-c calico-node" in command for command in commands(told))
    assert not any("web" in each.part for each in told)
    assert more_of_cluster([asked("kubectl get pods -A -o json", "no such thing")]) == ()


def test_nodes_that_are_not_ready_are_described_and_called() -> None:
    rows = "node-1 Ready <none> 1m v1\nnode-2 NotReady <none> 1m v1\n"
    assert nodes_not_ready([asked("kubectl get nodes --no-headers", rows)]) == ("node-2",)
    wide = (
        "NAME   STATUS     ROLES    AGE   VERSION   INTERNAL-IP\nnode-2 NotReady   <none>   1m    v1        10.77.0.2\n"
    )
    told = commands(about_node("node-2", [asked("kubectl get nodes -o wide", wide)]))
    assert told == ["kubectl describe node node-2", "ping -c 2 -W 1 10.77.0.2"]
    assert commands(about_node("node-2", [])) == ["kubectl describe node node-2"]


def test_who_is_cut_off_is_tried_in_vain() -> None:
    question = unreachable("node-2")
    assert (question.part, question.command) == ("load", "ssh node-2 uptime")
    assert question.real == "echo ssh: connect to host node-2 port 22: No route to host"


def test_one_pod_of_each_node_asks_those_of_the_others() -> None:
    pods = [Pod(f"web-{n}", "default", f"node-{n % 2}", (f"10.244.0.{n}",)) for n in range(4)]
    told = {each.name: commands(questions) for each, questions in of_pods([*pods, Pod("new", "default", "node-3", ())])}
    assert list(told) == ["web-0", "web-1"]
    assert told["web-0"][0] == "kubectl exec web-0 -- ping -c 1 -W 1 10.244.0.1"


def test_answers_are_files_without_secrets_and_without_the_machines_paths() -> None:
    errand = Errand("node-1", "nodes/node-1", {}, {}, "/labs/demo/nodes/node-1", ())
    answers = (
        Answer(Question("cni-files", "cat {root}/var/lib/calico/nodename"), "node-1"),
        Answer(Question("load", "uptime"), "", late=True),
        Answer(
            Question("node-status", "tail {root}/log"), "no space at /labs/demo/nodes/node-1/run\nPASSWORD=kitten9\n"
        ),
        Answer(Question("pods", "hidden", silent=True), "not shown"),
    )
    files, hidden = files_of([Heard(errand, answers, True)], redacted, MASK)
    texts = {file.path: file.text for file in files}
    assert texts["nodes/node-1/cni-files.txt"] == "[root@node-1 ~]# cat /var/lib/calico/nodename\nnode-1\n"
    assert texts["nodes/node-1/load.txt"] == f"[root@node-1 ~]# uptime\n{LATE}\n"
    assert texts["nodes/node-1/node-status.txt"].endswith("no space at /run\nPASSWORD=(redacted)\n")
    assert (sorted(texts), hidden) == ([f"nodes/node-1/{name}.txt" for name in ("cni-files", "load", "node-status")], 1)


def test_a_machine_that_is_not_heard_is_told() -> None:
    files, _ = files_of([Heard(Errand("node-1", "nodes/node-1", {}, {}, "/r", ()), (), False)], redacted, MASK)
    assert "did not answer in time" in files[0].text
