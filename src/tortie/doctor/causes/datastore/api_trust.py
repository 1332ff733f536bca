"""Certificates that were not accepted, and clocks: questions that the causes around TLS and time share."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.causes.datastore.api_evidence import API_PORTS, COMMON_PORTS, ETCD_PORTS, TYPHA_PORT
from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Certificate, Clock, LogLine
from tortie.doctor.picture.picture import Picture
from tortie.doctor.reading.exhibit import Exhibit, Place
from tortie.doctor.reading.readers.host_times import moment
from tortie.doctor.signs import Hit, Sign
from tortie.model.tuples import NamedTuple

AFTER: Final = Sign("x509-after", "certificate has expired or is not yet valid: current time <now> is after <end>")
BEFORE: Final = Sign("x509-before", "certificate has expired or is not yet valid: current time <now> is before <begin>")
EXPIRED: Final = Sign("x509-expired", "certificate has expired or is not yet valid")
UNKNOWN_CA: Final = Sign("x509-unknown-ca", "certificate signed by unknown authority")
NO_SAN: Final = Sign("x509-no-san", "cannot validate certificate for <ip> because it doesn't contain any IP SANs")
WRONG_NAME: Final = Sign("x509-wrong-name", "x509: certificate is valid for <list_names>, not <name>")
KEY_USAGE: Final = Sign("x509-key-usage", "x509: certificate specifies an incompatible key usage")
BAD_CERTIFICATE: Final = Sign("tls-bad-certificate", "remote error: tls: bad certificate")
UNKNOWN_AUTHORITY: Final = Sign("tls-unknown-authority", "tls: unknown certificate authority")
LEGACY_NAME: Final = Sign("x509-legacy-name", "certificate relies on legacy Common Name field")
# The same as Tortie's agent and command say it; the endpoint stands before it.
OUR_EXPIRED: Final = Sign("tortie-etcd-expired", "its server certificate expired on")
OUR_EARLY: Final = Sign("tortie-etcd-early", "its server certificate is valid only from")
OUR_UNKNOWN_CA: Final = Sign("tortie-etcd-unknown-ca", "its server certificate is not signed by")
OUR_WRONG_NAME: Final = Sign("tortie-etcd-wrong-name", "its server certificate is for <list_names>, not for <name>")
OUR_REFUSED: Final = Sign("tortie-etcd-refused", "it refuses the client certificate")
CURL_EARLY: Final = Sign("curl-early", "SSL certificate problem: certificate is not yet valid")
TRUST_SIGNS: Final = (
    AFTER, BEFORE, EXPIRED, UNKNOWN_CA, NO_SAN, WRONG_NAME, KEY_USAGE, BAD_CERTIFICATE, UNKNOWN_AUTHORITY, LEGACY_NAME,
    OUR_EXPIRED, OUR_EARLY, OUR_UNKNOWN_CA, OUR_WRONG_NAME, OUR_REFUSED, CURL_EARLY,
)  # fmt: skip
STEPPED: Final = Sign("clock-stepped", "System clock wrong by (-)?<n> seconds")
CLOCK_STEP: Final = Sign("clock-step-ntpd", "clock_step <offset>")
STEP_TIME_SERVER: Final = Sign("clock-step-ntpdate", "step time server <ip> offset <offset>")
NOT_YET: Final = Sign("token-not-yet", "token (is )?not valid yet")
TOKEN_EXPIRED: Final = Sign("token-expired-api", "token has expired")
OFF_BY: Final = Sign("clock-off-by", "<n> seconds (fast|slow) of NTP time")
UNSYNCHRONISED: Final = Sign("clock-unsynchronised", "(System clock|NTP) synchronized: no")
CLOCK_SIGNS: Final = (STEPPED, CLOCK_STEP, STEP_TIME_SERVER, NOT_YET, TOKEN_EXPIRED, OFF_BY, UNSYNCHRONISED)

DAY: Final = 86400.0
APART_S: Final = 120.0  # clocks that differ by less may have been asked one after the other
STEP_S: Final = 60.0
SITTING_S: Final = 3600.0
_BESIDE: Final = 4  # lines between two questions that were asked in one go
_SOCKET = lazily(
    r"(?<![\d.])((?:\d{1,3}\.){3}\d{1,3}|(?<![a-z0-9_.-])[a-z][a-z0-9_.-]{0,252}[a-z0-9])"
    r"\]?:(\d{2,5})(?=[/\"' ,;)]|$|: )",
    re.IGNORECASE,
)
_URL = lazily(r"https://\[?([\w.-]+?)\]?(?::(\d{2,5}))?(/[^\s\"'\\]*)?(?=[\s\"'\\:,;)]|$)")
_API_PATH = lazily(r"/(?:apis?|version|healthz|readyz|livez|openapi)(?:[/?]|$)")
_CALICOS_PATH: Final = "/apis/projectcalico.org/v3"  # served by Calico's own API server, with its own certificate
_OF_CLIENT: Final = "unable to authenticate the request"  # the API server about the certificate of who asks it
_NUMBER = lazily(r"\d+(?:\.\d+)?")
_LOOP = lazily(r"for \w+ in ([^;]{1,400}); ?do")
_LEADING = lazily(r"\s*((?:\d{1,3}\.){3}\d{1,3}|[a-z][\w.-]*)[\s:]+notAfter", re.IGNORECASE)
_ELSEWHERE = ("image", "pull", "registry", "/v2/", "webhook", "metrics-server", "helm", "prometheus")


class Refusal(NamedTuple):
    """A certificate that somebody did not accept."""

    hit: Hit
    server: str  # api, etcd, typha; client: who asks them; other: anybody else; empty: nothing says whose it is
    address: str = ""
    port: int | None = None


def refusals(picture: Picture, *signs: Sign) -> list[Refusal]:
    """Certificates of the API server, etcd or Typha that were refused; not those of registries and webhooks."""
    found = []
    early = {hit.place for hit in picture.hits(BEFORE)}
    for hit in picture.hits(*signs):
        said = f"{_beginning(picture, hit)}{hit.line} {hit.text}"
        if hit.sign == EXPIRED.key and hit.place in early:
            continue  # the same words begin both messages
        if not any(word in said.lower() for word in _ELSEWHERE):
            found.append(_refusal(hit, said))
    return found


def _beginning(picture: Picture, hit: Hit) -> str:
    """The line above, when a narrow screen broke the message before its second half."""
    if _SOCKET.search(hit.line) or re.match(
        r"\s*(\d{4}-|[A-Z][a-z]{2} +\d|[EWIF]\d{4} |\[|time=|\{|Unable|\$|#)", hit.line
    ):
        return ""
    exhibit = _exhibit_of(picture, hit.place)
    if exhibit is None or exhibit.prose:
        return ""
    above = [line for i, line in enumerate(exhibit.lines) if exhibit.number(i) == hit.place.first - 1]
    return f"{above[0]} " if above else ""


def _refusal(hit: Hit, said: str) -> Refusal:
    if _OF_CLIENT in said.lower():
        return Refusal(hit, "client")
    if other := _other_server(said):
        return Refusal(hit, "other", other)
    for text in (said, hit.command):
        if ("typha" in text.lower() and "calico-typha" not in _path(text)) or f":{TYPHA_PORT}" in text:
            return Refusal(hit, "typha", _address(text, (TYPHA_PORT,)), TYPHA_PORT)
        for server, ports in (("etcd", ETCD_PORTS), ("api", API_PORTS)):
            for match in _SOCKET.finditer(text):
                if int(match[2]) in ports:
                    return Refusal(hit, server, match[1], int(match[2]))
    low = f"{said} {hit.command}".lower()
    if "etcd" in low:
        return Refusal(hit, "etcd", hit.value("ip"))
    if "unable to connect to the server" in low or "https://" in low or "kube-apiserver" in low:
        return Refusal(hit, "api", hit.value("ip"))
    return Refusal(hit, "", hit.value("ip"))


def _other_server(text: str) -> str:
    """The host of the first address in a line, where that is neither the API server nor etcd nor Typha.

    Many servers listen at 443; the API server is asked for a path of its own, or at an address of services.
    """
    url = _URL.search(text)
    if not url:
        return ""
    host, port, path = url[1], int(url[2] or 443), url[3] or ""
    if port in (*ETCD_PORTS, TYPHA_PORT):
        return ""
    if port not in API_PORTS or _CALICOS_PATH in path:
        return host
    own = _API_PATH.match(path) or (not path.strip("/") and not host[-1].isalpha())
    return "" if own or port not in COMMON_PORTS else host


def _path(text: str) -> str:
    """Discovery asks the API server for the endpoints of calico-typha: the name is then only part of a path."""
    at = text.find("https://")
    return text[at:].split(" ")[0] if at >= 0 else ""


def _address(text: str, ports: tuple[int, ...]) -> str:
    return next((m[1] for m in _SOCKET.finditer(text) if int(m[2]) in ports), "")


# Clocks


class Disagreement(NamedTuple):
    """A clock that cannot be right, because other evidence shows another time."""

    host: str
    seconds: float  # negative: behind
    place: Place


def unsynchronised(picture: Picture) -> list[Clock | Hit]:
    clocks: list[Clock | Hit] = [clock for clock in picture.of(Clock) if clock.synchronised is False]
    return clocks or list(picture.hits(UNSYNCHRONISED))


def synchronised(picture: Picture) -> list[Clock]:
    return [clock for clock in picture.of(Clock) if clock.synchronised]


def steps(picture: Picture) -> list[Hit]:
    """A clock that was set by a second was right enough for certificates and tokens."""
    return [hit for hit in picture.hits(STEPPED, CLOCK_STEP, STEP_TIME_SERVER, OFF_BY) if _seconds(hit) > STEP_S]


def _seconds(hit: Hit) -> float:
    number = _NUMBER.search(hit.value("n") or hit.value("offset"))
    return float(number[0]) if number else 0.0


def disagreement(picture: Picture) -> Disagreement | None:
    """Two machines asked for the date in one sitting show times more than two minutes and less than a session apart."""
    last: dict[str, Clock] = {clock.host: clock for clock in picture.of(Clock) if clock.time is not None and clock.host}
    clocks = sorted(last.values(), key=lambda clock: clock.time or 0.0)
    if len(clocks) < 2:
        return None
    first, final = clocks[0], clocks[-1]
    gap = (final.time or 0.0) - (first.time or 0.0)
    if gap < APART_S or (gap < SITTING_S and _one_after_the_other(first, final)):
        return None
    middle = clocks[len(clocks) // 2].time or 0.0
    trusted = next((clock for clock in clocks if clock.synchronised), None)
    reference = trusted.time if trusted and trusted.time is not None else _log_time(picture, first, final) or middle
    early, late = abs((first.time or 0.0) - reference), abs((final.time or 0.0) - reference)
    wrong = first if early > late else final
    return Disagreement(wrong.host, (wrong.time or 0.0) - reference, wrong.place)


def _one_after_the_other(first: Clock, final: Clock) -> bool:
    """Asked with other work between, in the order of the times they show: that is how long the work took."""
    same = first.place.source == final.place.source
    return same and final.place.first - first.place.first > _BESIDE


def agreeing(picture: Picture) -> list[Clock]:
    """Clocks of several machines that show the same time."""
    clocks = [clock for clock in picture.of(Clock) if clock.time is not None]
    times = [clock.time or 0.0 for clock in clocks]
    several = len({clock.host for clock in clocks}) > 1
    return clocks if several and max(times) - min(times) < APART_S else []


def _log_time(picture: Picture, first: Clock, final: Clock) -> float | None:
    """What most other machines' logs say, where the two dates are days apart."""
    if (final.time or 0.0) - (first.time or 0.0) < DAY:
        return None
    times = sorted(line.time for line in picture.of(LogLine) if line.time is not None)
    return times[len(times) // 2] if times else None


def evidence_now(picture: Picture) -> float | None:
    """About when the evidence was taken: the last clock shown, else the last line of a log or the time of a refusal."""
    clocks = [clock.time for clock in picture.of(Clock) if clock.time is not None]
    if clocks:
        return max(clocks)
    times = [line.time for line in picture.of(LogLine) if line.time is not None]
    times = times or [time for hit in picture.hits(AFTER) if (time := moment(hit.value("now"))) is not None]
    return max(times) if times else None


def command_of(picture: Picture, cert: Certificate) -> str:
    """The command that showed a certificate."""
    return shown_by(picture, cert.place)


def shown_by(picture: Picture, place: Place) -> str:
    exhibit = _exhibit_of(picture, place)
    return exhibit.command if exhibit else ""


def where(picture: Picture, cert: Certificate) -> str:
    """Whose certificate it is. A loop over several machines prints the address before it, or keeps their order."""
    exhibit = _exhibit_of(picture, cert.place)
    if exhibit is None or not (loop := _LOOP.search(exhibit.command)):
        return cert.endpoint or cert.subject
    index = next((i for i in range(len(exhibit.lines)) if exhibit.number(i) == cert.place.first), 0)
    if named := _LEADING.match(exhibit.lines[index]):
        return named[1]
    words = loop[1].split()
    shown = [c.place.first for c in picture.of(Certificate) if _exhibit_of(picture, c.place) is exhibit]
    if len(shown) == len(words) and cert.place.first in shown:
        return words[shown.index(cert.place.first)]
    return cert.endpoint or cert.subject


def _exhibit_of(picture: Picture, place: Place) -> Exhibit | None:
    for exhibit in picture.exhibits:
        if exhibit.source != place.source or not exhibit.lines:
            continue
        if exhibit.number(0) <= place.first <= exhibit.number(len(exhibit.lines) - 1):
            return exhibit
    return None


def expired(picture: Picture) -> list[Certificate]:
    """Certificates shown whose end lies before the evidence was taken."""
    now = evidence_now(picture)
    if now is None:
        return []
    return [cert for cert in picture.of(Certificate) if cert.not_after is not None and cert.not_after < now]
