"""Which release of Calico is played, and what of its ways depends on its number. Pure; imported by probes, so light."""

from __future__ import annotations

from tortie.model.errors import UsageError

TYPE_CHECKING = False  # typing's own name for it would have to be imported
if TYPE_CHECKING:
    from collections.abc import Mapping

FIRST = (2, 6)
LAST = (3, 28)
SAYING = "for the lab and the doctor's tests only"


class Release(tuple[int, int, int]):
    """Compares with (3, 14) as one would expect."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"v{self[0]}.{self[1]}.{self[2]}"

    # What changed when, by `failures.md` §15 and `node-lifecycle.md`.

    @property
    def bare(self) -> bool:
        """v2: what people shall read is bare text, the rest is logrus's own form, and by default only errors."""
        return self < (3,)

    @property
    def component(self) -> bool:
        """startup/startup.go instead of startup.go."""
        return self >= (3, 14)

    @property
    def names_nodes(self) -> bool:
        return self >= (3, 18)

    @property
    def clears_addresses(self) -> bool:
        """A node that was stored before loses an address that is no longer good, before the start ends."""
        return self >= (3, 1)

    @property
    def knows_none(self) -> bool:
        """IP=none; before, it is an address that nobody can read."""
        return self >= (3, 2)

    @property
    def tells_disabled(self) -> bool:
        return self >= (3, 16)

    @property
    def wants_an_address(self) -> bool:
        """With a sentence of its own, after all is said; before, `none` alone ends the start."""
        return self >= (3, 16, 3)

    @property
    def confirms_quietly(self) -> bool:
        return self >= (3, 17)

    @property
    def addresses_policy_only(self) -> bool:
        """With backend none, an address is looked for all the same."""
        return (3, 16, 3) <= self < (3, 26, 2)

    @property
    def writes_only_changes(self) -> bool:
        """A node that is as it was is not written, and folders are looked at after that."""
        return self >= (3, 26, 2)

    @property
    def available_early(self) -> bool:
        """NetworkUnavailable is taken back before the node is even written."""
        return (3, 3) <= self < (3, 20)

    @property
    def available_late(self) -> bool:
        return self >= (3, 20)

    @property
    def looks_for_kubeconfig(self) -> bool:
        """And warns that it was not told of one."""
        return self >= (3, 27)

    # Default pools.

    @property
    def random_ipv6_pool(self) -> bool:
        return self >= (3, 1)

    @property
    def free_ipv4_pool(self) -> bool:
        """The default moves away from this host's own addresses."""
        return self >= (3, 14)

    @property
    def pools_have_vxlan(self) -> bool:
        return self >= (3, 7)

    @property
    def pools_have_cross_subnet_vxlan(self) -> bool:
        return self >= (3, 9)

    @property
    def pools_have_ipv6_vxlan(self) -> bool:
        return self >= (3, 23)

    @property
    def pools_have_block_size(self) -> bool:
        return self >= (3, 10)

    @property
    def pools_have_export(self) -> bool:
        return self >= (3, 24)

    @property
    def reads_key_by_key(self) -> bool:
        """The etcdv2 data model."""
        return self < (3,)

    @property
    def monitors_addresses(self) -> bool:
        return self >= (3, 15)

    @property
    def keeps_tunnel_addresses(self) -> bool:
        """As a service of its own, not only once at the start."""
        return self >= (3, 18)

    @property
    def refuses_loose_rpf(self) -> bool:
        return self < (3, 12)

    @property
    def count_glued(self) -> bool:
        return self < (3, 14)

    @property
    def one_peer_suffices(self) -> bool:
        """March 2019, brought back to v3.2."""
        return self >= (3, 2)

    @property
    def asks_birdcl(self) -> bool:
        return self >= (3, 28)

    @property
    def quotes_urls(self) -> bool:
        """Built with Go 1.14 or later."""
        return self >= (3, 15)


def read_release(text: str) -> Release:
    """Reads 3.20, v3.20 and v3.20.1."""
    parts = text.strip().removeprefix("v").split(".")
    if not 2 <= len(parts) <= 3 or not all(part.isascii() and part.isdigit() and len(part) < 5 for part in parts):
        raise UsageError(f"not a release of Calico: '{text}'", "a release is major.minor", "for example --classic 3.20")
    numbers = [int(part) for part in parts]
    release = Release((numbers[0], numbers[1], numbers[2] if len(numbers) == 3 else 0))
    if not FIRST <= release[:2] <= LAST or (2, 6) < release[:2] < (3, 0):
        known = f"known are the ways of v{FIRST[0]}.{FIRST[1]} and of v3.0 to v{LAST[0]}.{LAST[1]}"
        raise UsageError(f"classic mode cannot play Calico {text}", known, "--classic 2.6, 3.9, 3.20 or 3.28")
    return release


def hurry_of(environment: Mapping[str, str]) -> float:
    """TORTIE_HURRY: a lab in a hurry divides what kubelet waits for, and so what stands against it here."""
    text = environment.get("TORTIE_HURRY", "")
    return float(max(1, int(text))) if text.isascii() and text.isdigit() else 1.0
