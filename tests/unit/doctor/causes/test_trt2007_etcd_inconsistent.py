"""TRT2007: hashes that differ, or a conflict that never ends; one conflict is a race."""

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.catalogue import cause_named


def conflict(at: str) -> str:
    return (
        f"2020-11-11 {at} [ERROR][8] startup.go 176: Unable to set node resource configuration error=update conflict: "
        "Node(rack4-n2)"
    )


def test_hashes_differ() -> None:
    answer = finding(
        "etcd-inconsistent",
        f"""
        $ kubectl -n kube-system logs calico-node-dd8fs
        {conflict("08:00:01.001")}
        $ for e in 10.1.0.1 10.1.0.2 10.1.0.3; do etcdctl --endpoints=https://$e:2379 endpoint hashkv; done
        https://10.1.0.1:2379, 3741229918
        https://10.1.0.2:2379, 3741229918
        https://10.1.0.3:2379, 1180045523
        """,
    )
    assert answer.state == "found"
    assert answer.strength >= 0.95
    assert "10.1.0.3" in answer.objects


def test_conflict_at_every_start() -> None:
    lines = "\n".join(conflict(at) for at in ("08:00:01.001", "08:05:13.440", "08:10:22.121"))
    answer = finding("etcd-inconsistent", f"$ kubectl -n kube-system logs calico-node-dd8fs\n{lines}")
    assert answer.strength >= 0.8
    assert "rack4-n2" in answer.objects


def test_one_conflict_is_a_race() -> None:
    answer = finding("etcd-inconsistent", f"$ kubectl logs calico-node-dd8fs\n{conflict('08:00:01.001')}")
    assert answer.strength < 0.8


def test_equal_hashes() -> None:
    answer = finding(
        "etcd-inconsistent",
        f"""
        $ kubectl -n kube-system logs calico-node-dd8fs
        {conflict("08:00:01.001")}
        $ etcdctl endpoint hashkv --cluster
        https://10.1.0.1:2379, 3741229918
        https://10.1.0.2:2379, 3741229918
        """,
    )
    assert answer.state == "ruled-out"


def test_a_member_that_answers_otherwise_when_asked_alone() -> None:
    answer = finding(
        "etcd-inconsistent",
        """
        2021-01-08 09:15:33.388 [ERROR][8] startup/startup.go 156: Unable to set node resource configuration \
error=update conflict: Node(n-7)
        # for h in 172.19.0.1 172.19.0.2 172.19.0.3; do etcdctl --endpoints=https://$h:2379 get /registry/minions/n-7 \
--consistency=s -w json | jq .kvs[0].mod_revision; done
        5512
        4101
        5512
        """,
    )
    assert answer.strength >= 0.9
    assert answer.objects[0] == "172.19.0.2"


def test_hashes_that_all_differ_may_be_writes_in_between() -> None:
    asked = """
        $ etcdctl endpoint hashkv --cluster
        https://10.1.0.1:2379, 3741229918
        https://10.1.0.2:2379, 1180045523
    """
    assert finding("etcd-inconsistent", asked).strength < 0.8


def test_hashes_of_different_revisions_are_not_compared() -> None:
    asked = """
        $ etcdctl endpoint hashkv --cluster
        https://10.1.0.1:2379, 3741229918, 5512
        https://10.1.0.2:2379, 3741229918, 5512
        https://10.1.0.3:2379, 1180045523, 5514
    """
    assert finding("etcd-inconsistent", asked).state != "found"


def test_the_bad_member_is_named_in_the_commands_and_a_good_one_is_asked() -> None:
    cause = cause_named("etcd-inconsistent")
    assert cause is not None
    shown = picture(
        """
        $ etcdctl endpoint hashkv --cluster
        https://10.1.0.1:2379, 3741229918
        https://10.1.0.2:2379, 3741229918
        https://10.1.0.3:2379, 1180045523
        $ etcdctl member list
        2a1b3c4d5e6f7a8b, started, m1, https://10.1.0.1:2380, https://10.1.0.1:2379
        8f7e6d5c4b3a2910, started, m3, https://10.1.0.3:2380, https://10.1.0.3:2379
        """
    )
    commands = [step.command for step in cause.fix(shown, cause.judge(shown))]
    assert "etcdctl --endpoints=https://10.1.0.1:2379 member remove 8f7e6d5c4b3a2910" in commands
    assert any(command.endswith("member add m3 --peer-urls=https://10.1.0.3:2380") for command in commands)


def test_a_loop_without_a_prompt_is_a_command() -> None:
    text = f"""{conflict("09:00:00")}

for m in 4 5 6; do etcdctl --endpoints=https://172.30.9.$m:2379 endpoint hashkv; done
https://172.30.9.4:2379, 1199228310
https://172.30.9.5:2379, 1199228310
https://172.30.9.6:2379, 3300114477
"""
    answer = finding("etcd-inconsistent", text)
    assert (answer.state, answer.rule, answer.objects[0]) == ("found", "hashes-differ", "https://172.30.9.6:2379")


def test_a_conflict_on_every_node_is_a_roll_out() -> None:
    lines = [conflict(f"08:0{minute}:01.001") for minute in range(3)]
    assert finding("etcd-inconsistent", "\n".join(lines)).strength >= 0.8
    spread = [line.replace("rack4-n2", f"rack4-n{number}") for number, line in enumerate(lines)]
    assert finding("etcd-inconsistent", "\n".join(spread)).strength < 0.8


def test_a_conflict_that_is_over() -> None:
    lines = "\n".join(conflict(f"08:0{minute}:01.001") for minute in range(3))
    assert finding("etcd-inconsistent", lines).strength >= 0.8
    ready = "\ncalico-node-dd8fs   1/1   Running   2   9d   10.1.0.4   rack4-n2   <none>   <none>\n"
    assert finding("etcd-inconsistent", lines + ready).strength < 0.8
