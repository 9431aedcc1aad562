"""Results: what does not come back is said, and costs nothing else."""

from __future__ import annotations

import re

from tests.kernels import Cell, Kernel


def _report(cell: Cell) -> str:
    """The lines that say what did not come back."""
    return "\n".join(line for line in cell.notes if "not brought back" in line)


def test_res_03_things_that_cannot_come_back_are_listed_once_and_explain_themselves(
    shared_kernel: Kernel,
) -> None:
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2 --out '*'\n"
        "dist.init_process_group('gloo'); pg = dist.group.WORLD\n"
        "fh = open(os.devnull); g = (i for i in range(3)); acc = 0.9"
    )
    assert shared_kernel.value("acc") == 0.9
    report = _report(cell)
    kinds = {"pg": "ProcessGroup", "fh": "TextIOWrapper", "g": "generator"}
    for name, kind in kinds.items():
        assert len(re.findall(rf"\b{name}\b", report)) == 1
        marker = shared_kernel.value(f"repr({name})")
        assert "not brought back" in marker
        assert kind in marker
    assert len(report.splitlines()) <= 4
    assert len(report) < 600


def test_res_03_names_that_were_not_asked_for_are_mentioned_in_one_line(
    shared_kernel: Kernel,
) -> None:
    cell = shared_kernel.ok("%%torchrun --nproc_per_node 2\nacc = 0.9; other = 1")
    report = _report(cell)
    assert "acc" in report
    assert "other" in report
    assert "--out" in report
    assert len(report.splitlines()) == 1


def test_res_08_a_failed_job_changes_no_name(shared_kernel: Kernel) -> None:
    shared_kernel.ok("v = 1")
    cell = shared_kernel.run(
        "%%torchrun --nproc_per_node 2 --out v\nv = 2\nraise RuntimeError('x')"
    )
    assert cell.error is not None
    assert cell.error.ename == "WorkerError"
    assert shared_kernel.value("v") == 1


def test_res_08_a_rank_that_fails_alone_keeps_the_others_results_back(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok("v = 1")
    cell = shared_kernel.run(
        "%%torchrun --nproc_per_node 2 --out '*'\n"
        "v = 2; w = 3\n"
        "assert os.environ['RANK'] == '0'"
    )
    assert cell.error is not None
    assert cell.error.ename == "WorkerError"
    assert shared_kernel.value("(v, 'w' in globals())") == (1, False)


def test_res_10_a_result_that_cannot_be_packed_costs_only_itself(
    shared_kernel: Kernel,
) -> None:
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2 --out best,state\n"
        "import threading\n"
        "best = 0.97; state = {'guard': threading.Lock()}"
    )
    assert shared_kernel.value("best") == 0.97
    report = _report(cell)
    assert "state['guard']" in report
    assert "_thread.lock" in report
    assert "state['guard']" in shared_kernel.value("repr(state)")


def test_res_11_a_class_redefined_after_the_job_does_not_change_its_result(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok("class R:\n    def show(self): return 'old'")
    shared_kernel.ok("%%torchrun --nproc_per_node 2 --out r\nr = R()")
    shared_kernel.ok("class R:\n    def show(self): return 'new'")
    assert shared_kernel.value("(r.show(), R().show())") == ("old", "new")


def test_res_11_a_class_redefined_while_the_job_runs_is_untouched_by_its_result(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok(
        "import nbtune\n"
        "class R:\n"
        "    def show(self): return 'old'\n"
        "def make(): return R()\n"
        "job = nbtune.launch(make, nproc_per_node=2)\n"
        "class R:\n"
        "    def show(self): return 'new'"
    )
    shared_kernel.ok("r = job.result()")
    assert shared_kernel.value("(r.show(), R().show(), isinstance(r, R))") == (
        "old",
        "new",
        False,
    )
