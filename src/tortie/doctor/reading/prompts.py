"""Shell prompts of every habit: what stands before the command, and which host it names."""

from __future__ import annotations

import re

from tortie.doctor.lazily import lazily
from tortie.doctor.reading.commands import plausible, program_of, spoken
from tortie.model.tuples import NamedTuple

_ENVIRONMENT = lazily(r"^\([\w.-]{1,30}\) ")
_NAME = r"[A-Za-z0-9][\w.-]{0,80}"
# A user and a host together are a prompt whatever follows; each group is linear.
_SURE = lazily(
    rf"^ {{0,16}}(?:\[(?P<u1>[\w.-]{{1,40}})@(?P<h1>{_NAME})(?:[: ](?P<f1>[^\]\n]{{0,120}}))?\] ?[$#%>]"
    rf"|(?P<u2>[\w.-]{{1,40}})@(?P<h2>{_NAME})(?::(?P<f2>[^$#%\n]{{0,120}}?)| (?P<f3>[~/][^$#%\n]{{0,120}}?))?"
    rf" ?[$#%])(?: +(?P<command>.*)|(?P<close>\S.*)?)$"
)
# These need a known program behind them.
_MAYBE = lazily(
    rf"^(?:\[(?P<h1>{_NAME})(?: (?P<f1>[^\]\n]{{0,80}}))?\](?: ?(?P<f4>[~/][^ $#\n]{{0,120}}))? ?[$#]"
    rf"| {{0,16}}[\w~./-]{{0,40}}\] ?[$#]"  # its beginning was not copied: ~]#
    rf"|(?P<shell>(?:ba|z|da|k)?sh)(?:-[\d.]+)?[$#]"
    rf"| {{0,16}}(?P<h2>{_NAME})(?::(?P<f2>[~/][^ $#\n]{{0,120}})(?: [\w.-]+)?| (?P<f3>[~/][^ $#\n]{{0,120}}))? ?[$#]"
    rf"|[~/][\w./~-]{{0,80}} ?[$#]| {{0,16}}#|[%❯»λ]|[➜→] {{1,3}}\S{{1,80}}(?: git:\(\S+\))?(?: ✗)?"
    rf"|(?:PS )?[A-Za-z]:[^>\n]{{0,120}}>|[╰└]─+[$#➤>❯]+) {{0,4}}(?P<command>\S.*)$"
)
_DOLLAR = lazily(r"^ {0,16}\$ +(?P<command>\S.*)$")
_EMPTY = lazily(r"^ {0,4}\$$")
_BIRD = lazily(r"^bird(?:6)?> ?(?P<command>.*)$")
# Clients that ask for a command of their own: what is typed there is one of theirs.
_CLIENT = lazily(r"^\((?P<client>openstack|neutron|nova)\) (?P<command>[a-z]\S*(?: .*)?)$")
# What people write behind a command: `   (as root)`, `   <- on the sender`, ` # the other node`.
_REMARK = lazily(r"(?:(?<!\s)\s{2,}(?:\(|（|<-|←|//)|（).*$|\s#\s[^'\"]*$")
_SHELLS = ("bash", "sh", "zsh", "dash", "ksh", "mysql", "sqlite")
# How people call kubectl in their shells.
_SHORT = lazily(
    r"(?:^|(?<=[;|&(])|(?<=[;|&(] )|(?<=sudo )|(?<=do ))(?:k|kc|kubecolor)(?=\s+(?:-n\s*\S+\s+)?"
    r"(?:get|describe|logs?|exec|apply|delete|edit|patch|rollout|top|version|cluster-info|drain|cordon|uncordon|label"
    r"|annotate|create|scale|set|debug|run|config|api-resources)\b)"
)
_FOLDERS = frozenset(("f1", "f2", "f3", "f4"))
_STARTS = frozenset("[$#~/(%❯»λ➜→╰└ ")


class Prompt(NamedTuple):
    """A prompt and what was typed at it; the command may be empty."""

    host: str
    command: str
    folder: str = ""  # as the prompt shows it: often its last part only
    stem: str = ""  # the prompt itself, without what was typed at it


def prompt(line: str) -> Prompt | None:
    """What a line that begins with a prompt says; None for every other line."""
    if not line or not ("$" in line or "#" in line or ">" in line or "%" in line or line[0] in _STARTS):
        return None
    match = _CLIENT.match(line) if line[0] == "(" else None
    if match:
        return Prompt("", f"{match['client']} {_clean(match['command'])}")
    bare = _ENVIRONMENT.sub("", line, count=1) if line[0] == "(" else line
    match = _SURE.match(bare)
    if match:
        command = _clean(match["command"] or match["close"] or "")
        if match["close"] and not plausible(command):
            return None
        return Prompt(match["h1"] or match["h2"], command, _folder(match), _stem(match))
    match = _DOLLAR.match(bare)
    if match:
        command = _clean(match["command"])
        first = command.split()[0] if command else ""
        likely = plausible(command) or (bool(program_of(first)) and not spoken(command))
        return Prompt("", command, stem=_stem(match)) if likely or not command else None
    if _EMPTY.match(bare):
        return Prompt("", "")
    match = _BIRD.match(bare)
    if match:
        return Prompt("", f"birdcl {match['command']}".rstrip())
    match = _MAYBE.match(bare)
    if match and not bare.startswith("##"):
        command = _clean(match["command"])
        if plausible(command):
            host = match["h1"] or match["h2"] or ""
            return Prompt("" if host in _SHELLS else host, command, _folder(match), _stem(match))
    return None


def _stem(match: re.Match[str]) -> str:
    """What stands before the command; the folder may be another one each time, and host and user tell enough."""
    return match.string[: match.start("command")] if match["command"] else match.string


def _folder(match: re.Match[str]) -> str:
    return next((folder for name, folder in match.groupdict("").items() if name in _FOLDERS and folder), "").strip()


def _clean(command: str) -> str:
    """Without a person's remark behind it, and with kubectl spelled out. A line given up with ^C was not run."""
    if command.endswith(("^C", "^D", "^Z")):
        return ""
    remark = _REMARK.search(command)
    before = command[: remark.start()] if remark else ""
    if before and before.count("'") % 2 == 0 and not before.endswith((";", "|", "&", " do", " then")):
        command = before
    return _SHORT.sub("kubectl", command.strip())
