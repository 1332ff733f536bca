"""Commands split by a real bash, in which no program is real: each one only tells its words.

No program is found (the path leads nowhere). Builtins that could do something, and programs that run others (ssh,
sh -c, kubectl exec), are functions; a script that another shell would read is read again. What a template itself
redirects is taken out of it first, and its slashes are, so that nothing outside of an empty folder can be reached.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tortie.doctor.commands.shell import HOLE, Shell

BASH: Final = shutil.which("bash") or "bash"
_NEUTRAL: Final = re.compile(r"[0-9]?&?>[>&|]?[0-9-]?(?=\s|$)|[0-9]?&?>[>&|]?[0-9]?|[0-9]?<<<|(?<!<)<(?![<(])")
# Files that a glob would find: an asterisk that gets through is seen.
_BAIT: Final = ("x", "bait", "evil", "w-1")
_PRELUDE: Final = r"""
tell() {
  local body=
  IFS= builtin read -r -d '' -t 2 body
  builtin printf '%s\0' "$number" "$(( $# + 1 ))" "$@" "$body" >&3
}
command_not_found_handle() { tell "$@"; return "$result"; }
again() { builtin eval "$1"; }
# A script is told by what it runs, not as a word of the shell that brings it.
ssh() {
  local told=(ssh)
  while [[ $1 == -* ]]; do
    told+=("$1"); [[ $1 == -[iplo] ]] && { told+=("$2"); builtin shift; }; builtin shift
  done
  tell "${told[@]}" "$1"; builtin shift
  [[ $# -gt 0 ]] && again "$*"
  return "$result"
}
shell() {
  local told=()
  while [[ $# -gt 0 && $1 != -*c ]]; do told+=("$1"); builtin shift; done
  tell "${told[@]}" "$1"
  [[ $# -gt 1 ]] && again "$2"
  return "$result"
}
sh() { shell sh "$@"; }
bash() { shell bash "$@"; }
kubectl() {
  local told=(kubectl)
  while [[ $# -gt 0 && $1 != -- ]]; do told+=("$1"); builtin shift; done
  tell "${told[@]}"
  [[ $# -gt 1 ]] && { builtin shift; "$@"; }
  return "$result"
}
for name in echo printf cd test exit exec eval source kill wait export set unset trap true false pwd alias command \
    builtin_type type read time_ ulimit umask hash enable declare local_ let pushd popd shopt mapfile; do
  builtin eval "$name() { tell $name \"\$@\"; return \"\$result\"; }"
done
read() { tell read "$@"; return 1; }
"""


class Words(NamedTuple):
    """One program as the shell started it, with what it was given to read."""

    words: tuple[str, ...]
    body: str


def harmless(template: str) -> str:
    """Without redirections and slashes of its own; its quotes, operators and holes stay."""
    parts: list[str] = []
    last = 0
    for hole in HOLE.finditer(template):
        parts += [_tame(template[last : hole.start()]), hole[0]]
        last = hole.end()
    return "".join((*parts, _tame(template[last:])))


def _tame(literal: str) -> str:
    return _NEUTRAL.sub(" REDIRECT ", literal).replace("/", ":")


def split(commands: Sequence[str], result: int = 0) -> list[list[Words]]:
    """What each command would run; one shell for all of them."""
    with tempfile.TemporaryDirectory() as folder:
        for name in _BAIT:
            Path(folder, name).touch()
        script = "".join((_PRELUDE, f"result={result}\n", *map(_numbered, range(len(commands)), commands)))
        Path(folder, ".script").write_text(script, encoding="utf-8", errors="surrogatepass")
        arguments = [BASH, "--noprofile", "--norc", "-c", "exec 3>&1 >/dev/null; . ./.script"]
        done = subprocess.run(
            arguments, cwd=folder, env={"PATH": "/nowhere", "HOME": "/home-of-nobody"}, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=300, check=False,
        )  # fmt: skip
        made = sorted(path.name for path in Path(folder).iterdir() if path.name not in (*_BAIT, ".script"))
    assert not made, f"files were made: {made}"
    found: list[list[Words]] = [[] for _ in commands]
    for number, words in _records(done.stdout.decode("utf-8", "surrogateescape")):
        found[number].append(words)
    return [sorted(words) for words in found]


def _numbered(number: int, command: str) -> str:
    quoted = command.replace("'", "'\\''")
    return f"number={number}\nbuiltin eval '{quoted}'\n"


def _records(output: str) -> Iterator[tuple[int, Words]]:
    fields = output.split("\0")
    index = 0
    while index + 1 < len(fields):
        count = int(fields[index + 1])
        *words, body = fields[index + 2 : index + 2 + count]
        yield int(fields[index]), Words(tuple(words), body)
        index += 2 + count


def intended(template: str, values: Mapping[str, str], result: int = 0) -> list[Words]:
    """The words of a template with each value, or each hole that stays open, as it is: a part of one word."""
    shell = Shell(template, tuple(values.items()))
    left = {hole.label for hole in shell.open}
    marks = _marks(template)
    shown = {mark: f"<{label}>" if label in left else values[label] for label, mark in marks.items()}

    def told(text: str) -> str:
        return re.sub(r"Q\d+Q", lambda match: shown.get(match[0], match[0]), text)

    learn([template], result)
    return sorted(Words(tuple(map(told, words)), told(body)) for words, body in _LEARNT[template, result])


_LEARNT: Final[dict[tuple[str, int], tuple[Words, ...]]] = {}


def learn(templates: Sequence[str], result: int = 0) -> None:
    """Splits all templates in one shell, so that `intended` need not start one for each."""
    new = [template for template in dict.fromkeys(templates) if (template, result) not in _LEARNT]
    marked = [_marked(one) for one in new]
    for template, words in zip(new, split(marked, result) if new else (), strict=True):
        assert words, f"nothing of it runs: {template}"
        _LEARNT[template, result] = tuple(words)


def _marked(template: str) -> str:
    marks = _marks(template)
    return HOLE.sub(lambda match: marks[match["label"]], template)


def _marks(template: str) -> dict[str, str]:
    """For every hole a word that means nothing to a shell."""
    return {hole.label: f"Q{number}Q" for number, hole in enumerate(Shell(template).holes)}
