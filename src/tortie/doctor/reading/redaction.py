"""Secrets taken out of lines before anything else sees them, so that no answer can repeat one.

A key's name, a user or a path stays; only the value goes. What only has a secret's name (`SecretName:`, `token
expired`, `serviceaccounts/token`) is left alone, because diagnoses are made of such words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.reading.secret_forms import NEEDLES, without_forms
from tortie.doctor.reading.secret_objects import hidden_lines

MASK: Final = "(redacted)"

# A text without any of these holds no secret that we know of: almost everything is done after looking for them.
_TRIGGERS: Final = (
    "eyj", "-----begin", "ls0t", "akia", "asia", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "xox", "glpat-", "-data",
    "token", "pass", "pwd", "密码", "口令", "secret", "bearer", "basic ", "apikey", "private", "credential",
    "auth", "_key", "accesskey", "sharedkey", "psk", ".crt", ".key", "-u", "--user", "-user", "mysql", "login",
    "api-key", "-key", "accountkey", *NEEDLES,
)  # fmt: skip
_AT_ONCE: Final = 256  # lines
_JWT: Final = lazily(r"eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?")
_DOTTED: Final = lazily(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")  # whole, so that no letter is looked at twice
_BEARER: Final = lazily(r"(?i)\b(bearer|basic)(\s+)([A-Za-z0-9._~+/=-]{8,})")
_URL: Final = lazily(r"(://[^/\s:@]{1,200}:)([^/\s@]{1,200})(@)")
_KNOWN: Final = lazily(
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bgh[pousr]_[A-Za-z0-9]{20,}|\bxox[abprs]-[A-Za-z0-9-]{10,}|\bglpat-[A-Za-z0-9_-]{16,}"
    r"|\b[a-z0-9]{6}\.[a-z0-9]{16}\b"  # kubeadm's bootstrap token
)
_DATA: Final = lazily(
    r"(?i)((?:client-key|client-certificate|certificate-authority|etcd-(?:key|cert|ca)|tls\.key|tls\.crt|ca\.crt)(?:-data)?"
    r"\\?[\"']?\s*[:=]\s*)([\"']?(?!/)[A-Za-z0-9+/=]{24,}[\"']?)"
)
_PACKED_PEM: Final = lazily(r"\bLS0tLS1[A-Za-z0-9+/]{8,}={0,2}")  # base64 of `-----B…`
_TEXT: Final = r"""\\"[^"\\]{1,400}\\"|"[^"]{1,400}"|'[^']{1,400}'"""  # in quotes; JSON inside of JSON has its own
_NAMED: Final = lazily(
    rf"""(?ix)
    (?P<key>(?:token|passw(?:or)?d|passphrase|[_-]pass|(?<=["'])pass(?=["'])|sshpass|pwd|密码|口令|secret(?:_?key)?|api_?key|access_?key
        |private[_ ]?key(?:_id)?|(?:pre)?shared_?key|account_?key|encryption[-_]?key|signing[-_]?key
        |psk|credentials?|auth)
      \\?["']?\s*(?:[:=：]|\s=>)\s*)
    (?P<value>{_TEXT}|["']?[^\s"',;{{}}()\[\]<>|，。；、]{{1,400}})"""
)
_NAMED_WORDS: Final = ("token", "pass", "pwd", "密码", "口令", "secret", "key", "psk", "credential", "auth")
_KEY_BEFORE: Final = lazily(r"[\w.-]*\Z")
_KEY_SHOWN: Final = 24  # characters of a key before that word
_PASSWORD: Final = lazily(r"(?i)pass|pwd|密码|口令")
# Values of such keys that are names, states or references.
_HARMLESS_KEYS: Final = lazily(r"(?i)(secretname|tokenname|authorization-mode|client-auth|cert-auth|secretref|author)")
_HARMLESS: Final = lazily(
    r"(?i)(true|false|none|null|nil|kubernetes|system:.*|/.*|<.*|\(.*|\$.*|\d{1,6}s?|x509.*|expired.*|invalid.*|unauthorized"
    r"|bearer|basic|[a-z]+-[a-z-]*token-[a-z0-9]{5}|[a-z-]+|\{\{.*)$"
)
_NO_PASSWORD: Final = lazily(
    r"(?i)(true|false|yes|no|on|off|none|null|nil|/.*|<.*|\(.*|\$.*|\{\{.*|[*.…]+|[|>][+-]?|expired|invalid|incorrect|wrong|required"
    r"|authentication|permission)$"
)
_BIRD: Final = lazily(r"(?i)(\bpassword\s+)([\"'][^\"']{1,200}[\"'])")
_FLAG: Final = lazily(
    rf"(?i)((?<!\S)--?(?:[a-z0-9]{{1,20}}-){{0,4}}"
    rf"(?:password|passwd|passphrase|pass|token|secret|(?:api|access|certificate)-?key)[ =])"
    rf"({_TEXT}|[^\s-][^\s]{{3,}})"
)
_USER: Final = lazily(
    r"""((?<!\S)(?:-[uU] ?|--(?:proxy-)?user[ =])["']?"""
    r"""(?P<user>[^\s:/"'+%-][^\s:/"']{0,100}):)(?P<word>[^\s"']{1,200})"""
)
# What stands before an option; not the program again, so that a line is walked over once.
_NOT_AGAIN: Final = r"(?:(?!\b(?:sshpass|login|mysql))[^|;]){0,200}?"
_LOGIN: Final = lazily(
    rf"(\b(?:sshpass\b{_NOT_AGAIN}\s-p\s?|login\b{_NOT_AGAIN}\s-p\s|mysql[a-z]{{0,9}}\b{_NOT_AGAIN}\s-p))"
    rf"({_TEXT}|[^\s\"']{{1,200}})"
)
_PORTS: Final = lazily(r"[\d.]*:?\d+:\d+(?:/\w+)?$")  # `-p3306:3306` of a container
_TOLD: Final = lazily(
    r"(?i)((?:(?:password|passwd|passphrase)\s{1,8}(?:is|was)|(?:密码|口令)\s?(?:就?是|为|改成|改为))\s*+[:：]?\s*+)([\"'“「`]?)([!-~]{1,200})"
)
_ENDS: Final = lazily(r"\s*+\Z")
_SENTENCE_GOES_ON: Final = lazily(
    r"(?i)(?:not|no|the|a|an|in|on|too|only|still|also|wrong|correct|incorrect|right|same|different|empty|missing|invalid|ok|fine"
    r"|set|being|now|never|always|for|from|used|stored|[a-z]+ed)$"
)
# An entry of `env`: the name says what the value is.
_PAIR_NAME: Final = r"""\\?["']?\bname\\?["']?\s*[:=]\s*\\?["']?(?P<name>[\w.-]{1,200})\\?["']?"""
_PAIR_VALUE: Final = rf"""\\?["']?\bvalue\\?["']?\s*[:=]\s*)(?P<value>{_TEXT}|[^\s,{{}}"'\\]{{1,400}}"""
_NAME_VALUE: Final = lazily(rf"(?i)({_PAIR_NAME}\s*,\s*{_PAIR_VALUE})")
_VALUE_NAME: Final = lazily(rf"(?i)({_PAIR_VALUE})(?P<after>\s*,\s*{_PAIR_NAME})")
_NAME_LINE: Final = lazily(rf"(?i)[\s{{-]*{_PAIR_NAME}\s*,?\s*$")
_VALUE_LINE: Final = lazily(r"""(?i)([\s-]*["']?value["']?\s*:\s*)(?P<value>\S.*)$""")
_AFTER: Final = "\\\"', }"  # what may follow a value
_KEY_LINE: Final = 300  # characters of a line that has nothing but a name
_SECRET_NAME: Final = lazily(
    r"(?i)(?:token|passw(?:or)?d|passphrase|(?:\b|_)pass|pwd|secret|_key|apikey|psk|credentials?|auth)$"
)
_BEGIN: Final = lazily(r"-----BEGIN ([A-Z0-9 ]{1,60})-----")
_BASE64: Final = lazily(r"^\s*[\"']?[A-Za-z0-9+/]{40,}={0,2}[\"']?,?\s*$")


