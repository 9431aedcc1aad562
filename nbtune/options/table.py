"""The options of the installed torchrun, read from its own parser.

Reading them costs an import of torch, so a subprocess does it, once for each
installed torch; the answer is kept as JSON in a folder.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtune.errors import OptionError
from nbtune.record import read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Table", "TableOption", "ask_torch", "load_table"]

_FORMAT = 1
_TIMEOUT = 300.0  # seconds; the first import of torch from a slow disk takes long
# The kernel's path goes behind the interpreter's own, so that no file of the
# user's takes the place of a module of the standard library.
_BOOT = """\
import json, runpy, sys
extra = json.loads(sys.argv.pop(1))
sys.path += [entry for entry in extra if entry not in sys.path]
runpy.run_module("nbtune.launcher.table", run_name="__main__", alter_sys=True)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOption:
    """One option.

    Attributes:
        flags: all its spellings.
        dest: its name in torch's parser, ``"nproc_per_node"``.
        kind: ``"env"`` (takes a value, ``PET_...`` is its default),
            ``"check_env"`` (a switch with such a variable), ``"flag"`` and
            ``"store"`` (the same two without one), ``"own"`` (nbtune's).
        type: name of the type of its value.
        default: the default as text, None for none.
        choices: the only values allowed, None if there is no list.
        help: argparse's help text.
        nargs: as in argparse; 0 for a switch.
        metavar: what help shows for the value; ``""`` for argparse's choice.
    """

    flags: tuple[str, ...]
    dest: str
    kind: str = "own"
    type: str = "str"
    default: str | None = None
    choices: tuple[str, ...] | None = None
    help: str = ""
    nargs: str | int | None = None
    metavar: str = ""

    @property
    def flag(self) -> str:
        """The spelling we show: the first long one, with dashes."""
        long = next((flag for flag in self.flags if flag.startswith("--")), None)
        return long.replace("_", "-") if long else self.flags[0]

    @property
    def variable(self) -> str:
        """The environment variable with its default, ``""`` if there is none."""
        return f"PET_{self.dest.upper()}" if self.kind in {"env", "check_env"} else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """What one installed torch offers.

    Attributes:
        version: version of torch.
        options: torchrun's options in its own order.
        backends: names of its rendezvous backends.
        executable: the interpreter that has this torch.
    """

    version: str
    options: tuple[TableOption, ...]
    backends: tuple[str, ...] = ()
    executable: str = sys.executable


@dataclass(frozen=True, slots=True)
class _Key:
    """What tells one installed torch from another."""

    version: str
    path: str
    mtime_ns: int
    size: int

    def fields(self) -> list[object]:
        return [_FORMAT, self.version, self.path, self.mtime_ns, self.size]

    def file(self, cache: Path) -> Path:
        digest = hashlib.sha256(os.fsencode(self.path)).hexdigest()[:12]
        return cache / f"torchrun-{self.version}-{digest}.json"


def load_table(cache: Path, executable: str) -> Table:
    """Read the options, from *cache* if they are there.

    Args:
        cache: folder for what was read; it may be missing, damaged or read-only.
        executable: the interpreter whose torch is asked.

    Raises:
        OptionError: there is no torch, or it cannot be imported.
    """
    return _load(cache, executable, _find_torch())


def ask_torch(
    executable: str, *words: str, environ: Mapping[str, str]
) -> dict[str, Any]:
    """Run ``nbtune.launcher.table`` with *words* in a process of its own.

    Raises:
        OptionError: torch cannot be imported there.
    """
    own = str(Path(__file__).resolve().parents[2])
    path = [p for p in [*map(str, sys.path), own] if Path(p).is_absolute()]
    clean = {k: v for k, v in environ.items() if not k.startswith("PET_")}
    command = [executable, "-P", "-c", _BOOT, json.dumps(path), *words]
    try:
        done = subprocess.run(
            command,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=os.sep,  # the kernel's may be gone, and then torch cannot be imported
            env=clean,
            timeout=_TIMEOUT,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise OptionError(f"torchrun's options cannot be read: {error}") from error
    try:
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError) as error:
        text = done.stderr.decode("utf-8", "replace").strip() or f"{executable} failed"
        last = text.splitlines()[-1]
        raise OptionError(f"torchrun's options cannot be read: {last}") from error
    return answer


def _find_torch() -> _Key:
    try:
        spec = importlib.util.find_spec("torch")
    except ValueError:  # a torch in sys.modules that was never imported
        spec = None
    if spec is None or spec.origin is None:
        raise OptionError(
            f"PyTorch is not installed for {sys.executable}: pip install torch"
        )
    path = Path(spec.origin).parent / "distributed" / "run.py"
    try:
        version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        version = "unknown"
    try:
        stat = path.stat()
    except OSError as error:
        raise OptionError(f"torch at {spec.origin} has no torchrun") from error
    return _Key(version, str(path), stat.st_mtime_ns, stat.st_size)


@functools.lru_cache(maxsize=8)
def _load(cache: Path, executable: str, key: _Key) -> Table:
    stored = read_json(key.file(cache))
    table = _decode(stored, executable, key) if stored else None
    if table is not None:
        return table
    answer = {**ask_torch(executable, environ=os.environ), "key": key.fields()}
    table = _decode(answer, executable, key)
    if table is None:
        raise OptionError(f"torch {key.version} describes torchrun in an unknown way")
    _store(key.file(cache), answer)
    return table


def _store(path: Path, answer: dict[str, Any]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, answer)
    except OSError:
        # A home that cannot be written costs the next kernel a second reading.
        return


def _decode(answer: dict[str, Any], executable: str, key: _Key) -> Table | None:
    if answer.get("key") != key.fields():
        return None
    try:
        options = tuple(_decode_option(entry) for entry in answer["options"])
        backends = tuple(map(str, answer["backends"]))
    except (KeyError, TypeError, AttributeError):
        return None
    if not options:
        return None
    return Table(
        version=key.version, options=options, backends=backends, executable=executable
    )


def _decode_option(entry: dict[str, Any]) -> TableOption:
    choices = entry["choices"]
    return TableOption(
        **{
            **entry,
            "flags": tuple(map(str, entry["flags"])),
            "choices": None if choices is None else tuple(map(str, choices)),
        }
    )
