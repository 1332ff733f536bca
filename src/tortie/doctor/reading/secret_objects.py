"""Values of Kubernetes' Secrets, whatever their keys are called: of a manifest, an item of a list, JSON or YAML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tortie.doctor.lazily import lazily

_KIND: Final = lazily(
    r"(?P<before>[\s-]{0,200})\\?[\"']?kind\\?[\"']?\s{0,4}:\s{0,4}\\?[\"']?Secret\\?[\"']?,?\s{0,8}$"
)
_DATA: Final = lazily(r"[\s-]{0,200}[\"']?(?:data|stringData)[\"']?\s{0,4}:\s{0,8}(?P<rest>\S.{0,16000})?$")
_PAIR: Final = lazily(r"(?P<key>\s{0,200}[\"']?[\w.-]{1,260}[\"']?\s{0,4}:\s{0,4})(?P<value>\S.{0,16384})$")
_INLINE: Final = lazily(r"""(\\?["']?\b(?:data|stringData)\\?["']?\s{0,4}:\s{0,4}\{)([^{}]{1,16000})(\})""")
_INLINE_VALUE: Final = lazily(r"""(:\s{0,4})(\\?["']?)([^"',{}\\\s:][^"',{}\\]{0,8000})""")
_ONE_LINE: Final = lazily(r"""kind\\?["']?\s{0,4}:\s{0,4}\\?["']?Secret\\?["']?\s{0,4}[,}]""")
# Keys that only Secrets have; of a `data` whose kind was not pasted.
_TELLING: Final = lazily(
    r"\s*[\"']?(?:tls\.key|tls\.crt|ca\.crt|token|password|passwd|\.dockerconfigjson|\.dockercfg|ssh-privatekey|etcd-key"
    r"|client-key|accesskey|secretkey)[\"']?\s*:",
    re.IGNORECASE,
)
_BASE64: Final = lazily(r"[A-Za-z0-9+/]{4,16384}={0,2}")
_ASKED: Final = lazily(
    r"\bget\s(?:(?!\bget\s)[^|;]){0,200}?\bsecrets?[\s/](?:(?!\bget\s)[^;]){0,400}?(?:jsonpath|go-template|template=|custom-columns)"
)
# What only tells about the value: its dates, its length, its sum.
_ABOUT_IT: Final = lazily(
    r"\|\s{0,4}(?:openssl\s{1,4}x509\b|openssl\s[^|]{0,300}-noout|wc\b|cmp\b|(?:md5|sha\d{1,3}|ck)sum|grep -c)"
)
_PROMPT: Final = lazily(r"\[?(?<![\w.-])[\w.-]{1,64}@[\w.-]{1,64}[^\s@]{0,40}[\s:][^$#@]{0,60}[$#](?:\s|$)|[$#] ")
_NO_VALUE: Final = ("error", "Error", "No resources", "NAME", "Unable", "The connection")
_ANSWERED: Final = 40  # lines of an answer
_FAR: Final = 4_000  # lines between `kind` and the data of one object
_OPENERS: Final = ("{", "|", ">", "|-", ">-", "|+", ">+")


def hidden_lines(lines: Sequence[str], mask: str) -> dict[int, str]:
    """By index, lines that hold values of Secrets, without these."""
    found: dict[int, str] = {}
    for index, line in enumerate(lines):
        if "data" in line and line.rstrip(" \"':{").endswith("data") and _of_a_secret(lines, index):
            found.update(_inside(lines, index, mask))
        if "secret" in line and "get" in line and _ASKED.search(line) and not _ABOUT_IT.search(line):
            found.update(_answered(lines, index + 1, mask))
        if "Secret" not in line or "kind" not in line:
            continue
        if kind := _KIND.match(line):
            for at in _data_of(lines, index, len(kind["before"])):
                found.update(_inside(lines, at, mask))
        elif _ONE_LINE.search(line):
            found[index] = _inline(line, mask)
    return found


def _data_of(lines: Sequence[str], index: int, column: int) -> Iterator[int]:
    """`data` and `stringData` of the object that has its `kind` here: fields at the same column."""
    begins = lines[index].lstrip().startswith("- ")
    for step in (1,) if begins else (-1, 1):
        at = index + step
        while 0 <= at < len(lines) and abs(at - index) < _FAR:
            line = lines[at]
            depth = _column(line)
            item = line.lstrip().startswith("- ")
            if line.strip() and (depth < column or line.startswith("---") or (item and step > 0 and depth == column)):
                break
            if depth == column and _DATA.match(line):
                yield at
            if item and depth == column:
                break  # the object's first line
            at += step


def _of_a_secret(lines: Sequence[str], at: int) -> bool:
    """Whether this `data` has nothing but base64, and a key that only Secrets have."""
    if not _DATA.match(lines[at]):
        return False
    column, told, pairs = _column(lines[at]), False, 0
    for line in lines[at + 1 : at + _FAR]:
        if not line.strip() or line.strip().startswith("}") or _column(line) <= column:
            break
        pair = _PAIR.match(line)
        if not pair or not _BASE64.fullmatch(pair["value"].strip(" ,\"'")):
            return False
        told, pairs = told or bool(_TELLING.match(line)), pairs + 1
    return told and pairs > 0


def _answered(lines: Sequence[str], start: int, mask: str) -> Iterator[tuple[int, str]]:
    """What was asked of a Secret, up to the next prompt, which may stand right behind it."""
    same = lines[start - 1].partition("kubectl")[0].rstrip()  # the prompt that the command stands behind
    for index in range(start, min(len(lines), start + _ANSWERED)):
        line = lines[index]
        at = line.find(same) if same else -1
        if at < 0:
            prompt = _PROMPT.search(line)
            at = prompt.start() if prompt else -1
        if not line.strip() or line.startswith(_NO_VALUE) or at == 0:
            return
        yield index, mask + (line[at:] if at > 0 else "")
        if at > 0:
            return


def _column(line: str) -> int:
    """Where a line's field begins, behind the dash of a list."""
    return len(line) - len(line.lstrip(" -\t")) if line.strip() else 1 << 20


def _inside(lines: Sequence[str], at: int, mask: str) -> Iterator[tuple[int, str]]:
    """The lines of this `data`, masked."""
    head = _DATA.match(lines[at])
    rest = head["rest"] if head else None
    if rest and rest.strip() not in ("{", "|"):
        yield at, _inline(lines[at], mask)
        return
    column = _column(lines[at])
    for index in range(at + 1, min(len(lines), at + _FAR)):
        line = lines[index]
        if not line.strip() or line.strip() in ("{", "}", "},"):
            if line.strip().startswith("}"):
                return
            continue
        if len(line) - len(line.lstrip()) <= column:
            return
        yield index, _without_value(line, mask)


def _without_value(line: str, mask: str) -> str:
    pair = _PAIR.match(line)
    if not pair:  # one of the lines of a long value
        return line[: len(line) - len(line.lstrip())] + mask
    value = pair["value"].rstrip()
    if value in _OPENERS:
        return line
    comma = "," if value.endswith(",") else ""
    quote = value[0] if value[0] in "\"'" else ""
    return f"{pair['key']}{quote}{mask}{quote}{comma}"


def _inline(line: str, mask: str) -> str:
    return _INLINE.sub(
        lambda found: found[1] + _INLINE_VALUE.sub(lambda value: f"{value[1]}{value[2]}{mask}", found[2]) + found[3],
        line,
    )
