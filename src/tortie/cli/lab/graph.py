"""`tortie lab graph`: the lab as it is now, drawn."""

from __future__ import annotations

import shutil
import sys
from contextlib import closing
from typing import Final

from tortie.cli.lab.status import look
from tortie.cli.lab.talk import Talk, print_json, spoken
from tortie.lab.status import lab_view

FORMS: Final = ("ascii", "mermaid", "dot", "svg", "json")
# For a terminal that knows nothing but ASCII; each as wide as what it stands for.
_PLAIN: Final = str.maketrans("✓✗…·│─┌┐└┘├┤→←–", "+x.-|-++++++><-")


def graph(*, name: str | None, lang: str | None, output: str, color: str) -> int:
    def work(talk: Talk) -> int:
        folder = talk.folder()
        with closing(talk.keeper(folder)) as keeper:
            view = lab_view(look(keeper, folder))
        if talk.json:
            nodes = [node._asdict() for node in view.nodes]
            sessions = [session._asdict() for session in view.sessions]
            print_json({"name": view.name, "store": view.store, "nodes": nodes, "sessions": sessions})
            return 0
        if output == "mermaid":
            from tortie.lab.graph.mermaid import mermaid

            text = mermaid(view)
        elif output == "dot":
            from tortie.lab.graph.dot import dot

            text = dot(view)
        elif output == "svg":
            from tortie.lab.graph.svg import svg

            text = svg(view, language=talk.language)
        else:
            from tortie.lab.graph.ascii import ascii

            text = ascii(view, language=talk.language, width=shutil.get_terminal_size().columns)
            if talk.tick() != "✓":
                text = text.translate(_PLAIN)
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        return 0

    return spoken(work, name=name, lang=lang, output=output, color=color, forms=FORMS)
