"""TRT7003: two backends, by their rules or by their programs."""

from __future__ import annotations

from tests.support.doctor import finding


def test_rules_in_two_backends() -> None:
    text = """
    [root@deb-2 ~]# iptables -V
    iptables v1.8.7 (nf_tables)
    [root@deb-2 ~]# iptables-legacy-save | grep -c cali-; iptables-nft-save | grep -c cali-; iptables-nft-save | grep -c KUBE-
    214
    0
    167
    """  # noqa: E501
    answer = finding("iptables-backend-mismatch", text)
    assert answer.strength >= 0.95
    assert "FELIX_IPTABLESBACKEND" in answer.objects


def test_felix_says_legacy_and_the_host_nft() -> None:
    text = """
    Pods on the new Debian nodes cannot reach any service IP, everything is 1/1.

    deb-2# iptables -V
    iptables v1.8.7 (nf_tables)
    deb-2# iptables -S | head -1
    # Warning: iptables-legacy tables present, use iptables-legacy to see them
    $ kubectl -n kube-system logs calico-node-9zvxl | grep -i backend
    2021-12-01 10:01:30.200 [INFO][59] felix/feature_detect.go 255: Looked up iptables command backendMode="legacy" candidates=[]string{"iptables-legacy-restore"} command="iptables-legacy-restore" ipVersion=0x4
    """  # noqa: E501
    answer = finding("iptables-backend-mismatch", text)
    assert answer.strength >= 0.9
    assert "legacy" in answer.objects


def test_one_backend_is_no_fault() -> None:
    text = """
    [root@deb-2 ~]# iptables -V
    iptables v1.8.7 (nf_tables)
    $ kubectl -n kube-system logs calico-node-9zvxl | grep -i backend
    2021-12-01 10:01:30.200 [INFO][59] felix/feature_detect.go 255: Looked up iptables command backendMode="nft" ipVersion=0x4
    """  # noqa: E501
    assert finding("iptables-backend-mismatch", text).state == "ruled-out"


def test_the_warning_alone_is_no_claim() -> None:
    text = "[root@deb-2 ~]# iptables -S | head -1\n# Warning: iptables-legacy tables present, use iptables-legacy to see them"  # noqa: E501
    assert finding("iptables-backend-mismatch", text).strength < 0.8


def test_rules_of_both_in_one_backend() -> None:
    text = """
    [root@deb-2 ~]# iptables -V
    iptables v1.8.7 (nf_tables)
    [root@deb-2 ~]# iptables-legacy-save | grep -c cali-
    214
    [root@deb-2 ~]# iptables-legacy-save | grep -c KUBE-
    167
    $ kubectl -n kube-system logs calico-node-9zvxl | grep -i backend
    2021-12-01 10:01:30.200 [INFO][59] felix/feature_detect.go 255: Looked up command backendMode="legacy" ipVersion=0x4
    """
    assert finding("iptables-backend-mismatch", text).state == "ruled-out"


def test_felix_has_changed_sides_and_left_rules_behind() -> None:
    text = """
    [root@deb-2 ~]# iptables -V
    iptables v1.8.7 (nf_tables)
    [root@deb-2 ~]# iptables-legacy-save | grep -c cali-; iptables-nft-save | grep -c cali-
    310
    322
    [root@deb-2 ~]# iptables-legacy-save | grep -c KUBE-; iptables-nft-save | grep -c KUBE-
    {legacy}
    {nft}
    $ kubectl -n kube-system logs calico-node-9zvxl | grep -i backend
    2021-12-01 10:01:30.200 [INFO][59] felix/int_dataplane.go 387: Detected iptables backend detected="nft"
    """
    answer = finding("iptables-backend-mismatch", text.format(legacy=890, nft=4))
    assert answer.strength >= 0.9
    assert finding("iptables-backend-mismatch", text.format(legacy=4, nft=890)).state == "ruled-out"


def test_rules_of_a_node_shown_for_comparison_are_not_counted_with_them() -> None:
    text = """
    root@w5:~# iptables --version
    iptables v1.8.7 (nf_tables)
    root@w5:~# iptables-save | grep -c cali
    0
    root@w5:~# iptables-save | grep -c KUBE-
    611
    root@w5:~# iptables-save | tail -1
    # Warning: iptables-legacy tables present, use iptables-legacy-save to see them
    root@w1:~# iptables --version
    iptables v1.8.4 (legacy)
    root@w1:~# iptables-save | grep -c cali
    498
    """
    answer = finding("iptables-backend-mismatch", text)
    assert answer.strength >= 0.95
    assert "w5" in answer.objects


