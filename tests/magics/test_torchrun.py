"""The magics, in a real kernel."""

from tests.kernels import Kernel, ranks, refusal


def test_defaults_count_for_every_cell_until_they_are_cleared(shared_kernel: Kernel):
    shared_kernel.ok("%torchrun_defaults --nproc_per_node 2 --env A=1")
    shown = shared_kernel.ok("%torchrun_defaults")
    assert shown.stdout == "--nproc_per_node 2 --env A=1\n"
    cell = shared_kernel.ok("%%torchrun\nprint(os.environ['A'])")
    assert ranks(cell.stdout) == {0: ["1"], 1: ["1"]}
    shared_kernel.ok("%torchrun_defaults --clear")
    assert shared_kernel.ok("%torchrun_defaults").stdout == "no defaults\n"
    cell = shared_kernel.ok("%%torchrun\nprint('alone')")
    assert ranks(cell.stdout) == {0: ["alone"]}


def test_wrong_defaults_are_refused_and_change_nothing(shared_kernel: Kernel):
    shared_kernel.ok("%torchrun_defaults --nproc_per_node 2")
    refused = refusal(shared_kernel.run("%torchrun_defaults --bogus"))
    assert "--bogus" in refused
    assert "--nproc_per_node 2" in shared_kernel.ok("%torchrun_defaults").stdout
    shared_kernel.ok("%torchrun_defaults --clear")


def test_a_dry_run_shows_the_command_and_the_values_and_starts_nothing(
    shared_kernel: Kernel,
):
    shared_kernel.ok("small = 1; large = bytes(100_000)")
    before = shared_kernel.jobs()
    cell = shared_kernel.ok("%%torchrun --nproc_per_node 2 --dry-run\nsmall, large")
    lines = cell.stdout.splitlines()
    assert lines[0] == "torchrun --standalone --nproc-per-node 2 cell.py"
    assert lines[2].split()[:3] == ["large", "100.0", "kB"]
    assert lines[3].split()[0] == "small"
    assert lines[-1] == "nothing was started"
    assert shared_kernel.jobs() == before


def test_a_default_of_the_environment_is_shown(shared_kernel: Kernel):
    shared_kernel.ok("os.environ['PET_NPROC_PER_NODE'] = '2'")
    cell = shared_kernel.ok("%%torchrun\nprint('hi')")
    shared_kernel.ok("del os.environ['PET_NPROC_PER_NODE']")
    assert "nbtune: using PET_NPROC_PER_NODE=2" in cell.stdout
    assert ranks(cell.stdout) == {0: ["hi"], 1: ["hi"]}


def test_only_the_ranks_asked_for_are_shown(shared_kernel: Kernel):
    cell = shared_kernel.ok("%%torchrun --nproc_per_node 2 --show-ranks 1\nprint('hi')")
    assert ranks(cell.stdout) == {1: ["hi"]}
