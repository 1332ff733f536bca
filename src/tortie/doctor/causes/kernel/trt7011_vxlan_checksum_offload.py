"""TRT7011: checksums of encapsulated packets are spoiled on the way out, and the receiver drops them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from tortie.doctor.causes import ways
from tortie.doctor.causes.cause import (
    HINT,
    LIKELY,
    POSSIBLE,
    PROVEN,
    STRONG,
    Cause,
    Do,
    Finding,
    cannot_tell,
    do,
    found,
    ruled_out,
)
from tortie.doctor.causes.culprits import Culprit, culprits, named
from tortie.doctor.causes.kernel.offload_evidence import (
    KERNEL_SAYS,
    cured,
    errors_of_udp,
    growing,
    sixth_repetition,
    slow,
    told_by_kernel,
)
from tortie.doctor.causes.steps import Step
from tortie.doctor.causes.underlay.capture_sides import side_of
from tortie.doctor.causes.underlay.traffic_evidence import (
    captures,
    compiled,
    cross_node_dead,
    encapsulation,
    lost_on_the_way,
    ping_but_no_tcp,
    rows,
    trouble,
)
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Document
from tortie.doctor.picture.picture import Picture
from tortie.doctor.signs import Sign

BAD_SUM = Sign("offload-bad-cksum", "[bad udp cksum <seen> -> <wanted>] VXLAN")
SUM_ERRORS = Sign("offload-udp-csum-errors", "UdpInCsumErrors <n>")
# Of what was inside of the tunnel: the outer sum is right, and the receiver's TCP finds out.
INNER_SUM = Sign("offload-inner-cksum", "cksum <seen> \\(incorrect -> <wanted>\\)")
TCP_ERRORS = Sign("offload-tcp-csum-errors", "TcpInCsumErrors <n>")
FEATURE = "tx-checksum-ip-generic"
_DRIVER = r"^\s*driver:\s*(?P<driver>\S+)"
_OFFLOAD = r"(?P<feature>tx-checksum-ip-generic|tx-checksumming|tx-udp_tnl-segmentation):\s*(?P<value>on|off)"
SUSPECT_DRIVERS = ("vmxnet3", "hv_netvsc", "virtio_net", "be2net", "bnx2x", "i40e")
COMMON_DRIVERS = ("virtio_net",)  # most virtual machines have it, and are well
# With names instead of numbers a line of tcpdump looks like a sentence.
_PACKET = lazily(r"(?:IP )?[\w.-]{1,120} > [\w.-]{1,120}: \[bad udp cksum")
_POLICIES = ("NetworkPolicy", "GlobalNetworkPolicy")


class Seen:
    """Sums that captures and counters show, what passes and what does not, and what the card is told to do."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.bad = [hit for hit in picture.hits(BAD_SUM) if not hit.prose or _PACKET.match(hit.line.strip())]
        self.sides = {side_of(picture, hit) for hit in self.bad}
        self.one_sided = ping_but_no_tcp(picture)
        counted = [hit for hit in picture.hits(SUM_ERRORS) if hit.value("n").isdecimal()]
        self.errors: list[object] = [hit for hit in counted if int(hit.value("n")) > 0]
        self.errors += [] if counted else errors_of_udp(picture)
        self.clean = [hit for hit in counted if hit.value("n") == "0"]
        self.inner = [hit for hit in picture.hits(INNER_SUM) if not hit.prose]
        self.refused = [hit for hit in picture.hits(TCP_ERRORS) if hit.value("n").isdecimal() and int(hit.value("n"))]
        self.growing, self.cured = growing(picture), cured(picture)
        self.told = picture.said("offload-off-helps")
        # A release of Calico that takes the card's offload for good, and one before it that switched it off.
        self.returned = [said for said in picture.said("rollback-helps") if _of_calico(picture, said.text)]
        self.kernel, self.sixth = told_by_kernel(picture), sixth_repetition(picture)
        self.helps: list[object] = [*self.cured, *self.told]
        self.drivers = [row for row in rows(picture, _DRIVER, "ethtool") if row["driver"] in SUSPECT_DRIVERS]
        offload = rows(picture, _OFFLOAD, "ethtool")
        self.on = [row for row in offload if row["value"] == "on" and row["feature"] != "tx-udp_tnl-segmentation"]

    @cached_property
    def vxlan(self) -> bool:
        shown = self.bad or "vxlan" in encapsulation(self.picture) or self.picture.commands("vxlan.calico")
        told = [statement.text for statement in self.told]
        if self.growing:  # sums are counted as wrong: then a word in passing tells what they are of
            told += [exhibit.text for exhibit in self.picture.exhibits if exhibit.prose]
        seen = next(rows(self.picture, r"VXLAN, flags \[", needle="VXLAN, flags"), None)
        return bool(shown or seen) or any("vxlan" in text.lower() for text in told)

    @cached_property
    def vxlan_told(self) -> bool:
        """A person says what carries the packets, and no route says otherwise."""
        told = any("vxlan" in one.text.lower() for one in self.picture.exhibits if one.prose)
        return told and not encapsulation(self.picture) - {"vxlan"}

    @property
    def supported(self) -> bool:
        return bool(
            self.one_sided or self.errors or self.drivers or self.on or self.helps or self.returned or self.sixth
        )

    @cached_property
    def device(self) -> str:
        return _device(self.picture)

    def found(self, strength: float, say: str) -> Finding:
        who = culprits(
            named("interface", self.device, "vxlan.calico"),
            Culprit("setting", FEATURE),
            named("module", *(row["driver"] for row in self.drivers[:1])),
            Culprit("setting", "ChecksumOffloadBroken"),
            named("node", *(hit.host for hit in self.bad[:1]), *(row.host for row in self.drivers[:1])),
        )
        counters = self.growing or self.errors[:1]
        card = (*self.drivers[:1], *self.on[:1])
        evidence = (
            *self.bad[:1],
            *self.kernel[:2],
            *self.sixth[:2],
            *self.inner[:1],
            *self.refused[:1],
            *counters,
            *card,
            *self.one_sided[:2],
            *self.helps[:1],
            *self.returned[:1],
        )
        return found(strength, who, evidence, say=say, device=self.device)


