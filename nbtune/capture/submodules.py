"""Modules that a cell uses as attributes of the package it has a name for."""

from __future__ import annotations

import ast
import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["submodules_used"]


def submodules_used(source: str, roots: Mapping[str, object]) -> dict[str, ModuleType]:
    """Modules that must be imported for the attributes in *source* to be there.

    After ``import xml.etree.ElementTree`` the notebook has the name ``xml``
    alone, and importing ``xml`` in a rank does not import the rest.

    Args:
        source: the cell.
        roots: the notebook's values that it uses, by name.

    Returns:
        Modules that this process has imported, by their dotted names.
    """
    used = {
        node.attr
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
    }
    prefixes = tuple(
        f"{module.__name__}."
        for module in _modules(roots)
        if hasattr(module, "__path__")
    )
    found = {}
    for name, module in list(sys.modules.items()):
        prefix = next((p for p in prefixes if name.startswith(p)), "")
        if prefix and used.issuperset(name.removeprefix(prefix).split(".")):
            found[name] = module
    return found


def _modules(roots: Mapping[str, object]) -> Iterator[ModuleType]:
    for value in roots.values():
        # isinstance alone asks the value, whose code may do anything.
        if issubclass(type(value), ModuleType) and isinstance(value, ModuleType):
            yield value
