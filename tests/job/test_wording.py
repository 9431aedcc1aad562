"""Text made fit to be read."""

from __future__ import annotations

import pytest

from nbtune.job.wording import rank_list, ranks


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([1], "1"),
        ([0, 1], "0,1"),
        ([2, 0], "0,2"),
        ([1, 2, 3, 4, 5, 6, 7], "1-7"),
        ([0, 2, 3, 4, 9], "0,2-4,9"),
    ],
)
def test_a_list_of_ranks_is_short(numbers: list[int], text: str):
    assert rank_list(numbers) == text


def test_one_rank_is_singular():
    assert ranks([3]) == "rank 3"
    assert ranks({3, 4}) == "ranks 3,4"
