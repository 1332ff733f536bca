"""TRT5009: the host refuses the route of a new pod because another interface has the address."""

# ruff: noqa: E501 (pasted lines stay as long as they are)

from __future__ import annotations

from tests.support.doctor import finding

EVENT = (
    "  Warning  FailedCreatePodSandBox  3s (x9 over 2m)  kubelet, w-12  Failed to create pod sandbox: rpc error: code = "
    'Unknown desc = failed to set up sandbox container "9f" network for pod "api-0": networkPlugin cni failed to set up '
    'pod "api-0_shop" network: error adding host side routes for interface: cali6a1f0c2b3d4, error: route (Ifindex: 214, '
    "Dst: 10.42.7.19/32, Scope: link) already exists for an interface other than 'cali6a1f0c2b3d4'"
)


def test_the_event_names_address_and_interface() -> None:
    answer = finding("route-conflict", f"$ kubectl describe pod api-0 -n shop | tail -1\n{EVENT}")
    assert answer.state == "found"
    assert answer.strength >= 0.9
    assert "10.42.7.19" in answer.objects
    assert "cali6a1f0c2b3d4" in answer.objects


def test_the_route_table_shows_the_other_one() -> None:
    answer = finding(
        "route-conflict",
        f"换了 CNI 之后没有重建老的 Pod。\n\n$ kubectl describe pod api-0 -n shop\n{EVENT}\n"
        "[root@w-12 ~]# ip route | grep 10.42.7.19\n10.42.7.19 dev veth88ab scope link\n"
        "[root@w-12 ~]# calicoctl ipam show --ip=10.42.7.19\n10.42.7.19 is not assigned\n",
    )
    assert answer.strength >= 0.95


def test_an_address_that_ipam_gave_to_the_other_is_no_claim() -> None:
    answer = finding(
        "route-conflict",
        f"$ kubectl describe pod api-0\n{EVENT}\n$ calicoctl ipam show --ip=10.42.7.19\nIP 10.42.7.19 is in use\n",
    )
    assert answer.strength < 0.8


def test_felix_alone_is_no_claim() -> None:
    answer = finding(
        "route-conflict",
        "2021-01-01 00:00:00.000 [WARNING][60] route_table.go 577: Failed to add route error=file exists",
    )
    assert answer.strength < 0.8


def test_every_address_is_named() -> None:
    line = (
        'plugin type="calico" failed (add): error adding host side routes for interface: cali1, error: route (Ifindex: 9, '
        "Dst: {0}/32, Scope: link) already exists for an interface other than 'cali1'"
    )
    answer = finding("route-conflict", f"{line.format('10.4.4.4')}\n{line.format('10.4.4.5')}")
    assert {"10.4.4.4", "10.4.4.5"} <= set(answer.objects)
