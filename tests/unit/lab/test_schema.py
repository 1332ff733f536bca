"""The schema for editors says the same as the typed forms."""

from __future__ import annotations

import importlib.resources
import json
import re
import typing
from pathlib import Path
from typing import Any

import pytest
from tests.support.topologies import HEAD

from tortie.lab import forms
from tortie.lab.rules import MEMBERS, NODES_MAX, RACKS_MAX
from tortie.lab.topology import read_topology
from tortie.model.errors import Invalid
from tortie.model.manifest import read_plain
from tortie.model.shape import Part, fields_of

SCHEMA = json.loads(importlib.resources.files("tortie.lab").joinpath("topology.schema.json").read_text("utf-8"))
PARTS = {
    part.__name__: part
    for part in vars(forms).values()
    if isinstance(part, type) and issubclass(part, Part) and part not in (Part, forms.Addressed)
}
EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "lab").glob("*.yaml"))

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}


def fits(value: Any, schema: Any, *, root: Any = SCHEMA) -> bool:
    """JSON Schema, as far as ours uses it; a word that is not known here fails the test."""
    for word, wanted in schema.items():
        match word:
            case "$schema" | "$defs" | "title" | "description" | "default" | "examples":
                good = True
            case "$ref":
                good = fits(value, root["$defs"][wanted.removeprefix("#/$defs/")])
            case "type":
                names = [wanted] if isinstance(wanted, str) else wanted
                good = any(_is(value, name) for name in names)
            case "const":
                good = value == wanted
            case "enum":
                good = any(value == each and type(value) is type(each) for each in wanted)
            case "oneOf":
                good = sum(fits(value, each) for each in wanted) == 1
            case "pattern":
                good = not isinstance(value, str) or re.search(wanted, value) is not None
            case "maxLength":
                good = len(value) <= wanted
            case "minimum":
                good = not _is(value, "number") or value >= wanted
            case "maximum":
                good = not _is(value, "number") or value <= wanted
            case "minItems":
                good = len(value) >= wanted
            case "maxItems":
                good = len(value) <= wanted
            case "items":
                good = all(fits(each, wanted) for each in value)
            case "required":
                good = all(name in value for name in wanted)
            case "properties":
                good = all(fits(value[name], inner) for name, inner in wanted.items() if name in value)
            case "propertyNames":
                good = all(fits(name, wanted) for name in value)
            case "additionalProperties":
                others = [name for name in value if name not in schema.get("properties", {})]
                good = not others if wanted is False else all(fits(value[name], wanted) for name in others)
            case _:
                pytest.fail(f"the schema uses {word}, which this test does not know")
        if not good:
            return False
    return True


def _is(value: Any, name: str) -> bool:
    return isinstance(value, _TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def test_every_form_has_its_definition() -> None:
    assert {name for name in SCHEMA["$defs"] if name[0].isupper()} == set(PARTS)


@pytest.mark.parametrize("name", sorted(PARTS))
def test_fields_are_those_of_the_form(name: str) -> None:
    definition, fields = SCHEMA["$defs"][name], fields_of(PARTS[name])
    assert set(definition["properties"]) == set(fields)
    assert set(definition.get("required", ())) == {name for name, field in fields.items() if field.required}
    assert definition["additionalProperties"] is False


@pytest.mark.parametrize("name", sorted(PARTS))
def test_values_are_those_of_the_form(name: str) -> None:
    for field in fields_of(PARTS[name]).values():
        said = SCHEMA["$defs"][name]["properties"][field.name]
        if typing.get_origin(field.kind) is typing.Literal:
            words = typing.get_args(field.kind)
            assert said.get("enum", [said.get("const")]) == list(words)
        if field.kind is bool:
            assert said["type"] == "boolean"
        if field.kind is int:
            assert said.get("type") == "integer" or "enum" in said
        if field.part:
            assert f"#/$defs/{field.part.__name__}" in json.dumps(said)
        if "default" in said:
            assert said["default"] == field.zero


def test_limits_are_those_of_the_rules() -> None:
    properties = SCHEMA["$defs"]["Topology"]["properties"]
    assert {each.get("maximum", each.get("maxItems")) for each in properties["nodes"]["oneOf"]} == {NODES_MAX}
    assert {each.get("maximum", each.get("maxItems")) for each in properties["racks"]["oneOf"]} == {RACKS_MAX}
    assert SCHEMA["$defs"]["LabStore"]["properties"]["members"]["enum"] == list(MEMBERS)
    assert SCHEMA["$defs"]["name"]["pattern"] == f"^{forms.LabName.form}$"
    assert SCHEMA["$defs"]["interfaceName"]["pattern"] == f"^{forms.PortName.form}$"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_fits(path: Path) -> None:
    assert fits(read_plain(path.read_text(), str(path)).document, SCHEMA)


@pytest.mark.parametrize(
    "text",
    [
        "nodes: 0",
        "nodes: []",
        "nodes: three",
        "nodes: true",
        "nodes: [A]",
        "nodes: [{rack: a}]",
        "nodes: 1\nracks: 0",
        "nodes: 1\nracks: [A]",
        "nodes: 1\nstore: file",
        "nodes: 1\nstore: {members: 2}",
        "nodes: 1\nipv6: 'yes'",
        "nodes: 1\npool: {blockSize: 99}",
        "nodes: 1\npool: {encapsulation: gre}",
        "nodes: 1\nsettings: {A-B: c}",
        "nodes: 1\nsettings: {A: []}",
        "nodes: 1\nsurprise: 1",
        "nodes: [{name: a, address: here}]",
        "nodes: [{name: a, nics: [{name: sixteen-letters-}]}]",
        "nodes: [{name: a, bridges: [{name: a, mtu: 9000}]}]",
        "nodes: 1\nnetworks: [{name: a, cidr: 'fd00::/64'}]",
        "racks: 2",
    ],
)
def test_what_does_not_fit_is_not_read_either(text: str) -> None:
    assert not fits(read_plain(HEAD + text, "lab.yaml").document, SCHEMA)
    with pytest.raises(Invalid):
        read_topology(HEAD + text, "lab.yaml")
