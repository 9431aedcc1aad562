"""Compiled functions, scripts, operators and wrapped models."""

from __future__ import annotations

import pytest


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_compiled_functions_and_modules_are_compiled_again(notebook):
    notebook.cell(
        """
        import torch
        @torch.compile(backend="eager", fullgraph=True, dynamic=True)
        def f(x): return x + 1
        m = torch.compile(torch.nn.Linear(2, 2), backend="eager")
        i = torch.compile(lambda x: x, mode="reduce-overhead")
        @torch.compiler.disable
        def plain(x): return x * 3
        """
    )
    notebook.send("torch", "f", "m", "i", "plain")
    out = notebook.rank(
        """
        context = dict(zip(f.__code__.co_freevars, f.__closure__))["self"]
        context = context.cell_contents
        print(f(torch.ones(1)), m(torch.ones(1, 2)).shape, plain(torch.ones(1)))
        print(context.fullgraph, context._dynamic, type(m).__name__)
        print(i.get_compiler_config()["triton.cudagraphs"])
        print(torch._dynamo.utils.counters["stats"]["calls_captured"] > 0)
        """
    )
    assert out == (
        "tensor([2.]) torch.Size([1, 2]) tensor([3.])\n"
        "True True OptimizedModule\nTrue\nTrue\n"
    )


def test_a_compiled_function_with_a_backend_of_the_notebook_arrives(notebook):
    notebook.cell(
        """
        import torch
        def mine(graph, inputs):
            print("compiling")
            return graph
        @torch.compile(backend=mine)
        def f(x): return x + 1
        """
    )
    notebook.send("torch", "f")
    assert notebook.rank("print(f(torch.ones(1)))") == "compiling\ntensor([2.])\n"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_scripts_and_traces_arrive(notebook):
    notebook.cell(
        """
        import torch
        traced = torch.jit.trace(torch.nn.Linear(2, 2), torch.ones(1, 2))
        scripted = torch.jit.script(torch.nn.Linear(2, 2))
        function = torch.jit.trace(lambda x: x + 1, torch.ones(1, 2))
        """
    )
    notebook.send("torch", "traced", "scripted", "function")
    out = notebook.rank(
        """
        x = torch.ones(1, 2)
        print(traced(x).shape, scripted(x).shape, function(x))
        """
    )
    assert out == "torch.Size([1, 2]) torch.Size([1, 2]) tensor([[2., 2.]])\n"


def test_custom_operators_arrive_with_all_that_was_registered(notebook):
    notebook.cell(
        """
        import torch
        @torch.library.custom_op("nbx::twice", mutates_args=())
        def twice(x: torch.Tensor) -> torch.Tensor: return x * 2
        @twice.register_fake
        def _(x): return torch.empty_like(x)
        @twice.register_kernel("cpu")
        def _(x): return x + x
        def back(ctx, grad): return grad * 2
        twice.register_autograd(back)
        """
    )
    notebook.send("torch", "twice")
    out = notebook.rank(
        """
        x = torch.ones(2, requires_grad=True)
        twice(x).sum().backward()
        print(twice(torch.ones(2)), x.grad)
        print(torch.ops.nbx.twice(torch.ones(1, device="meta")).shape)
        """
    )
    assert out == "tensor([2., 2.]) tensor([2., 2.])\ntorch.Size([1])\n"


def test_an_operator_that_the_receiver_has_is_left_alone(notebook):
    notebook.cell(
        """
        import torch
        @torch.library.custom_op("nbx::thrice", mutates_args=())
        def thrice(x: torch.Tensor) -> torch.Tensor: return x * 3
        """
    )
    notebook.send("thrice")
    assert notebook.receive().values["thrice"] is notebook.names["thrice"]


_GROUP = """
import sys, tempfile, pathlib, torch, torch.distributed as dist
from nbtune.payload import pack
store = dist.HashStore()
dist.init_process_group("gloo", store=store, rank=0, world_size=1)
"""


def test_a_distributed_wrapper_comes_back_unwrapped(notebook):
    notebook.names["folder"] = str(notebook.folder.with_name("results"))
    notebook.send("folder")
    notebook.rank(
        _GROUP
        + """
ddp = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
roots = {"ddp": ddp, "pg": dist.group.WORLD, "net": ddp.module, "loss": 0.5}
packed = pack(roots, pathlib.Path(folder), namespace=globals(), follow=False)
assert [(p.name, p.path) for p in packed.problems] == [("pg", "pg")], packed
dist.destroy_process_group()
"""
    )
    notebook.folder = notebook.folder.with_name("results")
    values = notebook.receive().values
    assert type(values["ddp"]).__name__ == "Linear"
    assert values["ddp"] is values["net"]
    assert values["loss"] == 0.5