def nothing_arrives(seen: Seen) -> Finding | None:
    lost = lost_on_the_way(seen.picture, "vxlan")
    return ruled_out((lost[1],)) if lost and seen.sides <= {"sender"} else None


def pings_fail_too(seen: Seen) -> Finding | None:
    dead = cross_node_dead(seen.picture)
    return ruled_out(dead[:1]) if dead and not seen.one_sided and not seen.bad else None


def bad_on_arrival(seen: Seen) -> Finding | None:
    if "receiver" in seen.sides or ("unknown" in seen.sides and seen.supported):
        strength = PROVEN if seen.one_sided else STRONG if seen.supported else LIKELY
        return seen.found(strength, "bad-on-arrival")
    return None


def kernel_drops(seen: Seen) -> Finding | None:
    """Only the kernel that receives a packet says so, and it drops the packet."""
    if not seen.kernel:
        return None
    broken = seen.one_sided or seen.sixth or trouble(seen.picture) or seen.picture.said("suffers", "complains")
    return seen.found(STRONG if broken else LIKELY, "bad-on-arrival")


def bad_inside(seen: Seen) -> Finding | None:
    """A sender sees wrong sums of its own, which the card is to fill in; a receiver that counts them does not."""
    if not (seen.inner and seen.refused and (seen.vxlan or "vxlan" in _captured(seen.picture))):
        return None
    return seen.found(STRONG if seen.drivers or seen.on else LIKELY, "bad-inside")


def off_helps(seen: Seen) -> Finding | None:
    if seen.helps and (seen.one_sided or seen.errors or seen.vxlan):
        return seen.found(PROVEN if seen.cured and seen.growing else STRONG, "off-helps")
    return None


