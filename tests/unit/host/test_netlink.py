"""The kernel's messages taken apart: whole, cut off, refused, and from this kernel itself."""

from __future__ import annotations

import errno
import socket
import struct
import threading
import time
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Network

import pytest

from tortie.host.links import addresses_in, interfaces_in, routes_in
from tortie.host.netlink import (
    Message,
    Netlink,
    NetlinkError,
    attribute,
    attributes_in,
    failure_in,
    messages_in,
    number_in,
    text_in,
)
from tortie.model.network import Address, Interface, Route

ERROR, DONE = 2, 3
LINK, ADDRESS, ROUTE = 16, 20, 24
GET_LINK = 18
LINK_HEADER = struct.Struct("=BxHiII")
ROUTE_HEADER = struct.Struct("=BBBBBBBBI")


def packed(kind: int, body: bytes, *, flags: int = 2, sequence: int = 1) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, flags, sequence, 0) + body + bytes(-len(body) % 4)


def u32(number: int) -> bytes:
    return struct.pack("=I", number)


BOND = Message(
    LINK,
    2,
    1,
    LINK_HEADER.pack(0, 1, 7, 0x1 | 0x2 | 0x400 | 0x1000, 0)
    + attribute(3, b"bond0\0")
    + attribute(1, bytes.fromhex("020000000001"))
    + attribute(4, u32(9000))
    + attribute(16, b"\x02")
    + attribute(0x8000 | 18, attribute(1, b"bond\0") + attribute(2, bytes(20)))
    + attribute(777, b"of a later kernel"),
)
PEER = Message(
    ADDRESS,
    2,
    1,
    struct.pack("=BBBBi", 2, 32, 0x80, 0, 7)
    + attribute(1, bytes([10, 0, 0, 9]))
    + attribute(2, bytes([10, 0, 0, 1]))
    + attribute(8, u32(0x281)),
)
HOPS = Message(
    ROUTE,
    2,
    1,
    ROUTE_HEADER.pack(2, 26, 0, 0, 252, 12, 0, 1, 0)
    + attribute(1, bytes([10, 65, 0, 64]))
    + attribute(15, u32(4000))
    + attribute(
        9,
        struct.pack("=HBBi", 16, 0, 0, 3)
        + attribute(5, bytes([10, 0, 0, 7]))
        + struct.pack("=HBBi", 32, 0, 0, 4)
        + attribute(18, struct.pack("=H", 10) + IPv6Address("fe80::7").packed),
    ),
)


def test_messages_follow_each_other_with_padding_between() -> None:
    datagram = packed(LINK, b"abcde") + packed(ADDRESS, b"", flags=0, sequence=9)
    assert list(messages_in(datagram)) == [Message(LINK, 2, 1, b"abcde"), Message(ADDRESS, 0, 9, b"")]


@pytest.mark.parametrize("length", [0, 15, 21, 4096])
def test_a_message_of_impossible_length_is_refused(length: int) -> None:
    damaged = struct.pack("=I", length) + packed(LINK, b"abcd")[4:]
    with pytest.raises(NetlinkError) as caught:
        list(messages_in(damaged))
    assert f"{length} bytes long, and 20 are there" in caught.value.why


def test_attributes_by_number_whatever_their_upper_bits_say() -> None:
    body = b"head" + attribute(0x8000 | 18, b"nested") + attribute(3, b"lo\0") + attribute(9, b"")
    assert attributes_in(body, 4) == {18: b"nested", 3: b"lo\0", 9: b""}


def test_what_is_cut_off_is_left_out() -> None:
    whole = attribute(1, b"1234") + attribute(2, b"5678")
    for length in range(len(whole)):
        assert attributes_in(whole[:length]) == ({1: b"1234"} if length >= 8 else {})
    assert attributes_in(struct.pack("=HH", 0, 1) * 3) == {}  # a length of 0 would never end


