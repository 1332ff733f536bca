"""Long logs: what is kept of them, with the right numbers, whoever reads which part and wherever it is cut."""

from __future__ import annotations

import io
import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tortie.doctor.reading import large, sieve
from tortie.doctor.reading.exhibit import Source
from tortie.doctor.reading.large import Portion, portion, portion_of_range, put_together, sieve_of

NEEDLE = "rpf check is set to"
QUIET = b"2023-01-01 00:00:00.000 [INFO][9] felix/summary.go 100: Summarising 12 dataplane reconciliation loops\n"
LOUD = b"2023-01-01 00:00:00.000 [FATAL][9] felix/int_dataplane.go 1035: Kernel's RPF check is set to 'loose'.\n"


def whole(content: bytes, *needles: str) -> Source:
    return put_together("x.log", "", [portion(io.BytesIO(content), sieve_of(needles))])


def in_ranges(content: bytes, cuts: list[int], *needles: str) -> Source:
    wanted = sieve_of(needles)
    edges = sorted({0, *(cut for cut in cuts if cut < len(content)), len(content)})
    file = io.BytesIO(content)
    return put_together("x.log", "", [portion_of_range(file, *pair, wanted) for pair in pairwise(edges)])


def numbered(source: Source) -> dict[int, str]:
    return dict(zip(source.numbers, source.lines, strict=True))


def test_found_lines_keep_their_numbers() -> None:
    content = QUIET * 5000 + LOUD + QUIET * 5000
    kept = numbered(whole(content, NEEDLE))
    assert "RPF check" in kept[5001]
    assert list(kept)[:40] == list(range(1, 41))
    assert list(kept)[-40:] == list(range(10001 - 39, 10002))
    assert len(kept) == 81


def test_a_last_line_without_end_is_the_last_line() -> None:
    kept = numbered(whole(QUIET * 3000 + LOUD.rstrip(b"\n"), NEEDLE))
    assert "RPF check" in kept[3001]
    assert max(kept) == 3001


def test_of_many_lines_with_one_needle_the_first_and_last_stay() -> None:
    content = (LOUD + QUIET) * 60_000
    kept = [number for number, line in numbered(whole(content, NEEDLE)).items() if "RPF" in line]
    assert kept[:40] == list(range(1, 80, 2))
    # The lines of both ends; each needle's first and last ones. FATAL is a needle as well, on the same lines.
    assert len(kept) <= 2 * large.EACH_KEPT + 2 * large.ENDS_KEPT
    assert kept[-1] == 119_999


def test_a_rare_line_is_not_drowned_by_a_frequent_one() -> None:
    lines = [LOUD] * 30_000
    lines[17_000] = b"2023-01-01 00:00:00.000 [INFO][9] something else entirely went wrong here\n"
    assert "entirely" in numbered(whole(b"".join(lines), NEEDLE, "else entirely went wrong"))[17_001]


lines_ = st.sampled_from(
    [QUIET, LOUD, b"\n", b"x\n", b"\xff\xfe\x00\x00garbage\x80\n", b"a" * 5000 + b"\n", b"no end "]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(lines_, max_size=120), st.lists(st.integers(0, 60_000), max_size=6))
def test_wherever_it_is_cut_the_numbers_are_the_same(parts: list[bytes], cuts: list[int]) -> None:
    content = b"".join(parts)
    assert in_ranges(content, cuts, NEEDLE) == whole(content, NEEDLE)


def test_ranges_of_a_long_log_hold_what_the_whole_holds() -> None:
    chance = random.Random(7)
    content = b"".join(LOUD if chance.random() < 0.01 else QUIET for _ in range(40_000))
    one = numbered(whole(content, NEEDLE))
    for _ in range(10):
        cuts = [chance.randrange(len(content)) for _ in range(5)]
        cut = numbered(in_ranges(content, cuts, NEEDLE))
        lines = content.split(b"\n")
        assert all(lines[number - 1].decode() == text for number, text in cut.items())
        assert list(cut)[:75] == list(one)[:75]  # its beginning is kept line by line
        assert list(cut)[-40:] == list(one)[-40:]


@pytest.mark.parametrize("size", [large.LINE_MAX - 1, large.LINE_MAX * 3 + 17])
def test_a_line_without_end_is_searched_and_its_part_shown(size: int) -> None:
    content = QUIET + b"a" * size + LOUD + QUIET
    kept = numbered(whole(content, NEEDLE))
    assert "RPF check is set" in kept[2]
    assert max(map(len, kept.values())) <= 20_000
    assert max(kept) == 3
    assert numbered(in_ranges(content, [size // 3, size // 2], NEEDLE)) == kept


def test_garbage_in_a_log_does_not_hide_the_rest() -> None:
    garbage = bytes(random.Random(1).randrange(256) for _ in range(200_000)).replace(b"\n", b" ")
    kept = numbered(whole(QUIET * 1000 + garbage + b"\n" + b"\x00" * 5000 + LOUD + QUIET * 1000, NEEDLE))
    assert "RPF check" in kept[1002]
    assert all(line.isprintable() or "\t" in line for line in kept.values())


def test_without_hyperscan_the_same_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    content = (QUIET * 900 + LOUD) * 20
    with_it = whole(content, NEEDLE, "felix/summary")
    monkeypatch.setattr(sieve, "_database", lambda _: None)
    assert whole(content, NEEDLE, "felix/summary") == with_it


def test_a_quiet_log_is_read_and_says_nothing() -> None:
    source = whole(QUIET * 5000, NEEDLE)
    assert source.quiet
    assert (source.lines, source.numbers) == ((), ())


def test_nothing_is_nothing() -> None:
    assert portion(io.BytesIO(b""), sieve_of([])) == Portion()
    assert whole(b"", NEEDLE).lines == ()


def test_what_a_log_is() -> None:
    assert large.is_log(QUIET * 1000)
    assert not large.is_log(QUIET)  # short enough to be read whole
    assert not large.is_log(b"calico-node-x   1/1   Running   0   3d   10.0.0.1\n" * 2000)


def test_secrets_are_masked() -> None:
    line = b"2023-01-01 00:00:00 [ERROR][9] login failed password=hunter2hunter2\n"
    assert "hunter2" not in "\n".join(whole(QUIET * 2000 + line + QUIET * 2000).lines)
