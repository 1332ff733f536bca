"""What is seen now rules out what an older line suggested, and what one node sees says nothing of another."""

from __future__ import annotations

from tests.support.doctor import picture
from tests.unit.doctor.judgement.test_healthy import WELL

from tortie.doctor.judgement.judge import judge

SANDBOX = (
    'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "bb39": stat '
    "/var/lib/calico/nodename: no such file or directory: check that the calico/node container is running and has "
    "mounted /var/lib/calico/"
)
PODS = (
    "$ kubectl get pods -n kube-system -o wide\nNAME   READY   STATUS   RESTARTS   AGE   IP   NODE\n"
    "calico-node-aaaaa   0/1   Running   0   9d   10.0.0.1   n1\n"
    "calico-node-bbbbb   1/1   Running   0   9d   10.0.0.2   n2\n"
)
ROW = "| {peer} | node-to-node mesh | {state} | 07:11:05 | {info} |\n"


def table(*rows: tuple[str, bool]) -> str:
    shown = (ROW.format(peer=peer, state="up" if up else "start", info="Established" if up else "Connect")
             for peer, up in rows)  # fmt: skip
    return "".join(shown)


def verdict(text: str) -> str:
    return judge(picture(text)).verdict


def events(*rows: str) -> str:
    return (
        "$ kubectl get events -A\nNAMESPACE   LAST SEEN   TYPE   REASON   OBJECT   MESSAGE\n" + "\n".join(rows) + "\n"
    )


def test_bird_complained_about_its_port_and_has_it_now() -> None:
    log = "$ kubectl logs calico-node-6fjt4 | grep bird\nbird: Error on listening socket: bind: Address in use\n"
    sessions = "$ calicoctl node status\n" + table(("10.3.9.12", True), ("10.3.9.13", True))
    assert verdict(WELL + log + sessions) == "healthy"


def test_errors_of_an_operator_that_is_content_are_over() -> None:
    log = (
        "$ kubectl -n tigera-operator logs deploy/tigera-operator | head -1\n"
        '{"level":"error","ts":1650867719.0,"logger":"controller_ippool","msg":"Unable to query for IP pools"}\n'
    )
    status = "$ kubectl get tigerastatus\nNAME     AVAILABLE   PROGRESSING   DEGRADED   SINCE\ncalico   {}   6d1h\n"
    assert verdict(WELL + log) == "undetermined"
    assert verdict(WELL + log + status.format("True   False   False")) == "healthy"
    assert verdict(WELL + log + status.format("True   False   True")) == "undetermined"


def test_an_event_of_a_day_ago_beside_a_cluster_that_is_well_is_over() -> None:
    row = "default   {age}   Warning   FailedCreatePodSandBox   pod/web-0   " + SANDBOX
    assert verdict(WELL + events(row.format(age="26h"))) == "healthy"
    assert verdict(WELL + events(row.format(age="20s"))) != "healthy"


def test_a_pod_without_network_that_was_started_since_is_over() -> None:
    failed = "default   9m    Warning   FailedCreatePodSandBox   pod/web-0   " + SANDBOX
    started = "default   8m   Normal   Started   pod/web-0   Started container web"
    assert verdict(WELL + events(failed)) != "healthy"
    assert verdict(WELL + events(failed, started)) == "healthy"


def test_a_node_that_came_minutes_ago_complains_before_its_agent_is_up() -> None:
    new = WELL.replace(
        "calico-node-q8l9c   1/1     Running   0          52m", "calico-node-q8l9c   1/1     Running   0          5m58s"
    )
    failed = "default   5m55s    Warning   FailedCreatePodSandBox   pod/web-0   " + SANDBOX
    assert verdict(new + events(failed)) == "healthy"


