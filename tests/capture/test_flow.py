from __future__ import annotations

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from nbtune.capture import CellText, read_cell


def _read(body: str) -> CellText:
    transform = TransformerManager().transform_cell
    return read_cell(body, header="%%torchrun", transform=transform, filename="cell")


@pytest.mark.parametrize(
    "body",
    [
        "x",
        "def f(a=x): pass",
        "def f():\n    def g(): return x\n    return g",
        "class C: z = x",
        "class C(x): pass",
        "class C(metaclass=x): pass",
        "class C:\n    def go(self): return x",
        "@x\ndef f(): pass",
        "def f(a: x): pass",
        "def f(a: 'x'): pass",
        "def f() -> 'list[\"x\"]': pass",
        "a: x = 1",
        "f'{1:>{x}}'",
        "[i * x for i in (1, 2)]",
        "lambda: x",
        "x += 1",
        "del x",
        "x = x + 1",
        "x.attribute = 1",
        "x[0] = 1",
        "def f():\n    global x\n    x += 1",
        "if 1 > 2: x = 1\nprint(x)",
        "for i in range(3): x = i\nprint(x)",
        "while a(): x = 1\nprint(x)",
        "try:\n    x = 1\nexcept ValueError: pass\nprint(x)",
        "with suppress(ValueError): x = 1\nprint(x)",
        "a and (x := 1)\nprint(x)",
        "def x(): return x()",
        "import a.x\nprint(x)",
        "x: int\nprint(x)",
        "match a:\n    case [x, 1]: pass\nprint(x)",
        "match a:\n    case x.y: pass",
        "async for i in x: pass",
        "await x",
        "eval('x + 1')",
        "%time x",
        "%timeit -n 10 -r 1 x",
        "%%time\nx",
        "%%unknown\nx",
        "%time -q {x}",
        "!echo $x",
        "!echo ${x}",
        "!echo {x + 1}",
        "a = !echo {x!r} it's {",
        "x?",
    ],
)
def test_a_name_read_from_outside_is_found(body: str) -> None:
    assert "x" in _read(body).names


@pytest.mark.parametrize(
    "body",
    [
        "x = 1\nprint(x)",
        "x, (y, *z) = 1, (2, 3)\nprint(x, y, z)",
        "import x\nx.go()",
        "import x.y\nx.go()",
        "from a import b as x\nx",
        "def x(): pass\nx()",
        "class x: pass\nx()",
        "for x in (1, 2): print(x)",
        "with open('f') as x: x.read()",
        "with open('f'): x = 1\nprint(x)",
        "if a: x = 1\nelse: x = 2\nprint(x)",
        "try: import x\nexcept ImportError: x = None\nx",
        "try: a\nfinally: x = 1\nx",
        "try: a\nexcept E as x: print(x)",
        "if (x := a()): print(x)\nx",
        "x = 1\ndef f(): return x",
        "x = 1\ndel x\nx",
        "[x for x in (1, 2)]",
        "def f(x): return x",
        "class C:\n    x = 1\n    y = x",
        "class C:\n @property\n def x(self): pass\n @x.setter\n def x(self, v): pass",
        "match a:\n    case {'k': x, **y}: print(x, y)",
        "async with a as x: x",
        "a.x",
        "f(x=1)",
        "'x'",
    ],
)
def test_a_name_of_the_cells_own_is_not_asked_for(body: str) -> None:
    assert "x" not in _read(body).names


@pytest.mark.parametrize(
    "body",
    [
        "x.go()\nx = 1",
        "for i in a:\n    x.go()\n    x = i",
        "x += 1",
        "def f(): return x",
        "%time x.go()",
    ],
)
def test_a_name_that_must_come_from_outside_is_certain(body: str) -> None:
    text = _read(body)
    assert "x" in text.names
    assert "x" not in text.unsure


@pytest.mark.parametrize(
    "body",
    [
        "for x in a: pass\nprint(x)",
        "if a: x = 1\nx",
        "def main(): x()\ndef x(): pass\nmain()",
        "def f(a: 'x'): pass",
        "%matplotlib x",
    ],
)
def test_a_name_that_may_be_the_cells_own_is_unsure(body: str) -> None:
    text = _read(body)
    assert "x" in text.names
    assert "x" in text.unsure
