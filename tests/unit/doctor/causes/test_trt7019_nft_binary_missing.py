"""TRT7019: found by Felix's fatal line; an nft that runs and fails is not proof of it."""

from __future__ import annotations

from tests.support.doctor import finding

PANIC = """\
$ kubectl -n kube-system logs calico-node-h4t6b
2026-02-03 09:15:44.902 [PANIC][71] felix/table.go 411: Failed to create knftables client error={error}
panic: (*logrus.Entry) 0xc0007d0380
"""
MISSING = 'could not find nftables binary: exec: "nft": executable file not found in $PATH'
READY = (
    "$ kubectl -n kube-system get pods\nNAME  READY  STATUS  RESTARTS  AGE\ncalico-node-h4t6b  1/1  Running  0  3h\n"
)


def test_the_program_that_is_not_there_is_proven() -> None:
    answer = finding("nft-binary-missing", PANIC.format(error=MISSING))
    assert (answer.rule, answer.objects[0], answer.strength >= 0.95) == ("not-there", "nft", True)


def test_a_line_that_was_cut_is_likely() -> None:
    answer = finding("nft-binary-missing", "felix 反复 panic：table.go 411: Failed to create knftables client")
    assert (answer.rule, 0.8 <= answer.strength < 0.9) == ("no-client", True)


def test_a_program_that_is_too_old() -> None:
    error = "nft version must be v1.0.1 or later (got nftables v0.9.3 (Topsy))"
    answer = finding("nft-binary-missing", PANIC.format(error=error))
    assert (answer.rule, answer.value("needed")) == ("too-old", "v1.0.1")


def test_a_program_that_runs_and_fails_is_only_possible() -> None:
    answer = finding("nft-binary-missing", PANIC.format(error="could not run nftables command: exit status 1"))
    assert (answer.rule, answer.strength < 0.8) == ("does-not-run", True)


def test_a_panic_of_another_kind_says_nothing() -> None:
    text = "2026-02-03 09:15:44.902 [PANIC][71] felix/daemon.go 311: Failed to create dataplane client"
    assert finding("nft-binary-missing", text).state == "cannot-tell"


def test_an_agent_that_is_ready_has_it() -> None:
    assert finding("nft-binary-missing", PANIC.format(error=MISSING) + READY).state == "ruled-out"
