"""TRT1009: two hosts, one name."""

from __future__ import annotations

from tests.support.doctor import finding, picture

from tortie.doctor.causes.cause import LIKELY
from tortie.doctor.causes.nodes.trt1009_duplicate_nodename import CAUSE

ID = "duplicate-nodename"


def test_a_copied_nodename_file() -> None:
    text = """
    $ kubectl get pods -n kube-system -o wide | grep calico-node
    calico-node-aa11a   0/1   Running   4   2d   10.2.0.11   cl-1   <none>   <none>
    calico-node-bb22b   0/1   Running   5   2d   10.2.0.12   cl-2   <none>   <none>
    $ kubectl -n kube-system logs calico-node-bb22b | head -3
    2021-03-03 03:03:03.001 [INFO][9] startup/startup.go 410: Using stored node name from /var/lib/calico/nodename
    2021-03-03 03:03:03.002 [INFO][9] startup/startup.go 425: Determined node name: cl-1
    """
    answer = finding(ID, text)
    assert answer.strength >= LIKELY
    assert {"cl-1", "cl-2", "/var/lib/calico/nodename"} <= set(answer.objects)


def test_the_same_tunnel_address_on_two_hosts() -> None:
    text = """
    [root@cl-1 ~]# ip -4 -br a show tunl0
    tunl0@NONE       UNKNOWN        10.244.17.64/32
    [root@cl-2 ~]# ip -4 -br a show tunl0
    tunl0@NONE       UNKNOWN        10.244.17.64/32
    """
    answer = finding(ID, text)
    assert answer.strength >= LIKELY
    assert {"cl-1", "cl-2"} <= set(answer.objects)


def test_both_hosts_print_one_name() -> None:
    text = """
    这两台是同一个模板克隆的。
    [root@cl-1 ~]# cat /var/lib/calico/nodename
    cl-1
    [root@cl-2 ~]# cat /var/lib/calico/nodename
    cl-1
    """
    assert finding(ID, text).strength >= LIKELY


def test_each_host_has_its_own_name() -> None:
    text = """
    [root@cl-1 ~]# cat /var/lib/calico/nodename
    cl-1
    [root@cl-2 ~]# cat /var/lib/calico/nodename
    cl-2
    """
    assert finding(ID, text).state == "ruled-out"


def test_a_changed_address_alone_is_a_candidate() -> None:
    text = "[WARNING][9] startup.go 500: IPv4 address has changed. This could happen if there are multiple nodes with the same name."  # noqa: E501
    answer = finding(ID, text)
    assert answer.state == "found"
    assert answer.strength < LIKELY


def test_a_loop_over_all_hosts() -> None:
    text = """
    $ for h in m1 w1 w2; do ssh $h 'hostname; cat /var/lib/calico/nodename; echo'; done
    m1
    m1
    w1
    w1
    w2
    w1
    """
    answer = finding(ID, text)
    assert answer.strength >= LIKELY
    assert {"w1", "w2"} <= set(answer.objects)


def test_a_unit_file_copied_with_its_nodename() -> None:
    text = """
    [root@two ~]# systemctl cat calico-node | grep NODENAME
      -e NODENAME=rack-1 \\
    [root@two ~]# hostname
    rack-2
    [root@two ~]# kubectl get nodes
    NAME     STATUS   ROLES    AGE   VERSION
    rack-1   Ready    <none>   9d    v1.13.4
    rack-2   Ready    <none>   9d    v1.13.4
    """
    answer = finding(ID, text)
    assert answer.strength >= LIKELY
    assert answer.objects[0] == "rack-1"


def test_a_template_shown_by_kubectl_on_another_host_is_no_name_of_that_host() -> None:
    text = """
    [root@rack-2 ~]# kubectl -n kube-system exec calico-node-aa11a -- env | grep NODENAME
    NODENAME=rack-1
    [root@rack-2 ~]# kubectl get nodes
    NAME     STATUS   ROLES    AGE   VERSION
    rack-1   Ready    <none>   9d    v1.13.4
    rack-2   Ready    <none>   9d    v1.13.4
    """
    assert finding(ID, text).strength < LIKELY


