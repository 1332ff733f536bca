"""The next question: not one that was answered, the one that separates most, and an honest word when all is there."""

from __future__ import annotations

import pytest
from tests.support.doctor import picture
from tests.support.stub_causes import claim
from tests.unit.doctor.judgement.test_healthy import WELL
from tests.unit.doctor.judgement.test_judge import SICK, cause, judged

from tortie.doctor.causes.cause import POSSIBLE, Cause
from tortie.doctor.judgement.answered import left_of
from tortie.doctor.judgement.judge import judge
from tortie.doctor.words import same

ANSWERS = {
    "calicoctl node status": "| 10.0.0.2 | node-to-node mesh | start | 07:11:05 | Connect |\n",
    "ip -br -4 addr": "2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP group default qlen 1000\n"
    "    link/ether 52:54:00:aa:bb:cc brd ff:ff:ff:ff:ff:ff\n    inet 10.0.0.1/24 brd 10.0.0.255 scope global eth0\n",
    "ip route": "default via 10.0.0.254 dev eth0\n10.0.0.0/24 dev eth0 proto kernel scope link src 10.0.0.1\n",
    "uptime": " 10:44:51 up 26:03,  1 user,  load average: 6.02, 5.88, 5.41\n",
    "kubectl get nodes": "NAME   STATUS   ROLES    AGE   VERSION\nw1   Ready   <none>   9d   v1.27.4\n",
    "sysctl net.ipv4.ip_forward": "net.ipv4.ip_forward = 1\n",
    "df -h /": "Filesystem Size Used Avail Use% Mounted on\n/dev/sda1  50G  48G  2.0G  96% /\n",
}


def ask(id_: str, command: str, *alike: str) -> Cause:
    look_alikes = tuple((other, same("differs")) for other in alike)
    return cause(id_, claim(POSSIBLE), ask=command, look_alikes=look_alikes)


@pytest.mark.parametrize("command", ANSWERS)
def test_output_without_its_prompt_answers(command: str) -> None:
    assert left_of(command, picture(SICK)) == command
    assert left_of(command, picture(SICK + "\n" + ANSWERS[command])) == ""


def test_only_what_is_missing_is_asked() -> None:
    command = "uptime; nproc; kubectl get nodes"
    seen = picture(SICK + "\n" + ANSWERS["uptime"])
    assert left_of(command, seen) == "nproc; kubectl get nodes"


def test_what_makes_no_facts_counts_when_it_was_typed() -> None:
    command = "crictl info | grep -i lastCNILoadStatus"
    assert left_of(command, picture("$ crictl info | grep lastCNI\n  lastCNILoadStatus: OK\n")) == ""
    assert left_of(command, picture(SICK)) == command


def test_semicolons_in_quotes_and_loops_do_not_cut() -> None:
    for command in ("sed -n '1p;$p' /var/log/x", "for h in a b; do ssh $h date; done"):
        assert left_of(command, picture(SICK)) == command


def test_a_port_is_answered_by_a_trial_of_that_port() -> None:
    tried = picture(SICK + "\n$ nc -vz -w3 10.0.0.2 10250\nConnection to 10.0.0.2 10250 port [tcp/*] succeeded!\n")
    assert left_of("nc -vz -w3 <peer> 10250; nc -vz -w3 <peer> 179", tried) == "nc -vz -w3 <peer> 179"


def test_the_question_that_separates_most_candidates_comes_first() -> None:
    first = ask("a", "ask a")
    second = ask("b", "ask b", "a", "c")
    third = ask("c", "ask c")
    (question,) = judged(SICK, first, second, third).next
    assert (question.cause, question.command) == ("b", "ask b")


def test_a_question_that_was_answered_gives_way_to_the_next_best() -> None:
    first, second = ask("a", "uptime", "b"), ask("b", "df -h /", "a")
    (question,) = judged(SICK + "\n" + ANSWERS["uptime"], first, second).next
    assert question.command == "df -h /"


def test_when_the_usual_is_all_there_the_answer_says_where_to_look() -> None:
    everything = (
        WELL + "$ calicoctl node status\n| 10.3.9.12 | node-to-node mesh | up | 07:11:05 | Established |\n"
        "$ kubectl get events -A\nNAMESPACE LAST SEEN TYPE REASON OBJECT MESSAGE\n"
        "default   4m   Warning   SystemOOM   node/hm-1   System OOM encountered\n"
    )
    (question,) = judge(picture(everything)).next
    assert question.command == ""
    assert "more of the same will not help" in question.why.en
    assert "that node" in question.why.en


def test_a_cluster_of_which_little_was_seen_is_asked_for_all() -> None:
    (question,) = judge(picture("hello, please help")).next
    assert "collect" in question.command


def test_a_healthy_cluster_is_asked_nothing() -> None:
    assert judge(picture(WELL)).next == ()
