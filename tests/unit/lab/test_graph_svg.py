"""The SVG file: well-formed, complete in itself, and safe with any name."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from tests.support.lab_views import CHINESE, MANY, NASTY, RACKS, THREE, lab, without

from tortie.lab.graph.svg import svg
from tortie.model.measure import plain

SVG = "{http://www.w3.org/2000/svg}"


def classes(root: ElementTree.Element, tag: str) -> list[str]:
    return [str(each.get("class")) for each in root.iter(SVG + tag)]


@pytest.mark.parametrize("name", MANY)
def test_every_picture_is_well_formed_and_takes_nothing_from_elsewhere(name: str) -> None:
    text = svg(MANY[name])
    root = ElementTree.fromstring(text)
    assert root.tag == SVG + "svg"
    assert str(root.get("viewBox")).startswith("0 0 800 ")
    allowed = {"svg", "title", "desc", "style", "rect", "path", "circle", "text", "g"}
    assert {each.tag.removeprefix(SVG) for each in root.iter()} <= allowed
    assert "url(" not in text
    assert "@import" not in text
    assert not any("href" in name or name.startswith("on") for each in root.iter() for name in each.attrib)


def test_a_reader_who_sees_nothing_is_told_what_is_there() -> None:
    root = ElementTree.fromstring(svg(RACKS))
    assert root.get("role") == "img"
    assert [child.tag for child in root][:2] == [SVG + "title", SVG + "desc"]
    assert root[0].text == "Lab default"
    assert root[1].text == (
        "unhealthy · 7 of 8 nodes ready · full mesh: 26 of 28 sessions up · peerings: 8 of 8 sessions up"
    )


def test_sessions_are_lines_in_the_colour_of_their_state() -> None:
    root = ElementTree.fromstring(svg(RACKS))
    drawn = classes(root, "path")
    assert [drawn.count(f"link {state}") for state in ("up", "down", "one-sided")] == [34, 1, 1]
    assert drawn.count("head") == 1
    titles = [each.findtext(SVG + "title") for each in root.iter(SVG + "path") if each.get("class") == "link down"]
    assert titles == ["node-1 – node-7: down, Connect: No route to host"]


def test_the_more_sessions_are_up_the_fainter_they_are() -> None:
    def strength(nodes: int) -> float:
        root = ElementTree.fromstring(svg(lab(nodes)))
        return float(
            next(str(each.get("stroke-opacity")) for each in root.iter(SVG + "g") if each.get("stroke-opacity"))
        )

    strengths = [strength(nodes) for nodes in (3, 8, 12, 24)]
    assert strengths == sorted(strengths, reverse=True)
    assert len(set(strengths)) == 4


def test_dark_screens_have_colours_of_their_own_for_everything_that_has_one() -> None:
    style = str(ElementTree.fromstring(svg(THREE)).findtext(SVG + "style"))
    light, _, dark = style.partition("@media (prefers-color-scheme:dark)")
    coloured = {line.partition("{")[0] for line in light.splitlines() if "#" in line}
    assert coloured
    assert coloured == {line.partition("{")[0] for line in dark.splitlines() if "#" in line}
    used = {name for each in ElementTree.fromstring(svg(RACKS)).iter() for name in str(each.get("class", "")).split()}
    known = {"name", "title", "heading", "trouble", "unknown"}  # these have the colour of all text, or none
    assert {name for name in used - known if f".{name}" not in style} == set()


@pytest.mark.parametrize("nasty", NASTY)
def test_any_name_is_only_text(nasty: str) -> None:
    names = nasty.replace("{", "").replace("}", "") + "{}"
    view = lab(4, racks=2, name=nasty, names=names, broken=without(2, 4), not_ready={1: nasty}, starting={3})
    root = ElementTree.fromstring(svg(view._replace(store=nasty)))
    assert {each.tag.removeprefix(SVG) for each in root.iter()} <= {
        "svg", "title", "desc", "style", "rect", "path", "circle", "text", "g"
    }  # fmt: skip
    shown = [each.text for each in root.iter(SVG + "title")]
    assert any(str(each).startswith(plain(names.format(1))) for each in shown)
    many = lab(40, names=names, broken=without(3, 40))
    assert ElementTree.fromstring(svg(many)) is not None


def test_chinese_says_so() -> None:
    root = ElementTree.fromstring(svg(CHINESE, language="zh"))
    assert root.get("{http://www.w3.org/XML/1998/namespace}lang") == "zh"
    texts = {each.text for each in root.iter(SVG + "text")}
    assert {"实验环境 演示", "异常", "有问题的地方", "节点-5", "未就绪", "读取数据存储", "单向", "13 已建立"} <= texts
