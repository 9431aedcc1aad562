from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

import pytest

from nbtune.capture import stale_modules

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def _import(folder: Path, name: str, source: str) -> Path:
    path = folder / f"{name}.py"
    path.write_text(source)
    importlib.invalidate_caches()
    importlib.import_module(name)
    return path


def test_a_file_as_it_was_imported_gets_no_line(folder: Path) -> None:
    _import(folder, "stale_a", "def scale(x): return 2 * x\n")
    assert stale_modules(["stale_a", "os", "pytest", "builtins", "nowhere"]) == []


def test_an_edited_file_gets_one_line_that_names_it(folder: Path) -> None:
    path = _import(folder, "stale_b", "def scale(x): return 2 * x\n")
    path.write_text("def scale(x): return 200 * x\n")
    (line,) = stale_modules(["stale_b"])
    assert "stale_b" in line
    assert str(path) in line
    assert len(line.splitlines()) == 1


def test_a_changed_constant_is_noticed(folder: Path) -> None:
    path = _import(folder, "stale_c", "RATE = 0.1\n")
    path.write_text("RATE = 0.25\n")
    assert len(stale_modules(["stale_c"])) == 1


@pytest.mark.parametrize("name", ["stale_d", "stale_e"])
def test_an_edit_is_noticed_whoever_wrote_the_cache(folder: Path, name: str) -> None:
    path = _import(folder, name, "def scale(x): return 2 * x\n")
    path.write_text("def scale(x): return 200 * x\n")
    cached = importlib.util.cache_from_source(str(path))
    if name == "stale_d":
        (folder / cached).unlink()
    else:
        import py_compile

        py_compile.compile(str(path))
    assert len(stale_modules([name])) == 1


def test_a_reloaded_module_is_up_to_date(folder: Path) -> None:
    path = _import(folder, "stale_f", "def scale(x): return 2 * x\n")
    path.write_text("def scale(x): return 200 * x\n")
    importlib.reload(sys.modules["stale_f"])
    assert stale_modules(["stale_f"]) == []


def test_a_deleted_file_is_told(folder: Path) -> None:
    _import(folder, "stale_g", "x = 1\n").unlink()
    (line,) = stale_modules(["stale_g"])
    assert "gone" in line


def test_modules_that_a_local_module_uses_are_looked_at(folder: Path) -> None:
    path = _import(folder, "stale_inner", "def one(): return 1\n")
    _import(folder, "stale_outer", "from stale_inner import one\n")
    path.write_text("def one(): return 100\n")
    (line,) = stale_modules(["stale_outer"])
    assert "stale_inner" in line


def test_a_definition_chosen_among_two_is_not_stale(folder: Path) -> None:
    _import(
        folder,
        "stale_h",
        "if True + 1:\n    def f(): return 1\nelse:\n    def f(): return 2\n",
    )
    assert stale_modules(["stale_h"]) == []
