"""Whatever bytes come in, what is shown is text: no escapes, no controls, no endless lines."""

from __future__ import annotations

import pytest

from tortie.doctor.reading.cleaning import CUT, LINE_MAX, clean, decode, is_text, lines_of


@pytest.mark.parametrize(
    ("dirty", "seen"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("a\x00b\x08c\x7fd", "abcd"),
        ("\u202egnitirw", "gnitirw"),
        ("10%\r20%\r100% done", "100% done"),
        ("line\r", "line"),
        ("[0;31mFAILED[0m", "FAILED"),
        ("tab\tstays", "tab\tstays"),
        ("no\u3164de\u034f-1", "node-1"),
        ("a\u115fb\u2066c\u2069d\ufe0fe\U000e0041f", "abcdef"),
        ("中文也在", "中文也在"),
    ],
)
def test_a_line_is_what_a_person_saw(dirty: str, seen: str) -> None:
    assert clean(dirty) == seen


def test_nothing_that_unicode_lets_readers_ignore_gets_through() -> None:
    ignorable = [*range(0x180B, 0x1810), *range(0x2060, 0x2070), *range(0xFE00, 0xFE10), *range(0xFFF0, 0xFFF9)]
    ignorable += [*range(0xE0000, 0xE1000), *range(0x1D173, 0x1D17B), *range(0x1BCA0, 0x1BCA4)]
    ignorable += [0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFEFF, 0xFFA0]
    assert clean("".join(map(chr, ignorable))) == ""


def test_a_line_without_end_is_cut_and_says_so() -> None:
    line = clean("xy" * LINE_MAX)
    assert len(line) == LINE_MAX + len(CUT)
    assert line.endswith(CUT)


def test_the_same_character_again_and_again_is_squeezed() -> None:
    assert clean(f"a{' ' * 4_000}b{'-' * 4_000}c") == f"a{' ' * 400}b{'-' * 200}c"
    assert clean("=" * 160) == "=" * 160


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
def test_chinese_is_read_in_the_encodings_people_use(encoding: str) -> None:
    text = "集群中有台服务器重启后 calico 无法启动，提示如下信息：网卡选错\n" * 3
    assert decode(text.encode(encoding)) == text


def test_only_line_feeds_count_lines() -> None:
    assert lines_of("a\r\nb\x0cc\u2028d\n") == ("a", "bcd")


def test_binary_is_told_from_text() -> None:
    assert is_text(b"plain\n")
    assert not is_text(b"\x7fELF\x00\x00")
