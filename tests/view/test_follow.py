"""Following a job, stop button included."""

import io
import os
import signal
import threading

import pytest

import nbtune
from nbtune.record import JobState
from nbtune.view import TextView, follow, short_interrupt


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("NBTUNE_HOME", str(tmp_path / "home"))


class PressingView(TextView):
    """Presses the stop button once it has shown something."""

    def __init__(self, folder, out, presses):
        super().__init__(folder, show=None, out=out, err=io.StringIO())
        self.left = presses

    def update(self):
        super().update()
        if self.left and "ready" in self._out.getvalue():
            self.left -= 1
            os.kill(os.getpid(), signal.SIGINT)


def hang(*ignored):
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)
    print("ready")
    while True:
        signal.pause()


@pytest.mark.parametrize(
    ("ignored", "presses"),
    [((), 1), ((signal.SIGINT, signal.SIGTERM), 3)],
)
def test_the_stop_button_ends_the_job_with_one_line(ignored, presses):
    job = nbtune.launch(hang, *ignored, nproc_per_node=1)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt, match="stopped by you after") as caught:
        follow(job, PressingView(job.folder, io.StringIO(), presses))
    assert job.running is None
    assert job.state is JobState.CANCELLED
    assert signal.getsignal(signal.SIGINT) is before
    (line,) = caught.value._render_traceback_()
    assert line.startswith("KeyboardInterrupt: stopped by you after")


def test_a_job_can_be_followed_from_another_thread():
    job = nbtune.launch(print, "hello", nproc_per_node=1)
    out = io.StringIO()
    view = TextView(job.folder, show=None, out=out, err=io.StringIO())
    thread = threading.Thread(target=follow, args=(job, view))
    thread.start()
    thread.join()
    assert out.getvalue() == "[0] hello\n"


def test_an_interrupt_elsewhere_is_one_line_too():
    with pytest.raises(KeyboardInterrupt) as caught, short_interrupt("while packing"):
        raise KeyboardInterrupt
    assert caught.value._render_traceback_() == ["KeyboardInterrupt: while packing"]