def redacted(lines: Sequence[str]) -> Iterator[str]:
    """The same number of lines, without secrets; blocks of keys and certificates are followed to their end."""
    hidden = hidden_lines(lines, MASK)
    inside = named = False
    for start in range(0, len(lines), _AT_ONCE):
        block = lines[start : start + _AT_ONCE]
        # One line more: a value may stand above the name that makes it a secret.
        text = "\n".join(lines[start : start + _AT_ONCE + 1])
        if not (inside or named) and not _suspicious(text):
            yield from (hidden.get(start + at, line) for at, line in enumerate(block)) if hidden else block
            continue
        low = text.lower()
        there = tuple(trigger for trigger in _TRIGGERS if trigger in low)
        for at, line in enumerate(block, start):
            line = hidden.get(at, line)
            shown, inside = _in_block(line) if inside else _outside(line, there)
            if named or _named_below(lines, at):  # the line before was `- name: API_TOKEN`, or the next one is
                shown = _without_value(shown)
            named = _names_a_secret(line)
            yield shown


def _named_below(lines: Sequence[str], at: int) -> bool:
    below = lines[at + 1] if at + 1 < len(lines) and "value" in lines[at][:_KEY_LINE] else ""
    return bool(below) and not below.lstrip().startswith(("-", "{")) and _names_a_secret(below)


