# ruff: noqa: E501
"""TRT3014: found by the setting and what comes of it; a value that Felix replaces is no trouble."""

from __future__ import annotations

from tests.support.doctor import finding

SETTING = "$ kubectl get felixconfiguration default -o yaml | grep Deny\n  iptablesFilterDenyAction: Reject\n"
KERNEL = (
    "[root@knot ~]# dmesg | tail -1\n[ 8812.004412] ip_tables: REJECT target: only valid in filter table, not mangle\n"
)
RESTORE = r"""
$ kubectl -n kube-system logs calico-node-n6t2c
2024-04-02 07:10:53.946 [WARNING][75] felix/table.go 1350: Failed to execute ip(6)tables-restore command error=exit status 1 errorOutput="iptables-restore: line 5 failed\n" input="*mangle\n-R cali-PREROUTING 4 -m comment --comment \"cali:fGC9ubZR\" --jump REJECT\nCOMMIT\n" ipVersion=0x4 table="mangle"
"""
REQUIRED = """
$ kubectl -n kube-system logs calico-node-n6t2c
2024-04-02 07:10:53.946 [ERROR][75] felix/config_params.go 741: Invalid (required) config value. error=failed to parse config parameter IptablesBackend; value "nftable": unknown option source=datastore (global)
"""
PODS = (
    "$ kubectl -n kube-system get pods\nNAME  READY  STATUS  RESTARTS  AGE\ncalico-node-n6t2c  {}/1  Running  0  3h\n"
)


def test_the_setting_and_the_kernel_s_word_prove_it() -> None:
    answer = finding("felix-config-invalid", SETTING + KERNEL)
    assert (answer.rule, answer.objects[0]) == ("rejects-too-early", "iptablesFilterDenyAction")
    assert answer.strength >= 0.95


def test_felix_s_own_rule_is_enough() -> None:
    answer = finding("felix-config-invalid", RESTORE)
    assert (answer.state, answer.strength >= 0.9) == ("found", True)


def test_the_kernel_s_word_alone_may_be_about_another_s_rule() -> None:
    answer = finding("felix-config-invalid", KERNEL)
    assert (answer.state, answer.strength < 0.8) == ("found", True)


def test_a_value_that_felix_does_not_accept() -> None:
    answer = finding("felix-config-invalid", REQUIRED + PODS.format(0))
    assert (answer.rule, answer.objects[0], answer.strength >= 0.9) == ("not-accepted", "iptablesBackend", True)


def test_a_field_of_another_type() -> None:
    text = "日志：json: cannot unmarshal string into Go struct field FelixConfigurationSpec.items.spec.healthPort of type int"
    answer = finding("felix-config-invalid", text)
    assert (answer.rule, answer.objects[0]) == ("unreadable", "healthPort")


def test_typha_has_settings_of_its_own() -> None:
    text = REQUIRED.replace("felix/config_params.go", "typha/config_params.go")
    assert finding("felix-config-invalid", text).state == "cannot-tell"


def test_a_value_that_was_replaced_is_no_claim() -> None:
    text = '2024-04-02 07:10:53.946 [WARNING][75] felix/config_params.go 744: Replacing invalid value with default default="" error=failed to parse config parameter DeviceRouteSourceAddress; value "x": invalid IP'
    assert finding("felix-config-invalid", text).strength < 0.45


def test_a_rule_that_fails_for_another_reason() -> None:
    text = RESTORE.replace("--jump REJECT", "-m rpfilter --invert --jump DROP")
    assert finding("felix-config-invalid", text).state == "cannot-tell"


def test_an_agent_that_is_ready_has_been_given_another_value() -> None:
    assert finding("felix-config-invalid", REQUIRED + PODS.format(1)).state == "ruled-out"


def test_a_mask_with_too_few_bits() -> None:
    text = """
2023-04-27 11:52:06.180 [INFO][64] felix/config_params.go 573: Parsed value for IptablesMarkMask: 196608 (from datastore (global))
2023-04-27 11:52:06.202 [PANIC][64] felix/driver.go 140: Not enough mark bits available. MarkMask=0x30000 Name="felix-iptables"
"""
    answer = finding("felix-config-invalid", text)
    assert answer.strength >= 0.9
    assert answer.value("mask") == "0x30000"
    assert "iptablesMarkMask" in answer.objects


def test_a_ready_pod_is_no_proof_while_felix_begins_again_and_again() -> None:
    text = """
        $ kubectl get po -n kube-system -o wide | grep calico-node
        calico-node-1x3ph   2/2   Running   0   11d   10.177.182.134   w1
        $ tail /var/log/calico/felix/current
        2017-03-08 17:41:20.388 [ERROR][18262] config_params.go 301: Invalid (required) config value. error=Failed to \
parse config parameter FailsafeOutboundHostPorts; value "tcp-80": ports should be <protocol>:<number> source=datastore
        2017-03-08 17:41:22.910 [INFO][18310] felix.go 91: Felix starting up GOMAXPROCS=4 version="2.0.2"
        2017-03-08 17:41:22.911 [INFO][18310] felix.go 109: Loading configuration...
    """
    assert finding("felix-config-invalid", text).state == "found"
    later = "    2017-03-08 17:41:25.100 [INFO][18310] int_dataplane.go 600: Completed first update to dataplane.\n"
    assert finding("felix-config-invalid", text + later).state == "ruled-out"