def test_a_session_that_one_node_has_does_not_hide_that_another_has_not() -> None:
    one = "node a\n\ncalicoctl node status\n" + table(("10.0.0.2", True), ("10.0.0.3", False))
    other = "node b\n\ncalicoctl node status\n" + table(("10.0.0.1", True), ("10.0.0.3", True))
    for text in (one + "\n" + other, other + "\n" + one):
        assert [session.peer for session in picture(text).sessions_down()] == ["10.0.0.3"]
        assert verdict(text) != "healthy"


def test_the_pod_that_was_asked_has_the_table_not_the_machine_with_the_prompt() -> None:
    ask = "jump$ kubectl -n kube-system exec calico-node-{pod} -- birdcl show protocols\n"
    one = ask.format(pod="aaaaa") + "Mesh_10_0_0_3 BGP      master   start   09:12:50    Connect\n"
    other = ask.format(pod="bbbbb") + "Mesh_10_0_0_3 BGP      master   up     09:12:50    Established\n"
    assert [session.peer for session in picture(one + other).sessions_down()] == ["10.0.0.3"]


def test_the_same_table_later_tells_what_is_now() -> None:
    before = "n1$ calicoctl node status\n" + table(("10.0.0.2", False))
    after = "n1$ calicoctl node status\n" + table(("10.0.0.2", True))
    assert picture(before + after).sessions_down() == []


def test_peers_that_another_node_has_do_not_answer_a_complaint() -> None:
    probe = (
        "$ kubectl -n kube-system describe pod calico-node-aaaaa | tail -1\n"
        "  Warning  Unhealthy  9s (x700 over 2h)  kubelet, n1  Readiness probe failed: calico/node is not ready: "
        "BIRD is not ready: BGP not established with 10.0.0.3\n"
    )
    elsewhere = "[root@n2 ~]# calicoctl node status\n" + table(("10.0.0.1", True), ("10.0.0.3", True))
    symptoms = judge(picture(PODS + probe + elsewhere)).symptoms
    assert any(symptom.kind == "bgp-down" and symptom.current for symptom in symptoms)


def test_an_internal_ip_is_the_entry_of_that_type() -> None:
    first = (
        "$ kubectl get nodes -o custom-columns='NAME:.metadata.name,IP:.status.addresses[0].address'\n"
        "NAME   IP\nn1     203.0.113.7\n"
    )
    pods = PODS.replace("0/1", "1/1")
    assert picture(first + pods).internal_ips()["n1"] == "10.0.0.1"


def test_what_people_tell_of_then_beside_a_cluster_that_is_well_is_over() -> None:
    then = (
        "To recall, all calico-node pods had been stuck at 0/1 on\n\n"
        "> felix/ipsets.go 569: Bad return code from 'ipset list'. stderr=\"ipset v7.11: Kernel and userspace "
        'incompatible: settype hash:ip,port with revision 7 not supported by userspace.\\n"\n\n'
        "This is how it looks today:\n\n"
    )
    content = "\nIngress and everything else: all good.\n"
    assert verdict(then + WELL + content) == "healthy"
    assert verdict(then.replace("had been stuck", "are stuck") + WELL + content) != "healthy"


def test_a_little_that_is_well_is_called_so() -> None:
    answer = judge(picture("$ calicoctl ipam check | tail -1\nCheck complete; found 0 problems.\n"))
    assert answer.verdict == "undetermined"
    assert answer.remark is not None
    assert "too little" in answer.remark.en
    assert not judge(picture("Dear all, lunch is at noon.\n")).of_cluster


def test_an_api_that_fails_now_is_a_symptom_though_the_agents_are_well() -> None:
    service = (
        "$ kubectl get apiservice v3.projectcalico.org\nNAME   SERVICE   AVAILABLE   AGE\n"
        "v3.projectcalico.org   calico-apiserver/calico-api   False (FailedDiscoveryCheck)   411d\n"
    )
    assert [answer.cause.id for answer in judge(picture(WELL + service)).causes] == ["calico-apiserver-unavailable"]
