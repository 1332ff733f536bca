"""Pastes of all kinds are cut into exhibits, and no line is lost or counted twice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.support.doctor import picture, source

from tortie.doctor.reading.cut import cut
from tortie.doctor.reading.exhibit import Exhibit, Source
from tortie.doctor.reading.wrapped import unglue


def exhibits(text: str) -> list[Exhibit]:
    return list(cut(source(text)))


def test_prompts_outputs_and_silence() -> None:
    first, silent, last = exhibits(
        """
        [root@ctl ~]# kubectl get nodes
        NAME   STATUS
        w-1    Ready

        w-1$ ls /etc/NetworkManager/conf.d/
        w-1$ uptime
         12:52:08 up 34 min,  load average: 0.41, 0.52, 0.48
        """
    )
    assert (first.host, first.command, first.first, first.lines) == (
        "ctl", "kubectl get nodes", 2, ("NAME   STATUS", "w-1    Ready"),
    )  # fmt: skip
    assert (silent.command, silent.lines, silent.first) == ("ls /etc/NetworkManager/conf.d/", (), 5)
    assert (last.host, last.command_lines) == ("w-1", (6,))


def test_prose_and_output_without_fences() -> None:
    found = exhibits(
        """
        Since the weekend calico-node on one worker loops; all others are fine.
        We did not change anything.

        kubectl logs -n kube-system calico-node-zz9zz
        2021-03-05 06:52:10.771 [INFO][9] startup.go 187: Early log level set to info
        Calico node failed to start

        What should I do?
        """
    )
    assert [(e.prose, e.command) for e in found] == [
        (True, ""), (False, "kubectl logs -n kube-system calico-node-zz9zz"), (True, ""),
    ]  # fmt: skip
    assert len(found[0].lines) == 2
    assert found[1].lines[-1] == "Calico node failed to start"


def test_a_sentence_right_below_rows_is_the_persons() -> None:
    rows, spoken = exhibits(
        """
        root@w-1:~# kubectl get pods -o wide
        NAME      READY   STATUS    RESTARTS   AGE   IP           NODE
        shop-0    1/1     Running   0          12d   10.244.0.3   mole-1
        shop-1    1/1     Running   0          12d   10.244.1.3   mole-2
        I still cannot reach the pods on the other node
        """
    )
    assert (rows.prose, len(rows.lines)) == (False, 3)
    assert (spoken.prose, spoken.lines) == (True, ("I still cannot reach the pods on the other node",))


def test_sentences_of_events_and_logs_are_output() -> None:
    (logs,) = exhibits(
        """
        root@w-1:~# kubectl logs calico-node-zz9zz
        some line of a start script
        the datastore is not what it was when the node was made
        """
    )
    assert len(logs.lines) == 2
    _, spoken = exhibits(
        """
        root@w-1:~# kubectl logs calico-node-zz9zz
        some line of a start script
        and that is all I see before it is restarted
        """
    )
    assert spoken.prose


def test_chinese_prose_inside_of_a_fence() -> None:
    found = exhibits(
        """
        ```
        正常节点的状态如下：
        root@m2:~# systemctl is-active kubelet
        active
        ```
        """
    )
    assert [e.prose for e in found] == [True, False]
    assert found[1].host == "m2"


def test_an_omission_does_not_end_an_output() -> None:
    (found,) = exhibits(
        """
        ```
        # kubectl logs calico-node-a -n kube-system
        time="2018-10-31T07:47:16Z" level=info msg="a"

        .... 省略类似log ....

        time="2018-10-31T07:48:16Z" level=info msg="b"
        ```
        """
    )
    assert len(found.lines) == 5


def test_prose_names_the_command_of_the_next_fence() -> None:
    found = exhibits(
        """
        登录有问题的机器上查看 `ip a`：

        ```bash
        14: br-1: <UP> mtu 1500
        ```

        calicoctl node status

        ```
        Calico process is running.
        ```
        journalctl：

        ```
        May 26 05:32:51 w-1 systemd[1]: kubelet.service: Failed.
        ```
        """
    )
    assert [e.command for e in found if not e.prose] == ["ip a", "calicoctl node status", "journalctl"]


def test_headings_give_the_host() -> None:
    found = exhibits(
        """
        kubelet log on wk-7:

        ```
        E0526 05:33:01.977085 1 kubelet.go:1] x
        ```

        在 test-node1 上执行：

        ```
        # ip route
        default via 10.0.0.1
        ```

        The CNI config is this:

        ```
        {"type": "calico"}
        ```
        """
    )
    assert [e.host for e in found if not e.prose] == ["wk-7", "test-node1", ""]


def test_ssh_takes_the_host() -> None:
    (found,) = exhibits('$ ssh pool-b "free -m"\nMem: 1 2 3')
    assert (found.host, found.command) == ("pool-b", 'ssh pool-b "free -m"')


def test_commands_over_several_lines() -> None:
    found = exhibits(
        """
        $ kubectl -n kube-system get pods \\
            -o wide
        NAME READY
        $ kubectl patch ippool x --type merge -p '
        > {"spec": {"disabled": true}}'
        ippool patched
        $ cat <<EOF | kubectl apply -f -
        kind: IPPool
        EOF
        ippool created
        """
    )
    assert [e.command_lines for e in found] == [(1, 2), (4, 5), (7, 8, 9)]
    assert found[0].command == "kubectl -n kube-system get pods -o wide"
    assert [e.lines for e in found] == [("NAME READY",), ("ippool patched",), ("ippool created",)]


def test_an_apostrophe_swallows_nothing() -> None:
    found = exhibits("$ echo don't\ndont\n$ date -u\nWed Oct  5 07:20:44 UTC 2022")
    assert [e.command for e in found] == ["echo don't", "date -u"]


def test_a_message_over_two_lines_stays_together() -> None:
    (found,) = exhibits(
        """
        $ kubectl describe pod calico-node-a | tail -2
          Warning  Unhealthy  2s  kubelet  Readiness probe failed: 2020-09-02 02:11:42.301 [INFO][231] confd/health.go 177: Number of node(s) with BGP peering established = 0
        calico/node is not ready: BIRD is not ready: BGP not established with 172.17.0.1
        """  # noqa: E501
    )
    assert len(found.lines) == 2


def test_glued_dates_are_cut_off() -> None:
    assert unglue("with 10.0.0.662020-05-27 03:45:40.461 [INFO]") == "with 10.0.0.66 2020-05-27 03:45:40.461 [INFO]"
    assert unglue("10.4.7.11,10.4.7.2122020-02-03 06") == "10.4.7.11,10.4.7.212 2020-02-03 06"
    assert unglue("backup2020-05-27.tar") == "backup2020-05-27.tar"
    assert unglue("at 2020-05-27 03:45:40") == "at 2020-05-27 03:45:40"


def test_lines_cut_at_the_width_of_a_terminal_are_joined_in_place() -> None:
    whole = "2021-01-21 10:08:55.349 [FATAL][498] int_dataplane.go 1035: Kernel's RPF check is set to 'loose', which"
    pieces = [whole[i : i + 80] for i in range(0, len(whole), 80)]
    (found,) = cut(Source("x", ("$ kubectl logs calico-node-a", *pieces, whole[:59])))
    assert found.lines == (whole, "", whole[:59])
    assert found.place(2).first == 4


def test_line_ends_and_numbers_of_a_thinned_source() -> None:
    (found,) = cut(Source("big.log", ("2021-01-21 10:08:55.349 [INFO][1] a.go 1: x\r", "b  "), (700, 905), "w-3"))
    assert found.lines[1] == "b"
    assert (found.host, found.numbers, found.place(0, 2).last) == ("w-3", (700, 905), 905)


def test_comments_are_not_commands() -> None:
    (hosts,) = exhibits("root@a:~# cat /etc/hosts\n10.3.0.15 a\n# --- managed by us ---\n::1 ip6-localhost")
    assert len(hosts.lines) == 3


def test_machine_sentences_are_no_prose() -> None:
    found = exhibits(
        """
        $ sudo calicoctl node status
        Calico process is running.

        None of the BGP backend processes (BIRD or GoBGP) are running.

        Readiness probe failed: calico/node is not ready: BIRD is not ready: BGP not established with 10.0.0.1
        """
    )
    assert [e.prose for e in found] == [False]


LINES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "```",
                "````bash",
                "$ ip a",
                "root@h:~# ls",
                "",
                "你好，节点起不来。",
                "the node does not start.",
                "# x",
                "kubectl get pods",
                "node-4:",
                "$ echo 'a",
                "$ x \\",
                "2020-05-27 03:45:40.461 [INFO][9] a.go 1: b",
            ]
        ),
        st.text(max_size=40).map(lambda text: " ".join(text.split("\n"))),
    ),
    max_size=30,
)


@given(LINES)
def test_no_line_is_lost_or_counted_twice(lines: list[str]) -> None:
    lines = [line for text in lines for line in (text.splitlines() or [""])]
    seen: list[int] = []
    typed: set[int] = set()
    for exhibit in cut(Source("x", tuple(lines))):
        seen += [exhibit.number(index) for index in range(len(exhibit.lines))]
        typed |= set(exhibit.command_lines)
    assert len(seen) == len(set(seen))
    assert not set(seen) & typed
    dropped = set(range(1, len(lines) + 1)) - set(seen) - typed
    for number in dropped:
        text = lines[number - 1].replace("\u200b", "").replace("\ufeff", "").strip()
        empty_prompt = text.endswith(("$", "#", "%")) or "^" in text
        assert not text or text.startswith(("```", "~~~", ">", "<")) or empty_prompt, text


def test_a_ticket_in_markdown() -> None:
    found = exhibits(
        """
        ## Current Behavior
        After the upgrade the pods crash. Worker-4 is fine:
        NAME READY STATUS
        calico-node-b 1/1 Running

        <details>

        Name:   calico-node-a
        Events:
          Warning  Unhealthy  2s  kubelet  Readiness probe failed:
        </details>
        """
    )
    assert [e.prose for e in found] == [True, False, False]


def test_tools_on_a_chinese_system_are_no_people() -> None:
    found = exhibits(
        """
        [root@w-2 ~]# systemctl status firewalld
        ● firewalld.service - firewalld
           Active: active (running) since 二 2022-03-01 07:00:00 CST; 1h ago
        [root@w-2 ~]# telnet 10.0.0.1 179
        telnet: connect to address 10.0.0.1: 没有到主机的路由
        """
    )
    assert [(e.prose, len(e.lines)) for e in found] == [(False, 2), (False, 1)]


def test_the_rest_of_a_long_log_line_is_no_prose() -> None:
    line = (
        "2022-03-04 05:06:07.888 [INFO][58] felix/watchercache.go 186: Failed to perform list of current data during "
        'resync error=connection is unauthorized: pods is forbidden: User "system:serviceaccount:kube-system:calico-'
        'node" cannot list resource "pods" in API group "" at the cluster scope and this is what it says again and '
        "again in the log of every node"
    )
    text = "\n".join(line[at : at + 100] for at in range(0, len(line), 100))
    exhibits = list(cut(source(f"felix says:\n\n{text}\n\nPlease help me, what is wrong here?")))
    assert [exhibit.prose for exhibit in exhibits] == [True, False, True]
    assert exhibits[1].lines[0] == line


def test_listings_with_chinese_dates_are_no_speech() -> None:
    text = """
    [root@w9 ~]# ls -ld /srv/cni
    drwxr-xr-x 2 root root 57 11月  6 22:10 /srv/cni
    """
    (exhibit,) = cut(source(text))
    assert exhibit.host == "w9"
    assert not exhibit.prose


def test_cd_tells_where_a_listing_was_made() -> None:
    text = """
    [root@w9 ~]# cd /etc/cni/net.d/
    [root@w9 net.d]# ls
    10-calico.conflist
    [root@w8 ~]# ls
    anaconda-ks.cfg
    """
    assert [exhibit.folder for exhibit in cut(source(text))] == ["/etc/cni/net.d", "/etc/cni/net.d", ""]


def test_what_an_ipam_check_says_is_one_output() -> None:
    text = """
    w9:~ # calicoctl ipam check
    Checking IPAM for inconsistencies...

    Loading all IPAM blocks...
    Found 3 IPAM blocks.

    Loading all IPAM pools...
      10.8.0.0/22
    Found 1 active IP pools.

    Loading all nodes.
    Workloads and nodes are using 9 IPs.
    """
    (exhibit,) = cut(source(text))
    assert len(exhibit.lines) == 11


def test_a_remark_behind_a_line_of_output_is_no_part_of_it() -> None:
    text = """
        [root@m1 ~ 10:01:08]# calicoctl get node -o wide
        NAME                    ASN       IPV4                IPV6
        localhost.localdomain   (64512)   192.168.137.20/24          # 在 node 上执行输出也一样
        """
    told = [one for one in cut(source(text)) if one.command]
    assert told[0].lines[-1] == "localhost.localdomain   (64512)   192.168.137.20/24"


def test_sentences_of_programs_are_no_prose() -> None:
    """Else a bundle would tell a story, and nobody who tells one without a question is told to be healthy."""
    text = """
[root@node-1 ~]# calicoctl ipam check
Checking IPAM for inconsistencies...

Scanning for IPAM handles with no matching IPs...
Scanning for records that cannot be read...
Found 0 records that cannot be read.
Comparing the two places where settings are kept...
Found 0 settings that disagree.
Check complete; found 0 problems.
[root@node-1 ~]# tortie node explain

The node would start and become ready.

of the probe's window  .............................. 0.1%
which is 60 s (initialDelaySeconds 10, periodSeconds 10, failureThreshold 6)
[root@node-1 ~]# kubectl logs calico-node-x6jg2 -c install-cni

Done configuring CNI: 4 files changed.
"""
    assert not [exhibit.lines for exhibit in picture(text).exhibits if exhibit.prose]


def test_a_neighbour_is_no_prose() -> None:
    text = "[root@node-1 ~]# ip neigh\n\nfe80::98f7:a6ff:fe2b:956c dev cali07 lladdr 9a:f7:a6:2b:95:6c STALE\n"
    assert not [exhibit.lines for exhibit in picture(text).exhibits if exhibit.prose]
