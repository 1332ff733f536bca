"""The layout of the SVG, measured: nothing lies on anything else, and nothing leaves its place."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from tests.support.lab_views import LARGE, LONG, MANY, RACKS, THREE, lab

from tortie.lab.graph.geometry import Box, Layout
from tortie.lab.graph.layout import arrange
from tortie.lab.graph.picture import LabView, everyone, links, printable
from tortie.lab.graph.words import words_of


@pytest.fixture(scope="module", params=[(name, language) for name in MANY for language in ("en", "zh")], ids=", ".join)
def laid_out(request: pytest.FixtureRequest) -> tuple[LabView, Layout]:
    name, language = request.param
    return MANY[name], arrange(printable(MANY[name]), words_of(language))


def grown(box: Box, by: float = 0.01) -> Box:
    return Box(box.x - by, box.y - by, box.width + 2 * by, box.height + 2 * by)


def overlapping(boxes: list[Box]) -> list[tuple[Box, Box]]:
    """Those that overlap, found along one axis so that hundreds of cards stay cheap."""
    ordered = sorted(boxes, key=lambda box: box.y)
    found = []
    for index, one in enumerate(ordered):
        for other in ordered[index + 1 :]:
            if other.y >= one.bottom:
                break
            if one.overlaps(other):
                found.append((one, other))
    return found


def test_every_machine_has_one_card_and_every_pair_of_the_mesh_its_place(laid_out: tuple[LabView, Layout]) -> None:
    view, layout = laid_out
    names = [card.node.name for card in layout.cards]
    embedded = [view.store] if not any(node.role == "store" for node in view.nodes) else []
    assert sorted(names) == sorted([*(node.name for node in everyone(view)), *embedded])
    if layout.lines:
        assert {line.link for line in layout.lines} == set(links(view))
    else:
        assert bool(layout.cells) == bool(links(view))


def test_no_two_cards_overlap(laid_out: tuple[LabView, Layout]) -> None:
    assert not overlapping([card.box for card in laid_out[1].cards])


def test_text_stays_on_its_card_and_lines_of_text_do_not_touch(laid_out: tuple[LabView, Layout]) -> None:
    for card in laid_out[1].cards:
        box = grown(card.box)
        inside = [text.box for text in card.texts]
        assert all(box.holds(each) for each in inside)
        assert all(upper.at.y < lower.at.y - lower.size * 0.9 for upper, lower in pairwise(card.texts))
        if card.dot:
            at, radius = card.dot.at, card.dot.radius
            dot = Box(at.x - radius, at.y - radius, 2 * radius, 2 * radius)
            assert box.holds(dot)
            assert not any(dot.overlaps(each) for each in inside[:1])
        if card.icon:
            assert box.holds(card.icon)
            assert not any(card.icon.overlaps(each) for each in inside)


def test_everything_is_inside_the_picture(laid_out: tuple[LabView, Layout]) -> None:
    layout = laid_out[1]
    picture = Box(0, 0, layout.width, layout.height)
    boxes = [card.box for card in layout.cards]
    boxes += [text.box for text in layout.texts] + [group.box for group in layout.groups]
    boxes += [label.box for label in layout.labels] + [cell.box for cell in (*layout.cells, *layout.pills)]
    boxes += [Box(*line.at(part / 10), 0, 0) for line in layout.lines for part in range(11)]
    boxes += [Box(*end, 0, 0) for sample in layout.samples for end in (sample.start, sample.end)]
    assert all(picture.holds(box) for box in boxes)


def test_text_outside_of_cards_overlaps_nothing(laid_out: tuple[LabView, Layout]) -> None:
    layout = laid_out[1]
    texts = [text.box for text in layout.texts]
    assert not overlapping(texts)
    for box in texts:
        assert not any(box.overlaps(card.box) for card in layout.cards)
        assert not any(box.overlaps(cell.box) for cell in layout.cells)
        assert not any(box.overlaps(group.box) for group in layout.groups)


def test_a_rack_holds_its_own_cards_and_no_others(laid_out: tuple[LabView, Layout]) -> None:
    layout = laid_out[1]
    assert not overlapping([group.box for group in layout.groups])
    for group in layout.groups:
        assert grown(group.box).holds(group.title.box)
        for card in layout.cards:
            if len(layout.groups) > 1:
                assert grown(group.box).holds(card.box) == (card.node.rack == group.name)
            assert not card.box.overlaps(group.title.box)


def test_labels_lie_on_no_card_and_not_on_each_other(laid_out: tuple[LabView, Layout]) -> None:
    layout = laid_out[1]
    for label in layout.labels:
        assert grown(label.box).holds(label.text.box)
        assert not any(label.box.overlaps(card.box) for card in layout.cards)
    assert not overlapping([label.box for label in layout.labels])


def test_lines_begin_and_end_at_the_cards_of_their_machines(laid_out: tuple[LabView, Layout]) -> None:
    layout = laid_out[1]
    boxes = {card.node.name: card.box for card in layout.cards}
    for line in layout.lines:
        for end, name in ((line.start, line.link.a), (line.end, line.link.b)):
            assert grown(boxes[name], 0.2).holds(Box(end.x, end.y, 0, 0))
            assert not grown(boxes[name], -1).holds(Box(end.x, end.y, 0, 0))


def test_between_racks_no_session_passes_behind_a_card() -> None:
    layout = arrange(lab(20, racks=4), words_of("en"))
    for line in layout.lines:
        for card in layout.cards:
            if card.node.name not in (line.link.a, line.link.b) and card.node.role == "node":
                inner = grown(card.box, -1)
                assert not any(inner.holds(Box(*line.at(part / 40), 0, 0)) for part in range(41))


def test_a_ring_is_the_same_on_both_sides() -> None:
    for number in range(3, 25):
        cards = arrange(lab(number), words_of("en")).cards[:number]
        centres = [card.box.centre for card in cards]
        for one, other in zip(centres[1:], reversed(centres[1:]), strict=True):
            assert abs(one.x + other.x - 800) < 0.5
            assert abs(one.y - other.y) < 0.5


def test_broken_sessions_are_drawn_last_and_labelled() -> None:
    layout = arrange(RACKS, words_of("en"))
    assert [line.link.state for line in layout.lines[-2:]] == ["one-sided", "down"]
    assert sorted(label.text.text for label in layout.labels) == ["Connect: No route to…", "one-sided"]
    assert {label.text.full for label in layout.labels} == {"", "Connect: No route to host"}


def test_the_matrix_of_a_large_lab_shows_which_side_misses_a_session() -> None:
    layout = arrange(LARGE, words_of("en"))
    told = [cell.full for cell in layout.cells if cell.style == "cell bad one-sided"]
    assert told == ["node-3 – node-20: one-sided, only node-3 sees it, Hold timer expired"]
    assert sum(cell.style == "cell bad down" for cell in layout.cells) == 2 * 30
    rows = {text.text for text in layout.texts if text.style == "row bad"}
    assert rows == {"node-3", "node-8", "node-9", "node-17", "node-20"}


def test_the_matrix_has_every_cell_exactly_once() -> None:
    cells = [cell for cell in arrange(LARGE, words_of("en")).cells if cell.style != "grid"]
    side = min(cell.box.height for cell in cells)
    assert sum(cell.box.width * cell.box.height for cell in cells) == pytest.approx((30 * side) ** 2)
    assert not any(one.box.overlaps(other.box) for one, other in combinations(cells[:400], 2))


def test_a_name_that_does_not_fit_is_cut_and_kept_in_full() -> None:
    first = arrange(LONG, words_of("en")).cards[0].texts[0]
    assert first.text.startswith("ip-10-77-0-1.")
    assert first.text.endswith("…")
    assert first.full == LONG.nodes[0].name


def test_the_legend_counts_what_is_in_the_picture() -> None:
    texts = [text.text for text in arrange(LARGE, words_of("en")).texts]
    assert texts[-6:] == ["28 ready", "1 not ready", "1 starting", "404 up", "30 down", "1 one-sided"]
    assert [text.text for text in arrange(THREE, words_of("zh")).texts][-6] == "3 就绪"
