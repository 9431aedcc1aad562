from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol

import pytest

from nbtune.options import Options, Table, load_table, parse

if TYPE_CHECKING:
    from collections.abc import Mapping


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
def table(tmp_path_factory) -> Table:
    """The options of the torch that is installed here, from its own parser."""
    return load_table(tmp_path_factory.mktemp("cache"), sys.executable)


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
