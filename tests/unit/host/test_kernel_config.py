"""Configurations of kernels as files, and what they mean for a node."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tortie.host.kernel import FEATURES
from tortie.host.kernel_config import parse_kernel_config, read_kernel_config
from tortie.model.errors import UsageError
from tortie.node.checks.kernel_config import BESIDES, options

TEXT = """\
#
# Automatically generated file; DO NOT EDIT.
# Linux/x86_64 6.1.90 Kernel Configuration
#
CONFIG_VETH=m
CONFIG_NET_NS=y
# CONFIG_VXLAN is not set
# CONFIG_DUMMY is not set
CONFIG_LOCALVERSION="-test"
"""


def test_a_configuration_is_read_plain_or_packed(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text(TEXT)
    (tmp_path / "packed").write_bytes(gzip.compress(TEXT.encode()))
    plain, packed = (read_kernel_config(str(tmp_path / name)) for name in ("plain", "packed"))
    assert plain.release == packed.release == "6.1.90"
    assert plain.options == packed.options == {
        "CONFIG_VETH": "m",
        "CONFIG_NET_NS": "y",
        "CONFIG_VXLAN": "n",
        "CONFIG_DUMMY": "n",
        "CONFIG_LOCALVERSION": "-test",
    }  # fmt: skip


@pytest.mark.parametrize(
    "content", [b"", b"hello\n", b"\x1f\x8bnot really", b"\x1f\x8b", gzip.compress(TEXT.encode())[:40]]
)
def test_what_is_none_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "config").write_bytes(content)
    with pytest.raises(UsageError):
        read_kernel_config(str(tmp_path / "config"))
    with pytest.raises(UsageError, match="cannot be read"):
        read_kernel_config(str(tmp_path / "none"))


def test_every_option_is_judged_by_what_a_node_needs_it_for() -> None:
    config = parse_kernel_config(TEXT, "/boot/config")
    checks = {check.name: check for check in options(FEATURES, config.options, config.path)}
    assert set(checks) == {feature.name for feature in FEATURES} | {option.name for option in BESIDES}
    assert (checks["veth"].result, checks["veth"].seen) == ("OK", "CONFIG_VETH=m: a module")
    assert checks["namespaces"].seen == "CONFIG_NET_NS=y: built in"
    assert checks["vxlan"].result == "FAIL"
    assert checks["vxlan"].seen.startswith("CONFIG_VXLAN is not set in /boot/config; ")
    assert "CONFIG_VXLAN=m" in checks["vxlan"].fix
    assert checks["nf_tables"].seen.startswith("/boot/config does not name CONFIG_NF_TABLES; ")
    assert (checks["ipip"].result, checks["dummy"].result, checks["dummy"].fix) == ("WARN", "OK", "")
