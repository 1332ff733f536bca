"""`tortie lab evidence -o DIR`: a bundle as `tortie doctor collect` makes one, of every node of the lab."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any, Final

from tortie import __version__
from tortie.cli.lab.talk import Talk, print_json, spoken
from tortie.lab.evidence.bundle import Bundle
from tortie.lab.failures import LabFailure

STREAM: Final = "-"
_FORMS: Final = ("text", "json")
_MASKED: Final = ("tokens", "keys", "passwords", "certificates")


def evidence(*, name: str | None, lang: str | None, output: str | None, color: str, form: str) -> int:
    def work(talk: Talk) -> int:
        if not output:
            raise LabFailure("evidence-nowhere")
        if output != STREAM:
            _check_empty(output)
        from tortie.cli.lab.collecting import collect

        bundle = collect(talk, talk.folder())
        meta = meta_of(bundle)
        if output == STREAM:
            _print(talk, bundle, meta)
            return 0
        _write(output, bundle, meta)
        if talk.json:
            print_json(_outcome(output, bundle))
        else:
            nodes = ", ".join(bundle.nodes)
            told = {"files": len(bundle.files) + 1, "nodes": nodes, "redactions": bundle.redactions}
            sys.stdout.write(talk.say("evidence.done", folder=output, **told) + "\n")
        return 0

    return spoken(work, name=name, lang=lang, output=form, color=color, forms=_FORMS)


def meta_of(bundle: Bundle) -> dict[str, Any]:
    return {
        "collected": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "by": "tortie lab evidence",
        "version": __version__,
        "lab": bundle.lab,
        "nodes": list(bundle.nodes),
        "masked": list(_MASKED),
        "redactions": bundle.redactions,
    }


def _print(talk: Talk, bundle: Bundle, meta: dict[str, Any]) -> None:
    if talk.json:
        print_json({"meta": meta, "files": {file.path: file.text for file in bundle.files}})
    else:
        sys.stdout.write("\n".join(file.text for file in bundle.files))


def _outcome(folder: str, bundle: Bundle) -> dict[str, Any]:
    files = [{"path": file.path, "bytes": len(file.text.encode())} for file in bundle.files]
    return {
        "folder": folder,
        "lab": bundle.lab,
        "nodes": list(bundle.nodes),
        "files": [*files, {"path": "meta.json", "bytes": os.path.getsize(os.path.join(folder, "meta.json"))}],
        "redactions": bundle.redactions,
        "seconds": round(bundle.seconds, 3),
    }


def _check_empty(folder: str) -> None:
    """Before anything is asked; two moments would mix."""
    try:
        if os.listdir(folder):
            raise LabFailure("evidence-mixed", folder=folder)
    except FileNotFoundError:
        pass
    except NotADirectoryError:
        raise LabFailure("evidence-mixed", folder=folder) from None
    except OSError as error:
        raise LabFailure("evidence-unwritten", path=folder, reason=error.strerror or error) from None


def _write(folder: str, bundle: Bundle, meta: dict[str, Any]) -> None:
    texts = {file.path: file.text for file in bundle.files}
    texts["meta.json"] = json.dumps(meta) + "\n"
    for path, text in texts.items():
        whole = os.path.join(folder, path)
        try:
            os.makedirs(os.path.dirname(whole), exist_ok=True)
            with open(whole, "x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise LabFailure("evidence-unwritten", path=whole, reason=error.strerror or error) from None
