"""Colours."""

from __future__ import annotations

import pytest

from nbtune.view.sgr import next_style


@pytest.mark.parametrize(
    ("codes", "style"),
    [
        (["31"], "\x1b[31m"),
        (["31", "32"], "\x1b[32m"),
        (["1;31", "0"], ""),
        (["1;31", ""], ""),
        (["1;31", "0;4"], "\x1b[4m"),
        (["1", "2", "22"], ""),
        (["31;44", "39"], "\x1b[44m"),
        (["38;5;208"], "\x1b[38;5;208m"),
        (["38;2;1;2;3", "1"], "\x1b[38;2;1;2;3;1m"),
        (["38:2::1:2:3"], "\x1b[38:2::1:2:3m"),
        (["38;5"], ""),
        (["38"], ""),
        (["8"], ""),
        (["999;;x"], ""),
    ],
)
def test_a_chain_of_codes_comes_to_one_style(codes: list[str], style: str):
    result = ""
    for code in codes:
        result = next_style(result, code)
    assert result == style


def test_a_style_does_not_grow_with_the_number_of_codes():
    style = ""
    for number in range(10_000):
        style = next_style(style, f"38;2;{number % 256};1;1;{number % 10}")
    assert len(style) < 60
