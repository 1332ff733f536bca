"""TRT7020: found where the lock is held for minutes; waiting for it now and then is nothing."""

from __future__ import annotations

from tests.support.doctor import finding

HELD = "exit status 4 (Another app is currently holding the xtables lock. Perhaps you want to use the -w option?)"
LOG = "[root@dipper ~]# journalctl -u kube-proxy\n" + "".join(
    f"Oct 08 21:0{minute}:55 dipper kube-proxy[1457]: E1008 21:0{minute}:55.367127    1457 proxier.go:1285] "
    f"Failed to execute iptables-restore: {HELD}\n"
    for minute in range(1, 7)
)
LSOF = """\
[root@dipper ~]# lsof /run/xtables.lock
COMMAND    PID USER   FD   TYPE DEVICE SIZE/OFF  NODE NAME
iptables 20311 root    3rW  REG   0,23        0 17093 /run/xtables.lock
"""
READY = (
    "$ kubectl -n kube-system get pods\nNAME  READY  STATUS  RESTARTS  AGE\ncalico-node-4q7zm  1/1  Running  0  3h\n"
)
SICK = READY.replace("1/1", "0/1")


def test_minutes_are_strong() -> None:
    answer = finding("xtables-lock-held", LOG + SICK)
    assert (answer.rule, answer.strength >= 0.9) == ("for-minutes", True)
    assert "For 5 min on dipper" in answer.why.en


def test_the_holder_proves_it() -> None:
    answer = finding("xtables-lock-held", LOG + LSOF)
    assert (answer.rule, answer.objects[0], answer.strength >= 0.95) == ("holder-shown", "iptables", True)
    assert answer.value("holder") == "20311"


def test_fuser_names_the_holder_too() -> None:
    fuser = """\
[root@dipper ~]# fuser -v /run/xtables.lock
                     USER        PID ACCESS COMMAND
/run/xtables.lock:   root      20311 F.... fwd-sync
"""
    assert finding("xtables-lock-held", LOG + fuser).objects[0] == "fwd-sync"


def test_waiting_once_is_no_claim() -> None:
    answer = finding("xtables-lock-held", LOG.splitlines()[0] + "\n" + LOG.splitlines()[1])
    assert (answer.state, answer.strength < 0.45) == ("found", True)


def test_waiting_a_few_times_a_day_is_no_claim() -> None:
    lines = [LOG.splitlines()[1].replace(" 21:01:", f" {hour}:01:") for hour in (11, 14, 19, 21)]
    answer = finding("xtables-lock-held", "[root@dipper ~]# journalctl -u kube-proxy\n" + "\n".join(lines))
    assert (answer.rule, answer.strength < 0.45) == ("at-times", True)


def test_often_and_an_agent_that_is_not_ready_is_likely() -> None:
    text = SICK + "$ kubectl -n kube-system logs calico-node-4q7zm\n" + f"iptables-restore: {HELD}\n" * 4
    answer = finding("xtables-lock-held", text)
    assert (answer.rule, 0.8 <= answer.strength < 0.9) == ("again-and-again", True)


def test_felix_that_gives_up_for_the_lock_is_likely() -> None:
    text = f"""
2021-11-02 10:00:01.100 [WARNING][55] felix/table.go 1324: Failed to execute ip(6)tables-restore command error={HELD}
2021-11-02 10:00:02.301 [PANIC][55] felix/table.go 1010: Failed to program iptables, giving up after retries error=exit status 4
"""  # noqa: E501
    assert finding("xtables-lock-held", text).strength >= 0.8


def test_rules_that_are_refused_are_another_cause() -> None:
    text = "2023-08-10 02:10:53.946 [WARNING][74] felix/table.go 997: Failed to program iptables error=exit status 1"
    assert finding("xtables-lock-held", text).state == "cannot-tell"


def test_an_agent_that_is_ready_had_the_lock() -> None:
    assert finding("xtables-lock-held", "\n".join(LOG.splitlines()[:2]) + "\n" + READY).state == "ruled-out"


def test_rows_of_lslocks_without_the_command() -> None:
    row = "iptables-restor 118231 FLOCK   0B WRITE 0     0   0 /run/xtables.lock\n"
    line = (
        "2023-06-01 10:01:00.1 [WARNING][70] felix/table.go 1414: Failed to execute ip(6)tables-restore command "
        'error=exit status 4 errorOutput="Another app is currently holding the xtables lock; waiting (1s) for it"\n'
    )
    assert finding("xtables-lock-held", row + line).strength >= 0.9
    assert finding("xtables-lock-held", row.replace("xtables.lock", "dpkg.lock") + line).strength < 0.8


BY_STATUS = """
2021-10-04 13:20:17.663 [WARNING][1330] felix/table.go 997: Failed to program iptables, will retry error=exit status {code} ipVersion=0x4 table="nat"
2021-10-04 13:21:55.012 [ERROR][1330] felix/table.go 1004: Failed to program iptables, loading diags before panic. error=exit status {code} ipVersion=0x4 table="nat"
2021-10-04 13:21:55.200 [PANIC][1330] felix/table.go 1011: Failed to program iptables, giving up after retries error=exit status {code} ipVersion=0x4 table="nat"
"""  # noqa: E501
HOLDER = """
# lsof /run/xtables.lock
COMMAND     PID USER   FD   TYPE DEVICE SIZE/OFF NODE NAME
iptables  19211 root    3rW  REG   0,23        0 1433 /run/xtables.lock
"""


def test_the_status_of_the_lock_where_the_words_were_left_out() -> None:
    alone = finding("xtables-lock-held", BY_STATUS.format(code=4))
    assert (alone.rule, 0.8 <= alone.strength < 0.9) == ("by-status", True)
    held = finding("xtables-lock-held", BY_STATUS.format(code=4) + HOLDER)
    assert (held.strength >= 0.9, "iptables" in held.objects) == (True, True)
    assert finding("xtables-lock-held", BY_STATUS.format(code=2)).state == "cannot-tell"


def test_the_newer_iptables_has_that_status_for_other_reasons() -> None:
    refused = 'errorOutput="iptables-restore v1.8.4 (nf_tables): line 5: RULE_APPEND failed (Invalid argument)"\n'
    assert finding("xtables-lock-held", BY_STATUS.format(code=4) + refused).strength < 0.8


def test_a_lock_of_last_week_and_another_reason_today() -> None:
    past = "Last week 'Another app is currently holding the xtables lock' was gone after we ended the scanner.\n"
    refused = (
        "2022-09-12 10:10:20.900 [WARNING][70] felix/table.go 1321: Failed to execute ip(6)tables-restore command "
        'error=exit status 4 errorOutput="iptables-nft-restore v1.8.4 (nf_tables): line 17: RULE_REPLACE failed"\n'
    )
    assert finding("xtables-lock-held", past + BY_STATUS.format(code=4) + refused).state == "ruled-out"
