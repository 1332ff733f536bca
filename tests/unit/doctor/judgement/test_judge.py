"""Findings weighed against each other: what is claimed, what is a consequence, what stays open, what is healthy."""

from __future__ import annotations

from tests.support.doctor import picture
from tests.support.stub_causes import StubCause, claim, excluded

from tortie.doctor.causes.cause import LIKELY, POSSIBLE, PROVEN, STRONG, Cause, Finding
from tortie.doctor.causes.steps import Step
from tortie.doctor.commands.shell import Shell
from tortie.doctor.diagnosis import Diagnosis
from tortie.doctor.judgement.judge import judge
from tortie.doctor.reading.exhibit import Place
from tortie.doctor.words import Words, same

WELL = """
    $ kubectl get pods -n kube-system -o wide
    NAME                READY   STATUS    RESTARTS   AGE   IP         NODE
    calico-node-aaaaa   1/1     Running   0          9d    10.0.0.1   w1
    calico-node-bbbbb   1/1     Running   0          9d    10.0.0.2   w2
    coredns-7f89b7bc75-x2x4q   1/1     Running   0          9d    10.244.0.2   w2
"""
SICK = """
    $ kubectl get pods -n kube-system -o wide
    NAME                READY   STATUS             RESTARTS   AGE   IP         NODE
    calico-node-aaaaa   0/1     CrashLoopBackOff   12         9d    10.0.0.1   w1
    calico-node-bbbbb   1/1     Running            0          9d    10.0.0.2   w2
"""


cause = StubCause


def proven_by(*lines: int, strength: float = STRONG) -> Finding:
    """A claim with lines of its own."""
    return claim(strength)._replace(evidence=tuple(Place("evidence.txt", line, line) for line in lines))


def judged(text: str, *causes: Cause) -> Diagnosis:
    return judge(picture(text), causes)


def ids(answers: object) -> list[str]:
    return [answer.cause.id for answer in answers]  # type: ignore[attr-defined]


def test_one_claim_is_the_cause() -> None:
    diagnosis = judged(SICK, cause("a", claim(STRONG, "w1")), cause("b", claim(POSSIBLE)))
    assert (diagnosis.verdict, ids(diagnosis.causes), diagnosis.exit_code) == ("cause-found", ["a"], 3)
    assert diagnosis.causes[0].explains


def test_candidates_alone_are_undetermined_ranked_with_one_question() -> None:
    diagnosis = judged(SICK, cause("weak", claim(0.2)), cause("fits", claim(POSSIBLE)))
    assert (diagnosis.verdict, ids(diagnosis.causes), diagnosis.exit_code) == ("undetermined", ["fits", "weak"], 5)
    assert [question.command for question in diagnosis.next] == ["ask about fits"]


def test_a_consequence_is_not_a_cause_beside_its_cause() -> None:
    diagnosis = judged(SICK, cause("deep", claim(STRONG)), cause("shallow", claim(PROVEN), yields_to=("deep",)))
    assert ids(diagnosis.causes) == ["deep"]


def test_two_independent_causes_are_both_told_the_surer_first() -> None:
    pull = "    coredns-7f89b7bc75-x2x4q   0/1     ImagePullBackOff   0   9d    10.244.0.2   w2\n"
    second = cause("second", claim(STRONG), explains=("image-pull",))
    diagnosis = judged(SICK + pull, second, cause("first", claim(PROVEN)))
    assert ids(diagnosis.causes) == ["first", "second"]


def test_a_second_claim_that_explains_nothing_more_is_no_cause() -> None:
    diagnosis = judged(SICK, cause("second", claim(LIKELY)), cause("first", claim(PROVEN)))
    assert (ids(diagnosis.causes), diagnosis.unrelated) == (["first"], ())


def test_a_second_claim_with_lines_of_its_own_is_told_as_unrelated() -> None:
    place = Place("evidence.txt", 5, 5)
    second = cause("second", claim(STRONG)._replace(evidence=(place,)))
    diagnosis = judged(SICK, second, cause("first", claim(PROVEN)))
    assert (ids(diagnosis.causes), ids(diagnosis.unrelated)) == (["first"], ["second"])


def test_a_second_cause_on_another_pod_of_the_same_symptom_is_told() -> None:
    both = SICK.replace("1/1     Running            0 ", "0/1     CrashLoopBackOff   3 ")
    second = cause("second", claim(STRONG, "calico-node-bbbbb"))
    diagnosis = judged(both, second, cause("first", claim(PROVEN, "w1")))
    assert ids(diagnosis.causes) == ["first", "second"]


def test_two_that_look_alike_and_are_not_separated_stay_open() -> None:
    one = cause("one", claim(LIKELY), look_alikes=(("two", same("differs")),))
    two = cause("two", claim(LIKELY), look_alikes=(("one", same("differs")),))
    assert judged(SICK, one, two).verdict == "undetermined"
    surer = cause("two", claim(PROVEN), look_alikes=(("one", same("differs")),))
    assert ids(judged(SICK, one, surer).causes)[0] == "two"


def test_what_does_not_make_the_symptoms_is_unrelated() -> None:
    other = cause("other", proven_by(5), explains=("evicted",))
    diagnosis = judged(SICK, cause("main", claim(STRONG)), other, cause("aside", claim(STRONG, aside=True)))
    assert ids(diagnosis.causes) == ["main"]
    assert sorted(ids(diagnosis.unrelated)) == ["aside", "other"]


