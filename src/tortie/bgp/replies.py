"""What BIRD says on its control socket, put together from bytes and read into typed values. Pure.

A reply is a number of lines: `NNNN-text`, the last one `NNNN text`; a line that begins with a blank has the code of the
line before. A line that begins with `+` was not asked for (a log message, a configuration undone by a timer) and
belongs to no reply. Replies of BIRD 2 and of BIRD 1.6, which Calico runs, are understood, with any format of times.
Routes are read by `tortie.bgp.reply_routes`, details of protocols by `tortie.bgp.reply_details`.
"""

from __future__ import annotations

import re
from collections import deque
from functools import lru_cache
from ipaddress import IPv4Address, ip_address
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from tortie.model.errors import TortieError
from tortie.model.network import IP

if TYPE_CHECKING:
    from tortie.bgp.plan import SessionKind  # its module loads the resources, which a short command does without

GREETING: Final = 1
RESTRICTED: Final = 16
ROUTE_NOT_FOUND: Final = 8001
REFUSED_CONFIGURATION: Final = 8002
NO_SUCH_PROTOCOL: Final = 8003
INTERRUPTED: Final = 8004  # by a reconfiguration; to be asked again
ACCESS_DENIED: Final = 8007
SYNTAX_ERROR: Final = 9001
_LINE_OVERFLOW: Final = 8000  # stands in for a line that BIRD could not print
_FIRST_REFUSAL: Final = 8000

LINE_MAX: Final = 16 * 1024  # BIRD's own lines end at 512
REPLY_MAX: Final = 16 * 1024 * 1024  # letters; details of some 8,000 peers
_LINE_SHOWN: Final = 200

_REFUSALS: Final = {
    ACCESS_DENIED: ("the connection may only read", "ask on a connection that is not restricted"),
    SYNTAX_ERROR: ("this BIRD does not know the command or a name in it", "compare its version and configuration"),
}


class BirdError(TortieError):
    """Something is wrong between us and BIRD."""


class BirdGarbled(BirdError):
    """An answer that is not one of BIRD's, or of a BIRD that we do not know."""

    code = "bird-garbled"

    def __init__(self, line: str, what: str = "unexpected output line from BIRD") -> None:
        self.line = "".join(letter if letter.isprintable() else "?" for letter in line[:_LINE_SHOWN])
        fix = "see what listens on that socket; BIRD 1.6 and BIRD 2 are understood"
        super().__init__(what, f"it says: {self.line}", fix)


class BirdRefused(BirdError):
    """BIRD understood us and did not do it, or did not understand."""

    code = "bird-refused"

    def __init__(self, number: int, message: str) -> None:
        self.number = number  # BIRD's code
        self.message = message
        why, fix = _REFUSALS.get(number, (f"code {number:04}", "its log tells more"))
        super().__init__(f"BIRD refuses: {message}", why, fix)


class Line(NamedTuple):
    code: int
    text: str  # without the code and the mark behind it; its blanks are kept


class Reply(NamedTuple):
    lines: tuple[Line, ...]  # at least one

    @property
    def code(self) -> int:
        """How it went, which the last line tells."""
        return self.lines[-1].code

    @property
    def message(self) -> str:
        return self.lines[-1].text

    @property
    def refused(self) -> bool:
        return self.code >= _FIRST_REFUSAL

    def check(self) -> None:
        if self.refused:
            raise BirdRefused(self.code, self.message)


class ReplyReader:
    """Puts replies together, wherever the stream was cut. After an error it is of no further use."""

    def __init__(self, reply_max: int = REPLY_MAX) -> None:
        self._reply_max = reply_max
        self._unended = b""  # the beginning of a line
        self._unread: deque[str] = deque()
        self._lines: list[Line] = []
        self._size = 0

    @property
    def idle(self) -> bool:
        """Nothing of a reply has come that was not given out."""
        return not (self._lines or self._unread or self._unended)

    def feed(self, data: bytes) -> Reply | None:
        """The next reply if all of it is there. Several may have come together: `feed(b"")` gives the next of them."""
        whole, end, rest = data.rpartition(b"\n")
        if end:
            self._unread.extend((self._unended + whole).decode("utf-8", "replace").split("\n"))
            self._unended = rest
        else:
            self._unended += data
        while self._unread:
            text = self._unread.popleft()
            self._size += len(text)
            if self._size > self._reply_max:
                raise BirdGarbled(text, f"a reply of BIRD is longer than {self._reply_max} letters")
            if self._is_last(text):
                reply = Reply(tuple(self._lines))
                self._lines.clear()
                self._size = 0
                return reply
        if len(self._unended) > LINE_MAX:
            raise BirdGarbled(self._unended[:_LINE_SHOWN].decode("utf-8", "replace"), "a line without an end from BIRD")
        return None

    def _is_last(self, text: str) -> bool:
        mark = text[:1]
        if mark == " " and self._lines:
            self._lines.append(Line(self._lines[-1].code, text[1:]))
            return False
        if mark == "+":
            return False
        code, mark = text[:4], text[4:5]
        if not (len(code) == 4 and code.isascii() and code.isdigit() and mark in ("-", " ")):
            raise BirdGarbled(text)
        self._lines.append(Line(int(code), text[5:]))
        return mark == " "


