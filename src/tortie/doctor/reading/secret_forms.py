"""Forms of secrets that are known by what stands around them: one row each, with a word that a line must have.

A row's expression has a group `v`, the secret; everything else of the match stays. A check may say that what was found
is no secret after all. Every expression is linear: what repeats is bounded, or can end in one way only.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.model.tuples import NamedTuple

_WORD: Final = r"""(?P<v>"[^"]{1,400}"|'[^']{1,400}'|[^\s"'|;]{1,400})"""


class Form(NamedTuple):
    """`needles` are in lower case; one of them must be in the line."""

    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    is_one: Callable[[str], bool] = bool


def _random(word: str) -> bool:
    """Letters and digits mixed, or very long: nobody names things so."""
    return any(c.isdigit() for c in word) and any(c.isalpha() for c in word)


def _no_name(word: str) -> bool:
    """Not a plain lower-case word, as sentences and names of columns have them."""
    bare = word.strip("\"'")
    return not (bare.isalpha() and (bare.islower() or bare.istitle())) and bare[:1] not in "<$({/-"


def _no_number(word: str) -> bool:
    return not word.strip("\"'").isdigit() and word[:1] not in "<$({/-"


def _option(program: str, option: str, needle: str) -> Form:
    """A program's option that takes a secret: `redis-cli -h 10.0.0.1 -a word`."""
    # Each program looks for its own options only: a line of programs is walked over once.
    before = rf"\b{program}\b(?:(?!\b{program}\b)[^|;\n]){{0,200}}?\s-{option}\s{{0,4}}"
    return Form((needle,), lazily(rf"(?P<before>{before}){_WORD}"), _no_number)