def test_counted_inside_of_the_agent() -> None:
    """It shares its host's tables; plain iptables-save there is the image's kind, and says nothing of the host."""
    text = """
    [root@rh8-1 ~]# iptables -V
    iptables v1.8.4 (nf_tables)
    [root@rh8-1 ~]# iptables-nft-save | grep KUBE-SERVICES | wc -l
    57
    [root@rh8-1 ~]# kubectl -n kube-system exec calico-node-xg2wd -c calico-node -- iptables-legacy-save | grep -c cali-
    402
    """
    assert finding("iptables-backend-mismatch", text).strength >= 0.95
    assert finding("iptables-backend-mismatch", text.replace("iptables-legacy-save", "iptables-save")).strength < 0.8


def test_what_felix_says_last_counts() -> None:
    line = (
        '2023-06-01 10:{}:01.001 [INFO][65] felix/feature_detect.go 420: Looked up iptables command backendMode="{}"\n'
    )
    host = "[root@rk9 ~]# iptables --version\niptables v1.8.8 (nf_tables)\n"
    turned = line.format("01", "legacy") + line.format("11", "nft") + host
    assert finding("iptables-backend-mismatch", turned).state == "ruled-out"
    assert finding("iptables-backend-mismatch", line.format("01", "legacy") + host).strength >= 0.8


BOTH = """
Pods get no answer from pods on other nodes, and nothing outside answers either.

root@b1:~# iptables -L FORWARD -n
# Warning: iptables-legacy tables present, use iptables-legacy to see them
Chain FORWARD (policy DROP)
target     prot opt source               destination
DOCKER-USER  all  --  0.0.0.0/0            0.0.0.0/0

root@b1:~# iptables-legacy -L FORWARD -n
Chain FORWARD (policy ACCEPT)
target     prot opt source               destination
cali-FORWARD  all  --  0.0.0.0/0            0.0.0.0/0            /* cali:wUHhoiAYhphO9Mso */
"""


def test_what_calico_accepts_in_one_backend_is_dropped_in_the_other() -> None:
    answer = finding("iptables-backend-mismatch", BOTH)
    assert (answer.rule, answer.strength >= 0.9) == ("dropped-by-the-other", True)
    assert finding("iptables-backend-mismatch", BOTH.replace("(policy DROP)", "(policy ACCEPT)")).strength < 0.8
    both = BOTH.replace("DOCKER-USER", "cali-FORWARD  all  --  0.0.0.0/0  0.0.0.0/0\nDOCKER-USER")
    assert finding("iptables-backend-mismatch", both).strength < 0.8


AGENTS = """
$ kubectl -n kube-system get pods -o wide
calico-node-4hx8d   1/1   Running   {restarts}   41m   10.5.0.21   plover   <none>   <none>
coredns-5c98db65d4-9jw2z   0/1   CrashLoopBackOff   10   44m   192.168.3.2   plover   <none>   <none>
"""
LISTING = """
root@plover:~# iptables -S
-P INPUT ACCEPT
-P FORWARD DROP
-P OUTPUT ACCEPT
-N DOCKER
-A FORWARD -o docker0 -j DOCKER
{last}
"""
WARNING = "# Warning: iptables-legacy tables present, use iptables-legacy to see them"


def test_the_nodes_own_tool_shows_nothing_of_an_agent_that_is_ready() -> None:
    answer = finding("iptables-backend-mismatch", AGENTS.format(restarts=0) + LISTING.format(last=WARNING))
    assert (answer.rule, answer.strength >= 0.9) == ("host-sees-none", True)
    assert "plover" in answer.objects


def test_without_tables_of_the_other_kind_a_listing_is_no_claim() -> None:
    """Rules may have been flushed a moment ago, or the machine is none of the cluster's."""
    answer = finding("iptables-backend-mismatch", AGENTS.format(restarts=0) + LISTING.format(last=""))
    assert answer.strength < 0.8


def test_a_listing_that_shows_calico_or_one_chain_only_says_nothing() -> None:
    with_calico = LISTING.format(last="-A FORWARD -j cali-FORWARD\n-A FORWARD -j KUBE-SERVICES\n" + WARNING)
    answer = finding("iptables-backend-mismatch", AGENTS.format(restarts=0) + with_calico)
    assert answer.rule != "host-sees-none"
    one = LISTING.format(last=WARNING).replace("iptables -S", "iptables -S DOCKER")
    assert finding("iptables-backend-mismatch", AGENTS.format(restarts=0) + one).rule != "host-sees-none"


def test_felix_that_writes_nftables_itself_is_in_no_listing() -> None:
    text = AGENTS.format(restarts=0) + LISTING.format(last=WARNING) + "\nFELIX_NFTABLESMODE: Enabled\n"
    assert finding("iptables-backend-mismatch", text).rule != "host-sees-none"


