"""How YAML is composed, within bounds, and in which line each field of it stands."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from tortie.model.scalars import key_text

# Far above any real file; endless nesting ends here instead of in memory. What a file unfolds to is proportional to
# its size, unless it is an alias bomb.
DEPTH_MAX = 100
COST_OF_A_FIELD = 100
COST_MAX_PER_CHARACTER = 200
COST_MAX = 200_000_000

_TAGS = {yaml.ScalarNode: "tag:yaml.org,2002:str", yaml.SequenceNode: "tag:yaml.org,2002:seq"}


class Loader(getattr(yaml, "CBaseLoader", yaml.BaseLoader)):  # type: ignore[misc] # with libyaml where it is
    """What a scalar means is judged by its field later, so nothing is looked for in its text here."""

    def resolve(self, kind: type[yaml.Node], _value: object, _implicit: object) -> str:
        return _TAGS.get(kind, "tag:yaml.org,2002:map")

    def descend_resolver(self, *_: object) -> None: ...

    def ascend_resolver(self) -> None: ...


class LinesOfText:
    """Where each field of each document of a text stands: read once more, when the first of them is asked for."""

    def __init__(self, text: str, *, resources: bool) -> None:
        self._text = text
        self._key = key_text if resources else None
        self._found: list[dict[str, int]] | None = None

    def of(self, number: int) -> dict[str, int]:
        if self._found is None:
            self._found = list(self._read())
        return self._found[number]

    def _read(self) -> Iterator[dict[str, int]]:
        loader = Loader(self._text)
        self._left = min(COST_MAX, COST_MAX_PER_CHARACTER * (len(self._text) + 1000))
        try:
            while loader.check_node():
                lines: dict[str, int] = {}
                self._walk(loader.get_node(), "", 0, lines)
                yield lines
        except yaml.YAMLError:  # of a document behind the last that could be read
            return
        finally:
            loader.dispose()

    def _walk(self, node: yaml.Node, path: str, depth: int, lines: dict[str, int]) -> None:
        """Aliases that unfold without end are cut off: the paths are what would fill the memory."""
        self._left -= COST_OF_A_FIELD + len(path)
        if self._left < 0 or depth > DEPTH_MAX or node is None:
            return
        lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.SequenceNode):
            for index, item in enumerate(node.value):
                self._walk(item, f"{path}[{index}]", depth + 1, lines)
        elif isinstance(node, yaml.MappingNode):
            for key_node, value_node in node.value:
                self._walk_field(key_node, value_node, path, depth, lines)

    def _walk_field(
        self, key_node: yaml.ScalarNode, value_node: yaml.Node, path: str, depth: int, lines: dict[str, int]
    ) -> None:
        key = str(key_node.value)
        if key == "<<" and not key_node.style:
            for source in value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]:
                self._walk(source, path, depth + 1, lines)
            return
        if self._key and not key_node.style:
            key = self._key(key)
        inner = f"{path}.{key}" if path else key
        lines[inner] = key_node.start_mark.line + 1
        self._walk(value_node, inner, depth + 1, lines)
