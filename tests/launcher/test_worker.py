"""The process of a rank, launched for real."""

import json

from nbtune.record import JobState


def test_ranks_reduce_over_gloo_and_see_torchs_variables(launch):
    job = launch(
        "import os, torch, torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "t = torch.ones(1); dist.all_reduce(t)\n"
        "print(t.item(), os.environ['RANK'], os.environ['WORLD_SIZE'])\n"
    )
    assert job.snapshot.state is JobState.SUCCEEDED, job.log
    assert job.out(0) == "2.0 0 2\n"
    assert job.out(1) == "2.0 1 2\n"


def test_a_rank_finds_the_environment_that_the_launcher_found(launch):
    names = ["TORCHELASTIC_SIGNALS_TO_HANDLE", "PYTORCH_NVML_BASED_CUDA_CHECK"]
    job = launch(
        f"import os; print([os.environ.get(n) for n in {names!r}])",
        nproc=1,
        environ={"PYTORCH_NVML_BASED_CUDA_CHECK": "0"},
    )
    assert job.out(0) == "[None, '0']\n"


def test_signal_handlers_are_pythons_own(launch):
    job = launch(
        "import signal\n"
        "print(signal.getsignal(signal.SIGTERM) == signal.SIG_DFL,\n"
        "      signal.getsignal(signal.SIGINT) is signal.default_int_handler)",
        nproc=1,
    )
    assert job.out(0) == "True True\n"


def test_an_error_is_recorded_with_the_cells_lines(launch):
    job = launch("#%%torchrun\ndef inner(d): return d['lr']\ninner({})", nproc=1)
    (failure,) = job.failures
    assert job.snapshot.state is JobState.FAILED
    assert failure.exception == "KeyError"
    assert "Cell In[7], line 3" in failure.plain_traceback
    assert "def inner(d): return d['lr']" in failure.plain_traceback
    assert "nbtune" not in failure.plain_traceback
    assert "interactiveshell" not in failure.plain_traceback


def test_torchs_record_of_the_cause_is_the_jobs(launch):
    job = launch(
        "import os, torch, torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "if os.environ['RANK'] == '1': raise ValueError('real cause')\n"
        "dist.all_reduce(torch.ones(1))\n"
    )
    record = json.loads(job.folder.error.read_text())
    assert record["message"]["message"] == "ValueError: real cause"
    assert "real cause" in record["message"]["extraInfo"]["py_callstack"]


def test_a_killed_rank_gets_a_record_as_well(launch):
    job = launch(
        "import os, signal, time\n"
        "if os.environ['RANK'] == '1': os.kill(os.getpid(), signal.SIGKILL)\n"
        "time.sleep(100)\n"
    )
    record = json.loads(job.folder.error.read_text())
    assert "SIGKILL" in record["message"]["message"]
    assert [f.signal for f in job.failures if f.rank == 1] == ["SIGKILL"]


def test_a_peers_end_is_seen_as_a_consequence(launch):
    job = launch(
        "import os, torch, torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "if os.environ['RANK'] == '0': os._exit(7)\n"
        "try: dist.all_reduce(torch.ones(1))\n"
        "except RuntimeError as error: raise RuntimeError('step') from error\n"
    )
    by_rank = {failure.rank: failure for failure in job.failures}
    assert by_rank[0].exitcode == 7
    assert 1 not in by_rank or by_rank[1].collective or by_rank[1].stopped


def test_a_polite_exit_is_success_and_keeps_what_was_assigned(launch):
    job = launch("import sys\ny = 1\nsys.exit(0)\ny = 2", nproc=1)
    assert job.snapshot.state is JobState.SUCCEEDED
    report = json.loads((job.folder.results(0) / "report.json").read_text())
    assert report["left_out"] == {}


def test_a_crash_after_the_cell_does_not_undo_its_success(launch):
    job = launch(
        "import atexit, os\natexit.register(lambda: os.kill(os.getpid(), 6))", nproc=1
    )
    assert job.snapshot.state is JobState.SUCCEEDED


def test_text_written_at_exit_arrives_and_an_error_there_is_text(launch):
    job = launch(
        "import atexit\n"
        "atexit.register(lambda: print('bye'))\n"
        "atexit.register(lambda: 1 / 0)",
        nproc=1,
    )
    assert job.snapshot.state is JobState.SUCCEEDED
    assert job.out(0) == "bye\n"
    assert "ZeroDivisionError" in job.err(0)


def test_an_exception_that_cannot_be_printed_is_recorded(launch):
    job = launch(
        "class Bad(Exception):\n"
        "    def __str__(self): raise TypeError('no')\n"
        "raise Bad",
        nproc=1,
    )
    (failure,) = job.failures
    assert failure.exception == "Bad"
    assert "could not be made" in failure.message


def test_the_last_value_is_kept_as_text(launch):
    job = launch("6 * 7", nproc=1)
    shown = json.loads((job.folder.rank(0) / "shown.json").read_text())
    assert shown == {"text": ["42"]}


def test_a_failed_attempt_is_started_again_with_a_fresh_store(launch):
    job = launch(
        "import os, torch, torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "t = torch.ones(1); dist.all_reduce(t)\n"
        "attempt = os.environ['TORCHELASTIC_RESTART_COUNT']\n"
        "print(attempt, t.item())\n"
        "assert attempt == '2'",
        "--max-restarts",
        "2",
    )
    assert job.snapshot.state is JobState.SUCCEEDED, job.log
    assert [job.out(rank, 2) for rank in (0, 1)] == ["2 2.0\n"] * 2
    assert job.folder.attempts() == [0, 1, 2]


def test_spawned_ranks_work_as_well(launch):
    job = launch("print('spawned')", "--start-method", "spawn", nproc=1)
    assert job.snapshot.state is JobState.SUCCEEDED, job.log
    assert job.out(0) == "spawned\n"


def test_a_child_that_the_cell_forks_is_no_rank(launch):
    job = launch(
        "import os\n"
        "child = os.fork()\n"
        "x = 'child' if child == 0 else os.waitpid(child, 0)[1]\n"
        "print(x)",
        nproc=1,
    )
    assert job.snapshot.state is JobState.SUCCEEDED
    assert sorted(job.out(0).split()) == ["0", "child"]


def test_a_rank_that_leaves_before_its_code_ends_is_a_failure(launch):
    job = launch(
        "import ctypes, os, time\n"
        "if os.environ['RANK'] == '1': ctypes.CDLL(None)._exit(0)\n"
        "time.sleep(100)"
    )
    assert job.snapshot.state is JobState.FAILED
    assert [f.exitcode for f in job.failures if f.rank == 1] == [0]


def test_a_polite_exit_at_once_is_success(launch):
    job = launch("import os\nx = 1\nos._exit(0)", nproc=1)
    assert job.snapshot.state is JobState.SUCCEEDED


def test_a_forked_child_does_not_write_results(launch):
    job = launch(
        "import os\n"
        "child = os.fork()\n"
        "if child == 0: only_there = 1\n"
        "else: os.waitpid(child, 0); here = 1",
        nproc=1,
    )
    text = (job.folder.results(0) / "index.json").read_text()
    assert "here" in text
    assert "only_there" not in text


def test_the_payload_is_gone_after_the_end(launch):
    job = launch("x = 1", nproc=1)
    assert not job.folder.payload.exists()
