from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nbtune.errors import OptionError
from nbtune.options import load_table
from nbtune.options.table import ask_torch

ROOT = Path(__file__).parents[2]
# Torch's parser, described with its public attributes as far as there are some.
THEIRS = """
import json
from torch.distributed.run import get_args_parser
print(json.dumps([
    [a.option_strings, a.dest, a.help, a.nargs, a.choices and list(a.choices)]
    for a in get_args_parser()._actions if a.option_strings and a.dest != "help"
]))
"""


def run(code: str, **kwargs) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, **kwargs
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_the_table_is_torchs_own_parser(table):
    theirs = json.loads(run(THEIRS).splitlines()[-1])
    ours = [
        [[*o.flags], o.dest, o.help, o.nargs, o.choices and [*o.choices]]
        for o in table.options
        if o.dest != "event_log_handler"
    ]
    assert ours == [entry for entry in theirs if entry[1] != "event_log_handler"]
    assert {entry[1] for entry in theirs} == {o.dest for o in table.options}


def test_kinds_types_and_defaults_are_told(table):
    by_dest = {option.dest: option for option in table.options}
    assert by_dest["nproc_per_node"].kind == "env"
    assert by_dest["nproc_per_node"].variable == "PET_NPROC_PER_NODE"
    assert by_dest["nproc_per_node"].default == "1"
    assert by_dest["standalone"].kind == "check_env"
    assert by_dest["standalone"].default is None
    assert by_dest["numa_binding"].kind == "store"
    assert by_dest["numa_binding"].variable == ""
    assert by_dest["max_restarts"].type == "int"
    assert by_dest["max_restarts"].default == "0"
    assert by_dest["monitor_interval"].type == "float"
    assert {"c10d", "static"} <= set(table.backends)


def test_variables_of_the_kernel_are_no_defaults_of_the_table(tmp_path, monkeypatch):
    monkeypatch.setenv("PET_NPROC_PER_NODE", "7")
    monkeypatch.setenv("PET_STANDALONE", "nonsense")
    options = load_table(tmp_path, sys.executable).options
    assert [o.default for o in options if o.dest == "nproc_per_node"] == ["1"]


def test_torch_is_read_once_and_the_kernel_never_imports_it(tmp_path):
    cache = tmp_path / "a" / "b"
    code = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from nbtune.options import load_table
def read(executable):
    return load_table(Path({str(cache)!r}), executable).options
assert read({{}}) and "torch" not in sys.modules
"""
    run(code.format(repr(sys.executable)))
    assert [path.suffix for path in cache.iterdir()] == [".json"]
    # An interpreter that does not exist cannot have been asked again.
    run(code.format(repr("/nonexistent")))


DAMAGE = {
    "cut off": lambda data: data[: len(data) // 2],
    "other fields": lambda data: data.replace(b'"dest"', b'"destiny"'),
    "older format": lambda data: data.replace(b'"key": [1,', b'"key": [0,'),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_or_outdated_cache_is_read_anew(table, tmp_path, cache, kind):
    (good,) = cache.iterdir()
    bad = tmp_path / good.name
    bad.write_bytes(DAMAGE[kind](good.read_bytes()))
    assert load_table(tmp_path, sys.executable).options == table.options
    assert bad.read_bytes() == good.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == [good.name]


def test_a_cache_that_cannot_be_written_is_done_without(table, tmp_path):
    (tmp_path / "file").write_text("")
    assert load_table(tmp_path / "file" / "x", sys.executable) == table


def test_nothing_of_the_working_directory_takes_the_place_of_a_module(tmp_path):
    for name in ("json", "runpy", "torch", "typing", "socket"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('shadowed')")
    code = f"""
import sys
sys.path.remove("") if "" in sys.path else None
sys.path.insert(0, {str(ROOT)!r})
import json, runpy, typing, socket, subprocess
from pathlib import Path
sys.path[1:1] = [""]
from nbtune.options.table import ask_torch
import os
assert ask_torch(sys.executable, environ=os.environ)["options"]
"""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    (tmp_path / "try.py").write_text(code)
    launcher = f"exec(open({str(tmp_path / 'try.py')!r}).read())"
    done = subprocess.run(
        [sys.executable, "-P", "-c", launcher],
        check=False,
        capture_output=True,
        cwd=tmp_path,
        env=env,
    )
    assert done.returncode == 0, done.stderr.decode()


def test_a_deleted_working_directory_does_not_matter(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert ask_torch(sys.executable, environ=os.environ)["options"]


def test_an_interpreter_that_does_not_run_is_one_line():
    with pytest.raises(OptionError, match="torchrun's options cannot be read"):
        ask_torch("/nonexistent/python", environ=os.environ)


def test_a_torch_that_does_not_import_is_one_line(tmp_path):
    package = tmp_path / "torch" / "distributed"
    package.mkdir(parents=True)
    (package / "run.py").write_text("")
    (package / "__init__.py").write_text("")
    (package.parent / "__init__.py").write_text("raise ImportError('libcudart')")
    code = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
sys.path.insert(0, {str(tmp_path)!r})
from nbtune.errors import OptionError
from nbtune.options import load_table
try:
    load_table(Path({str(tmp_path / "cache")!r}), sys.executable)
except OptionError as error:
    print(error)
"""
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    message = run(code, env=env)
    assert message.count("\n") == 1
    assert "torchrun's options cannot be read: ImportError: libcudart" in message
    assert not (tmp_path / "cache").exists()


def test_no_torch_at_all_is_one_line(tmp_path):
    code = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
sys.path[:] = [entry for entry in sys.path if "site-packages" not in entry]
from nbtune.errors import OptionError
from nbtune.options import load_table
try:
    load_table(Path({str(tmp_path / "cache")!r}), sys.executable)
except OptionError as error:
    print(error)
"""
    message = run(code, env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"})
    assert message.startswith("PyTorch is not installed for ")
    assert message.endswith("pip install torch\n")
