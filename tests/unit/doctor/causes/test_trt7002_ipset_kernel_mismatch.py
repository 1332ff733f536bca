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
