"""Which block of a pool a host tries first: the place that Calico would compute. Pure.

The start is drawn from Go's `math/rand`, seeded with the FNV-1 hash of the host's name; from there on blocks are tried
one after the other, around the end. So hosts begin far from each other, and one that comes back finds its old blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from tortie.ipam.go_random import GoRandom
from tortie.ipam.reservations import NOTHING, Reservations
from tortie.model.network import Network


def fnv1(text: str) -> int:
    """The older of the two FNV hashes with 32 bits: multiply, then xor."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = value * 0x01000193 % (1 << 32) ^ byte
    return value


@lru_cache(maxsize=1024)
def first_block_index(host: str, blocks: int) -> int:
    """From 0 to `blocks` - 1."""
    return GoRandom(fnv1(host)).below(blocks)


def block_count(pool: Network, block_size: int) -> int:
    return 1 << (block_size - pool.prefixlen) if block_size >= pool.prefixlen else 0


def blocks_in_order(
    pool: Network,
    block_size: int,
    host: str,
    *,
    taken: Taken | None = None,
    reservations: Reservations = NOTHING,
) -> Iterator[Network]:
    """All blocks of a pool, each once, as this host tries them; without those taken and those reserved as a whole."""
    count = block_count(pool, block_size)
    if not count:
        return
    base, step = int(pool.network_address), 1 << (pool.max_prefixlen - block_size)
    is_taken = taken.at(pool.version, block_size) if taken else None
    start = first_block_index(host, count)
    done = 0
    while done < count:
        index = (start + done) % count
        number = base + index * step
        done += 1
        last = reservations.end_of(pool.version, number)
        if last is not None and last >= number + step - 1:
            # On behind the reserved range, but not around the end of the pool in the same step.
            done += min((last + 1 - number) // step - 1, count - index - 1)
            continue
        if is_taken is None or not is_taken(number):
            yield type(pool)((number, block_size))


class Taken:
    """Blocks that are somebody's, asked by number: a large pool has more blocks than one likes to make objects of."""

    def __init__(self, cidrs: Iterable[Network]) -> None:
        self._by_length: dict[tuple[int, int], set[int]] = {}
        for cidr in cidrs:
            self.add(cidr)

    def add(self, cidr: Network) -> None:
        self._by_length.setdefault((cidr.version, cidr.prefixlen), set()).add(int(cidr.network_address))

    def at(self, version: int, block_size: int) -> _Test:
        """Whether a block of that size, given by its first address, shares addresses with one that is taken."""
        bits = 32 if version == 4 else 128
        same: set[int] = set()
        wider: list[tuple[int, set[int]]] = []
        for (family, length), numbers in self._by_length.items():
            if family != version:
                continue
            if length == block_size:
                same |= numbers
            elif length > block_size:  # smaller blocks, of a pool that once had another block size
                same |= {number >> (bits - block_size) << (bits - block_size) for number in numbers}
            else:
                wider.append((bits - length, numbers))
        return _Test(same, wider)


class _Test:
    def __init__(self, same: set[int], wider: list[tuple[int, set[int]]]) -> None:
        self._same = same
        self._wider = wider

    def __call__(self, number: int) -> bool:
        return number in self._same or any(number >> bits << bits in numbers for bits, numbers in self._wider)
