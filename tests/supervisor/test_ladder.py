import pytest

from nbtune.supervisor.ladder import WAITS, Ladder, Step


def test_each_step_is_followed_by_the_next_after_its_wait():
    ladder = Ladder()
    seen = []
    now = 100.0
    assert ladder.climb(Step.INTERRUPT, now)
    while ladder.due is not None:
        seen.append((ladder.step, ladder.due - now))
        now = ladder.due
        assert ladder.climb(ladder.following(), now)
    assert seen == [(step, WAITS[step]) for step in list(Step)[1:-1]]
    assert ladder.step is Step.ABANDON


def test_a_job_that_runs_out_of_time_is_interrupted_first():
    ladder = Ladder(due=5.0)
    assert ladder.following() is Step.INTERRUPT


@pytest.mark.parametrize("step", [Step.INTERRUPT, Step.TERMINATE])
def test_a_step_that_was_taken_is_not_taken_again(step):
    ladder = Ladder()
    ladder.climb(Step.TERMINATE, 0.0)
    due = ladder.due
    assert not ladder.climb(step, 1.0)
    assert (ladder.step, ladder.due) == (Step.TERMINATE, due)


def test_a_jump_ahead_begins_the_wait_of_its_own_step():
    ladder = Ladder()
    ladder.climb(Step.INTERRUPT, 0.0)
    assert ladder.climb(Step.KILL, 0.5)
    assert ladder.due == 0.5 + WAITS[Step.KILL]
