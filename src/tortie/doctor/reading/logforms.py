"""The forms of log lines, one function each: level, file and message out of what stands after time and prefix."""

from __future__ import annotations

import re
from typing import Final

from tortie.doctor.lazily import lazily
from tortie.doctor.reading.moments import MONTHS, Moment, clock_of, full, month_of
from tortie.model.tuples import NamedTuple


class Parsed(NamedTuple):
    """What a line says of itself; empty where it does not."""

    message: str
    moment: Moment | None = None
    level: str = ""
    program: str = ""
    file: str = ""
    host: str = ""
    pid: str = ""
    pod: str = ""
    container: str = ""


LEVELS: Final = {
    "I": "INFO", "W": "WARNING", "E": "ERROR", "F": "FATAL", "D": "DEBUG", "TRACE": "DEBUG", "DEBUG": "DEBUG",
    "DBG": "DEBUG", "INFO": "INFO", "NOTICE": "INFO", "WARN": "WARNING", "WARNING": "WARNING", "ERR": "ERROR",
    "ERROR": "ERROR", "FATAL": "FATAL", "CRITICAL": "FATAL", "CRIT": "FATAL", "PANIC": "PANIC", "DPANIC": "PANIC",
    "BUG": "ERROR", "AUTH": "WARNING",
}  # fmt: skip
_CALICO = lazily(
    r"\s*\[(?P<level>[A-Z]+)\]\[(?P<pid>\d+)(?:/\d+)?\] (?:(?P<component>[\w.-]+)/)?(?P<file>[\w.-]+\.(?:go|py)|"
    r"<nil>)[ :]?(?P<n>\d+|<nil>| )?: ?(?P<message>.*)$"
)
_CALICO_CUT = lazily(r"(?:[\w.-]+/)?(?P<file>[\w.-]*\.(?:go|py)):? ?\d+: (?P<message>\S.*)$")
_KLOG = lazily(
    r"(?P<level>[IWEF])(?P<month>\d\d)(?P<day>\d\d) (?P<clock>\d\d:\d\d:\d\d(?:\.\d+)?)\s+(?P<pid>\d+) "
    r"(?P<file>[\w.-]+):(?P<n>\d+)\] ?(?P<message>.*)$"
)
_LOGFMT = lazily(r"(?:time|ts|t)=(?:\"(?P<quoted>[^\"]*)\"|(?P<plain>\S+)) (?P<rest>.*)$")
_LEVEL = lazily(r"\b(?:level|lvl)=\"?(\w+)\"? ?")
_MSG = lazily(r"\bmsg=(?:\"(?P<quoted>(?:[^\"\\]|\\.)*)(?:\"|$)|(?P<plain>\S+)) ?")
_SOURCE = lazily(r"(?:source|caller|file)=\"?([\w./-]+\.go):?\d*\"? ?")
_JOURNAL = lazily(
    r"(?P<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|\d{1,2}月) {1,2}(?P<day>\d{1,2}) "
    r"(?P<clock>\d\d:\d\d:\d\d(?:\.\d+)?) "
    r"(?:(?P<host>[\w.-]+) )?(?P<program>[\w./@:-]{1,80}?)(?:\[(?P<pid>\d+)\])?: (?P<rest>.*)$"
)
_ISO_JOURNAL = lazily(
    r" (?:[A-Z]{2,5} )?(?P<host>[A-Za-z][\w.-]*) (?P<program>[A-Za-z][\w./@-]{1,80}?)(?:\[(?P<pid>\d+)\])?: "
    r"(?P<rest>.*)$"
)
_CRI = lazily(r" (?:stdout|stderr) [FP] ?(?P<rest>.*)$")
_KERNEL = lazily(r"\[ *(?P<uptime>\d+\.\d{3,6})\] (?P<message>.*)$")
_KERNEL_DATE = lazily(
    r"\[[A-Z一-龥][^ ]{0,3} (?P<month>[A-Z][a-z]{2}|\d{1,2}月) +(?P<day>\d{1,2}) (?P<clock>\d\d:\d\d:\d\d) "
    r"(?P<year>\d{4})\] (?P<message>.*)$"
)
_UNSTAMPED = lazily(
    r"(?:(?P<kernel>kernel: )|(?P<bpf>libbpf: )|neighbou?r: |neighbour table|net_ratelimit: |nf_conntrack: "
    r"|cgroup: fork )(?P<rest>.*)$"
)
_FILTERED = lazily(r"\[UFW [A-Z]+\] IN=")
_BIRD = lazily(r"(?P<program>bird6?): (?P<message>.*)$")
_BIRD_LEVEL = lazily(r"<(?P<level>[A-Z]+)> (?P<message>.*)$")
_PREFIXED = lazily(r"\[pod/(?P<pod>[\w.-]+)/(?P<container>[\w.-]+)\] (?P<rest>.*)$")
_JSON_FIELD = lazily(r"\"(\w+)\":\s*(?:\"((?:[^\"\\]|\\.)*)(?:\"|$)|(-?[\d.eE+]+)|(true|false|null))")
_UPPER = lazily(r"(?P<level>TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|CRITICAL)[: ]\s*(?P<message>\S.*)$")


