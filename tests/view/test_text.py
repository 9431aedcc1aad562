"""The output of all ranks as plain text."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from nbtune.record import JobDir
from nbtune.view import TextView


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Screen:
    """A view of a job folder that the test writes, and what it has printed."""

    def __init__(self, folder: JobDir, show: frozenset[int] | None = None) -> None:
        self.folder = folder
        self.out = io.StringIO()
        self.err = io.StringIO()
        self.clock = Clock()
        self.view = TextView(
            folder, show=show, out=self.out, err=self.err, clock=self.clock
        )

    def write(
        self, rank: int, data: bytes, *, attempt: int = 0, stream: str = "stdout"
    ) -> Path:
        log = self.folder.log(attempt, rank)
        log.root.mkdir(parents=True, exist_ok=True)
        path = log.stdout if stream == "stdout" else log.stderr
        with path.open("ab") as file:
            file.write(data)
        return path

    def update(self, seconds: float = 0.05) -> list[str]:
        """Let time pass, and give the lines of stdout that are new."""
        before = len(self.out.getvalue())
        self.clock.now += seconds
        self.view.update()
        return self.out.getvalue()[before:].splitlines()

    def finish(self) -> list[str]:
        before = len(self.out.getvalue())
        self.view.finish()
        return self.out.getvalue()[before:].splitlines()


@pytest.fixture
def screen(tmp_path: Path) -> Screen:
    return Screen(JobDir(tmp_path / "job"))


def test_lines_appear_while_the_job_runs_behind_their_rank(screen: Screen):
    assert screen.update() == []
    screen.write(0, b"tick 0\n")
    assert screen.update() == ["[0] tick 0"]
    screen.write(0, b"tick 1\n")
    screen.write(1, b"tick 0\n")
    assert screen.update() == ["[0] tick 1", "[1] tick 0"]


def test_pieces_of_a_line_wait_for_its_end(screen: Screen):
    screen.write(0, b"r0 loss ")
    screen.write(1, b"r1 loss ")
    assert screen.update() == []
    screen.write(0, b"0.5\ntail")
    screen.write(1, b"0.5\ntail")
    assert screen.update() == ["[0] r0 loss 0.5", "[1] r1 loss 0.5"]
    assert screen.finish() == ["[0] tail", "[1] tail"]


def test_stderr_goes_to_stderr(screen: Screen):
    screen.write(0, b"out\n")
    screen.write(0, b"err\n", stream="stderr")
    screen.finish()
    assert screen.out.getvalue() == "[0] out\n"
    assert screen.err.getvalue() == "[0] err\n"


def test_only_the_ranks_that_are_asked_for_are_shown(tmp_path: Path):
    screen = Screen(JobDir(tmp_path), show=frozenset({0, 2}))
    for rank in range(4):
        screen.write(rank, b"here\n")
    assert screen.finish() == ["[0] here", "[2] here"]


def test_a_bar_leaves_its_last_state(screen: Screen):
    for step in range(50):
        screen.write(0, b"\r%d%%|#|" % step)
        assert screen.update() == []
    screen.write(0, b"\r100%|#|\n")
    assert screen.update() == ["[0] 100%|#|"]


def test_a_long_bar_shows_a_step_every_ten_seconds(screen: Screen):
    lines = []
    for second in range(1, 35):
        screen.write(0, b"\r%d s" % second)
        lines += screen.update(1.0)
    assert len(lines) == 3
    assert screen.finish() == ["[0] 34 s"]


def test_a_flood_is_shown_by_its_beginning_and_end(screen: Screen):
    path = screen.write(0, b"".join(b"line %d\n" % n for n in range(100_000)))
    lines = screen.update() + screen.finish()
    assert len(lines) == 1_021
    assert lines[999:1_001] == [
        "[0] line 999",
        f"[0] ... 98,980 lines left out, all of them in {path}",
    ]
    assert lines[-1] == "[0] line 99999"


def test_a_flood_of_one_rank_does_not_hide_the_others(screen: Screen):
    screen.write(0, b"flood\n" * 100_000)
    screen.write(1, b"loss 0.5\n")
    assert "[1] loss 0.5" in screen.update()


def test_both_of_two_floods_show_their_end(screen: Screen):
    for rank in range(2):
        for _ in range(40):
            screen.write(rank, b"flood\n" * 10_000)
            screen.update()
        screen.write(rank, b"the end %d\n" % rank)
    lines = screen.finish()
    assert "[0] the end 0" in screen.out.getvalue().splitlines()
    assert lines[-1] == "[1] the end 1"


def test_an_update_reads_a_bounded_amount_and_finish_all(screen: Screen):
    for rank in range(2):
        screen.write(rank, (b"x" * 499 + b"\n") * 20_000)
    screen.update()
    read = sum(stream._tail._offset for stream in screen.view._streams.values())
    assert 0 < read <= 4 << 20
    lines = screen.finish()
    shown = [line for line in lines if "left out" not in line]
    assert [line[:3] for line in shown[-40:]] == ["[0]"] * 20 + ["[1]"] * 20


def test_a_new_attempt_begins_after_all_lines_of_the_old_one(screen: Screen):
    screen.write(0, b"first try")
    assert screen.update() == []
    screen.write(0, b"\n" + b"x" * 6_000_000)
    screen.write(0, b"second try\n", attempt=1)
    lines = screen.update() + screen.update() + screen.finish()
    assert [line[:14] for line in lines] == [
        "[0] first try",
        "[0] " + "x" * 10,
        "nbtune: attemp",
        "[0] second try",
    ]
    assert lines[2] == "nbtune: attempt 1"


def test_logs_may_be_a_link(tmp_path: Path):
    target = tmp_path / "elsewhere"
    target.mkdir()
    folder = JobDir(tmp_path / "job")
    folder.root.mkdir()
    folder.logs.symlink_to(target)
    screen = Screen(folder)
    screen.write(0, b"here\n")
    assert screen.finish() == ["[0] here"]


def test_finishing_twice_shows_nothing_twice(screen: Screen):
    screen.write(0, b"one\ntwo")
    assert screen.finish() == ["[0] one", "[0] two"]
    assert screen.finish() == []


def test_a_stream_that_cannot_print_a_character_gets_an_escape(tmp_path: Path):
    buffer = io.BytesIO()
    out = io.TextIOWrapper(buffer, encoding="ascii")
    folder = JobDir(tmp_path)
    folder.log(0, 0).root.mkdir(parents=True)
    folder.log(0, 0).stdout.write_bytes("\u2713 done\n".encode())
    TextView(folder, show=None, out=out, err=out).finish()
    assert buffer.getvalue() == b"[0] \\u2713 done\n"


def test_text_is_data(screen: Screen):
    screen.write(0, b"<b>bold</b>\x1b]0;title\x07\x1b[2J\0\n")
    assert screen.finish() == ["[0] <b>bold</b>"]
