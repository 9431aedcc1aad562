"""Local modules whose file is no longer what the kernel imported."""

from __future__ import annotations

import importlib.util
import sys
import sysconfig
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["stale_modules"]

_INSTALLED = frozenset({"dist-packages", "site-packages"})
_STANDARD = tuple(Path(sysconfig.get_path(key)) for key in ("stdlib", "platstdlib"))


def stale_modules(names: Iterable[str]) -> list[str]:
    """One line for each local module that the ranks will import differently.

    The ranks import a module's file as it is now; the notebook keeps what it has
    imported. Modules that those of *names* use are looked at too.

    Args:
        names: modules that captured values refer to.
    """
    lines = []
    for name, path in sorted(_local_modules(names).items()):
        change = _change(sys.modules[name], path)
        if change:
            lines.append(
                f"module {name}: {path} {change} this notebook imported it; ranks "
                f"use the file, so reload the module or restart the kernel"
            )
    return lines


def _local_modules(names: Iterable[str]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    waiting, seen = list(names), {"__main__"}
    while waiting:
        name = waiting.pop()
        module = sys.modules.get(name)
        if name in seen or not isinstance(module, ModuleType):
            continue
        seen.add(name)
        path = _local_file(module)
        if path:
            found[name] = path
            waiting += _used_by(module)
        waiting += [name.rpartition(".")[0]]
    return found


def _local_file(module: ModuleType) -> Path | None:
    """The module's source, if the user may well be working on it."""
    file = module.__dict__.get("__file__")
    if not isinstance(file, str) or not file.endswith(".py"):
        return None
    path = Path(file).absolute()
    if _INSTALLED.intersection(path.parts):
        return None
    return None if any(map(path.is_relative_to, _STANDARD)) else path


def _used_by(module: ModuleType) -> Iterator[str]:
    for value in list(module.__dict__.values()):
        if isinstance(value, ModuleType):
            yield value.__name__
        elif isinstance(value, FunctionType | type):
            # A class may have any object for a name.
            yield str(value.__module__)


def _change(module: ModuleType, path: Path) -> str:
    """How the file differs from what was imported, ``""`` if it does not."""
    try:
        source = path.read_bytes()
        stat = path.stat()
    except FileNotFoundError:
        return "has gone since"
    except OSError:
        return ""
    differs = _differs_from_cache(module, source, int(stat.st_mtime))
    return "has changed since" if differs or _code_differs(module, source) else ""


def _differs_from_cache(module: ModuleType, source: bytes, mtime: int) -> bool:
    """Compare with the header of the cache that the import wrote (PEP 552)."""
    spec = module.__spec__
    if spec is None or spec.cached is None or sys.dont_write_bytecode:
        # A cache, if there is one, may be older than the import.
        return False
    try:
        header = Path(spec.cached).read_bytes()[:16]
    except OSError:
        return False
    if header[:4] != importlib.util.MAGIC_NUMBER:
        return False
    if int.from_bytes(header[4:8], "little"):
        return header[8:16] != importlib.util.source_hash(source)
    recorded = [int.from_bytes(header[at : at + 4], "little") for at in (8, 12)]
    return recorded != [mtime & 0xFFFF_FFFF, len(source) & 0xFFFF_FFFF]


def _code_differs(module: ModuleType, source: bytes) -> bool:
    """Compare the functions of the module with those in its file.

    The cache alone does not tell: a rank, or another notebook, may have imported
    the new file and written a new cache.
    """
    try:
        code = compile(source, str(module.__file__), "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return True
    current: dict[str, list[CodeType]] = {}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            current.setdefault(constant.co_name, []).append(constant)
    return any(
        function.__code__ not in current.get(name, [function.__code__])
        for name, function in list(module.__dict__.items())
        if isinstance(function, FunctionType)
        and function.__module__ == module.__name__
        and function.__code__.co_filename == code.co_filename
        and function.__code__.co_name == name
    )