def parse(text: str) -> Parsed | None:
    """A line in any of the forms; None when it is in none of them."""
    first = text[:1]
    if first.isdigit():
        return _dated(text) or _journal(text)
    if first == "[":
        return _bracket(text)
    if first in "IWEF" and text[1:5].isdigit():
        return klog(text)
    if first in "tl" and (text.startswith(("time=", "ts=", "t=", "level="))):
        return logfmt(text)
    if first == "{":
        return json_line(text)
    if first == "b" and text.startswith("bird"):
        return _bird(text)
    if first.isupper():
        return _journal(text) or _weekday(text)
    return _bare(text) if first in "knlc" else None


def _dated(text: str) -> Parsed | None:
    """Begins with a full date: Calico v3, kubectl --timestamps, CRI files, ISO journals, etcd, bird's own log."""
    known = full(text)
    if not known:
        return None
    moment, end = known
    calico = _CALICO.match(text, end)
    if calico:
        return _calico(calico, moment)
    rest = text[end:]
    cri = _CRI.match(rest)
    if cri:
        inner = parse(cri["rest"]) or Parsed(cri["rest"])
        return inner._replace(moment=inner.moment or moment)
    journal = _ISO_JOURNAL.match(rest)
    if journal:
        return nested(journal["rest"], journal["host"], journal["program"], journal["pid"] or "", moment)
    inner_text = rest.lstrip(" :|")
    inner = parse(inner_text) or _levelled(inner_text) or Parsed(inner_text)
    return inner._replace(moment=inner.moment if inner.moment and inner.moment.year else moment)


def _levelled(text: str) -> Parsed | None:
    match = _BIRD_LEVEL.match(text)
    if match:
        return Parsed(match["message"], level=LEVELS.get(match["level"], ""), program="bird")
    match = _UPPER.match(text) or re.match(r"(?P<level>[IWE]) \| (?P<message>.*)$", text)
    if match:
        return Parsed(match["message"], level=LEVELS.get(match["level"], ""))
    return None


def _calico(match: re.Match[str], moment: Moment | None = None) -> Parsed:
    file = match["file"]
    return Parsed(
        match["message"].strip(), moment, LEVELS.get(match["level"], match["level"]), match["component"] or "",
        "" if file == "<nil>" else file, pid=match["pid"],
    )  # fmt: skip


def cut_calico(text: str) -> Parsed | None:
    """A Calico line whose beginning was lost: `t.go 255: Error getting …` or `[INFO][9] startup.go 12: …`."""
    match = _CALICO.match(text)
    if match:
        return _calico(match)
    match = _CALICO_CUT.match(text)
    return Parsed(match["message"], file=match["file"]) if match else None


def _bare(text: str) -> Parsed | None:
    """What the kernel and libbpf write, without any stamp: dmesg -t, journalctl -o cat, a line that was quoted."""
    match = _UNSTAMPED.match(text)
    if not match:
        return None
    if match["kernel"]:
        inner = _KERNEL.match(match["rest"])
        return Parsed(inner["message"] if inner else match["rest"], program="kernel")
    return Parsed(text, program="libbpf" if match["bpf"] else "kernel")


def _bracket(text: str) -> Parsed | None:
    if text.startswith("[UFW ") and _FILTERED.match(text):
        return Parsed(text, program="kernel")
    match = _PREFIXED.match(text)
    if match:
        inner = parse(match["rest"]) or Parsed(match["rest"])
        return inner._replace(pod=match["pod"], container=match["container"])
    match = _KERNEL.match(text)
    if match:
        return Parsed(match["message"], program="kernel")
    match = _KERNEL_DATE.match(text)
    if match and (match["month"].endswith("月") or match["month"] in _MONTH_NAMES):
        moment = Moment(int(match["year"]), month_of(match["month"]), int(match["day"]), *clock_of(match["clock"]))
        return Parsed(match["message"], moment, program="kernel")
    return cut_calico(text)


_MONTH_NAMES: Final = frozenset(MONTHS)