def _names_a_secret(line: str) -> bool:
    found = _NAME_LINE.match(line) if len(line) < _KEY_LINE and "name" in line else None
    return bool(found and _SECRET_NAME.search(found["name"]))


def _without_value(line: str) -> str:
    found = _VALUE_LINE.match(line)
    if not found or found["value"] is None or _NO_PASSWORD.match(_bare(found["value"])):
        return line
    return f"{found[1]}{_in_its_quotes(found['value'])}"


def _suspicious(text: str, triggers: Iterable[str] = _TRIGGERS) -> bool:
    low = text.lower()
    return any(trigger in low for trigger in triggers) or ("://" in text and "@" in text)


def _outside(line: str, triggers: Iterable[str] = _TRIGGERS) -> tuple[str, bool]:
    """The line, and whether a block of a key or certificate begins in it."""
    begins = _BEGIN.search(line) if "-----BEGIN" in line else None
    if begins:
        return f"{redact(line[: begins.start()])}{begins[0]} {MASK}", not ("-----END" in line or MASK in line)
    return redact(line, triggers), False


def _in_block(line: str) -> tuple[str, bool]:
    if "-----END" in line:
        return MASK, False
    inside = bool(_BASE64.match(line)) or _within(line)
    return (MASK, True) if inside else _outside(line)


def _within(line: str) -> bool:
    """Inside a block: base64 of any length, headers of encrypted keys, or an empty line."""
    bare = line.strip().strip("\"',")
    return not bare or bool(re.fullmatch(r"[A-Za-z0-9+/=]{1,100}|[A-Za-z-]{3,30}: .*", bare))


