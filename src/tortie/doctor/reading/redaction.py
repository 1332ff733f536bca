"""Secrets taken out of lines before anything else sees them, so that no answer can repeat one.

A key's name, a user or a path stays; only the value goes. What only has a secret's name (`SecretName:`, `token
expired`, `serviceaccounts/token`) is left alone, because diagnoses are made of such words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

MASK: Final = "(redacted)"

# A text without any of these holds no secret that we know of: almost everything is done after looking for them.
_TRIGGERS: Final = (
    "eyj", "-----begin", "akia", "asia", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "xox", "glpat-", "-data", "token",
    "passw", "passphrase", "secret", "bearer", "basic ", "apikey", "api_key", "private", "credential", "auth", "_key",
    "accesskey", "sharedkey", "psk", ".crt", ".key",
)  # fmt: skip
_AT_ONCE: Final = 256  # lines
_JWT: Final = re.compile(r"eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?")
_DOTTED: Final = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")  # whole, so that no letter is looked at twice
_BEARER: Final = re.compile(r"(?i)\b(bearer|basic)(\s+)([A-Za-z0-9._~+/=-]{8,})")
_URL: Final = re.compile(r"(://[^/\s:@]{1,200}:)([^/\s@]{1,200})(@)")
_KNOWN: Final = re.compile(
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bgh[pousr]_[A-Za-z0-9]{20,}|\bxox[abprs]-[A-Za-z0-9-]{10,}|\bglpat-[A-Za-z0-9_-]{16,}"
    r"|\b[a-z0-9]{6}\.[a-z0-9]{16}\b"  # kubeadm's bootstrap token
)
_DATA: Final = re.compile(
    r"(?i)((?:client-key|client-certificate|certificate-authority|tls\.key|tls\.crt|ca\.crt)(?:-data)?[\"']?\s*[:=]\s*)([\"']?[A-Za-z0-9+/=]{24,}[\"']?)"
)
_NAMED: Final = re.compile(
    r"""(?ix)
    (?P<key>(?:token|passw(?:or)?d|passphrase|secret(?:_?key)?|api_?key|access_?key|private_?key|shared_?key|psk|credentials?|auth)
      ["']?\s*(?:[:=]|\s=>)\s*["']?)
    (?P<value>[^\s"',;{}()\[\]<>|]{4,})"""
)
_KEY_BEFORE: Final = re.compile(r"[\w.-]*\Z")
_KEY_SHOWN: Final = 24  # characters of a key before that word
# Values of such keys that are names, states or references.
_HARMLESS_KEYS: Final = re.compile(
    r"(?i)(secretname|tokenname|authorization-mode|client-auth|cert-auth|secretref|author)"
)
_HARMLESS: Final = re.compile(
    r"(?i)(true|false|none|null|nil|kubernetes|system:.*|/.*|<.*|\(.*|\$.*|\d{1,6}s?|x509.*|expired.*|invalid.*|unauthorized"
    r"|bearer|basic|[a-z]+-[a-z-]*token-[a-z0-9]{5}|[a-z-]+|\{\{.*)$"
)
_BIRD: Final = re.compile(r"(?i)(\bpassword\s+)([\"'][^\"']{1,200}[\"'])")
_FLAG: Final = re.compile(r"(?i)(\s--?(?:password|token|secret|p)[ =])([^\s-][^\s]{3,})")
_BEGIN: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]{1,60})-----")
_BASE64: Final = re.compile(r"^\s*[\"']?[A-Za-z0-9+/]{40,}={0,2}[\"']?,?\s*$")


def redacted(lines: Sequence[str]) -> Iterator[str]:
    """The same number of lines, without secrets; blocks of keys and certificates are followed to their end."""
    inside = False
    for start in range(0, len(lines), _AT_ONCE):
        block = lines[start : start + _AT_ONCE]
        if not inside and not _suspicious("\n".join(block)):
            yield from block
            continue
        for line in block:
            shown, inside = _in_block(line) if inside else _outside(line)
            yield shown


def _suspicious(text: str) -> bool:
    low = text.lower()
    return any(trigger in low for trigger in _TRIGGERS) or ("://" in text and "@" in text)


def _outside(line: str) -> tuple[str, bool]:
    """The line, and whether a block of a key or certificate begins in it."""
    begins = _BEGIN.search(line) if "-----BEGIN" in line else None
    if begins:
        return f"{redact(line[: begins.start()])}{begins[0]} {MASK}", "-----END" not in line
    return redact(line), False


def _in_block(line: str) -> tuple[str, bool]:
    if "-----END" in line:
        return MASK, False
    inside = bool(_BASE64.match(line)) or _within(line)
    return (MASK, True) if inside else _outside(line)


def _within(line: str) -> bool:
    """Inside a block: base64 of any length, headers of encrypted keys, or an empty line."""
    bare = line.strip().strip("\"',")
    return not bare or bool(re.fullmatch(r"[A-Za-z0-9+/=]{1,100}|[A-Za-z-]{3,30}: .*", bare))


def redact(line: str) -> str:
    if not _suspicious(line):
        return line
    if "eyJ" in line:
        line = _DOTTED.sub(_without_jwt, line)
    line = _BEARER.sub(lambda found: f"{found[1]}{found[2]}{MASK}", line)
    line = _URL.sub(lambda found: f"{found[1]}{MASK}{found[3]}", line)
    line = _DATA.sub(lambda found: f"{found[1]}{MASK}", line)
    line = _KNOWN.sub(MASK, line)
    line = _BIRD.sub(lambda found: f"{found[1]}{MASK}", line)
    line = _FLAG.sub(lambda found: found[0] if _HARMLESS.match(found[2]) else f"{found[1]}{MASK}", line)
    return _NAMED.sub(_masked, line)


def _without_jwt(found: re.Match[str]) -> str:
    text = found[0]
    at = text.find("eyJ")
    while at >= 0:
        jwt = _JWT.match(text, at)
        if jwt:
            text, at = f"{text[:at]}{MASK}{text[jwt.end() :]}", at + len(MASK)
        else:  # no other one can begin before the next dot
            at = text.find(".", at) if "." in text[at:] else len(text)
        at = text.find("eyJ", at)
    return text


def _masked(found: re.Match[str]) -> str:
    key, value = found["key"], found["value"]
    # What stands before the word belongs to the key, too: `client-auth: …`, `cert-auth=…`.
    before = _KEY_BEFORE.search(found.string[max(0, found.start() - _KEY_SHOWN) : found.start()])
    whole = (before[0] if before else "") + key
    password = "pass" in key.lower()
    if _HARMLESS_KEYS.search(whole) or value.startswith(MASK[:4]):
        return found[0]
    if _HARMLESS.match(value) and not (password and re.fullmatch(r"[a-z-]+", value)):
        return found[0]
    if not password and not re.search(r"\d", value) and len(value) < 16:
        return found[0]
    return f"{key}{MASK}"