def _bird(text: str) -> Parsed | None:
    match = _BIRD.match(text)
    if not match:
        return None
    inner = _BIRD_LEVEL.match(match["message"])
    if inner:
        return Parsed(inner["message"], level=LEVELS.get(inner["level"], ""), program=match["program"])
    return Parsed(match["message"], program=match["program"])


def klog(text: str) -> Parsed | None:
    match = _KLOG.match(text)
    if not match:
        return None
    moment = Moment(0, int(match["month"]), int(match["day"]), *clock_of(match["clock"]))
    return Parsed(match["message"], moment, LEVELS[match["level"]], file=match["file"], pid=match["pid"])


def logfmt(text: str) -> Parsed | None:
    match = _LOGFMT.match(text)
    rest = match["rest"] if match else text
    said = _MSG.search(rest)
    level = _LEVEL.search(rest)
    if not said and not level:
        return None
    known = full(match["quoted"] or match["plain"] or "") if match else None
    source = _SOURCE.search(rest)
    message = said["quoted"] or said["plain"] or "" if said else ""
    others = _SOURCE.sub("", _LEVEL.sub("", rest[: said.start()] + rest[said.end() :] if said else rest)).strip()
    message = message.replace('\\"', '"').replace("\\n", " ").strip()
    return Parsed(
        f"{message} {others}".strip(),
        known[0] if known else None,
        LEVELS.get(level[1].upper(), "") if level else "",
        file=source[1].rpartition("/")[2] if source else "",
    )


def json_line(text: str) -> Parsed | None:
    """Zap, etcd and docker's json-file; a line cut off in its middle says what it still says."""
    fields = {name: string or number for name, string, number, _ in _JSON_FIELD.findall(text[:20000])}
    if "log" in fields and "stream" in fields:
        inner_text = _unescaped(fields["log"]).strip()
        inner = parse(inner_text) or Parsed(inner_text)
        known = full(fields.get("time", ""))
        return inner._replace(moment=inner.moment or (known[0] if known else None))
    message = fields.get("msg") or fields.get("message") or ""
    if not message or not ({"level", "ts", "time", "severity", "@timestamp"} & fields.keys()):
        return None
    error = fields.get("error") or fields.get("err") or ""
    stamp = fields.get("ts") or fields.get("time") or fields.get("@timestamp") or ""
    known = full(stamp)
    moment = known[0] if known else _unix(stamp)
    caller = fields.get("caller", "").rpartition(":")[0].rpartition("/")[2]
    text = _unescaped(f"{message} error={error}" if error else message)
    level = LEVELS.get((fields.get("level") or fields.get("severity") or "").upper(), "")
    program = "operator" if "controller" in fields.get("logger", "") or "reconcil" in message.lower() else ""
    return Parsed(text, moment, level, program, caller)


def _unix(stamp: str) -> Moment | None:
    """A Unix time as a moment of the first day of 1970, which may have many seconds."""
    try:
        return Moment(1970, 1, 1, 0, 0, float(stamp)) if stamp else None
    except ValueError:
        return None


def _unescaped(text: str) -> str:
    return text.replace('\\"', '"').replace("\\n", " ").replace("\\t", " ").replace("\\\\", "\\")


def _journal(text: str) -> Parsed | None:
    match = _JOURNAL.match(text)
    if not match:
        return None
    moment = Moment(0, month_of(match["month"]), int(match["day"]), *clock_of(match["clock"]))
    return nested(match["rest"], match["host"] or "", match["program"], match["pid"] or "", moment)


def _weekday(text: str) -> Parsed | None:
    """`Wed 2020-05-27 10:37:34 CST host kubelet[1]: …` of journalctl -o short-full."""
    if text[3:4] != " " or not text[4:8].isdigit():
        return None
    known = full(text, 4)
    journal = _ISO_JOURNAL.match(text, known[1]) if known else None
    if not known or not journal:
        return None
    return nested(journal["rest"], journal["host"], journal["program"], journal["pid"] or "", known[0])


def nested(rest: str, host: str, program: str, pid: str, moment: Moment) -> Parsed:
    """A program's own line inside of the journal's: what it says of itself wins."""
    inner = parse(rest) or _angled(rest) or Parsed(rest)
    own = inner.moment if inner.moment and inner.moment.year else None
    return inner._replace(
        host=inner.host or host, program=inner.program or program, pid=inner.pid or pid, moment=own or moment
    )


def _angled(text: str) -> Parsed | None:
    """NetworkManager's `<info>  [1728899921.2] …`."""
    match = re.match(r"<(\w+)>\s+(?:\[\d+\.\d+\] )?(.*)$", text)
    return Parsed(match[2], level=LEVELS.get(match[1].upper(), "")) if match else None
