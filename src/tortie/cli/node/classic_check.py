"""`tortie node check --classic VERSION -felix-live ...`: calico-node's own probe, with its texts and its blind spots.

An exec probe: nothing is loaded that it does not need. Only the first failure is told, as there; of several, that one
which comes first when all are asked at once: a socket is sooner there than an answer, and a command comes last.
"""

from __future__ import annotations

import os
import sys
import time

from tortie.health.probe import NoAnswer
from tortie.health.probe import ask as ask_page
from tortie.model.errors import UsageError
from tortie.node.classic.release import Release, hurry_of, read_release

TYPE_CHECKING = False  # typing's own name for it would have to be imported
if TYPE_CHECKING:
    from tortie.bgp.replies import SessionState

_NODENAME = "/var/lib/calico/nodename"
_SOCKET = "/var/run/calico/bird.ctl"
_FALLBACK = "/var/run/bird/bird.ctl"  # looked at when the other is not there, and then the one that is named
_SERVICES = "/etc/service/enabled"
_CONFIGURATION = "/etc/calico/confd/config/bird.cfg"
_BIRD_S = 2.0
_FELIX_S = 30.0
_NOTHING_ASKED = (
    "calico/node check error: must specify at least one of -bird-live, -bird6-live, -felix-live, -bird, -bird6, or "
    "-felix"
)
_ORDER = ("bird_ready", "bird6_ready", "felix_live", "felix_ready", "bird_live", "bird6_live")


class NotWell(Exception):
    """The text behind `calico/node is not ready: `."""


def check_classic(version: str | None, checks: list[str], threshold: str | None = None) -> int:
    if version is None:
        raise UsageError("calico-node's checks without --classic", "they are another program's", "use --live, --ready")
    probe = Probe(read_release(version), os.environ.get("TORTIE_ROOT") or "/", _seconds(threshold))
    if not checks:
        sys.stdout.write(f"{_NOTHING_ASKED}\n")
        return 1
    reason = ""
    try:
        for name in _ORDER:
            if name in checks:
                getattr(probe, name)()
    except NotWell as failure:
        reason = f"calico/node is not ready: {failure}"
    sys.stdout.write(told(probe.release, probe.heading, probe.counted, reason))
    return 1 if reason else 0


def told(release: Release, heading: str, counted: str, reason: str) -> str:
    """Up to v3.13 the reason has no end of line, so that the count is glued to it; later the count comes first."""
    glued = release.count_glued
    text = heading + (f"{reason}{counted}" if glued else f"{counted}{reason}")
    return text if not text or text.endswith("\n") or (glued and reason) else f"{text}\n"