def redact(line: str, triggers: Iterable[str] = _TRIGGERS) -> str:
    """`triggers`: those that are known to be in the text around it, where it was looked at as a whole."""
    if not _suspicious(line, triggers):
        return line
    if "eyJ" in line:
        line = _DOTTED.sub(_without_jwt, line)
    low = line.lower()
    if "bearer" in low or "basic" in low:
        line = _BEARER.sub(_without_bearer, line)
    line = without_forms(line, low, MASK)
    line = _URL.sub(lambda found: f"{found[1]}{MASK}{found[3]}", line)
    line = _DATA.sub(lambda found: f"{found[1]}{_in_its_quotes(found[2])}", line)
    line = _PACKED_PEM.sub(MASK, line)
    line = _KNOWN.sub(MASK, line)
    if "-u" in line or "-U" in line or "-user" in line:
        line = _USER.sub(_without_password, line)
    if " -p" in line:
        line = _LOGIN.sub(lambda found: found[0] if _PORTS.match(found[2]) else f"{found[1]}{MASK}", line)
    if "pass" in low or not low.isascii():
        line = _BIRD.sub(lambda found: f"{found[1]}{_in_its_quotes(found[2])}", line)
        line = _TOLD.sub(_untold, line)
    if "value" in low and "name" in low:
        line = _VALUE_NAME.sub(_without_pair, _NAME_VALUE.sub(_without_pair, line))
    if not any(word in low for word in _NAMED_WORDS):
        return line
    return _NAMED.sub(_masked, _FLAG.sub(_without_flag, line))


def _bare(value: str) -> str:
    return value.strip("\\\"', ")


def _in_its_quotes(value: str) -> str:
    """The mask, in the quotes of the value: what was JSON or YAML still is."""
    opening = value[: len(value) - len(value.lstrip("\\\"'"))]
    return f"{opening}{MASK}{value[len(value.rstrip(_AFTER)) :]}" if opening else MASK + ("," * value.endswith(","))


def _without_bearer(found: re.Match[str]) -> str:
    """`Bearer 1f2e…`, but not `basic authentication`."""
    word = found[3]
    speaks = word.isalpha() and len(word) < 16 and (word.islower() or word.istitle())
    return found[0] if speaks else f"{found[1]}{found[2]}{MASK}"


def _without_flag(found: re.Match[str]) -> str:
    harmless = _NO_PASSWORD if _PASSWORD.search(found[1]) else _HARMLESS
    return found[0] if harmless.match(found[2]) else f"{found[1]}{MASK}"


def _without_pair(found: re.Match[str]) -> str:
    if not _SECRET_NAME.search(found["name"]) or _NO_PASSWORD.match(_bare(found["value"])):
        return found[0]
    return f"{found[1]}{_in_its_quotes(found['value'])}{found.groupdict().get('after') or ''}"


def _without_password(found: re.Match[str]) -> str:
    """`--user admin:word`, but not `--user 1000:1000`."""
    numbers = found["user"].isdigit() and found["word"].isdigit()
    return found[0] if numbers or found["word"].startswith(MASK) else f"{found[1]}{MASK}"


def _untold(found: re.Match[str]) -> str:
    """`the password is hunter2`, but not `the password is wrong` or `is stored in …`."""
    word = found[3].rstrip("\"'`.,;!?)")
    if not word or word.startswith(("(", "<", "$", "/")):
        return found[0]
    ends = bool(_ENDS.match(found.string, found.end())) or len(word) < len(found[3])
    plain = word.isalpha() and (word.islower() or word.istitle())
    if plain and not found[2] and (not ends or _SENTENCE_GOES_ON.match(word)):
        return found[0]
    return f"{found[1]}{found[2]}{MASK}{found[3][len(word) :]}"


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
    text = _bare(value)
    if _HARMLESS_KEYS.search(whole) or not text or text.startswith(MASK[:4]):
        return found[0]
    if _PASSWORD.search(key):
        harmless = bool(_NO_PASSWORD.match(text)) or not (text.isascii() or key.isascii())  # `密码：错误`
    else:
        short = len(text) < 4 or (len(text) < 16 and not re.search(r"\d", text))
        harmless = short or bool(_HARMLESS.match(text))
    if harmless:
        return found[0]
    return f"{key}{_in_its_quotes(value)}"