def errors_counted(seen: Seen) -> Finding | None:
    slowly = seen.growing and seen.vxlan and (seen.on or slow(seen.picture))
    return seen.found(STRONG, "errors-counted") if (seen.errors and seen.one_sided) or slowly else None


def after_six_repetitions(seen: Seen) -> Finding | None:
    """The sixth repetition of TCP's first packet is sent without a sum, and is the first to be taken."""
    return seen.found(LIKELY, "after-six-repetitions") if seen.sixth and (seen.vxlan or seen.vxlan_told) else None


def pings_only(seen: Seen) -> Finding | None:
    """Offload is on nearly everywhere; a card that is known for it, or a release, makes it likelier than a policy."""
    if not (seen.one_sided and (seen.vxlan or seen.vxlan_told)):
        return None
    known = bool(seen.returned) or any(row["driver"] not in COMMON_DRIVERS for row in seen.drivers)
    return seen.found(LIKELY if known and not _policies(seen.picture) else POSSIBLE, "pings-only")


def arrival_not_shown(seen: Seen) -> Finding | None:
    if seen.one_sided or seen.growing:
        return seen.found(POSSIBLE, "arrival-not-shown")
    return seen.found(HINT, "arrival-not-shown") if "unknown" in seen.sides else None


def receiver_counts_none(seen: Seen) -> Finding | None:
    none = seen.bad and seen.clean and not seen.errors
    return ruled_out((*seen.clean[:1], *seen.bad[:1])) if none else None


def sender_only(seen: Seen) -> Finding | None:
    return cannot_tell() if seen.bad else None


def _policies(picture: Picture) -> bool:
    """Whether a policy of pods is shown: it may let pings through, and nothing else."""
    shown = any(document.kind in _POLICIES for document in picture.of(Document))
    return shown or any("polic" in exhibit.command and exhibit.lines for exhibit in picture.commands("get"))


def _of_calico(picture: Picture, text: str) -> bool:
    """A rollback of Calico: the sentence names it or a release of it, and no kernel or card."""
    low = text.lower()
    if any(
        word in low for word in ("kernel", "内核", "firmware", "固件", "driver", "驱动", "network policy", "网络策略")
    ):
        return False
    upgraded = any(said.values[:1] == ("calico",) for said in picture.said("upgraded"))
    return "calico" in low or (upgraded and compiled(r"\bv?3\.\d{1,2}\b").search(text) is not None)


def _captured(picture: Picture) -> set[str]:
    return {kind for capture in captures(picture) for kind in capture.kinds}


def _device(picture: Picture) -> str:
    """Where VXLAN was captured, else what ethtool was asked about."""
    for capture in captures(picture):
        if "vxlan" in capture.kinds and capture.device not in ("any", ""):
            return capture.device
    asked = next(rows(picture, r"", "ethtool -k", "ethtool -K", "ethtool -i"), None)
    words = asked.command.replace(";", " ").split() if asked else []
    return next((words[i + 2] for i, word in enumerate(words[:-2]) if word == "ethtool"), "")


def fix(picture: Picture, finding: Finding) -> Iterator[Do | Step]:
    device = finding.value("device", "vxlan.calico")
    if finding.rule != "off-helps":  # there it was tried, with success
        yield do("try", device=device)
    yield do("last")
    yield from ways.set_felix(picture, "featureDetectOverride", '"ChecksumOffloadBroken=true"')
    if device != "vxlan.calico":
        yield do("card", device=device)


CAUSE = Cause(
    module=__name__,
    id="vxlan-checksum-offload",
    code="TRT7011",
    severity="high",
    explains=("traffic-dead", "service-dead"),
    signs=(BAD_SUM, SUM_ERRORS, INNER_SUM, TCP_ERRORS, KERNEL_SAYS),
    look=Seen,
    rules=(
        nothing_arrives, pings_fail_too, bad_on_arrival, kernel_drops, bad_inside, off_helps, errors_counted,
        after_six_repetitions, pings_only, arrival_not_shown, receiver_counts_none, sender_only,
    ),
    fix=fix,
)  # fmt: skip
