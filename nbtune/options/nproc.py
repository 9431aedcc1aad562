"""How many ranks: a number, or what a word stands for on this machine."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from .table import ask_torch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .given import Given

__all__ = ["count_cpus", "count_ranks"]

_MOST = 1024  # each rank is a process; more on one machine is a slip of the keyboard
_WORDS = {"gpu": "GPU", "xpu": "XPU"}
# Where Linux shows accelerators. Without any of these no torch finds one, and
# importing torch to hear so would take seconds.
_DEVICES = (
    "nvidia[0-9]*",
    "nvidiactl",
    "nvidia-caps",
    "kfd",
    "dxg",
    "dri/renderD*",
    "accel*",
    "davinci*",
)


def count_ranks(given: Given, *, executable: str, environ: Mapping[str, str]) -> int:
    """The number of ranks that ``--nproc-per-node`` asks for.

    Args:
        given: the option.
        executable: the interpreter whose torch is asked about devices.
        environ: the environment that torch sees there.

    Raises:
        OptionError: not a number from 1 to 1024, nor a word that fits here.
    """
    word = given.value.strip()
    try:
        number = int(word)
    except ValueError:
        return _count_word(given, word, executable, environ)
    given.whole_number(1)
    if number > _MOST:
        raise given.wrong(f"at most {_MOST} ranks fit on one machine")
    return number


def count_cpus() -> int:
    """CPUs that this process may use, as torch counts them."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _count_word(
    given: Given, word: str, executable: str, environ: Mapping[str, str]
) -> int:
    if word == "cpu":
        return count_cpus()
    if word not in {"auto", *_WORDS} and not _has_backends():
        raise given.wrong("use a number, cpu, gpu, xpu or auto")
    count = _ask(executable, word, _visible(environ)) if _has_devices() else 0
    if count:
        return count
    if word == "auto":
        return count_cpus()
    kind = _WORDS.get(word, word)
    raise given.wrong(f"no {kind} here, use a number, cpu or auto")


def _has_devices() -> bool:
    if sys.platform != "linux":
        return True
    dev = Path("/dev")
    return any(True for pattern in _DEVICES for _ in dev.glob(pattern))


def _has_backends() -> bool:
    return bool(importlib.metadata.entry_points(group="torch.backends"))


def _visible(environ: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The variables that hide devices."""
    return tuple(
        sorted(
            (name, value)
            for name, value in environ.items()
            if "VISIBLE_DEVICES" in name or name == "ZE_AFFINITY_MASK"
        )
    )


@functools.lru_cache(maxsize=32)
def _ask(executable: str, word: str, visible: tuple[tuple[str, str], ...]) -> int:
    answer = ask_torch(executable, word, environ={**os.environ, **dict(visible)})
    count = answer.get("count", 0)
    return count if isinstance(count, int) else 0
