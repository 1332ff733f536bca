"""Objects as YAML and JSON, the way kubectl writes them. Pure."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any

from tortie.lab.kubectl.kinds import Thing


def body(things: Sequence[Thing], *, single: bool) -> Any:
    """One object, or a list with all of them."""
    if single and len(things) == 1:
        return things[0]
    return {"apiVersion": "v1", "items": list(things), "kind": "List", "metadata": {"resourceVersion": ""}}


def as_json(value: Any) -> str:
    return json.dumps(value, indent=4, sort_keys=True, ensure_ascii=False) + "\n"


def as_yaml(value: Any) -> str:
    import yaml

    text: str = yaml.dump(value, Dumper=_dumper(), default_flow_style=False, allow_unicode=True, width=4096)
    return text


@functools.cache
def _dumper() -> Any:
    """Lines in blocks, and double quotes around what would not be read as text."""
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, _data: Any) -> bool:
            return True

    def text(dumper: Any, value: str) -> Any:
        tag = "tag:yaml.org,2002:str"
        if "\n" in value and all(line == line.rstrip() for line in value.split("\n")):
            return dumper.represent_scalar(tag, value, style="|")
        plain = value and dumper.resolve(yaml.ScalarNode, value, (True, False)) == tag
        return dumper.represent_scalar(tag, value, style=None if plain else '"')

    Dumper.add_representer(str, text)
    return Dumper