class Probe:
    def __init__(self, release: Release, root: str, threshold_s: float) -> None:
        self.release = release
        self.heading = ""
        self.counted = ""  # what the log says of established sessions
        self._root = root
        self._threshold_s = threshold_s

    def felix_live(self) -> None:
        self._felix("liveness", "Felix is not live")

    def felix_ready(self) -> None:
        self._felix("readiness", "felix is not ready")

    def bird_live(self) -> None:
        self._services("bird")

    def bird6_live(self) -> None:
        self._services("bird6")

    def bird_ready(self) -> None:
        self._routing("BIRD", 4)

    def bird6_ready(self) -> None:
        self._routing("BIRD6", 6)

    def _felix(self, question: str, failed: str) -> None:
        host = os.environ.get("FELIX_HEALTHHOST") or "localhost"
        port = os.environ.get("FELIX_HEALTHPORT") or "9099"
        url = f"http://{host}:{port}/{question}"
        get = f'Get "{url}"' if self.release.quotes_urls else f"Get {url}"
        try:
            address = _resolved(host)
            answer = ask_page(address, int(port), f"/{question}", _FELIX_S)
        except LookupError as error:
            raise NotWell(f"{failed}: {get}: dial tcp: {error}") from None
        except NoAnswer as error:
            _, _, said = error.what.partition('": ')
            raise NotWell(f"{failed}: {get}: {said}") from None
        if not 200 <= answer.status < 400:
            raise NotWell(f"{failed}: {question} probe reporting {answer.status}")

    def _services(self, name: str) -> None:
        """`sv status` of confd, which is the agent itself here, and of BIRD."""
        for service in ("confd", name):
            if not os.path.isdir(self._below(f"{_SERVICES}/{service}")):
                raise NotWell(f"{name}/confd is not live: exit status 1")
        if not _runs(self._below(_CONFIGURATION)):
            output = f"down: {_SERVICES}/{name}: 1s, normally up, want up"
            raise NotWell(f"{name}/confd is not live: service {name} is not running. Output << {output} >>")
        if self.release.asks_birdcl:
            from tortie.bgp.control import BirdUnreachable, ask_all
            from tortie.bgp.replies import BirdError

            try:
                ask_all(self._below(_SOCKET), ("show status",), self._threshold_s)
            except BirdUnreachable:
                raise NotWell(f"{name} is not live: exit status 1") from None
            except BirdError:
                raise NotWell(f"{name} is not live: timed out") from None

    def _routing(self, name: str, family: int) -> None:
        try:
            age_s = time.time() - os.stat(self._below(_NODENAME)).st_mtime
        except OSError as error:
            said = os.strerror(error.errno or 0).lower()
            raise NotWell(f"{name} is not ready: failed to stat() nodename file: stat {_NODENAME}: {said}") from None
        if (3, 7) <= self.release < (3, 9):
            self.heading = f"Threshold time for bird readiness check:  {self._threshold_s:g}s\n"
        sessions, recovering = self._asked_bird(name, family)
        up = sum(1 for session in sessions if session.established)
        self.counted = self._count_line(up)
        down = ",".join(str(session.peer) for session in sessions if not session.established)
        young = age_s < self._threshold_s or not self.release.one_peer_suffices
        if sessions and down and (young or not up):
            raise NotWell(f"{name} is not ready: BGP not established with {down}")
        if sessions and young and recovering:
            raise NotWell(f"{name} is not ready: graceful restart in progress")

    def _asked_bird(self, name: str, family: int) -> tuple[list[SessionState], bool]:
        from tortie.bgp.control import ask_all
        from tortie.bgp.replies import BirdError, sessions_in, status_in

        path = self._below(_SOCKET)
        shown = _SOCKET if os.path.exists(path) else _FALLBACK
        try:
            protocols, status = ask_all(path, ("show protocols", "show status"), _BIRD_S)
            sessions = [each for each in sessions_in(protocols) if each.peer and each.peer.version == family]
            return sessions, status_in(status).recovering
        except BirdError as error:
            said = error.what.replace(path, shown)
            connecting = said.startswith("unable to connect")
            what = "Error querying BIRD" if connecting else "Error executing command"
            if connecting and family == 6:
                said = said.replace("BIRDv4", "BIRDv6").replace("bird.ctl", "bird6.ctl")
            raise NotWell(f"{name} is not ready: {what}: {said}") from None

    def _count_line(self, up: int) -> str:
        now = time.time()
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03}"
        place = "health.go 156" if self.release.count_glued else "confd/health.go 180"
        return f"{when} [INFO][{os.getpid()}] {place}: Number of node(s) with BGP peering established = {up}\n"

    def _below(self, path: str) -> str:
        return path if self._root in ("", "/") else os.path.join(self._root, path.lstrip("/"))


def _resolved(host: str) -> str:
    """As Go's dialler: the first IPv4 address of the name."""
    import _socket

    try:
        found = _socket.getaddrinfo(host.encode(), None, 0, _socket.SOCK_STREAM)
    except OSError:
        raise LookupError(f"lookup {host}: no such host") from None
    addresses = [str(entry[4][0]) for entry in found]
    return next((address for address in addresses if ":" not in address), addresses[0])


def _runs(configuration: str) -> bool:
    """A BIRD with that file, in whatever state."""
    wanted = os.fsencode(configuration)
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if wanted in words and os.path.basename(words[0]) == b"bird":
                return True
    return False


def _seconds(text: str | None) -> float:
    if text is None:
        return 30.0 / hurry_of(os.environ)
    told = text.removesuffix("s")
    try:
        return max(0.0, float(told))
    except ValueError:
        raise UsageError(f"'{text}' is no time", "-threshold-time says so", "use seconds, such as 30s") from None