class BirdStatus(NamedTuple):
    """The answer to `show status`. Times are texts, in whatever format this BIRD is told to use."""

    version: str
    router_id: IPv4Address
    now: str
    booted: str
    reconfigured: str
    recovering: bool = False  # a graceful restart: routes of before stay until all peers have told theirs
    waiting_for: int = 0  # channels (in BIRD 1.6 protocols) that have not, while recovering
    wait_left_s: float | None = None  # when it ends in any case
    state: Literal["up", "reconfiguring", "shutting down"] = "up"


_STATUS: Final[dict[str, Literal["up", "reconfiguring", "shutting down"]]] = {
    "Daemon is up and running": "up",
    "Reconfiguration in progress": "reconfiguring",
    "Shutdown in progress": "shutting down",
}
_SAID_ONCE: Final = re.compile(r"(Router ID is|Current server time is|Last reboot on|Last reconfiguration on) (.*)")
_WAITING: Final = re.compile(r" *Waiting for (\d+) ")
_WAIT_TIMER: Final = re.compile(r" *Wait timer is ([\d.]+)/")


def status_in(reply: Reply) -> BirdStatus:
    reply.check()
    version, waiting_for, wait_left_s = "", 0, None
    told: dict[str, str] = {}
    for code, text in reply.lines:
        if code == 1000:
            version = text.removeprefix("BIRD ")
        elif code == 1011 and (match := _SAID_ONCE.fullmatch(text)):
            told[match[1]] = match[2]
        elif code == 24 and (match := _WAITING.match(text)):
            waiting_for = int(match[1])
        elif code == 24 and (match := _WAIT_TIMER.match(text)):
            wait_left_s = float(match[1])
    state = _STATUS.get(reply.message)
    if reply.code != 13 or state is None or not version:
        raise BirdGarbled(reply.message)
    try:
        router_id = IPv4Address(told.get("Router ID is", "0.0.0.0"))
    except ValueError:
        raise BirdGarbled(f"Router ID is {told['Router ID is']}") from None
    return BirdStatus(
        version,
        router_id,
        told.get("Current server time is", ""),
        told.get("Last reboot on", ""),
        told.get("Last reconfiguration on", ""),
        any(line.code == 24 for line in reply.lines),
        waiting_for,
        wait_left_s,
        state,
    )


class Protocol(NamedTuple):
    """A row of `show protocols`."""

    name: str
    proto: str  # BGP, Kernel, Static, ...
    table: str  # "---" if it has several, or none
    state: str  # up, start, stop, flush, down; BIRD 1.6 also: wait, feed
    since: str
    info: str


# The time ends with two blanks and may have single ones in it; everything before it is one word each.
_ROW: Final = re.compile(r"(\S+) +(\S+) +(\S+) +(\S+) +(\S+(?: \S+)*)(?:  +(.*))?")
_COLUMNS: Final = ["name", "proto", "table", "state", "since", "info"]


def protocols_in(reply: Reply) -> tuple[Protocol, ...]:
    """Of `show protocols`, with or without `all`; empty if no protocol has the name that was asked for."""
    if reply.code == NO_SUCH_PROTOCOL:
        return ()
    reply.check()
    return tuple(protocol_in(line) for line in reply.lines if _is_row(line))


def _is_row(line: Line) -> bool:
    if line.code == 2002 and line.text.lower().split() != _COLUMNS:
        raise BirdGarbled(line.text, "unknown BIRD table output format")
    if line.code not in (0, 1002, 1006, 2002, _LINE_OVERFLOW):
        raise BirdGarbled(f"{line.code:04} {line.text}")
    return line.code == 1002


