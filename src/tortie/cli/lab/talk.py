"""How the lab's commands speak: the language, the form, where labs are, and which one is meant."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from tortie.cli.language import Language, choose_language, may_colour
from tortie.lab.changes import Refused
from tortie.lab.client import KeeperClient
from tortie.lab.failures import LabFailure, Told
from tortie.lab.registry import DEFAULT_NAME, LabFolder, Record, all_labs, is_locked, lab_folder, labs_folder
from tortie.lab.words import Pair, say
from tortie.model.errors import TortieError

_COLOURS = {"good": "32", "bad": "31", "faint": "2", "bold": "1"}


class Talk:
    """One command's way to speak. With JSON nothing is translated."""

    def __init__(self, name: str | None, lang: str | None, output: str, color: str, forms: tuple[str, ...]) -> None:
        language = choose_language(lang, os.environ)
        self.language: Language = "en" if output == "json" else language
        if output not in forms:
            raise LabFailure("bad-choice", flag="-o", text=output, choices=", ".join(forms))
        self.json = output == "json"
        self.labs = labs_folder(os.environ, os.geteuid())
        self._name = name
        self._coloured = may_colour(color, os.environ, sys.stdout)

    def say(self, key: str, **values: object) -> str:
        return say(self.language, key, **values)

    def pick(self, pair: Pair) -> str:
        return pair.zh if self.language == "zh" else pair.en

    def colour(self, text: str, kind: str) -> str:
        return f"\x1b[{_COLOURS[kind]}m{text}\x1b[0m" if self._coloured else text

    def tick(self) -> str:
        """✓ where the terminal can show it."""
        encoding = (getattr(sys.stdout, "encoding", "") or "").lower().replace("-", "")
        return "✓" if encoding in ("utf8", "gb18030") else "+"

    def cross(self) -> str:
        return "✗" if self.tick() == "✓" else "x"

    def named(self, otherwise: str = "") -> LabFolder:
        """The lab that is asked for, whether it exists or not."""
        return lab_folder(self.labs, self._name or otherwise or DEFAULT_NAME)

    def meant(self) -> LabFolder:
        """The lab of somebody who says nothing else about it either: the only one there is, else as named."""
        folder, others = self.named(), all_labs(self.labs)
        return others[0] if self._name is None and len(others) == 1 else folder

    def folder(self) -> LabFolder:
        """A lab that exists. Who names none means the one with the usual name, or the only one there is."""
        folder = self.named()
        if os.path.isdir(folder.path):
            return folder
        others = all_labs(self.labs)
        if self._name is None and len(others) == 1:
            return others[0]
        if self._name is None and others:
            names = [other.name for other in others]
            raise LabFailure("which-lab", usual=DEFAULT_NAME, names=", ".join(names), first=names[0])
        raise LabFailure("no-lab", name=folder.name, folder=folder.path)

    def keeper(self, folder: LabFolder) -> KeeperClient:
        keeper = KeeperClient.connect(folder)
        if keeper is None and is_locked(folder):
            raise LabFailure("coming-up", name=folder.name)
        if keeper is None:
            raise LabFailure("keeper-gone", name=folder.name, log=folder.log)
        return keeper


def spoken(
    work: Callable[[Talk], int], *, name: str | None, lang: str | None, output: str, color: str, forms: tuple[str, ...]
) -> int:
    """Does the work of a command. Its failures are told in the language of whoever called it."""
    try:
        return work(Talk(name, lang, output, color, forms))
    except TortieError as error:
        if output == "json" or choose_language(lang, os.environ) == "en":
            raise
        sys.stdout.flush()
        what, *rest = _in_chinese(error)
        lines = [f"错误：{what}"]
        lines += [
            f"  {label}：" + text.replace("\n", "\n        ")
            for label, text in zip(("原因", "办法"), rest, strict=True)
            if text
        ]
        sys.stderr.write("\n".join(lines) + "\n")
        return error.exit_code


def _in_chinese(error: TortieError) -> Told:
    if isinstance(error, LabFailure | Refused):
        return Told(*error.told("zh"))
    from tortie.lab.problem_words import told_in_chinese

    return told_in_chinese(error)


def number_of(flag: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise LabFailure("bad-number", flag=flag, text=text, example=f"{flag} 3")
    return int(text)


def seconds_of(flag: str, text: str) -> float:
    """`90s`, `5m`, `500ms`, `2`."""
    for unit, factor in (("ms", 0.001), ("s", 1.0), ("m", 60.0), ("", 1.0)):
        number = text.removesuffix(unit)
        if text.endswith(unit) and number.replace(".", "", 1).isdigit() and number.isascii():
            return float(number) * factor
    raise LabFailure("bad-number", flag=flag, text=text, example=f"{flag} 90s")


def say_aside(text: str) -> None:
    """To standard error, unless nobody is there any more, as when a terminal has been closed."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        # Python would try once more at the end, and make that its exit code.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)


def print_json(document: Any) -> None:
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def machine_names(name: str | None, role: str | None = None) -> list[str]:
    """For completion: of the lab that is meant."""
    machines = _record(name).get("plan", {}).get("machines", ())
    return [machine["name"] for machine in machines if role in (None, machine["role"])]


def pod_names(name: str | None) -> list[str]:
    return list(_record(name).get("pods", ()))


def _record(name: str | None) -> Record:
    try:
        return Talk(name, None, "text", "never", ("text",)).folder().read() or {}
    except (LabFailure, OSError):
        return {}