def test_a_well_cluster_is_healthy_with_what_was_checked() -> None:
    diagnosis = judged(WELL, cause("a", excluded("no")))
    assert (diagnosis.verdict, diagnosis.exit_code) == ("healthy", 0)
    assert "2 calico-node pods, all ready" in [checked.text.en for checked in diagnosis.checked]


def test_something_worth_fixing_in_a_well_cluster_is_a_warning() -> None:
    diagnosis = judged(WELL, cause("a", claim(STRONG, aside=True)))
    assert (diagnosis.verdict, diagnosis.exit_code) == ("healthy", 4)


def test_a_claim_about_readiness_does_not_survive_pods_that_are_ready() -> None:
    assert judged(WELL, cause("a", claim(STRONG))).verdict != "cause-found"


def test_dead_traffic_is_claimed_though_all_pods_are_ready() -> None:
    assert judged(WELL, cause("a", claim(STRONG), explains=("traffic-dead",))).verdict == "cause-found"


def test_nothing_understood_is_neither_healthy_nor_a_cause() -> None:
    diagnosis = judged("hello, please help", cause("a", excluded("no")))
    assert (diagnosis.verdict, diagnosis.causes) == ("undetermined", ())
    assert diagnosis.next


def test_look_alikes_that_were_excluded_are_told_first() -> None:
    alike = cause("alike", excluded("port open")._replace(why=Words("port open", "端口通")))
    far = cause("far", excluded("other"))
    main = cause("main", claim(PROVEN), look_alikes=(("alike", same("the port")),))
    assert [excluded.cause.id for excluded in judged(SICK, far, alike, main).ruled_out] == ["alike", "far"]


def test_lines_nobody_understood_are_listed() -> None:
    diagnosis = judged("$ frobnicate --all\nxyzzy plugh 17\nfoo: bar baz qux\n" + SICK)
    assert any(place.first <= 2 <= place.last for place in diagnosis.not_understood)


def test_lines_that_an_answer_quotes_are_understood() -> None:
    text = "$ kubectl get blockaffinities\ncrow-10-88-3-64-26   300d\nrook-10-88-3-64-26   3d\nrook-10-88-3-0-26   3d\n"
    diagnosis = judge(picture(text))
    quoted = {number for quote in diagnosis.evidence for number in range(quote.place.first, quote.place.last + 1)}
    unread = {number for place in diagnosis.not_understood for number in range(place.first, place.last + 1)}
    assert quoted == {2, 3}
    assert not quoted & unread


def test_ready_agents_that_restart_all_the_time_are_not_healthy() -> None:
    restless = WELL.replace("Running   0          9d    10.0.0.1", "Running   1893       9d    10.0.0.1")
    diagnosis = judged(restless)
    assert diagnosis.verdict == "undetermined"
    assert [symptom.kind for symptom in diagnosis.symptoms if symptom.current] == ["restarts"]


def test_a_node_without_an_agent_is_not_healthy() -> None:
    nodes = """
    $ kubectl get nodes
    NAME   STATUS   ROLES    AGE   VERSION
    w1     Ready    <none>   9d    v1.27.4
    w2     Ready    <none>   9d    v1.27.4
    w3     Ready    <none>   9d    v1.27.4
    """
    diagnosis = judged(WELL + nodes)
    assert diagnosis.verdict == "undetermined"
    assert any("w3" in symptom.objects for symptom in diagnosis.symptoms)


def test_failures_of_a_moment_ago_are_not_over() -> None:
    event = """
    $ kubectl -n kube-system describe pod calico-node-aaaaa | tail -1
      Warning  Unhealthy  9s (x7 over 80s)  kubelet  Liveness probe failed: calico/node is not ready: bird is not live
    """
    assert judged(WELL + event).verdict == "undetermined"


def test_the_lines_that_prove_a_cause_are_explained_by_it() -> None:
    place = Place("evidence.txt", 3, 3)
    sure = cause("a", claim(STRONG)._replace(evidence=(place,)), explains=("evicted",))
    diagnosis = judged(SICK, sure)
    assert diagnosis.causes[0].explains == ("s1",)


def test_commands_are_filled_from_the_evidence() -> None:
    step = Step(same("look"), Shell("kubectl -n <namespace> logs <agent-pod:pod>"))
    diagnosis = judged(SICK, cause("a", claim(STRONG), fix=(step,), verify=(step,)))
    (answer,) = diagnosis.causes
    assert answer.fix[0].command == answer.verify[0].command == "kubectl -n kube-system logs calico-node-aaaaa"


def test_on_a_machine_that_has_run_out_of_something_only_proof_is_a_claim() -> None:
    text = SICK + "$ dmesg | tail -1\n[99.1] neighbour: arp_cache: neighbor table overflow!\n"
    assert judged(text, cause("a", claim(STRONG))).verdict == "undetermined"
    assert judged(text, cause("a", claim(PROVEN))).verdict == "cause-found"
    about = cause("a", proven_by(6))
    assert judged(text, about).verdict == "cause-found"


def test_who_grows_beyond_its_memory_again_and_again_is_ready_only_for_now() -> None:
    text = """
        $ kubectl -n kube-system describe pod canal-2xk9p
        Name:           canal-2xk9p
          calico-node:
            Image:          quay.io/calico/node:v2.6.2
            State:          Running
              Started:      Fri, 13 Jul 2018 09:12:50 +0000
            Last State:     Terminated
              Reason:       OOMKilled
              Exit Code:    137
            Ready:          True
            Restart Count:  {}
            Limits:
              memory:  192Mi
    """
    often, once = (judge(picture(text.format(count))) for count in (6, 1))
    assert [answer.cause.id for answer in often.causes] == ["oom-killed"]
    assert once.verdict != "cause-found"