def test_a_loop_over_hosts_shows_one_tunnel_address_twice() -> None:
    text = """
    $ for h in cl-1 cl-2; do echo "== $h"; ssh $h ip -4 -br a show vxlan.calico; done
    == cl-1
    vxlan.calico     UNKNOWN        10.244.17.64/32
    == cl-2
    vxlan.calico     UNKNOWN        10.244.17.64/32
    """
    answer = finding(ID, text)
    assert answer.strength >= LIKELY
    assert {"cl-1", "cl-2"} <= set(answer.objects)


def test_a_stored_name_of_another_host() -> None:
    text = """
    Two machines of ours take turns being 0/1.
    [root@edge-b ~]# kubectl -n kube-system logs calico-node-k2m4x | head -2
    2022-06-09 11:20:31.402 [INFO][9] startup/startup.go 432: {line}
    2022-06-09 11:20:31.403 [INFO][9] startup/startup.go 445: Determined node name: edge-a
    [root@edge-b ~]# hostname
    edge-b
    """
    for line in (
        "Using stored node name edge-a from /var/lib/calico/nodename",
        "Using stored node name from /var/lib/calico/nodename",
    ):
        answer = finding(ID, text.replace("{line}", line))
        assert answer.strength >= LIKELY
        assert {"edge-a", "edge-b"} <= set(answer.objects)
    alone = text.replace("{line}", line).replace("Two machines of ours take turns being 0/1.", "calico is 0/1")
    assert finding(ID, alone).strength < LIKELY


def test_the_copied_file_is_removed_where_it_lies_and_the_clone_restarts_first() -> None:
    text = """
    $ kubectl get pods -n kube-system -o wide | grep calico-node
    calico-node-aa11a   0/1   Running   4   2d   10.2.0.11   cl-1   <none>   <none>
    calico-node-bb22b   0/1   Running   5   2d   10.2.0.12   cl-2   <none>   <none>
    $ kubectl -n kube-system logs calico-node-bb22b | head -3
    2021-03-03 03:03:03.001 [INFO][9] startup/startup.go 410: Using stored node name from /var/lib/calico/nodename
    2021-03-03 03:03:03.002 [INFO][9] startup/startup.go 425: Determined node name: cl-1
    """
    seen = picture(text)
    steps = CAUSE.fix(seen, CAUSE.judge(seen))
    assert "rm -f /var/lib/calico/nodename" in steps[0].command
    assert not any("NODENAME" in step.command for step in steps)
    assert [step.command.split()[-1] for step in steps[-2:]] == ["calico-node-bb22b", "calico-node-aa11a"]


def test_what_the_question_asks_for_is_understood() -> None:
    command = CAUSE.ask.command.replace("'<namespace>'", "kube-system")
    answer = finding(ID, f"$ {command}\nm1\nm1\nw1\nw1\nw2\nw1\n")
    assert answer.strength >= LIKELY
    assert {"w1", "w2"} <= set(answer.objects)


def test_the_name_in_a_template_is_nobodys_name() -> None:
    text = """
    VMs that are rolled out from a template.
    $ kubectl get nodes
    NAME   STATUS   ROLES    AGE     VERSION
    w105   Ready    <none>   3h24m   v1.30.4
    w21    Ready    <none>   188d    v1.30.4
    root@builder:/mnt# cat var/lib/calico/nodename
    w21
    """
    assert finding("duplicate-nodename", text).state != "found"


