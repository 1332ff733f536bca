"""TRT6006: the runtime's start beside the time of the file, in the forms in which people show both."""

from __future__ import annotations

import pytest
from tests.support.doctor import finding

READY = """
NAMESPACE       NAME                READY   STATUS    RESTARTS   AGE
calico-system   calico-node-77xqz   1/1     Running   0          22m
"""
UNLOADED = """
[root@rx9 ~]# crictl info | grep -i cniload
  "lastCNILoadStatus": "cni config load failed: no network config found in /etc/cni/net.d: cni plugin not initialized: failed to load cni config",
"""  # noqa: E501
HOURS = """
[root@rx9 ~]# ls -la --time-style=+%H:%M /etc/cni/net.d
-rw-r--r-- 1 root root  806 {at} 10-calico.conflist
"""
DAYS = """
[root@rx9 ~]# ls -l /etc/cni/net.d
-rw-r--r-- 1 root root  806 {at} 10-calico.conflist
"""
STATUS = """
[root@rx9 ~]# systemctl status kubelet containerd | grep Active
     Active: active (running) since Wed 2024-04-10 17:30:02 CEST; 11min ago
     Active: active (running) since Wed 2024-04-10 14:03:27 CEST; 3h 38min ago
"""


@pytest.mark.parametrize(
    ("files", "strength"),
    [
        (HOURS.format(at="17:22"), 0.9),
        (DAYS.format(at="Apr 10 17:22"), 0.95),
        (DAYS.format(at="2024-04-10 17:22"), 0.95),
        (DAYS.format(at="2024-04-10 17:22:01.000000000 +0200"), 0.95),
    ],
)
def test_newer_than_the_start_of_the_runtime(files: str, strength: float) -> None:
    answer = finding("runtime-cni-watch-lost", READY + UNLOADED + files + STATUS)
    assert (answer.state, answer.rule, answer.say) == ("found", "file-not-loaded", "newer-file-not-loaded")
    assert answer.strength >= strength


@pytest.mark.parametrize(
    "files",
    [
        DAYS.format(at="Apr 10 13:22"),
        DAYS.format(at="Mar 29 17:22"),
        DAYS.format(at="2024-04-10 14:50:01.000000000 +0530"),  # another zone's clock: 11:20 there
    ],
)
def test_a_runtime_that_was_started_since_has_read_it(files: str) -> None:
    answer = finding("runtime-cni-watch-lost", READY + UNLOADED + files + STATUS)
    assert (answer.state, answer.rule) == ("ruled-out", "started-later")


def test_a_time_of_day_alone_says_little() -> None:
    """Of which day it is nobody knows: a file of yesterday has it, too."""
    early = finding("runtime-cni-watch-lost", READY + UNLOADED + HOURS.format(at="13:22") + STATUS)
    assert (early.state, early.say) == ("found", "file-not-loaded")
    only = STATUS.replace("kubelet containerd", "kubelet docker")
    other = finding("runtime-cni-watch-lost", READY + UNLOADED + HOURS.format(at="17:22") + only)
    assert other.say == "file-not-loaded"
