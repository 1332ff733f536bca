"""`tortie doctor --lab`: what a careful person would collect from the running lab, judged without being written."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tortie.cli.lab.collecting import collect
from tortie.cli.lab.talk import Talk, spoken
from tortie.doctor.reading.cleaning import lines_of
from tortie.doctor.reading.exhibit import Source
from tortie.doctor.reading.sources import node_of
from tortie.lab.evidence.bundle import Bundle


def with_lab(
    answer: Callable[[Sequence[Source]], int], name: str | None, lang: str | None, color: str, *, as_json: bool
) -> int:
    """What is wrong with the lab itself, as one that is not there, is told in the language of whoever asks."""

    def work(talk: Talk) -> int:
        return answer(sources(collect(talk, talk.folder())))

    form = "json" if as_json else "text"
    return spoken(work, name=name, lang=lang, output=form, color=color, forms=("text", "json"))


def sources(bundle: Bundle) -> list[Source]:
    """The same files as those of `tortie lab evidence`, in the same order. Secrets are out of them already."""
    return [Source(file.path, lines_of(file.text), (), node_of(file.path)) for file in bundle.files]
