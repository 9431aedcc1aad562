"""Bytes of a rank to lines."""

from __future__ import annotations

import pytest

from nbtune.view.lines import LineReader
from nbtune.view.row import WIDTH


def lines_of(data: bytes, size: int = 1 << 20) -> list[str]:
    reader = LineReader("PATH")
    lines = []
    for start in range(0, len(data), size):
        lines += reader.feed(data[start : start + size])
    return lines + reader.finish()


@pytest.mark.parametrize("size", [1, 3, 1 << 20])
@pytest.mark.parametrize(
    ("data", "lines"),
    [
        pytest.param(b"one\n\ntwo\n", ["one", "", "two"], id="plain"),
        pytest.param(b"one\r\ntwo\r\n", ["one", "two"], id="windows"),
        pytest.param(b"a\tb\n", ["a\tb"], id="tab"),
        pytest.param(b"<b>x</b>&amp;\n", ["<b>x</b>&amp;"], id="html"),
        pytest.param("caf\u00e9 \u2713\n".encode(), ["caf\u00e9 \u2713"], id="utf-8"),
        pytest.param(b"bad \xff\xfe\n", ["bad \ufffd\ufffd"], id="not utf-8"),
        pytest.param(b"torn \xe2\x9c", ["torn \ufffd"], id="torn at the end"),
        pytest.param(b" 0%|  \r50%|# \r99%|##\n", ["99%|##"], id="bar"),
        pytest.param(b"12345\rab\n", ["ab345"], id="written over"),
        pytest.param(b"bar\r   \rtext\n", ["text"], id="bar cleared by blanks"),
        pytest.param(b"bar\r   \r", [], id="bar cleared at the end"),
        pytest.param(b"abc\b\bX\n", ["aXc"], id="backspace"),
        pytest.param(b"\b\bx\n", ["x"], id="backspace at the start"),
        pytest.param(b"long bar\r\x1b[Kok\n", ["ok"], id="erased to the end"),
        pytest.param(b"abc\x1b[2K\rd\n", ["d"], id="erased"),
        pytest.param(b"abc\x1b[1Kd\n", ["   d"], id="erased to the start"),
        pytest.param(b"a\0b\x07c\x7fd\x0b\x0ce\n", ["abcde"], id="controls"),
        pytest.param("a\x9b31mb\x85c\n".encode(), ["a31mbc"], id="C1 controls"),
        pytest.param(b"\x1b]0;title\x07x\n", ["x"], id="title"),
        pytest.param(b"\x1b]0;title\x1b\\x\n", ["x"], id="title with ST"),
        pytest.param(b"\x1b]0;title\nx\n", ["", "x"], id="title without end"),
        pytest.param(
            b"\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\\n", ["link"], id="link"
        ),
        pytest.param(b"\x1bPq#1;2\x1b\\x\n", ["x"], id="image"),
        pytest.param(b"\x1b[2J\x1b[H\x1b[?25lx\n", ["x"], id="cursor codes"),
        pytest.param(b"\x1b(Bx\x1b7y\x1bcz\n", ["xyz"], id="other escapes"),
        pytest.param(b"x\x1b\n\x1b[3", ["x"], id="escape without end"),
        pytest.param(b"\x1b[31mred\x1b[0m x\n", ["\x1b[31mred\x1b[0m x"], id="colour"),
        pytest.param(
            b"\x1b[31mone\ntwo\x1b[0m\nx\n",
            ["\x1b[31mone\x1b[0m", "\x1b[31mtwo\x1b[0m", "x"],
            id="colour over two lines",
        ),
        pytest.param(
            b"\x1b[32m1\r\x1b[31m2\x1b[0m3\n",
            ["\x1b[31m2\x1b[0m3"],
            id="colour in a bar",
        ),
        pytest.param(b"no end", ["no end"], id="no line end"),
    ],
)
def test_lines_are_what_a_terminal_would_show(data: bytes, lines: list[str], size: int):
    assert lines_of(data, size) == lines


def test_a_line_comes_when_it_ends():
    reader = LineReader("PATH")
    assert reader.feed(b"loss ") == []
    assert reader.feed(b"0.5\nnext") == ["loss 0.5"]
    assert reader.finish() == ["next"]
    assert reader.finish() == []


def test_a_character_torn_between_reads_is_whole():
    reader = LineReader("PATH")
    data = "caf\u00e9 \u2713\n".encode()
    assert reader.feed(data[:7]) == []
    assert reader.feed(data[7:]) == ["caf\u00e9 \u2713"]


def test_a_very_long_line_is_shortened_and_counted():
    line, done = lines_of(b"y" * 3_000_000 + b"\ndone\n", size=1 << 16)
    assert line == "y" * WIDTH + " ... (3,000,000 characters, all of them in PATH)"
    assert done == "done"


def test_a_long_line_within_one_read_is_shortened():
    lines = lines_of(b"a\n" + b"y" * 5_000 + b"\nb\n")
    assert lines[1].endswith(" ... (5,000 characters, all of them in PATH)")
    assert (lines[0], lines[2]) == ("a", "b")


def test_a_bar_shows_its_last_state_out_of_many():
    bar = b"".join(b"\r\x1b[32m%3d%%\x1b[0m|##|" % number for number in range(101))
    assert lines_of(bar + b"\nafter\n") == ["\x1b[32m100%\x1b[0m|##|", "after"]


def test_the_state_of_a_bar_can_be_asked_for_and_is_told_once():
    reader = LineReader("PATH")
    reader.feed(b"\r 1%|\r 2%|")
    assert reader.bars() == [" 2%|"]
    assert reader.bars() == []
    reader.feed(b"\r 3%|")
    assert reader.bars() == [" 3%|"]


def test_an_unfinished_line_is_no_bar():
    reader = LineReader("PATH")
    reader.feed(b"loss ")
    assert reader.bars() == []


def test_nested_bars_as_tqdm_draws_them_are_a_line_each():
    reader = LineReader("PATH")
    lines = reader.feed(b"\router 1")
    for step in range(1, 50):
        lines += reader.feed(b"\n\rinner %d\x1b[A" % step)
        lines += reader.feed(b"\router %d" % step)
    assert lines == []
    assert reader.finish() == ["outer 49", "inner 49"]


def test_a_display_of_two_lines_as_rich_draws_it_is_not_repeated():
    reader = LineReader("PATH")
    lines = reader.feed(b"one 0%\ntwo 0%")
    for step in range(1, 50):
        lines += reader.feed(
            b"\r\x1b[2K\x1b[1A\x1b[2Kone %d%%\ntwo %d%%" % (step, step)
        )
    lines += reader.feed(b"\nafter\n")
    assert lines == ["one 0%", "one 49%", "two 49%", "after"]


def test_a_huge_image_is_dropped_without_being_kept():
    reader = LineReader("PATH")
    reader.feed(b"\x1bPq")
    for _ in range(100):
        assert reader.feed(b"#1;2;3" * 1_000) == []
        assert len(reader._held) < 10_000
    assert reader.feed(b"\x1b\\end\n") == ["end"]
