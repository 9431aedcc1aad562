"""Capture: kinds of objects that plain pickling loses."""

from __future__ import annotations

import pytest

from tests.kernels import Kernel, ranks


@pytest.mark.slow
def test_cap_09_compiled_functions_and_modules_are_compiled_again_in_the_rank(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok(
        "@torch.compile(backend='eager')\n"
        "def f(x): return x + 1\n"
        "m = torch.compile(torch.nn.Linear(2, 2), backend='eager')"
    )
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\n"
        "print(f(torch.ones(1)).item(), m(torch.ones(1, 2)).shape)\n"
        "print(hasattr(f, '_torchdynamo_orig_callable'))"
    )
    lines = ["2.0 torch.Size([1, 2])", "True"]
    assert ranks(cell.stdout) == {0: lines, 1: lines}


def test_cap_10_custom_operators_and_traced_modules_work(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok(
        "@torch.library.custom_op('nbx::twice', mutates_args=())\n"
        "def twice(x: torch.Tensor) -> torch.Tensor: return x * 2\n"
        "traced = torch.jit.trace(torch.nn.ReLU(), torch.ones(1))"
    )
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\n"
        "print(twice(torch.ones(2)).tolist(), traced(-torch.ones(1)).item())"
    )
    assert ranks(cell.stdout) == {0: ["[2.0, 2.0] 0.0"], 1: ["[2.0, 2.0] 0.0"]}


def test_cap_11_cached_functions_and_properties_work_with_empty_caches(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok(
        "import functools\n"
        "@functools.lru_cache(None)\n"
        "def fib(n): return n if n < 2 else fib(n-1) + fib(n-2)\n"
        "class A:\n"
        "    @functools.cached_property\n"
        "    def big(self): return 42\n"
        "a = A(); fib(10)"
    )
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\n"
        "print(fib.cache_info().currsize, fib(20), fib.cache_info().currsize, a.big)"
    )
    assert ranks(cell.stdout) == {0: ["0 6765 21 42"], 1: ["0 6765 21 42"]}


def test_cap_12_singledispatch_works(shared_kernel: Kernel) -> None:
    shared_kernel.ok(
        "import functools\n"
        "@functools.singledispatch\n"
        "def show(x): return 'any'\n"
        "@show.register\n"
        "def _(x: int): return 'int'"
    )
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\n"
        "show.register(str, lambda x: 'str')\n"
        "print(show(1), show(1.0), show(''))"
    )
    assert ranks(cell.stdout) == {0: ["int any str"], 1: ["int any str"]}


def test_cap_12_a_context_variable_travels_with_its_value(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok(
        "import contextvars\n"
        "unset = contextvars.ContextVar('unset')\n"
        "level = contextvars.ContextVar('level', default=1)"
    )
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\n"
        "print(unset.get('none'), level.get(), level.set(2).var is level, level.get())"
    )
    assert ranks(cell.stdout) == {0: ["none 1 True 2"], 1: ["none 1 True 2"]}


def test_cap_13_type_hints_that_are_strings_resolve_in_the_rank(
    kernel: Kernel,
) -> None:
    kernel.ok(
        "from __future__ import annotations\n"
        "from typing import Optional\n"
        "class Tok: ...\n"
        "def f(x: Optional[Tok] = None) -> Tok: ..."
    )
    cell = kernel.ok(
        "%%torchrun --nproc_per_node 2\n"
        "import typing; hints = typing.get_type_hints(f)\n"
        "print(hints['x'] == typing.Optional[hints['return']], hints['return'])"
    )
    line = "True <class '__main__.Tok'>"
    assert ranks(cell.stdout) == {0: [line], 1: [line]}


def test_cap_14_pydantic_models_of_the_notebook_work(shared_kernel: Kernel) -> None:
    shared_kernel.ok(
        "import pydantic\n"
        "class Cfg(pydantic.BaseModel):\n"
        "    lr: float = 0.1\n"
        "cfg = Cfg()"
    )
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2 --out made\n"
        "class Cfg2(Cfg): k: int = 1\n"
        "print(cfg.lr, Cfg(lr=2).lr, Cfg2())\n"
        "try:\n"
        "    Cfg(lr='x')\n"
        "except pydantic.ValidationError as error:\n"
        "    print(error.errors()[0]['loc'])\n"
        "made = Cfg(lr=3)"
    )
    lines = ["0.1 2.0 lr=0.1 k=1", "('lr',)"]
    assert ranks(cell.stdout) == {0: lines, 1: lines}
    assert shared_kernel.value("isinstance(made, Cfg), made.lr") == (True, 3.0)


def test_cap_15_enums_are_identical_in_the_rank_and_when_they_come_back(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok(
        "import enum\n"
        "class Mode(enum.Enum): TRAIN = 1\n"
        "mode = Mode.TRAIN\n"
        "def training(m): return m is Mode.TRAIN"
    )
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2 --out picked\n"
        "print(mode is Mode.TRAIN, training(mode)); picked = Mode.TRAIN"
    )
    assert ranks(cell.stdout) == {0: ["True True"], 1: ["True True"]}
    assert shared_kernel.value("picked is Mode.TRAIN")


def test_cap_16_super_abstract_named_tuple_and_other_classes_work(
    shared_kernel: Kernel,
) -> None:
    shared_kernel.ok(
        "import abc, dataclasses\n"
        "from typing import Generic, NamedTuple, TypedDict, TypeVar\n"
        "class B(NamedTuple): x: int; y: int = 2\n"
        "class Base(abc.ABC):\n"
        "    @abc.abstractmethod\n"
        "    def go(self): ...\n"
        "class Imp(Base):\n"
        "    def __init__(self): super().__init__()\n"
        "    def go(self): return 'ok'\n"
        "T = TypeVar('T')\n"
        "class Box(Generic[T]):\n"
        "    __slots__ = ('item',)\n"
        "    def __init__(self, item: T): self.item = item\n"
        "class Row(TypedDict): n: int\n"
        "@dataclasses.dataclass(frozen=True, slots=True)\n"
        "class Point: x: int = 1\n"
        "imp = Imp(); b = B(1); box = Box[int](5); row = Row(n=1); point = Point(2)"
    )
    cell = shared_kernel.ok(
        "%%torchrun --nproc_per_node 2\n"
        "print(imp.go(), isinstance(imp, Base), b == B(1))\n"
        "print(box.item, Box[str]('s').item, row == Row(n=1), point == Point(2))\n"
        "try:\n"
        "    Base()\n"
        "except TypeError:\n"
        "    print('abstract')"
    )
    lines = ["ok True True", "5 s True True", "abstract"]
    assert ranks(cell.stdout) == {0: lines, 1: lines}