FORMS: Final[tuple[Form, ...]] = (
    _option("redis-cli", "a", "redis-cli"),
    _option("ldap[a-z]{3,8}", "w", "ldap"),
    _option("ipmitool", "P", "ipmitool"),
    _option("snmp[a-z]{3,8}", "c", "snmp"),
    _option("snmp[a-z]{3,8}", "A", "snmp"),
    _option("snmp[a-z]{3,8}", "X", "snmp"),
    _option("mongo(?:sh|dump|restore|export)?", "p", "mongo"),
    _option("smbclient", "U", "smbclient"),
    Form(("passin", "passout", "-pass "), lazily(rf"(?P<before>\s-pass(?:in|out)?\s{{1,4}}pass:){_WORD}")),
    Form(("from-literal",), lazily(rf"(?P<before>--from-literal[= ][\"']?[\w.-]{{1,100}}=){_WORD}")),
    Form(
        ("etcdctl_user", "etcd_user", "userpwd", "basic_auth"),
        lazily(
            rf"(?P<before>\b(?:ETCD(?:CTL)?_USER|[A-Z_]{{0,20}}USERPWD|[A-Z_]{{0,20}}BASIC_AUTH)=[\"']?"
            rf"[^\s:\"'/]{{1,100}}:){_WORD}"
        ),
    ),
    Form(
        ("echo", "printf"),
        lazily(
            r"(?P<before>\b(?:echo|printf)\s{1,4}(?:-[ne]{1,2}\s{1,4})?)(?P<v>[^|\s](?:(?!\b(?:echo|printf)\s)[^|\n]){0,200}?)"
            r"(?=\s{0,4}\|\s{0,4}(?:(?:sudo\s{1,4})?(?:chpasswd|passwd\s{1,4}--stdin)|sudo\s{1,4}(?:-\w{1,4}\s{1,4})?-S\b"
            r"|[^|\n]{0,200}?--password-stdin))"
        ),
    ),
    # Headers.
    Form(
        ("authorization",),
        lazily(
            r"(?P<before>\b(?:proxy-)?authorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?"
            r"(?:bearer|basic|token|digest|negotiate|ntlm|apikey|aws4[\w-]{0,20})(?:\s{1,4}|%20|\+))(?P<v>[^\"'\n]{4,4000})",
            re.IGNORECASE,
        ),
        lambda value: not value.startswith("("),
    ),
    Form(("bearer%20", "bearer+"), lazily(r"(?P<before>bearer(?:%20|\+))(?P<v>[^\s\"'&]{4,4000})", re.IGNORECASE)),
    Form(
        ("x-", "private-token", "api-key"),
        lazily(
            r"(?P<before>\b(?:x-(?:[a-z]{1,20}-){0,3}(?:key|token|secret|signature)|private-token|api-key)[\"']?\s{0,4}:\s{0,4}"
            r"[\"']?)(?P<v>[^\s\"']{4,4000})",
            re.IGNORECASE,
        ),
    ),
    Form(("cookie:",), lazily(r"(?P<before>\bcookie:\s{0,4})(?P<v>[^\"'\n]{4,8000})", re.IGNORECASE)),
    # URLs.
    Form(("://",), lazily(r"(?P<before>://)(?P<v>[A-Za-z0-9_.~-]{16,400})(?=@)"), _random),
    Form(
        ("sig", "token=", "key=", "secret=", "credential="),
        lazily(
            r"(?P<before>[?&;](?:sig|signature|x-amz-(?:signature|credential|security-token)|x-goog-signature|key|code|auth"
            r"|access_?token|id_token|token|api_?key|client_secret|secret|account_?key|sharedaccess(?:key|signature))=)"
            r"(?P<v>[^&\s\"';]{6,4000})",
            re.IGNORECASE,
        ),
        _random,
    ),
    Form(
        ("hook",),
        lazily(
            r"(?P<before>(?:hooks\.slack\.com/\w{1,20}/|/api/webhooks/|/bot/v2/hook/|webhook\.office\.com/webhookb2/))"
            r"(?P<v>[^\s\"'<>]{6,400})"
        ),
    ),
    # Files of daemons.
    Form(("community",), lazily(rf"(?P<before>\bsnmp-server\s{{1,8}}community\s{{1,8}}){_WORD}")),
    Form(("community",), lazily(rf"(?P<before>\b(?:ro|rw|trap)community6?\s{{1,8}}){_WORD}")),
    Form(("requirepass", "masterauth", "auth_pass"), lazily(
        rf"(?P<before>\b(?:requirepass|masterauth|auth_pass)\s{{1,8}}){_WORD}")),
    Form(("stats auth",), lazily(r"(?P<before>\bstats auth\s{1,4}[^\s:]{1,100}:)(?P<v>\S{1,200})")),
    Form(("password",), lazily(r"(?P<before>\bpassword\s{1,8})(?P<v>[^\s\"';]{1,200})(?=\s{0,4};)"), _no_number),
    Form(("password",), lazily(
        rf"(?P<before>\b(?:neighbor|login)\s{{1,8}}\S{{1,100}}\s{{1,8}}password\s{{1,8}}){_WORD}")),
    Form(("password",), lazily(r"(?P<before>^\s{1,20}password\s{1,8})(?P<v>\S{1,200})$"), _no_name),
    Form(("secret",), lazily(r"(?P<before>\bsecret\s{1,8})(?P<v>\"[^\"]{1,200}\")(?=\s{0,4};)")),
    Form(
        ("$1$", "$5$", "$6$", "$y$", "$gy$", "$7$", "$2a$", "$2b$", "$2y$", "$apr1$", "$argon2"),
        lazily(r"(?P<before>\$(?:1|2[aby]|5|6|7|y|gy|apr1|argon2\w{1,2})\$)(?P<v>[./A-Za-z0-9$,=+]{8,400})"),
    ),
    # Known by themselves.
    Form(
        ("npm_", "sk-", "sk_live", "rk_live", "github_pat_", "aiza", "hf_", "dop_v1_", "hvs.", "hvb.", "ltai", "ya29.",
         "age-secret-key", "eyj", "sg.", "pypi-", "glptt-", "xapp-"),
        lazily(
            r"(?<![A-Za-z0-9])(?P<v>npm_[A-Za-z0-9]{30,60}|sk-[A-Za-z0-9_-]{20,200}|[sr]k_live_[A-Za-z0-9]{16,100}"
            r"|github_pat_\w{20,200}|AIza[\w-]{30,60}|hf_[A-Za-z0-9]{30,60}|dop_v1_[0-9a-f]{32,128}"
            r"|hv[sb]\.[\w-]{20,400}|LTAI[A-Za-z0-9]{12,40}|ya29\.[\w-]{20,400}|AGE-SECRET-KEY-1[A-Z0-9]{40,80}"
            r"|eyJ[A-Za-z0-9+/_-]{16,16000}={0,2}|SG\.[\w-]{16,40}\.[\w-]{20,80}|pypi-[\w-]{40,400}|glptt-[0-9a-f]{30,60}"
            r"|xapp-[\w-]{20,200})(?P<before>)"
        ),
        _random,
    ),
)  # fmt: skip

NEEDLES: Final = tuple(dict.fromkeys(needle for form in FORMS for needle in form.needles))


def without_forms(line: str, low: str, mask: str) -> str:
    for form in FORMS:
        if any(needle in low for needle in form.needles):
            line = form.pattern.sub(lambda found, form=form: _masked(found, form, mask), line)  # type: ignore[misc]
    return line


def _masked(found: re.Match[str], form: Form, mask: str) -> str:
    value = found["v"]
    if mask in value or not form.is_one(value):
        return found[0]
    quote = value[0] if value[0] in "\"'" and value[-1] == value[0] and len(value) > 1 else ""
    return f"{found['before']}{quote}{mask}{quote}"
