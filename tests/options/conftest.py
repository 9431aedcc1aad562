from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol

import pytest

from nbtune.options import Options, Table, load_table, parse

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Read(Protocol):
    def __call__(
        self,
        line: str,
        *,
        names: Mapping[str, object] = ...,
        environ: Mapping[str, str] = ...,
        defaults: str = "",
    ) -> Options: ...


@pytest.fixture(scope="session")
def cache(tmp_path_factory) -> Path:
    """A folder with the table of this torch, once that was asked for."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def table(cache) -> Table:
    """The options of the torch that is installed here, from its own parser."""
    return load_table(cache, sys.executable)


@pytest.fixture
def read(table) -> Read:
    """Parse a line in an empty notebook and an empty environment."""

    def parse_line(line, *, names=None, environ=None, defaults=""):
        return parse(
            line,
            table=table,
            namespace=names or {},
            environ=environ or {},
            defaults=defaults,
        )

    return parse_line
