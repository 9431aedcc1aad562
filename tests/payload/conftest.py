"""A notebook without a kernel, and a process on the other side of a payload."""

from __future__ import annotations

import linecache
import subprocess
import sys
import textwrap
import types
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from nbtune.payload import Packed, Unpacked, pack, unpack

_ROOT = Path(__file__).parents[2]

_READER = """
import contextlib, pathlib, sys, types
main = types.ModuleType("__main__")
sys.modules["__main__"] = main
from nbtune.payload import unpack
found = unpack(pathlib.Path(sys.argv[1]), namespace=main.__dict__)
assert not found.failures, found.failures
main.__dict__.update(found.reached)
main.__dict__.update(found.values)
main.__dict__["found"] = found
exec(compile(sys.argv[2], "<rank>", "exec"), main.__dict__)
"""


@dataclass
class Notebook:
    """Cells run in a ``__main__`` of their own; payloads go to a folder."""

    folder: Path
    main: types.ModuleType = field(default_factory=lambda: types.ModuleType("__main__"))
    count: int = 0

    @property
    def names(self) -> dict[str, object]:
        return self.main.__dict__

    def cell(self, text: str) -> str:
        """Run a cell; the name of its file, which is only in linecache."""
        self.count += 1
        text = textwrap.dedent(text).lstrip("\n")
        name = f"<cell {self.count} of {self.folder.name}>"
        lines = text.splitlines(keepends=True)
        linecache.cache[name] = (len(text), None, lines, name)
        exec(compile(text, name, "exec", dont_inherit=True), self.names)
        return name

    def pack(self, *names: str, **options: object) -> Packed:
        roots = {name: self.names[name] for name in names}
        return pack(roots, self.folder, namespace=self.names, **options)

    def receive(self, **options: object) -> Unpacked:
        """Load the payload in this process, into a namespace of its own."""
        found = unpack(self.folder, namespace=options.pop("namespace", {}), **options)
        assert found.failures == {}
        return found

    def rank(self, body: str) -> str:
        """Load the payload in a fresh process, run *body* there; its stdout."""
        done = subprocess.run(
            [sys.executable, "-c", _READER, self.folder, textwrap.dedent(body)],
            capture_output=True,
            check=False,
            cwd=_ROOT,
            encoding="utf-8",
            timeout=100,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def send(self, *names: str) -> Packed:
        """Pack *names*, all of which must be able to travel."""
        packed = self.pack(*names)
        assert [str(problem) for problem in packed.problems] == []
        return packed


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    made = Notebook(tmp_path / "payload")
    # dataclasses, pydantic and typing look a class's module up there.
    monkeypatch.setitem(sys.modules, "__main__", made.main)
    yield made
    made.names.clear()
