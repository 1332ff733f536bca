"""TRT7002: a revision that the image does not know."""

from __future__ import annotations

from tests.support.doctor import finding

LINE = (
    "2024-02-20 03:11:09.551 [ERROR][66] felix/ipsets.go 569: Bad return code from 'ipset list'. error=exit status 1 "
    'family="inet" stderr="ipset v7.1: Kernel and userspace incompatible: settype hash:ip,port with revision 6 not '
    'supported by userspace.\\n"'
)


def test_felix_quotes_the_kernel() -> None:
    answer = finding("ipset-kernel-mismatch", f"$ kubectl -n calico-system logs calico-node-f8w | tail -1\n{LINE}")
    assert answer.strength >= 0.9
    assert "hash:ip,port" in answer.objects


def test_a_newer_ipset_on_the_host_proves_it() -> None:
    text = f"""
    升级系统内核后部分节点一直 503：
    {LINE}
    [root@w7 ~]# ipset --version
    ipset v7.19, protocol version: 7
    """
    answer = finding("ipset-kernel-mismatch", text)
    assert answer.strength >= 0.95
    assert "7.19" in answer.objects


def test_no_session_is_another_cause() -> None:
    text = 'stderr="ipset v6.36: Cannot open session to kernel.\\n"'
    assert finding("ipset-kernel-mismatch", text).state == "ruled-out"


def test_the_panic_alone_is_no_claim() -> None:
    text = '[PANIC][66] felix/ipsets.go 319: Failed to update IP sets after multiple retries. family="inet"'
    assert finding("ipset-kernel-mismatch", text).strength < 0.8


def test_sets_are_named() -> None:
    text = """
    2025-01-02 03:04:05.006 [ERROR][99] felix/ipsets.go 671: Bad return code from 'ipset list cali40all-hosts-net'. \
error=exit status 1 family="inet" stderr="ipset v7.11: Kernel and userspace incompatible: settype hash:net with \
revision 7 not supported by userspace.\\n"
    """
    assert "cali40all-hosts-net" in finding("ipset-kernel-mismatch", text).objects
    foreign = "\n[root@ks-1 ~]# ipset list -n\nKUBE-LOAD-BALANCER\ncali40this-host\n"
    assert "KUBE-LOAD-BALANCER" in finding("ipset-kernel-mismatch", text + foreign).objects


def test_cut_by_a_narrow_screen() -> None:
    line = (
        "2025-01-02 03:04:05.006 [ERROR][99] felix/ipsets.go 574: Bad return code from 'ipset list'. error=exit "
        'status 1 family="inet" stderr="ipset v7.1: Kernel and userspace incompatible: settype hash:ip,port with '
        'revision 6 not supported by userspace.\\n"'
    )
    pieces = [line[at : at + 84] for at in range(0, len(line), 84)]
    text = "calico-node 日志：\n" + "\n".join(pieces + pieces) + "\n"
    assert finding("ipset-kernel-mismatch", text).strength >= 0.9


def test_an_agent_that_is_ready_has_read_its_sets() -> None:
    log = """
    2025-01-21 02:13:44.200 [ERROR][91] felix/ipsets.go 599: Bad return code from 'ipset list'. stderr="ipset v7.11: Kernel and userspace incompatible: settype hash:ip,port with revision 7 not supported by userspace."
    $ kubectl get pods -n calico-system
    calico-node-4wbnq   0/1   Running   0   2d
    """  # noqa: E501
    assert finding("ipset-kernel-mismatch", log).strength >= 0.9
    assert finding("ipset-kernel-mismatch", log.replace("0/1", "1/1")).state == "ruled-out"
