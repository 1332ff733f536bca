"""`tortie node checksystem --kernel-config`: a kernel judged by its file."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.cli import Tortie, assert_three_lines

CONFIG = """\
# Linux/x86 2.6.18 Kernel Configuration
CONFIG_VETH=y
# CONFIG_VXLAN is not set
"""


@pytest.mark.parametrize("flag", ["-f", "--kernel-config"])
def test_a_kernel_is_judged_by_its_configuration(tmp_path: Path, flag: str) -> None:
    tortie = Tortie(tmp_path)
    ran = tortie("node", "checksystem", flag, tortie.file("config", CONFIG), "-o", "json", "--root", str(tmp_path))
    assert ran.code == 3
    kernel = {check["name"]: check for check in ran.json["checks"] if check["group"] == "kernel"}
    assert kernel["version"]["result"] == "FAIL"
    assert kernel["version"]["seen"].startswith("2.6.18; ")
    assert kernel["veth"]["seen"] == "CONFIG_VETH=y: built in"
    assert kernel["vxlan"]["result"] == "FAIL"
    # The rest is about this machine, as ever.
    assert {"ports", "names and settings"} <= {check["group"] for check in ran.json["checks"]}
    told = tortie("node", "checksystem", flag, str(tmp_path / "config"), "--root", str(tmp_path)).stdout
    assert told.endswith("system doesn't meet one or more minimum systems requirements to run Calico\n")


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    tortie = Tortie(tmp_path)
    assert_three_lines(tortie("node", "checksystem", "-f", tortie.file("x", "hello\n")), 2)
    assert_three_lines(tortie("node", "checksystem", "-f", "/nowhere"), 2)
