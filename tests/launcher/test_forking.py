"""Worker processes started by a cell, by all methods."""

import subprocess
import sys
from pathlib import Path

import pytest

_RANK = """
import linecache, pathlib, sys, types
main = sys.modules["__main__"] = types.ModuleType("__main__")
from nbtune.launcher import forking
folder = pathlib.Path("waiting")
forking.install(main.__dict__, folder)
cell = pathlib.Path("cell.py").read_text()
exec(compile(cell, "<cell>", "exec"), main.__dict__)
assert not folder.exists() or not list(folder.iterdir()), "definitions were left"
"""
_METHODS = ["spawn", "fork", "forkserver"]


def _run(tmp_path, cell):
    (tmp_path / "cell.py").write_text(cell)
    command = [sys.executable, "-c", _RANK]
    source = str(Path(__file__).parents[2])
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={"PYTHONPATH": source, "TMPDIR": str(tmp_path), "PATH": "/bin"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("method", _METHODS)
def test_a_pool_runs_functions_with_their_globals_and_its_initializer(tmp_path, method):
    cell = f"""
import functools
import multiprocessing as mp
scale = 3
def init(k):
    global offset
    offset = k
def helper(v): return v * v
@functools.cache
def twice(v): return 2 * v
class Box:
    def __init__(self, v): self.v = v
def work(v): return Box(helper(v) * scale + offset + twice(v))
with mp.get_context("{method}").Pool(1, init, (100,)) as pool:
    boxes = pool.map(work, [1, 2])
    print([b.v for b in boxes], all(type(b) is Box for b in boxes))
    print(pool.map(twice, [5]))
"""
    assert _run(tmp_path, cell) == ["[105, 116] True", "[10]"]


@pytest.mark.slow
@pytest.mark.parametrize("method", _METHODS)
def test_a_dataloader_reads_a_dataset_of_the_cell_through_torchs_own_pickling(
    tmp_path, method
):
    cell = f"""
import torch
from torch.utils.data import DataLoader, Dataset
class Squares(Dataset):
    def __init__(self): self.values = torch.arange(3.)
    def __len__(self): return 3
    def __getitem__(self, i): return self.values[i] ** 2, self.values.is_shared()
def first(batch): return batch[0]
loader = DataLoader(Squares(), num_workers=1, batch_size=1, collate_fn=first,
                    multiprocessing_context="{method}")
print([(value.item(), shared) for value, shared in loader])
"""
    shared = method != "fork"
    assert _run(tmp_path, cell) == [str([(0.0, shared), (1.0, shared), (4.0, shared)])]


def test_a_process_class_of_the_cell_can_be_spawned(tmp_path):
    cell = """
import multiprocessing as mp
context = mp.get_context("spawn")
class Worker(context.Process):
    def __init__(self, queue): super().__init__(); self.queue = queue
    def run(self): self.queue.put(type(self)); print("printed é")
queue = context.Queue()
worker = Worker(queue)
worker.start()
print(queue.get() is Worker, flush=True)
worker.join()
"""
    assert sorted(_run(tmp_path, cell)) == ["True", "printed é"]


def test_what_a_spawned_worker_prints_before_it_is_killed_is_not_lost(tmp_path):
    cell = """
import multiprocessing as mp, os, signal
def die():
    print("last words")
    os.kill(os.getpid(), signal.SIGKILL)
process = mp.get_context("spawn").Process(target=die)
process.start()
process.join()
print(process.exitcode)
"""
    assert _run(tmp_path, cell) == ["last words", "-9"]


def test_a_value_that_cannot_travel_is_missed_by_name(tmp_path):
    cell = """
import concurrent.futures, multiprocessing as mp, threading
guard = threading.Lock()
def use(): return guard
def other(): return "fine"
context = mp.get_context("spawn")
with concurrent.futures.ProcessPoolExecutor(1, context) as pool:
    print(pool.submit(other).result())
    print(repr(pool.submit(use).exception()))
"""
    assert _run(tmp_path, cell) == [
        "fine",
        "NameError(\"name 'guard' is not defined\")",
    ]


def test_the_modules_own_pickling_is_as_before_outside_a_start(tmp_path):
    cell = """
import io, multiprocessing as mp, pickle
from multiprocessing import reduction
print(pickle.loads(bytes(reduction.ForkingPickler.dumps([1, {"a": 2}]))))
"""
    assert _run(tmp_path, cell) == ["[1, {'a': 2}]"]
