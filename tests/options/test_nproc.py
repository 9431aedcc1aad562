from __future__ import annotations

import os
import subprocess
import sys

import pytest

from nbtune.errors import OptionError
from nbtune.options.nproc import _has_devices, count_cpus
from nbtune.options.table import ask_torch

needs_no_device = pytest.mark.skipif(
    _has_devices(), reason="this machine has accelerators"
)


@pytest.mark.parametrize("word", ["1", "2", " 3 ", "1024"])
def test_a_number_is_that_many(read, word):
    options = read(f"--nproc_per_node '{word}'")
    assert options.nproc == int(word)
    assert options.argv == ("--nproc-per-node", str(int(word)))


def test_no_number_is_one_rank_as_with_torchrun(read):
    assert read("").nproc == 1


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("0", "--nproc-per-node 0: at least 1 is needed"),
        ("-1", "--nproc-per-node -1: at least 1 is needed"),
        ("two", "use a number, cpu, gpu, xpu or auto"),
        ("2.0", "use a number"),
        ("''", "--nproc-per-node '': use a number"),
        ("CPU", "use a number"),
        ("99999", "at most 1024"),
        ("9" * 5000, "use a number"),
        ("{None}", "--nproc-per-node None: use a number"),
    ],
)
def test_a_number_that_cannot_be_is_one_line(read, word, message):
    with pytest.raises(OptionError) as caught:
        read(f"--nproc-per-node {word}")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400


def test_cpu_is_what_torch_counts(read):
    code = (
        "from torch.distributed.run import determine_local_world_size as count;"
        "print(count('cpu'))"
    )
    theirs = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True
    )
    options = read("--nproc-per-node cpu")
    assert options.nproc == int(theirs.stdout) == count_cpus()
    assert options.argv == ("--nproc-per-node", str(options.nproc))


@needs_no_device
def test_auto_is_the_cpus_where_there_is_no_accelerator(read):
    assert read("--nproc auto").nproc == count_cpus()


@needs_no_device
@pytest.mark.parametrize(("word", "kind"), [("gpu", "GPU"), ("xpu", "XPU")])
def test_devices_that_are_not_there_are_told(read, word, kind):
    with pytest.raises(OptionError) as caught:
        read(f"--nproc-per-node {word}")
    assert str(caught.value) == (
        f"--nproc-per-node {word}: no {kind} here, use a number, cpu or auto"
    )


def test_torch_itself_is_asked_about_devices():
    environ = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    answer = ask_torch(sys.executable, "gpu", environ=environ)
    assert answer == {"error": "Cuda is not available."}


@pytest.mark.gpu
def test_gpu_is_the_number_of_visible_devices(read):
    visible = {**os.environ, "CUDA_VISIBLE_DEVICES": "0"}
    assert read("--nproc-per-node gpu", environ=visible).nproc == 1
    assert read("--nproc-per-node auto", environ=visible).nproc == 1


@pytest.mark.gpu
def test_hidden_devices_are_no_devices(read):
    with pytest.raises(OptionError, match="no GPU here"):
        read("--nproc-per-node gpu", environ={"CUDA_VISIBLE_DEVICES": ""})
