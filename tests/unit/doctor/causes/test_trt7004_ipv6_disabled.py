"""TRT7004: only IPv6 fails."""

from __future__ import annotations

from tests.support.doctor import finding

SAVE_6 = (
    "2020-07-15 08:33:10.410 [WARNING][52] table.go 636: ip6tables-save command failed error=exit status 3 "
    'ipVersion=0x6 stderr=""'
)


def test_only_ipv6_fails() -> None:
    text = f"""
    $ kubectl -n kube-system logs calico-node-c5hhk | tail -2
    {SAVE_6}
    2020-07-15 08:33:12.410 [PANIC][52] table.go 641: ip6tables-save failed after retries ipVersion=0x6 table="raw"
    [root@hard-1 ~]# cat /proc/cmdline
    BOOT_IMAGE=/vmlinuz-4.18.0 root=/dev/sda2 ro ipv6.disable=1 quiet
    """
    answer = finding("ipv6-disabled", text)
    assert answer.strength >= 0.95
    assert "FELIX_IPV6SUPPORT" in answer.objects


def test_the_log_alone_is_strong() -> None:
    assert finding("ipv6-disabled", SAVE_6).strength >= 0.9


def test_ipv4_fails_too() -> None:
    text = SAVE_6 + "\n" + SAVE_6.replace("ip6tables", "iptables").replace("0x6", "0x4")
    assert finding("ipv6-disabled", text).state == "ruled-out"


def test_felix_does_not_use_ipv6() -> None:
    text = "$ kubectl -n kube-system get ds calico-node -o yaml | grep -A1 IPV6SUPPORT\n"
    text += '            - name: FELIX_IPV6SUPPORT\n              value: "false"\n'
    assert finding("ipv6-disabled", text).state in ("ruled-out", "cannot-tell")


def test_any_program_misses_an_address_family() -> None:
    boot = "$ cat /proc/cmdline\nBOOT_IMAGE=/vmlinuz-5.4.0-90-generic ro ipv6.disable=1\n"
    web = "nginx: [emerg] socket() [::]:80 failed (97: Address family not supported by protocol)\n"
    tool = "ip6tables-save v1.8.2: Cannot initialize: Address family not supported by protocol\n"
    assert finding("ipv6-disabled", boot + web).state == "cannot-tell"
    assert finding("ipv6-disabled", boot + tool).strength >= 0.8


def test_an_agent_that_is_ready_has_its_tables() -> None:
    pods = "$ kubectl -n kube-system get pods\ncalico-node-5k2jv   1/1   Running   1   12d\n"
    assert finding("ipv6-disabled", f"{SAVE_6}\n{pods}").state == "ruled-out"


def test_felix_tells_what_its_tool_answered() -> None:
    line = (
        "2023-02-01 09:14:20.001 [ERROR][90] felix/table.go 860: save failed error=exit status 1 ipVersion={} stderr="
        '"ip6tables-legacy-save v1.8.4 (legacy): Cannot initialize: Address family not supported by protocol"'
    )
    assert finding("ipv6-disabled", line.format("0x6")).strength >= 0.9
    assert finding("ipv6-disabled", line.format("0x4")).strength < 0.8


RESTORED = (
    "2020-06-11 09:25:01.300 [WARNING][49] felix/table.go 1162: Failed to execute ip(6)tables-restore command "
    'error=exit status 3 errorOutput="{tool}-restore v1.8.4 (legacy): {tool}-restore: unable to initialize table '
    '\'raw\'\\n\\nError occurred at line: 1\\n" input="*raw\\n" ipVersion=0x{version} output="" table="raw"\n'
)


def test_a_table_that_restore_cannot_initialize() -> None:
    six = RESTORED.format(tool="ip6tables", version=6)
    answer = finding("ipv6-disabled", six + "# cat /proc/cmdline\nro ipv6.disable=1 quiet\n")
    assert (answer.state, answer.strength >= 0.95) == ("found", True)
    four = RESTORED.format(tool="iptables", version=4)
    assert finding("ipv6-disabled", six + four).state == "ruled-out"
    assert "iptable_raw" in finding("kernel-module-missing", four).objects
    assert finding("kernel-module-missing", six).state != "found"
