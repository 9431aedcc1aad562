from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from nbtune.capture import capture_call, capture_cell, read_cell, size_line
from nbtune.errors import CaptureError
from nbtune.payload import Packed, unpack

if TYPE_CHECKING:
    from pathlib import Path


def _capture(
    body: str,
    namespace: dict[str, object],
    folder: Path | None = None,
    hidden: dict[str, object] | None = None,
) -> Packed:
    text = read_cell(
        body,
        header="%%torchrun",
        transform=TransformerManager().transform_cell,
        filename="cell",
    )
    return capture_cell(
        text, folder, namespace=namespace, hidden=hidden or {}, numbers={}
    )


def _packed(**sizes: int) -> Packed:
    return Packed(
        names=tuple(sizes),
        sizes=sizes,
        problems=(),
        warnings=(),
        modules=frozenset(),
        classes={},
        reached={},
    )


def test_only_names_that_are_used_travel(tmp_path: Path) -> None:
    namespace: dict[str, object] = {"a": 1, "b": [2], "guard": threading.Lock()}
    _capture("print(b)", namespace, tmp_path / "payload")
    assert unpack(tmp_path / "payload", namespace={}).values == {"b": [2]}


def test_names_of_ipython_stay_until_the_user_binds_them() -> None:
    shown: list[int] = []
    hidden: dict[str, object] = {"Out": shown, "In": shown}
    namespace: dict[str, object] = {"Out": shown, "In": [1], "__name__": "__main__"}
    packed = _capture("print(Out, In, __name__)", namespace, hidden=hidden)
    assert packed.names == ("In",)


def test_all_that_cannot_travel_is_told_at_once() -> None:
    namespace: dict[str, object] = {"a": threading.Lock(), "b": {"k": threading.Lock()}}
    with pytest.raises(CaptureError) as caught:
        _capture("print(a, b)", namespace)
    one, two = str(caught.value).splitlines()
    assert "a" in one
    assert "b['k']" in two


def test_a_stale_value_under_a_name_of_the_cells_own_stops_nothing() -> None:
    namespace: dict[str, object] = {"x": threading.Lock()}
    packed = _capture("for x in (1, 2): pass\nprint(x)", namespace)
    assert packed.names == ()
    (warning,) = packed.warnings
    assert "x" in warning
    assert "_thread.lock" in warning


def test_a_call_travels_with_its_arguments(tmp_path: Path) -> None:
    capture_call(max, (1, 2), {"default": 3}, tmp_path / "payload", namespace={})
    values = unpack(tmp_path / "payload", namespace={}).values
    assert values == {"fn": max, "args": (1, 2), "kwargs": {"default": 3}}


def test_an_argument_that_cannot_travel_is_refused() -> None:
    with pytest.raises(CaptureError, match=r"args\[1\]"):
        capture_call(print, (1, threading.Lock()), {}, None, namespace={})


def test_small_payloads_need_no_line() -> None:
    assert size_line(_packed(a=99_999_999)) == ""


def test_the_line_names_the_largest_first() -> None:
    line = size_line(_packed(tiny=5, model=200_000_000, data=1_000_000_000))
    assert line == "sending 1.2 GB: data 1.0 GB, model 200.0 MB"