def test_values_that_are_too_short_are_none() -> None:
    assert (number_in(None), number_in(b"\1\0"), number_in(b"\1\0\0\0")) == (None, None, 1)
    assert (text_in(None), text_in(b"eth0\0\0"), text_in(b"eth0"), text_in(b"\xff\0")) == ("", "eth0", "eth0", "\ufffd")


def test_an_error_with_the_kernels_own_words() -> None:
    asked = packed(GET_LINK, b"12345678")
    text = attribute(1, b"Invalid mask\0")
    number = struct.pack("=i", -errno.EINVAL)
    assert failure_in(Message(ERROR, 0x200, 1, number + asked + text)) == (errno.EINVAL, "Invalid mask")
    assert failure_in(Message(ERROR, 0x300, 1, number + asked[:16] + text)) == (errno.EINVAL, "Invalid mask")
    assert failure_in(Message(DONE, 0x202, 1, number + text)) == (errno.EINVAL, "Invalid mask")
    assert failure_in(Message(ERROR, 0, 1, number + asked)) == (errno.EINVAL, "")
    assert failure_in(Message(DONE, 2, 1, struct.pack("=i", 0))) == (0, "")
    assert failure_in(Message(DONE, 2, 1, b"")) == (0, "")
    assert failure_in(Message(ERROR, 2, 1, b"")) == (errno.EBADMSG, "")


def test_a_bond_without_carrier() -> None:
    assert list(interfaces_in(BOND)) == [
        Interface(
            *(7, "bond0", "bond"),
            flags=frozenset({"up", "broadcast", "master", "multicast", "no-carrier"}),
            state="down",
            mac="02:00:00:00:00:01",
            mtu=9000,
        )
    ]


@pytest.mark.parametrize(("hardware", "mac"), [(1, "0a:00:00:01"), (768, ""), (776, ""), (778, "")])
def test_a_tunnels_address_is_no_mac(hardware: int, mac: str) -> None:
    tunnel = LINK_HEADER.pack(0, hardware, 5, 0, 0) + attribute(3, b"tunl0\0") + attribute(1, bytes([10, 0, 0, 1]))
    assert [link.mac for link in interfaces_in(Message(LINK, 2, 1, tunnel))] == [mac]


def test_a_state_of_a_later_kernel_is_unknown() -> None:
    link = LINK_HEADER.pack(0, 1, 5, 0x41, 0) + attribute(3, b"eth0\0") + attribute(16, b"\x63")
    assert [link.state for link in interfaces_in(Message(LINK, 2, 1, link))] == ["unknown"]


def test_a_point_to_point_address_is_our_end_of_it() -> None:
    flags = frozenset({"secondary", "permanent", "noprefixroute"})
    assert list(addresses_in(PEER)) == [(7, Address(IPv4Interface("10.0.0.1/32"), "global", flags))]


def test_an_unnamed_scope_and_protocol_are_their_numbers() -> None:
    local = struct.pack("=BBBBi", 2, 24, 0x80, 17, 7) + attribute(2, bytes([10, 0, 0, 1]))
    assert [address.scope for _, address in addresses_in(Message(ADDRESS, 2, 1, local))] == ["17"]
    route = ROUTE_HEADER.pack(2, 0, 0, 0, 254, 201, 0, 1, 0)
    assert [route.protocol for route in routes_in(Message(ROUTE, 2, 1, route))] == ["201"]


def test_one_route_for_each_next_hop() -> None:
    assert list(routes_in(HOPS)) == [
        Route(IPv4Network("10.65.0.64/26"), 3, IPv4Address("10.0.0.7"), table=4000, protocol="bird"),
        Route(IPv4Network("10.65.0.64/26"), 4, IPv6Address("fe80::7"), table=4000, protocol="bird"),
    ]


def test_routes_that_are_no_use() -> None:
    local_table = ROUTE_HEADER.pack(2, 32, 0, 0, 255, 2, 254, 2, 0) + attribute(1, bytes([10, 0, 0, 1]))
    local_elsewhere = ROUTE_HEADER.pack(2, 0, 0, 0, 100, 3, 254, 2, 0)
    remembered = ROUTE_HEADER.pack(10, 128, 0, 0, 254, 0, 0, 1, 0x200) + attribute(1, bytes(16))
    of_mpls = ROUTE_HEADER.pack(28, 20, 0, 0, 254, 4, 0, 1, 0) + attribute(1, bytes(4))
    for body in (local_table, local_elsewhere, remembered, of_mpls):
        assert list(routes_in(Message(ROUTE, 2, 1, body))) == []


