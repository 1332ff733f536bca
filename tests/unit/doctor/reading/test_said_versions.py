"""Versions in people's words."""

from __future__ import annotations

import pytest
from tests.support.doctor import picture


@pytest.mark.parametrize(
    ("text", "calico", "kubernetes"),
    [
        ("We run Calico 3.14 on k8s 1.17 and the nodes are not ready.", (3, 14), (1, 17)),
        ("calico v3.10.1 + k8s 1.16.4 的集群，节点一直起不来。", (3, 10, 1), (1, 16, 4)),
        ("Our nodes are dead after the reboot, please help. v3.24.1.", (3, 24, 1), None),
        ("calico 版本是 3.22.5，kubeadm 1.23 装的，pod 不通。", (3, 22, 5), (1, 23)),
        ("We upgraded calico from 3.19 to 3.21 and it is broken since then.", (3, 21), None),
        ("之前 v3.1.4 没问题，calico 升级到 3.2 之后就不行了。", (3, 2), None),
        ("helm v3.12.0 was used to install it and it does not work.", None, None),
        ("The store is etcd v3.4.13 and we do not know why it is slow.", None, None),
        ("rke v1.3.8 装的集群，网络不通。", None, None),
    ],
)
def test_versions_in_prose(text: str, calico: tuple[int, ...] | None, kubernetes: tuple[int, ...] | None) -> None:
    got = picture(text)
    assert (got.version("calico"), got.version("kubernetes")) == (calico, kubernetes)


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("系统 CentOS 7.9，内核 3.10.0-1160.el7.x86_64，节点起不来。", "3.10.0-1160.el7.x86_64"),
        ("We run kernel version 5.4.0-88-generic on all nodes.", "5.4.0-88-generic"),
        ("We went back from kernel 5.4.0-88-generic and it is the same.", None),
        ("Does it need kernel 5.3 or later?", None),
    ],
)
def test_kernels_in_peoples_words(text: str, kernel: str | None) -> None:
    assert [one.version for one in picture(text).versions("kernel")] == ([kernel] if kernel else [])


def test_a_start_names_calicos_release_and_not_ours() -> None:
    line = "2022-02-02 02:02:02.020 [INFO][10] startup/startup.go 99: Starting node moth with version {}"
    assert picture(line.format("v3.21.4")).version("calico") == (3, 21, 4)
    assert picture(line.format("v0.1.0")).version("calico") is None