AGENTS = """
$ kubectl -n kube-system get pods -o wide | grep calico-node
calico-node-aa11a   1/1   Running   0   2d   10.2.0.11   10.2.0.11   <none>   <none>
calico-node-bb22b   1/1   Running   0   2d   10.2.0.12   10.2.0.12   <none>   <none>
calico-node-cc33c   1/1   Running   0   2d   10.2.0.13   10.2.0.13   <none>   <none>
"""
RECORDS = (
    "$ calicoctl get node\nNAME\nlocalhost.localdomain\n",
    "$ calicoctl get nodes -o wide\nNAME                    ASN       IPV4           IPV6\n"
    "localhost.localdomain   (64512)   10.2.0.13/24\n",
    "$ calicoctl get node -o yaml\napiVersion: projectcalico.org/v3\nitems:\n- apiVersion: projectcalico.org/v3\n"
    "  kind: Node\n  metadata:\n    name: localhost.localdomain\n  spec:\n    bgp:\n      ipv4Address: 10.2.0.13/24\n"
    "kind: NodeList\n",
)
ALONE = "$ sudo calicoctl node status\nCalico process is running.\n\nIPv4 BGP status\nNo IPv4 peers found.\n"


def test_one_record_for_several_ready_agents() -> None:
    for record in RECORDS:
        for more in (ALONE, "", "虚机都是同一个模板克隆出来的，没改主机名。\n\n"):
            answer = finding(ID, more + AGENTS + record)
            assert (answer.strength >= 0.9, answer.objects[0]) == (True, "localhost.localdomain"), record
    named = RECORDS[0].replace("localhost.localdomain", "golden-7")
    assert finding(ID, AGENTS + named).strength >= LIKELY
    assert finding(ID, AGENTS + named + ALONE).strength >= 0.9


def test_pods_of_different_hosts_in_one_block() -> None:
    pods = """
    $ kubectl get pods -o wide
    NAME    READY   STATUS    RESTARTS   AGE   IP            NODE
    api-0   1/1     Running   0          2d    10.61.4.130   10.2.0.11
    web-0   1/1     Running   0          2d    10.61.4.131   10.2.0.12
    $ ip route
    blackhole 10.61.4.128/26 proto bird
    """
    named = RECORDS[0].replace("localhost.localdomain", "golden-7")
    assert finding(ID, AGENTS + named + pods).strength >= 0.9


def test_as_many_records_as_agents_whatever_they_are_called() -> None:
    names = "$ calicoctl get node\nNAME\nvm-1\nvm-2\nvm-3\n"
    assert finding(ID, AGENTS + names).strength < LIKELY


def test_a_part_of_the_list_is_not_the_list() -> None:
    for command in ("calicoctl get node golden-7", "calicoctl get node | grep golden", "calicoctl get node | head -2"):
        assert finding(ID, AGENTS + f"$ {command}\nNAME\ngolden-7\n").strength < LIKELY
    young = AGENTS.replace("   2d   ", "   40s   ")
    assert finding(ID, young + "$ calicoctl get node\nNAME\n10.2.0.11\n").strength < LIKELY
    waiting = AGENTS.replace("1/1", "0/1")
    assert finding(ID, waiting + "$ calicoctl get node\nNAME\n10.2.0.11\n").strength < LIKELY


def test_the_file_is_printed_behind_other_things() -> None:
    text = """
    # kubectl get nodes
    NAME    STATUS   ROLES    AGE    VERSION
    hen-1   Ready    <none>   212d   v1.20.5
    hen-8   Ready    <none>   3d     v1.20.5
    root@hen-8:~# hostname; ls -l /var/lib/calico; cat /var/lib/calico/nodename; echo
    hen-8
    total 4
    -rw-r--r-- 1 root root 5 Dec 11 09:40 nodename
    hen-1
    """
    answer = finding("duplicate-nodename", text)
    assert (answer.state, answer.strength >= 0.9) == ("found", True)
    assert {"hen-1", "hen-8"} <= set(answer.objects)
    own = text.replace("nodename\n    hen-1", "nodename\n    hen-8")
    assert finding("duplicate-nodename", own).state != "found"
