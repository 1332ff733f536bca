"""TRT3016: found by the number of sockets; a shell or a verifier that says the same words is nothing."""

from __future__ import annotations

from tests.support.doctor import finding

IP = "[root@pipit ~]# ip a\nArgument list too long\nDump terminated\n"
SS = """\
[root@pipit ~]# ss -f netlink | awk '{print $4}' | sort | uniq -c | sort -rn | head -3
  SOME rtnl:calico-node/5127
     12 rtnl:systemd-network/811
"""
LSOF = """\
[root@pipit ~]# lsof -p 1517 | tail -2
calico-no 1517 root 5778u  netlink                 0t0  689245146 ROUTE
calico-no 1517 root 5779u  netlink                 0t0  688913733 ROUTE
"""
IMAGE = (
    "$ kubectl -n kube-system get ds calico-node -o yaml | grep image:\n        image: docker.io/calico/node:v3.{}\n"
)


def test_tens_of_thousands_prove_it() -> None:
    answer = finding("felix-netlink-leak", IP + SS.replace("SOME", "40211") + IMAGE.format("29.1"))
    assert (answer.rule, answer.strength >= 0.95, answer.objects[0]) == ("many-sockets", True, "pipit")


def test_lsof_shows_them_by_their_numbers() -> None:
    answer = finding("felix-netlink-leak", LSOF)
    assert (answer.rule, 0.9 <= answer.strength < 0.95) == ("many-sockets", True)


def test_the_release_and_ip_alone_are_likely() -> None:
    answer = finding("felix-netlink-leak", IP + IMAGE.format("29.0"))
    assert (answer.rule, 0.8 <= answer.strength < 0.9) == ("asking-fails", True)


def test_ip_may_speak_chinese() -> None:
    text = IP.replace("Argument list too long", "参数列表过长") + IMAGE.format("29.0")
    assert finding("felix-netlink-leak", text).rule == "asking-fails"


def test_ip_alone_is_only_possible() -> None:
    assert finding("felix-netlink-leak", IP).strength < 0.8


def test_a_release_that_closes_them() -> None:
    assert finding("felix-netlink-leak", IP + IMAGE.format("29.2")).state == "ruled-out"


def test_few_sockets_after_a_restart() -> None:
    text = IP + SS.replace("SOME", "14") + IMAGE.format("29.1")
    assert finding("felix-netlink-leak", text).state == "ruled-out"


def test_a_shell_that_cannot_pass_so_many_files() -> None:
    text = "[root@pipit ~]# rm /var/log/pods/*\n-bash: /usr/bin/rm: Argument list too long\n" + IMAGE.format("29.1")
    assert finding("felix-netlink-leak", text).state == "cannot-tell"


def test_a_program_that_is_too_large_for_the_verifier() -> None:
    text = "libbpf: prog 'calico_tc_main': BPF program load failed: Argument list too long\n" + IMAGE.format("29.1")
    assert finding("felix-netlink-leak", text).state == "cannot-tell"


def test_sockets_that_lsof_showed_and_somebody_counted() -> None:
    answer = finding(
        "felix-netlink-leak",
        """
        w9 ~ # lsof -p 20931 | awk '{print $5,$NF}' | sort | uniq -c | sort -rn | head -2
          39987 netlink ROUTE
             71 a_inode [eventpoll]
        w9 ~ # ip a
        Cannot send dump request: Argument list too long
        """,
    )
    assert answer.state == "found"
    assert answer.strength >= 0.9
