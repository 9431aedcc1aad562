"""Results: what ``--out`` brings back to the notebook."""

from __future__ import annotations

from tests.kernels import Kernel, ranks


def test_res_01_trained_weights_come_back_as_a_new_object(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok(
        "net = torch.nn.Linear(1, 1); before = net\n"
        "_ = torch.nn.init.zeros_(net.weight)"
    )
    shared_kernel.ok(
        "%%torchrun --nproc_per_node 2 --out net\nwith torch.no_grad(): net.weight += 1"
    )
    assert shared_kernel.value("net.weight.item()") == 1
    assert shared_kernel.value("net is before") is False
    assert shared_kernel.value("before.weight.item()") == 0


def test_res_02_a_model_wrapped_for_ddp_comes_back_unwrapped(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok(
        "%%torchrun --nproc_per_node 2 --out ddp,loss\n"
        "dist.init_process_group('gloo')\n"
        "ddp = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))\n"
        "loss = 0.5"
    )
    assert shared_kernel.value("(type(ddp).__name__, loss)") == ("Linear", 0.5)
    assert shared_kernel.value("list(ddp(torch.ones(1, 2)).shape)") == [1, 1]


def test_res_04_a_result_never_rewrites_a_notebook_class(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok("class Meter: total = 10\nm = Meter(); first = Meter")
    shared_kernel.ok("%%torchrun --nproc_per_node 2 --out m\nMeter.total = 99; m.k = 1")
    assert shared_kernel.value("isinstance(m, Meter) and Meter is first")
    assert shared_kernel.value("(m.k, Meter.total, m.total)") == (1, 10, 10)


def test_res_04_what_the_user_did_to_a_class_meanwhile_is_kept(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok(
        "import nbtune\n"
        "class Meter: total = 10\n"
        "def make(): Meter.total = 99; return Meter()\n"
        "job = nbtune.launch(make, nproc_per_node=2)\n"
        "Meter.total = 11; Meter.extra = 'mine'"
    )
    shared_kernel.ok("m = job.result()")
    assert shared_kernel.value("isinstance(m, Meter)")
    assert shared_kernel.value("(Meter.total, m.extra)") == (11, "mine")


def test_res_05_a_loss_comes_back_without_graph_and_gradients(
    shared_kernel: Kernel, readme: str
) -> None:
    shared_kernel.ok("w = torch.ones(2, requires_grad=True)")
    shared_kernel.ok(
        "%%torchrun --nproc_per_node 2 --out loss,w\n"
        "loss = (w * 3).sum(); loss.backward()"
    )
    assert shared_kernel.value("loss.item()") == 6
    assert shared_kernel.value("(loss.grad_fn, w.grad)") == (None, None)
    assert shared_kernel.value("w.requires_grad and w.is_leaf")
    assert "grad" in readme


def test_res_06_a_class_defined_in_the_cell_comes_along_and_travels_again(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok(
        "%%torchrun --nproc_per_node 2 --out o\n"
        "class Out:\n"
        "    def dbl(self): return 6\n"
        "o = Out()"
    )
    assert shared_kernel.value("(o.dbl(), isinstance(o, Out))") == (6, True)
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\nprint(o.dbl(), isinstance(o, Out))"
    )
    assert ranks(cell.stdout) == {0: ["6 True"], 1: ["6 True"]}


def test_res_06_a_name_in_use_is_not_taken_by_a_class_of_the_cell(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok("Out = 'mine'")
    shared_kernel.ok(
        "%%torchrun --nproc_per_node 2 --out o\n"
        "class Out:\n"
        "    def dbl(self): return 6\n"
        "o = Out()"
    )
    assert shared_kernel.value("(o.dbl(), Out)") == (6, "mine")


def test_res_07_values_that_differ_come_back_as_rank_0s_or_as_a_list_by_rank(
    shared_kernel: Kernel,
) -> None:
    body = (
        "rank = int(os.environ['RANK'])\nmine = rank * 10\nif rank == 1: only_one = 'x'"
    )
    shared_kernel.ok(f"%%torchrun --nproc_per_node 2 --out mine\n{body}")
    assert shared_kernel.value("mine") == 0
    shared_kernel.ok(
        f"%%torchrun --nproc_per_node 2 --out mine@all,only_one@all\n{body}"
    )
    assert shared_kernel.value("mine") == [0, 10]
    assert shared_kernel.value("(len(only_one), only_one[1])") == (2, "x")
    assert "not set on rank 0" in shared_kernel.value("repr(only_one[0])")


def test_res_09_an_imported_module_comes_back_and_a_deletion_does_not(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok("x = 1")
    shared_kernel.ok("%%torchrun --nproc_per_node 2 --out '*'\ndel x\nimport json as j")
    assert shared_kernel.value("(j.dumps([1]), x)") == ("[1]", 1)


def test_res_09_a_deleted_name_that_was_asked_for_is_kept_and_reported(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok("x = 1")
    cell = shared_kernel.ok("%%torchrun --nproc_per_node 2 --out x,y\ndel x; y = 2")
    assert shared_kernel.value("(x, y)") == (1, 2)
    assert "not brought back" in cell.text
