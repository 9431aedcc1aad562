"""What is shown of a flood."""

from __future__ import annotations

from nbtune.view.flood import Allowance, Gate


def numbered(count: int, start: int = 0) -> list[str]:
    return [f"line {number}" for number in range(start, start + count)]


def test_a_burst_of_a_thousand_lines_passes():
    gate, allowance = Gate("PATH"), Allowance(0.0)
    assert gate.admit(numbered(1_000), allowance, 0.0) == numbered(1_000)
    assert not gate.holds


def test_what_is_beyond_the_burst_is_counted_and_its_end_is_shown():
    gate, allowance = Gate("PATH"), Allowance(0.0)
    shown = gate.admit(numbered(100_000), allowance, 0.0)
    assert shown == numbered(1_000)
    assert gate.release() == [
        "... 98,980 lines left out, all of them in PATH",
        *numbered(20, 99_980),
    ]
    assert not gate.holds


def test_nothing_is_left_out_where_all_that_was_held_is_shown():
    gate, allowance = Gate("PATH"), Allowance(0.0)
    gate.admit(numbered(1_010), allowance, 0.0)
    assert gate.release() == numbered(10, 1_000)


def test_a_flood_is_held_until_it_has_been_calm_for_a_while():
    gate, allowance = Gate("PATH"), Allowance(0.0)
    allowance.spend(gate.admit(numbered(5_000), allowance, 0.0))
    shown = []
    now = 0.0
    for _ in range(20):
        now += 0.05
        allowance.refill(now)
        shown += gate.admit(numbered(5_000), allowance, now)
    assert shown == []
    assert gate.admit([], allowance, now + 0.05) == []
    assert gate.admit(["last"], allowance, now + 0.4)[-1] == "last"
    assert not gate.holds


def test_a_flood_that_goes_on_is_glimpsed_every_ten_seconds():
    gate, allowance = Gate("PATH"), Allowance(0.0)
    allowance.spend(gate.admit(numbered(5_000), allowance, 0.0))
    shown = []
    for tick in range(1, 500):
        now = tick * 0.05
        allowance.refill(now)
        shown.append(gate.admit(numbered(5_000), allowance, now))
    glimpses = [lines for lines in shown if lines]
    assert [len(lines) for lines in glimpses] == [21, 21]
    assert all("left out" in lines[0] for lines in glimpses)


def test_long_lines_are_held_by_their_bytes():
    gate, allowance = Gate("PATH"), Allowance(0.0)
    shown = gate.admit(["\u2713" * 1_000] * 500, allowance, 0.0)
    assert len(shown) == 166
    word, *newest = gate.release()
    assert word == "... 329 lines left out, all of them in PATH"
    assert len(newest) == 5


def test_the_allowance_comes_back_with_time_up_to_the_burst():
    allowance = Allowance(0.0)
    allowance.spend(numbered(1_000))
    assert allowance.fits(numbered(10)) == 0
    allowance.refill(0.1)
    assert allowance.fits(numbered(1_000)) == 200
    allowance.refill(1_000.0)
    assert allowance.fits(numbered(5_000)) == 1_000