def protocol_in(line: Line) -> Protocol:
    match = _ROW.fullmatch(line.text.rstrip())
    if match is None:
        raise BirdGarbled(line.text)
    return Protocol(match[1], match[2], match[3], match[4], match[5], match[6] or "")


class SessionState(NamedTuple):
    """How BIRD sees one of the sessions that are named as Calico names them."""

    name: str
    kind: SessionKind
    peer: IP | None  # as the name tells it; None if that is none of Calico's names after all
    port: int | None  # if the name tells one
    state: str  # of the protocol: up, start, stop, flush, down; BIRD 1.6 also: wait, feed
    bgp_state: str  # Established, Active, Connect, OpenSent, OpenConfirm, Idle, Passive, Close, Down
    since: str
    error: str  # the last one: Socket: Connection refused, BGP Error: Bad peer AS, ...

    @property
    def established(self) -> bool:
        """While BIRD 1.6 recovers from a restart, that is so in the state `wait`."""
        return self.bgp_state == "Established"

    @property
    def info(self) -> str:
        """As calicoctl shows it: the state of BGP, and the last error."""
        return f"{self.bgp_state} {self.error}".strip()


_NAME: Final = re.compile(r"(Global|Node|Mesh)_(.+?)(?:_port_(\d+))?")
_KINDS: Final[dict[str, SessionKind]] = {"Global": "global", "Node": "node", "Mesh": "mesh"}
_BGP_STATES: Final = frozenset(
    ("Idle", "Connect", "Active", "OpenSent", "OpenConfirm", "Established", "Close", "Passive", "Down")
)


def sessions_in(reply: Reply) -> tuple[SessionState, ...]:
    """Of `show protocols`: the sessions of a mesh, of nodes and global ones, in BIRD's order."""
    found = []
    for protocol in protocols_in(reply):
        meant = _meant_by(protocol.name)
        if meant is None or protocol.proto != "BGP":
            continue
        bgp_state, _, error = protocol.info.partition(" ")
        if bgp_state not in _BGP_STATES:  # a protocol that is down tells only why
            bgp_state, error = "Down", protocol.info
        found.append(SessionState(protocol.name, *meant, protocol.state, bgp_state, protocol.since, error.lstrip()))
    return tuple(found)


@lru_cache(maxsize=4096)  # the agent asks for the same sessions again and again
def _meant_by(name: str) -> tuple[SessionKind, IP | None, int | None] | None:
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    return _KINDS[match[1]], _named_peer(match[2]), int(match[3]) if match[3] else None


def _named_peer(text: str) -> IP | None:
    for mark in ".:":
        try:
            return ip_address(text.replace("_", mark))
        except ValueError:
            continue
    return None


Outcome = Literal[
    "reconfigured", "in progress", "queued", "unqueued", "ignored", "confirmed", "unchanged", "valid", "refused"
]


class Configured(NamedTuple):
    """How `configure` went. Refused: the old configuration stays."""

    outcome: Outcome
    message: str  # BIRD's own words, of a refusal with the place
    file: str = ""  # where the fault is
    line: int = 0  # 0 if the file as such is the trouble
    column: int = 0


_OUTCOMES: Final[dict[int, Outcome]] = {
    3: "reconfigured",
    4: "in progress",
    5: "queued",
    6: "ignored",  # BIRD is shutting down
    17: "unqueued",
    18: "confirmed",
    19: "unchanged",
    20: "valid",
}
_FAULT: Final = re.compile(r"(.*?):(?:(\d+):(\d+))? ")


def configured_in(reply: Reply) -> Configured:
    """Of `configure` in all its forms. A configuration that is refused is an answer, not an error."""
    if reply.code == REFUSED_CONFIGURATION:
        match = _FAULT.match(reply.message)
        place = (match[1], int(match[2] or 0), int(match[3] or 0)) if match else ("", 0, 0)
        return Configured("refused", reply.message, *place)
    reply.check()
    outcome = _OUTCOMES.get(reply.code)
    if outcome is None:
        raise BirdGarbled(f"{reply.code:04} {reply.message}")
    return Configured(outcome, reply.message)


def value_in(reply: Reply) -> str:
    """Of `eval`."""
    reply.check()
    if reply.code != 23:
        raise BirdGarbled(f"{reply.code:04} {reply.message}")
    return reply.message
