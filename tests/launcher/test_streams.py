"""A rank's streams, each time in a process of its own with files on 1 and 2."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

_START = """
import io, os, signal, sys, threading, time
from nbtune.launcher import streams
out = streams.open_streams()
streams.close_stdin()
def on_disk(name="out"):
    return open(name, "rb").read()
def wait_for(text):
    deadline = time.monotonic() + 20
    while text not in on_disk():
        assert time.monotonic() < deadline, on_disk()
        time.sleep(0.005)
"""
_FLOOD = "for i in range(20_000): print('line', 0, i)\n"


def _run(tmp_path, source, *, code=0, environ=None):
    out, err = tmp_path / "out", tmp_path / "err"
    with out.open("wb") as first, err.open("wb") as second:
        done = subprocess.run(
            [sys.executable, "-c", _START + source],
            cwd=tmp_path,
            env={
                "PYTHONPATH": str(Path(__file__).parents[2]),
                "LC_ALL": "C",
                "PATH": "/bin",
                **(environ or {}),
            },
            stdout=first,
            stderr=second,
            check=False,
        )
    assert done.returncode == code, err.read_text()
    return out.read_text("utf-8"), err.read_text("utf-8")


def _numbers(text, thread=0):
    found = re.findall(rf"^line {thread} (\d+)$", text, re.MULTILINE)
    return list(map(int, found))


def test_each_line_is_on_disk_when_print_returns(tmp_path):
    _run(
        tmp_path,
        "print('one'); assert on_disk() == b'one\\n'\n"
        "print('two', file=sys.stderr); assert on_disk('err') == b'two\\n'\n"
        "print('bar', end='\\r'); assert on_disk() == b'one\\nbar\\r'",
    )


def test_a_burst_before_a_crash_is_complete(tmp_path):
    out, _ = _run(
        tmp_path,
        "for i in range(500): print('line', 0, i)\n"
        "os.kill(os.getpid(), signal.SIGKILL)",
        code=-9,
    )
    assert _numbers(out) == list(range(500))


def test_a_flood_is_written_in_chunks_and_complete(tmp_path):
    out, _ = _run(
        tmp_path,
        "writes = []\n"
        "real = os.write\n"
        "os.write = lambda fd, block: (writes.append(1), real(fd, block))[1]\n"
        "line = before = -1000\n"
        "while len(writes) - before > 500:\n"
        "    line, before = line + 1000, len(writes)\n"
        "    for i in range(line, line + 1000): print('line', 0, i)\n"
        "os.write = real\n"
        "print('the end', i)",
    )
    *_, last = out.splitlines()
    numbers = _numbers(out)
    assert numbers == list(range(len(numbers)))
    assert last == f"the end {numbers[-1]}"


def test_after_a_flood_lines_are_on_disk_at_once_again(tmp_path):
    _run(
        tmp_path,
        f"{_FLOOD}"
        "wait_for(b'line 0 19999\\n')\n"
        "while not sys.stdout.line_buffering: time.sleep(0.005)\n"
        "print('slow'); assert on_disk().endswith(b'slow\\n')",
    )


def test_a_part_of_a_line_is_written_soon(tmp_path):
    _run(tmp_path, "print('name', end=''); wait_for(b'name')")


def test_an_explicit_flush_in_a_flood_reaches_the_file(tmp_path):
    _run(
        tmp_path,
        f"{_FLOOD}"
        "print('now', end='', flush=True); assert on_disk().endswith(b'\\nnow')",
    )


def test_os_exit_loses_nothing(tmp_path):
    out, _ = _run(tmp_path, f"{_FLOOD}print('last', end=''); os._exit(3)", code=3)
    assert _numbers(out) == list(range(20_000))
    assert out.endswith("\nlast")


def test_lines_of_several_threads_in_a_flood_are_all_there(tmp_path):
    out, _ = _run(
        tmp_path,
        "def flood(n):\n"
        "    for i in range(20_000): sys.stdout.write(f'line {n} {i}\\n')\n"
        "sys.setswitchinterval(1e-5)\n"
        "threads = [threading.Thread(target=flood, args=(n,)) for n in (0, 1, 2)]\n"
        "for thread in threads: thread.start()\n"
        "for thread in threads: thread.join()",
    )
    assert out.count("\n") == 60_000
    for thread in 0, 1, 2:
        assert _numbers(out, thread) == list(range(20_000))


def test_other_writers_keep_their_place_when_output_is_slow(tmp_path):
    out, _ = _run(
        tmp_path,
        "import subprocess\n"
        "print('a'); os.write(1, b'b\\n'); print('c')\n"
        "subprocess.run(['/bin/echo', 'd'])\n"
        "sys.stdout.buffer.write(bytearray(b'e\\n')); print('f')",
    )
    assert out == "a\nb\nc\nd\ne\nf\n"


def test_a_forked_child_writes_lines_and_repeats_nothing(tmp_path):
    out, _ = _run(
        tmp_path,
        f"{_FLOOD}"
        "print('part', end='')\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    for i in range(1000): print('line', 1, i)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "os.waitpid(child, 0)\n"
        "print('parent')",
    )
    assert _numbers(out) == list(range(20_000))
    assert out.count("part") == 1
    assert _numbers(out, 1) == list(range(1, 1000))
    assert out.endswith("\nparent\n")


def test_text_is_utf_8_and_what_is_not_text_is_escaped(tmp_path):
    out, err = _run(
        tmp_path, "print('é\\ud800', sys.stdout.encoding); print('ü', file=sys.stderr)"
    )
    assert out == "é\\ud800 utf-8\n"
    assert err == "ü\n"


def test_a_full_disk_is_an_error_of_the_writer(tmp_path):
    _run(
        tmp_path,
        "os.dup2(os.open('/dev/full', os.O_WRONLY), 1)\n"
        "try:\n"
        "    for i in range(10_000_000): print('line', 0, i)\n"
        "except OSError as error:\n"
        "    assert error.errno == 28\n"
        "    os.dup2(os.open('after', os.O_WRONLY | os.O_CREAT), 1)\n"
        "else:\n"
        "    assert False",
    )


def test_a_full_disk_noticed_in_the_background_is_told_to_the_writer(tmp_path):
    _run(
        tmp_path,
        "os.dup2(os.open('/dev/full', os.O_WRONLY), 1)\n"
        "print('part', end='')\n"
        "while sys.stdout._queue.error is None: time.sleep(0.005)\n"
        "os.dup2(os.open('after', os.O_WRONLY | os.O_CREAT), 1)\n"
        "try: print('more')\n"
        "except OSError as error: assert error.errno == 28\n"
        "else: assert False\n"
        "print('again')",
    )
    assert (tmp_path / "after").read_text().endswith("again\n")


def test_a_closed_or_detached_stream_disturbs_no_one(tmp_path):
    out, err = _run(
        tmp_path,
        "sys.stdout = io.TextIOWrapper(sys.stdout.detach(), 'latin-1')\n"
        "for i in range(1000): print('line', 0, i, flush=True)\n"
        "sys.stderr.close()\n"
        "print(sys.stderr.closed)\n"
        "sys.stdout.flush()\n"
        "out.flush()\n"
        "assert out._thread.is_alive()",
    )
    assert out.endswith("True\n")
    assert _numbers(out) == list(range(1000))
    assert err == ""


def test_closing_puts_the_former_streams_back(tmp_path):
    out, _ = _run(
        tmp_path,
        "print('ours', end=''); out.close(); out.close()\n"
        "print('', type(sys.stdout).__name__, os._exit.__module__)",
    )
    assert out == "ours TextIOWrapper posix\n"


@pytest.mark.parametrize(
    "source", ["input('name? ')", "sys.stdin.read()", "next(sys.stdin)", "breakpoint()"]
)
def test_a_wish_for_input_is_refused_at_once_with_a_reason(tmp_path, source):
    _, err = _run(tmp_path, source, code=1)
    assert "not available on the ranks" in err.splitlines()[-1]


def test_pdb_does_not_end_quietly(tmp_path):
    _, err = _run(tmp_path, "import pdb; pdb.set_trace(); x = 1", code=1)
    assert "not available on the ranks" in err.splitlines()[-1]


def test_a_debugger_of_the_users_choice_is_called(tmp_path):
    out, _ = _run(
        tmp_path, "breakpoint('chosen')", environ={"PYTHONBREAKPOINT": "builtins.print"}
    )
    assert out == "chosen\n"


def test_children_find_an_empty_stdin(tmp_path):
    _run(
        tmp_path,
        "import subprocess\n"
        "assert subprocess.run(['/bin/cat'], stdin=sys.stdin).returncode == 0",
    )