def test_the_default_route_of_ipv6() -> None:
    body = ROUTE_HEADER.pack(10, 0, 0, 0, 254, 9, 0, 1, 0) + attribute(6, u32(1024)) + attribute(4, u32(2))
    assert list(routes_in(Message(ROUTE, 2, 1, body))) == [Route(IPv6Network("::/0"), 2, metric=1024, protocol="ra")]


@pytest.mark.parametrize("message", [BOND, PEER, HOPS], ids=["link", "address", "route"])
def test_messages_cut_off_anywhere_do_no_harm(message: Message) -> None:
    for length in range(len(message.body) + 1):
        cut = message._replace(body=message.body[:length])
        links, addresses, routes = list(interfaces_in(cut)), list(addresses_in(cut)), list(routes_in(cut))
        assert len(links) + len(addresses) + len(routes) <= 2


def test_the_kernel_refuses_in_its_own_words() -> None:
    strictly = 12  # NETLINK_GET_STRICT_CHK: the kernel then objects to what it would have overlooked
    with Netlink() as kernel:
        kernel.socket.setsockopt(270, strictly, 1)
        with pytest.raises(NetlinkError) as caught:
            kernel.dump(GET_LINK, LINK_HEADER.pack(0, 0, 0, 1, 0), "the links", time.monotonic() + 10)
    assert caught.value.what == "cannot read the links from the kernel"
    assert caught.value.why.startswith("Invalid values in header")
    assert caught.value.why.endswith("(Invalid argument)")


def test_a_question_that_the_kernel_does_not_know() -> None:
    with Netlink() as kernel:
        with pytest.raises(NetlinkError) as caught:
            kernel.dump(1002, b"\0" * 16, "the weather", time.monotonic() + 10)
        assert caught.value.what == "cannot read the weather from the kernel"
        assert "Operation not supported" in caught.value.why
        # and the socket is as good as before
        assert kernel.dump(GET_LINK, LINK_HEADER.pack(0, 0, 0, 0, 0), "the links", time.monotonic() + 10)


def test_a_kernel_that_does_not_answer_in_time() -> None:
    with Netlink() as kernel:
        with pytest.raises(NetlinkError, match="did not answer in time"):
            kernel.dump(GET_LINK, LINK_HEADER.pack(0, 0, 0, 0, 0), "the links", time.monotonic() - 1)
        noop = 1  # a message that the kernel takes and never answers
        with pytest.raises(NetlinkError, match="did not answer in time"):
            kernel.dump(noop, b"", "nothing", time.monotonic() + 0.05)


def test_answers_of_other_processes_are_not_taken_for_the_kernels() -> None:
    """Any process of root may write to our socket; it is not the kernel, and says so by its port."""
    false = packed(LINK, LINK_HEADER.pack(0, 1, 99, 1, 0) + attribute(3, b"false0\0")) + packed(DONE, bytes(4))
    with Netlink() as kernel:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as stranger:
            stranger.sendto(false, (kernel.socket.getsockname()[0], 0))
        messages = kernel.dump(GET_LINK, LINK_HEADER.pack(0, 0, 0, 0, 0), "the links", time.monotonic() + 10)
    names = [link.name for message in messages for link in interfaces_in(message)]
    assert "lo" in names
    assert "false0" not in names


def test_many_threads_each_with_their_own_socket() -> None:
    found: list[int] = []

    def ask() -> None:
        with Netlink() as kernel:
            for _ in range(20):
                body = LINK_HEADER.pack(0, 0, 0, 0, 0)
                found.append(len(kernel.dump(GET_LINK, body, "the links", time.monotonic() + 10)))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    assert min(found) >= 1