CURED = """
Pods on plover cannot reach any service. calico-node is 1/1 on all nodes. On wren {what}

    update-alternatives --set iptables /usr/sbin/iptables-legacy
    reboot

root@plover:~# update-alternatives --display iptables
iptables - auto mode
  link best version is /usr/sbin/iptables-nft
  link currently points to /usr/sbin/iptables-nft
root@plover:~# iptables -t nat -nL | grep -c KUBE
0
root@{other}:~# iptables -t nat -nL | grep -c KUBE
{count}
"""


def test_what_cured_another_node_and_a_count_there() -> None:
    text = CURED.format(what="it went away after", other="wren", count=198)
    answer = finding("iptables-backend-mismatch", text)
    assert (answer.rule, answer.strength >= 0.9) == ("host-sees-none", True)
    only_count = CURED.format(what="I have not tried", other="wren", count=198)
    assert finding("iptables-backend-mismatch", only_count).strength >= 0.9


def test_a_cure_that_did_not_help_and_no_other_node() -> None:
    text = CURED.format(what="this did not help, nothing is fixed:", other="plover", count=0)
    assert finding("iptables-backend-mismatch", text).strength < 0.8


def test_a_system_of_the_newer_kind_that_drops_what_nobody_accepts() -> None:
    """Without the warning, which some listings do not have: likely, and not for who may write nftables."""
    text = "{release}PRETTY_NAME={system}\n" + AGENTS.format(restarts=0) + LISTING.format(last="")
    newer = text.format(release="Calico v3.10\n", system="Debian GNU/Linux 10 (buster)")
    assert 0.8 <= finding("iptables-backend-mismatch", newer).strength < 0.9
    older = text.format(release="Calico v3.10\n", system="CentOS Linux 7 (Core)")
    assert finding("iptables-backend-mismatch", older).strength < 0.8
    itself = text.format(release="Calico v3.30.1\n", system="Debian GNU/Linux 12 (bookworm)")
    assert finding("iptables-backend-mismatch", itself).strength < 0.8


UNREADABLE = """
    2021-01-01 01:01:01.010 [WARNING][46] felix/table.go 546: Detected out-of-sync inserts, marking for resync \
actualRuleIDs=[]string{{}} chainName="OUTPUT" expectedRuleIDs=[]string{{"aaaa"}} ipVersion=0x4 table="{}"
    root@kite:~# iptables-nft-save | tail -1
    # Table `nat' is incompatible, use 'nft' tool.
    root@kite:~# iptables -V
    iptables v1.8.5 (nf_tables)
"""


def test_a_table_that_iptables_cannot_read() -> None:
    answer = finding("iptables-backend-mismatch", UNREADABLE.format("nat"))
    assert (answer.state, answer.strength >= 0.95, answer.rule) == ("found", True, "table-unreadable")


def test_rules_that_are_gone_from_another_table_have_another_reason() -> None:
    assert finding("iptables-backend-mismatch", UNREADABLE.format("filter")).strength < 0.8


NEWER = """
Pods on heron cannot reach any service. calico-node and kube-proxy are Running there.
[root@heron ~]# iptables -V
iptables v1.8.5 (nf_tables)
[root@heron ~]# iptables-save | grep -c cali
0
[root@heron ~]# lsmod | grep iptable
{module}            16384  1
"""


def test_tables_of_the_older_kind_in_the_kernel() -> None:
    loaded = finding("iptables-backend-mismatch", NEWER.format(module="iptable_nat"))
    assert (loaded.rule, loaded.strength >= 0.9) == ("host-sees-none", True)
    assert finding("iptables-backend-mismatch", NEWER.format(module="nf_tables")).strength < 0.8


def test_where_calico_has_its_rules_those_of_kube_proxy_are_missing_for_another_reason() -> None:
    """eBPF needs no kube-proxy."""
    with_calico = LISTING.format(last="-N cali-FORWARD\n-A FORWARD -j cali-FORWARD\n" + WARNING)
    count = "\nroot@plover:~# iptables -t nat -S | grep -c KUBE\n0\n"
    assert finding("iptables-backend-mismatch", AGENTS.format(restarts=0) + with_calico + count).strength < 0.8
    assert finding("iptables-backend-mismatch", AGENTS.format(restarts=0) + WARNING + count).strength < 0.8


def test_one_chain_of_both_is_no_view_without() -> None:
    chain = (
        "root@plover:~# iptables -L FORWARD\nChain FORWARD (policy DROP)\ntarget     prot opt source   destination\n"
    )
    rules = "cali-FORWARD  all  --  anywhere  anywhere\nKUBE-FORWARD  all  --  anywhere  anywhere\n"
    answer = finding("iptables-backend-mismatch", AGENTS.format(restarts=0) + chain + rules + WARNING)
    assert answer.rule != "host-sees-none"
