import json
import signal
import sys

import pytest


def surroundings(job):
    return json.loads((job.folder.root / "surroundings").read_text())


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [("succeed", 0), ("return_three", 3), ("raise_error", 1), ("say_goodbye", 1)],
)
def test_the_launchers_exit_code_is_recorded(begin, behaviour, code):
    job = begin(behaviour)
    assert job.running.wait(60)
    assert job.record()["launcher_exit"] == code
    assert job.record()["reason"] == ""


@pytest.mark.parametrize(
    ("behaviour", "text"),
    [
        ("succeed", "a snowman: \N{SNOWMAN}"),
        ("raise_error", "KeyError: 'no such thing'"),
        ("say_goodbye", "goodbye"),
    ],
)
def test_what_the_launcher_says_is_in_its_log(begin, behaviour, text, environ):
    environ |= {"LC_ALL": "en_US.ISO-8859-1", "PYTHONIOENCODING": "ascii"}
    job = begin(behaviour)
    assert job.running.wait(60)
    assert text in job.log().splitlines()


def test_the_launcher_holds_no_descriptor_of_the_job(begin):
    job = begin("tell_surroundings")
    assert job.running.wait(60)
    seen = surroundings(job)
    assert seen["stdin"] == "/dev/null"
    # the fourth is the folder that was being listed
    assert seen["descriptors"] == ["0", "1", "2", "3"]


def test_the_launcher_leads_a_session_of_its_own(begin):
    job = begin("tell_surroundings")
    assert job.running.wait(60)
    assert surroundings(job)["session"]


def test_the_environment_passes_unchanged(begin, environ):
    environ |= {
        "PYTHONUNBUFFERED": "1",
        "ODD": "a 'b' \"c\"\n\udcff",
        "PYTHONINSPECT": "1",
    }
    job = begin("tell_surroundings")
    assert job.running.wait(60)
    assert surroundings(job)["environ"] == environ


def test_utf8_mode_is_that_of_the_kernel(begin, environ):
    environ |= {"PYTHONUTF8": str(1 - sys.flags.utf8_mode)}
    job = begin("tell_surroundings")
    assert job.running.wait(60)
    assert surroundings(job)["utf8"] == sys.flags.utf8_mode


def test_files_in_the_working_directory_hide_no_module(begin, tmp_path, monkeypatch):
    for name in ("json", "signal", "ctypes", "nbtune"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('shadowed')")
    monkeypatch.chdir(tmp_path)
    job = begin("tell_surroundings")
    assert job.running.wait(60)
    assert surroundings(job)["cwd"] == str(tmp_path)


def test_signals_that_a_kernel_ignores_are_heard_again(begin_kernel):
    job, _ = begin_kernel("tell_surroundings", "deaf")
    job.ended()
    seen = surroundings(job)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        assert not seen["ignored"] >> (number - 1) & 1
    assert seen["blocked"] == 0


def test_a_kernel_that_ignores_its_children_costs_no_exit_code(begin_kernel):
    job, _ = begin_kernel("return_three", "deaf")
    assert job.ended()["launcher_exit"] == 3
