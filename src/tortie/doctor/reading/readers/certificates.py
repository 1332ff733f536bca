"""Certificates and tokens: openssl x509 and s_client, kubeadm certs check-expiration, decoded service account tokens.

Certificate.endpoint is what s_client connected to or the file that was read; kubeadm's table gives the certificate's
name as subject. Settings: scope `token`, name exp, iat, nbf, sub or iss, value as written (host_times.moment reads
it), owner the file the token came from; scope `tls`, name the endpoint, value openssl's verdict (`10 (certificate has
expired)`); scope `fingerprint`, name the kind of hash, value the hash, owner the file where it is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.picture.facts import Certificate, Fact, Setting
from tortie.doctor.reading.exhibit import Exhibit
from tortie.doctor.reading.readers.host_commands import option, rows, segments, words_after
from tortie.doctor.reading.readers.host_times import moment

_START: Final = lazily(r"(?:notBefore ?=|Not Before ?:|NotBefore:) ?([A-Z][a-z]{2} [^;]+)")
_END: Final = lazily(r"(?:notAfter ?=|Not After ?:|NotAfter:) ?([A-Z][a-z]{2} [^;]+)")
_SUBJECT: Final = lazily(r"^(?:subject ?[=:]|Subject:|\d+ s:) ?(.+)$")
_NAMES: Final = lazily(r"(?:DNS|IP Address|IP):([^\s,]+)")
_KUBEADM: Final = lazily(
    r"^(?:!?MISSING! )?([\w./-]+)\s+([A-Z][a-z]{2} \d{1,2}, \d{4} \d\d:\d\d [A-Z]{2,4})\s+(<invalid>|\d+[ydhm]\w*)"
)
_CLAIM: Final = lazily(r'"(exp|iat|nbf|sub|iss)":\s*"?([^",}\s]+)')
_TOLD: Final = ("notAfter=", "notBefore=", "subject=")
_FINGERPRINT: Final = lazily(r"^(?:(\S{1,200})\s+)?(\w{1,20}) Fingerprint ?= ?([0-9A-Fa-f:]{32,100})$")
_SUM: Final = lazily(r"^([0-9a-f]{32,64}) [ *]?(\S+)$")
_VERDICT: Final = lazily(r"Verif(?:y return code|ication error): ?(.+)$")


def read(exhibit: Exhibit) -> Iterator[Fact]:
    text = exhibit.text
    dated = "otBefore" in text or "otAfter" in text or "Not Before" in text or "Not After" in text
    if dated or "Alternative Name" in text or "DNS:" in text or "IP Address:" in text:
        yield from _certificates(exhibit)
    if " UTC " in text or "<invalid>" in text:
        yield from _kubeadm(exhibit)
    if '"exp"' in text or '"iat"' in text:
        yield from _tokens(exhibit)
    if "ingerprint" in text or "sum " in exhibit.command or exhibit.command.endswith("sum"):
        yield from _fingerprints(exhibit)
    if "Verify return code" in text or "Verification error" in text:
        endpoint = _endpoint(exhibit.command)
        for index, line in rows(exhibit):
            if verdict := _VERDICT.search(line):
                yield Setting(exhibit.place(index), "tls", endpoint, verdict[1], "", exhibit.host)


def _endpoints(command: str) -> list[str]:
    """What a command connects to or reads, in order; loops are unrolled."""
    found = []
    for segment in segments(command):
        for part in segment.split("|"):
            words = words_after(part, "openssl")
            where = option(words, "-connect") or option(words, "-in")
            if where and where != "/dev/stdin":
                found.append(where)
    return found


def _endpoint(command: str) -> str:
    if found := _endpoints(command):
        return found[0]
    reading = re.search(r"(?<![\w./-])(/[\w./-]{1,300}\.(?:crt|pem|cert))", command)
    return reading[1] if reading else ""


class _Found:
    """A certificate while its lines come in."""

    def __init__(self) -> None:
        self.first, self.last = -1, -1
        self.subject = ""
        self.endpoint = ""  # where the line itself begins with it
        self.start: float | None = None
        self.end: float | None = None
        self.names: tuple[str, ...] = ()

    @property
    def told(self) -> bool:
        return self.start is not None or self.end is not None or bool(self.names)

    def seen(self, index: int) -> None:
        self.first, self.last = (index if self.first < 0 else self.first), index


def _certificates(exhibit: Exhibit) -> Iterator[Fact]:
    """One after the other; a loop over machines or files shows as many as it has turns."""
    shown = list(_shown(exhibit))
    asked = _endpoints(exhibit.command)
    for number, certificate in enumerate(shown):
        if len(asked) > 1 and len(asked) == len(shown) and certificate.endpoint == asked[0]:
            certificate = certificate._replace(endpoint=asked[number])
        yield certificate


def _shown(exhibit: Exhibit) -> Iterator[Certificate]:
    endpoint = _endpoint(exhibit.command)
    found = _Found()
    for index, line in rows(exhibit):
        subject = _SUBJECT.match(line)
        start, end = _START.search(line), _END.search(line)
        again = (subject and found.subject) or (start and found.start) or (end and found.end)
        if again and found.told:
            yield _fact(exhibit, found, endpoint)
            found = _Found()
        found.endpoint = _led(line) or found.endpoint
        if subject:
            found.subject = subject[1].strip()
            found.seen(index)
        if start:
            found.start = moment(start[1])
            found.seen(index)
        if end:
            found.end = moment(end[1])
            found.seen(index)
        if line.startswith(("DNS:", "IP Address:", "IP:")):
            found.names = tuple(match[1] for match in _NAMES.finditer(line))
            found.seen(index)
    if found.told:
        yield _fact(exhibit, found, endpoint)


def _led(line: str) -> str:
    """The file or machine that stands before the first thing told about its certificate."""
    at = min((place for word in _TOLD if (place := line.find(word)) > 0), default=0)
    before = line[:at].strip(" \t:=|->")
    named = "." in before or "/" in before or any(letter.isdigit() for letter in before)
    return before if named and not any(letter.isspace() for letter in before) else ""


def _fact(exhibit: Exhibit, found: _Found, endpoint: str) -> Certificate:
    place = exhibit.place(found.first, found.last + 1)
    return Certificate(place, found.subject, found.start, found.end, found.names, found.endpoint or endpoint)


def _fingerprints(exhibit: Exhibit) -> Iterator[Fact]:
    """openssl's fingerprints and the sums of files: what two copies of a certificate are compared by."""
    for index, line in rows(exhibit):
        if match := _FINGERPRINT.match(line):
            value, file = match[3].replace(":", "").lower(), match[1] or _endpoint(exhibit.command)
            yield Setting(exhibit.place(index), "fingerprint", match[2].lower(), value, file, exhibit.host)
        elif match := _SUM.match(line):
            file = match[2] if match[2] != "-" else ""
            yield Setting(exhibit.place(index), "fingerprint", f"sum{len(match[1])}", match[1], file, exhibit.host)


def _kubeadm(exhibit: Exhibit) -> Iterator[Fact]:
    for index, line in rows(exhibit):
        match = _KUBEADM.match(line)
        if match:
            yield Certificate(exhibit.place(index), match[1], None, moment(match[2]))


def _tokens(exhibit: Exhibit) -> Iterator[Fact]:
    source = re.search(
        r"(?<![\w./-])(/[\w.-]{1,100}/[\w./-]{0,300}(?:kubeconfig|token)[\w./-]{0,300})", exhibit.command
    )
    for index, line in rows(exhibit):
        if len(line) > 4000:
            continue
        for match in _CLAIM.finditer(line):
            yield Setting(exhibit.place(index), "token", match[1], match[2], source[1] if source else "", exhibit.host)
